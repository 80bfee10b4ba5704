"""Tables of FUAR (CKL, equation 1), and what the answer at the top of a report says of it."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from ticlm.platform.analysis.metrics import quantity
from ticlm.platform.analysis.numbers import signed
from ticlm.platform.display.text_tables import Row, TextCell, TextLine, TextTable, records
from ticlm.platform.display.words import over_seeds, period
from ticlm.platform.papers.ckl.study_fuar import MISSING, NO_GAIN, FuarTables
from ticlm.platform.results.study_result import TaskMetric

if TYPE_CHECKING:
    import pandas as pd

DIGITS = 2
"""Decimals of scores and of FUAR, as CKL prints them."""
ROUND = 8
"""Characters of a round's id that a table shows."""
MEANING = (
    "FUAR is what was forgotten over what was gained (updated and learned), both in points of score: lower is better, "
    "0 is no forgetting, and no gain is the worst case. Below it is its 95 % interval over probes."
)
INTERVALS = {
    "paired bootstrap": "from a paired bootstrap over probes",
    "binomial": "from right answers drawn anew for each checkpoint, which is wider than from paired probes",
    "normal": "from the scores' standard errors, drawn anew for each checkpoint",
}


def tables(found: FuarTables) -> list[TextTable]:
    """Return a table for each FUAR of each study."""
    made = []
    for (study, name), rows in found.rows.groupby(["study", "fuar"], sort=False):
        several = found.rows["study"].nunique() > 1
        scores = found.scores[(found.scores["study"] == study) & (found.scores["fuar"] == name)]
        title = f"{name} ({study})" if several else str(name)
        is_chain = rows.duplicated("method").any()
        listed = records(rows)
        columns, lines = _over_time(listed) if is_chain else _at_the_end(listed, scores)
        metric = quantity(TaskMetric(str(rows["metric"].iloc[0]))).titled
        notes = tuple(_notes(listed))
        made.append(TextTable(f"{title}: {metric}", ("Method",), columns, tuple(lines), notes, main=True))
    return made


def missing_lines(found: FuarTables) -> list[str]:
    """Return a line for each FUAR that has no value, because a score is missing or nothing is asked of its period."""
    rows = found.rows[(found.rows["reason"] != "") & (found.rows["reason"] != NO_GAIN)]
    several = found.rows["study"].nunique() > 1
    return [
        f"{f'{study}, ' if several else ''}FUAR {name}, {method} at {period(trained)}: {reason.removeprefix(MISSING)}"
        for study, name, method, trained, reason in zip(
            *(rows[column] for column in ("study", "fuar", "method", "trained", "reason"))
        )
    ]


def sentences(found: FuarTables) -> Iterator[tuple[str, str]]:
    """Yield (study, sentence) for each FUAR that has a value."""
    for (study, name), rows in found.rows.groupby(["study", "fuar"], sort=False):
        if told := _sentence(str(name), rows.drop_duplicates("method", keep="last")):
            yield str(study), told


def _sentence(name: str, rows: pd.DataFrame) -> str:
    """Say which method has the lowest FUAR at its last checkpoint; empty if none has a value."""
    known = rows[rows["value"].notna()].sort_values("value", kind="stable").to_dict("records")
    if not known:
        return ""
    best, *others = known
    text = f"{best['method']} has a FUAR ({name}) of {_interval_text(best)}"
    equal = [best["method"], *(row["method"] for row in others if row["value"] == best["value"])]
    if len(equal) > 1:
        text = f"{', '.join(equal[:-1])} and {equal[-1]} have the lowest FUAR ({name}), {signed(best['value'], DIGITS)}"
    elif others:
        text = f"{best['method']} has the lowest FUAR ({name}), {_interval_text(best)}"
        text += f"; {others[0]['method']} is next with {_interval_text(others[0])}"
    lost = ", ".join(map(str, rows.loc[rows["reason"] == NO_GAIN, "method"]))
    return f"{text}; no gain: {lost}." if lost else f"{text}."


def _interval_text(row: Any) -> str:
    around = _around(row)
    return signed(row["value"], DIGITS) + (f" (95 %: {around})" if around else "")


