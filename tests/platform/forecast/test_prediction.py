"""The law finds its own parameters again, and its errors and intervals are those of methods that it has not seen."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ticlm.core.errors import InputError
from ticlm.core.periods import Period, span
from ticlm.platform.analysis.conventions import Convention
from ticlm.platform.analysis.matrix import MethodView
from ticlm.platform.forecast.features import RoundFacts, RunFacts
from ticlm.platform.forecast.finished import Finished, _shared, joined
from ticlm.platform.forecast.law import Law, TrainedRun, fit
from ticlm.platform.forecast.leave_one_out import COVERAGE, leave_one_out
from ticlm.platform.results.study_result import MethodResult
from ticlm.platform.study.settings import Initial

YEARS = tuple(str(year) for year in range(2010, 2018))
LABELS = tuple(f"{year}01" for year in YEARS)
BASE = dict(zip(LABELS, (3.9, 3.7, 3.8, 3.6, 3.7, 3.5, 3.6, 3.4)))
LAW = Law((0.6, 1.5, 0.01, 0.05), (0.15, 0.3, 0.0, 0.01), BASE)


def run(name: str, old: float, heat: float, falls: float = 1.0) -> RunFacts:
    """A run of eight yearly rounds with a share of old text; each round is `falls` times as hot as the one before."""
    rounds = [RoundFacts(LABELS[0], {LABELS[0]: 1.0}, 1000, 5.0, from_scratch=True)]
    for i, label in enumerate(LABELS[1:], start=1):
        shares = {past: old / i for past in LABELS[:i]} | {label: 1 - old}
        rounds.append(RoundFacts(label, shares, 100, heat * falls ** (i - 1)))
    return RunFacts(name, tuple(rounds))


def trained(facts: RunFacts, noise: float = 0.0, draw: np.random.Generator | None = None) -> TrainedRun:
    values = LAW.values(facts, LABELS, LABELS)
    if draw is not None:
        values = values + draw.normal(0, noise, values.shape)
    periods = [Period(label=label, start=span(label)[0], end=span(label)[1]) for label in LABELS]
    return TrainedRun(facts, LABELS, LABELS, values, Convention().cells(periods, periods))


MANY = [
    run(f"{old}-{heat}-{falls}", old, heat, falls)
    for old in (0.0, 0.5, 0.9)
    for heat in (0.3, 1.0, 3.0)
    for falls in (1.0, 0.6)
]


def test_the_loss_is_that_of_its_equation() -> None:
    """By hand: two rounds, the second replaces 1 − exp(−0.6 × 1) of what is remembered."""
    g = 1 - np.exp(-0.6)
    apart = (np.array([0, 365.0]) / 365.25)[::-1]  # 2010 has 365 days
    remembered = np.array([1 - g, g])
    match = remembered @ np.exp(-apart / 1.5)
    expected = 3.7 - 0.15 * np.log(0.01 + match) - 0.3 * np.log(1 + 0.05 * 1.0) + 0.01 * 1.0
    found = LAW.values(run("one", 0.0, 1.0), LABELS[1:2], LABELS[1:2])
    assert found == pytest.approx(expected, abs=1e-9)


def test_an_average_remembers_what_its_rounds_do_and_shares_none_of_their_noise() -> None:
    """By hand: half of the first checkpoint, which remembers 2010 alone, and half of the second."""
    first, second, third = run("trunk", 0.0, 1.0).rounds[:3]
    made = replace(second, average=((0, 0.5), (1, 0.5)))
    leaf = replace(third, parent=1)
    found = RunFacts("ema", (first, second, made, leaf))
    assert found.checkpoints == {LABELS[0]: 0, LABELS[1]: 2, LABELS[2]: 3}
    g = (1 - np.exp(-0.6)) / 2
    match = np.array([1 - g, g]) @ np.exp(-np.array([365 / 365.25, 0]) / 1.5)
    expected = 3.7 - 0.15 * np.log(0.01 + match) - 0.3 * np.log(1 + 0.05 / 2) + 0.01 / 4
    assert LAW.values(found, LABELS[1:2], LABELS[1:2]) == pytest.approx(expected, abs=1e-9)
    assert LAW.values(found, LABELS[2:3], LABELS) == pytest.approx(
        LAW.values(run("trunk", 0.0, 1.0), LABELS[2:3], LABELS)
    ), "a leaf that starts from the trunk is its next round"


def test_a_fit_finds_the_law_that_made_the_values() -> None:
    found = fit([trained(facts) for facts in MANY])
    other = run("other", 0.7, 0.7, 0.8)
    assert found.values(other, LABELS, LABELS) == pytest.approx(LAW.values(other, LABELS, LABELS), abs=0.01)
    assert found.sizes[0] == pytest.approx(LAW.sizes[0], rel=0.3)


@settings(max_examples=20, deadline=None)
@given(st.floats(0, 1), st.floats(0.1, 3))
def test_more_training_on_the_present_never_helps_the_past_more_than_replay_does(old: float, heat: float) -> None:
    """At the same heat, replay of old text never makes the first period harder."""
    without, replayed = (LAW.values(run("r", share, heat), LABELS, LABELS[:1]) for share in (0.0, old))
    assert (replayed <= without + 1e-9).all()


def test_methods_left_out_are_predicted_and_ranked() -> None:
    draw = np.random.default_rng(0)
    found = Finished(("made",), tuple(trained(facts, 0.01, draw) for facts in MANY[::2]))
    law, mean = leave_one_out(found), leave_one_out(found, "mean of methods")
    assert law.median < 0.02 < mean.median
    assert law.rank_correlation > 0.9


def test_intervals_hold_as_many_new_methods_as_they_say() -> None:
    held = []
    for seed in range(3):
        draw = np.random.default_rng(seed)
        known = [trained(MANY[i], 0.05, draw) for i in draw.permutation(len(MANY))[:8]]
        found = Finished(("made",), tuple(known))
        radius, law = leave_one_out(found).radius, found.law()
        new = [trained(run("new", draw.uniform(0, 0.9), draw.uniform(0.3, 3)), 0.05, draw) for _ in range(12)]
        apart = [np.abs(np.subtract(found.predicted(law, one.facts), found.observed(one))) for one in new]
        held.append(np.mean(np.array(apart) <= radius))
    assert np.mean(held) > COVERAGE - 0.15


def test_too_few_methods_are_refused_with_their_number() -> None:
    found = Finished(("made",), tuple(trained(facts) for facts in MANY[:3]), None, {"ewc": "the law does not know EWC"})
    with pytest.raises(InputError, match=r"needs 5 finished methods .* made has 3 \(.*\); left out: ewc: the law"):
        found.require("--predict-from")


def test_studies_on_other_periods_are_not_joined() -> None:
    one = trained(MANY[0])
    other = replace(trained(MANY[1]), checkpoints=LABELS[:4])
    with pytest.raises(InputError, match="scored on other checkpoints"):
        joined([Finished(("a",), (one,)), Finished(("b",), (other,))])
    assert [r.facts.method for r in joined([Finished(("a",), (one,)), Finished(("b",), (one,))]).runs] == [
        "0.0-0.3-1.0"
    ]


def test_runs_of_several_first_models_count_where_all_methods_have_that_model() -> None:
    def method(*seeds: int) -> MethodView:
        return MethodView(MethodResult("m", "replay", seeds), ("202301",), np.zeros((len(seeds), 1, 1)), (0,))

    three, one, all_done = method(0, 1, 2), method(3), np.ones(3, bool)
    first_models = Initial(budget=1, seed=[0, 1, 2]).seed_of  # the run with seed 3 starts from number 0
    found = _shared([(three, all_done), (one, np.ones(1, bool))], first_models)
    assert [list(rows) for rows in found] == [[True, False, False], [True]]
    unfinished = np.array([False, True, True])  # then no model is common, and every finished run counts
    found = _shared([(three, unfinished), (one, np.ones(1, bool))], first_models)
    assert [list(rows) for rows in found] == [[False, True, True], [True]]
    assert _shared([], first_models) == []
