"""Studies that are run to their end, and what must be the same however that came about."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ticlm.platform.run import driver
from ticlm.platform.study.identity import weights_of
from ticlm.platform.study.plan import Plan, make
from ticlm.platform.study.settings import Study
from ticlm.platform.tasks.cells.files import read_cells


def run(study: Study, root: Path) -> Plan:
    """Train and score what is left of a study, and return its plan as it is then."""
    driver.train(make(study, str(root)))
    driver.evaluate(make(study, str(root)))
    return make(study, str(root))


def results(plan: Plan) -> tuple[dict[Any, str], dict[tuple[str, ...], float]]:
    """Return hashes of the weights of all rounds and of the models inside them, and the values of all cells."""
    assert plan.store is not None
    weights = {key: weights_of(record) for key, record in [*plan.records.items(), *plan.mid_round_records.items()]}
    cells = [cell for one in weights.values() for cell in read_cells(plan.store, one)]
    return weights, {cell.place: cell.value for cell in cells}
