"""TAQA as released: questions whose answers change from year to year (`train.jsonl`, `dev.jsonl`, `test.jsonl`)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any, Literal

from pydantic import Field, field_validator

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

PARTS = ("train", "dev", "test")
"""The subsets, which are the names of the files."""
NO_PART = "in a file that is none of train, dev, test"


class TaqaQuestions(Settings):
    """Questions of TAQA, each in every year for which it has an answer: `question`, `answer` (lists of texts by year),
    `avg_pageview`.

    The first text of a year is the answer, the others are aliases, and the texts of earlier years that are not among
    them are outdated, the latest first. The subsets are `train`, `dev` and `test`, by the files' names.
    """

    kind: Literal["taqa"] = "taqa"
    paths: Patterns = Field(min_length=1)
    """Files, globs or folders of JSON lines, local or remote; their names begin with train, dev or test."""
    prompt: str = "Answer the following question: {question}\nAs of year {year}, the answer is:"
    """Text before the answer."""

    @field_validator("prompt")
    @classmethod
    def _asks(cls, prompt: str) -> str:
        if "{question}" not in prompt:
            raise ValueError(f"prompt needs {{question}}, got {prompt!r}")
        return prompt

    @property
    def identity(self) -> Settings:
        return self.model_copy(update={"paths": ("",)})

    def inputs(self) -> list[Input]:
        return input_files(self.paths, records.SUFFIXES, "examples.paths")

    def drafts(self, context: BuildContext) -> Iterator[PeriodDraft]:
        by_years: dict[int, dict[str, list[Example]]] = {}
        dropped: Counter[str] = Counter()
        kept = 0
        for file, line, raw in by_year.rows(context, dropped):
            part = next((name for name in PARTS if file.startswith(name)), None)
            answers = _answers(raw.get("answer"))
            if part is None:
                dropped[NO_PART] += 1
            elif not answers:
                dropped[by_year.NO_ANSWERS] += 1
            else:
                kept += 1
                for year, example in self._examples(f"{part}:{line}", raw, answers):
                    by_years.setdefault(year, {}).setdefault(part, []).append(example)
        context.steps.append(Step(name="rows", read=kept + dropped.total(), dropped=dict(sorted(dropped.items()))))
        late = {year for year in by_years if by_year.period_of_year(year) in context.built}
        counts = {year: sum(map(len, parts.values())) for year, parts in by_years.items()}
        standing = {STANDS: sum(counts[year] for year in late)} if late else {}
        context.steps.append(Step(name="questions", read=sum(counts.values()), dropped=standing))
        names = sorted({part for parts in by_years.values() for part in parts})
        paths = tuple(entry.path for entry in context.inputs)
        for year in sorted(by_years.keys() - late):
            subsets = {name: by_years[year].get(name, []) for name in names}
            yield PeriodDraft(period_of(by_year.period_of_year(year)), subsets, inputs=paths)

    def _examples(self, name: str, raw: dict[str, Any], answers: dict[int, list[str]]) -> Iterator[tuple[int, Example]]:
        """Yield (year, question) for each year of a row."""
        question, earlier = raw["question"].strip(), list[str]()
        views = {} if raw.get("avg_pageview") is None else {"popularity": str(raw["avg_pageview"])}
        for year, texts in sorted(answers.items()):
            yield (
                year,
                Example(
                    id=f"{name}-{year}",
                    text=self.prompt.replace("{year}", str(year)).replace("{question}", question),
                    answer=texts[0],
                    aliases=tuple(texts[1:]),
                    about={"year": str(year), "fact": name, **views},
                    question=question,
                    outdated=tuple(dict.fromkeys(one for one in earlier if one not in texts)),
                ),
            )
            earlier = [*texts, *earlier]


def _answers(value: object) -> dict[int, list[str]]:
    """Return the different texts by year; empty if they cannot be read."""
    found: dict[int, list[str]] = {}
    for key, listed in value.items() if isinstance(value, dict) else ():
        year, texts = by_year.year_of(key), by_year.texts_of(listed)
        if year is None or texts is None:
            return {}
        if texts:
            found[year] = list(dict.fromkeys(texts))
    return found
