"""Running rounds of a vintage again, below an empty root, from what is published alone.

A round starts from the weights of the vintage before it, or of what else is published; what is not is run again first.
Rows that a checkpoint wrote, or that were chosen, are always made again: nothing else says that they are its own. On
the hardware, the code and the libraries that made a round, its weights are the same to the bit (`comparison`).
"""

from __future__ import annotations

import json
import random
import shutil
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from threading import Event
from typing import Any

import torch

from ticlm.core import paths
from ticlm.core.errors import InputError, Stopped, TiclmError
from ticlm.core.hub import HubUnreachable
from ticlm.core.integrity import own_hash
from ticlm.core.integrity.records import FORMAT, Record, read_record
from ticlm.core.mixture import Source
from ticlm.core.store import Store
from ticlm.platform.publish.certificate import RoundMade, VintageCertificate
from ticlm.platform.publish.vintage_files import METRICS
from ticlm.platform.run.trainers import InProcess
from ticlm.platform.study.chains import Chain
from ticlm.platform.study.resources import Cadence
from ticlm.platform.study.stored_rounds import attempts
from ticlm.platform.study.work import ChainWork, work_of
from ticlm.platform.verify.comparison import CATCHES, LEFT, RanAgain, compared, compared_steps, metrics_of
from ticlm.platform.verify.finding import Checked, first_of
from ticlm.platform.verify.inputs_at import InputsGone
from ticlm.platform.verify.opened import OpenedVintage, read_certificate
from ticlm.platform.verify.recomputed import Recomputed, shards

NEVER = Cadence(seconds=1e9, fraction=0.99)
"""No checkpoint inside a round: a state of 1B is 16 GB, and whoever verifies begins again after a fault."""


