"""Conventions: which cells of each task's matrix count, and as what, under the names of the tables that follow them.

Tables that look alike are not always means over the same cells, so a report says whose conventions it follows.
`standard` is App. B.4 of TiC-LM for every task, with TiC-CC only on the months of the checkpoints; it marks runs as
better than the Oracle series only on checkpoints that have an Oracle of their own. `paper` differs in these marks,
which are those of the paper's tables. `paper-1b` is what the printed numbers of the models of 1B parameters follow
(Table 11), which differs from the text.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, field_validator

from ticlm.core.errors import InputError
from ticlm.core.periods import Label, Period, span
from ticlm.core.settings import Settings, load
from ticlm.platform.analysis.transfer import Cells, Mask, TransferRule, classify

FOLDER = "platform/presets"
STANDARD = "standard"
"""The preset of every report that names none."""
RULES = {
    "nearest_preceding_exclusive": (
        "the newest evaluated period that has begun when the checkpoint's period ends; if several share it, "
        "it is ID for the first of them and past for the others"
    ),
    "nearest_preceding": "the newest evaluated period that has begun when the checkpoint's period ends",
    "exact": "an evaluated period that begins within the checkpoint's period",
    "contain": "an evaluated period that holds the last day of the checkpoint's period",
}
"""Which evaluated period is in-distribution, in words; an evaluation counts by its first day (see `describe`)."""


class Convention(TransferRule):
    """How the means of one task are taken: by which rule, over which checkpoints and evaluated periods, and which runs
    are marked."""

    first_checkpoint: Label | None = None
    """The first checkpoint that counts: those whose period starts earlier are left out."""
    evaluated_periods: tuple[Label, ...] | Literal["all", "checkpoints"] = "all"
    """Evaluated periods that count. `checkpoints`: only those that are also the period of a checkpoint, which leaves
    out the column of an initial month that is not scored as a checkpoint."""
    highlight: Literal["beats", "beats_or_within_std"] = "beats_or_within_std"
    """When to mark a continual run against the Oracle series: if it is better (Table 2), or also if it is no more than
    one standard deviation worse (Table 3)."""

    oracle_rows: Literal["own", "carried"] = "own"
    """Checkpoints on which a run is compared with the Oracle series for its marks.

    - `own`: only those that an Oracle was trained to.
    - `carried`: all of them. Where there is no such Oracle, the newest older one stands for it, which saw less than the
      run (so in TiC-LM's Tables 2 and 3, with 7 cutoffs for 12 checkpoints)."""

    @field_validator("first_checkpoint", "evaluated_periods")
    @classmethod
    def _spans(cls, value: object) -> object:
        for label in value if isinstance(value, tuple) else [value] if isinstance(value, str) else []:
            if label not in ("all", "checkpoints"):
                span(label)
        return value

    def cells(self, trained: Sequence[Period], evaluated: Sequence[Period]) -> Cells:
        """Return which cells [trained, evaluated] are backward, in-distribution and forward; a cell that does not count
        is none of these.

        Cells that do not count are left out first, so that under the exclusive rule they claim no evaluation either.
        """
        rows, columns = self.rows(trained), self.columns(trained, evaluated)
        kept = classify([trained[i] for i in rows], [evaluated[j] for j in columns], self)
        shape = (len(trained), len(evaluated))
        return Cells(
            *(_within(mask, rows, columns, shape) for mask in (kept.backward, kept.in_distribution, kept.forward))
        )

    def describe(self) -> str:
        """Return the convention in words, for a page."""
        parts = [f"ID is {RULES[self.id_rule]}"]
        if self.bwd_includes_id:
            parts.append("cells that are ID count in Bwd. too")
        if self.period == "end":
            parts.append("an evaluated period counts by its last day, not by its first")
        if self.first_checkpoint is not None:
            parts.append(f"checkpoints before {self.first_checkpoint} are left out")
        match self.evaluated_periods:
            case "checkpoints":
                parts.append("only evaluated periods that are also a checkpoint's count")
            case tuple(labels):
                parts.append(f"only the evaluated periods {', '.join(labels)} count")
        if self.oracle_rows == "carried":
            parts.append("marks compare all checkpoints, with an older Oracle where there is none of the same cutoff")
        return "; ".join(parts)

    def rows(self, trained: Sequence[Period]) -> NDArray[np.intp]:
        """Return the positions of the checkpoints that count."""
        first = None if self.first_checkpoint is None else span(self.first_checkpoint)[0]
        return np.array([i for i, t in enumerate(trained) if first is None or t.start >= first], np.intp)

    def columns(self, trained: Sequence[Period], evaluated: Sequence[Period]) -> NDArray[np.intp]:
        """Return the positions of the evaluated periods that count, however their labels are written. Raises InputError
        if a named period is not evaluated."""
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
    """A convention for each task: that of the first pattern that matches the task's name, else `default`."""

    default: Convention = Convention()
    """The convention of every task that no pattern of `by_task` matches."""
    by_task: dict[str, Convention] = Field(default_factory=dict)
    """Conventions by pattern, such as `stackexchange-*`. Patterns match names without their version, ignoring case."""

    def of(self, task: str) -> Convention:
        """Return the convention of a task, given as `name` or `name@version`."""
        name = task.partition("@")[0].lower()
        return next((c for pattern, c in self.by_task.items() if fnmatchcase(name, pattern.lower())), self.default)

    def describe(self, tasks: Iterable[str]) -> list[str]:
        """Return a line for each convention that these tasks follow; it names its tasks if there are several lines."""
        users: dict[Convention, list[str]] = {}
        for task in dict.fromkeys(filter(None, tasks)):
            users.setdefault(self.of(task), []).append(task)
        lines = [(", ".join(names), convention.describe()) for convention, names in users.items()]
        return [f"{names}: {text}" if len(lines) > 1 else text for names, text in lines]


def named(name: str = STANDARD) -> Preset:
    """Load the preset that is packaged under this name, or a YAML file by its path or URI."""
    return load(Preset, name, FOLDER)


def _check_named(labels: Sequence[str], evaluated: Sequence[Period]) -> None:
    known = {(period.start, period.end) for period in evaluated}
    for label in labels:
        if span(label) not in known:
            there = ", ".join(period.label for period in evaluated)
            raise InputError(f"evaluated_periods: {label} is none of the evaluated periods of its task: {there}")


def _within(mask: Mask, rows: NDArray[np.intp], columns: NDArray[np.intp], shape: tuple[int, int]) -> Mask:
    """Return a mask of some rows and columns as a mask of the whole matrix, False elsewhere."""
    whole = np.zeros(shape, dtype=bool)
    whole[np.ix_(rows, columns)] = mask
    return whole
