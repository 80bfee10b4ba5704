"""KILT's training files as a source of pairs."""

from __future__ import annotations

from typing import Literal

from ticlm.core.periods import Calendar, Label
from ticlm.core.settings import Settings
from ticlm.datasets.io import listing, records
from ticlm.datasets.io.documents import Input
from ticlm.datasets.kilt.rows import SUFFIXES, parsed, questions_of
from ticlm.datasets.pairs.files import PairFiles, TuningPair

SNAPSHOT = "201908"
"""KILT's Wikipedia is that of August 1, 2019."""
SETTING = "documents.questions"


class KiltPairs(PairFiles):
    """Pairs from KILT's training files: the input, and the answer of the first output.

    Lines without an output or with an empty answer are left out and counted. KILT's TriviaQA has ids alone: `questions`
    are the files that hold them.
    """

    kind: Literal["kilt"] = "kilt"
    questions: listing.Patterns | None = None
    """Files of TriviaQA's questions, unfiltered: the release's `.json`, or rows with `question_id` and `question`."""
    period: Label = SNAPSHOT
    """The period of all rows; KILT was made from Wikipedia of August 2019."""

    @property
    def identity(self) -> Settings:
        """Return the settings that determine the pairs: all but where the files are."""
        return self.model_copy(update={"paths": ("",), "questions": None if self.questions is None else ("",)})

    def inputs(self, calendar: Calendar) -> list[Input]:
        """Return every file once. Raises InputError for a path, or a path of questions, that matches no file."""
        if self.questions is not None:
            listing.files(self.questions, SUFFIXES, SETTING)
        return super().inputs(calendar)

    def pair(self, record: records.Record) -> TuningPair | str:
        """Return the pair of a line, or the reason why it is none."""
        row = parsed(record, None if self.questions is None else questions_of(self.questions, SETTING))
        return row if isinstance(row, str) else TuningPair(row.id, row.input, row.answers[0])

    def when(self, record: records.Record) -> str:
        """Return the period of all rows."""
        return self.period
