"""One report: its studies, and all that its page, its files, its table and its JSON are made from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

from ticlm.platform.analysis.conventions import Preset, named
from ticlm.platform.analysis.matrix import View, views
from ticlm.platform.report.request import ReportRequest
from ticlm.platform.results.study_result import StudyResult

if TYPE_CHECKING:
    import pandas as pd
    from ticlm.platform.papers.together.tables import BenchmarkTables

    from ticlm.platform.analysis.contamination import Contamination
    from ticlm.platform.display.answer import Answer
    from ticlm.platform.papers.ckl.study_fuar import FuarTables
    from ticlm.platform.papers.evolvingqa.tables import EvolvingTables


@dataclass(frozen=True)
class Report:
    """Studies side by side. Each part below is computed when it is first asked for, and once."""

    results: Sequence[StudyResult]
    preset: Preset = field(default_factory=named)
    request: ReportRequest | None = None
    """How the report was asked for."""

    @cached_property
    def views(self) -> list[tuple[View, ...]]:
        """The views of each study."""
        return [views(study) for study in self.results]

    @cached_property
    def summary(self) -> pd.DataFrame:
        """One row per study, method, task and source (analysis/summary.py)."""
        from ticlm.platform.analysis.summary import summarize

        return summarize(self.results, self.preset)

    @cached_property
    def differences(self) -> pd.DataFrame:
        """The differences between methods, with intervals (analysis/paired_bootstrap.py)."""
        from ticlm.platform.analysis.paired_bootstrap import differences

        return differences(self.results, self.preset)

    @cached_property
    def answers(self) -> list[Answer]:
        """A sentence for each study that says who won, by how much, at what cost."""
        from ticlm.platform.display.answer import answers
        from ticlm.platform.papers.ckl.page import with_fuar
        from ticlm.platform.papers.temporalwiki.sentence import with_pairs
        from ticlm.platform.report.evolving.sentence import with_evolving

        own = with_fuar(answers(self.results, self.summary, self.differences), self.fuar)
        return with_pairs(with_evolving(own, self.evolving), self.benchmarks)

    @cached_property
    def fuar(self) -> FuarTables:
        """The FUARs that the studies ask for, and the scores that they are made of (analysis/probes)."""
        from ticlm.platform.papers.ckl.study_fuar import fuar_tables

        return fuar_tables(self.results)

    @cached_property
    def evolving(self) -> EvolvingTables:
        """The tables of EvolvingQA that the studies ask for (analysis/evolving)."""
        from ticlm.platform.papers.evolvingqa.tables import evolving_tables

        return evolving_tables(self.results)

    @cached_property
    def benchmarks(self) -> BenchmarkTables:
        """The headline numbers of all benchmarks, the tables of TemporalWiki, and facts that several benchmarks ask for
        (analysis/benchmarks)."""
        from ticlm.platform.papers.together.tables import benchmark_tables

        return benchmark_tables(self.results, self.summary, self.fuar, self.evolving)

    @cached_property
    def contaminations(self) -> list[tuple[Contamination, ...]]:
        """For each study: its tasks that were scored on a held-out split and on the cleaned copy of it."""
        from ticlm.platform.analysis.contamination import contamination

        return [tuple(contamination(of)) for of in self.views]

    @cached_property
    def missing(self) -> list[str]:
        """Lines about what is missing."""
        from ticlm.platform.analysis.missing import missing
        from ticlm.platform.papers.ckl.page import missing_lines

        lines = [*missing(self.results, self.preset, self.views), *missing_lines(self.fuar)]
        return [*lines, *self.evolving.missing, *self.benchmarks.missing]

    @cached_property
    def paper(self) -> pd.DataFrame | None:
        """The numbers that TiC-LM prints beside those of the report, if they were asked for."""
        from ticlm.platform.papers.tic_lm.printed import compared

        return compared(self.summary, self.results) if self.request is not None and self.request.paper else None
