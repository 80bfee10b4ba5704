"""Sentences about the two rivals of training on and on: the first model, never updated, and the Oracle series."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from ticlm.platform.analysis.lag.calendar import unit
from ticlm.platform.analysis.metrics import is_quality
from ticlm.platform.analysis.numbers import signed
from ticlm.platform.display.gaps import MethodDifference, Numbers
from ticlm.platform.display.words import PLACES, period

NAMED = 3
"""Most methods that a sentence lists by name."""
MODELS_NAMED = 5
"""Most models of an Oracle series whose rows a sentence counts one by one."""


@dataclass(frozen=True)
class FrozenVerdict:
    """Whether training on paid, in a sentence, and details of it."""

    paid: bool
    sentence: str
    best: str
    gap: MethodDifference
    """By how much the best method, or the first one that surely paid, is better than the first model on new text."""
    detail: str = ""


def listed(names: Sequence[str]) -> str:
    """Return names as a list in words; of more than NAMED, the first ones and how many others there are."""
    if len(names) == 1:
        return names[0]
    if len(names) > NAMED:
        return f"{', '.join(names[: NAMED - 1])} and {len(names) - NAMED + 1} others"
    return f"{', '.join(names[:-1])} and {names[-1]}"


def verdict(numbers: Numbers) -> FrozenVerdict | None:
    """Say how the methods compare with the first model, never updated, on new text; None if that is not known.

    Updating has paid if one method is better by an interval that leaves out zero, or better at all where there is no
    interval.
    """
    mean, rival = "in_distribution", numbers.frozen
    if rival is None:
        return None
    gaps = {name: numbers.gap(name, rival, mean) for name in numbers.ranked(mean)}
    gaps = {name: gap for name, gap in gaps.items() if not math.isnan(gap.size)}
    if not gaps:
        return None
    winners = [name for name, gap in gaps.items() if gap.size > 0 and not gap.is_open]
    if not winners:
        return FrozenVerdict(False, _not_paid(numbers, gaps), *next(iter(gaps.items())))
    best = winners[0]
    return FrozenVerdict(True, _paid(numbers, best, gaps), best, gaps[best], _on_past_periods(numbers, best, rival))


def verdict_by_task(every: Sequence[Numbers], titles: Sequence[str]) -> str:
    """Say on which tasks of a study updating paid, on which it cost, and on which neither is sure. Empty if it is the
    same on all tasks: the verdict on the first one then tells it. `titles` are the names of the tasks, in order."""
    found: dict[str, list[str]] = {"it paid": [], "it cost": [], "neither is sure": []}
    rival = ""
    for numbers, name in zip(every, titles, strict=True):
        if not is_quality(numbers.study.metric(numbers.task)) or (one := verdict(numbers)) is None:
            continue
        rival, cost = _named(numbers), one.gap.size <= 0 and not one.gap.is_open
        told = "it paid" if one.paid else "it cost" if cost else "neither is sure"
        found[told].append(f"{name} ({numbers.perplexity(one.gap) or numbers.measure(one.gap)}, {one.best})")
    parts = [f"{told} on {listed(names)}" for told, names in found.items() if names]
    if len(parts) < 2:
        return ""
    paid, whole = len(found["it paid"]), sum(map(len, found.values()))
    return f"Updating paid on {paid} of {whole} tasks. On new text (ID), against {rival}: {'; '.join(parts)}."


def _not_paid(numbers: Numbers, gaps: dict[str, MethodDifference]) -> str:
    best, gap = next(iter(gaps.items()))
    several = len(gaps) > 1
    which, rival = f"{best}, the best of the {len(gaps)}," if several else best, _named(numbers)
    if gap.size <= 0 and not gap.is_open:
        told = "None of these updates paid" if several else "Updating did not pay"
        turned = MethodDifference(-gap.size, -gap.high, -gap.low)
        lead = _better(numbers, f"{rival},", which.rstrip(","), turned)
    else:
        told = "None of these updates is sure to have paid" if several else "It is not sure that updating paid"
        lead = f"{which} cannot be told apart from {rival} {numbers.in_brackets(gap)}"
    return f"{told}: on new text (ID), {lead}{_counted(numbers, best, f'. {best} is better')}."


def _paid(numbers: Numbers, best: str, gaps: dict[str, MethodDifference]) -> str:
    is_best = len(gaps) > 1 and best == next(iter(gaps))  # another may be better, but not surely better than frozen
    which = f"{best}, the best of the {len(gaps)} there," if is_best else best
    told = f"Updating paid: on new text (ID), {_better(numbers, which, _named(numbers), gaps[best])}"
    told += _counted(numbers, best, ", and better")
    worse = [name for name, gap in gaps.items() if gap.size < 0 and gap.is_certain]
    if worse:
        told += f". On new text, {listed(worse)} {'is' if len(worse) == 1 else 'are'} worse than {numbers.frozen}"
    return f"{told}."


def _named(numbers: Numbers) -> str:
    return f"{numbers.frozen}, the never updated first model"


def _better(numbers: Numbers, one: str, other: str, gap: MethodDifference) -> str:
    """Say that one side is better than the other: in percent of perplexity where there is one."""
    if percent := numbers.perplexity(gap):
        return f"the perplexity of {one} is {percent} than that of {other} {numbers.in_brackets(gap)}"
    return f"{one} is better than {other} {numbers.in_brackets(gap)}"


def _on_past_periods(numbers: Numbers, best: str, rival: str) -> str:
    """Say how the best method on new text compares with the first model on past periods."""
    gap = numbers.gap(best, rival, "backward")
    if math.isnan(gap.size):
        return ""
    if gap.is_open:
        return f"On past periods, {best} and {rival} cannot be told apart {numbers.interval(gap)}."
    percent, side = numbers.perplexity(gap), "better" if gap.size > 0 else "worse"
    worth = f": its perplexity is {percent}" if percent else ""
    return f"On past periods, {best} is {side} than {rival}{worth} {numbers.in_brackets(gap)}."


def _counted(numbers: Numbers, best: str, before: str) -> str:
    known = int(numbers.number(best, "periods_compared"))
    better = int(numbers.number(best, "periods_better_than_frozen"))
    is_own = numbers.task in numbers.study.evaluated_by_task
    noun = "period" if is_own else unit(numbers.study.timeline.periods).name
    return f"{before} in {better} of {known} {noun}s" if known > 1 else ""


def oracle_sentence(numbers: Numbers, best: str, mean: str) -> str:
    """Say what the Oracle series of the study cost beside one run, and how it compares on the same mean."""
    name, times = _series(numbers), numbers.number(best, "oracle_ratio")
    if name is None or not math.isfinite(times):
        return ""
    gap = numbers.gap(name, best, mean)
    told = f"The Oracle series (models trained from scratch) cost {signed(times, 1)} times as much as one run"
    if math.isnan(gap.size):
        return f"{told}."
    if not gap.is_open:
        side = "better" if gap.size > 0 else "worse"
        measure = numbers.measure(gap)
        told += f" and is {measure} {side} than {best} on {PLACES[mean]} {numbers.interval(gap)}"
    else:
        told += f" and cannot be told apart from {best} on {PLACES[mean]} {numbers.interval(gap)}"
    return f"{told}."


def oracle_details(numbers: Numbers, best: str) -> str:
    """Say which models the rows of the Oracle series are, and which part of its price is the first model's."""
    name = _series(numbers)
    if name is None or not math.isfinite(numbers.number(best, "oracle_ratio")):
        return ""
    return " ".join(filter(None, (_share_of_first(numbers, name, best), _rows_by_model(numbers, name))))


