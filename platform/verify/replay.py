"""Running rounds of a vintage again, and comparing what comes of them with what was published, bit by bit.

A round starts from the weights of the vintage before it, or of what else is published; what is not is run again first.
On the hardware, the code and the libraries that made a round, its weights are the same to the bit. Elsewhere sums round
otherwise, and training amplifies that: then the losses of the first steps are compared to a tolerance.
"""

from __future__ import annotations

import json
import random
import shutil
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from threading import Event
from typing import Any

from ticlm.core import paths
from ticlm.core.errors import InputError, Stopped, TiclmError
from ticlm.core.integrity import own_hash
from ticlm.core.integrity.records import FORMAT, Record, StoredFile, read_record
from ticlm.core.store import Store
from ticlm.platform.publish.certificate import RoundMade, VintageCertificate
from ticlm.platform.publish.vintage_files import METRICS
from ticlm.platform.run.trainers import InProcess
from ticlm.platform.study.chains import Chain
from ticlm.platform.study.work import ChainWork, work_of
from ticlm.platform.train.maker import this_machine
from ticlm.platform.verify.finding import Checked, first_of
from ticlm.platform.verify.inputs_at import InputsGone
from ticlm.platform.verify.opened import OpenedVintage, read_certificate
from ticlm.platform.verify.recomputed import Recomputed, shards

FIRST_STEPS, TOLERANCE = 3, {"float32": 1e-3, "bfloat16": 2e-2}
"""On other hardware: how many first steps are compared, and by how many nats their losses may differ. Later steps may
differ by more without any fault (CONTRIBUTING, "Weights")."""
MACHINE = ("code", "torch", "numpy", "processor", "instructions")
"""What has to be the same for the same bits, in the order in which differences are told."""


