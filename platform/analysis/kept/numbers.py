"""All numbers of gains and losses of one study, by method."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from ticlm.platform.analysis.age.changes import month_text
from ticlm.platform.analysis.kept.facts import ChangeReader, CheckpointFacts, FactShare, month_before
from ticlm.platform.analysis.kept.losses import BaseDifferences
from ticlm.platform.results.study_result import StudyResult

COLUMNS = ("study", "method", "measure", "task", "value", "stderr", "n", "of_base")
"""Columns of `records`: `value` is a difference from the base in nats per token, or a share; `of_base` is the same
share of the base."""
EDGES = ("study", "method", "trained", "edge", "low", "high", "p", "is_known", "is_open")
"""Columns of `edges`."""


@dataclass(frozen=True)
class KeptNumbers:
    """What the methods of a study gained and lost. Tasks that are not named are found by what they measure."""

    study: StudyResult
    new_task: str = ""
    general_tasks: Sequence[str] = ()
    facts_task: str = ""

    @property
    def methods(self) -> list[str]:
        return [one.name for one in self.study.methods if one.is_run]

    @cached_property
    def new(self) -> BaseDifferences:
        return BaseDifferences(self.study, (self.new_task and self._id(self.new_task)) or self._first_on_own_periods())

    @cached_property
    def general_losses(self) -> list[BaseDifferences]:
        """The tasks with a loss on periods of their own."""
        own = [self._id(name) for name in self.general_tasks] or list(self.study.evaluated_by_task)
        return [BaseDifferences(self.study, task) for task in own if self._has_loss(task)]

    @cached_property
    def general_parts(self) -> list[str]:
        """The tasks without periods."""
        known = dict.fromkeys(self.study.static["task"])
        own = [self._id(name) for name in self.general_tasks] or list(known)
        dated = set() if self.study.dated_changes is None else set(self.study.dated_changes["task"])
        return [task for task in own if task in known and task not in dated and task not in self.study.prompts]

    @cached_property
    def asked_facts(self) -> str:
        """The id of the task of dated facts, or empty."""
        known = self.study.dated_changes
        if known is None:
            return ""
        return self._id(self.facts_task) if self.facts_task else str(known["task"].iloc[0])

    def last_facts(self, method: str) -> CheckpointFacts | None:
        """Return what the last checkpoint of a method answered; None if only the base was asked."""
        _, *later = self.facts[method]
        return later[-1] if later else None

    @cached_property
    def facts(self) -> dict[str, list[CheckpointFacts]]:
        """Method -> its checkpoints' answers, those of the base first; none if no dated facts are asked."""
        known, answers, new = self.study.dated_changes, self.study.predictions, self.new
        if known is None or answers is None or new.base_ends is None:
            return {}
        reader = ChangeReader(self.study, self.asked_facts, (new.run, new.base), month_before(new.base_ends))
        base, *others = reader.checkpoints(self.methods)
        return {name: [base, *(one for one in others if one.method == name)] for name in self.methods}

    def records(self) -> Iterator[dict[str, Any]]:
        """Yield a row of COLUMNS for each number of the table."""
        for name in self.methods:
            own = {"study": self.study.name, "method": name}
            new = self.new
            losses = [("new", new.new(name)), ("since base", new.since_base(name)), ("old", new.old(name))]
            told = [(measure, new.task, change) for measure, change in losses]
            told += [("general", of.task, of.at_end(name)) for of in self.general_losses]
            for measure, task, change in told:
                if change is not None:
                    numbers = {"value": change.value, "stderr": change.stderr, "n": change.cells, "of_base": 0.0}
                    yield {**own, "measure": measure, "task": task, **numbers}
            for task in self.general_parts:
                if (value := self.part_change(task, name)) is not None:
                    yield {**own, "measure": "general", "task": task, "value": value, "of_base": 0.0}
            if self.facts and (last := self.last_facts(name)) is not None:
                shares = (("as base", last.as_base, 1.0), ("updated", last.updated, _value(last.updated_by_base)))
                for measure, share, of_base in shares:
                    if share is not None:
                        numbers = {"value": share.value, "stderr": share.stderr, "n": share.n, "of_base": of_base}
                        yield {**own, "measure": measure, "task": self.asked_facts, **numbers}

    def edges(self) -> Iterator[dict[str, Any]]:
        """Yield a row of EDGES for each checkpoint of each method, and for the base."""
        for name, checkpoints in self.facts.items():
            for one in checkpoints:
                if one.edge is not None:
                    yield {
                        "study": self.study.name,
                        "method": name,
                        "trained": one.trained,
                        "edge": month_text(one.edge.month),
                        "low": month_text(one.edge.low),
                        "high": month_text(one.edge.high),
                        "p": one.edge.p,
                        "is_known": one.edge.is_known,
                        "is_open": one.edge.is_open,
                    }

    def part_change(self, task: str, method: str) -> float | None:
        """Return by how much the mean of a task without periods differs from the base's; None if one is missing."""
        metric = self.study.metric(task).name
        frame = self.study.static
        own = frame[(frame["task"] == task) & (frame["source"] == "") & (frame["metric"] == metric)]
        base = own[(own["method"] == self.new.run) & (own["trained"] == self.new.base)]["value"]
        scored = own[(own["method"] == method) & (own["trained"] != self.new.base)]
        order = list(self.study.timeline.labels)
        if not len(base) or not len(scored):
            return None
        last = max(scored["trained"], key=order.index)
        return float(scored[scored["trained"] == last]["value"].mean() - base.mean())

    def cost(self, name: str) -> tuple[float, float]:
        """Return the tokens and FLOPs of a method's updates, its first seed's, up to the last one that is planned."""
        costs = self.study.costs
        own = costs[costs["method"] == name]
        if not len(own):
            return math.nan, math.nan
        own = own[own["seed"] == own["seed"].min()]
        base = own[own["trained"] == self.new.base]
        tokens, flops = (float(own[one].max() - base[one].sum()) for one in ("tokens", "flops"))
        return tokens, flops

    def _id(self, name: str) -> str:
        """Return the id of the task that a setting names."""
        known = [*dict.fromkeys(self.study.cells["task"]), *dict.fromkeys(self.study.static["task"])]
        if self.study.dated_changes is not None:
            known += list(dict.fromkeys(self.study.dated_changes["task"]))
        return next((one for one in known if name in (one, one.partition("@")[0])), name)

    def _first_on_own_periods(self) -> str:
        own = (task for task in dict.fromkeys(self.study.cells["task"]) if task not in self.study.evaluated_by_task)
        return next((task for task in own if self._has_loss(task)), "")

    def _has_loss(self, task: str) -> bool:
        return self.study.metric(task).name == "nll"


def _value(share: FactShare | None) -> float:
    return math.nan if share is None else share.value
