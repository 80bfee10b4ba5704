"""Training of a chain of rounds: load the first weights, train round after round, publish each. Uses torch, not Ray.

The same code runs in this process, in plain gloo processes, and under Ray Train (`cluster/slot_jobs.py`).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import torch
from torch import nn

from ticlm.core import paths
from ticlm.core.errors import InputError, RunError, TiclmError
from ticlm.core.integrity.records import Attempt, read_record
from ticlm.core.reading import own_faults
from ticlm.core.store import Store
from ticlm.core.token_rows import Tokens
from ticlm.platform.models import adapter_stack, build, folders, growth, memory, sharding
from ticlm.platform.models.sharding import Workers
from ticlm.platform.study.identity import content
from ticlm.platform.study.stored_rounds import published
from ticlm.platform.study.work import ChainWork
from ticlm.platform.train.checkpoint import Writer, newest, restore
from ticlm.platform.train.device import lateness
from ticlm.platform.train.diverged import diverged
from ticlm.platform.train.loader import LoaderSpec, RankBatch, stream
from ticlm.platform.train.mid_round import publish_mid_round
from ticlm.platform.train.publish import let_publish, publish, stop_if
from ticlm.platform.train.state import RunningRound, start
from ticlm.platform.train.step import LaunchedStep, is_finite, train_step
from ticlm.platform.train.step_log import StepLog, step_log
from ticlm.platform.train.workload import too_large, workloads

Report = Callable[[Mapping[str, Any]], None]


def run_chain(
    work: ChainWork,
    workers: Workers,
    report: Report = lambda _: None,
    urgent: Callable[[], bool] = lambda: False,
) -> list[str]:
    """Train the rounds that have no record yet, and return the ids of all rounds of the chain. Every rank must call it.

    Training starts from the newest valid checkpoint: a finished round's weights, or a mid-round state, which any number
    of workers may have written. `report` gets progress events. `urgent` is called at every step: when it becomes true
    on a rank, a checkpoint is complete before the next step; on a GPU, before the step after that. Raises Diverged if a
    loss or gradient is not a number.
    """
    torch.set_num_threads(work.resources.threads)
    store = work.store
    first = workers.agree(next((i for i, r in enumerate(work.ids) if not _done(store, r)), len(work.ids)))
    if first < len(work.ids):
        _check_imported(work)
        resume = workers.agree(newest(store, paths.round_folder(work.ids[first])) if workers.rank == 0 else None)
        writer, log = Writer(store, workers), step_log(workers)
        chain = _Chain(work, workers, report, urgent, store, writer, log, lateness(workers.device))
        try:
            with own_faults.faults_as(RunError, own_faults.PROGRAMMING):
                chain.run(first, resume)
            writer.leave()
        except (TiclmError, torch.OutOfMemoryError) as error:
            if workers.rank:  # rank 0 waits for its own thread
                let_publish(work, chain.number)
            if isinstance(error, TiclmError):
                raise
            raise too_large(work.rounds[chain.number].period, chain.job) from error
        finally:
            writer.close()
    return list(work.ids)


def _check_imported(work: ChainWork) -> None:
    """Raise InputError if an imported model's folder has another hash than the rounds' ids were made with."""
    for path, planned in work.imported.items():
        if content(path) != planned:
            raise InputError(f"model folder {path} was changed since the run began; a new run trains with it as it is")


def _done(store: Store, round_id: str) -> bool:
    return read_record(store, paths.round_folder(round_id)) is not None


@dataclass(frozen=True)
class _Launched:
    """A step (from 0) of a round whose numbers were not read yet, its learning rate, this rank's rows, and whether it
    voted for a checkpoint without delay."""

    launched: LaunchedStep
    number: int
    rate: float
    columns: Mapping[str, Tokens]
    alarm: bool


@dataclass
class _Chain:
    """One rank's part of a chain while it trains.

    The numbers of a step are read when `late` more steps are launched, so that a GPU has work while the host reads. All
    are read before a checkpoint, a model or a record is written: what is no number never gets into one.
    """

    work: ChainWork
    workers: Workers
    report: Report
    urgent: Callable[[], bool]
    store: Store
    writer: Writer
    log: StepLog | None
    late: int = 0
    number: int = 0
    job: memory.Workload | None = None
    """What this worker needs memory for now; `jobs`: in each round that trains the module that is placed."""
    jobs: dict[int, memory.Workload] = field(default_factory=dict)

    def run(self, first: int, resume: str | None) -> None:
        """Train the rounds from number `first` on. If `resume` is given, round `first` goes on from that mid-round
        checkpoint."""
        work, workers = self.work, self.workers
        feed = LoaderSpec(
            work.rounds, work.corpora, workers.rank, workers.world, work.last_visible_period, work.micro_rows
        )
        batches: Iterator[RankBatch] | None = None
        module: nn.Module | None = None
        for number in range(first, len(work.rounds)):
            self.number, spec = number, work.rounds[number]
            if module is None or self._is_changed(number):
                self._finish_publishing()  # the module is loaded from the round before
                module = None  # freed before the next is loaded: memory holds one
                module = self._placed(number)
            else:
                module.ticlm_new_adapters = 0  # type: ignore[assignment]
                self.job = self.jobs[number]
            resuming = resume if number == first else None
            running = start(spec, module, workers, feed, resuming is not None)
            if resuming is not None:
                restore(self.store, resuming, running, workers)
            if batches is None:
                batches = stream(feed, (number, running.step), work.resources.carrier)
            name = workers.agree(Attempt(self.store, "").name)
            attempt = Attempt(self.store, paths.round_folder(work.ids[number]), name)
            must_leave = self._train(running, batches, attempt, number)
            self.writer.wait()
            publish(running, work, number, attempt, self.writer)
            if must_leave:  # the next step would not wait for the record
                self._finish_publishing()
            del running  # its optimizer and penalties, before the next are made
        self._finish_publishing()

    def _finish_publishing(self) -> None:
        """Wait until the record of the round before is there, on every rank."""
        self.writer.wait()
        self.workers.barrier()

    def _is_changed(self, number: int) -> bool:
        """Return whether round `number` trains other weights than the round before it."""
        before, now = (self.work.rounds[i].recipe for i in (number - 1, number))
        adds = now.adapter is not None and (now.adapter.per == "round" or now.adapter != before.adapter)
        return adds or now.frozen != before.frozen

    def _placed(self, number: int) -> nn.Module:
        """Return the module that round `number` starts from, with the round's own adapter, sharded on its device."""
        recipe = self.work.rounds[number].recipe
        sharding.check_number_type(
            recipe.precision.compute, torch.device(self.workers.device).type, "precision.compute"
        )
        module = self._starting_module(number)
        adapter_stack.prepare(module, recipe.adapter, recipe.frozen, recipe.seed)
        capacity = sharding.memory_of(self.workers.device)
        jobs = workloads(self.work, self.workers, module, [*self._of_one_module(number)])
        for one, job in jobs.items():
            memory.check(job, capacity, f"period {self.work.rounds[one].period}")
        keep = self.workers.agree(all(memory.keeps_gathered(job, capacity) for job in jobs.values()))
        self.jobs = {one: replace(job, keep_gathered=keep) for one, job in jobs.items()}
        job = self.job = self.jobs[number]
        return sharding.place(
            module, recipe.precision, self.workers, keep_gathered=keep, compile=job.compile, recomputes=job.recompute
        )

    def _of_one_module(self, number: int) -> Iterator[int]:
        """Yield round `number` and those after it that train on with its module."""
        yield number
        for later in range(number + 1, len(self.work.rounds)):
            if self._is_changed(later):
                return
            yield later

    def _starting_module(self, number: int) -> nn.Module:
        """Return the module with the weights that round `number` starts from, whole and on the CPU."""
        work, recipe = self.work, self.work.rounds[number].recipe
        if (parent := work.parent_of(number)) is not None:
            with self.store.local(published(self.store, parent)) as folder:
                return folders.load(folder)
        if recipe.model.kind == "folder":
            with Store(recipe.model.folder).local("") as folder:
                return growth.load(folder, recipe.objective, recipe.model.grow, work.tokenizer, recipe.seed)
        made = build.config(recipe.model, work.vocab_size, work.end_of_text)
        return build.scratch(made, recipe.objective, recipe.seed, recipe.model.initialisation)

    def _train(self, running: RunningRound, batches: Iterator[RankBatch], attempt: Attempt, number: int) -> bool:
        """Train the remaining steps of a round; write its mid-round checkpoints and the models to publish inside it.
        Return whether any rank was in a hurry at its last step."""
        spec, resources = running.round, self.work.resources
        cadence, to_publish = resources.cadence, self.work.mid_round_steps[number] if self.work.mid_round_steps else ()
        saved = reported = running.began = time.monotonic()
        first, was_urgent, launched = running.step, False, list[_Launched]()
        while running.step < spec.steps:
            batch = next(batches)
            if (batch.round, batch.step) != (number, running.step):
                raise RuntimeError(f"expected round {number} step {running.step}, got {batch.round} {batch.step}")
            rate = spec.recipe.schedule.rate(running.step, spec.position)
            for group in running.optimizer.param_groups:
                group["lr"] = rate
            # While something is written, no other checkpoint is begun: the training would wait for it. A checkpoint
            # would be of no use before the record of the round before, because training starts behind the last record.
            clock = not self.writer.is_busy and cadence.due(
                time.monotonic() - saved, self.writer.seconds, running.expected_seconds, self.writer.stall
            )
            # Not asked again before its vote was read: the answer to the next question is that the worker leaves.
            alarm = any(one.alarm for one in launched) or self.urgent()
            step = train_step(
                running.module,
                running.optimizer,
                running.penalties,
                spec.recipe,
                batch.columns,
                self.workers,
                self.work.micro_rows,
                votes=(clock and self.workers.rank == 0, alarm),  # clocks differ: that of rank 0 decides
                dropout_key=running.dropout_key,
            )
            launched.append(_Launched(step, running.step, rate, batch.columns, alarm))
            running.step += 1
            at_step = cadence.steps is not None and running.step % cadence.steps == 0
            stops = at_step or running.step in (*to_publish, spec.steps, self.work.stop_after)
            votes = self._read(launched, 0 if stops else self.late, running, number, attempt)
            due = at_step if cadence.steps is not None else any(clock for clock, _ in votes)
            hurry = not was_urgent and any(urgent for _, urgent in votes)
            if due or hurry:
                votes += self._read(launched, 0, running, number, attempt)
            was_urgent = votes[-1][1] if votes else was_urgent
            stop_if(running.step == self.work.stop_after, running, attempt)
            now = time.monotonic()
            running.trained_steps, running.seconds = running.step - first, now - running.began
            if running.history and (now - reported > 0.5 or running.step == spec.steps):  # a toy's steps: milliseconds
                reported = now
                self.report(self._progress(running, number))
            self.writer.prepare(running)
            if running.step in to_publish:  # before the checkpoint: a restart from it does not come back to this step
                self.writer.wait()  # no record of this round before that of the round before
                running.began += time.monotonic() - now
                publish_mid_round(running, self.work, attempt, self.workers)
            if (due or hurry) and running.step < spec.steps:
                saved = time.monotonic()
                self.writer.save(attempt, running)
                if hurry:
                    self.writer.wait()
                    self.workers.barrier()
        return was_urgent

    def _read(
        self, launched: list[_Launched], keep: int, running: RunningRound, number: int, attempt: Attempt
    ) -> list[tuple[bool, bool]]:
        """Wait for all launched steps but the last `keep`, oldest first, and add them to the history. Returns the votes
        of each: for a checkpoint, and for one without delay. Raises Diverged at the first that is not a number."""
        votes = []
        while len(launched) > keep:
            step = launched.pop(0)
            result = step.launched.measured()
            if not is_finite(result):
                raise diverged(self.work, number, step.number, result, attempt, self.workers.rank == 0)
            if self.log is not None:
                self.log.add(self.work.ids[number], step.number, step.columns)
            running.history.append([result.loss, step.rate, result.gradient_norm])
            votes.append((result.votes[0] > 0, result.votes[1] > 0))
        return votes

    def _progress(self, running: RunningRound, number: int) -> dict[str, Any]:
        before = sum(r.steps for r in self.work.rounds[:number])
        batch_tokens = running.round.recipe.batch_rows * running.round.recipe.length
        loss, rate, norm = running.history[-1]
        return {
            "chain": self.work.label,
            "finished": running.step == running.round.steps,
            "period": running.round.period,
            "step": before + running.step,
            "steps": sum(r.steps for r in self.work.rounds),
            "loss": loss,
            "rate": rate,
            "gradient_norm": norm,
            "tokens_per_s": running.trained_steps * batch_tokens / max(1e-9, running.seconds),
            "tokens": (before + running.step) * batch_tokens,
        }
