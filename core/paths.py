"""The layout of a root: the one place that spells where each thing lies. Pure functions; no file is touched.

    corpora/NAME@VERSION/                     a corpus:   periods/LABEL/…, tokenizer/, builds/
    examples/NAME@VERSION/                    a set of examples:   periods/LABEL/…, builds/
    rounds/ID/record.json                     the round is done, by the attempt that the record names
    rounds/ID/ATTEMPT/model/                  weights at the end of the round, in Hugging Face's format
    rounds/ID/ATTEMPT/metrics.json            loss, learning rate and gradient norm of every step
    rounds/ID/ATTEMPT/rows/                   rows that were sampled from a checkpoint, as a corpus:   periods/LABEL/…
    rounds/ID/ATTEMPT/steps/STEP/             a mid-round checkpoint (DCP): files/ and its record.json
    rounds/ID/inside/STEP/record.json         the weights after STEP steps of the round are published
    rounds/ID/inside/STEP/ATTEMPT/model/      those weights, as at the end of the round
    cells/WEIGHTS/NAME.parquet                what was measured on the checkpoint with these weights
    cells/index-NUMBER-HASH.parquet           a copy of these files, those of many checkpoints in one
    predictions/WEIGHTS/KEY.parquet           what it answered to single examples, for the cells of a key
    reports/STUDY+STUDY-HASH/                 the page of one or several studies
    tuning/STUDY-SPACE-HASH/                  a search
    chaos/STUDY-HASH/                         a study that was run again, in peace and under faults; each is a root
    leases/NUMBER.json                        who writes to the root
    studies/NAME-HASH.json                    a study that was run here, as it was asked for
    failures/WHICH.json                       why a chain or an evaluation failed that was not done since
    ray/RUN/                                  what Ray Train keeps while a chain trains
    tensorboard/CHAIN-HASH/                   curves of a chain, as replay-half-202302-202312-3f2a91bc

Paths are relative to the root (those of periods and tokenizer: to the corpus), with forward slashes. ID is the first 32
characters of a round's id, WEIGHTS the first 16 of the hash of its weights, STEP has 8 digits.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

RECORD = "record.json"
NAMES_LONG = 120
"""Longest names of studies in the name of a report's folder; file systems end at 255 bytes."""
CORPORA, EXAMPLES = "corpora", "examples"
ROUNDS, CELLS, LEASES, RAY, CHAOS = "rounds", "cells", "leases", "ray", "chaos"
PREDICTIONS = "predictions"
BEGUN, FAILURES = "studies", "failures"
REPORTS, SEARCHES, TENSORBOARD = "reports", "tuning", "tensorboard"
PERIODS, TOKENIZER, BUILDS = "periods", "tokenizer", "builds"
MODEL, STEPS, INSIDE, SAMPLED = "model", "steps", "inside", "rows"
METRICS = "metrics.json"


def record(folder: str) -> str:
    """Return the path of the record of the work in `folder`."""
    return f"{folder}/{RECORD}"


def corpus(name: str) -> str:
    """Return the folder of the corpus `name@version`; the version is 1 if the name has none."""
    return f"{CORPORA}/{versioned(name)}"


def examples(name: str) -> str:
    """Return the folder of the set of examples `name@version`; the version is 1 if the name has none."""
    return f"{EXAMPLES}/{versioned(name)}"


def versioned(name: str) -> str:
    """Return `name@version`; the version is 1 if the name has none."""
    return name if "@" in name else f"{name}@1"


def corpus_id(name: str) -> str:
    """Return the id `name@version` of the corpus with this name or at this path; version 1 if none is given."""
    return versioned(name.rstrip("/").rsplit("/", 1)[-1])


def period(label: str) -> str:
    """Return the folder of a period, relative to its corpus or set of examples."""
    return f"{PERIODS}/{label}"


def tokenizer_file(tokenizer: str = TOKENIZER) -> str:
    """Return the path of the file that holds a tokenizer, from its folder."""
    return f"{tokenizer}/tokenizer.json"


def round_folder(round_id: str) -> str:
    """Return the folder of a round."""
    return round_at(round_id[:32])


def round_at(name: str) -> str:
    """Return the folder of the round whose folder has this name."""
    return f"{ROUNDS}/{name}"


def attempt(folder: str, name: str) -> str:
    """Return the folder of one attempt at the work in `folder`."""
    return f"{folder}/{name}"


