"""The search by dot product: what brute force finds, however the passages lie in shards."""

from __future__ import annotations

import sys

import numpy as np
import pytest

from ticlm.core.errors import InputError
from ticlm.datasets.retrieval.index import Best, faiss_library, inverted_file

DRAW = np.random.default_rng(0)
VECTORS = DRAW.standard_normal((500, 24)).astype(np.float32)
VECTORS[37:400:3] = VECTORS[11]  # more of the same than there are spare candidates
QUERIES = np.concatenate([DRAW.standard_normal((30, 24)), VECTORS[[11, 40, 499]]]).astype(np.float32)


def brute_force(top: int, rows: slice = slice(None)) -> list[list[int]]:
    """The best rows of each query by float64 products, of equal ones the first."""
    scores = (QUERIES[:, None].astype(np.float64) * VECTORS[None, rows]).sum(axis=2)
    return np.argsort(-scores, axis=1, kind="stable")[:, :top].tolist()  # type: ignore[no-any-return]


def found(top: int, ends: list[int]) -> list[list[tuple[int, float]]]:
    best = Best.none(len(QUERIES), top)
    for start, end in zip([0, *ends], [*ends, len(VECTORS)]):
        best = best.with_shard(QUERIES, VECTORS[start:end], start)
    return best.listed()


@pytest.mark.parametrize("top", [1, 7, 60])
@pytest.mark.parametrize("ends", [[], [250], [1, 12, 13, 300]])
def test_the_search_agrees_with_brute_force_ties_included(top: int, ends: list[int]) -> None:
    assert [[number for number, _ in several] for several in found(top, ends)] == brute_force(top)


def test_shards_and_batches_do_not_change_a_bit_of_the_scores() -> None:
    whole = found(9, [])
    assert found(9, [100, 200, 301]) == whole
    one_by_one = [Best.none(1, 9).with_shard(query[None], VECTORS, 0).listed()[0] for query in QUERIES]
    assert one_by_one == whole


def test_fewer_passages_than_are_asked_for_are_all_found() -> None:
    best = Best.none(len(QUERIES), 5).with_shard(QUERIES, VECTORS[:3], 0)
    assert [sorted(number for number, _ in several) for several in best.listed()] == [[0, 1, 2]] * len(QUERIES)


def test_an_inverted_file_that_searches_all_its_lists_is_exact_and_one_list_is_not() -> None:
    faiss = faiss_library()
    index = faiss.deserialize_index(np.frombuffer(inverted_file(VECTORS, 20), np.uint8))

    def numbers(probes: int) -> list[list[int]]:
        best = Best.none(len(QUERIES), 3).with_shard(QUERIES, VECTORS, 0, index, probes)
        return [[number for number, _ in several] for several in best.listed()]

    assert numbers(20) == brute_force(3) != numbers(1)


def test_without_faiss_one_line_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "faiss", None)
    with pytest.raises(InputError, match=r"kind dpr needs faiss: pip install 'ticlm\[retrieval\]'"):
        faiss_library()
