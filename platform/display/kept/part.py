"""What a report says of gains and losses: an entry `kind: kept` of a study's `tables`."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from ticlm.platform.analysis.age.changes import month_text
from ticlm.platform.analysis.age.edge import FactEdge
from ticlm.platform.analysis.kept.facts import CheckpointFacts, FactShare
from ticlm.platform.analysis.kept.losses import Change
from ticlm.platform.analysis.kept.numbers import COLUMNS, EDGES, KeptNumbers
from ticlm.platform.analysis.metrics import quantity
from ticlm.platform.analysis.numbers import count, percent, signed
from ticlm.platform.display.charts import Axis, Chart, Series
from ticlm.platform.display.kept.settings import KeptRequest
from ticlm.platform.display.parts import Part, Section, Tables, joined
from ticlm.platform.display.rivals import listed
from ticlm.platform.display.text_tables import TextCell, TextLine, TextTable
from ticlm.platform.results.study_result import StudyResult, as_frame

TITLE = "What was gained, and what was lost"
SMALL = 0.02
"""Nats per token of general text that a method may lose and still be named as one that keeps it."""
NOTES = (
    "All losses are differences from the base, the first checkpoint that is never updated, in nats per token on the "
    "same rows: below 0, the method is better. ± is one standard error over periods, which holds the noise of their "
    "rows too; over rows, where there are fewer than three periods.",
    "New text: each scored checkpoint on held-out text of its own period. Since the base, and old text: the last "
    "checkpoint on all periods after the base, and on those that the base may have read.",
)
SAMPLES = (
    "On texts that the base wrote itself, at temperature 1, the difference is roughly the divergence KL(base ‖ "
    "checkpoint) per token, 0 for the base. It is rough, as texts are cut, and packed one behind the other: a small "
    "model's average with its base was .075 below 0."
)
FACTS = (
    "Answers kept: on how many of the facts that did not change after the base the last checkpoint prefers the value "
    "that the base prefers; the base itself does on all, a coin on half. Updated: on how many of the changes since "
    "then it prefers the new value, and the base does."
)
EDGE = (
    "Edge: the month up to which the facts that the last checkpoint prefers reach, with a 95 % interval (ticlm docs "
    "age); kept_edges.csv has that of every checkpoint."
)


class Kept(KeptRequest, Tables):
    def part(self, study: StudyResult) -> Part:
        return self.of_all([(study, self)])

    @classmethod
    def of_all(cls, asked: Sequence[tuple[StudyResult, KeptRequest]]) -> Part:
        return joined([_part(study, one) for study, one in asked])


def _part(study: StudyResult, asked: KeptRequest) -> Part:
    if study.frozen is None:
        why = f"{asked.name}: the first checkpoint is not scored, so nothing says what updates gained or lost"
        return Part(TITLE, missing=(why,), counts_as_benchmark=False)
    numbers = KeptNumbers(study, asked.new, asked.general, asked.facts)
    frames = {"kept": as_frame(list(numbers.records()), COLUMNS), "kept_edges": as_frame(list(numbers.edges()), EDGES)}
    section = Section(
        "kept", TITLE, (_table(numbers),), tuple(_charts(numbers)), is_second=True, short="gained and lost"
    )
    sentences = tuple((study.name, line) for line in _sentences(numbers))
    return Part(TITLE, frames, (section,), sentences, counts_as_benchmark=False)


FEWEST = 10
"""Facts of which a share is shown: it would say nothing of fewer."""


def _table(numbers: KeptNumbers) -> TextTable:
    """Return the table: a row for each method, its changes from the base and its cost."""
    general = [_short(one.task) for one in numbers.general_losses] + [_short(one) for one in numbers.general_parts]
    facts = ("answers kept, %", "updated, %", "edge") if numbers.facts else ()
    columns = ("new text", "since the base", "old text", *general, *facts, "tokens", "FLOPs")
    notes = (*NOTES, *([SAMPLES] if numbers.general_losses else []), *([FACTS, EDGE] if numbers.facts else []))
    return TextTable(TITLE, ("method",), columns, tuple(_lines(numbers)), notes=notes, main=True)


def _lines(numbers: KeptNumbers) -> Iterator[TextLine]:
    new, places = numbers.new, 3 + len(numbers.general_losses) + len(numbers.general_parts)
    if numbers.facts:
        base = next(iter(numbers.facts.values()))[0]
        own = (*(TextCell("") for _ in range(places)), *_fact_cells(base), TextCell(""), TextCell(""))
        frozen = numbers.study.frozen
        yield TextLine((frozen.name if frozen else "",), own, "the base", is_apart=True)
    reached = {new.last(name) for name in numbers.methods}
    newest = next((label for label in reversed(numbers.study.timeline.labels) if label in reached), "")
    for name in numbers.methods:
        losses = (new.new(name), new.since_base(name), new.old(name))
        cells = [_loss(one) for one in (*losses, *(of.at_end(name) for of in numbers.general_losses))]
        cells += [_change(numbers, task, name) for task in numbers.general_parts]
        if numbers.facts:
            last = numbers.last_facts(name)
            cells += [TextCell("–")] * 3 if last is None else _fact_cells(last)
        about = "" if new.last(name) == newest else f"up to {new.last(name) or 'the base'} so far"
        yield TextLine((name,), (*cells, *(TextCell(count(one)) for one in numbers.cost(name))), about)


def _charts(numbers: KeptNumbers) -> Iterator[Chart]:
    """Yield the edge of every checkpoint by method, and the loss on each general text against the gain on new text."""
    study, facts = numbers.study.name, numbers.facts
    scored = {one.trained for of in facts.values() for one in of}
    labels = [label for label in numbers.study.timeline.labels if label in scored]
    lines = [line for name, of in facts.items() if (line := _edge_line(name, of, labels)) is not None]
    if lines:
        title, axis = "How far the facts reach that checkpoints prefer", Axis("edge, year (band: 95 % interval)")
        yield Chart(title, "line", tuple(lines), labels=tuple(labels), y=axis, study=study)
    for of in numbers.general_losses:
        points = [(name, numbers.new.new(name), of.at_end(name)) for name in numbers.methods]
        known = [(name, new, lost) for name, new, lost in points if new is not None and lost is not None]
        if known:
            yield Chart(
                f"New text against {_short(of.task)}",
                "points",
                tuple(Series(name, (lost.value,), (new.value,), method=name) for name, new, lost in known),
                x=Axis("new text: nats per token more than the base", "plus"),
                y=Axis(f"{_short(of.task)}: nats per token more than the base", "plus", line=0.0),
                study=study,
            )


def _edge_line(name: str, checkpoints: Sequence[CheckpointFacts], labels: Sequence[str]) -> Series | None:
    """Return the known edges of a method's checkpoints as a line; None if none is known."""
    known = {one.trained: one.edge for one in checkpoints if one.edge is not None and one.edge.is_known}
    if not known:
        return None
    edges = [known.get(label) for label in labels]
    return Series(
        name,
        [None if one is None else one.month / 12 for one in edges],
        method=name,
        low=[None if one is None else one.low / 12 for one in edges],
        high=[None if one is None else one.high / 12 for one in edges],
        tips=["" if one is None else f"{month_text(one.month)} ({_ends(one)}), p {one.p:.3f}" for one in edges],
    )


