"""What EvolvingQA adds to a report: an entry `kind: evolving` of a study's `tables`."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from ticlm.platform.analysis.numbers import share_bound
from ticlm.platform.display.parts import Headline, Part, Section, Tables
from ticlm.platform.display.text_tables import TextTable
from ticlm.platform.papers.evolvingqa import charts
from ticlm.platform.papers.evolvingqa.analyses_shown import analysis_tables
from ticlm.platform.papers.evolvingqa.answers_shown import answer_tables
from ticlm.platform.papers.evolvingqa.built_shown import built_tables
from ticlm.platform.papers.evolvingqa.compared import beside_printed
from ticlm.platform.papers.evolvingqa.difficulty.shown import difficulty_tables
from ticlm.platform.papers.evolvingqa.scores import EXACT, OUTDATED, UNCHANGED
from ticlm.platform.papers.evolvingqa.sentence import sentences
from ticlm.platform.papers.evolvingqa.settings import EvolvingRequest
from ticlm.platform.papers.evolvingqa.tables import EvolvingTables, evolving_tables
from ticlm.platform.papers.evolvingqa.writing import BOUND, blocks, bounded, percent, plus_minus

if TYPE_CHECKING:
    import pandas as pd

    from ticlm.platform.results.study_result import StudyResult

NAME = "EvolvingQA"
TITLE = "Kept, learned, and updated (EvolvingQA)"
HEADLINE = "EvolvingQA: exact match, means over the months, ± the standard error over questions."


class Evolving(EvolvingRequest, Tables):
    def part(self, study: StudyResult) -> Part:
        return self.of_all([(study, self)])

    @classmethod
    def of_all(cls, asked: Sequence[tuple[StudyResult, EvolvingRequest]]) -> Part:
        found = evolving_tables(asked)
        studies = {study.name: [method.name for method in study.methods] for study, _ in asked}
        headline = tuple(_headline(found.scores))
        bars = tuple(chart for study, methods in studies.items() for chart in charts.bars(found, study, methods))
        gradients = tuple(chart for study in studies for chart in charts.gradients(found, study))
        sections = (
            Section("evolving", TITLE, tuple(_tables(found)), bars, short=NAME),
            Section("gradients", "Gradients of single texts (EvolvingQA)", charts=gradients, short="Gradients"),
        )
        return Part(
            NAME,
            # without the texts behind the gradients, of which there may be a hundred thousand
            frames={f"evolving_{name}": frame for name, frame in found.files().items() if name != "points"},
            sections=tuple(one for one in sections if one.tables or one.charts),
            sentences=tuple(sentences(found)),
            headline=headline,
            headline_notes=(HEADLINE, *[BOUND] * any(math.isfinite(one.high) for one in headline)),
            missing=found.missing,
            printed=(partial(beside_printed, asked, found),),
        )


def _tables(found: EvolvingTables) -> Iterator[TextTable]:
    """Yield the tables of each block of each study, and after those of a study how its sets were built."""
    asked = blocks([found.scores, found.preferred, found.time_prompt, found.gradients])
    several = len({study for study, _ in asked}) > 1
    for study in dict.fromkeys([*(study for study, _ in asked), *map(str, found.sizes["study"])]):
        for block in (name for of, name in asked if of == study):
            heading = f"{block} ({study})" if several else block
            yield from (replace(table, heading=heading) for table in _of_block(found, study, block))
        own = built_tables(*(frame[frame["study"] == study] for frame in (found.sizes, found.steps, found.counts)))
        heading = f"How the sets of {study} were built" if several else "How the sets were built"
        yield from (replace(table, heading=heading) for table in own)


def _of_block(found: EvolvingTables, study: str, block: str) -> Iterator[TextTable]:
    def own(frames: Sequence[pd.DataFrame]) -> list[pd.DataFrame]:
        return [frame[(frame["study"] == study) & (frame["evolving"] == block)] for frame in frames]

    yield from answer_tables(*own([found.scores, found.differences, found.gains, found.preferred, found.time_prompt]))
    yield from analysis_tables(*own([found.categories, found.leakage, found.answered, found.overlaps, found.gradients]))
    yield from difficulty_tables(*own([found.difficulty, found.difficulty_effects]))


def _headline(scores: pd.DataFrame) -> Iterator[Headline]:
    """Yield the means over months of the exact match on each set.

    The questions of UNCHANGED are the same in every month, so that more months make its error no smaller, nor the bound
    of a share that is 0 or 1. The bound of the others is that of as many questions in each month as in the least.
    """
    exact = scores[scores["metric"] == EXACT]
    for (study, block, name), held in exact.groupby(["study", "evolving", "set"], sort=False):
        months = held["month"].nunique()
        for row, mine in held.groupby("row", sort=False):
            errors = mine["stderr"].astype(float)
            error = errors.mean() if name == UNCHANGED else math.sqrt((errors**2).sum(skipna=False)) / len(mine)
            value = float(mine["value"].mean())
            bound = share_bound(value, int(mine["n"].min()) * (1 if name == UNCHANGED else len(mine)))
            low, high = (math.nan, math.nan) if bound is None else (min(bound, value), max(bound, value))
            yield Headline(
                study=str(study),
                row=str(row),
                method=str(mine["method"].iloc[0]),
                block=str(block),
                part=str(name),
                group=f"{'' if block == 'evolving' else f'{block}, '}exact match, %",
                value=value,
                text=percent(value),
                under=plus_minus(float(error)) if bound is None else bounded(value, bound),
                metric=EXACT,
                higher_is_better=name != OUTDATED,
                stderr=float(error),
                low=low,
                high=high,
                complete=len(mine) == months,
            )
