"""A trial: one method, trained period after period on what tuning sees, and scored after each.

Uses torch, and Ray only if the study's resources want it.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import ExitStack
from threading import Event, Thread
from typing import Literal

from ticlm.core import paths
from ticlm.core.errors import Stopped, TiclmError
from ticlm.core.integrity.records import read_record
from ticlm.core.signals import join
from ticlm.core.store import Store
from ticlm.platform.analysis import conventions
from ticlm.platform.analysis.leaders import runs
from ticlm.platform.analysis.summary import summarize
from ticlm.platform.eval import cells, fanout
from ticlm.platform.eval.wanted.asked import keys_by_place
from ticlm.platform.results import of_plan as collect
from ticlm.platform.run import driver
from ticlm.platform.run.trainers import Trainer, trainer_of
from ticlm.platform.study import plan
from ticlm.platform.study.plan import Plan
from ticlm.platform.study.settings import Study
from ticlm.platform.tuning.search import OLD_TEXT
from ticlm.platform.tuning.selection import PeriodScores

POLL_S = 0.3
Device = Literal["auto", "cpu", "cuda"]


class WarmTrainer:
    """What trains one trial after another in a process. A trial that is stopped ends it; the next gets a new one."""

    def __init__(self) -> None:
        self.stop = Event()
        self._stack, self._trainer = ExitStack(), list[Trainer]()

    def of(self, made: Plan) -> Trainer:
        """Return the trainer, for a plan with the same resources as those before; it heeds `stop`."""
        if not self._trainer:
            self._trainer.append(self._stack.enter_context(trainer_of(made, self.stop)))
        return self._trainer[0]

    def close(self) -> None:
        """End the workers and free their resources."""
        self._stack.close()
        self.stop = Event()
        self._trainer.clear()


class Trial:
    """Trains the first method of a study in a thread of its own, and scores finished checkpoints in the caller's."""

    def __init__(self, study: Study, store: Store, device: Device = "auto", warm: WarmTrainer | None = None) -> None:
        """Start to train. `device`: where checkpoints are scored; the study says where they are trained. `warm`: what
        trained the trial before in this process."""
        self.store, self._warm = store, warm or WarmTrainer()
        self.method = study.methods[0].name
        scoring = study.resources.model_copy(update={"device": device})
        self.plan = plan.make(study.model_copy(update={"resources": scoring}), store)
        run = next(run for run in self.plan.tree.runs if run.method.name == self.method)
        self.left = list(run.rounds.items())
        # A period is scored as it was then, even if later rounds are done by now.
        for key in run.rounds.values():
            self.plan.records.pop(key, None)
        self._failed = list[BaseException]()
        self._thread = Thread(target=self._train, args=(study, store), daemon=True)
        self._thread.start()

    def next(self) -> tuple[str, PeriodScores]:
        """Wait for the checkpoint of the next continual period and score it.

        Returns the period's label, and the means so far over all periods that tuning sees. Raises the error that ended
        the training, if one did.
        """
        while True:
            label, key = self.left.pop(0)
            self._wait(key)
            if self.plan.tree.rounds[key].parent is not None or not self.left:
                break  # the initial checkpoint is scored together with the first one trained from it
        fanout.here(cells.units(self.plan), lambda: None)
        return label, scores(self.plan)[self.method]

    def close(self) -> None:
        """End the trial. Workers that have trained it to its end are kept for the next."""
        if self._thread.is_alive():
            self._warm.stop.set()
            join(self._thread)
        if self._warm.stop.is_set() or self._failed:
            self._warm.close()

    def _train(self, study: Study, store: Store) -> None:
        left: int | None = None
        while True:
            own = plan.make(study, store)
            before, left = left, sum(len(chain.keys) for chain in own.pending())
            try:
                trainer = self._warm.of(own) if own.pending() else None
                return driver.train(own, stop=self._warm.stop, trainer=trainer)
            except BaseException as error:
                # Another trial that finishes an equal round first removes the files of this trial's attempt.
                if isinstance(error, TiclmError) or (before is not None and left >= before):
                    self._failed.append(error)
                    return

    def _wait(self, key: str) -> None:
        store = self.store
        while not self.plan.done(key):
            ended = not self._thread.is_alive()
            record = read_record(store, paths.round_folder(self.plan.ids[key]))
            if record is not None:
                self.plan.records[key] = record
            elif self._failed:
                raise self._failed[0]
            elif ended:
                raise Stopped
            else:
                time.sleep(POLL_S)


def scores(made: Plan) -> dict[str, PeriodScores]:
    """Return the backward, in-distribution and forward means of every continual method, over the cells it has.

    Of a study with a single period, in-distribution is that period's loss, and backward that of its old text, if it is
    scored (`Tuning.seen`).
    """
    summary = summarize([collect.study_result(made)], conventions.named())
    rows = runs(summary[summary["source"] == ""])
    if len(made.study.timeline) == 1:
        last = {(name, task): value for name, task, value in rows[["method", "task", "final"]].itertuples(index=False)}
        old = next((task.id for task in made.study.evaluations if task.name == OLD_TEXT), None)
        new = next(task.id for task in made.study.evaluations if task.id != old)
        names = dict.fromkeys(name for name, _ in last)
        return {name: PeriodScores(None if old is None else last[name, old], last[name, new], None) for name in names}
    columns = ("method", "backward", "in_distribution", "forward")
    return {name: PeriodScores(*means) for name, *means in rows[list(columns)].itertuples(index=False)}


def complete(made: Plan) -> Iterator[str]:
    """Yield the names of the methods that are trained to the end and have a value in every cell."""
    left = {unit.weights for unit in cells.units(made)}
    keys = keys_by_place(made)
    weights = {key: found for (key, _, _), (found, _) in keys.items()}
    for run in made.tree.runs:
        if all(made.done(key) and weights.get(key) not in left for key in run.rounds.values()):
            yield run.method.name
