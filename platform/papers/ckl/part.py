"""What CKL adds to a report: FUARs and scores of probes, in entries `kind: fuar` and `kind: probes` of `tables`."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING

from ticlm.platform.analysis.numbers import signed
from ticlm.platform.display.parts import Headline, Part, Section, Tables
from ticlm.platform.papers.ckl import probes_shown, shown
from ticlm.platform.papers.ckl.compared import beside_printed
from ticlm.platform.papers.ckl.probes import probe_table
from ticlm.platform.papers.ckl.settings import FuarRequest, ProbesRequest
from ticlm.platform.papers.ckl.study_fuar import NO_GAIN, fuar_tables, last_fuar

if TYPE_CHECKING:
    import pandas as pd

    from ticlm.platform.results.study_result import StudyResult

NAME = "FUAR"
TITLE = "Forgotten for what was gained (FUAR)"
PROBES = "What probes know, after each epoch and at the end"
HEADLINE = "FUAR: what was forgotten over what was gained, at the last checkpoint; in brackets the 95 % interval."


class Fuar(FuarRequest, Tables):
    def part(self, study: StudyResult) -> Part:
        return self.of_all([(study, self)])

    @classmethod
    def of_all(cls, asked: Sequence[tuple[StudyResult, FuarRequest]]) -> Part:
        found = fuar_tables(asked)
        section = Section("fuar", TITLE, tuple(shown.tables(found)), short=NAME)
        return Part(
            NAME,
            frames={"fuar": found.rows, "fuar_scores": found.scores},
            sections=(section,) if section.tables else (),
            sentences=tuple(shown.sentences(found)),
            headline=tuple(_headline(found.rows)),
            headline_notes=(HEADLINE,),
            missing=tuple(shown.missing_lines(found)),
            printed=(partial(beside_printed, asked),),
        )

    def number_of(self, study: StudyResult, method: str, seed: int, part: str = "") -> float:
        """Return the FUAR of a run at its last checkpoint; NaN if a score is missing, or nothing was gained."""
        value = last_fuar(study, self, method, seed)
        return value if math.isfinite(value) else math.nan


class Probes(ProbesRequest, Tables):
    def part(self, study: StudyResult) -> Part:
        return self.of_all([(study, self)])

    @classmethod
    def of_all(cls, asked: Sequence[tuple[StudyResult, ProbesRequest]]) -> Part:
        found = probe_table(asked)
        tables, charts = tuple(probes_shown.tables(found)), tuple(probes_shown.charts(found))
        section = Section(
            "probes", PROBES, tables, charts, tuple(probes_shown.notes(found)), "Probes", on_terminal=False
        )
        return Part("Probes", {"probes": found}, (section,) * bool(tables), counts_as_benchmark=False)


def _headline(rows: pd.DataFrame) -> Iterator[Headline]:
    """Yield the FUAR of each of a study's FUARs and methods at its last checkpoint."""
    for row in rows.drop_duplicates(["study", "fuar", "method"], keep="last").to_dict("records"):
        value, low, high = row["value"], row["low"], row["high"]
        until = NO_GAIN if math.isnan(high) else signed(high, shown.DIGITS)
        yield Headline(
            study=row["study"],
            row=row["method"],
            block=row["fuar"],
            part=NAME,
            heading=row["fuar"],
            value=value,
            text=NO_GAIN if row["reason"] == NO_GAIN else signed(value, shown.DIGITS),
            under=f"{signed(low, shown.DIGITS)} to {until}" if math.isfinite(low) else "",
            metric=row["metric"],
            higher_is_better=False,
            std=row["std"],
            low=low,
            high=high,
            trained=row["trained"],
            complete=row["reason"] == "",
            reason=row["reason"],
        )
