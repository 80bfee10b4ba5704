"""Questions that need no new knowledge: answers that stand in the question (EvolvingQA, section 4.2 and Figure 7), and
questions that repeat the words of their context (section 4.3)."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from ticlm.platform.papers.evolvingqa.rows import BlockReader
from ticlm.platform.papers.evolvingqa.scores import NEW, UNCHANGED, UPDATED, reader_rows

if TYPE_CHECKING:
    import pandas as pd

SHOWN = 5
"""Answers that are listed for each month and set."""
COLUMNS = (
    *("study", "evolving", "row", "trained", "month", "set"),
    *("n", "exact", "in_question", "right", "right_in_question", "share", "exact_without"),
)
EXAMPLE_COLUMNS = ("study", "evolving", "month", "set", "id", "question", "answer", "prediction", "in_question")
OVERLAP_COLUMNS = ("study", "evolving", "asked", "month", "set", "n", "overlap", "hits", "exact_hit", "exact_miss")


def leakage(reader: BlockReader) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Return rows of COLUMNS and of EXAMPLE_COLUMNS for INITIAL on NEW and UPDATED.

    `in_question` of the `n` questions have their answer in them. `right` were answered, `right_in_question` of these
    with an answer that stands in the question (`share`). `exact_without` is the exact match on the other questions. The
    examples are right answers, those that stand in their questions first. Of several seeds, the first is shown.
    """
    counts: list[dict[str, Any]] = []
    shown: list[dict[str, Any]] = []
    for row in reader.rows:
        for name, task in ((NEW, reader.asked.new), (UPDATED, reader.asked.edited)):
            for month in reader.months if row.is_initial and task is not None else ():
                assert task is not None
                held, about = reader.predictions(task, row, month), reader.questions(task, month)
                if held is None or not len(about):
                    continue
                first = held[held["seed"] == min(row.seeds)].drop_duplicates("id").set_index("id")
                both = first.join(about, how="inner", rsuffix="_of_set")
                easy, right = both["in_question"].astype(bool), both["exact"] == 1
                where = {"study": reader.study.name, "evolving": reader.asked.name}
                place = {"month": month, "set": name}
                n, correct, leaked = len(both), int(right.sum()), int((right & easy).sum())
                rest = both.loc[~easy, "exact"]
                values = {
                    "n": n,
                    "exact": float(both["exact"].mean()),
                    "in_question": int(easy.sum()),
                    "right": correct,
                }
                values |= {"right_in_question": leaked, "share": leaked / correct if correct else math.nan}
                values |= {"exact_without": float(rest.mean()) if len(rest) else math.nan}
                counts.append(where | {"row": row.name, "trained": row.checkpoints[month]} | place | values)
                listed = both.assign(easy=easy)[right].sort_values("easy", ascending=False, kind="stable")
                for one, seen in listed.head(SHOWN).iterrows():
                    text = {"question": seen["question"], "answer": seen["answer"], "prediction": seen["text"]}
                    shown.append(where | place | {"id": one} | text | {"in_question": bool(seen["easy"])})
    return counts, shown


def overlaps(reader: BlockReader) -> list[dict[str, Any]]:
    """Return rows of OVERLAP_COLUMNS: how much of a question's content words its context has, by month and set.

    `asked` is empty for the questions themselves, whose context is the passage that they were made from; for a reader
    it is the reader's row, and the context is what was retrieved. `hits` is then the share of questions for which an
    answer was retrieved, and `exact_hit` and `exact_miss` are the exact match with and without it.
    """
    found = []
    blocks = [("", None, reader.asked), *((row.name, row, tasks) for row, tasks in reader_rows(reader))]
    for asked, row, tasks in blocks:
        named = ((UNCHANGED, tasks.unchanged), (NEW, tasks.new), (UPDATED, tasks.edited))
        for name, task in named:
            for month in reader.months if task is not None else ():
                assert task is not None
                about = reader.questions(task, month)
                if not len(about) or (about["overlap"].isna().all() and about["hit"].isna().all()):
                    continue
                where = {"study": reader.study.name, "evolving": reader.asked.name, "asked": asked}
                values: dict[str, Any] = {
                    "n": len(about),
                    "overlap": _mean(about["overlap"]),
                    "hits": _mean(about["hit"]),
                }
                right = _by_hit(None if row is None else reader.predictions(task, row, month), about)
                found.append(where | {"month": month, "set": name} | values | right)
    return found


def _by_hit(held: pd.DataFrame | None, about: pd.DataFrame) -> dict[str, float]:
    """Return the exact match of predictions with and without a hit; NaN without predictions."""
    if held is None:
        return {"exact_hit": math.nan, "exact_miss": math.nan}
    exact = held.groupby("id")["exact"].mean()
    hit = exact.index.map(about["hit"].to_dict()).to_numpy(float)
    return {"exact_hit": _mean(exact.loc[hit == 1.0]), "exact_miss": _mean(exact.loc[hit == 0.0])}


def _mean(values: Any) -> float:
    """Return the mean of the known values; NaN if none is known."""
    known = values.dropna()
    return float(known.mean()) if len(known) else math.nan
