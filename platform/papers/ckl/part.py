"""What CKL adds to a report: the FUARs that studies ask for, in an entry `kind: fuar` of their `tables`."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING

from ticlm.platform.analysis.numbers import signed
from ticlm.platform.display.parts import Headline, Part, Section, Tables
from ticlm.platform.papers.ckl import shown
from ticlm.platform.papers.ckl.compared import beside_printed
from ticlm.platform.papers.ckl.settings import FuarRequest
from ticlm.platform.papers.ckl.study_fuar import NO_GAIN, fuar_tables

if TYPE_CHECKING:
    import pandas as pd

    from ticlm.platform.results.study_result import StudyResult

NAME = "FUAR"
TITLE = "Forgotten for what was gained (FUAR)"
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
            printed=(partial(beside_printed, found),),
        )


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
