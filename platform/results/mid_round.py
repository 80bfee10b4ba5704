"""Cells of models that were published inside a round."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from ticlm.platform.eval.wanted.asked import mid_round_keys_by_place, scored_mid_round
from ticlm.platform.results.study_result import COLUMNS
from ticlm.platform.study.plan import Plan
from ticlm.platform.tasks.cells.cell import Cell
from ticlm.platform.tasks.cells.kept import KeptCells

if TYPE_CHECKING:
    import pandas as pd


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
