"""What a report says of the methods of two studies together: a sentence, and a table of differences."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ticlm.platform.analysis.across.differences import AcrossStudies
from ticlm.platform.analysis.across.equal_rows import EqualRows
from ticlm.platform.analysis.conventions import Preset
from ticlm.platform.analysis.metrics import quantity
from ticlm.platform.analysis.numbers import HEADINGS, signed
from ticlm.platform.display.answer import Answer
from ticlm.platform.display.gaps import MethodDifference, Numbers
from ticlm.platform.display.parts import Section
from ticlm.platform.display.text_tables import TextCell, TextLine, TextTable
from ticlm.platform.display.words import PLACES, title, unit

if TYPE_CHECKING:
    import pandas as pd

SENTENCES = 3
"""Most pairs of studies that get a sentence: three studies have three pairs."""
TITLE = "Across studies"


@dataclass(frozen=True)
class StudyPair:
    """A task that two studies measured alike, and their best methods by the first mean that both have."""

    rows: EqualRows
    mean: str
    best: tuple[str, str]
    """`study/method` of each study, by raw values over the common cells."""
    numbers: Numbers


def compared(found: AcrossStudies, preset: Preset, summary: pd.DataFrame) -> list[StudyPair]:
    """Return the first task that each two studies can be compared by, with their best methods."""
    made: dict[tuple[str, str], StudyPair] = {}
    for rows in found.alike:
        names = rows.views[0].study.name, rows.views[1].study.name
        if names in made:
            continue
        for mean in HEADINGS:
            apart = found.frame[found.frame["task"] == rows.task]
            known = {*apart["method_a"], *apart["method_b"]}  # of many methods, the leaders of each study
            best = [_best(rows, side, mean, preset, known) for side in (0, 1)]
            if best[0] and best[1]:
                own = summary[summary["study"].isin(names) & (summary["task"] == rows.task) & (summary["source"] == "")]
                by_method = own.set_index(own["study"] + "/" + own["method"])
                numbers = Numbers(rows.views[0].study, rows.task, by_method, apart, relative=False)
                made[names] = StudyPair(rows, mean, (best[0], best[1]), numbers)
                break
    return list(made.values())


def sentences(pairs: Sequence[StudyPair]) -> list[Answer]:
    """Return a sentence for each two studies that says whose best method is better, on the same rows."""
    tasks = [one.rows.task for one in pairs]
    return [Answer(_sentence(one, title(one.rows.task, tasks)), "") for one in pairs[:SENTENCES]]


def section(pairs: Sequence[StudyPair]) -> Section | None:
    """Return the differences between the best method of each study and all methods of the other; None without any."""
    if not pairs:
        return None
    return Section("across", TITLE, tuple(map(_table, pairs)), notes=(NOTE,))


NOTE = (
    "A − B in raw values on the same held-out rows, also where the studies report regret, since their references may "
    "differ. In brackets: the 95 % interval (paired bootstrap over the evaluated periods, not over seeds or first "
    "models, so a part of a difference may be that of the studies' first models); bold: it leaves out zero. "
    "All pairs are in differences.csv."
)


def _best(rows: EqualRows, side: int, mean: str, preset: Preset, known: Set[str]) -> str:
    """Return the continual method of a study with the best mean over the common cells, of those `known` to be compared;
    empty if none has all."""
    view, mask = rows.views[side], rows.mask(mean, preset)
    if not mask.any():
        return ""
    sign = -1.0 if view.metric.higher_is_better else 1.0
    costs = {
        name: sign * float(rows.values(side, one)[mask].mean())
        for one in view.methods
        if one.method.is_run and (name := f"{view.study.name}/{one.method.name}") in known
    }
    return min((name for name, cost in costs.items() if np.isfinite(cost)), key=costs.__getitem__, default="")


def _sentence(one: StudyPair, task: str) -> str:
    numbers, (a, b) = one.numbers, one.best
    gap = numbers.gap(a, b, one.mean)
    better, worse = (a, b) if gap.size >= 0 else (b, a)
    where = f"{PLACES[one.mean]} ({HEADINGS[one.mean]})"
    same = f"{task}, the same rows{_partly(one.rows)}"
    if gap.size == 0 and gap.low == gap.high == 0:
        return f"Across studies ({same}): {a} and {b}, the best of each on {where}, have equal values there."
    measure = f"{numbers.text(gap.size)} {unit(one.rows.views[0].metric, True)}".rstrip()
    if not gap.is_open:
        told = f"{better} is {measure} better than {worse} on {where} {numbers.interval(gap)}"
    else:
        told = f"{better} cannot be told apart from {worse} on {where}: it is {measure} better {numbers.interval(gap)}"
    return f"Across studies ({same}): {told}{numbers.price(better, worse)}{_new_text(one, better, worse)}."


def _partly(rows: EqualRows) -> str:
    """Say over how many periods and checkpoints two studies are compared, if not over all."""
    told = [f"in {len(rows.evaluated)} of {rows.shared} periods"] * (len(rows.evaluated) < rows.shared)
    if not rows.evaluated == rows.views[0].evaluated == rows.views[1].evaluated and not told:
        told = [f"in the {len(rows.evaluated)} periods that both evaluate"]
    every = [len(view.study.checkpoints) for view in rows.views]
    told += [f"at the {len(rows.trained)} checkpoints that both have"] * (len(rows.trained) < max(every))
    return f" {' and '.join(told)}" if told else ""


def _new_text(one: StudyPair, better: str, worse: str) -> str:
    gap = one.numbers.gap(better, worse, "in_distribution")
    if one.mean == "in_distribution" or math.isnan(gap.size):
        return ""
    if gap.is_open:
        return f"; on new text (ID) they cannot be told apart {one.numbers.interval(gap)}"
    measure = one.numbers.measure(gap)
    return f"; on new text (ID) it is {measure} {'better' if gap.size > 0 else 'worse'} {one.numbers.interval(gap)}"


def _table(one: StudyPair) -> TextTable:
    names = [view.study.name for view in one.rows.views]
    counted = unit(one.rows.views[0].metric, True)
    return TextTable(
        f"{names[0]} − {names[1]}, {title(one.rows.task, [one.rows.task])}{f', {counted}' if counted else ''}",
        ("A", "B"),
        tuple(HEADINGS.values()),
        tuple(_lines(one)),
        main=True,
    )


def _lines(one: StudyPair) -> Iterator[TextLine]:
    apart, what = one.numbers.apart, quantity(one.rows.views[0].metric)
    sides = [f"{view.study.name}/" for view in one.rows.views]
    mine = apart["method_a"].str.startswith(sides[0]) & apart["method_b"].str.startswith(sides[1])
    own = apart[mine & (apart["method_a"].isin(one.best) | apart["method_b"].isin(one.best))]
    for (a, b), rows in own.groupby(["method_a", "method_b"], sort=False):
        cells = []
        for mean in HEADINGS:
            values = what.scale * rows.loc[rows["mean"] == mean, ["difference", "low", "high"]].to_numpy(float)[0]
            gap = MethodDifference(*map(float, values))
            text, low, high = (signed(value, what.digits) for value in values)
            hint = f"{int(rows.loc[rows['mean'] == mean, 'cells'].iloc[0])} cells"
            cells.append(TextCell(text, f"{low} to {high}" if gap.is_known else "", gap.is_certain, hint=hint))
        yield TextLine((str(a), str(b)), tuple(cells))
