"""Warnings of a build: one line for each thing that the user must hear of."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import timedelta

from ticlm.core.periods import Calendar, Period
from ticlm.datasets.corpus.build_records import REWRITTEN, BuildPlan, BuildRecord
from ticlm.datasets.corpus.ledger.history import BuildHistory

LITTLE_TEXT = 50
"""Bytes of text for each entry of a tokenizer's vocabulary, below which it is said to have learned from little."""
SHOWN = 5
"""Inputs of one kind that get a line of their own."""


def warnings(record: BuildRecord, plan: BuildPlan, history: BuildHistory, begun: Period | None) -> Iterator[str]:
    """Yield the warnings of a build; `begun` is the period that is not over."""
    yield from _some([f"damaged: {what}" for what in record.broken.values()])
    yield from _some([f"left out, as it cannot be read: {why}" for why in record.unread.values()])
    if begun is not None and record.waiting:
        until = _end(begun)
        yield (
            f"{begun.label} is open until {until}: its {record.waiting[begun.label]:,} documents wait; it is built "
            f"when periods.last is {until} or later" + ("" if plan.last else ", or when there is text of its end")
        )
    if record.late:
        yield (
            f"{sum(record.late.values())} documents were left out, as their periods are built or lie before the first "
            f"one: {_shown(sorted(record.late))}; to include them, build a new version"
        )
    if changed := record.dropped.get(REWRITTEN):
        yield (
            f"{changed} documents are in inputs that were changed after their periods were built; which of them are "
            f"in the corpus is not known; to include them all, build a new version"
        )
    for label, last in history.cut.items():
        if label in history.built or label in record.periods:
            yield f"{label} was built up to {last} by an older release, and lacks the rest; build a new version"
    for path, label, count in history.gone(record):
        yield f"{path} is gone: {count:,} documents of {label} waited in it, and are not in the corpus"
    if gap := _gap(record, plan, history):
        yield f"no document is of {_shown(gap)}"
    yield from out_of_reach(history)


def out_of_reach(history: BuildHistory) -> Iterator[str]:
    """Yield a line for the lost periods that the calendar does not reach."""
    for label in history.out_of_reach:
        until = _end(history.recipe.calendar.period(label))
        yield f"{label} was built and is not there any more; set periods.last to {until} to build it again"


def little_text(entries: int, period: str, size: int) -> str | None:
    """Return a line if a tokenizer has few bytes of text to learn this many entries from; else None."""
    if size >= LITTLE_TEXT * entries:
        return None
    return (
        f"the tokenizer learns {entries:,} entries from {size:,} bytes of text, all that {period} has; "
        f"pool more months in periods.initial, or set a smaller tokenizer.vocab_size"
    )


def _end(period: Period) -> str:
    """Return the last month of a period of months, or the last day of another."""
    final = period.end - timedelta(days=1)
    return f"{final:%Y%m}" if period.start.day == period.end.day == 1 else f"{final:%Y%m%d}"


def _gap(record: BuildRecord, plan: BuildPlan, history: BuildHistory) -> list[str]:
    """Return the periods without a document, from the first of the calendar (or the first after the finished ones) to
    the newest of this build."""
    calendar = history.recipe.calendar
    there = {label: calendar.period(label).start for label in (*record.periods, *history.made, *plan.built)}
    if not record.periods:
        return []
    newest = max(record.periods, key=lambda label: there[label])
    if calendar.only is not None:
        labels = calendar.timeline().labels
        labels = labels[labels.index(min(there)) : labels.index(newest) + 1]
    else:
        first = calendar.initial or min(there)
        labels = Calendar(initial=first, step=calendar.step, last=newest).timeline().labels
    stood = max((there[label] for label in plan.built), default=None)
    missing = [label for label in labels if label not in there]
    return [label for label in missing if stood is None or calendar.period(label).start > stood]


def _some(lines: Sequence[str]) -> Iterator[str]:
    yield from lines[:SHOWN]
    if len(lines) > SHOWN:
        yield f"{len(lines) - SHOWN:,} more inputs like these; ticlm data show --json names all"


def _shown(labels: Sequence[str]) -> str:
    return ", ".join(labels[:3]) + (f" … {labels[-1]} ({len(labels)})" if len(labels) > 3 else "")