def _series(numbers: Numbers) -> str | None:
    """Return the name of the study's Oracle series."""
    found = numbers.rows.index[numbers.rows["is_oracle"]]
    return str(found[0]) if len(found) else None


def _share_of_first(numbers: Numbers, series: str, best: str) -> str:
    """Say which part of the price is the first model's, which no one paid for the Oracles."""
    if not _first_cutoff(numbers, series) or numbers.frozen is None:
        return ""
    whole = numbers.number(best, "oracle_ratio")
    times = numbers.number(numbers.frozen, "tokens") / numbers.number(best, "tokens")
    return (
        f"Of the {signed(whole, 1)} times that the Oracle series cost, {signed(times, 1)} are for the first model, "
        "which every method starts from, too."
    )


def _rows_by_model(numbers: Numbers, series: str) -> str:
    """Say which models the rows of a series are, where an older one stands for later checkpoints."""
    pairs = (pair.split(":") for pair in str(numbers.rows["rows_by_cutoff"][series]).split())
    rows = {label: int(number) for label, number in pairs}
    first, whole = _first_cutoff(numbers, series), sum(rows.values())
    if whole == len(rows):
        return ""
    retrained = {label: number for label, number in rows.items() if label != first}
    if first not in rows and len(retrained) > MODELS_NAMED:
        return f"The {whole} rows of the Oracle series are {len(retrained)} models, each carried forward to the next."
    told = [f"{rows[first]} {_is(rows[first])} the first model itself (not retrained)"] if first in rows else []
    if len(retrained) > MODELS_NAMED:
        told.append(f"{whole - rows[first]} are {len(retrained)} models, each carried forward to the next")
    for label, number in retrained.items() if len(retrained) <= MODELS_NAMED else ():
        told.append(f"{number} {'' if told else _is(number) + ' '}the model of {period(label)}")
    return f"Of the {whole} rows of the Oracle series, {_all_listed(told)}."


def _all_listed(parts: Sequence[str]) -> str:
    """Return parts of a sentence as a list in words."""
    return f"{', '.join(parts[:-1])}{' and ' if parts[1:] else ''}{parts[-1]}"


def _is(number: int) -> str:
    return "is" if number == 1 else "are"


def _first_cutoff(numbers: Numbers, series: str) -> str:
    return next(one.first_cutoff for one in numbers.study.methods if one.name == series)
