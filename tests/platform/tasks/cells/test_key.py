"""Keys of cells: the same from one checkpoint at a time and for many."""

from __future__ import annotations

from typing import get_args

from ticlm.core.fingerprint import fingerprint
from ticlm.methods.objectives import Causal
from ticlm.platform.tasks.base import Prepare
from ticlm.platform.tasks.cells.cell import Compute
from ticlm.platform.tasks.cells.key import CellKey, cell_key, cell_keys
from ticlm.platform.tasks.packed_rows import Perplexity


def test_a_key_is_the_hash_of_all_that_determines_a_cell() -> None:
    task, objective = Perplexity(), Causal()
    of = cell_keys(task, "202301", "data", objective)
    for weights in ("a" * 64, "b" * 64):
        whole = CellKey(weights=weights, task=task, data="data", objective=objective, compute="float32")
        assert of(weights) == cell_key(weights, task, "202301", "data", objective) == fingerprint(whole)
    assert of("a" * 64) == "1a5f5693e8be3f07475fe9cdb7610d16622dd50fe455e5d047f8a29bb13208a4"


def test_the_number_type_is_part_of_a_key_and_what_prepares_the_weights_is_not() -> None:
    """What tunes a copy before it is scored is in its weights; the corpus it tunes on may lie anywhere."""

    def key(task: Perplexity, compute: Compute = "float32") -> str:
        return cell_key("a" * 64, task, "202301", "data", Causal(), compute)

    plain = Perplexity()
    prepared = Perplexity(prepare=Prepare(corpus="elsewhere@1", steps=1))
    assert key(prepared) == key(plain)
    assert len({key(plain, compute) for compute in get_args(Compute)}) == 3
