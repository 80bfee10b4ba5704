"""The page of a study whose run goes on: it says how far the run is, and loads itself again.

It is one file, at the place that the page of the finished study will have, which `write.write` then writes over it.
Nothing lies beside it: no figures and no tables, which would cost more than the page.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from ticlm.core import paths
from ticlm.core.store import Store
from ticlm.platform.display.templates import asset, html
from ticlm.platform.display.words import reference_name
from ticlm.platform.report.commands import run_command
from ticlm.platform.report.request import ReportRequest
from ticlm.platform.results.cell_frames import NOT_TRAINED
from ticlm.platform.results.setup import StudyRequest
from ticlm.platform.results.study_result import StudyResult
from ticlm.platform.study.plan import Plan

PAGE = "index.html"
OLD_S = 600
"""Seconds after which a page that nobody renewed says so, and loads itself no more."""
LATE = 3
"""A page is not old before so many renewals are missing, where a large study has hours between them."""
PARTS = ("head", "banner", "script")


class HowFar(NamedTuple):
    """Rounds and cells of a study: those that are done, and all; and whether its corpus is there."""

    rounds_done: int
    rounds: int
    cells_done: int
    cells: int
    has_corpus: bool = True


def how_far(plan: Plan) -> HowFar:
    """Return how many rounds and cells of a study are done. A study without a corpus has no cells yet."""
    from ticlm.platform.eval.wanted.counts import count

    cells = count(plan) if plan.ids and plan.store is not None else None
    wanted, left = (0, 0) if cells is None else (cells.wanted, cells.left)
    rounds = plan.tree.rounds
    return HowFar(sum(map(plan.done, rounds)), len(rounds), wanted - left, wanted, bool(plan.ids))


def so_far(study: StudyResult) -> StudyResult:
    """Return half-finished results as a page can show them: raw values while nothing of the reference is scored, which
    is often the last model that is trained, and one line for all checkpoints that are not trained yet."""
    later = [line for line in study.missing if NOT_TRAINED in line]
    missing = [line for line in study.missing if line not in later]
    if later:
        cells = sum(int(line.split()[0]) for line in later)
        missing.insert(0, f"{cells:,} cells: their checkpoints are not trained yet")
    if study.reference is None:
        return replace(study, missing=tuple(missing))
    method, seed, trained = study.reference
    own = study.cells[study.cells["value"].notna()]
    if len(own[(own["method"] == method) & (own["seed"] == seed) & (own["trained"] == trained)]):
        return replace(study, missing=tuple(missing))
    missing.insert(0, f"values are raw until the reference is scored, {reference_name(study)}")
    return replace(study, missing=tuple(missing), reference=None, is_raw=True)


@dataclass
class LivePage:
    """The page of a study on a root. `plan` is of the study as it runs; the page reads the root again each time."""

    plan: Plan
    request: StudyRequest
    page: str = ""
    """The newest page without what says how far the run is; empty before there is one."""
    place: str = ""
    """The folder of the page, relative to the root."""
    _seen: object = None
    _far: HowFar = field(default_factory=lambda: HowFar(0, 0, 0, 0))
    _command: str = ""

    def look(self) -> bool:
        """Make the page anew if the root has anything new; return whether there is a page yet: it needs a cell."""
        plan = self.plan
        plan.read_records([key for key in plan.ids if not plan.done(key)])
        if plan.open_rounds:
            plan.look_again()
        seen = (len(plan.records), len(plan.mid_round_records), self.store.states(paths.CELLS))
        if seen != self._seen and seen[2] and plan.records:
            self._render()
            self._seen = seen
        return bool(self.page)

    def write(self, every_s: float) -> None:
        """Write the page, which will be renewed again in `every_s` seconds."""
        self._write(True, every_s)

    def stop(self) -> None:
        """Say on the page that the run stopped; nothing before there is one."""
        if self.page:
            self._write(False, 0.0)

    def _render(self) -> None:
        from ticlm.platform.report.page import render
        from ticlm.platform.report.page_data import payload
        from ticlm.platform.report.report import Report
        from ticlm.platform.results.of_plan import study_result

        result = study_result(self.plan, self.request)
        if not len(result.cells) and not len(result.static):
            return
        report = Report([so_far(result)], request=ReportRequest(self.request.root))
        assert report.request is not None and result.setup is not None
        self.place = report.request.folder([result], report.preset)
        self._command = run_command(result.setup)
        self.page, self._far = render(report, payload(report), (), (), live=True), how_far(self.plan)

    def _write(self, is_running: bool, every_s: float) -> None:
        shown = {
            "rounds": f"{self._far.rounds_done:,} of {self._far.rounds:,}",
            "cells": f"{self._far.cells_done:,} of {self._far.cells:,}",
            "written": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
            "every_s": round(every_s),
            "old_s": max(OLD_S, round(LATE * every_s)),
            "is_running": is_running,
            "command": self._command,
            "script": asset("live.js").read_text(encoding="utf-8"),
        }
        page = self.page
        for part in PARTS:
            page = page.replace(f"<!-- live: {part} -->\n", html("live.html", part=part, **shown), 1)
        if not is_running:
            page = page.replace(">So far:</p>", ">When it stopped:</p>", 1)
        self.store.write(f"{self.place}/{PAGE}", page.encode())

    @property
    def where(self) -> str:
        """The path or URI of the page."""
        return f"{self.store.uri(self.place)}/{PAGE}"

    @property
    def store(self) -> Store:
        assert self.plan.store is not None
        return self.plan.store
