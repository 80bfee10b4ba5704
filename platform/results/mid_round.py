"""Cells of models that were published inside a round, and how far methods have come at their checkpoints."""

from __future__ import annotations

import math
from collections import Counter
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from ticlm.core import paths
from ticlm.core.mixture import Source
from ticlm.platform.eval.wanted.asked import mid_round_keys_by_place, scored_mid_round
from ticlm.platform.results.study_result import COLUMNS
from ticlm.platform.study.mid_round import epochs_by
from ticlm.platform.study.plan import Plan
from ticlm.platform.study.settings import EveryEpochs
from ticlm.platform.tasks.cells.cell import Cell
from ticlm.platform.tasks.cells.kept import KeptCells

if TYPE_CHECKING:
    import pandas as pd


PROGRESS_COLUMNS = ("method", "trained", "step", "steps", "epochs")
"""Columns of `progress`."""


def progress(plan: Plan) -> pd.DataFrame | None:
    """Return how far each method has come at each of its checkpoints, those inside rounds included; None if the study
    publishes no model inside its rounds.

    `step` is empty at the end of a round. `steps` are those of the run so far, and `epochs` how often it has read the
    text of its rounds' own periods by then, one after the other: to the last whole part of an epoch after which a model
    is published, as a step may end behind it. They are NaN where models are published by steps.
    """
    import pandas as pd

    every, corpus = plan.study.evaluate.inside, plan.corpus
    if every is None or corpus is None:
        return None
    part = Fraction(str(every.every_epochs)) if isinstance(every, EveryEpochs) else None
    found: dict[tuple[str, str, int | None], dict[str, Any]] = {}
    for run in plan.tree.runs:
        before, read = 0, Fraction(0)
        for trained, key in () if run.method.is_series else run.rounds.items():
            spec = plan.tree.rounds[key]
            own = Source(corpus=paths.corpus_id(plan.study.corpus), period=spec.period)
            rows = corpus.periods[spec.period].splits["train"].rows if spec.period in corpus.periods else 0
            for step in (*plan.mid_round_steps(key), None):
                epochs = epochs_by(spec, spec.steps if step is None else step, own, rows)
                epochs = epochs // part * part if part and step is not None else epochs
                row: dict[str, Any] = {"method": run.method.name, "trained": trained, "step": step}
                row |= {"steps": before + (spec.steps if step is None else step)}
                row |= {"epochs": float(read + epochs) if part else math.nan}
                found.setdefault((run.method.name, trained, step), row)
            before, read = before + spec.steps, read + epochs_by(spec, spec.steps, own, rows)
    return pd.DataFrame(list(found.values()), columns=list(PROGRESS_COLUMNS)).astype({"step": "Int64"})


def mid_round_cells(plan: Plan) -> tuple[pd.DataFrame | None, list[str]]:
    """Return the frame of cells inside rounds (COLUMNS and `step`), and a line for each reason why some are missing.

    Cells of tasks without periods have no `evaluated` and no `key`, as at the ends of rounds. The frame is None if the
    study publishes no model inside its rounds.
    """
    import pandas as pd

    if plan.study.evaluate.inside is None:
        return None, []
    assert plan.store is not None
    keys = mid_round_keys_by_place(plan)
    checkpoints = dict.fromkeys(weights for weights, _ in keys.values())
    kept = dict(zip(checkpoints, KeptCells(plan.store).each(checkpoints)))
    rows: list[dict[str, Any]] = []
    missing: dict[tuple[str, int], str] = {}
    not_scored: Counter[str] = Counter()
    for run, trained, task, step in scored_mid_round(plan):
        round_key = run.rounds[trained]
        if (round_key, step) not in plan.mid_round_records:
            why = "its round was trained without" if plan.done(round_key) else "not trained yet"
            missing[round_key, step] = f"models inside the rounds of {run.method.name} (seed {run.seed}): {why}"
            continue
        values: list[Cell] = []
        for label in plan.labels(task):
            weights, key = keys.get((round_key, step, task.id, label), ("", ""))
            cells = kept[weights].labelled_cells(label, key) if weights else []
            not_scored["cells inside rounds: not evaluated yet: ticlm eval"] += bool(weights) and not cells
            values += [cell for cell in cells if cell.kind == "value"]
        place = {"study": plan.study.name, "method": run.method.name, "seed": run.seed, "trained": trained}
        place |= {"task": task.id, "evaluated": "", "key": "", "step": step}
        for row in values if task.axis == "period" else task.table(values):
            rows.append(place | {name: getattr(row, name) for name in COLUMNS if hasattr(row, name)})
    gaps = Counter(missing.values()) + not_scored
    return pd.DataFrame(rows, columns=[*COLUMNS, "step"]), [f"{count} {reason}" for reason, count in gaps.items()]
