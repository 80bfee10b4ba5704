"""Pairs from files in the schema of probes, as light-tuning reads them (CKL, appendix G)."""

from __future__ import annotations

from typing import Literal

from ticlm.core.examples import MASK
from ticlm.core.periods import Label
from ticlm.datasets.examples.placing import UnusableExample
from ticlm.datasets.io import records
from ticlm.datasets.lama.schema import example_of
from ticlm.datasets.pairs.files import PairFiles, TuningPair

NO_WORDS = "no words before a mask"


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

    def pair(self, record: records.Record) -> TuningPair | str:
        """Return the pair of a record, or the reason why it is none."""
        if self.task is not None and record.get("task") != self.task:
            return "of another task"
        try:
            probe = example_of(record, "")
        except UnusableExample as reason:
            return str(reason)
        if probe.answer is None:
            return "without answers"
        text = probe.question if self.ask == "question" else probe.text
        if not text:
            return f"without {'question' if self.ask == 'question' else 'input'}"
        before, mask, _ = text.partition(MASK)
        if self.ask == "before-mask":
            words = bool(mask and before.strip())
            return TuningPair(probe.id, before, probe.answer, self._task(record)) if words else NO_WORDS
        return "a mask in the input" if mask else TuningPair(probe.id, text, probe.answer, self._task(record))

    def when(self, record: records.Record) -> str:
        """Return the period of all rows, or the row's own `timestamp`."""
        return self.period or str(record.get("timestamp") or "")

    def _task(self, record: records.Record) -> str:
        return str(record.get("task") or "")
