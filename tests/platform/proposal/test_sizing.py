"""Sizes: as large as the text feeds and the minutes allow, and refused where they would teach nothing."""

from __future__ import annotations

from datetime import date, timedelta

import pytest

from ticlm.core.errors import InputError
from ticlm.platform.proposal.inspection import Amount
from ticlm.platform.proposal.ladder import LADDER
from ticlm.platform.proposal.periods import ChosenPeriods, chosen
from ticlm.platform.proposal.sizing import LEAST_STEPS, PER_PARAMETER, Sizes, fitted
from ticlm.platform.proposal.speed import Pace

PACE = Pace((0.02, 1e-7), (0.005, 3e-8))
"""Seconds of a step on an idle core, roughly."""


def calendar(size: float) -> ChosenPeriods:
    """A year, and twelve months after it, with so many bytes a day."""
    first = date(2018, 1, 1)
    return chosen({first + timedelta(days=at): Amount(2, size, 100) for at in range(730)}, date(2020, 6, 1), 14)


def sizes(size: float, minutes: float, cores: int = 2) -> Sizes:
    return fitted(calendar(size), minutes, cores, lambda vocabulary: 2.0 + vocabulary / 2048, lambda: PACE)


@pytest.mark.parametrize("minutes", [5, 20, 120])
@pytest.mark.parametrize("size", [3_000, 30_000, 300_000])
def test_a_proposal_fits_into_its_minutes(size: float, minutes: float) -> None:
    found = sizes(size, minutes)
    assert found.minutes <= minutes
    assert found.initial_epochs <= 3.01
    assert found.update_epochs <= 2


def test_more_minutes_train_a_larger_model_while_there_is_text_for_it() -> None:
    one, two, three = (sizes(300_000, minutes).shape.parameters for minutes in (5, 30, 300))
    assert one < two < three
    assert sizes(3_000, 300).shape == sizes(3_000, 60).shape


def test_the_first_model_sees_twenty_tokens_for_each_parameter_if_the_text_has_them() -> None:
    found = sizes(30_000, 30)
    assert PER_PARAMETER[0] <= found.per_parameter <= PER_PARAMETER[1]


def test_little_text_holds_out_more_of_it() -> None:
    assert sizes(3_000, 20).eval == 0.25
    assert sizes(300_000, 20).eval == 0.05


def test_updates_have_a_lower_peak_than_the_first_round() -> None:
    plain, replayed = sizes(30_000, 30).rates
    assert plain < replayed < sizes(30_000, 30).first_rate


def test_short_of_time_the_last_oracle_goes_first() -> None:
    assert sizes(30_000, 30).oracle
    short = sizes(300_000, 5, cores=1)
    assert (short.oracle, short.ray, short.shape) == (False, False, LADDER[0])


def test_too_few_minutes_are_refused_with_those_that_are_needed() -> None:
    with pytest.raises(InputError, match=r"--minutes 0.3: the smallest study of this text takes about \d+\.\d here"):
        sizes(3_000_000, 0.3)


def test_an_update_with_a_small_month_beside_large_ones_still_has_steps() -> None:
    first = date(2018, 1, 1)
    days = {first + timedelta(days=at): Amount(2, 30_000, 100) for at in range(730)}
    days |= {day: Amount(2, 2_000, 100) for day in days if (day.year, day.month) == (2019, 8)}
    picked = chosen(days, date(2020, 6, 1), 14)
    assert picked.step == "month"
    for minutes in (7, 20, 60):
        found = fitted(picked, minutes, 2, lambda vocabulary: 2.0 + vocabulary / 2048, lambda: PACE)
        assert found.update_steps >= LEAST_STEPS and found.minutes <= minutes
    with pytest.raises(InputError, match=r"the smallest month, 201908, has 1,550 tokens, too few for an update"):
        fitted(picked, 20, 2, lambda vocabulary: 40.0, lambda: PACE)


def test_two_measurements_give_the_pace_of_every_size() -> None:
    pace = Pace.through([(40_000, 4, 0.036, 0.0098), (400_000, 4, 0.18, 0.053)])
    assert pace.training_s(40_000, 4) == pytest.approx(0.036)
    assert pace.scoring_s(400_000, 4) == pytest.approx(0.053)
    assert pace.training_s(400_000, 8) > 0.18
