"""A date before every question: "As of May 2023, who is the mayor of Oslo?" (EvolvingQA, appendix E)."""

from __future__ import annotations

from datetime import timedelta
from string import Formatter
from typing import NamedTuple

from pydantic import model_validator

from ticlm.core.errors import InputError
from ticlm.core.periods import span
from ticlm.datasets.text.date_lines import MONTHS
from ticlm.datasets.text.matching import exact_match
from ticlm.platform.tasks.base import Task
from ticlm.platform.tasks.probes import ProbeTask

PLACES = ("month", "year")


class Month(NamedTuple):
    """A month as people write it: `May`, `2023`."""

    month: str
    year: str

    @staticmethod
    def of(label: str) -> Month:
        """Return the last month of a period. Raises ValueError if the label is no period."""
        last = span(label)[1] - timedelta(days=1)
        return Month(MONTHS[last.month - 1], str(last.year))


class TimedProbeTask(ProbeTask):
    """Base of tasks on probes that can put a date before the question."""

    time_prompt: str = ""
    """Text before every question, with the label's `{month}` and `{year}` in it: "As of {month} {year}, ". Of a period
    of several months, it is the last one, at whose end the period's facts hold."""

    def without_meaning(self) -> frozenset[str]:
        return super().without_meaning() | ({"time_prompt"} if not self.time_prompt else frozenset())

    @model_validator(mode="after")
    def _dated(self) -> TimedProbeTask:
        if not self.time_prompt:
            return self
        places = _places(self.time_prompt)
        if not places or not places <= {*PLACES}:
            raise ValueError(
                "time_prompt must have {month} or {year} in it, and nothing else in braces, got " + self.time_prompt
            )
        if self.sets:
            raise ValueError("time_prompt needs periods as labels; leave out sets")
        if self.form == "cloze":
            raise ValueError("time_prompt goes before a question; form must be question or text")
        return self

    def asked(self, text: str, label: str) -> str:
        return self.time_prompt.format(**self._month(label)._asdict()) + text if self.time_prompt else text

    def identity_at(self, label: str) -> Task:
        """Return the task with the date of this label: the same questions in another month are other questions."""
        reduced = super().identity_at(label)
        if not self.time_prompt:
            return reduced
        return reduced.model_copy(update={"time_prompt": self.asked("", label)})

    def echoes(self, text: str, label: str) -> bool:
        """Return whether a text only repeats the prompt's date, or its month or its year."""
        date, places = self._month(label), _places(self.time_prompt)
        named = [getattr(date, place) for place in PLACES if place in places]
        return bool(exact_match(text, {*named, " ".join(named)}))

    def _month(self, label: str) -> Month:
        try:
            return Month.of(label)
        except ValueError as error:
            raise InputError(f"{self.name}: time_prompt needs periods as labels: {error}") from None


def _places(prompt: str) -> set[str]:
    """Return the names between braces. Raises ValueError if the braces do not match."""
    parts = [(name, how, conversion) for _, name, how, conversion in Formatter().parse(prompt) if name is not None]
    return {f"{name}:{how}" if how or conversion else name for name, how, conversion in parts}
