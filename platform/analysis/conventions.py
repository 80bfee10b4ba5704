"""Which cells of each task's matrix count, and as what: the conventions that published tables follow, by name.

Tables that look alike are not always means over the same cells, so a report says whose conventions it follows. `paper`
is App. B.4 of TiC-LM for every task, TiC-CC on the months of the checkpoints alone; `paper-1b` is what the printed
numbers of the models of 1B parameters follow (Table 11), which differs from the text.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, field_validator

from ticlm.platform.analysis.transfer import Cells, Mask, TransferRule, classify
from ticlm.platform.core.errors import InputError
from ticlm.platform.core.periods import Label, Period, span
from ticlm.platform.core.settings import Settings, load

FOLDER = "platform/presets"
RULES = {
    "nearest_preceding_exclusive": (
        "a checkpoint's nearest preceding evaluation, which only the first checkpoint after it claims"
    ),
    "nearest_preceding": "a checkpoint's nearest preceding evaluation",
    "exact": "an evaluation within the checkpoint's period",
    "contain": "an evaluation whose period holds the checkpoint's last day",
}


class Convention(TransferRule):
    """How one task's means are taken: the rule, over which checkpoints and evaluated periods, and what is marked."""

    first_checkpoint: Label | None = None
    """Checkpoints whose period starts earlier than this one's do not count."""
    evaluated_periods: tuple[Label, ...] | Literal["all", "checkpoints"] = "all"
    """Evaluated periods that count; `checkpoints`: those that are the period of a checkpoint too, which leaves out
    the column of an initial month that is not scored as a checkpoint."""
    highlight: Literal["beats", "beats_or_within_std"] = "beats_or_within_std"
    """When a continual run is marked against the Oracle series: where it is better (Table 2), or also where it is no
    more than one standard deviation worse (Table 3)."""

    @field_validator("first_checkpoint", "evaluated_periods")
    @classmethod
    def _spans(cls, value: object) -> object:
        for label in value if isinstance(value, tuple) else [value] if isinstance(value, str) else []:
            if label not in ("all", "checkpoints"):
                span(label)
        return value

    def cells(self, trained: Sequence[Period], evaluated: Sequence[Period]) -> Cells:
        """Which cells [trained, evaluated] are of which kind; those that do not count are of none.

        What does not count is left out first, so that under the exclusive rule it claims no evaluation either.
        """
        rows, columns = self.rows(trained), self.columns(trained, evaluated)
        kept = classify([trained[i] for i in rows], [evaluated[j] for j in columns], self)
        shape = (len(trained), len(evaluated))
        return Cells(
            *(_within(mask, rows, columns, shape) for mask in (kept.backward, kept.in_distribution, kept.forward))
        )

    def describe(self) -> str:
        """The convention in words, for a page."""
        said = [f"in-distribution is {RULES[self.id_rule]}" + ", and counts as backward too" * self.bwd_includes_id]
        said.append(f"a period is placed by its {self.period}")
        if self.first_checkpoint is not None:
            said.append(f"checkpoints from {self.first_checkpoint}")
        match self.evaluated_periods:
            case "checkpoints":
                said.append("evaluated periods that are a checkpoint's too")
            case tuple(labels):
                said.append(f"evaluated periods {', '.join(labels)}")
        return "; ".join(said)

    def rows(self, trained: Sequence[Period]) -> NDArray[np.intp]:
        """Positions of the checkpoints that count."""
        first = None if self.first_checkpoint is None else span(self.first_checkpoint)[0]
        return np.array([i for i, t in enumerate(trained) if first is None or t.start >= first], np.intp)

    def columns(self, trained: Sequence[Period], evaluated: Sequence[Period]) -> NDArray[np.intp]:
        """Positions of the evaluated periods that count, however their labels are written. InputError where one that is
        named is not evaluated."""
        match self.evaluated_periods:
            case "all":
                return np.arange(len(evaluated))
            case "checkpoints":
                allowed = {(trained[i].start, trained[i].end) for i in self.rows(trained)}
            case labels:
                allowed = {span(label) for label in labels}
                _check_named(labels, evaluated)
        return np.array([j for j, e in enumerate(evaluated) if (e.start, e.end) in allowed], np.intp)


class Preset(Settings):
    """A convention for each task: that of the first pattern that fits the task's name, else `default`."""

    default: Convention = Convention()
    by_task: dict[str, Convention] = Field(default_factory=dict)
    """Patterns such as `stackexchange-*`, of names without versions and without regard to case."""

    def of(self, task: str) -> Convention:
        """The convention of a task, given as `name` or `name@version`."""
        name = task.partition("@")[0].lower()
        return next((c for pattern, c in self.by_task.items() if fnmatchcase(name, pattern.lower())), self.default)

    def describe(self, tasks: Iterable[str]) -> list[str]:
        """A line for each convention that these tasks go by, naming them where there are several."""
        of: dict[Convention, list[str]] = {}
        for task in dict.fromkeys(filter(None, tasks)):
            of.setdefault(self.of(task), []).append(task)
        return [f"{', '.join(names)}: {one.describe()}" if len(of) > 1 else one.describe() for one, names in of.items()]


def named(name: str = "paper") -> Preset:
    """The preset packaged under this name, or that of a YAML file or URI."""
    return load(Preset, name, FOLDER)


def _check_named(labels: Sequence[str], evaluated: Sequence[Period]) -> None:
    known = {(one.start, one.end) for one in evaluated}
    for label in labels:
        if span(label) not in known:
            there = ", ".join(one.label for one in evaluated)
            raise InputError(f"evaluated_periods: {label} is none of the evaluated periods of its task: {there}")


def _within(mask: Mask, rows: NDArray[np.intp], columns: NDArray[np.intp], shape: tuple[int, int]) -> Mask:
    """A mask of some rows and columns as one of the whole matrix, False elsewhere."""
    whole = np.zeros(shape, dtype=bool)
    whole[np.ix_(rows, columns)] = mask
    return whole
