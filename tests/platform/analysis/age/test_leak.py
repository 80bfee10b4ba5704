"""The leak test on vintages whose reading is known: rarely a false alarm, a leak found, and low power told as that."""

from __future__ import annotations

import json
import math
from dataclasses import replace

import numpy as np

from ticlm.platform.analysis.age.changes import OPEN, Changes, month_number, month_text, spans
from ticlm.platform.analysis.age.leak import HALF, LeakTest
from ticlm.platform.analysis.age.vintages import Vintage, leak_test, of_run

START, MONTHS = month_number("202301"), 48


def world(facts: int = 200, every: float = 14.0, seed: int = 0) -> Changes:
    """Changes of facts that change about every so many months, without likelihoods; half a change a fact lies before
    START, so that most old values have held since before the first vintage."""
    rng = np.random.default_rng(seed)
    fact, month = [], []
    for one in range(facts):
        at = START - rng.integers(1, 12)
        while at < START + MONTHS:
            fact.append(one)
            month.append(int(at))
            at += 1 + rng.poisson(every - 1)
    numbers, months = np.array(fact), np.array(month)
    since, until = spans(numbers, months, ["a"] * len(fact), ["a"] * len(fact))
    return Changes(numbers, since, months, until, *np.zeros((4, len(fact))))


def vintage(changes: Changes, month: int, leak: int = 0, seed: int = 0, knows: float = 0.8) -> Vintage:
    """A vintage that has read all text up to a month, and of so many months after it: it prefers the new values of
    these changes with probability `knows`, and others with .15, by a fame that all vintages see with some noise."""
    fame = np.random.default_rng(99).random(len(changes))
    rng = np.random.default_rng((seed, month))
    fame = np.where(rng.random(len(changes)) < 0.3, rng.random(len(changes)), fame)
    is_read = changes.month <= month + leak
    prefers = np.where(is_read, rng.random(len(changes)) < knows, fame < 0.15)
    label = month_text(month).replace("-", "")
    ids = tuple(map(str, range(len(changes))))
    return Vintage(label, month, month, ids, replace(changes, new=np.where(prefers, 1.0, -1.0)))


def compared(leak: int = 0, month: int = START + 9, facts: int = 200, seed: int = 0, knows: float = 0.8) -> LeakTest:
    changes = world(facts, seed=seed)
    before = [vintage(changes, one, 0, seed, knows) for one in range(START, month, 3)]
    return leak_test(vintage(changes, month, leak, seed, knows), before, "chain", 0, "facts@1")


def test_clean_vintages_are_called_leaky_in_at_most_a_twentieth_of_cases() -> None:
    """Of 1,000 it was 1.9 %: tests of counts are on the safe side, and so is the doubled p."""
    found = [compared(seed=seed, month=START + 3 * (1 + seed % 6)) for seed in range(300)]
    assert sum(one.is_leak for one in found) <= 0.05 * len(found)
    assert sum(one.p_pooled <= 0.5 for one in found) >= 0.3 * len(found)  # it is no test that never says anything


def test_a_vintage_that_read_all_later_text_is_found_at_least_as_often_as_its_power_says() -> None:
    """With few facts, so that it is neither 0 nor 1. It is told as .62 and is .78, as rates of few changes are
    uncertain."""
    found = [compared(MONTHS, facts=24, seed=seed, knows=0.6) for seed in range(200)]
    clean = [compared(0, facts=24, seed=seed, knows=0.6) for seed in range(200)]
    told = float(np.mean([one.power for one in clean]))
    assert 0.2 < told < 0.8
    assert 0 <= np.mean([one.p_pooled <= HALF for one in found]) - told <= 0.2


def test_a_leak_of_three_months_is_found_and_its_months_are_among_those_named() -> None:
    one = compared(leak=3, facts=2000)
    assert one.is_leak and one.verdict.startswith("leak found in 2023-11")
    named = {month.month for month in one.months if month.p_holm <= HALF}
    assert named == {"2023-11", "2023-12", "2024-01"}
    assert compared(facts=2000).is_clean


def test_only_an_excess_of_new_values_is_a_leak() -> None:
    changes = world()
    early, late = vintage(changes, START), vintage(changes, START + 9, leak=MONTHS)
    swapped = leak_test(
        replace(late, changes=early.changes), [replace(early, changes=late.changes)], "chain", 0, "facts"
    )
    assert swapped.down > 20 > swapped.up and swapped.p_pooled > 0.99 and not swapped.is_leak


