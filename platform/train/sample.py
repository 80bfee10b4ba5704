"""Publishing rows that are made for one round, as a small corpus: those that a finished round's checkpoint writes, or
old rows that are chosen. No step is trained."""

from __future__ import annotations

import hashlib
import time

import numpy as np
import torch
from numpy.typing import NDArray

from ticlm.core import paths
from ticlm.core.corpus import FORMAT, INFO, Corpus, CorpusInfo, PeriodManifest, SplitManifest
from ticlm.core.integrity import own_hash
from ticlm.core.integrity.records import Attempt, read_record
from ticlm.core.periods import Period, span
from ticlm.core.row_columns import TOKENS
from ticlm.core.token_rows import Column, ShardFile, Tokens, dtype_for, to_parquet
from ticlm.platform.models import folders
from ticlm.platform.models.sampling import sample_rows
from ticlm.platform.study.costs import forward_flops
from ticlm.platform.study.nodes.parts import SampledRows
from ticlm.platform.study.round import Round
from ticlm.platform.study.stored_rounds import published
from ticlm.platform.study.work import ChainWork
from ticlm.platform.train.choice.best import best
from ticlm.platform.train.choice.chosen import Choice
from ticlm.platform.train.maker import this_machine
from ticlm.platform.train.publish import tidy

SHARD_TOKENS = 1 << 24
"""Most tokens of a shard, but for the last rows that are sampled at once."""


def publish_sample(work: ChainWork) -> None:
    """Publish the sample that is the only round of `work`, unless it has a record: its rows, then the record.

    An attempt that is interrupted leaves nothing that is used; the next one makes the same rows from the start.
    """
    (spec,), (round_id,) = work.rounds, work.ids
    assert spec.sample is not None and work.parent is not None
    store, folder = work.store, paths.round_folder(round_id)
    if read_record(store, folder) is not None:
        return
    attempt, began = Attempt(store, folder), time.monotonic()
    rows = paths.sampled_rows(folder, attempt.name)
    own = Corpus.open(work.corpus, work.last_visible_period).info
    column = Column(name=TOKENS, length=spec.recipe.length + 1, dtype=dtype_for(work.vocab_size))
    name = "sampled" if spec.chosen is None else "chosen"
    info = own.model_copy(
        update={"format": FORMAT, "name": name, "version": "1", "columns": (column,), "recipe": round_id}
        | {"sources": None, "external_inputs": ()}
    )
    store.write(f"{rows}/{INFO}", own_hash.with_hash(info.model_dump(mode="json")))
    parent = read_record(store, paths.round_folder(work.parent))
    assert parent is not None
    if spec.chosen is None:
        period = Attempt(store, f"{rows}/{paths.period(spec.period)}")
        split = _write(work, spec, round_id, info, period)
        _publish_period(period, spec.period, split)
        facts = _sample_facts(work, spec, parent.about, split, time.monotonic() - began)
    else:
        pools = _write_chosen(work, spec, info, rows)
        facts = _choice_facts(work, spec, parent.about, pools, time.monotonic() - began)
    attempt.publish(facts)
    tidy(store, folder)


def _publish_period(period: Attempt, label: str, split: SplitManifest) -> None:
    start, end = span(label)
    manifest = PeriodManifest(period=Period(label=label, start=start, end=end), splits={"train": split})
    period.publish(manifest.model_dump(mode="json"))


def _write(work: ChainWork, spec: Round, round_id: str, info: CorpusInfo, period: Attempt) -> SplitManifest:
    """Sample all rows of a sample and write their shards, a few rows and one shard at a time."""
    assert isinstance(spec.sample, SampledRows) and work.parent is not None
    torch.set_num_threads(work.resources.threads)
    with work.store.local(published(work.store, work.parent)) as folder:
        module = folders.load(folder).to(_device(work)).eval()
    how, count, length = spec.sample.sampling, spec.sample.rows, spec.recipe.length
    files: list[ShardFile] = []
    held: list[NDArray[np.int64]] = []
    ends = 0
    for first in range(0, count, how.rows_at_once):
        numbers = range(first, min(first + how.rows_at_once, count))
        held.append(sample_rows(module, numbers, length, work.end_of_text, work.vocab_size, how, round_id))
        ends += int((held[-1][:, 1:] == work.end_of_text).sum())
        if sum(map(np.size, held)) >= SHARD_TOKENS or numbers.stop == count:
            files.append(_shard(period, len(files), np.concatenate(held), info))
            held = []
    size = sum(file.bytes for file in files)
    return SplitManifest(files=tuple(files), rows=count, tokens=count * length, documents=ends + count, bytes=size)


