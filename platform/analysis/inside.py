"""Cells of models that were published inside a round."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from ticlm.platform.analysis.results import COLUMNS
from ticlm.platform.eval import cells as evaluation
from ticlm.platform.eval.cell_store import read_cells
from ticlm.platform.study.plan import Plan
from ticlm.platform.tasks.cell import Cell

if TYPE_CHECKING:
    import pandas as pd


def inside_cells(plan: Plan) -> tuple[pd.DataFrame | None, list[str]]:
    """Return the frame of cells inside rounds (COLUMNS and `step`), and a line for each reason why some are missing.

    The frame is None if the study publishes no model inside its rounds.
    """
    import pandas as pd

    if plan.study.evaluate.inside is None:
        return None, []
    assert plan.store is not None
    keys = evaluation.keys_inside(plan)
    by_model: dict[tuple[str, int, str], list[tuple[str, str, str]]] = {}
    for (key, step, task_id, label), (weights, cell_key) in keys.items():
        by_model.setdefault((key, step, task_id), []).append((label, weights, cell_key))
    kept: dict[str, dict[str, list[Cell]]] = {}
    rows: list[dict[str, Any]] = []
    gaps: Counter[str] = Counter()
    for run, trained, task, step in evaluation.scored_inside(plan):
        key = run.rounds[trained]
        if (key, step) not in plan.inside_records:
            why = "its round was trained without" if plan.done(key) else "not trained yet"
            gaps[f"models inside the rounds of {run.method.name} (seed {run.seed}): {why}"] += 1
        for label, weights, cell_key in by_model.get((key, step, task.id), []):
            if weights not in kept:
                kept[weights] = {}
                for cell in read_cells(plan.store, weights):
                    kept[weights].setdefault(cell.key, []).append(cell)
            found = kept[weights].get(cell_key, [])
            gaps["cells inside rounds: not evaluated yet: ticlm eval"] += not found
            place = {"study": plan.study.name, "method": run.method.name, "seed": run.seed, "trained": trained}
            for cell in found:
                values = {name: getattr(cell, name) for name in COLUMNS[4:]}
                rows.append({**place, "step": step, **values} | ({"evaluated": label} if cell.evaluated else {}))
    return (
        pd.DataFrame(rows, columns=[*COLUMNS, "step"]),
        [f"{count} {reason}" for reason, count in gaps.items() if count],
    )
