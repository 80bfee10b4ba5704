"""A finished root with a record of every kind that a run leaves: what it is made of, and what the kinds are."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path
from typing import Any

from toys import build_toy_corpus, make_toy_study

from ticlm.core import paths
from ticlm.core.integrity.own_hash import with_hash
from ticlm.core.integrity.records import read_record
from ticlm.core.settings import parse
from ticlm.core.store import Store
from ticlm.datasets.evalsets import recipe as sets
from ticlm.platform.study.identity import weights_of
from ticlm.platform.study.plan import Plan
from ticlm.platform.study.settings import Study

SCHEDULE = {"kind": "constant", "max_rate": 5e-3, "warmup_steps": 1}
METHODS: list[dict[str, Any]] = [
    {"base": "cyclic-cosine", "name": "mean", "schedule": SCHEDULE, "deploy": {"kind": "mean", "last": 2}},
    {"base": "cyclic-cosine", "name": "leafy", "schedule": SCHEDULE, "deploy": {"kind": "leaf", "share": 0.5}},
    {"base": "replay-self", "schedule": SCHEDULE},
    {"base": "replay-spaced", "schedule": SCHEDULE},
]
ASKED: list[dict[str, Any]] = [
    {},
    {"name": "tuned", "prepare": {"steps": 2}},
    {"kind": "generated-answers", "name": "probes", "examples": "probes@1", "split": "new", "tokens": 1, "stop": ""},
]
PERIODS = ("202301", "202302", "202303")


def study() -> Study:
    """The study of the root: averages, leaves, sampled rows, adaptive replay, tuned copies, probes, models inside."""
    periods = {"initial": PERIODS[0], "step": "month", "last": PERIODS[-1]}
    inside = {"inside": {"every_steps": 3}}
    return make_toy_study(methods=METHODS, periods=periods, evaluations=ASKED, evaluate=inside)


def build_set(root: Path) -> None:
    """Build the study's set of examples, or what it lacks, as `ticlm data build` does."""
    file = root.parent / "probes.jsonl"
    if not file.exists():
        rows = [
            {"text": f"w{i} w{i + 1} <extra_id_0>", "answer": f"w{i + 2}", "timestamp": f"{label}05", "subset": "new"}
            for label in PERIODS
            for i in range(1, 5)
        ]
        file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    examples = {"kind": "files", "paths": [str(file)], "subset": "new"}
    data = {"name": "probes", "version": 1, "examples": examples, "executor": "process"}
    sets.build(parse(sets.ExampleSetRecipe, data, "probes"), str(root))


def build_corpus(root: Path) -> None:
    """Build the study's corpus, or what it lacks, to the same bytes."""
    folder = root / "corpora/toy@1"
    corpus = build_toy_corpus(folder)
    nothing = {"number": 0, "inputs": [], "last": None, "read": 0, "dropped": {}, "late": {}, "beyond": []}
    built = {"periods": {label: {} for label in corpus.periods}, "first": {}, "warnings": []}
    if not corpus.store.files("builds"):
        corpus.store.write("builds/00000.json", with_hash(nothing | built))


REDONE, ROUND_AGAIN = "remove it to redo this work", "remove {} to redo this work"
MODEL_AGAIN = "remove {} to train this round again"
PERIOD_AGAIN = "remove {} and append it again with {}"
CORPUS_AGAIN = "restore it from a copy, or remove {} and build it again with {}"
SET_DESCRIBED = "remove it and run {}, which writes it again and keeps the periods"
CELLS_AGAIN = "remove it to score its cells again"
ANSWERS_AGAIN = "{} is damaged ({}); remove {} to score its checkpoint again"
TOKENIZER_AGAIN = (
    "{}: not the tokenizer that cut the corpus; copy it from the model folder of a finished round, or remove {} and "
    "build it again with ticlm data build"
)

