"""How far two runs of one study lie apart: the weights of their rounds, and the cells measured on them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path

from ticlm.core.store import Store
from ticlm.platform.eval.wanted.asked import keys_by_place
from ticlm.platform.study.plan import Plan
from ticlm.platform.study.stored_rounds import published
from ticlm.platform.tasks.cells.cell import Cell
from ticlm.platform.tasks.cells.files import read_cells


@dataclass(frozen=True)
class WeightsDifference:
    """`same` of `rounds` have the same bits. `largest` is the largest relative L2 distance of a tensor, in the round
    `where`; `missing` rounds were never finished."""

    rounds: int
    same: int
    missing: int
    largest: float
    where: str

    @property
    def is_same(self) -> bool:
        """Whether all rounds are there, with the same bits."""
        return self.same == self.rounds


@dataclass(frozen=True)
class CellsDifference:
    """The number of cells, how many of them are in one run alone, and the largest difference of a value."""

    cells: int
    missing: int
    largest: float

    @property
    def is_same(self) -> bool:
        """Whether both runs have the same cells, with the same values."""
        return not self.missing and self.largest == 0


def compare_weights(first: Plan, second: Plan) -> WeightsDifference:
    """Compare the weights of all rounds of two plans of one study; their records must be up to date."""
    ids = dict.fromkeys(id for key, id in first.ids.items() if first.tree.rounds[key].sample is None)
    same, missing, largest, where = 0, 0, 0.0, ""
    one, other = _store(first), _store(second)
    labels = {first.ids[key]: spec.period for key, spec in first.tree.rounds.items()}
    done = [{plan.ids[key] for key in plan.records} for plan in (first, second)]
    for id in ids:
        if not all(id in finished for finished in done):
            missing += 1
            continue
        with one.local(published(one, id)) as a, other.local(published(other, id)) as b:
            distance = _distance(a, b)
        same += distance == 0
        if distance > largest:
            largest, where = distance, f"{labels[id]} ({id[:8]})"
    return WeightsDifference(len(ids), same, missing, largest, where)


def _distance(first: Path, second: Path) -> float:
    """Return the largest relative L2 distance between tensors of two model folders; infinite if one is no number, or
    if their shapes differ."""
    import torch
    from safetensors import safe_open

    largest = 0.0
    for file in sorted(first.glob("*.safetensors")):
        with safe_open(file, "pt") as a, safe_open(second / file.name, "pt") as b:
            for name in a.keys():  # noqa: SIM118 (not a mapping)
                x, y = a.get_tensor(name).double(), b.get_tensor(name).double()
                if x.shape != y.shape:
                    return math.inf
                if not torch.equal(x, y):
                    largest = max(largest, _or_infinite(float((x - y).norm() / x.norm().clamp_min(1e-30))))
    return largest


def compare_cells(first: Plan, second: Plan) -> CellsDifference:
    """Compare the values of all cells of two plans of one study."""
    a, b = _values(first), _values(second)
    both = a.keys() & b.keys()
    largest = max((_or_infinite(abs(a[key] - b[key])) for key in both), default=0.0)
    return CellsDifference(len(a), len(a.keys() ^ b.keys()), largest)


def _or_infinite(difference: float) -> float:
    return math.inf if math.isnan(difference) else difference


def _values(plan: Plan) -> dict[tuple[str, ...], float]:
    store, found = _store(plan), dict[tuple[str, ...], float]()
    by_weights: dict[str, list[Cell]] = {}
    for (key, task, label), (weights, cell_key) in keys_by_place(plan).items():
        if weights not in by_weights:
            by_weights[weights] = read_cells(store, weights)
        for cell in by_weights[weights]:
            if cell.key == cell_key:
                found[key, task, label, cell.source, cell.title] = cell.value
    return found


def _store(plan: Plan) -> Store:
    assert plan.store is not None
    return plan.store
