"""Cells as numbers: the same matrices as from a pivot of the frame, whatever the types and the order of its rows."""

import dataclasses

import numpy as np
import pandas as pd
import pytest
from reports import tic_lm

from ticlm.platform.analysis.cell_columns import LabelColumn
from ticlm.platform.analysis.matrix import views
from ticlm.platform.results.study_result import StudyResult

TEXTS = ["study", "method", "trained", "evaluated", "task", "source", "metric", "key"]


def shuffled(of: StudyResult, seed: int = 0) -> StudyResult:
    """The study with nine of ten cells in any order, and a second metric that no task compares."""
    kept = of.cells.sample(frac=0.9, random_state=seed)
    return dataclasses.replace(of, cells=pd.concat([kept, kept.assign(metric="other", value=9.0)], ignore_index=True))


@pytest.mark.parametrize("kind", ["str", "category", "object"])
def test_every_matrix_is_a_pivot_of_the_frame(kind: str) -> None:
    plain = shuffled(tic_lm(methods=3, tasks=["tic-cc@1", "wiki-qa@1", "codedocs-numpy@1"]))
    result = dataclasses.replace(plain, cells=plain.cells.astype(dict.fromkeys(TEXTS, kind)))
    found, cells = views(result), plain.cells[plain.cells["metric"] != "other"]
    order = list(dict.fromkeys(cells["task"]))
    pairs = sorted({*zip(cells["task"], cells["source"])}, key=lambda one: (order.index(one[0]), one[1] != ""))
    assert [(view.task, view.source) for view in found] == pairs and len(pairs) == 4
    for view in found:
        own = cells[(cells["task"] == view.task) & (cells["source"] == view.source)]
        for method in view.methods:
            for seed, values in zip(method.method.seeds, method.values):
                mine = own[(own["method"] == method.method.name) & (own["seed"] == seed)]
                pivot = mine.pivot(index="trained", columns="evaluated", values="value")
                np.testing.assert_array_equal(values, pivot.reindex(index=method.labels, columns=view.evaluated))
        last = own[(own["method"] == "oracle") & (own["trained"] == "202407")].set_index("evaluated")["value"]
        np.testing.assert_array_equal(view.reference, last.reindex(view.evaluated))


def test_a_cell_that_is_there_twice_is_refused() -> None:
    result = tic_lm(methods=1, tasks=["tic-cc@1"])
    twice = pd.concat([result.cells, result.cells.iloc[[5]].assign(value=1.0)])
    with pytest.raises(ValueError, match="1 cells stand twice"):
        views(dataclasses.replace(result, cells=twice))


def test_a_row_without_a_value_has_no_place() -> None:
    column = LabelColumn.of(pd.Series(["b", None, "a", "b"]))
    assert column.places(["a", "b"]).tolist() == [1, -1, 0, 1] and column.places(["a"]).tolist() == [-1, -1, 0, -1]
    assert column.found() == ["b", "a"] and column.code("c") == -2
