"""Roots of finished studies that nobody trained: records and cells with invented values, in their real formats."""

from __future__ import annotations

import math
import random
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from toys import TOY_STUDY, build_toy_corpus

from ticlm.core import paths
from ticlm.core.fingerprint import fingerprint
from ticlm.core.integrity import own_hash
from ticlm.core.integrity.records import FORMAT, Record, StoredFile
from ticlm.core.settings import parse
from ticlm.platform.eval.wanted.asked import CellKeys, by_checkpoint, wanted_cells
from ticlm.platform.study.plan import Plan, make
from ticlm.platform.study.settings import Study
from ticlm.platform.tasks.cells.cell import Cell
from ticlm.platform.tasks.cells.files import write_cells

FILES = ("config.json", "model.safetensors", "tokenizer.json", "tokenizer_config.json")


def write_finished_root(root: Path, settings: dict[str, Any]) -> tuple[int, int]:
    """Write corpus, records and cells of a study; return the numbers of rounds and cells."""
    labels = periods_of(settings)
    build_toy_corpus(root / "corpora/toy@1", periods=labels, rows=96, held_out=4)
    made = make(parse(Study, settings, "study"), str(root))
    for key in made.ids:
        _write_record(made, key)
    made.read_records(made.ids)
    assert made.store is not None
    count = 0
    for cells in _cells(made):
        write_cells(made.store, cells)
        count += len(cells)
    return len(made.ids), count


def finished_study(methods: int, periods: int, oracles: int = 0) -> dict[str, Any]:
    """Return a study of so many methods, which share their first round, and of an Oracle series with so many cutoffs.
    Every fourth method replays old periods; the others differ in their learning rates."""
    labels = [f"{2010 + number // 12}{number % 12 + 1:02d}" for number in range(periods)]
    changed: list[dict[str, Any]] = []
    for number in range(methods):
        rate, share = 1e-3 + 1e-5 * number, (number + 1) / (methods + 1)
        own = {"name": f"method-{number:03d}", "schedule": {"max_rate": rate, "warmup_steps": 1}}
        replay = {"base": "replay-half", "replay": {"kind": "fixed", "alpha": share}}
        changed.append(own | (replay if number % 4 == 0 else {"base": "cyclic-cosine"}))
    if oracles:
        cutoffs = [labels[i * (periods - 1) // (oracles - 1)] for i in range(oracles)]
        changed.append({"base": "oracle", "cutoffs": list(dict.fromkeys(cutoffs))})
    span = {"initial": labels[0], "step": "month", "last": labels[-1]}
    budget = {"per_period": 100 * 4 * 16}
    return TOY_STUDY | {"name": "scale", "periods": span, "continual_tokens": budget, "methods": changed}


def periods_of(settings: dict[str, Any]) -> Sequence[str]:
    """Return the labels of a study's periods."""
    return parse(Study, settings, "study").timeline.labels


def _write_record(plan: Plan, key: str) -> None:
    """Write the record of a round whose files were never written; only readers of models would miss these."""
    assert plan.store is not None
    spec, folder = plan.tree.rounds[key], paths.round_folder(plan.ids[key])
    attempt = f"20260101T000000-{plan.ids[key][:8]}"
    files = tuple(StoredFile(path=f"model/{name}", size=4096, sha256=fingerprint((key, name))) for name in FILES)
    about = {
        "kind": "round",
        "parent": None if spec.parent is None else plan.ids[spec.parent],
        "period": spec.period,
        "steps": spec.steps,
        "tokens": spec.tokens,
        "parameters": 7824,
        "trained_parameters": 7824,
        "loss": 3.5,
        "measured": {"tokens": spec.tokens, "seconds": 1.5},
        "label": f"scale {spec.period}",
    }
    record = Record(format=FORMAT, attempt=attempt, created="2026-01-01T00:00:00Z", files=files, about=about)
    content = record.model_dump(mode="json", exclude={own_hash.KEY})
    plan.store.create(paths.record(folder), own_hash.with_hash(content))


def _cells(plan: Plan) -> Iterator[list[Cell]]:
    """Yield the cells of each checkpoint: losses that depend on the evaluated period, and some noise."""
    keys, draw = CellKeys(plan), random.Random(0)
    for weights, wanted in by_checkpoint(wanted_cells(plan, keys)).items():
        yield [
            Cell.model_construct(
                weights=weights,
                task=one.task.id,
                axis="period",
                evaluated=label,
                source="",
                kind="value",
                metric="nll",
                value=3.0 + math.sin(number / 9) / 4 + draw.gauss(0, 0.02),
                n=64,
                stderr=0.02,
                key=key,
            )
            for one in wanted
            for number, (label, key) in enumerate(zip(one.labels, keys.of(one)))
        ]
