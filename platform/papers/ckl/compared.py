"""The scores and FUARs that CKL prints, beside those of a report."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from ticlm.platform.analysis.numbers import signed
from ticlm.platform.analysis.probe_scores import ProbeScores, ScoreReader, SetName, bare
from ticlm.platform.display.parts import Printed, other_size
from ticlm.platform.display.text_tables import TextCell, TextLine, TextTable
from ticlm.platform.papers.ckl.fuar import fuar, text
from ticlm.platform.papers.ckl.printed import CklTable, ckl_tables
from ticlm.platform.papers.ckl.settings import FuarRequest
from ticlm.platform.papers.ckl.study_fuar import questions
from ticlm.platform.results.study_result import StudyResult, as_frame

FILE = "paper_ckl"
COLUMNS = ("study", "fuar", "table", "method", "trained", "score", "ours", "paper", "difference", "corrected", "note")
"""`score` is a probe set of the paper (IL, UL, NL, NLE, NQE), in percent, or FUAR. A FUAR of no gain is infinite.
`corrected` is what the paper's own scores give where its FUAR is another; `note` says where a table is inconsistent."""
FUAR, BASE = "FUAR", "initial"
"""The column of FUAR, and the row of the model from which all methods start."""
SETS = {"invariant": "IL", "updated": "UL", "new": "NL", "new-easy": "NLE"}
"""Probe set of ours -> its name in the paper."""
CODES = ("IL", "UL", "NL", "NLE", "NQE")
DIFFERENCE = "In brackets below ours: the difference, ours minus the paper's."
CORRECTED = "In brackets below a printed FUAR: what the paper's own scores give."
NAMES = {"exact-match": "exact match", "f1": "F1"}
PREFIX = "ckl-"
"""What the catalogue writes before the names of the paper's methods."""


def beside_printed(asked: Sequence[tuple[StudyResult, FuarRequest]]) -> Printed:
    """Return the scores and FUARs of the tables that studies name (FuarRequest.printed), for their methods that these
    tables print too."""
    blocks = [_Block(study, one, ckl_tables().table(name)) for study, one in asked for name in one.printed]
    rows = [row for block in blocks for row in block.rows()]
    tables = tuple(_table(block, list(block.rows()), len(asked) > 1) for block in blocks if any(block.rows()))
    none = 'none of their FUARs names a table of the paper (tables: [{kind: fuar, …, printed: ["2"]}])'
    why = "no method here has a printed number of the same probe sets" if blocks else none
    first = f"CKL: {len(rows)} numbers compared" if rows else f"CKL: {why}"
    return Printed(FILE, as_frame(rows, COLUMNS), tables, (first, *(note for one in tables for note in one.notes)))


