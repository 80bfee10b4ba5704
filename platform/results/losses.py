"""The training loss of each run over its steps, from what finished rounds keep."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from ticlm.core import paths
from ticlm.platform.results.study_result import LOSS_COLUMNS

if TYPE_CHECKING:
    import pandas as pd

    from ticlm.platform.study.plan import Plan
    from ticlm.platform.study.tree import Run

POINTS, LINE = 40, 1200
"""Most points of a round's curve, and about as many of a whole run's."""
READ = 32_000_000
"""Most bytes of losses that are read for a report: beyond, as with a hundred rounds of a thousand steps a method, each
round has the loss of its last step alone, which its record holds."""
ROUNDS, ROUNDS_FAR = 500, 100
"""Most files that are read, and most of a remote root, where 200 of them are 18 waits, a third of a whole report's."""


def loss_frame(plan: Plan) -> pd.DataFrame:
    """Return LOSS_COLUMNS of the first seed of each method, without Oracle series; rounds that are not done are left
    out. Each loss is the mean over a part of a round, in nats per target, at the middle step of that part."""
    import pandas as pd

    runs: dict[str, Run] = {}
    for run in plan.tree.runs:
        if not run.method.is_series:
            runs.setdefault(run.method.name, run)
    kept = _kept(plan, [key for run in runs.values() for key in run.keys])
    rows = [row for run in runs.values() for row in _rows(plan, run, kept)]
    return pd.DataFrame(rows, columns=list(LOSS_COLUMNS))


def _rows(plan: Plan, run: Run, kept: Mapping[str, list[float]]) -> Iterator[dict[str, Any]]:
    own = [(label, key) for label, keys in run.work.items() for key in keys]
    most, before = max(1, min(POINTS, LINE // max(len(own), 1))), 0
    for label, key in own:
        steps, losses = plan.tree.rounds[key].steps, kept.get(key, [])
        whole = len(losses) == steps  # else the last step alone is known
        for part in np.array_split(np.arange(len(losses)), min(most, len(losses)) or 1):
            if len(part) and math.isfinite(loss := float(np.mean([losses[i] for i in part]))):
                at = int(part.mean()) if whole else steps - 1
                named = {"method": run.method.name, "seed": run.seed, "period": label}
                yield named | {"step": before + at, "loss": loss}
        before += steps


def _kept(plan: Plan, keys: list[str]) -> dict[str, list[float]]:
    """Return the loss of every step of each round that is done; of its last step where there are too many to read, or
    where the file is not there."""
    assert plan.store is not None
    records = {key: plan.records[key] for key in keys if key in plan.records}
    found = {}
    for key, record in records.items():
        last = record.about.get("loss")
        found[key] = [] if last is None else [float(last)]
    kept = {key: file.size for key, one in records.items() for file in one.files if file.path == paths.METRICS}
    if len(kept) > (ROUNDS if plan.store.is_local else ROUNDS_FAR) or sum(kept.values()) > READ:
        return found
    folders = (paths.attempt(paths.round_folder(plan.ids[key]), records[key].attempt) for key in kept)
    for key, data in zip(kept, plan.store.read_all(map(paths.metrics, folders))):
        losses = [] if data is None else _losses(data)
        if len(losses) == plan.tree.rounds[key].steps:
            found[key] = losses
    return found


def _losses(data: bytes) -> list[float]:
    """Return the losses of a file of metrics; none if it is damaged, which `ticlm check` says."""
    try:
        return [float(one) for one in json.loads(data)["loss"]]
    except (ValueError, KeyError, TypeError):
        return []