def test_each_change_is_put_to_the_first_vintage_that_had_read_its_old_value_for_a_month() -> None:
    fact = np.array([0, 0, 0, 1, 2, 2, 3])
    month = START + np.array([-5, 12, 20, 13, 4, 15, 16])
    since = START + np.array([-9, -5, 12, 2, -2, 4, 9])
    changes = Changes(fact, since, month, np.full(7, OPEN), *np.zeros((4, 7)))
    run = [vintage(changes, START + month) for month in (0, 3, 6, 9)]
    run = [replace(one, changes=replace(changes, new=np.full(7, 1.0 * (k == 1)))) for k, one in enumerate(run)]
    one = leak_test(run[3], run[:3], "chain", 0, "facts")
    # Of fact 0 only the first change after the vintage; the old value of fact 3 is as new as the vintage itself.
    assert [(each.month, each.changes) for each in one.months] == [("2024-01", 1), ("2024-02", 1), ("2024-04", 1)]
    assert [each.preferred_earlier for each in one.months] == [0, 1, 0]  # only the second vintage prefers new values
    # That of fact 2 after 4 months is put to the third vintage: the second had not read the month of the old value.
    later = [replace(one, changes=replace(changes, new=np.full(7, 1.0 * (k == 2)))) for k, one in enumerate(run)]
    assert [each.preferred_earlier for each in leak_test(later[3], later[:3], "c", 0, "f").months] == [0, 0, 1]
    assert len(one.seen) == 1  # the change of fact 2 after 4 months: that of fact 0 had been read by all
    assert one.earlier == "202301"


def test_a_leak_that_was_inherited_is_found() -> None:
    changes = world(seed=1)
    run = [vintage(changes, START + k, leak=MONTHS * (k >= 5)) for k in range(10)]
    assert [one.is_leak for one in of_run(run, "chain", 0, "facts")] == [False] * 5 + [True] * 5


def test_a_new_value_that_is_likelier_by_its_fame_alone_is_not_preferred() -> None:
    changes = replace(world(), new=np.full(len(world()), 2.0), new_anywhere=np.full(len(world()), 3.0))
    one = Vintage("202301", START, START, tuple(map(str, range(len(changes)))), changes)
    assert not one.prefers.any()
    assert replace(one, changes=replace(changes, new_anywhere=changes.new - 1)).prefers.all()
    assert not replace(
        one, changes=replace(changes, new=changes.old, new_anywhere=changes.new - 9)
    ).prefers.any()  # tie


def test_a_period_that_ends_within_a_month_makes_that_month_neither_read_nor_later() -> None:
    changes = world(400)
    whole, first = vintage(changes, START + 9), vintage(changes, START)
    weekly = leak_test(replace(whole, whole=START + 8), [first], "chain", 0, "facts")
    monthly = leak_test(whole, [first], "chain", 0, "facts")
    assert weekly.months == tuple(replace(a, power=b.power) for a, b in zip(monthly.months, weekly.months))
    assert len(weekly.seen) < len(monthly.seen)


def test_what_only_one_of_them_was_asked_is_left_out_and_counted() -> None:
    changes = world()
    first, later = vintage(changes, START), vintage(changes, START + 9)
    places = np.flatnonzero(np.arange(len(changes)) % 10)
    fewer = Changes(*(getattr(changes, name)[places] for name in Changes.__dataclass_fields__))
    alike = len(changes) - len(places)
    short = replace(vintage(fewer, START), ids=tuple(first.ids[k] for k in places.tolist()), alike=alike)
    one = leak_test(later, [short], "chain", 0, "facts")
    assert one.left_out == (changes.since[::10] <= START).sum()  # every tenth is not asked; newer ones were not to be
    assert one.changes < leak_test(later, [first], "chain", 0, "facts").changes


def test_low_power_is_never_a_clean_bill() -> None:
    few = compared(facts=12, knows=0.6)
    assert few.power < 0.5 and not few.is_clean and not few.is_leak
    assert few.verdict == f"cannot be told: power {math.floor(100 * few.power) / 100:.2f} with {few.changes} changes"
    one = compared()
    assert one.is_clean and one.power > 0.9
    assert one.verdict.startswith("no sign of later text (would have been found with probability 0.9")


def test_what_cannot_be_compared_is_told() -> None:
    changes = world()
    run = [vintage(changes, month) for month in (START, START + 1, START + MONTHS)]
    first, _, last = of_run(run, "chain", 0, "facts")
    assert first.verdict == "cannot be told: it is the first vintage, which others are compared with"
    assert last.verdict == "cannot be told: of no change after it an earlier vintage has read the old value"
    assert math.isnan(last.p) and not (last.is_leak or last.is_clean)
    unread = leak_test(replace(run[1], whole=START), run[:1], "chain", 0, "facts")
    assert unread.verdict == (
        f"cannot be told: power unknown with {unread.changes} changes, as no fact changed between 202301 and it"
    )
    (alone,) = of_run(run[:1], "joint", 0, "facts")
    assert alone.changes == 0 and alone.earlier == ""


def test_everything_is_plain_json() -> None:
    for one in (compared(), *of_run([vintage(world(), START)], "chain", 0, "facts")):
        again = json.loads(json.dumps(one.as_json(), allow_nan=False))
        assert (again["vintage"], again["verdict"]) == (one.vintage, one.verdict)
        assert len(again["months"]) == len(one.months)
    assert again["p"] is None and again["power"] is None
