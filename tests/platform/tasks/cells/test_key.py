"""Keys of cells: the same from one checkpoint at a time and for many."""

from __future__ import annotations

from ticlm.core.fingerprint import fingerprint
from ticlm.methods.objectives import Causal
from ticlm.platform.tasks.cells.key import CellKey, cell_key, cell_keys
from ticlm.platform.tasks.packed_rows import Perplexity


def test_a_key_is_the_hash_of_all_that_determines_a_cell() -> None:
    task, objective = Perplexity(), Causal()
    of = cell_keys(task, "202301", "data", objective)
    for weights in ("a" * 64, "b" * 64):
        whole = CellKey(weights=weights, task=task, data="data", objective=objective, compute="float32")
        assert of(weights) == cell_key(weights, task, "202301", "data", objective) == fingerprint(whole)
    assert of("a" * 64) == "1a5f5693e8be3f07475fe9cdb7610d16622dd50fe455e5d047f8a29bb13208a4"
