"""Golden values worked by hand; each comment names the wrong implementation that a row tells apart."""

import calendars
import numpy as np
import pytest
from calendars import periods

from ticlm.core.periods import TIC_CC_MONTHS, Calendar, Period
from ticlm.platform.analysis.transfer import TransferRule, carry_forward, classify, regret, transfer

CHECKPOINTS = periods(calendars.FIRST_OF_YEARS)
WIKI, NUMPY, PYTORCH = periods(calendars.WIKI), periods(calendars.NUMPY), periods(calendars.PYTORCH)

CONTAIN = TransferRule(id_rule="contain", bwd_includes_id=True)


def counts(trained: list[Period], evaluated: list[Period], rule: TransferRule | None = None) -> tuple[int, int, int]:
    return transfer(np.zeros((len(trained), len(evaluated))), trained, evaluated, rule).cells


def pairs(trained: list[Period], evaluated: list[Period], rule: TransferRule | None = None) -> set[tuple[str, str]]:
    """ID cells as (checkpoint, evaluation)."""
    mask = classify(trained, evaluated, rule).in_distribution
    return {(trained[i].label, evaluated[j].label) for i, j in zip(*np.nonzero(mask))}


# aligned 3 × 3


ALIGNED = periods("202001 202002 202003")
PERPLEXITY = np.array([[10, 14, 20], [11, 12, 16], [13, 12.5, 13]])
REFERENCE = np.array([10.5, 11, 12])
R = regret(np.log(PERPLEXITY), np.log(REFERENCE))


def test_regret_is_the_log_perplexity_above_the_reference_column_by_column() -> None:
    expected = [[-0.048790, 0.241162, 0.510826], [0.046520, 0.087011, 0.287682], [0.213574, 0.127833, 0.080043]]
    np.testing.assert_allclose(R, expected, atol=5e-7)


def test_transfer_is_a_flat_mean_over_cells() -> None:
    got = transfer(R, ALIGNED, ALIGNED)
    assert (got.backward, got.in_distribution, got.forward) == pytest.approx((0.129309, 0.039421, 0.346557), abs=5e-7)
    assert got.cells == (3, 3, 3) and got.missing == (0, 0, 0)
    rows = [R[i, :i].mean() for i in (1, 2)]
    assert np.mean(rows) == pytest.approx(0.108612, abs=5e-7)  # the mean of row means, which it is not
    assert (PERPLEXITY - REFERENCE)[np.tril_indices(3, -1)].mean() == pytest.approx(1.5)  # nor in perplexities
    own = np.log(PERPLEXITY) - np.log(np.diag(PERPLEXITY))
    assert own[np.tril_indices(3, -1)].mean() == pytest.approx(0.132832, abs=5e-7)  # nor against E[j, j]
    assert not np.isclose(got.backward, [0.108612, 1.5, 0.132832], atol=1e-4).any()


@pytest.mark.parametrize("rule", ["nearest_preceding_exclusive", "nearest_preceding", "exact", "contain"])
def test_every_rule_is_the_diagonal_where_axes_are_the_same(rule: str) -> None:
    chosen = TransferRule.model_validate({"id_rule": rule})
    for calendar in (
        Calendar(only="tic-cc"),
        Calendar(initial="201305..201412", step="quarter", last="201512"),
        Calendar(initial="20240101..20240331", step="week", last="20240401..20240505"),
    ):
        own = calendar.timeline().periods
        np.testing.assert_array_equal(classify(own, own, chosen).in_distribution, np.eye(len(own), dtype=bool))
        ends = chosen.model_copy(update={"period": "end"})
        np.testing.assert_array_equal(classify(own, own, ends).in_distribution, np.eye(len(own), dtype=bool))


def test_every_cell_is_exactly_one_of_the_three() -> None:
    for rule in (TransferRule(), TransferRule(id_rule="contain"), TransferRule(period="end")):
        cells = classify(CHECKPOINTS, WIKI, rule)
        total = cells.backward.astype(int) + cells.in_distribution + cells.forward
        np.testing.assert_array_equal(total, 1)


