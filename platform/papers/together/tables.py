"""The tables of all benchmarks of a report, those of TemporalWiki, and the facts that several of them ask for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

from ticlm.platform.papers.ckl.study_fuar import FuarTables
from ticlm.platform.papers.evolvingqa.tables import EvolvingTables
from ticlm.platform.papers.temporalwiki import pair_differences, pairs
from ticlm.platform.papers.together import matched, overview
from ticlm.platform.results.study_result import StudyResult, as_frame

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class BenchmarkTables:
    """The frames, each with the columns that its module states, and what is missing in them."""

    overview: pd.DataFrame
    """Empty unless the report has two benchmarks (overview.PAGES)."""
    pairs: pd.DataFrame
    pair_means: pd.DataFrame
    pair_differences: pd.DataFrame
    facts: pd.DataFrame
    """Where two tasks ask for the same facts (matched.COLUMNS)."""
    missing: tuple[str, ...] = ()

    def files(self) -> dict[str, pd.DataFrame]:
        """Return the frames that have rows, by name."""
        frames = {one.name: getattr(self, one.name) for one in fields(self) if one.name != "missing"}
        return {name: frame for name, frame in frames.items() if len(frame)}


def benchmark_tables(
    results: Sequence[StudyResult], summary: pd.DataFrame, fuar: FuarTables, evolving: EvolvingTables
) -> BenchmarkTables:
    """Return the tables of these studies, from the summary and the tables of the other benchmarks."""
    found: dict[str, list[dict[str, Any]]] = {name: [] for name in _COLUMNS}
    missing: list[str] = []
    for study in results:
        for reader in pairs.readers(study):
            rows, means, lost = pairs.pairs(reader)
            found["pairs"] += rows
            found["pair_means"] += means
            missing += lost if rows else [f"{reader.asked.name}: has no scores yet"]
            found["pair_differences"] += pair_differences.pair_differences(reader)
        found["facts"] += matched.matched(study)
    means_frame = as_frame(found["pair_means"], pairs.MEAN_COLUMNS)
    whole = overview.overview(results, summary, fuar, evolving, means_frame)
    if len(overview.kinds(whole)) > 1:
        found["overview"] = whole
        missing += overview.missing(results, whole)
    frames = {name: as_frame(rows, _COLUMNS[name]) for name, rows in found.items()}
    return BenchmarkTables(**frames, missing=tuple(missing))


_COLUMNS = {
    "overview": overview.COLUMNS,
    "pairs": pairs.COLUMNS,
    "pair_means": pairs.MEAN_COLUMNS,
    "pair_differences": pair_differences.COLUMNS,
    "facts": matched.COLUMNS,
}
