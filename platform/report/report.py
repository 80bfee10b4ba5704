"""One report: its studies, and all that its page, its files, its table and its JSON are made from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

from ticlm.platform.analysis.conventions import Preset, named
from ticlm.platform.analysis.matrix import View, views
from ticlm.platform.analysis.numbers import TableColumn
from ticlm.platform.display import across_studies, named_sources
from ticlm.platform.report.request import ReportRequest
from ticlm.platform.results.study_result import StudyResult

if TYPE_CHECKING:
    import pandas as pd

    from ticlm.platform.analysis.across.differences import AcrossStudies
    from ticlm.platform.analysis.contamination import Contamination
    from ticlm.platform.display.across_studies import StudyPair
    from ticlm.platform.display.answer import Answer
    from ticlm.platform.display.parts import Part, Section

REASONS = 3
"""Most lines about studies that are not compared: three studies have three pairs."""


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

        return summarize(self.results, self.preset, self.views)

    @cached_property
    def differences(self) -> pd.DataFrame:
        """The differences between methods, with intervals (analysis/paired_bootstrap.py)."""
        from ticlm.platform.analysis.paired_bootstrap import differences

        return differences(self.results, self.preset, self.views, None if self._all_pairs else self.summary)

    @cached_property
    def left_out(self) -> list[str]:
        """Lines about pairs of methods that are not compared, because there are many."""
        from ticlm.platform.analysis.paired_bootstrap import left_out

        return [] if self._all_pairs else left_out(self.views, self.summary)

    @property
    def _all_pairs(self) -> bool:
        return self.request is not None and self.request.all_pairs

    @cached_property
    def answers(self) -> list[Answer]:
        """A sentence for each study that says who won, by how much, at what cost, and those of the parts."""
        from ticlm.platform.display.answer import answers, with_sentences

        own = answers([study for study in self.results if not study.of_models], self.summary, self.differences)
        whole = with_sentences(own, [one for part in self.parts for one in part.sentences])
        return [*whole, *across_studies.sentences(self.compared)]

    @cached_property
    def across(self) -> AcrossStudies:
        """The differences between methods of two studies, where both measured the same rows (analysis/across)."""
        from ticlm.platform.analysis.across.differences import across

        return across(self.views, self.preset, self.summary)

    @property
    def not_compared(self) -> Sequence[str]:
        """Lines about studies that are not compared; of many pairs, one line: six studies have fifteen."""
        reasons = self.across.reasons
        if len(reasons) <= REASONS:
            return reasons
        return [f"{len(reasons)} pairs of studies are not compared, e.g. {reasons[0]} (--json names all)"]

    @property
    def every_difference(self) -> pd.DataFrame:
        """The differences between methods of each study, then those between studies, whose `study` is empty."""
        import pandas as pd

        found = [frame for frame in (self.differences, self.across.frame) if len(frame)]
        return pd.concat(found, ignore_index=True) if len(found) > 1 else (found or [self.differences])[0]

    @cached_property
    def compared(self) -> list[StudyPair]:
        """The best methods of each two studies."""
        return across_studies.compared(self.across, self.preset, self.summary)

    @cached_property
    def parts(self) -> list[Part]:
        """What each benchmark adds, in the order of the page (papers/together/parts.py)."""
        from ticlm.platform.display import ages, weights
        from ticlm.platform.display.age import leak
        from ticlm.platform.display.age.part import part as age
        from ticlm.platform.display.models import part as models
        from ticlm.platform.papers.tic_lm.part import part, without_periods
        from ticlm.platform.papers.together.parts import parts

        of_models = [models.part(self.results, self.views)] if len(self.trained) < len(self.results) else []
        of_models += [found] if (found := age(self.results)) else []
        if not self.trained:
            return parts(self.results, of_models)
        own = self.trained, self.summary
        aged = ages.part(self.trained, self._trained_views)
        of_vintages = [found] if (found := leak.part(self.trained)) else []
        adapted = [found] if (found := weights.part(self.trained)) else []
        return parts(self.results, [*of_models, part(*own), aged, *of_vintages], [without_periods(*own), *adapted])

    @property
    def trained(self) -> list[StudyResult]:
        """The studies whose models were trained period after period; not those of models from anywhere."""
        return [study for study in self.results if not study.of_models]

    @property
    def _trained_views(self) -> list[tuple[View, ...]]:
        return [of for study, of in zip(self.results, self.views) if not study.of_models]

    @cached_property
    def printed(self) -> tuple[Part, list[str]] | None:
        """The numbers that papers print beside ours, with lines about them; None if they were not asked for."""
        from ticlm.platform.papers.together.printed import printed

        return printed(self.parts) if self.request is not None and self.request.paper else None

    @cached_property
    def columns(self) -> list[TableColumn]:
        """What tables and charts show: every task as a whole, and its largest sources (display/named_sources.py)."""
        return named_sources.named(self._every_column, self.results)

    @property
    def other_sources(self) -> list[str]:
        """Lines about the sources that are not shown."""
        return named_sources.others(self._every_column, self.columns)

    @property
    def _every_column(self) -> list[TableColumn]:
        return list(dict.fromkeys(TableColumn(view.task, view.source) for of in self._trained_views for view in of))

    @property
    def shown_views(self) -> list[tuple[View, ...]]:
        """The views of each study that matrices and their charts show, in the order of `columns`; none of models, whose
        one checkpoint has no period."""
        place = {column: k for k, column in enumerate(self.columns)}
        shown = [() if study.of_models else of for study, of in zip(self.results, self.views)]
        by_column = [{TableColumn(view.task, view.source): view for view in of} for of in shown]
        return [tuple(of[column] for column in sorted(of.keys() & place, key=place.__getitem__)) for of in by_column]

    @property
    def sections(self) -> list[Section]:
        """The sections of all parts, and of printed numbers, if they were asked for."""
        further = [self.printed[0]] if self.printed else []
        both = across_studies.section(self.compared)
        return [*(section for part in (*self.parts, *further) for section in part.sections), *filter(None, [both])]

    @property
    def conventions(self) -> list[str]:
        """How the means are taken; empty where nothing needs to be said, as all tasks have the checkpoints' periods."""
        if not self.trained:
            return []
        same = all(list(view.evaluated) == list(view.study.checkpoints) for of in self._trained_views for view in of)
        return [] if same and self.preset == named() else self.preset.describe(self.summary["task"])

    @property
    def files(self) -> dict[str, pd.DataFrame]:
        """The frames of all parts that have rows, by the names of their files without `.csv`; and those of printed
        numbers, even empty ones, if they were asked for."""
        paper = self.printed[0].frames if self.printed else {}
        return {**paper} | {name: frame for part in self.parts for name, frame in part.files().items()}

    @cached_property
    def contaminations(self) -> list[tuple[Contamination, ...]]:
        """For each study: its tasks that were scored on a held-out split and on the cleaned copy of it."""
        from ticlm.platform.analysis.contamination import contamination

        return [tuple(contamination(of)) for of in self.shown_views]

    @cached_property
    def missing(self) -> list[str]:
        """Lines about what is missing."""
        from ticlm.platform.analysis.missing import missing

        faults = (line for one in self.sections for chart in one.charts for line in chart.faults())
        of_parts = (line for part in self.parts for line in part.missing)
        own = missing(self.results, self.preset, self.views)
        return [*own, *of_parts, *faults, *self.left_out]
