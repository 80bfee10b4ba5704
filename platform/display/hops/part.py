"""What a report says of questions over two facts in a row: an entry `kind: hops` of a study's `tables`."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ticlm.platform.analysis.hops import (
    ALL,
    AT_DIFFERENT_TIMES,
    BOTH,
    COLUMNS,
    COMPOSED,
    GROUPS,
    HOP_1,
    HOP_2,
    MOST_FREQUENT,
    OTHERWISE,
    OUTDATED,
    STEP_BY_STEP,
    TOGETHER,
    WHOLE,
    HopReader,
    hop_rows,
)
from ticlm.platform.analysis.month_rows import INITIAL
from ticlm.platform.analysis.numbers import percent, share_bound
from ticlm.platform.display.hops.settings import HopsRequest
from ticlm.platform.display.parts import Part, Section, Tables
from ticlm.platform.display.text_tables import TextCell, TextLine, TextTable
from ticlm.platform.results.study_result import StudyResult, as_frame

TITLE = "Questions over two facts in a row"
SHOWN = (WHOLE, OUTDATED, HOP_1, HOP_2, BOTH, COMPOSED, OTHERWISE, STEP_BY_STEP, MOST_FREQUENT)
HINTS = {
    WHOLE: "the question over both facts gets the answer that is right now",
    OUTDATED: "it gets an answer that was right in an earlier month",
    HOP_1: "the question about the first fact is answered right",
    HOP_2: "that about the second one is, with the right answer to the first in it",
    BOTH: "both are",
    COMPOSED: "right at once, of the questions of which both facts are answered right",
    OTHERWISE: "right at once, of the others",
    STEP_BY_STEP: "right, where the model's own answer to the first question stands in the second",
    MOST_FREQUENT: "right, if the most frequent object of the second relation is always the answer",
}
BLOCKS = {
    "neither": "neither changed",
    "first": "the first changed",
    "second": "the second changed",
    TOGETHER: "both changed, in one month",
    AT_DIFFERENT_TIMES: "both changed, in different months",
    ALL: "all questions",
}
NOTES = (
    "Shares in percent, by which of the two facts changed since the first snapshot. A method is asked in each month "
    "after training on it, INITIAL, the first checkpoint, in the same months. ± is one standard error over chains, "
    "which are asked in several months; where all answers are alike, the one-sided bound of 95 % over chains.",
    "Composed: right at once where both facts are answered right. Only what it is above *not composed*, the same share "
    "where they are not, can be composing. Most frequent: a rival that always says the most frequent object.",
)
Shares = Mapping[tuple[str, str, str], Mapping[str, Any]]
"""(row, what changed, measure) -> its row of the frame, over all months."""


class HopTables(HopsRequest, Tables):
    def part(self, study: StudyResult) -> Part:
        return self.of_all([(study, self)])

    @classmethod
    def of_all(cls, asked: Sequence[tuple[StudyResult, HopsRequest]]) -> Part:
        rows: list[dict[str, Any]] = []
        tables: list[TextTable] = []
        sentences: list[tuple[str, str]] = []
        missing: list[str] = []
        for study, one in asked:
            for task in one.tasks:
                found = list(hop_rows(HopReader(study, task), one.name))
                shares = {(r["row"], r["changed"], r["measure"]): r for r in found if not r["month"]}
                if not shares:
                    missing.append(f"{study.name}, tables {one.name}: no answers of {task} yet")
                    continue
                rows += found
                tables.append(_table(study.name if len(asked) > 1 else "", task, shares))
                sentences += [(study.name, line) for line in _sentences(shares)] if task == one.tasks[0] else []
        return Part(
            TITLE,
            {"hops": as_frame(rows, COLUMNS)},
            (Section("hops", TITLE, tuple(tables), short="Two hops"),) if tables else (),
            tuple(sentences),
            missing=tuple(missing),
            counts_as_benchmark=False,
        )


def _table(study: str, task: str, shares: Shares) -> TextTable:
    title = f"{task} ({study})" if study else task
    columns = tuple(name for name in SHOWN if any(measure == name for *_, measure in shares))
    hints = tuple(HINTS[name] for name in columns)
    return TextTable(title, ("method",), columns, tuple(_lines(shares, columns)), NOTES, main=True, hints=hints)


def _lines(shares: Shares, columns: Sequence[str]) -> Iterator[TextLine]:
    names = dict.fromkeys(row for row, *_ in shares)
    for group in GROUPS:
        for row in (name for name in names if (name, group, WHOLE) in shares):
            whole = shares[row, group, WHOLE]
            cells = tuple(_cell(shares.get((row, group, measure))) for measure in columns)
            about = f"{whole['n']:,} answers on {whole['chains']:,} chains"
            yield TextLine((row,), cells, about, block=BLOCKS[group], is_apart=row.startswith(INITIAL))


def _cell(found: Mapping[str, Any] | None) -> TextCell:
    if found is None:
        return TextCell("–")
    return TextCell(percent(found["value"]), _under(found), hint=f"{found['n']:,} answers")


def _under(found: Mapping[str, Any]) -> str:
    """Return the error of a share; of answers that are all alike, their bound."""
    bound = share_bound(found["value"], found["chains"])
    if bound is not None:
        return f"{'≤' if found['value'] == 0 else '≥'} {percent(bound)}"
    return f"± {percent(found['stderr'])}" if math.isfinite(found["stderr"]) else ""


def _sentences(shares: Shares) -> Iterator[str]:
    """Yield what each method answers where both facts changed, whenever they did."""
    for row in dict.fromkeys(row for row, *_ in shares if not row.startswith(INITIAL)):
        for group in (TOGETHER, AT_DIFFERENT_TIMES):
            told = {measure: shares.get((row, group, measure)) for measure in (WHOLE, BOTH, COMPOSED, STEP_BY_STEP)}
            whole, both, steps = told[WHOLE], told[BOTH], told[STEP_BY_STEP]
            if whole is None or both is None or steps is None:
                continue
            composed = told[COMPOSED]
            among = "" if composed is None else f" ({_told(composed)} of those of which it knows both facts)"
            yield (
                f"Where {BLOCKS[group]}, {row} answers {_told(whole)} of the questions over both at once{among}, and "
                f"{_told(steps)} step by step; it knows both facts of {_told(both)}."
            )


def _told(found: Mapping[str, Any]) -> str:
    return f"{percent(found['value'])} ({_under(found)}) %"