@dataclass
class Replayer:
    """Runs rounds of a vintage again, below a root of its own."""

    vintage: OpenedVintage
    of: Recomputed
    say: Callable[[str], None]
    stack: ExitStack
    _folders: dict[str, Path | None] = field(default_factory=dict)

    @property
    def about(self) -> VintageCertificate:
        return self.vintage.certificate

    @property
    def _store(self) -> Store:
        assert self.of.plan.store is not None
        return self.of.plan.store

    @cached_property
    def _labels(self) -> frozenset[str]:
        """The vintages that are published beside this one."""
        return frozenset(() if self.vintage.place is None else self.vintage.place.labels())

    def findings(self, number: int, steps: int | None, seed: int) -> Iterator[Checked]:
        """Run the vintage's own round and others at random again, and yield what came of each; then, how many of all
        rounds that are."""
        chosen = self.chosen(number, seed)
        self.say(f"running again (--seed {seed}): {self.cost(chosen, steps)}")
        told = []
        for made in chosen:
            told.append(self.replay(made, steps))
            yield told[-1]
        held = {one.check for one in told if one.state == "holds"}
        left = [one for one in self.about.rounds if self._name(one) not in held]
        if steps is not None:
            yield Checked("weights", "unchecked", "only first steps were run, so none were compared", CATCHES)
        elif left:
            periods = left[0].period if len(left) == 1 else f"{left[0].period} … {left[-1].period}"
            words = f"{len(left)} of {len(self.about.rounds)} rounds were not run again, {periods}"
            yield Checked("weights", "unchecked", words, CATCHES)
        else:
            yield Checked("weights", "holds", f"all {len(self.about.rounds)} rounds have the same bits", CATCHES)

    @staticmethod
    def _name(made: RoundMade) -> str:
        return f"round {made.id[:12]} at {made.period}"

    def chosen(self, number: int, seed: int) -> list[RoundMade]:
        """Return the vintage's own round and others at random, in their order; the same for the same seed."""
        *others, own = self.about.rounds
        some = random.Random(seed).sample(others, min(number - 1, len(others)))
        return [*sorted(some, key=self.about.rounds.index), own]

    def cost(self, made: Sequence[RoundMade], steps: int | None) -> str:
        """Return what running some rounds again takes, in words."""
        specs = [self.of.plan.tree.rounds[self.of.keys[one.id]] for one in made]
        count = sum(one.steps if steps is None else min(steps, one.steps) for one in specs)
        tokens = sum(one.tokens + one.sampled_tokens for one in specs)
        seconds = sum(one.seconds for one in made)
        pace = f"; whole, they took {seconds:,.0f} s when they were made" if seconds else ""
        return f"{len(made)} round{'s' * (len(made) != 1)}, {count:,} steps, {tokens:,} tokens if run whole{pace}"

    def replay(self, made: RoundMade, steps: int | None) -> Checked:
        """Run a round again, or only its first steps, and compare what comes of it."""
        name = self._name(made)
        if made.made_by.device == "cuda" and not torch.cuda.is_available():
            return Checked(name, "unchecked", "it was made on a GPU, and there is none here")
        spec = self.of.plan.tree.rounds[self.of.keys[made.id]]
        try:
            for need in made.needs:
                self._provide(self.about.made(need))
            self._check_shards(made)
            began = time.monotonic()
            record = self._run(made, steps)
        except (InputsGone, HubUnreachable) as error:
            return Checked(name, "unchecked", str(error))
        except InputError as error:
            return Checked(name, "refused", str(error))
        except TiclmError as error:  # of this machine: no memory, no room
            return Checked(name, "unchecked", f"it could not be run here: {error}")
        compute, folder = spec.recipe.precision.compute, paths.round_folder(made.id)
        if spec.sample is not None and record is not None:
            told = self._compared_sample(name, made, record)
        elif record is None:
            assert steps is not None
            mine = metrics_of(self._store, folder, attempts(self._store, folder)[-1])
            told = compared_steps(name, made, mine, self._metrics(made), steps, compute)
        else:
            here = Path(self._store.path(paths.attempt(folder, record.attempt)))
            took = time.monotonic() - began
            again = RanAgain(name, made, record, here, self._start(made), compute, took)
            told = compared(again, lambda path: self._published(made, path))
        if self._is_published(made):  # later rounds start from what was published, not from what rounds otherwise here
            self._forget(made)
        return told

    def _start(self, made: RoundMade) -> Path | None:
        """Return the model folder that a round started from; None if it started from scratch."""
        spec = self.of.plan.tree.rounds[self.of.keys[made.id]]
        if spec.parent is None:
            return None
        folder = paths.round_folder(self.of.plan.ids[spec.parent])
        record = read_record(self._store, folder)
        return None if record is None else Path(self._store.path(paths.model(folder, record.attempt)))

    def _check_shards(self, made: RoundMade) -> None:
        spec = self.of.plan.tree.rounds[self.of.keys[made.id]]
        sources: list[Source] = [source for source in spec.sources if source not in spec.sampled_sources]
        problems = list(shards(self.of, sources))
        if problems:
            raise InputError(first_of(problems))

    def _provide(self, made: RoundMade) -> None:
        """Put what a round left below the root: from its vintage, from the inputs, or by running it again."""
        folder, key = paths.round_folder(made.id), self.of.keys[made.id]
        is_sample = self.of.plan.tree.rounds[key].sample is not None
        if read_record(self._store, folder) is None and (is_sample or not self._found(made, folder)):
            if not is_sample:
                self.say(f"round {made.id[:12]} at {made.period} is not published: it is run first")
            for need in made.needs:
                self._provide(self.about.made(need))
            self._check_shards(made)
            record = self._run(made, None)
            assert record is not None
            if is_sample and (found := self._compared_sample("", made, record)).state == "refused":
                raise InputError(found.words)
        self.of.plan.read_records([key])

    def _compared_sample(self, name: str, made: RoundMade, record: Record) -> Checked:
        """Say whether the rows that are written, or chosen, here are those that were published."""
        wanted, mine = (sorted(f.sha256 for f in one.files if f.path.endswith(".parquet")) for one in (made, record))
        if wanted != mine:
            return Checked(name, "refused", "the rows of a sample are not those that are made here")
        return Checked(name, "holds", f"made again: the same rows in {len(mine)} files", CATCHES)

    def _found(self, made: RoundMade, folder: str) -> bool:
        """Put the published files of a round below the root, with a record; return False if there are none."""
        files = {file.path: source for file in made.files if (source := self._published(made, file.path)) is not None}
        kept = tuple(file for file in made.files if file.path in files)
        if not any(file.path.startswith(LEFT) for file in kept):
            return False
        for file in kept:
            target = Path(self._store.path(f"{paths.attempt(folder, made.attempt)}/{file.path}"))
            target.parent.mkdir(parents=True, exist_ok=True)
            target.symlink_to(files[file.path].absolute())
        about = {"kind": made.kind, "period": made.period, "parameters": 0, "measured": {"tokens": 0, "seconds": 0.0}}
        record = Record(format=FORMAT, attempt=made.attempt, created="", files=kept, about=about)
        content = record.model_dump(mode="json", exclude={own_hash.KEY})
        self._store.create(paths.record(folder), own_hash.with_hash(content))
        return True

    def _is_published(self, made: RoundMade) -> bool:
        return any(self._published(made, file.path) is not None for file in made.files if file.path.startswith(LEFT))

    def _forget(self, made: RoundMade) -> None:
        shutil.rmtree(self._store.path(paths.round_folder(made.id)), ignore_errors=True)
        self.of.plan.records.pop(self.of.keys[made.id], None)

    def _published(self, made: RoundMade, path: str) -> Path | None:
        """Return where a file of a round was published: in the inputs, or in the folder of a vintage."""
        place = f"{paths.attempt(paths.round_folder(made.id), made.attempt)}/{path}"
        if self.of.inputs.has(place):
            return self.of.inputs.fetch([place]) / place
        folder = self._folder(made)
        name = METRICS if path == paths.METRICS else path.removeprefix(f"{paths.MODEL}/")
        return folder / name if folder is not None and name != path and (folder / name).exists() else None

    def _folder(self, made: RoundMade) -> Path | None:
        """Return the folder of the vintage that a round made; None if there is none."""
        if made.id == self.about.round:
            return self.vintage.folder
        place = self.vintage.place
        if made.period not in self._folders:
            self._folders[made.period] = None
            if place is not None and made.period in self._labels:
                folder = self.stack.enter_context(place.get(made.period))
                if read_certificate(folder, place.address(made.period))[1].round == made.id:
                    self._folders[made.period] = folder
        return self._folders[made.period]

    def _metrics(self, made: RoundMade) -> Mapping[str, Any] | None:
        """Return loss, rate and gradient norm of each step as they were published; None if they were not."""
        found = self._published(made, paths.METRICS)
        return None if found is None else dict(json.loads(found.read_text()))

    def _run(self, made: RoundMade, steps: int | None) -> Record | None:
        """Run a round again; return its record, or None if it was stopped after some steps."""
        plan, key, by = self.of.plan, self.of.keys[made.id], made.made_by
        spec = plan.tree.rounds[key]
        work = work_of(plan, Chain((key,), 0, is_trained=spec.is_trained))
        stop = steps if steps is not None and steps < spec.steps else None
        given = {"device": by.device, "threads": by.threads, "compile": by.compiled}
        resources = {name: value for name, value in given.items() if value not in (None, "")}
        alone = {"trainer": "process", "carrier": "process", "workers": 1, "chains": 1, "cadence": NEVER}
        untold = {"wandb": None, "tensorboard": False}
        work = replace(
            work,
            label=f"verify {made.period}",
            resources=work.resources.model_copy(update=alone | untold | resources),
            micro_rows=by.micro_batch_rows or work.micro_rows,
            mid_round_steps=(),
            stop_after=stop,
        )
        self._forget(made)
        try:
            if spec.is_trained:
                InProcess(Event()).fit(work, (1, 1), lambda _: None)
            else:
                _publisher(work)
        except Stopped:
            return None
        return read_record(work.store, paths.round_folder(made.id))


def _publisher(work: ChainWork) -> None:
    from ticlm.platform.train.average import publish_average
    from ticlm.platform.train.sample import publish_sample

    return publish_average(work) if work.rounds[0].sample is None else publish_sample(work)