def _write_chosen(work: ChainWork, spec: Round, info: CorpusInfo, folder: str) -> list[dict[str, object]]:
    """Choose all rows of a choice, and write them by their periods; return what the record says of each period."""
    assert spec.chosen is not None
    choice, found = Choice(work, spec, _device(work)), []
    for number, scores in enumerate(choice.scores()):
        positions, tokens = choice.pool(number)
        kept = best(scores, positions, spec.chosen.kept[number])
        label, rows = choice.cursors[number].source.period, tokens[kept]
        period = Attempt(work.store, f"{folder}/{paths.period(label)}")
        most = max(1, SHARD_TOKENS // info.columns[0].length)
        cuts = range(0, len(rows), most)
        files = [_shard(period, at, rows[first : first + most], info) for at, first in enumerate(cuts)]
        ends = int((rows[:, 1:] == work.end_of_text).sum())
        size = sum(file.bytes for file in files)
        split = SplitManifest(
            files=tuple(files), rows=len(rows), tokens=rows[:, 1:].size, documents=ends + len(rows), bytes=size
        )
        _publish_period(period, label, split)
        found.append(choice.told(number, scores, kept) | {"sha256": split.sha256})
    return found


def _device(work: ChainWork) -> str:
    wanted = work.resources.device
    return ("cuda" if torch.cuda.is_available() else "cpu") if wanted == "auto" else wanted


def _shard(period: Attempt, number: int, rows: Tokens, info: CorpusInfo) -> ShardFile:
    path = f"train/part-{number:05d}.parquet"
    data = to_parquet({TOKENS: rows}, info.columns, page_checksums=info.page_checksums)
    period.store.write(f"{period.path}/{path}", data)
    return ShardFile(path=path, rows=len(rows), bytes=len(data), sha256=hashlib.sha256(data).hexdigest())


def _sample_facts(
    work: ChainWork, spec: Round, parent: dict[str, object], split: SplitManifest, seconds: float
) -> dict[str, object]:
    """Return the facts for the record: where the rows are from, how they were sampled, and the cost."""
    assert isinstance(spec.sample, SampledRows)
    return _facts(work, spec, parent) | {
        "sampling": spec.sample.sampling.model_dump(mode="json"),
        "seed": spec.sample.seed,
        "rows": split.rows,
        "sampled_tokens": spec.sampled_tokens,
        "sampled_sha256": split.sha256,
        "sampling_seconds": seconds,
    }


def _choice_facts(
    work: ChainWork, spec: Round, parent: dict[str, object], pools: list[dict[str, object]], seconds: float
) -> dict[str, object]:
    """Return the facts for the record: by which rule the rows were chosen, from what, and the cost."""
    assert spec.chosen is not None
    rule = spec.chosen.rule
    return _facts(work, spec, parent) | {
        "choosing": rule.model_dump(mode="json", exclude=set(rule.without_meaning())),
        "rows": sum(spec.chosen.kept),
        "candidates": sum(spec.chosen.looked),
        "scored_tokens": spec.sampled_tokens,
        "pools": pools,
        "choosing_seconds": seconds,
    }


def _facts(work: ChainWork, spec: Round, parent: dict[str, object]) -> dict[str, object]:
    """Return the facts that hold for all rows that are made for a round."""
    parameters = int(str(parent["parameters"]))
    return {
        "kind": "sample",
        "parent": work.parent,
        "parent_period": parent["period"],
        "period": spec.period,
        "sampling_flops": forward_flops(parameters, spec.sampled_tokens),
        "steps": 0,
        "tokens": 0,
        "parameters": parameters,
        "trained_parameters": 0,
        "loss": None,
        "measured": {"tokens": 0, "seconds": 0.0},
        "label": work.label,
        "made_by": {**this_machine(), "device": _device(work), "threads": work.resources.threads},
    }
