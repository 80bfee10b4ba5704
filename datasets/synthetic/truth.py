"""The ground truth of the synthetic world: what a reader of its periods can know, and ways to ask for it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Literal

from ticlm.core.periods import Period
from ticlm.datasets.synthetic.facts import Fact, History
from ticlm.datasets.synthetic.tables import tables

Category = Literal["invariant", "updated", "new", "ended"]


@dataclass(frozen=True, slots=True)
class KnownFact:
    """A fact as a row of the ground truth. All fields except `fact` depend on the timeline (see `ground_truth`)."""

    fact: Fact
    category: Category
    period: str
    previous: str | None = None

    def row(self) -> dict[str, object]:
        """Return the columns of the table: the fact and ways to ask for it. `cloze` is a statement less its object."""
        fact, relation = self.fact, tables().relation[self.fact.relation]
        return {
            "id": fact.id,
            "subject": fact.subject,
            "relation": fact.relation,
            "object": fact.object,
            "start": fact.start,
            "end": fact.end,
            "category": self.category,
            "period": self.period,
            "previous": self.previous,
            "cloze": fact.say(relation.statements[0].partition("{object}")[0]).rstrip(),
            "question": fact.say(relation.question),
            "sentences": list(fact.statements + fact.news),
        }


def ground_truth(history: History, periods: Sequence[Period]) -> list[KnownFact]:
    """Return the facts that a reader of all these periods can know, oldest first.

    `period` is the period in which a fact first appears. `category` is one of
    - `invariant`: known in the first period and true through the last;
    - `updated`, `new`: began in a later period, with or without a predecessor, and true at the end of that period;
      `previous` is the object at the end of the period before;
    - `ended`: all others, which were true for some time only.
    """
    rows = []
    for fact in history.known(periods[-1].end):
        at = next(i for i, period in enumerate(periods) if fact.start < period.end)
        period = periods[at]
        if fact.end is not None and (at == 0 or fact.end < period.end):
            rows.append(KnownFact(fact, "ended", period.label))
        elif at == 0:
            rows.append(KnownFact(fact, "invariant", period.label))
        else:
            before = history.held(fact.subject, fact.relation, periods[at - 1].end - timedelta(days=1))
            category: Category = "new" if before is None else "updated"
            rows.append(KnownFact(fact, category, period.label, before.object if before else None))
    return rows
