"""`benchmarks.experiments.differences`: differences with both kinds of intervals, against values worked by hand."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from benchmarks.experiments.differences import gap_of, table, told
from reports import tic_lm

from ticlm.platform.analysis.matrix import views
from ticlm.platform.results.study_result import MethodResult
from ticlm.platform.study.settings import Initial

# runs by (checkpoint, evaluated): two checkpoints and three evaluated periods
MASK = np.array([[True, True, False], [False, True, True]])


def values(*by_run: float) -> np.ndarray:
    return np.array([np.full((2, 3), one) for one in by_run])


def test_equal_differences_on_all_periods_leave_the_first_models_alone() -> None:
    found = gap_of(values(1.1, 2.2, 3.3), values(1.0, 2.0, 3.0), [0, 1, 2], MASK)
    assert found.mean == pytest.approx(0.2) and found.first_models == 3
    assert found.periods == pytest.approx((0.2, 0.2))
    reach = 4.303 * 0.1 / 3**0.5  # Student's t with two degrees of freedom; .1, .2, .3 have the deviation .1
    assert found.models == pytest.approx((0.2 - reach, 0.2 + reach))
    assert told(found) == "+0.200 (periods +0.200 to +0.200; models -0.048 to +0.448)"


def test_runs_from_one_first_model_say_nothing_about_others() -> None:
    other = values(1.0, 1.0)
    mine = other + np.array([0.1, 0.2, 0.3])  # by evaluated period
    found = gap_of(mine, other, [0, 0], MASK)
    assert found.mean == pytest.approx((0.1 + 0.2 + 0.2 + 0.3) / 4) and found.first_models == 1
    assert np.isnan(found.models).all() and found.periods == pytest.approx((0.1, 0.3))


def test_cells_that_one_of_them_lacks_are_left_out_and_nothing_in_common_is_no_number() -> None:
    mine, other = values(1.5, 1.5), values(1.0, 1.0)
    mine[0, 0, 1] = np.nan
    assert gap_of(mine, other, [0, 1], MASK).mean == pytest.approx(0.5)
    none = gap_of(mine[:0], other[:0], [], MASK)
    assert np.isnan(none.mean) and none.first_models == 0


def test_a_rival_of_another_study_has_the_first_line_and_no_difference_from_itself() -> None:
    never = MethodResult("frozen", "reference", (1,), frozen_of="cyclic-cosine")
    studies = (replace(tic_lm(count), frozen=never) for count in (3, 8))
    ours, theirs = (next(one for one in views(study) if not one.source) for study in studies)
    rival = next(one for one in theirs.methods if one.method.name == "replay-half+ar")
    lines = table(ours, Initial(budget=1), rival, (), "longer").splitlines()[2:]
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    mine = ["cyclic-cosine", "cyclic-cosine+ar", "cyclic-rsqrt", "frozen"]
    assert [one[0] for one in cells] == ["replay-half+ar of longer", *mine]
    assert cells[0][3] == "" and all(one[3] for one in cells[1:])
    own = next(one for one in ours.methods if one.method.name == "cyclic-cosine")
    assert len(table(ours, Initial(budget=1), own, ()).splitlines()) == 2 + len(mine)
