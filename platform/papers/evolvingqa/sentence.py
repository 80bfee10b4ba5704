"""The sentence of the answer about EvolvingQA: which methods still give outdated answers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from ticlm.platform.display.rivals import listed
from ticlm.platform.display.text_tables import records
from ticlm.platform.display.words import period
from ticlm.platform.papers.evolvingqa.scores import EXACT
from ticlm.platform.papers.evolvingqa.writing import points

if TYPE_CHECKING:
    from ticlm.platform.papers.evolvingqa.tables import EvolvingTables

MORE, LESS, EVEN = "more often than", "less often than", "about as often as"


def sentences(found: EvolvingTables) -> Iterator[tuple[str, str]]:
    """Yield (study, sentence) for each block, about the exact match at the last month that a method was trained on."""
    rows = found.differences[found.differences["metric"] == EXACT]
    for (study, _), held in rows.groupby(["study", "evolving"], sort=False):
        after = held.loc[held["trained"] == held["month"], "month"]  # INITIAL may be asked about later months too
        last = max(after if len(after) else held["month"])
        if told := _sentence(records(held[(held["month"] == last) & held["low"].notna()])):
            yield str(study), told


def _sentence(rows: Sequence[dict[str, Any]]) -> str:
    """Say how often rows give outdated answers, against updated ones: of many rows, the first two."""
    told: dict[str, list[str]] = {}
    for row in rows:
        verdict = MORE if row["low"] > 0 else LESS if row["high"] < 0 else EVEN
        around = f"{points(row['low'])} to {points(row['high'])}"
        told.setdefault(verdict, []).append(f"{row['row']} ({points(row['difference'])} points, 95 %: {around})")
    parts = [
        f"{listed(names)} {'give' if len(names) > 1 else 'gives'} outdated answers {verdict} updated ones"
        for verdict in (LESS, EVEN, MORE)
        if (names := told.get(verdict))
    ]
    return f"On the edited questions of {period(rows[0]['month'])}, {'; '.join(parts)}." if parts else ""
