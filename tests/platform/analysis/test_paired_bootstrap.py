"""Intervals of differences between methods: what is drawn, that the draw is shared, and that it covers the truth."""

import dataclasses

import numpy as np
import pandas as pd
import pytest
from calendars import CHECKPOINTS
from numpy.typing import NDArray
from reports import METHODS, tic_lm

from ticlm.platform.analysis.conventions import named
from ticlm.platform.analysis.paired_bootstrap import describe, differences, paired
from ticlm.platform.analysis.summary import summarize
from ticlm.platform.results.study_result import StudyResult

MEANS = ("backward", "in_distribution", "forward")


def found(result: StudyResult) -> pd.DataFrame:
    return differences([result], named())


def row(frame: pd.DataFrame, mean: str, a: str, b: str, task: str = "tic-cc@1") -> pd.Series:
    mine = (frame["mean"] == mean) & (frame["method_a"] == a) & (frame["method_b"] == b) & (frame["task"] == task)
    return frame[mine & (frame["source"] == "")].iloc[0]


def test_differences_are_those_of_the_table_in_every_task() -> None:
    result = tic_lm(methods=6)
    table, frame = summarize([result]), found(result)
    for task in set(table["task"]):
        of = table[(table["task"] == task) & (table["source"] == "")].set_index("method")
        for mean in MEANS:
            one = row(frame, mean, "cyclic-cosine", "replay-half", task)
            assert one["difference"] == pytest.approx(of.loc["cyclic-cosine", mean] - of.loc["replay-half", mean])
            assert one["low"] <= one["difference"] <= one["high"]


def test_every_pair_of_methods_stands_once() -> None:
    frame = found(tic_lm(methods=4, tasks=["tic-cc@1"]))
    pairs = frame[(frame["mean"] == "forward") & (frame["source"] == "")][["method_a", "method_b"]]
    assert len(pairs) == len(pairs.drop_duplicates()) == 5 * 4 // 2  # the Oracle series is the fifth


def test_the_draw_is_shared_so_that_a_constant_difference_is_certain() -> None:
    """Two methods that differ by the same amount everywhere: resampled apart, their intervals would be wide."""
    result = tic_lm(methods=1, tasks=["tic-cc@1"])
    mine = result.cells[(result.cells["method"] == METHODS[0][0]) & (result.cells["seed"] == 1)]
    worse = mine.assign(method="worse", value=mine["value"] + 0.01, key="worse-" + mine["key"])
    method = dataclasses.replace(result.methods[0], seeds=(1,))
    both = dataclasses.replace(
        result,
        cells=pd.concat([result.cells, worse]),
        methods=(method, dataclasses.replace(method, name="worse"), *result.methods[1:]),
    )
    for mean in MEANS:
        one = row(found(both), mean, METHODS[0][0], "worse")
        assert (one["low"], one["difference"], one["high"]) == pytest.approx((-0.01, -0.01, -0.01), abs=1e-12)


def test_periods_are_drawn_with_all_their_checkpoints() -> None:
    """One bad evaluated period among many: its share of the cells swings with how often it is drawn."""
    sums = np.zeros((10, 1))
    sums[3] = 5.0  # five checkpoints, each worse by one
    counts = np.full((10, 1), 5.0)
    whole, low, high = paired(sums, counts)
    assert whole[0] == pytest.approx(0.1)
    # drawn 0 to 3 times of 10 with probability 0.987, and never with 0.349
    assert (low[0], high[0]) == pytest.approx((0.0, 0.3))


def test_intervals_are_the_same_again_and_do_not_depend_on_what_stands_beside() -> None:
    rng = np.random.default_rng(7)
    sums, counts = rng.normal(size=(12, 3)), np.arange(1.0, 37.0).reshape(12, 3)
    whole = paired(sums, counts)
    for column in range(3):
        alone = paired(sums[:, [column]], counts[:, [column]])
        np.testing.assert_allclose([v[column] for v in whole], [v[0] for v in alone], rtol=1e-12)


def test_nineteen_of_twenty_intervals_hold_the_truth() -> None:
    rng = np.random.default_rng(0)
    values: NDArray[np.float64] = rng.normal(0.3, 1.0, (40, 400))  # 400 experiments of 40 periods
    _, low, high = paired(values, np.ones_like(values))
    assert 0.90 < float(((low <= 0.3) & (high >= 0.3)).mean()) < 0.98


def test_a_single_period_has_no_interval_and_none_no_mean() -> None:
    sums, counts = np.zeros((3, 2)), np.zeros((3, 2))
    sums[1, 0], counts[1, 0] = 0.4, 2.0
    whole, low, high = paired(sums, counts)
    assert whole[0] == pytest.approx(0.2) and np.isnan(low[0]) and np.isnan(high[0])
    assert np.isnan(whole[1]) and np.isnan(low[1])


def test_cells_that_one_lacks_are_counted_and_left_out_of_both() -> None:
    result = tic_lm(methods=2, tasks=["tic-cc@1"])
    gone = (result.cells["method"] == METHODS[1][0]) & (result.cells["trained"] == CHECKPOINTS[0])
    one = row(found(dataclasses.replace(result, cells=result.cells[~gone])), "forward", METHODS[0][0], METHODS[1][0])
    assert (one["cells"], one["missing"]) == (66 - 11, 11)
    whole = row(found(result), "forward", METHODS[0][0], METHODS[1][0])
    assert one["difference"] != pytest.approx(whole["difference"], abs=1e-6)


def test_a_line_is_told_for_each_only_where_they_are_few() -> None:
    frame = found(tic_lm(methods=1, tasks=["stackoverflow@1"]))
    lines = describe(frame)
    assert len(lines) == 3 and lines[0].startswith("tic-lm-3b, stackoverflow@1, Bwd. cyclic-cosine − oracle: ")
    assert describe(found(tic_lm(methods=3, tasks=["tic-cc@1"]))) == []


def test_differences_of_shares_are_told_in_points_as_in_the_table() -> None:
    frame = found(tic_lm(methods=1, tasks=["wiki-qa@1"]))
    one = row(frame, "forward", "cyclic-cosine", "oracle", "wiki-qa@1")
    shown = f"{100 * one['difference']:.1f} points (95 %: {100 * one['low']:.1f} to {100 * one['high']:.1f})"
    assert describe(frame)[-1].endswith(shown.replace("-", "−")) and abs(one["difference"]) < 0.05
