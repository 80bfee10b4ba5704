"""The eight categories of answers (EvolvingQA, appendix G).

The paper speaks of eight categories and describes seven. Person as the eighth, and MONEY as a number, are our reading.
"""

from __future__ import annotations

import re

PERSON, NUMERICAL, TEMPORAL, ETC = "Person", "Numerical", "Temporal", "Etc"
CATEGORIES = {
    PERSON: ("PERSON",),
    NUMERICAL: ("CARDINAL", "ORDINAL", "QUANTITY", "PERCENT", "MONEY"),
    TEMPORAL: ("DATE", "TIME"),
    "Locational": ("GPE", "LOC", "FAC"),
    "Organizational": ("ORG",),
    "Culture/Group": ("NORP", "LANGUAGE", "LAW"),
    "Art/Media": ("EVENT", "WORK_OF_ART", "PRODUCT"),
    ETC: (),
}
"""Category -> labels of OntoNotes; all others, and answers without a label that no rule knows, are `Etc`."""
NOTE = (
    "The category is that of the answer's entity in its passage. The paper describes seven of its eight categories: "
    "Person as the eighth, and amounts of money as Numerical, are our assumptions. Answers without a label are "
    "Temporal if they have a month or a year, Numerical if they have another digit, else Etc."
)
BY_LABEL = {label: category for category, labels in CATEGORIES.items() for label in labels}
BY_LABEL["NUMBER"] = NUMERICAL  # of the tagger by rules, which does not say what is counted
MONTH = "january|february|march|april|may|june|july|august|september|october|november|december"
MONTH_OR_YEAR = re.compile(
    rf"\b({MONTH})\b.*\d|\d.*\b({MONTH})\b|^({MONTH})$|^(the )?(1\d|20)\d\ds?$|\b\d{{4}}-\d\d-\d\d\b", re.IGNORECASE
)
"""A month with a number, a month alone, a year alone, or a day as in ISO 8601. `May` within a name is no date."""


def category(label: str, answer: str) -> str:
    """Return the category of an answer by the label of its entity; by rules if it has none."""
    if label:
        return BY_LABEL.get(label.upper(), ETC)
    if MONTH_OR_YEAR.search(answer.strip()):
        return TEMPORAL
    return NUMERICAL if re.search(r"\d", answer) else ETC