# missing cells


def test_missing_cells_are_left_out_and_counted() -> None:
    holed = R.copy()
    holed[2, 0] = holed[0, 0] = np.nan
    got = transfer(holed, ALIGNED, ALIGNED)
    assert got.backward == pytest.approx((0.046520 + 0.127833) / 2, abs=1e-6)
    assert got.cells == (2, 2, 3) and got.missing == (1, 1, 0)


def test_a_mean_over_no_cells_is_not_a_number() -> None:
    got = transfer(R[:1, :1], ALIGNED[:1], ALIGNED[:1])
    assert np.isnan(got.backward) and np.isnan(got.forward) and got.cells == (0, 1, 0)
    assert np.isnan(transfer(np.full((3, 3), np.nan), ALIGNED, ALIGNED).in_distribution)


def test_a_matrix_of_another_shape_is_refused() -> None:
    with pytest.raises(ValueError, match=r"\[3, 2\], got \[2, 3\]"):
        transfer(R[:2], ALIGNED, ALIGNED[:2])


# unequal axes, App. B.4

TRAINED = periods("201401 201501 201502 201506 201601")
EVALUATED = periods("201412 201506 201508 201612")
UNEQUAL = np.array(
    [
        [0.30, 0.40, 0.50, 0.90],
        [0.02, 0.10, 0.20, 0.60],
        [0.04, 0.12, 0.22, 0.62],
        [0.07, 0.05, 0.09, 0.50],
        [0.16, 0.11, 0.08, 0.35],
    ]
)


@pytest.mark.parametrize(
    ("rule", "cells", "means"),
    [
        (TransferRule(), (4, 3, 13), (0.095000, 0.050000, 0.376923)),
        (TransferRule(id_rule="nearest_preceding"), (3, 4, 13), (0.113333, 0.047500, 0.376923)),
        (TransferRule(id_rule="exact"), (6, 1, 13), (0.080000, 0.050000, 0.376923)),
        (TransferRule(bwd_includes_id=True), (7, 3, 13), (0.075714, 0.050000, 0.376923)),
        # by months: no checkpoint lies in any evaluation but 201506
        (TransferRule(id_rule="contain"), (6, 1, 13), (0.080000, 0.050000, 0.376923)),
    ],
)
def test_unequal_axes_follow_the_chosen_rule(
    rule: TransferRule, cells: tuple[int, int, int], means: tuple[float, float, float]
) -> None:
    got = transfer(UNEQUAL, TRAINED, EVALUATED, rule)
    assert got.cells == cells
    assert (got.backward, got.in_distribution, got.forward) == pytest.approx(means, abs=5e-7)


def test_no_rule_looks_for_the_nearest_evaluation_on_either_side() -> None:
    """That would call 201401's nearest ID cell 201412, which lies in its future: 5/4/11 cells, ID 0.127500."""
    for chosen in ("nearest_preceding_exclusive", "nearest_preceding", "exact", "contain"):
        got = transfer(UNEQUAL, TRAINED, EVALUATED, TransferRule.model_validate({"id_rule": chosen}))
        assert got.cells[2] == 13 and got.in_distribution != pytest.approx(0.1275, abs=1e-3)


def test_an_evaluation_is_claimed_by_the_first_checkpoint_after_it_only() -> None:
    expected = {("201501", "201412"), ("201506", "201506"), ("201601", "201508")}
    assert pairs(TRAINED, EVALUATED) == expected
    assert pairs(TRAINED, EVALUATED, TransferRule(id_rule="nearest_preceding")) == expected | {("201502", "201412")}


def test_the_order_in_which_checkpoints_are_given_does_not_matter() -> None:
    assert pairs(TRAINED[::-1], EVALUATED[::-1]) == pairs(TRAINED, EVALUATED)


# the real calendars


def test_tic_cc_twelve_by_twelve() -> None:
    assert counts(CHECKPOINTS, CHECKPOINTS) == (66, 12, 66)
    with_initial = periods("201305") + CHECKPOINTS  # wrong: the initial month has no place in the means
    assert counts(CHECKPOINTS, with_initial) == (78, 12, 66)