def model(folder: str, attempt_name: str) -> str:
    """Return the model folder that this attempt at the work in `folder` published."""
    return f"{attempt(folder, attempt_name)}/{MODEL}"


def sampled_rows(folder: str, attempt_name: str) -> str:
    """Return the corpus of rows that this attempt at the sample in `folder` published."""
    return f"{attempt(folder, attempt_name)}/{SAMPLED}"


def metrics(attempt: str) -> str:
    """Return the file with the metrics of an attempt at a round."""
    return f"{attempt}/{METRICS}"


def not_a_number(attempt: str) -> str:
    """Return the file that names the rows of the step at which a loss stopped being a number."""
    return f"{attempt}/no-number.json"


def mid_round_checkpoints(attempt: str) -> str:
    """Return the folder of an attempt's mid-round checkpoints."""
    return f"{attempt}/{STEPS}"


def mid_round_checkpoint(attempt: str, step: int) -> str:
    """Return the folder of the mid-round checkpoint that an attempt wrote after `step` steps."""
    return f"{mid_round_checkpoints(attempt)}/{step_name(step)}"


MID_ROUND_FILES = "files"
"""Name of the folder with the files of a mid-round checkpoint, beside its record."""


def step_name(step: int) -> str:
    """Return how a number of steps is written in a folder's name."""
    # With leading zeros, names sort as their numbers do: `cluster.restarts.progress` compares them as texts.
    return f"{step:08d}"


def mid_round_models(round_folder: str) -> str:
    """Return the folder of the models that were published inside a round, one folder per step."""
    return f"{round_folder}/{INSIDE}"


def mid_round_model(round_folder: str, step: int) -> str:
    """Return the folder of the work of publishing a round's weights after `step` steps."""
    return f"{mid_round_models(round_folder)}/{step_name(step)}"


def cells(weights: str) -> str:
    """Return the folder with all cells of a checkpoint; `weights` is the hash of its weights."""
    return f"{CELLS}/{weights[:16]}"


def cells_file(weights: str, which: str) -> str:
    """Return a file of cells of a checkpoint; `which` is the hash of what the file measures."""
    return f"{cells(weights)}/{which[:32]}.parquet"


def cells_index(number: int, whole: str) -> str:
    """Return the index of cells with this number; `whole` is the hash of its bytes."""
    return f"{CELLS}/index-{number:08d}-{whole[:32]}.parquet"


def predictions(weights: str) -> str:
    """Return the folder with a checkpoint's answers to single examples."""
    return f"{PREDICTIONS}/{weights[:16]}"


def predictions_file(weights: str, key: str) -> str:
    """Return the file with a checkpoint's answers behind the cells of a key."""
    return f"{predictions(weights)}/{key[:32]}.parquet"


def report(studies: Sequence[str], whole: str) -> str:
    """Return the folder with the page of these studies; `whole` is the hash of all that reaches its numbers."""
    names = "+".join(studies)
    if len(names) > NAMES_LONG:
        names = f"{studies[0][:NAMES_LONG]}+{len(studies) - 1}-more"
    return f"{REPORTS}/{names}-{whole[:8]}"


def search(study: str, space: str, whole: str) -> str:
    """Return the folder of a search of a space for a study; `whole` is the hash of all that the search is made of."""
    return f"{SEARCHES}/{study}-{space}-{whole[:8]}"


def chaos(study: str, whole: str) -> str:
    """Return the folder of a study's runs under faults; `whole` is the hash of what its rounds are made of."""
    return f"{CHAOS}/{study}-{whole[:8]}"


def lease(number: int) -> str:
    """Return the file of the lease with this number."""
    return f"{LEASES}/{number:08d}.json"


def begun(study: str, whole: str) -> str:
    """Return the file that says how a study was asked for; `whole` is the hash of all that changes its numbers."""
    return f"{BEGUN}/{study[:NAMES_LONG]}-{whole[:8]}.json"


def failure(which: str) -> str:
    """Return the file of a failure; `which` is the id of the round that was not finished, or another hash."""
    return f"{FAILURES}/{which[:32]}.json"


def tensorboard(label: str, whole: str) -> str:
    """Return the folder with the curves of a chain: its label in characters that any file system takes, and the hash of
    its study and label."""
    words = re.sub(r"[^A-Za-z0-9.+]+", "-", label).strip("-.")
    return f"{TENSORBOARD}/{words[:80]}-{whole[:8]}"
