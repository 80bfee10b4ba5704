"""Sentences about the two rivals of training on and on: the first model, never updated, and the Oracle series."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from ticlm.platform.analysis.lag import unit
from ticlm.platform.analysis.numbers import signed
from ticlm.platform.display.gaps import MethodDifference, Numbers
from ticlm.platform.display.words import PLACES, period

NAMED = 3
"""Most methods that a sentence lists by name."""
MODELS_NAMED = 5
"""Most models of an Oracle series whose rows a sentence counts one by one."""


@dataclass(frozen=True)
class FrozenVerdict:
    """Whether training on paid, in a sentence."""

    paid: bool
    sentence: str


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
    winners = [name for name, gap in gaps.items() if gap.size > 0 and (gap.is_certain or not gap.is_known)]
    if not winners:
        return FrozenVerdict(False, _not_paid(numbers, gaps))
    return FrozenVerdict(True, _paid(numbers, winners[0], gaps))


def _not_paid(numbers: Numbers, gaps: dict[str, MethodDifference]) -> str:
    best, gap = next(iter(gaps.items()))
    several = len(gaps) > 1
    first = f"the first model, never updated ({numbers.frozen})"
    if gap.size <= 0 and (gap.is_certain or not gap.is_known):
        told = "None of these updates paid" if several else "Updating did not pay"
        which = f"than even {best}, the best of them" if several else f"than {best}"
        lead = f"{told}: on new text (ID) {first}, is better {which}"
        lead += _worth(numbers, MethodDifference(-gap.size, -gap.high, -gap.low))
    else:
        told = "None of these updates is sure to have paid" if several else "It is not sure that updating paid"
        which = f"{best}, the best of them," if several else best
        lead = f"{told}: on new text (ID) {which} cannot be told apart from {first}"
        lead += _worth(numbers, gap)
    return f"{lead}{_counted(numbers, best, f'; {best}')}."


def _paid(numbers: Numbers, best: str, gaps: dict[str, MethodDifference]) -> str:
    which = f"{best}, the best there," if len(gaps) > 1 else best
    told = f"Updating paid: on new text (ID) {which} is better than the first model, never updated ({numbers.frozen})"
    told += _worth(numbers, gaps[best]) + _counted(numbers, best, ", and")
    past = numbers.gap(best, str(numbers.frozen), "backward")
    if past.is_known and not past.is_certain:
        told += f"; on past periods the two cannot be told apart {numbers.interval(past)}"
    elif not math.isnan(past.size):
        told += f"; on past periods it is {'better' if past.size > 0 else 'worse'}{_worth(numbers, past)}"
    worse = [name for name, gap in gaps.items() if gap.size < 0 and gap.is_certain]
    if worse:
        told += f". On new text, {listed(worse)} {'is' if len(worse) == 1 else 'are'} worse than that model"
    return f"{told}."


def _worth(numbers: Numbers, gap: MethodDifference) -> str:
    """Return by how much one side is better: in percent of perplexity where there is one, then in the metric's unit."""
    percent = numbers.perplexity(gap)
    return f", its perplexity {percent} {numbers.in_brackets(gap)}" if percent else f" {numbers.in_brackets(gap)}"


def _counted(numbers: Numbers, best: str, before: str) -> str:
    known = int(numbers.number(best, "periods_compared"))
    better = int(numbers.number(best, "periods_better_than_frozen"))
    is_own = numbers.task in numbers.study.evaluated_by_task
    noun = "period" if is_own else unit(numbers.study.timeline.periods).name
    return f"{before} is better on the new text of {better} of {known} {noun}s" if known > 1 else ""


def oracle_sentence(numbers: Numbers, best: str, mean: str) -> str:
    """Say what the Oracle series of the study cost beside one run, how it compares on the same mean, and which models
    its rows are."""
    series = numbers.rows[numbers.rows["is_oracle"]]
    times = numbers.number(best, "oracle_ratio")
    if not len(series) or not math.isfinite(times):
        return ""
    name = str(series.index[0])
    gap = numbers.gap(name, best, mean)
    rows, share = _rows_by_model(numbers, name), _share_of_first(numbers, name, best)
    told = f"The Oracle series (models trained from scratch) cost {signed(times, 1)} times as much as one run{share}"
    if math.isnan(gap.size):
        return f"{told}{rows}."
    if gap.is_certain or not gap.is_known:
        side = "better" if gap.size > 0 else "worse"
        measure = f"{numbers.text(gap.size)} {numbers.unit}".rstrip()
        told += f" and is {measure} {side} than {best} on {PLACES[mean]} {numbers.interval(gap)}"
    else:
        told += f" and cannot be told apart from {best} on {PLACES[mean]} {numbers.interval(gap)}"
    return f"{told}{rows}."


def _share_of_first(numbers: Numbers, series: str, best: str) -> str:
    """Say which part of the price is the first model's, which no one paid for the Oracles."""
    if not _first_cutoff(numbers, series) or numbers.frozen is None:
        return ""
    times = numbers.number(numbers.frozen, "tokens") / numbers.number(best, "tokens")
    return f" ({signed(times, 1)} of that for the first model, which every method starts from)"


def _rows_by_model(numbers: Numbers, series: str) -> str:
    """Say which models the rows of a series are, where an older one stands for later checkpoints."""
    pairs = (pair.split(":") for pair in str(numbers.rows["rows_by_cutoff"][series]).split())
    rows = {label: int(number) for label, number in pairs}
    first, whole = _first_cutoff(numbers, series), sum(rows.values())
    if whole == len(rows):
        return ""
    retrained = {label: number for label, number in rows.items() if label != first}
    if first not in rows and len(retrained) > MODELS_NAMED:
        return f"; its {whole} rows are {len(retrained)} models, each carried forward to the next"
    told = [f"{rows[first]} {_is(rows[first])} the first model itself (not retrained)"] if first in rows else []
    if len(retrained) > MODELS_NAMED:
        told.append(f"{whole - rows[first]} are {len(retrained)} models, each carried forward to the next")
    for label, number in retrained.items() if len(retrained) <= MODELS_NAMED else ():
        told.append(f"{number} {'' if told else _is(number) + ' '}the model of {period(label)}")
    return f"; of its {whole} rows, {', '.join(told[:-1])}{' and ' if told[1:] else ''}{told[-1]}"


def _is(number: int) -> str:
    return "is" if number == 1 else "are"


def _first_cutoff(numbers: Numbers, series: str) -> str:
    return next(one.first_cutoff for one in numbers.study.methods if one.name == series)