KINDS: dict[str, tuple[str, str]] = {
    "record of a round": ("rounds/ROUND/record.json", REDONE),
    "record of an average": ("rounds/AVERAGE/record.json", REDONE),
    "record of a leaf": ("rounds/LEAF/record.json", REDONE),
    "record of a tuned copy": ("rounds/TUNED COPY/record.json", REDONE),
    "record of a sample": ("rounds/SAMPLE/record.json", REDONE),
    "record of a model inside a round": ("rounds/*/inside/*/record.json", ROUND_AGAIN),
    "model of a round": ("rounds/ROUND/*/model/model.safetensors", MODEL_AGAIN),
    "model of an average": ("rounds/AVERAGE/*/model/model.safetensors", MODEL_AGAIN),
    "model of a leaf": ("rounds/LEAF/*/model/model.safetensors", MODEL_AGAIN),
    "model of a tuned copy": ("rounds/TUNED COPY/*/model/model.safetensors", MODEL_AGAIN),
    "model inside a round": ("rounds/*/inside/*/*/model/model.safetensors", MODEL_AGAIN),
    "info of sampled rows": ("rounds/SAMPLE/*/rows/corpus.json", ROUND_AGAIN),
    "record of sampled rows": ("rounds/SAMPLE/*/rows/periods/*/record.json", ROUND_AGAIN),
    "shard of sampled rows": ("rounds/SAMPLE/*/rows/periods/*/*/train/*.parquet", ROUND_AGAIN),
    "info of a corpus": ("corpora/*/corpus.json", CORPUS_AGAIN),
    "build of a corpus": ("corpora/*/builds/*.json", CORPUS_AGAIN),
    "record of a corpus": ("corpora/*/periods/202302/record.json", PERIOD_AGAIN),
    "shard of a corpus": ("corpora/*/periods/202302/*/eval/*.parquet", PERIOD_AGAIN),
    "info of a set": ("examples/*/examples.json", SET_DESCRIBED),
    "build of a set": ("examples/*/builds/*.json", SET_DESCRIBED),
    "record of a set": ("examples/*/periods/202302/record.json", PERIOD_AGAIN),
    "examples of a set": ("examples/*/periods/202302/*/*.parquet", PERIOD_AGAIN),
    "cells": ("cells/*/*.parquet", CELLS_AGAIN),
    "answers": ("predictions/*/*.parquet", ANSWERS_AGAIN),
}
"""What can be damaged: where it lies (CAPITALS: the folders of rounds of a kind), and the remedy that is then printed,
as it stands in the code."""


def places(root: Path, made: Plan, kind: str) -> list[Path]:
    """Return the files of a kind, in order."""
    pattern = KINDS[kind][0]
    folders: dict[str, list[str]] = {}
    for key in made.tree.rounds:
        folders.setdefault(made.tree.kind(key).upper(), []).append(made.ids[key][:32])
    named = next((name for name in folders if f"/{name}/" in pattern), None)
    globs = [pattern] if named is None else [pattern.replace(named, folder) for folder in folders[named]]
    return [file for one in globs for file in sorted(root.glob(one))]


def make_read(root: Path, made: Plan, kind: str, file: Path) -> None:
    """Remove finished work so that a run reads a file of this kind again: the cells of a checkpoint, or the round that
    draws the sampled rows."""
    name = file.relative_to(root).parts[1]
    if "sampled rows" in kind:
        (drawing,) = (
            one for one, spec in made.tree.rounds.items() if spec.sampled and made.ids[spec.sampled][:32] == name
        )
        shutil.rmtree(root / f"rounds/{made.ids[drawing][:32]}")
        return
    record = next(iter(made.records.values())) if kind in ("shard of a corpus", "examples of a set") else None
    if kind.startswith("model"):
        record = read_record(Store(root), file.parents[2].relative_to(root).as_posix())
    if record is not None:
        for folder in (paths.cells, paths.predictions):
            shutil.rmtree(root / folder(weights_of(record)), ignore_errors=True)


def damage(file: Path) -> None:
    """Change one digit of JSON, so that it still is JSON, cut the end of cells and answers, and flip one bit of
    others."""
    data = bytearray(file.read_bytes())
    if file.suffix == ".json":
        digits = [found.start() for found in re.finditer(rb"[2-7]", data)]
        data[digits[len(digits) // 2]] ^= 1
    elif {"cells", "predictions"} & {*file.parts}:
        del data[-9:]
    else:
        data[len(data) // 2] ^= 1
    file.write_bytes(data)


def follow(line: str, root: Path) -> str:
    """Do what the end of a message says, as printed; return what it says to remove, relative to the root."""
    damaged = re.search(r"(\S+): |(\S+) is damaged", line)
    found = re.search(r"; (?:restore it from a copy, or )?remove (\S+) (to|and) (.*)$", line)
    assert damaged is not None and found is not None and "\n" not in line, line
    place = Path((damaged[1] or damaged[2]) if found[1] == "it" else found[1])
    assert place.exists(), line
    Store(root).remove(place.relative_to(root).as_posix())
    if "ticlm data build " in found[3]:
        build_corpus(root) if "/corpora/" in line else build_set(root)
    return place.relative_to(root).as_posix()
