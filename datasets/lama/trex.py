"""InvariantLAMA from the rows of LAMA's T-REx: which facts stay, and how they are asked (CKL, sections 3.1 and A)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from importlib.resources import files
from typing import Any, Literal

from pydantic import Field, field_validator

from ticlm.core.errors import InputError
from ticlm.core.examples import MASK, Example
from ticlm.core.settings import Settings
from ticlm.datasets.examples.placing import UnusableExample
from ticlm.datasets.io.records import BadRecord, records
from ticlm.datasets.lama.words import folded, is_entity, mentions

X, Y = "[X]", "[Y]"
NAMES = ("uuid", "predicate_id", "template", "sub_label", "obj_label")
"""Fields of a row that are read; LAMA's files have the evidence in further ones."""
Fact = tuple[str, str, str]
"""Relation, subject and object."""


@cache
def invariant_relations() -> Mapping[str, str]:
    """Return the templates of the 28 relations of InvariantLAMA, by the id of the relation."""
    import yaml

    found: dict[str, str] = yaml.safe_load(
        files("ticlm.datasets.lama").joinpath("relations.yaml").read_text(encoding="utf-8")
    )
    return found


class InvariantRules(Settings):
    """Which facts of T-REx make probes of what does not change.

    CKL keeps 28 relations that were chosen by hand, drops rows "where the answer overlapped with the subject following
    Poerner et al. (2019)" and rows "where the answer was a non-entity".
    """

    relations: tuple[str, ...] | None = Field(None, min_length=1)
    """Ids of the relations to keep, by default the 28 of CKL's Table 4. A relation that the files lack is listed with 0
    rows read."""
    overlap: Literal["substring", "words", "keep"] = "substring"
    """When an answer overlaps its subject: as part of it without regard to case, as Poerner et al. have it (`mole` in
    `molecule`), or as whole words alone. `keep` drops no row for it."""
    answers: Literal["entities", "all"] = "entities"
    """Whether answers that are no entities are dropped: those written in small letters alone (`piano`), as labels of
    Wikidata write common nouns. CKL used a tagger that is not published."""

    @property
    def kept(self) -> tuple[str, ...]:
        """Ids of the relations to keep."""
        return tuple(invariant_relations()) if self.relations is None else self.relations

    @field_validator("relations")
    @classmethod
    def _once(cls, relations: tuple[str, ...] | None) -> tuple[str, ...] | None:
        if relations is not None and len(set(relations)) < len(relations):
            raise ValueError("relations: a relation is given twice")
        return relations

    def check(self, fact: Fact) -> None:
        """Raise UnusableExample if the rules leave the fact out."""
        relation, subject, answer = fact
        if relation not in self.kept:
            raise UnusableExample("relation is not on the list")
        if self.overlap == "substring" and folded(answer) in folded(subject):
            raise UnusableExample("answer overlaps the subject")
        if self.overlap == "words" and mentions(subject, answer):
            raise UnusableExample("answer overlaps the subject")
        if self.answers == "entities" and not is_entity(answer):
            raise UnusableExample("answer is no entity")


def rows(path: str) -> Iterator[tuple[int, Mapping[str, Any] | BadRecord]]:
    """Yield (line, row) of a file, or why the line has none. A row without `predicate_id` has that of the file's name
    (`P19.jsonl`)."""
    name = path.rsplit("/", 1)[-1].partition(".")[0]
    for line, row in records(path, 0, None, NAMES):
        yield line, row if isinstance(row, BadRecord) or row.get("predicate_id") else {**row, "predicate_id": name}


def fact_of(row: Mapping[str, Any]) -> Fact:
    """Return the fact of a row. Raises UnusableExample if it lacks one of the labels."""
    relation, subject, answer = (row.get(name) for name in ("predicate_id", "sub_label", "obj_label"))
    if not isinstance(relation, str):
        raise UnusableExample("without relation")
    if not isinstance(subject, str) or not subject.strip():
        raise UnusableExample("without subject")
    if not isinstance(answer, str) or not answer.strip():
        raise UnusableExample("without answer")
    return relation, subject.strip(), answer.strip()


def probe(fact: Fact, row: Mapping[str, Any], templates: Mapping[str, str], name: str) -> Example:
    """Return the probe of a fact; `name` is its id if the row has no uuid. Raises UnusableExample without a template.

    The template is the row's own, else LAMA's (`templates`), else that of CKL's Table 4.
    """
    relation, subject, answer = fact
    template = row.get("template") or templates.get(relation) or invariant_relations().get(relation)
    if not isinstance(template, str):
        raise UnusableExample("relation has no template")
    given = row.get("uuid")
    return Example(
        id=given if isinstance(given, str) and given else name,
        text=filled(template, subject),
        answer=answer,
        source=relation,
        about={"subject": subject},
    )


def filled(template: str, subject: str) -> str:
    """Return the template with the subject in the place of [X] and MASK in the place of [Y]. Raises UnusableExample if
    it lacks one of them, or has one twice."""
    if template.count(X) != 1 or template.count(Y) != 1:
        raise UnusableExample("template without one [X] and one [Y]")
    before, _, after = template.partition(Y)  # parted before the subject is in: it may spell [Y]
    return f"{before.replace(X, subject)}{MASK}{after.replace(X, subject)}".strip()


def templates_of(paths: Sequence[str]) -> dict[str, str]:
    """Return the templates of LAMA's `relations.jsonl` by relation. Raises InputError if a line has none."""
    found = {}
    for path in paths:
        for line, row in records(path, 0, None, ()):
            usable = not isinstance(row, BadRecord) and isinstance(row.get("relation"), str)
            if isinstance(row, BadRecord) or not usable or not isinstance(row.get("template"), str):
                raise InputError(f"{path}:{line}: has no relation with a template, as LAMA's relations.jsonl has")
            found[row["relation"]] = row["template"]
    return found
