"""A prompt whose continuations a report shows, and the right ones by the period from which each is right."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import BeforeValidator, Field, field_validator

from ticlm.core.periods import Label, span
from ticlm.core.settings import Settings


class DatedAnswer(Settings):
    """What the right continuation of a prompt is from a period on."""

    since: Label
    """The first period of which it is true."""
    text: str = Field(min_length=1, max_length=400)
    """What a right continuation begins with."""

    @field_validator("since")
    @classmethod
    def _period(cls, label: str) -> str:
        span(label)
        return label


def _answers(value: Any) -> Any:
    """Return the answers of `{202301: Ada Berg, 202306: Ben Holm}` as a list, oldest first."""
    if not isinstance(value, Mapping):
        return value
    return [{"since": since, "text": text} for since, text in sorted(value.items(), key=lambda one: str(one[0]))]


class ShownPrompt(Settings):
    """A text to continue and, where they are known, the right continuations by the period from which each is right.

    A report compares the answers with what models write: right, outdated (right before the model's last period) or
    wrong. They reach no cell, so they can be added or changed later.
    """

    text: str = Field(min_length=1, max_length=400)
    """The text that models continue."""
    answers: Annotated[
        tuple[DatedAnswer, ...],
        BeforeValidator(_answers, json_schema_input_type=dict[str, str] | tuple[DatedAnswer, ...]),
    ] = ()
    """The right continuations: `{PERIOD: TEXT, …}`, each right from its period on until the next one."""

    @field_validator("answers")
    @classmethod
    def _in_order(cls, answers: tuple[DatedAnswer, ...]) -> tuple[DatedAnswer, ...]:
        starts = [span(one.since)[0] for one in answers]
        if starts != sorted(set(starts)):
            raise ValueError("give each answer a period of its own, oldest first")
        return answers

    def known_by(self, period: str) -> list[str]:
        """Return the answers that were ever right by the end of a period; the last one is right then. None is known of
        an imported model of no date (`as_of: outside`)."""
        try:
            end = span(period)[1]
        except ValueError:
            return []
        return [one.text for one in self.answers if span(one.since)[0] < end]