def test_tic_wiki() -> None:
    assert counts(CHECKPOINTS, WIKI) == (97, 10, 85)
    same = {(m, m) for m in ("201501", "201602", "201701", "201801", "201901", "202001", "202201")}
    assert pairs(CHECKPOINTS, WIKI) == same | {("202101", "202012"), ("202301", "202205"), ("202407", "202404")}
    assert counts(CHECKPOINTS, WIKI, TransferRule(id_rule="nearest_preceding"))[1] == 11
    assert counts(CHECKPOINTS, WIKI, CONTAIN) == (107, 7, 85)


def test_numpy() -> None:
    assert counts(CHECKPOINTS, NUMPY) == (63, 8, 121)
    same = {(m, m) for m in ("201801", "201901", "202101")}
    assert pairs(CHECKPOINTS, NUMPY) == same | {
        ("202001", "201912"),
        ("202201", "202112"),
        ("202301", "202212"),
        ("202402", "202309"),
        ("202407", "202406"),
    }
    assert counts(CHECKPOINTS, NUMPY, TransferRule(id_rule="nearest_preceding"))[1] == 8
    assert counts(CHECKPOINTS, NUMPY, CONTAIN) == (71, 3, 121)


def test_pytorch() -> None:
    assert counts(CHECKPOINTS, PYTORCH) == (25, 4, 103)
    expected = {("202201", "202110"), ("202301", "202210"), ("202402", "202401"), ("202407", "202407")}
    assert pairs(CHECKPOINTS, PYTORCH) == expected
    assert counts(CHECKPOINTS, PYTORCH, TransferRule(id_rule="nearest_preceding"))[1] == 4
    assert counts(CHECKPOINTS, PYTORCH, CONTAIN) == (29, 1, 103)
    assert counts(CHECKPOINTS[3:], PYTORCH, CONTAIN) == (29, 1, 70)


@pytest.mark.parametrize(
    ("rule", "expected"),
    [
        (TransferRule(), {("201403", 2), ("201501", 3), ("201602", 4)}),
        (TransferRule(period="end"), {("201403", 1), ("201501", 2), ("201602", 4)}),
        (TransferRule(id_rule="contain"), {("201403", 2), ("201501", 3)}),
        (TransferRule(id_rule="contain", period="end"), {("201403", 2), ("201501", 3)}),
    ],
)
def test_evaluations_that_span_months(rule: TransferRule, expected: set[tuple[str, int]]) -> None:
    windows = periods("201309-201402 201403-201411 201412-201506 201507-201601")
    number = {p.label: k for k, p in enumerate(windows, 1)}
    got = {(checkpoint, number[window]) for checkpoint, window in pairs(CHECKPOINTS[:3], windows, rule)}
    assert got == expected


def test_an_evaluation_that_still_goes_on_is_backward_too_where_own_cells_are() -> None:
    windows = periods("201309-201402 201403-201411 201412-201506")
    rule = TransferRule(id_rule="contain", period="end", bwd_includes_id=True)
    cells = classify(CHECKPOINTS[:2], windows, rule)
    np.testing.assert_array_equal(cells.in_distribution, [[0, 1, 0], [0, 0, 1]])
    np.testing.assert_array_equal(cells.backward, [[1, 1, 0], [1, 1, 1]])
    np.testing.assert_array_equal(cells.forward, [[0, 0, 1], [0, 0, 0]])


# the Oracle series


def test_an_oracle_stands_until_the_next_one() -> None:
    cutoffs = periods("201305 201501 201701 201901 202101 202301 202407")
    got = [cutoffs[i].label for i in carry_forward(cutoffs, CHECKPOINTS) if i is not None]
    assert " ".join(got) == ("201305 201501 201501 201701 201701 201901 201901 202101 202101 202301 202301 202407")
    assert all(label in TIC_CC_MONTHS for label in got)


def test_before_the_first_oracle_there_is_none() -> None:
    assert carry_forward(periods("201501 201701"), periods("201403 201501")) == (None, 0)
