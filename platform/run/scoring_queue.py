"""Scoring beside training: checkpoints wait here from when they appear until a worker is free to score them."""

from __future__ import annotations

from collections import deque
from dataclasses import replace
from threading import Lock

from ticlm.core.progress import Show
from ticlm.platform.eval import cells
from ticlm.platform.eval.cells import CheckpointWork, Unscored
from ticlm.platform.eval.wanted.asked import CellKeys
from ticlm.platform.run.trainers import Trainer
from ticlm.platform.study.plan import Plan


class ScoringQueue:
    """The checkpoints of a plan that are done and have cells to score, in the order in which they appeared. `left`: the
    cells that were missing before, if they are known, of the records that the plan has now."""

    def __init__(self, plan: Plan, trainer: Trainer, show: Show, left: Unscored | None = None) -> None:
        self.plan, self.trainer, self.show = plan, trainer, show
        self.waiting: deque[CheckpointWork] = deque()
        self._known, self._asked = set[str](), set[str]()
        self._total = self._done = 0
        self._lock, self._keys = Lock(), CellKeys(plan)
        if left is not None:
            self._known |= plan.records.keys()
            self._add(left)

    def look(self) -> None:
        """Add the checkpoints of rounds that the plan has read the records of since the last call."""
        appeared = self.plan.records.keys() - self._known
        if not appeared:
            return
        self._known |= appeared
        self._add(cells.unscored(self.plan, appeared, self._keys))

    def _add(self, found: Unscored) -> None:
        assert self.plan.store is not None
        new = [unit for one in found.under_lease(self.plan.store) if (unit := self._not_asked(one)) is not None]
        if new:
            self.waiting.extend(new)
            self._total += sum(unit.cells for unit in new)
            self.show.begin("evaluation", self._total, "cells")

    def _not_asked(self, unit: CheckpointWork) -> CheckpointWork | None:
        """Return a unit without the cells that were asked for before: two rounds may end in the same weights."""
        jobs = [replace(job, cells=tuple(c for c in job.cells if c[1] not in self._asked)) for job in unit.jobs]
        self._asked |= {key for job in jobs for _, key in job.cells}
        jobs = [job for job in jobs if job.cells]
        return replace(unit, jobs=tuple(jobs)) if jobs else None

    def score(self, unit: CheckpointWork) -> None:
        """Score a checkpoint, and show how far all of them are."""
        self.trainer.score([unit], self._through)

    def end(self) -> None:
        """Say that nothing more is scored."""
        if self._total:
            self.show.end("evaluation")

    def _through(self) -> None:
        with self._lock:
            self._done += 1
            self.show.update("evaluation", self._done)
