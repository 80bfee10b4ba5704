"""Which evaluation is nearest to a checkpoint, and how late a method is best on a period, by hand."""

import dataclasses

import numpy as np
import pytest
from calendars import CHECKPOINTS, NUMPY, PYTORCH
from hypothesis import given
from hypothesis import strategies as st
from report_kinds import MONTHS, WEEKS, made_up
from reports import tic_lm

from ticlm.core.periods import TIC_CC_MONTHS, Period, span
from ticlm.platform.analysis.lag.ages import age, by_age
from ticlm.platform.analysis.lag.calendar import apart, nearest, places
from ticlm.platform.analysis.lag.peaks import Peak, describe, peaks
from ticlm.platform.analysis.matrix import View, views
from ticlm.platform.analysis.metrics import quantity
from ticlm.platform.results.study_result import TaskMetric


def of(label: str) -> Period:
    start, end = span(label)
    return Period(label=label, start=start, end=end)


def every(labels: str) -> list[Period]:
    return [of(label) for label in labels.split()]


@pytest.mark.parametrize(
    ("trained", "evaluated", "months"),
    [
        ("201403", "201403", 0),
        ("201403", "201402", 1),
        ("201403", "201404", -1),
        ("201501", "201401", 12),
        ("201312", "201309-201402", 0),  # training ended within the span
        ("201402", "201309-201402", 0),
        ("201404", "201309-201402", 2),
        ("201308", "201309-201402", -1),
        ("201305-201412", "201306", 18),  # what it was trained on last counts
        ("201305-201412", "201501", -1),
    ],
)
def test_months_between_training_and_evaluation(trained: str, evaluated: str, months: float) -> None:
    assert apart(of(trained), of(evaluated)) == pytest.approx(months)


def test_days_count_as_their_share_of_a_month() -> None:
    assert apart(of("20240101..20240107"), of("20240108..20240114")) == pytest.approx(-7 / 31)
    assert apart(of("20240108..20240114"), of("20240101..20240107")) == pytest.approx(7 / 31)


@given(st.permutations(TIC_CC_MONTHS), st.integers(1, 20))
def test_on_one_calendar_every_checkpoint_is_nearest_to_its_own_period(months: list[str], many: int) -> None:
    periods = [of(label) for label in sorted(months[:many])]
    assert nearest(periods, periods) == list(range(len(periods)))


@given(st.sampled_from(TIC_CC_MONTHS), st.sampled_from(TIC_CC_MONTHS))
def test_between_two_months_the_lag_only_changes_its_sign(one: str, other: str) -> None:
    assert apart(of(one), of(other)) == pytest.approx(-apart(of(other), of(one)))


def test_the_nearest_release_of_numpy_and_pytorch_to_every_checkpoint() -> None:
    checkpoints = [of(label) for label in CHECKPOINTS]
    numpy, pytorch = NUMPY.split(), PYTORCH.split()
    assert [numpy[j] for j in nearest(checkpoints, every(NUMPY))] == [
        *["201706"] * 4,
        *("201801", "201901", "201912", "202101", "202112", "202212", "202406", "202406"),
    ]
    # 202301 lies two months before 202303 and three after 202210
    expected = [*["202103"] * 8, "202203", "202303", "202401", "202407"]
    assert [pytorch[j] for j in nearest(checkpoints, every(PYTORCH))] == expected


def test_of_two_evaluations_equally_near_the_earlier_counts() -> None:
    assert nearest([of("201503")], every("201501 201505")) == [0]
    assert nearest([of("201503")], every("201505 201501")) == [1]


def test_places_are_the_middles_of_periods_in_months() -> None:
    first, second = places([of("201401"), of("201401-201403")])
    assert second - first == pytest.approx(1)


def view(task: str, methods: int = 1) -> View:
    return next(one for one in views(tic_lm(methods, [task])) if not one.source)


def test_a_method_is_best_so_long_after_a_period_as_it_was_made_to_be() -> None:
    seen = view("wiki-diff@1")
    found = peaks(seen, seen.methods[0])
    # the loss is lowest 20 months after a dump; the checkpoint nearest to that: 201501 + 20 → 201701 (24), 201602 (13)
    assert found[0] is not None and found[0].label == "201701" and found[0].lag == pytest.approx(24)
    assert not found[0].at_edge
    last = found[-1]  # 202404 + 20 lies beyond the last checkpoint
    assert last is not None and last.label == "202407" and last.lag == pytest.approx(3) and last.at_edge


def test_the_ends_are_the_first_and_last_models_that_were_scored() -> None:
    whole = tic_lm(1, ["wiki-diff@1"])

    def peak(*gone: str) -> Peak:
        """The best on 201501 where these checkpoints have no score."""
        cells = whole.cells[~whole.cells["trained"].isin(gone)]
        (seen,) = views(dataclasses.replace(whole, cells=cells, reference=None))
        found = peaks(seen, seen.methods[0])[0]
        assert found is not None
        return found

    assert (peak().label, peak().at_edge) == ("201701", False)
    first = peak("201403", "201501", "201602")
    assert (first.label, first.at_edge) == ("201701", True)
    last = peak(*CHECKPOINTS[4:])
    assert (last.label, last.at_edge) == ("201701", True)
    assert peak("201403").at_edge is False


