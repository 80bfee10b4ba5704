"""The tables that look for reasons: categories of answers (Figure 6), answers that stand in their questions (Figure 7),
words that questions share with their contexts (section 4.3), and gradients (Figures 5 and 10)."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from ticlm.platform.analysis.numbers import signed
from ticlm.platform.display.text_tables import Row, TextCell, TextLine, TextTable, records
from ticlm.platform.display.words import period
from ticlm.platform.papers.evolvingqa.writing import BOUND, percent, pivoted, uncertain
from ticlm.platform.results.answer_categories import CATEGORIES, NOTE

if TYPE_CHECKING:
    import pandas as pd

LEAKAGE = (
    "What INITIAL answers without having seen the month. The last column is its exact match on the questions in which "
    "the answer does not stand."
)
OVERLAP = (
    "The share of a question's content words that stand in the passage it was made from; for a reader, in the text "
    "that was retrieved. Below it: the share of questions for which an answer was retrieved, and the exact match with "
    "and without one."
)
GRADIENTS = (
    "The norm of the gradient of single texts at the checkpoint before the month, and the sum of the norms of its "
    "tensors. A text with more masked entities has another norm, so EDITED is also compared with texts of NEW that "
    "have as many (matched). p: two-sided, Mann–Whitney, and van Elteren's test within strata of equal numbers."
)


def analysis_tables(
    categories: pd.DataFrame,
    leaked: pd.DataFrame,
    answered: pd.DataFrame,
    overlaps: pd.DataFrame,
    gradients: pd.DataFrame,
) -> Iterator[TextTable]:
    """Yield the tables of one block of one study, from the frames of `tables` about it."""
    if len(categories):
        yield _categories(records(categories))
    if len(leaked):
        yield _leaked(records(leaked))
    if len(answered):
        yield _answered(records(answered))
    if len(overlaps):
        yield _overlaps(records(overlaps))
    if len(gradients):
        yield _gradients(records(gradients))


def _categories(rows: Sequence[Row]) -> TextTable:
    order, first = list(CATEGORIES), list(dict.fromkeys((row["row"], row["set"]) for row in rows))
    ordered = sorted(rows, key=lambda row: (first.index((row["row"], row["set"])), order.index(row["category"])))

    def cell(row: Row) -> TextCell:
        parts = uncertain(row["value"], row["stderr"], row["n"]), f"n {row['n']:,}"
        return TextCell(percent(row["value"]), ", ".join(filter(None, parts)))

    months, lines = pivoted(ordered, ("row", "set", "category"), "month", cell)
    names, columns = ("Method", "Set", "Category"), tuple(map(period, months))
    return TextTable("Exact match by category of the answer, %", names, columns, lines, (NOTE, BOUND))


def _leaked(rows: Sequence[Row]) -> TextTable:
    lines = tuple(
        TextLine(
            (row["set"], period(row["month"]), row["row"]),
            (
                TextCell(f"{row['n']:,}"),
                TextCell(f"{row['in_question']:,}", f"{percent(row['in_question'] / row['n'])} %"),
                TextCell(f"{row['right']:,}", f"{percent(row['exact'])} %"),
                TextCell(f"{row['right_in_question']:,}", f"{percent(row['share'])} %" if row["right"] else ""),
                TextCell(percent(row["exact_without"])),
            ),
        )
        for row in rows
    )
    columns = ("questions", "with their answer", "right", "of these with their answer", "exact match without, %")
    return TextTable("Answers that stand in their questions", ("Set", "Month", "Method"), columns, lines, (LEAKAGE,))


def _answered(rows: Sequence[Row]) -> TextTable:
    lines = tuple(
        TextLine(
            (row["set"], period(row["month"])),
            (
                TextCell(str(row["question"])),
                TextCell(str(row["answer"])),
                TextCell(str(row["prediction"])),
                TextCell("yes" if row["in_question"] else "no"),
            ),
        )
        for row in rows
    )
    columns = ("question", "answer", "prediction", "stands in it")
    return TextTable("Some that INITIAL answers", ("Set", "Month"), columns, lines, prose=True)


def _overlaps(rows: Sequence[Row]) -> TextTable:
    def cell(row: Row) -> TextCell:
        under = f"hits {percent(row['hits'])} %" if math.isfinite(row["hits"]) else ""
        if math.isfinite(row["exact_hit"]) or math.isfinite(row["exact_miss"]):
            under += f", right {percent(row['exact_hit'])} and {percent(row['exact_miss'])} %"
        return TextCell(percent(row["overlap"]), under)

    shown = [dict(row) | {"asked": row["asked"] or "questions"} for row in rows]
    months, lines = pivoted(shown, ("asked", "set"), "month", cell)
    columns = tuple(map(period, months))
    return TextTable("Words that questions share with their contexts, %", ("Asked", "Set"), columns, lines, (OVERLAP,))


def _gradients(rows: Sequence[Row]) -> TextTable:
    lines = tuple(
        TextLine(
            (row["measure"], period(row["month"]), row["row"]),
            (
                TextCell(signed(row["new"]), f"{row['n_new']:,} texts"),
                TextCell(signed(row["edited"]), f"{row['n_edited']:,} texts"),
                TextCell(signed(row["difference"], plus=True), f"p {_p(row['p'])}"),
                TextCell(signed(row["matched_difference"], plus=True), f"p {_p(row['matched_p'])}"),
                TextCell(f"{row['matched']:,}", f"strata: {row['strata']:,}"),
            ),
        )
        for row in rows
    )
    columns = ("NEW", "EDITED", "EDITED − NEW", "matched", "texts of EDITED matched")
    return TextTable("Gradient norms", ("Norm", "Month", "Method"), columns, lines, (GRADIENTS,))


def _p(value: float) -> str:
    return "–" if not math.isfinite(value) else f"{value:.2g}" if value >= 1e-4 else "< 0.0001"