def _sentences(numbers: KeptNumbers) -> Iterator[str]:
    """Yield which method gains most on new text and what it loses, and which one gains most of those that keep the
    general text."""
    every = {name: one for name in numbers.methods if (one := numbers.new.new(name)) is not None}
    most_cells = max((one.cells for one in every.values()), default=0)
    gains = {name: one for name, one in every.items() if one.cells == most_cells}  # of the same checkpoints
    sure = {name: one for name, one in gains.items() if one.value < 0 and one.is_sure}
    if not sure:
        if gains:
            yield "No method is surely better than the base on new text: keep the base."
        return
    best = min(sure, key=lambda name: sure[name].value)
    lost = [(of, change) for of in numbers.general_losses if (change := of.at_end(best)) is not None]
    if lost:  # else the answer of every report has said it
        parts = [_told(of.task, change) for of, change in lost]
        gain = _error(-sure[best].value, sure[best].stderr)
        yield f"On new text, {best} is {gain} nats per token better than the base, and {listed(parts)}."
    for of in numbers.general_losses:
        kept = {n: one for n, one in sure.items() if (change := of.at_end(n)) is not None and change.value <= SMALL}
        most = min(kept, key=lambda name: kept[name].value, default="")
        if not most:
            yield f"No method that gains stays within {SMALL} nats on {_short(of.task)}."
        elif most != best:
            gain = _error(-kept[most].value, kept[most].stderr)
            yield f"Of those that lose at most {SMALL} on {_short(of.task)}, {most} gains most: {gain}."


def _told(task: str, change: Change) -> str:
    side = "worse" if change.value > 0 else "better"
    return f"{_error(abs(change.value), change.stderr)} {side} on {_short(task)}"


def _short(task: str) -> str:
    return task.partition("@")[0]


def _error(value: float, stderr: float) -> str:
    return signed(value) + (f" ± {stderr:.3f}" if math.isfinite(stderr) else "")


def _loss(change: Change | None) -> TextCell:
    if change is None:
        return TextCell("–")
    under = f"± {change.stderr:.3f}" if math.isfinite(change.stderr) else ""
    return TextCell(signed(change.value, plus=True), under)


def _change(numbers: KeptNumbers, task: str, method: str) -> TextCell:
    """Return by how much the mean of a task without periods differs from the base's, in its unit."""
    value, how = numbers.part_change(task, method), quantity(numbers.study.metric(task))
    if value is None:
        return TextCell("–")
    return TextCell(f"{signed(how.scale * value, how.digits, plus=True)} {how.difference}".rstrip())


def _fact_cells(last: CheckpointFacts) -> list[TextCell]:
    cells = [_percent(last.as_base), _percent(last.updated, last.updated_by_base)]
    if last.edge is None or not last.edge.is_known:
        return [*cells, TextCell("unknown")]
    return [*cells, TextCell(month_text(last.edge.month), _ends(last.edge))]


def _percent(share: FactShare | None, base: FactShare | None = None) -> TextCell:
    if share is None or share.n < FEWEST:
        return TextCell("–", hint="" if share is None else f"too few: {share.n}")
    return TextCell(percent(share.value), "" if base is None else f"base {percent(base.value)}", hint=f"of {share.n:,}")


def _ends(edge: FactEdge) -> str:
    """Return the 95 % interval of an edge, open where it reaches the first or the last month that was tried."""
    low = "…" if edge.is_open_below else month_text(edge.low)
    return f"{low} to {'…' if edge.is_open else month_text(edge.high)}"
