"""KairosQA as released: questions by year, with options (`test.jsonl`)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from random import Random
from typing import Any, Literal

from pydantic import Field

from ticlm.core.accounting import Step
from ticlm.core.examples import Example
from ticlm.core.settings import Settings
from ticlm.datasets.evalsets.dated_facts import by_year
from ticlm.datasets.evalsets.files import STANDS
from ticlm.datasets.examples.context import BuildContext, PeriodDraft
from ticlm.datasets.examples.placing import period_of
from ticlm.datasets.io import records
from ticlm.datasets.io.documents import Input, input_files
from ticlm.datasets.io.listing import Patterns

DISTRACTOR = -1
"""Year of a value that was never right."""
SHOT = "a shot"
NO_CHOICE = "without a second option"
SUBSET = "all"


class KairosQuestions(Settings):
    """Questions of KairosQA, each in every year for which it has a value: `question` with `{year}`,
    `multi_choice_answers` (lists of values, each with its year, -1 for distractors), `subject`, `relation`,
    `subject_rank`.

    As in KairosQA, one of the year's values, drawn at random, is the answer; the options are, after it, the values
    nearest in year and then the distractors, and the first questions of a year are shots before the others. The random
    numbers of a question follow from its year and its line. KairosQA takes its distractors out of a Python set, whose
    order differs between runs; here they are sorted.
    """

    kind: Literal["kairos-qa"] = "kairos-qa"
    paths: Patterns = Field(min_length=1)
    """Files, globs or folders of JSON lines, local or remote."""
    shots: int = Field(5, ge=0)
    """Questions of each year, its first ones, that stand with their answers before every other question."""
    options: int = Field(4, ge=2)
    """Number of options, the answer included."""

    @property
    def identity(self) -> Settings:
        return self.model_copy(update={"paths": ("",)})

    def inputs(self) -> list[Input]:
        return input_files(self.paths, records.SUFFIXES, "examples.paths")

    def drafts(self, context: BuildContext) -> Iterator[PeriodDraft]:
        by_years: dict[int, list[tuple[int, _DatedQuestion]]] = {}
        dropped: Counter[str] = Counter()
        kept = 0
        for file, line, raw in by_year.rows(context, dropped):
            row = _row(f"{file}:{line}", raw)
            if row is None:
                dropped[by_year.NO_ANSWERS] += 1
                continue
            kept += 1
            for year in {year for year, _ in row.values}:
                by_years.setdefault(year, []).append((line, row))
        context.steps.append(Step(name="rows", read=kept + dropped.total(), dropped=dict(sorted(dropped.items()))))
        late = {year for year in by_years if by_year.period_of_year(year) in context.built}
        standing = sum(len(by_years[year]) for year in late)
        asked = sum(map(len, by_years.values()))
        context.steps.append(Step(name="years", read=asked, dropped={STANDS: standing} if standing else {}))
        paths = tuple(entry.path for entry in context.inputs)
        for year in sorted(by_years.keys() - late):
            examples, step = self._of_year(year, by_years[year])
            if examples:
                label = by_year.period_of_year(year)
                yield PeriodDraft(period_of(label), {SUBSET: examples}, (step,), inputs=paths)
            else:
                context.steps[:] = Step.sum([context.steps, [step]])

    def _of_year(self, year: int, rows: list[tuple[int, _DatedQuestion]]) -> tuple[list[Example], Step]:
        """Return the questions of a year, and the count of those that are not asked."""
        dropped: Counter[str] = Counter()
        shots: list[str] = []
        examples: list[Example] = []
        for line, row in rows:
            options, answer = choice(row, year, line, self.options)
            question = row.question.replace("{year}", str(year))
            if len(shots) < self.shots:
                shots.append(f"{question} {answer}\n\n")
                dropped[SHOT] += 1
            elif len(options) < 2:
                dropped[NO_CHOICE] += 1
            else:
                about = {"year": str(year), "place": str(options.index(answer)), **row.about}
                examples.append(
                    Example(
                        id=f"{row.id}-{year}",
                        text="".join(shots) + question,
                        answer=answer,
                        aliases=tuple(dict.fromkeys(one for one in row.right(year) if one != answer)),
                        choices=(answer, *(one for one in options if one != answer)),
                        source=row.about["relation"],
                        about=about,
                    )
                )
        return examples, Step(name="questions", read=len(rows), dropped=dict(sorted(dropped.items())))


@dataclass(frozen=True)
class _DatedQuestion:
    """A question, its values with their years in the order of the file, and its distractors."""

    id: str
    question: str
    values: list[tuple[int, list[str]]]
    distractors: list[str]
    about: dict[str, str]

    def right(self, year: int) -> list[str]:
        """Return all values of a year."""
        return [text for other, texts in self.values if other == year for text in texts]


def _row(name: str, raw: dict[str, Any]) -> _DatedQuestion | None:
    """Return a row; None if its answers cannot be read."""
    listed = raw.get("multi_choice_answers")
    values: list[tuple[int, list[str]]] = []
    distractors: list[str] = []
    for entry in listed if isinstance(listed, list) else ():
        texts = by_year.texts_of(entry[0]) if isinstance(entry, list) and len(entry) == 2 else None
        if texts is None:
            return None
        year = by_year.year_of(entry[1])
        if entry[1] == DISTRACTOR:
            distractors += texts
        elif year is None:
            return None
        elif texts:
            values.append((year, texts))
    about = {key: by_year.plain(raw.get(key)) for key in ("subject", "relation")}
    rank = {} if raw.get("subject_rank") is None else {"subject-rank": str(raw["subject_rank"])}
    return _DatedQuestion(name, raw["question"].strip(), values, distractors, about | rank) if values else None


def choice(row: _DatedQuestion, year: int, line: int, most: int) -> tuple[list[str], str]:
    """Return the options of a question in their random order, and the one that is right."""
    random = Random(year + line)
    right = row.right(year)
    answer = random.choice(right)
    nearest = sorted((entry for entry in row.values if entry[0] != year), key=lambda entry: abs(entry[0] - year))
    wrong = [text for _, texts in nearest for text in texts] + sorted(row.distractors)
    options = [answer, *dict.fromkeys(text for text in wrong if text not in right)][:most]
    random.shuffle(options)
    return options, answer
