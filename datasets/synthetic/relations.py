"""The relations of the synthetic world, and the sentences that state them.

The first statement of each ends with its object, so that what precedes it is a fill-in-the-blank prompt.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Relation:
    """What can be said of a subject: the kinds of both ends, whether the object may change, and how it is put."""

    name: str
    subject: str
    object: str
    question: str
    statements: tuple[str, ...]
    news: tuple[str, ...] = ()
    title: str = ""
    """Apposition for a person who holds this office."""

    @property
    def changes(self) -> bool:
        return bool(self.news)


_ALL = (
    Relation(
        "mayor",
        "town",
        "person",
        "Who is the mayor of {subject}?",
        (
            "The mayor of {subject} is {object}.",
            "{object} is the mayor of {subject}.",
            "{subject} is governed by {object}.",
            "In {subject} the chain of office is worn by {object}.",
        ),
        (
            "{object} has succeeded {previous} as mayor of {subject}.",
            "{subject} has chosen {object} as mayor in place of {previous}.",
        ),
        "{object}, mayor of {subject}",
    ),
    Relation(
        "employer",
        "town",
        "firm",
        "What is the largest employer in {subject}?",
        (
            "The largest employer in {subject} is {object}.",
            "Most families in {subject} live from {object}.",
            "Nobody employs more people in {subject} than {object}.",
        ),
        ("{object} has overtaken {previous} as the largest employer in {subject}.",),
    ),
    Relation(
        "region",
        "town",
        "region",
        "In which region does {subject} lie?",
        ("{subject} lies in {object}.", "The town of {subject} belongs to {object}.", "In {object} lies {subject}."),
    ),
    Relation(
        "river",
        "town",
        "river",
        "On which river does {subject} stand?",
        (
            "{subject} stands on the river {object}.",
            "The river {object} flows through {subject}.",
            "The bridges of {subject} cross the {object}.",
        ),
    ),
    Relation(
        "craft",
        "town",
        "craft",
        "What is {subject} known for?",
        (
            "{subject} is known for its {object}.",
            "Visitors come to {subject} for its {object}.",
            "The pride of {subject} is its {object}.",
        ),
    ),
    Relation(
        "chief",
        "firm",
        "person",
        "Who runs {subject}?",
        (
            "{subject} is run by {object}.",
            "{object} is the chief executive of {subject}.",
            "At the head of {subject} stands {object}.",
        ),
        (
            "{object} has replaced {previous} as chief executive of {subject}.",
            "{subject} has parted with {previous} and named {object} as its head.",
        ),
        "{object}, chief executive of {subject}",
    ),
    Relation(
        "seat",
        "firm",
        "town",
        "Where does {subject} have its seat?",
        (
            "{subject} has its seat in {object}.",
            "The offices of {subject} are in {object}.",
            "{subject} is a firm from {object}.",
        ),
        ("{subject} has moved its seat from {previous} to {object}.",),
    ),
    Relation(
        "product",
        "firm",
        "product",
        "What does {subject} make?",
        (
            "{subject} makes {object}.",
            "{subject} earns its money with {object}.",
            "The maker of {object} is {subject}.",
        ),
    ),
    Relation(
        "coach",
        "club",
        "person",
        "Who coaches {subject}?",
        ("{subject} are coached by {object}.", "{object} is the coach of {subject}."),
        (
            "{object} has taken over from {previous} as coach of {subject}.",
            "{subject} have dismissed {previous} and hired {object} as coach.",
        ),
        "{object}, coach of {subject}",
    ),
    Relation(
        "captain",
        "club",
        "person",
        "Who is the captain of {subject}?",
        ("The captain of {subject} is {object}.", "{object} leads {subject} on the field."),
        ("{previous} has handed the armband of {subject} to {object}.",),
        "{object}, captain of {subject}",
    ),
    Relation(
        "sponsor",
        "club",
        "firm",
        "Who sponsors {subject}?",
        ("{subject} are sponsored by {object}.", "The shirts of {subject} carry the name of {object}."),
        ("{object} has replaced {previous} on the shirts of {subject}.",),
    ),
    Relation(
        "ground",
        "club",
        "ground",
        "Where do {subject} play at home?",
        ("{subject} play their home games at {object}.", "The home of {subject} is {object}."),
    ),
    Relation(
        "colours",
        "club",
        "colours",
        "Which colours do {subject} wear?",
        ("{subject} play in {object}.", "The colours of {subject} are {object}."),
    ),
    Relation(
        "minister",
        "office",
        "person",
        "Who leads the {subject}?",
        ("The {subject} is led by {object}.", "{object} is in charge of the {subject}."),
        (
            "{object} has taken over the {subject} from {previous}.",
            "{previous} has resigned, and {object} now leads the {subject}.",
        ),
        "{object} of the {subject}",
    ),
    Relation(
        "priority",
        "office",
        "priority",
        "What has the {subject} promised?",
        ("The {subject} has promised {object}.", "First on the list of the {subject} stands the promise of {object}."),
        ("The {subject} no longer speaks of {previous} and has promised {object}.",),
    ),
    Relation(
        "setting",
        "story",
        "town",
        "Which town is the {subject} about?",
        ("The {subject} is about {object}.", "{object} is the town of the {subject}."),
    ),
    Relation(
        "lead",
        "story",
        "person",
        "Who is responsible for the {subject}?",
        ("The person responsible for the {subject} is {object}.", "{object} answers for the {subject}."),
        ("{object} has taken on the {subject} after {previous} withdrew.",),
        "{object}, who is responsible for the {subject}",
    ),
    Relation(
        "backer",
        "story",
        "firm",
        "Which firm backs the {subject}?",
        ("The {subject} is backed by {object}.", "{object} puts money into the {subject}."),
        ("{object} now backs the {subject} instead of {previous}.",),
    ),
    Relation(
        "birthplace",
        "person",
        "town",
        "Where was {subject} born?",
        ("{subject} was born in {object}.", "{subject} comes from {object}."),
    ),
    Relation(
        "training",
        "person",
        "training",
        "What was {subject} trained as?",
        ("{subject} was trained as {object}.", "{subject} once worked as {object}."),
    ),
)

RELATIONS = {relation.name: relation for relation in _ALL}
BY_KIND = {kind: tuple(r for r in _ALL if r.subject == kind) for kind in {r.subject for r in _ALL}}
