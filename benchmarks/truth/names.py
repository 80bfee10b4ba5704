"""A spaCy pipeline that knows the names of a synthetic world: by rules, so that it needs no training."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date
from typing import TYPE_CHECKING, Any

from ticlm.datasets.synthetic.tables import tables
from ticlm.datasets.synthetic.world import SyntheticWorld

if TYPE_CHECKING:
    from spacy.language import Language

LABELS = {"person": "PERSON", "town": "GPE", "firm": "ORG", "club": "ORG", "office": "ORG", "story": "EVENT"}
"""OntoNotes' label of each kind of entity."""
OBJECTS = {"region": "LOC", "river": "LOC", "ground": "FAC", "colours": "WORK_OF_ART"}
"""That of the kinds of objects that are no entities of the world; a PRODUCT is everything else."""
MONTHS = tuple(date(2000, month, 1).strftime("%B").lower() for month in range(1, 13))
_TENS = "twenty|thirty|forty|fifty|sixty|seventy|eighty|ninety"
_UNITS = "one|two|three|four|five|six|seven|eight|nine"
_TEENS = "ten|eleven|twelve|thirteen|fourteen|fifteen|sixteen|seventeen|eighteen|nineteen"


def names_pipeline(world: SyntheticWorld, until: date) -> Language:
    """Return a pipeline that finds the names that the world knows on a day, dates, years, and numbers in digits and in
    words, each with its label of OntoNotes. Save it with `to_disk`; a recipe names its folder."""
    import spacy

    pipeline = spacy.blank("en")
    ruler: Any = pipeline.add_pipe("entity_ruler", config={"overwrite_ents": True})
    names = [{"label": label, "pattern": name} for name, label in sorted(_names(world, until))]
    digits = {"TEXT": {"REGEX": r"^\d+$"}}
    months = {"LOWER": {"IN": list(MONTHS)}}
    ruler.add_patterns(
        [
            *names,
            {"label": "DATE", "pattern": [digits, months, digits]},
            {"label": "DATE", "pattern": [{"TEXT": {"REGEX": r"^1[6-9]\d\d$|^20\d\d$"}}]},
            {"label": "CARDINAL", "pattern": [digits]},
            {"label": "CARDINAL", "pattern": [_word(f"{_UNITS}|{_TEENS}|{_TENS}")]},
            {"label": "CARDINAL", "pattern": [_word(_TENS), {"TEXT": "-"}, _word(_UNITS)]},
        ]
    )
    return pipeline


def _names(world: SyntheticWorld, until: date) -> Iterator[tuple[str, str]]:
    """Yield (name, label) of all entities that began by a day, and of all other objects of facts."""
    for entity in world.history.begun(until).values():
        yield entity.name, LABELS[entity.kind]
    for kind, names in tables().objects.items():
        for name in names:
            yield name, OBJECTS.get(kind, "PRODUCT")


def _word(words: str) -> dict[str, Any]:
    return {"LOWER": {"REGEX": f"^(?:{words})$"}}