def test_where_more_is_better_the_best_is_the_highest() -> None:
    accuracy = view("wiki-qa@1")
    values = accuracy.methods[0].mean
    for j, peak in enumerate(peaks(accuracy, accuracy.methods[0])):
        assert peak is not None and peak.label == CHECKPOINTS[int(values[:, j].argmax())]
    turned = dataclasses.replace(accuracy.study, metrics={"wiki-qa@1": TaskMetric("accuracy", False)})
    worst = peaks(dataclasses.replace(accuracy, study=turned), accuracy.methods[0])
    assert worst[0] is not None and worst[0].label == CHECKPOINTS[int(values[:, 0].argmin())]


def test_an_oracle_series_is_taken_by_its_cutoffs() -> None:
    seen = view("tic-cc@1")
    assert {peak.label for peak in peaks(seen, seen.methods[-1]) if peak is not None} == {"202407"}


def test_a_period_that_nobody_was_scored_on_has_no_best_model() -> None:
    whole = tic_lm(1, ["wiki-diff@1"])
    gone = whole.cells["evaluated"] == "201602"
    (seen,) = views(dataclasses.replace(whole, cells=whole.cells[~gone]))
    found = peaks(seen, seen.methods[0])
    assert [label for label, peak in zip(seen.evaluated, found) if peak is None] == ["201602"]
    assert describe([None]) == "no values"


def test_the_median_is_told_in_months_with_what_bounds_it() -> None:
    seen = view("codedocs-numpy@1")
    assert describe(peaks(seen, seen.methods[0])) == "median +13 months; 4 of 16 at the first or last model"


def test_shares_are_shown_in_percent_and_logs_of_perplexities_as_such() -> None:
    accuracy, loss, bits = (quantity(TaskMetric(*one)) for one in (("accuracy", True), ("nll",), ("bits-per-byte",)))
    assert (accuracy.scale, accuracy.titled, accuracy.difference, accuracy.is_log) == (
        100,
        "accuracy, %",
        "points",
        False,
    )
    assert (loss.scale, loss.titled, loss.difference, loss.is_log) == (1, "log-perplexity", "nats", True)
    assert (bits.titled, bits.difference) == ("bits per byte", "bits")
    stale, share = quantity(TaskMetric("nll-outdated")), quantity(TaskMetric("outdated"))
    assert (stale.scale, stale.difference, share.scale) == (1, "nats", 100), "a loss, though it ends as a share does"
    assert quantity(TaskMetric("entropy")).titled == "entropy"


@pytest.mark.parametrize(
    ("trained", "evaluated", "months"),
    [
        ("201403", "201403", 0),
        ("201403", "201404", 1),
        ("201403", "201402", -1),
        ("201401", "201501", 12),
        ("201401-201403", "201404-201406", 3),  # a quarter later, and a quarter before
        ("201404-201406", "201401-201403", -3),
        ("201403", "201404-201406", 1),  # months against quarters: the first of its months is the next one
        ("201405", "201404-201406", 0),
        ("201305-201412", "201501", 1),  # what it was trained on last counts
        ("201305-201412", "201306", -18),
    ],
)
def test_a_model_ages_from_the_end_of_its_training(trained: str, evaluated: str, months: float) -> None:
    assert age(of(trained), of(evaluated)) == pytest.approx(months)


def test_a_mean_of_an_age_is_over_its_diagonal_and_says_of_how_many_cells() -> None:
    (view,) = views(made_up("demo", MONTHS, cutoffs=(0, 5, 11)))
    found = by_age(view)
    run, _, oracle = found.curves
    regret = view.relative(view.methods[0].mean)
    assert found.unit.name == "month" and run.ages == tuple(range(-11, 12)) and found.left_out == 0
    assert run.cells == tuple(12 - abs(one) for one in run.ages)
    assert run.values == pytest.approx([np.diagonal(regret, one).mean() for one in run.ages])
    # the Oracle of December is the reference; those of January and June keep their own ages in the months after
    assert (oracle.ages[0], oracle.ages[-1]) == (-5, 11) and set(oracle.cells) == {1, 2}
    assert oracle.values[-1] == pytest.approx(view.relative(view.methods[2].values)[0, 0, -1])


def test_runs_are_compared_on_the_cells_that_all_of_them_have() -> None:
    whole = made_up("demo", MONTHS, cutoffs=(11,))
    cells = whole.cells
    late = (cells["method"] == "replay-half") & (cells["trained"] > "202303")
    (view,) = views(dataclasses.replace(whole, cells=cells[~late]))
    found = by_age(view)
    first, second = found.curves  # the Oracle is the reference alone
    assert first.cells == second.cells and sum(first.cells) == 3 * 12 and found.left_out == 9 * 12
    (alone,) = views(dataclasses.replace(whole, cells=cells[cells["method"] != "replay-half"]))
    assert sum(by_age(alone).curves[0].cells) == 12 * 12, "a method without a cell takes none from the others"


def test_ages_are_counted_in_the_steps_of_a_calendar() -> None:
    (weekly,) = views(made_up("weekly", WEEKS, cutoffs=(), reference=False))
    assert by_age(weekly).unit.name == "week" and by_age(weekly).curves[0].cells[0] == 1
    (gaps,) = views(tic_lm(1, ["wiki-diff@1"]))  # ten months or so between two checkpoints
    assert by_age(gaps).unit.name == "year" and max(by_age(gaps).curves[0].ages) < 12
