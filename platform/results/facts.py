"""Which facts the examples of a study's tasks ask for, by the names of their subjects and relations."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from ticlm.datasets.examples.facts import RELATION, RELATION_ID, SUBJECT, SUBJECT_ID
from ticlm.platform.results.questions import examples_at
from ticlm.platform.study.plan import Plan
from ticlm.platform.tasks.base import Task, whole_task

if TYPE_CHECKING:
    import pandas as pd

    from ticlm.core.examples import Example

COLUMNS = ("task", "label", "asked", "id", "subject", "relation", "subject_id", "relation_id")
"""`asked` is the set of examples and its subset, as SET@VERSION/SUBSET. Labels are in lower case; what is not known is
empty."""
TRIPLET = re.compile(r"(Q\d+) (P\d+) \S+")
"""The id of an example that is that of its triplet in Wikidata."""
PREDICATE = re.compile(r"P\d+")
PROPERTY = "property"
"""Name in `Example.about` under which `wiki-questions` writes the id of a relation."""


class AskedFact(NamedTuple):
    """Subject and relation of the fact that an example asks for; what is not known is empty."""

    subject: str
    relation: str
    subject_id: str
    relation_id: str

    @property
    def is_known(self) -> bool:
        """Whether both have a label or an id."""
        return bool(self.subject or self.subject_id) and bool(self.relation or self.relation_id)


def asked_fact(example: Example) -> AskedFact:
    """Return the fact that an example asks for: its ids are those of `datasets/examples/facts.py`, of a triplet's name
    or of a relation as LAMA's T-REx names it; its labels those of `about`, or the source of the example."""
    about, named = example.about, TRIPLET.fullmatch(example.id)
    predicates = (about.get(RELATION_ID, ""), about.get(PROPERTY, ""), example.source, about.get(RELATION, ""))
    relation_id = next((one for one in predicates if PREDICATE.fullmatch(one)), named[2] if named else "")
    labels = (about.get(RELATION, ""), example.source)
    relation = next((one for one in labels if one and not PREDICATE.fullmatch(one)), "")
    subject_id = about.get(SUBJECT_ID, "") or (named[1] if named else "")
    return AskedFact(_label(about.get(SUBJECT, "")), _label(relation), subject_id, about.get(RELATION_ID, relation_id))


def fact_frame(plan: Plan) -> pd.DataFrame | None:
    """Return a row of COLUMNS for each example whose fact is known, once for each task that keeps its predictions and
    each label; None if no two of them ask different subsets of examples. Every subset is read once."""
    import pandas as pd

    from ticlm.core.examples import Examples

    wanted: dict[tuple[str, str], tuple[Task, Examples, str]] = {}
    for task in plan.study.evaluations:
        data = plan.data_of(task) if task.keeps_predictions and task.reads == "examples" else None
        if isinstance(data, Examples):
            for label in plan.labels(task):
                subset = task.split if task.axis == "period" else label
                wanted.setdefault((whole_task(task.id), label), (task, data, f"{data.info.id}/{subset}"))
    if len({asked for _, _, asked in wanted.values()}) < 2:
        return None
    held: dict[tuple[str, str], list[tuple[str, AskedFact]]] = {}
    rows: list[tuple[str, ...]] = []
    for (name, label), (reader, examples, asked) in wanted.items():
        if (asked, label) not in held:
            known = ((one.id, asked_fact(one)) for one in examples_at(reader, examples, label))
            held[asked, label] = [(one, fact) for one, fact in known if fact.is_known]
        rows += [(name, label, asked, one, *fact) for one, fact in held[asked, label]]
    return pd.DataFrame(rows, columns=list(COLUMNS)) if rows else None


def _label(text: str) -> str:
    return " ".join(text.split()).casefold()
