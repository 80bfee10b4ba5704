"""KILT's dev files as a set of examples, in which every answer is right."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Literal

from pydantic import Field

from ticlm.core.accounting import Step
from ticlm.core.examples import Example
from ticlm.core.mixture import Subset
from ticlm.core.periods import Label
from ticlm.core.settings import Settings
from ticlm.datasets.examples.context import BuildContext, PeriodDraft
from ticlm.datasets.examples.placing import period_of
from ticlm.datasets.io import listing, records
from ticlm.datasets.io.documents import Input, input_files
from ticlm.datasets.kilt.pairs import SNAPSHOT
from ticlm.datasets.kilt.rows import SUFFIXES, parsed, questions_in

SETTING = "examples.questions"


class KiltQuestions(Settings):
    """Questions of KILT's dev files: the input is the text, the first answer the answer, all others are aliases.

    Lines that cannot be asked are left out and counted by reason: without output, with an empty answer, an id of
    TriviaQA without a question, or an id that came before.
    """

    kind: Literal["kilt"] = "kilt"
    paths: listing.Patterns = Field(min_length=1)
    """Files, globs or folders of KILT's JSON lines, local or remote."""
    questions: listing.Patterns | None = None
    """Files of TriviaQA's questions, unfiltered: the release's `.json`, or rows with `question_id` and `question`."""
    subset: Subset = "all"
    """Name of the subset that the questions belong to, such as the name of the dataset."""
    period: Label = SNAPSHOT
    """The period of all questions; KILT was made from Wikipedia of August 2019."""

    @property
    def identity(self) -> Settings:
        return self.model_copy(update={"paths": ("",), "questions": None if self.questions is None else ("",)})

    def inputs(self) -> list[Input]:
        asked = self._asked()
        named = {entry.path for entry in asked}
        rows = input_files(self.paths, records.SUFFIXES, "examples.paths")
        return [*(entry for entry in rows if entry.path not in named), *asked]

    def drafts(self, context: BuildContext) -> Iterator[PeriodDraft]:
        if self.period in context.built:
            return
        named = [entry.path for entry in self._asked()]
        asked, about = (None, None) if self.questions is None else questions_in(named, SETTING)
        dropped: Counter[str] = Counter()
        found: dict[str, Example] = {}
        read = 0
        for entry in (one for one in context.inputs if one.path not in named):
            for number, record in records.records(entry.path, 0, None, ()):
                read += 1
                row = record.reason if isinstance(record, records.BadRecord) else parsed(record, asked)
                name = "" if isinstance(row, str) else row.id or f"{entry.path.rsplit('/', 1)[-1]}:{number}"
                if isinstance(row, str):
                    dropped[row] += 1
                elif name in found:
                    dropped["an id that came before"] += 1
                else:
                    first, *others = row.answers
                    found[name] = Example(id=name, text=row.input, answer=first, aliases=tuple(others))
        steps = [Step(name="rows", read=read, dropped=dict(sorted(dropped.items())))]
        if about is not None and about.dropped:
            steps.insert(0, about)
        context.steps += steps
        if found:
            paths = tuple(entry.path for entry in context.inputs)
            yield PeriodDraft(period_of(self.period), {self.subset: list(found.values())}, tuple(steps), inputs=paths)

    def _asked(self) -> list[Input]:
        """Return the files of TriviaQA's questions, which are inputs too: other ones make other examples."""
        return [] if self.questions is None else input_files(self.questions, SUFFIXES, SETTING)