@dataclass(frozen=True)
class _Block:
    """One printed table, beside the scores of a study."""

    study: StudyResult
    asked: FuarRequest
    table: CklTable

    @cached_property
    def reader(self) -> ScoreReader:
        return ScoreReader(self.study, self.table.metric)

    @cached_property
    def sets(self) -> dict[str, list[SetName]]:
        """The probe sets of the tasks that the FUAR names, by the paper's name."""
        tasks = {bare(name.partition("/")[0]) for _, name in self.asked.named()}
        found: dict[str, list[SetName]] = {}
        for one in (held for held in self.reader.sets if not held.period):
            if bare(one.task) in tasks and (code := _code(one.name)) in self.table.scores:
                found.setdefault(code, []).append(one)
            elif bare(one.task) in tasks and (pooled := code.partition("-")[0]) in self.table.scores:
                found.setdefault(pooled, []).append(one)  # Table 7 asks both halves of NLE as one set
        return found

    def rows(self) -> Iterator[dict[str, Any]]:
        """Yield the numbers that both have: those of the base, then of each method."""
        for method in (one for one in self.study.methods if not one.is_oracle):
            if printed := self.table.rows.get(method.name.removeprefix(PREFIX)):
                labels = self.reader.labels(method.name, method.seeds[0])
                base = labels[0] if self.asked.base == "first" else self.asked.base
                if method.name == self._first:
                    theirs = dict(zip(self.table.scores, self.table.base))
                    yield from self._lines(BASE, base, self._scores(method.name, method.seeds, base), theirs)
                asked = self.asked.model_copy(update={"metric": self.table.metric})
                every = questions(self.reader, asked, method.name, method.seeds, per_probe=False)
                # a table of one corpus is about the first checkpoint after the base, Table 3's phases about the second
                found = every[min(self.table.phases, len(every)) - 1] if every else None
                if found is None:
                    continue
                ours = self._scores(method.name, method.seeds, found.last)
                if (ratio := fuar(found)).missing == ():
                    ours[FUAR] = ratio.value
                theirs = dict(zip(self.table.scores, printed.scores))
                theirs[FUAR] = math.inf if printed.fuar is None else printed.fuar
                yield from self._lines(method.name, found.last, ours, theirs, printed.corrected)

    @cached_property
    def _first(self) -> str:
        """The method whose base stands for that of all, which start from one model."""
        names = (one.name for one in self.study.methods if not one.is_oracle)
        return next((name for name in names if name.removeprefix(PREFIX) in self.table.rows), "")

    def _scores(self, method: str, seeds: Sequence[int], trained: str) -> dict[str, float]:
        """Return the scores of a checkpoint by the paper's names, in percent; of several sets the mean over probes."""
        found = {}
        for code, names in self.sets.items():
            held = [self.reader.scores(one, method, seeds, per_probe=False) for one in names]
            if all(one.has(trained) for one in held):
                found[code] = 100 * _pooled(held, trained)
        return found

    def _lines(
        self,
        method: str,
        trained: str,
        ours: Mapping[str, float],
        theirs: Mapping[str, float],
        corrected: float | None = None,
    ) -> Iterator[dict[str, Any]]:
        where = {"study": self.study.name, "fuar": self.asked.name, "table": self.table.table, "method": method}
        for score, paper in theirs.items():
            if score in ours and not math.isnan(value := ours[score]):
                apart = value - paper if math.isfinite(value) and math.isfinite(paper) else math.nan
                known = {"trained": trained, "score": score, "ours": value, "paper": paper, "difference": apart}
                right = corrected if score == FUAR and corrected is not None else math.nan
                yield where | known | {"corrected": right, "note": self.table.note}


def _pooled(held: Sequence[ProbeScores], trained: str) -> float:
    return sum(one.values[trained] * one.n for one in held) / sum(one.n for one in held)


def _code(score: str) -> str:
    """Return the paper's name of a probe set, `TASK@VERSION/SET`: by its task if that is one, else by its set."""
    task, _, label = score.partition("/")
    if (named := task.partition("@")[0].upper()) in CODES:
        return named
    known, dash, phase = label.rpartition("-p")
    if dash and phase.isdigit():
        return f"{SETS.get(known, known)}-P{phase}"
    return SETS.get(label, label)


def _table(block: _Block, rows: Sequence[Mapping[str, Any]], several: bool) -> TextTable:
    """Return a line for each method, and two columns for each score: ours with the difference, and the paper's."""
    scores = [score for score in (*block.table.scores, FUAR) if any(row["score"] == score for row in rows)]
    held: dict[str, dict[str, Mapping[str, Any]]] = {}
    for row in rows:
        held.setdefault(row["method"], {})[row["score"]] = row
    lines = tuple(
        TextLine((name,), tuple(cell for score in scores for cell in _cells(by.get(score))), is_apart=name == BASE)
        for name, by in held.items()
    )
    of = f", {block.asked.name} ({block.study.name})" if several else ""
    notes = [DIFFERENCE]
    notes += [f"Table {block.table.table}: {block.table.note}."] if block.table.note else []
    notes += [CORRECTED] if any(math.isfinite(row["corrected"]) for row in rows) else []
    notes += other_size(block.study, block.table.parameters, f"the paper's {block.table.model}")
    return TextTable(
        f"CKL, Table {block.table.table}{of}",
        ("Method",),
        ("here", "paper") * len(scores),
        lines,
        tuple(notes),
        main=True,
        groups=tuple((score if score == FUAR else f"{score}: {NAMES[block.table.metric]}, %", 2) for score in scores),
    )


def _cells(row: Mapping[str, Any] | None) -> tuple[TextCell, ...]:
    if row is None:
        return (TextCell("–"),) * 2
    corrected = f"{row['corrected']:g}" if math.isfinite(row["corrected"]) else ""
    apart = signed(row["difference"], 2, plus=True) if math.isfinite(row["difference"]) else ""
    return TextCell(text(row["ours"]), apart), TextCell(text(row["paper"]), corrected)
