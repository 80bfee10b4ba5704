"""Exact match by thirds of each measure of difficulty, and the difference between the hardest and the easiest."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from ticlm.datasets.generation.difficulty import MEASURES
from ticlm.platform.analysis.month_rows import TableRow
from ticlm.platform.papers.evolvingqa.difficulty.effects import effect, mean_error, within
from ticlm.platform.papers.evolvingqa.difficulty.groups import Group, grouped
from ticlm.platform.papers.evolvingqa.rows import BlockReader
from ticlm.platform.papers.evolvingqa.scores import NEW, UNCHANGED, UPDATED, reader_rows

if TYPE_CHECKING:
    import pandas as pd

LEVELS = {3: ("easiest", "middle", "hardest"), 2: ("easiest", "hardest"), 1: ("all",)}
EASY_AT_HIGH = frozenset(MEASURES) - {"distance"}
"""Measures of which a high value makes a question easier."""
_WHERE = ("study", "evolving", "row", "reader", "set", "measure")
COLUMNS = (*_WHERE, "level", "from", "to", "value", "stderr", "n", "articles")
EFFECT_COLUMNS = (
    *(*_WHERE, "difference", "stderr", "low", "high", "n"),
    *("within", "within_stderr", "within_low", "within_high", "within_n"),
)
Rows = list[dict[str, Any]]


def by_difficulty(reader: BlockReader) -> tuple[Rows, Rows]:
    """Return rows of COLUMNS, and of EFFECT_COLUMNS; `reader` is empty for methods.

    A question counts with its mean over seeds, one of UNCHANGED also over the months; questions of NEW and UPDATED are
    those of all months. The questions of a set are cut into groups once, for all rows. `difference` is hardest less
    easiest; `within` is the same within categories of answers. A measure in which all questions are alike, or too few
    differ, has one group, `all`, and no effect.
    """
    levels, effects = Rows(), Rows()
    for name, field in ((UNCHANGED, "unchanged"), (NEW, "new"), (UPDATED, "edited")):
        about = _about(reader, name, getattr(reader.asked, field))
        if about is None:
            continue
        for measure in MEASURES:
            known = about[f"difficulty_{measure}"].dropna()
            groups = grouped(known.tolist())
            if measure in EASY_AT_HIGH:
                groups.reverse()
            for row, tasks in (*((row, reader.asked) for row in reader.rows), *reader_rows(reader)):
                values = _values(reader, name, getattr(tasks, field), row)
                if values is None or not groups:
                    continue
                joined = about.assign(measure=known, value=values).dropna(subset=["measure", "value"])
                where = {"study": reader.study.name, "evolving": reader.asked.name, "row": row.name}
                where |= {"reader": "" if tasks is reader.asked else row.name, "set": name, "measure": measure}
                parts = [joined[joined["measure"].between(*group)] for group in groups]
                levels += (where | one for one in _levels(groups, parts))
                if len(parts) > 1:
                    effects.append(where | _effect(parts[0], parts[-1]))
    return levels, effects


def _about(reader: BlockReader, name: str, task: str | None) -> pd.DataFrame | None:
    """Return what is known of the questions of a set, over all months; None if none was measured."""
    import pandas as pd

    if task is None:
        return None
    held = []
    for month in reader.months:
        about = reader.questions(task, month)
        if len(about) and about.filter(like="difficulty_").notna().any(axis=None):
            held.append(about.set_axis(_keys(name, month, about.index), axis=0))
    if not held:
        return None
    whole = pd.concat(held)
    return whole[~whole.index.duplicated()]


def _values(reader: BlockReader, name: str, task: str | None, row: TableRow) -> pd.Series[float] | None:
    """Return the exact match of a row by question, over the months at which it was asked."""
    import pandas as pd

    held = []
    for month in reader.months if task is not None else ():
        assert task is not None
        found = reader.predictions(task, row, month) if month in row.checkpoints else None
        if found is not None:
            held.append(pd.Series(found["exact"].to_numpy(float), _keys(name, month, found["id"])))
    return pd.concat(held).groupby(level=0).mean() if held else None


def _keys(name: str, month: str, ids: Any) -> list[str]:
    """Return names of questions over all months, which ask the same of UNCHANGED, and others of other sets."""
    return [str(one) if name == UNCHANGED else f"{month}/{one}" for one in ids]


def _levels(groups: Sequence[Group], parts: Sequence[pd.DataFrame]) -> Iterator[dict[str, Any]]:
    for level, (low, high), part in zip(LEVELS[len(groups)], groups, parts, strict=True):
        if not len(part):
            continue
        values, articles = part["value"].to_numpy(float), part["article"].to_numpy(str)
        counts = {"n": len(part), "articles": part["article"].nunique()}
        mean = {"value": float(values.mean()), "stderr": mean_error(values, articles)}
        yield {"level": level, "from": low, "to": high, **mean, **counts}


def _effect(easy: pd.DataFrame, hard: pd.DataFrame) -> dict[str, Any]:
    import numpy as np
    import pandas as pd

    both = pd.concat([easy, hard])
    is_hard = np.arange(len(both)) >= len(easy)
    given = both["value"].to_numpy(float), is_hard, both["article"].to_numpy(str)
    plain = effect(*given)
    alike = within(*given, both["category"].to_numpy(str))
    return plain._asdict() | {
        **{"within": alike.difference, "within_stderr": alike.stderr},
        **{"within_low": alike.low, "within_high": alike.high, "within_n": alike.n},
    }
