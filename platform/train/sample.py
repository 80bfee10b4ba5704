"""Publishing rows that a finished round's checkpoint writes, as a small corpus: no step is trained."""

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
from ticlm.core.token_rows import Column, ShardFile, dtype_for, to_parquet
from ticlm.platform.models import folders
from ticlm.platform.models.sampling import sample_rows
from ticlm.platform.study.costs import forward_flops
from ticlm.platform.study.round import Round
from ticlm.platform.study.stored_rounds import published
from ticlm.platform.study.work import ChainWork
from ticlm.platform.train.maker import this_machine
from ticlm.platform.train.publish import tidy

SHARD_TOKENS = 1 << 24
"""Most tokens of a shard, but for the last rows that are sampled at once."""


def publish_sample(work: ChainWork) -> None:
    """Publish the sample that is the only round of `work`, unless it has a record: its rows, then the record.

    An attempt that is interrupted leaves nothing that is used; the next one samples the same rows from the start.
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
    info = own.model_copy(
        update={"format": FORMAT, "name": "sampled", "version": "1", "columns": (column,), "recipe": round_id}
        | {"sources": None, "external_inputs": ()}
    )
    store.write(f"{rows}/{INFO}", own_hash.with_hash(info.model_dump(mode="json")))
    period = Attempt(store, f"{rows}/{paths.period(spec.period)}")
    split = _write(work, spec, round_id, info, period)
    start, end = span(spec.period)
    manifest = PeriodManifest(period=Period(label=spec.period, start=start, end=end), splits={"train": split})
    period.publish(manifest.model_dump(mode="json"))
    parent = read_record(store, paths.round_folder(work.parent))
    assert parent is not None
    attempt.publish(_sample_facts(work, spec, parent.about, split, time.monotonic() - began))
    tidy(store, folder)


def _write(work: ChainWork, spec: Round, round_id: str, info: CorpusInfo, period: Attempt) -> SplitManifest:
    """Sample all rows of a sample and write their shards, a few rows and one shard at a time."""
    assert spec.sample is not None and work.parent is not None
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


def _device(work: ChainWork) -> str:
    wanted = work.resources.device
    return ("cuda" if torch.cuda.is_available() else "cpu") if wanted == "auto" else wanted


def _shard(period: Attempt, number: int, rows: NDArray[np.int64], info: CorpusInfo) -> ShardFile:
    path = f"train/part-{number:05d}.parquet"
    data = to_parquet({TOKENS: rows}, info.columns, page_checksums=info.page_checksums)
    period.store.write(f"{period.path}/{path}", data)
    return ShardFile(path=path, rows=len(rows), bytes=len(data), sha256=hashlib.sha256(data).hexdigest())


def _sample_facts(
    work: ChainWork, spec: Round, parent: dict[str, object], split: SplitManifest, seconds: float
) -> dict[str, object]:
    """Return the facts for the record: where the rows are from, how they were sampled, and the cost."""
    assert spec.sample is not None
    parameters = int(str(parent["parameters"]))
    return {
        "kind": "sample",
        "parent": work.parent,
        "parent_period": parent["period"],
        "period": spec.period,
        "sampling": spec.sample.sampling.model_dump(mode="json"),
        "seed": spec.sample.seed,
        "rows": split.rows,
        "sampled_tokens": spec.sampled_tokens,
        "sampled_sha256": split.sha256,
        "sampling_seconds": seconds,
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