def _around(row: Row) -> str:
    """Return the interval of a value; empty if there is none."""
    if math.isnan(row["low"]):
        return ""
    return f"{signed(row['low'], DIGITS)} to {NO_GAIN if math.isnan(row['high']) else signed(row['high'], DIGITS)}"


def _at_the_end(rows: Sequence[Row], scores: pd.DataFrame) -> tuple[tuple[str, ...], list[TextLine]]:
    """Return a column for each probe set, the FUAR with its numerator and denominator, and the base; before them the
    learning rate, if methods differ in it (CKL, Table 7)."""
    scale = quantity(TaskMetric(rows[0]["metric"])).scale
    sets = list(dict.fromkeys(zip(scores["role"], scores["score"], scores["before"])))
    known = {
        (method, role, score, before): (a, b, n)
        for method, role, score, before, a, b, n in zip(
            *(scores[c] for c in ("method", "role", "score", "before", "score_before", "score_after", "n"))
        )
    }
    by_rate = len({row["rate"] for row in rows if math.isfinite(row["rate"])}) > 1
    lines = []
    for row in rows:
        cells = []
        for one in sets:
            a, b, n = known.get((row["method"], *one), (math.nan, math.nan, 0))
            cells.append(
                TextCell(f"{signed(scale * a, DIGITS)} → {signed(scale * b, DIGITS)}", f"{n:,} probes" * bool(n))
            )
        sums = (TextCell(signed(scale * row[name], DIGITS)) for name in ("numerator", "denominator"))
        base = TextCell(period(row["base"]), " ".join(one[:ROUND] for one in row["base_round"].split()))
        rate = [TextCell(f"{row['rate']:.3g}" if math.isfinite(row["rate"]) else "–")] * by_rate
        lines.append(TextLine((row["method"],), (*rate, *cells, _value(row, rows), *sums, base)))
    bases = {before for *_, before in sets}
    named = tuple(
        f"{role}: {_shown(score)}" + (f", since {period(before)}" if len(bases) > 1 else "")
        for role, score, before in sets
    )
    return (*["peak rate"] * by_rate, *named, "FUAR", "forgotten", "gained", "base"), lines


def _over_time(rows: Sequence[Row]) -> tuple[tuple[str, ...], list[TextLine]]:
    """Return a column for each checkpoint."""
    labels = list(dict.fromkeys(row["trained"] for row in rows))
    by_place = {(row["method"], row["trained"]): row for row in rows}
    lines = []
    for method in dict.fromkeys(row["method"] for row in rows):
        found = [by_place.get((method, label)) for label in labels]
        rivals = [[row for row in rows if row["trained"] == label] for label in labels]
        cells = [TextCell("–") if row is None else _value(row, others) for row, others in zip(found, rivals)]
        lines.append(TextLine((method,), tuple(cells)))
    return tuple(map(period, labels)), lines


def _value(row: Row, rivals: Sequence[Row]) -> TextCell:
    if row["reason"] == NO_GAIN:
        return TextCell(NO_GAIN)
    deviation = "" if math.isnan(row["std"]) else f"± {signed(row['std'], DIGITS)}"
    known = [one["value"] for one in rivals if not math.isnan(one["value"])]
    best = len(known) > 1 and row["value"] == min(known)
    return TextCell(signed(row["value"], DIGITS), ", ".join(filter(None, (_around(row), deviation))), best)


def _notes(rows: Sequence[Row]) -> Iterator[str]:
    yield MEANING
    if kinds := [INTERVALS[kind] for kind in dict.fromkeys(row["interval"] for row in rows) if kind]:
        yield f"Intervals are {'; or '.join(kinds)}."
    if several := [(row["method"], row["first_models"]) for row in rows if row["seeds"] > 1]:
        yield "FUAR is taken over the means of the seeds; after ± is the deviation of the values of single seeds."
        yield over_seeds(several)
    for row in rows:
        if row["reason"] not in ("", NO_GAIN):
            yield f"{row['method']} at {period(row['trained'])}: {row['reason']}."


def _shown(score: str) -> str:
    """Return the name of a score without the version of its task."""
    task, slash, rest = score.partition("/")
    return f"{task.partition('@')[0]}{slash}{rest}"
