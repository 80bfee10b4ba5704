"""Relations of Wikidata whose values change, and the prompts that ask for them (relations.yaml)."""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from typing import Literal

import yaml
from pydantic import Field, field_validator

from ticlm.core.settings import Settings
from ticlm.datasets.wikidata.dated import Dating


class FactRelation(Settings):
    """A property of Wikidata, how its values are dated, and how a fact of it is asked."""

    property: str = Field(pattern=r"^P[0-9]+$")
    """Id of the property, such as P35."""
    dated: Dating = "start"
    """Qualifier that dates a value: start time (P580, with end time P582), or point in time (P585)."""
    fact: Literal["subject", "value"] = "subject"
    """What the fact belongs to: the item that states it, or the value, whose holder the item is (P39)."""
    prompt: str
    """Text before the value. {subject} is the label of what the fact belongs to, with "the" where it needs one, and
    {name} the label alone."""
    question: str = ""
    """The same as a question; by default there is none."""
    neutral: str
    """Text that asks for a value of the same kind and nothing else."""
    unless: tuple[str, ...] = ()
    """Qualifiers that leave a statement out."""

    @field_validator("prompt")
    @classmethod
    def _names_its_subject(cls, prompt: str) -> str:
        if "{subject}" not in prompt and "{name}" not in prompt:
            raise ValueError(f"a prompt needs {{subject}} or {{name}}, got {prompt!r}")
        return prompt

    def asked(self, template: str, name: str) -> str:
        """Return a prompt or question about a subject of this name, with a capital first letter."""
        text = template.replace("{subject}", with_article(name)).replace("{name}", name)
        return text[:1].upper() + text[1:]


class PackagedRelations(Settings):
    """The relations in relations.yaml by name, and the words of names that take an article."""

    relations: dict[str, FactRelation]
    first: frozenset[str]
    last: frozenset[str]


@cache
def packaged() -> PackagedRelations:
    """Return what relations.yaml holds."""
    text = files("ticlm.datasets.evalsets.dated_facts").joinpath("relations.yaml").read_text(encoding="utf-8")
    return PackagedRelations.model_validate(yaml.safe_load(text))


def with_article(name: str) -> str:
    """Return the name of a subject with "the" before it where its first or last word asks for one."""
    known, words = packaged(), name.split()
    takes = bool(words) and words[0] != "The" and (words[0] in known.first or words[-1] in known.last)
    return f"the {name}" if takes else name
