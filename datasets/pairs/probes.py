"""Pairs from files in the schema of probes, as light-tuning reads them (CKL, appendix G)."""

from __future__ import annotations

from typing import Any, Literal

from ticlm.datasets.io import records
from ticlm.datasets.pairs.files import Pair, PairFiles
from ticlm.platform.core.examples import MASK
from ticlm.platform.core.periods import Label


class ProbePairs(PairFiles):
    """Pairs from JSON lines `{id, task, timestamp, input, question, answers, outdated, meta}`.

    The target is the first of `answers`. The input is `input` as it stands, the words before the mask of the cloze that
    `input` is (the mask must stand behind them), or `question`.
    """

    kind: Literal["probe-pairs"] = "probe-pairs"
    ask: Literal["input", "before-mask", "question"] = "input"
    """What the input of a pair is: `input` as it stands, the words of this cloze before the mask, or `question`."""
    task: str | None = None
    """Read only rows of this `task`; by default all."""
    period: Label | None = None
    """The period of all rows; by default each row's own `timestamp`."""

    def pair(self, record: records.Record) -> Pair | str:
        """Return the pair of a record, or the reason why it is none."""
        if self.task is not None and record.get("task") != self.task:
            return "of another task"
        answer, given = first_answer(record.get("answers")), self._given(record)
        if answer is None:
            return "without answers"
        if isinstance(given, _Reason):
            return str(given)
        when = self.period or str(record.get("timestamp") or "")
        return Pair(str(record.get("id") or ""), given, answer, when, str(record.get("task") or ""))

    def _given(self, record: records.Record) -> str:
        text = record.get("question" if self.ask == "question" else "input")
        if not isinstance(text, str) or not text.strip():
            return _Reason(f"without {'question' if self.ask == 'question' else 'input'}")
        if self.ask == "before-mask":
            before, mask, _ = text.partition(MASK)
            return before if mask and before.strip() else _Reason("no words before a mask")
        return _Reason("a mask in the input") if MASK in text else text


class _Reason(str):
    """Why there is no input."""


def first_answer(answers: Any) -> str | None:
    """Return the first of the answers, which is the training target; None if there is none."""
    first = answers[0] if isinstance(answers, list) and answers else answers
    return first if isinstance(first, str) else None
