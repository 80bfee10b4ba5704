"""What the answer says of TemporalWiki: which row knows most of the facts that changed, and of the others."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from ticlm.platform.analysis.metrics import is_loss, number
from ticlm.platform.display.text_tables import records
from ticlm.platform.papers.temporalwiki.pairs_shown import measure
from ticlm.platform.papers.temporalwiki.settings import CHANGED, UNCHANGED

if TYPE_CHECKING:
    import pandas as pd


def sentences(means: pd.DataFrame) -> Iterator[tuple[str, str]]:
    """Yield (study, sentence) for each block, about its means over months (pairs.MEAN_COLUMNS)."""
    for (study, name), held in means.groupby(["study", "temporalwiki"], sort=False):
        main = held[(held["metric"] == held["metric"].iloc[0]) & held["complete"].astype(bool)]
        named = f" ({name})" if means.loc[means["study"] == study, "temporalwiki"].nunique() > 1 else ""
        if told := _sentence(records(main), named):
            yield str(study), told


def _sentence(rows: Sequence[dict[str, Any]], named: str) -> str:
    """Name the best row of both parts; empty where fewer than two rows have a value, or where all are equal."""
    parts = []
    for part, what in ((CHANGED, "those that changed"), (UNCHANGED, "those that did not")):
        mine = [row for row in rows if row["part"] == part]
        if len({row["value"] for row in mine}) > 1:
            best = (max if mine[0]["higher_is_better"] else min)(mine, key=lambda row: float(row["value"]))
            parts.append((best["row"], f"of {what} ({number(best['value'], best['metric'])}{_unit(best['metric'])})"))
    if not parts:
        return ""
    metric = rows[0]["metric"]
    does = f"has the {'highest' if rows[0]['higher_is_better'] else 'lowest'} {measure(metric).removesuffix(', %')}"
    (first, told), *others = parts
    text = f"On TemporalWiki's facts{named}, {first} {does} {told}"
    for other, more in others:
        text += f" and {more}" if other == first else f", {other} {more}"
    return f"{text}, in the mean over months."


def _unit(metric: str) -> str:
    return "" if is_loss(metric) else " %"
