"""What TemporalWiki adds to a report: an entry `kind: temporalwiki` of a study's `tables`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ticlm.platform.analysis.metrics import number
from ticlm.platform.display.parts import Headline, Part, Section, Tables
from ticlm.platform.display.text_tables import TextTable
from ticlm.platform.papers.temporalwiki import pair_differences, pairs
from ticlm.platform.papers.temporalwiki.pairs_shown import error, measure, pair_tables
from ticlm.platform.papers.temporalwiki.sentence import sentences
from ticlm.platform.papers.temporalwiki.settings import PairsRequest
from ticlm.platform.results.study_result import as_frame

if TYPE_CHECKING:
    import pandas as pd

    from ticlm.platform.results.study_result import StudyResult

NAME = "TemporalWiki"
HEADLINE = (
    "TemporalWiki: facts that did not change (Un.), that did (C.), and the mean of the two (Avg.); means over the "
    "months, ± the standard error over facts."
)
MATRICES = (
    "How each checkpoint does on the facts of every month stands among the matrices, under the names of the tasks: "
    "what it keeps of earlier months is stability, what it knows of its own month plasticity."
)


class FactPairs(PairsRequest, Tables):
    def part(self, study: StudyResult) -> Part:
        return self.of_all([(study, self)])

    def number_of(self, study: StudyResult, method: str, seed: int, part: str = "") -> float:
        """Return by how much Un., C. or Avg. of a run is above that of its first model, in nats of perplexities; NaN
        if a score is missing."""
        return pairs.change(pairs.PairReader(study, self), method, seed, part)

    @classmethod
    def of_all(cls, asked: Sequence[tuple[StudyResult, PairsRequest]]) -> Part:
        rows: list[dict[str, Any]] = []
        means: list[dict[str, Any]] = []
        apart: list[dict[str, Any]] = []
        missing: list[str] = []
        for study, one in asked:
            reader = pairs.PairReader(study, one)
            own, over_months, lost = pairs.pairs(reader)
            rows += own
            means += over_months
            missing += lost if own else [f"{one.name}: has no scores yet"]
            apart += pair_differences.pair_differences(reader)
        frames = {
            "benchmarks_pairs": as_frame(rows, pairs.COLUMNS),
            "benchmarks_pair_means": as_frame(means, pairs.MEAN_COLUMNS),
            "benchmarks_pair_differences": as_frame(apart, pair_differences.COLUMNS),
        }
        tables = tuple(_tables(*frames.values()))
        return Part(
            NAME,
            frames=frames,
            sections=(Section("temporalwiki", NAME, tables, for_matrices=MATRICES),) if tables else (),
            sentences=tuple(sentences(frames["benchmarks_pair_means"])),
            headline=tuple(_headline(frames["benchmarks_pair_means"])),
            headline_notes=(HEADLINE,),
            missing=tuple(missing),
        )


def _tables(rows: pd.DataFrame, means: pd.DataFrame, apart: pd.DataFrame) -> Iterator[TextTable]:
    """Yield the tables of each block of each study, under the name of the block where there are several."""
    keys = list(dict.fromkeys(zip(rows["study"], rows["temporalwiki"])))
    several = len({study for study, _ in keys}) > 1
    for study, block in keys:
        own = [one[(one["study"] == study) & (one["temporalwiki"] == block)] for one in (rows, means, apart)]
        heading = f"{block} ({study})" if several else str(block)
        for table in pair_tables(*own):
            yield replace(table, heading=heading if len(keys) > 1 else "")


def _headline(means: pd.DataFrame) -> Iterator[Headline]:
    """Yield the means over months, in the metric by which the tasks are compared."""
    for (_, block), held in means.groupby(["study", "temporalwiki"], sort=False):
        for row in held[held["metric"] == held["metric"].iloc[0]].to_dict("records"):
            yield Headline(
                study=row["study"],
                row=row["row"],
                method=row["method"],
                block=str(block),
                part=row["part"],
                group=f"{'' if block == 'temporalwiki' else f'{block}, '}{measure(row['metric'])}",
                value=row["value"],
                text=number(row["value"], row["metric"]),
                under=error(row),
                metric=row["metric"],
                higher_is_better=row["higher_is_better"],
                std=row["std"],
                stderr=row["stderr"],
                complete=row["complete"],
            )