@dataclass
class Replayer:
    """Runs rounds of a vintage again, below a root of its own."""

    vintage: OpenedVintage
    of: Recomputed
    say: Any
    stack: ExitStack
    _folders: dict[str, Path] = field(default_factory=dict)

    @property
    def about(self) -> VintageCertificate:
        return self.vintage.certificate

    @cached_property
    def _labels(self) -> frozenset[str]:
        """The vintages that are published beside this one."""
        return frozenset(() if self.vintage.place is None else self.vintage.place.labels())

    def chosen(self, number: int, seed: int) -> list[RoundMade]:
        """Return some of the rounds on the way to the vintage, at random; the same for the same seed."""
        made = [one for one in self.about.rounds if one.kind != "sample"]
        return sorted(random.Random(seed).sample(made, min(number, len(made))), key=self.about.rounds.index)

    def cost(self, made: Sequence[RoundMade]) -> str:
        """Return what running some rounds again takes, in words."""
        steps, tokens = sum(one.steps for one in made), sum(one.tokens for one in made)
        seconds = sum(one.seconds for one in made)
        pace = f"; when they were made, they took {seconds:,.0f} s" if seconds else ""
        return f"{len(made)} round{'s' * (len(made) != 1)}, {steps:,} steps, {tokens:,} tokens{pace}"

    def replay(self, made: RoundMade, steps: int | None) -> Checked:
        """Run a round again, or only its first steps, and compare what comes of it."""
        name = f"round {made.id[:12]} at {made.period}"
        try:
            for need in made.needs:
                self._provide(self.about.made(need))
            problems = list(shards(self.of, self._sources(made)))
            if problems:
                return Checked(name, "refused", first_of(problems))
            began = time.monotonic()
            record = self._run(made, steps)
        except InputsGone as error:
            return Checked(name, "unchecked", str(error))
        except TiclmError as error:
            return Checked(name, "refused", str(error))
        took = time.monotonic() - began
        if steps is not None and steps < made.steps:
            return self._compared_steps(name, made, steps, took)
        assert record is not None
        return self._compared(name, made, record, took)

    def _sources(self, made: RoundMade) -> list[Any]:
        spec = self.of.plan.tree.rounds[self.of.keys[made.id]]
        return [source for source in spec.sources if source != spec.sampled_source]

    def _provide(self, made: RoundMade) -> None:
        """Put what a round left below the root: from its vintage, from the inputs, or by running it again."""
        store = self.of.plan.store
        assert store is not None
        folder = paths.round_folder(made.id)
        if read_record(store, folder) is None and not self._found(made, store, folder):
            self.say(f"round {made.id[:12]} at {made.period} is not published: it is run first")
            for need in made.needs:
                self._provide(self.about.made(need))
            problems = list(shards(self.of, self._sources(made)))
            if problems:
                raise InputError(first_of(problems))
            self._run(made, None)
        self.of.plan.read_records([self.of.keys[made.id]])

    def _found(self, made: RoundMade, store: Store, folder: str) -> bool:
        """Put the published files of a round below the root, with a record; return False if there are none."""
        files = {file.path: source for file in made.files if (source := self._published(made, file)) is not None}
        kept = tuple(file for file in made.files if file.path in files)
        if not any(file.path.startswith((f"{paths.MODEL}/", f"{paths.SAMPLED}/")) for file in kept):
            return False
        for file in kept:
            target = Path(store.path(f"{paths.attempt(folder, made.attempt)}/{file.path}"))
            target.parent.mkdir(parents=True, exist_ok=True)
            target.symlink_to(files[file.path].absolute())
        about = {"kind": made.kind, "period": made.period, "parameters": 0, "measured": {"tokens": 0, "seconds": 0.0}}
        record = Record(format=FORMAT, attempt=made.attempt, created="", files=kept, about=about)
        store.create(paths.record(folder), own_hash.with_hash(record.model_dump(mode="json", exclude={own_hash.KEY})))
        return True

    def _published(self, made: RoundMade, file: StoredFile) -> Path | None:
        """Return where a file of a round was published: in the inputs, or in the folder of a vintage before."""
        place = f"{paths.attempt(paths.round_folder(made.id), made.attempt)}/{file.path}"
        if self.of.inputs.has(place):
            return self.of.inputs.fetch([place]) / place
        folder = self._folder(made)
        name = file.path.removeprefix(f"{paths.MODEL}/")
        return folder / name if folder is not None and name != file.path and (folder / name).exists() else None

    def _folder(self, made: RoundMade) -> Path | None:
        """Return the folder of the vintage that a round made; None if there is none."""
        if made.id == self.about.round:
            return self.vintage.folder
        place = self.vintage.place
        if made.period not in self._folders:
            if place is None or made.period not in self._labels:
                return None
            folder = self.stack.enter_context(place.get(made.period))
            if read_certificate(folder, place.address(made.period))[1].round != made.id:
                return None
            self._folders[made.period] = folder
        return self._folders[made.period]

    def _run(self, made: RoundMade, steps: int | None) -> Record | None:
        """Run a round again; return its record, or None if it was stopped after some steps."""
        plan, key = self.of.plan, self.of.keys[made.id]
        spec, maker = plan.tree.rounds[key], made.made_by
        work = work_of(plan, Chain((key,), 0, is_trained=spec.is_trained))
        resources = {
            "trainer": "process",
            "carrier": "process",
            "workers": 1,
            "chains": 1,
            "device": maker.get("device", "auto"),
            "threads": maker.get("threads", work.resources.threads),
            "compile": maker.get("compiled", work.resources.compile),
            "wandb": None,
            "tensorboard": False,
        }
        work = replace(
            work,
            label=f"verify {made.period}",
            resources=work.resources.model_copy(update=resources),
            micro_rows=maker.get("micro_batch_rows", work.micro_rows),
            stop_after=steps if steps is not None and steps < spec.steps else None,
        )
        shutil.rmtree(plan.store.path(paths.round_folder(made.id)), ignore_errors=True)  # type: ignore[union-attr]
        try:
            if spec.is_trained:
                InProcess(Event()).fit(work, (1, 1), lambda _: None)
            else:
                _publisher(work)
        except Stopped:
            return None
        return read_record(work.store, paths.round_folder(made.id))

    def _compared(self, name: str, made: RoundMade, record: Record, took: float) -> Checked:
        wanted = {f.path: f.sha256 for f in made.files if f.path.startswith((f"{paths.MODEL}/", f"{paths.SAMPLED}/"))}
        there = {file.path: file.sha256 for file in record.files if file.path in wanted}
        wrong = sorted(path for path, sha256 in wanted.items() if there.get(path) != sha256)
        catches = "weights that came of other text, of another order, of more training, or of other code"
        if not wrong:
            words = f"run again in {took:.0f} s, with the same bits in {len(wanted)} files"
            return Checked(name, "holds", f"{words}{self._elsewhere(made)}", catches)
        other = self._other(made)
        if not other:
            return Checked(name, "refused", f"run again by the same code and hardware, other bits: {first_of(wrong)}")
        if other == ["code"]:
            words = f"other bits: {first_of(wrong)}; it was made by other code (ticlm {made.made_by.get('ticlm')}, "
            return Checked(name, "refused", f"{words}hash {made.made_by['code'][:12]}): install that, and try again")
        return self._tolerated(name, made, record, other)

    def _compared_steps(self, name: str, made: RoundMade, steps: int, took: float) -> Checked:
        """Compare losses and gradient norms of the first steps with those that were published."""
        mine, theirs = self._metrics_of_attempts(made), self._published_metrics(made)
        if theirs is None:
            return Checked(name, "unchecked", "losses of its steps are not published; run it whole: without --steps")
        pairs = [(which, i) for which in ("loss", "gradient_norm") for i in range(steps)]
        wrong = [(which, i) for which, i in pairs if mine[which][i] != theirs[which][i]]
        if not wrong:
            words = f"its first {steps} of {made.steps} steps have the same losses and gradient norms, to the bit"
            words = f"{words} ({took:.0f} s)"
            return Checked(name, "holds", words, "another start, other rows or other code in these steps")
        which, i = wrong[0]
        told = f"{which.replace('_', ' ')} of step {i} is {mine[which][i]!r}, published is {theirs[which][i]!r}"
        other = self._other(made)
        if other and self._within(mine, theirs, steps):
            return Checked(name, "holds", f"its first steps agree to a tolerance, on other {first_of(other)}: {told}")
        return Checked(name, "refused", told + (f" (on other {first_of(other)})" if other else ""))

    def _tolerated(self, name: str, made: RoundMade, record: Record, other: list[str]) -> Checked:
        """Compare a round that was run on other hardware, or by other code, to a tolerance."""
        theirs = self._published_metrics(made)
        if theirs is None:
            return Checked(name, "refused", f"other bits, on other {first_of(other)}, and no losses to compare")
        store = self.of.plan.store
        assert store is not None
        mine = store.read_json(paths.metrics(paths.attempt(paths.round_folder(made.id), record.attempt)))
        if self._within(mine, theirs, FIRST_STEPS):
            apart = max(abs(a - b) for a, b in zip(mine["loss"], theirs["loss"]))
            words = f"other bits, as may be on other {first_of(other)}; its first {FIRST_STEPS} steps agree to "
            words += f"{TOLERANCE[self.of.plan.study.precision.compute]} nats, all of them to {apart:.2g}"
            return Checked(name, "note", f"{words}: it is plausible, and not proven")
        return Checked(name, "refused", f"other losses from the first steps on (on other {first_of(other)})")

    def _within(self, mine: Mapping[str, Any], theirs: Mapping[str, Any], steps: int) -> bool:
        """Return whether the losses of the first steps agree to the tolerance of the number type."""
        compute = self.of.plan.study.precision.compute
        pairs = list(zip(mine["loss"], theirs["loss"]))[: min(steps, FIRST_STEPS)]
        return all(abs(a - b) <= TOLERANCE[compute] for a, b in pairs)

    def _metrics_of_attempts(self, made: RoundMade) -> Mapping[str, Any]:
        store, folder = self.of.plan.store, paths.round_folder(made.id)
        assert store is not None
        return store.read_json(paths.metrics(paths.attempt(folder, store.folders(folder)[-1])))

    def _published_metrics(self, made: RoundMade) -> Mapping[str, Any] | None:
        """Return loss, rate and gradient norm of each step as they were published; None if they were not."""
        folder = self._folder(made)
        if folder is not None and (folder / METRICS).exists():
            return dict(json.loads((folder / METRICS).read_text()))
        place = paths.metrics(paths.attempt(paths.round_folder(made.id), made.attempt))
        if not self.of.inputs.has(place):
            return None
        return dict(json.loads((self.of.inputs.fetch([place]) / place).read_text()))

    def _other(self, made: RoundMade) -> list[str]:
        """Return what is another here than where a round was made; `what made it, which is not recorded` if nobody
        knows."""
        if "code" not in made.made_by:
            return ["code or hardware, which its record does not name"]
        here = this_machine()
        return [name for name in MACHINE if made.made_by.get(name) != here[name]]

    def _elsewhere(self, made: RoundMade) -> str:
        other = self._other(made) if made.made_by else []
        return f", though {first_of(other)} here differ{'s' * (len(other) == 1)}" if other else ""


def findings(replayer: Replayer, number: int, steps: int | None, seed: int) -> Iterator[Checked]:
    """Run some rounds of a vintage again, at random, and yield what came of each."""
    chosen = replayer.chosen(number, seed)
    replayer.say(f"running again: {replayer.cost(chosen)}")
    for made in chosen:
        yield replayer.replay(made, steps)


def _publisher(work: ChainWork) -> None:
    from ticlm.platform.train.average import publish_average
    from ticlm.platform.train.sample import publish_sample

    return publish_average(work) if work.rounds[0].sample is None else publish_sample(work)
