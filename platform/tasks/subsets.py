"""Tasks whose labels are subsets of a set of examples, or its periods."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Literal

from pydantic import Field, model_validator

from ticlm.core import settings
from ticlm.core.errors import InputError
from ticlm.core.fingerprint import fingerprint
from ticlm.core.mixture import Subset
from ticlm.core.settings import Settings
from ticlm.platform.tasks.cells.cell import Axis
from ticlm.platform.tasks.documents import ExamplesTask, blocks

if TYPE_CHECKING:
    from ticlm.core.examples import Example, Examples
    from ticlm.platform.tasks.base import Data, Task


class ProbeSet(Settings):
    """One subset of the probes, a label of its own, and the lengths that differ for it."""

    subset: Subset
    """The subset of the set of examples; it is the label in results."""
    tokens: int | None = Field(None, gt=0)
    """The largest number of tokens of an answer; by default the task's."""
    longest_input: int | None = Field(None, gt=0)
    """How many tokens of a question are read; by default the task's."""
    cut_answers: bool = False
    """Cut right answers to `tokens` tokens, as the code released with CKL does for InvariantLAMA alone."""


class SubsetsTask(ExamplesTask):
    """Base of tasks on subsets of examples.

    With `sets`, the labels are their subsets, each over all periods of the set of examples. Without, `split` is asked
    and the labels are the set's periods, so that the cells make a matrix.
    """

    sets: tuple[ProbeSet, ...] = ()
    """The subsets to ask, each a label with lengths of its own; by default `split`, with the periods as labels."""
    evaluated: Literal["all", "own"] = "all"
    """Which periods to ask a checkpoint about: `all`, or its `own` alone, and the first checkpoint of a run about all.
    A table that compares each checkpoint with the first one needs no more (EvolvingQA, Table 3)."""

    def without_meaning(self) -> frozenset[str]:
        return super().without_meaning() | ({"evaluated"} if self.evaluated == "all" else frozenset())

    @model_validator(mode="after")
    def _checked_sets(self) -> SubsetsTask:
        if self.sets and self.evaluated == "own":
            raise ValueError("evaluated: own needs periods as labels; leave out sets")
        names = [one.subset for one in self.sets]
        twice = next((name for name in names if names.count(name) > 1), None)
        if twice is not None:
            raise ValueError(f"sets: {twice} is named twice")
        return self

    @property
    def keeps_predictions(self) -> bool:
        return True

    @property
    def axis(self) -> Axis:
        return "probe" if self.sets else "period"

    def labels(self, data: Data, periods: Sequence[str]) -> tuple[str, ...]:
        return tuple(one.subset for one in self.sets) or super().labels(data, periods)

    def hashes(self, data: Data, labels: Sequence[str]) -> dict[str, str]:
        """Return the hash of the data at each label. Raises InputError if no period has a subset."""
        if not self.sets:
            return super().hashes(data, labels)
        assert data is not None
        known = dict.fromkeys(s for p in data.periods.values() for s in p.subsets)  # type: ignore[union-attr]
        if lacking := [label for label in labels if label not in known]:
            has = f"{data.info.id} has no subset {', '.join(lacking)}; it has {', '.join(known)}"
            raise InputError(f"{self.name}: {has}{_made_of(data.info.id, lacking)}")
        found: dict[str, str] = {}
        for label in labels:
            having = [p.subsets[label] for p in data.periods.values() if label in p.subsets]  # type: ignore[union-attr]
            if any(one.rows for one in having):
                found[label] = having[0].sha256 if len(having) == 1 else fingerprint([one.sha256 for one in having])
        return found

    @property
    def is_own_period_only(self) -> bool:
        return self.evaluated == "own"

    def identity_at(self, label: str) -> Task:
        mine = tuple(one for one in self.sets if one.subset == label)
        return self.model_copy(update={"examples": "", "sets": mine, "evaluated": "all"})

    def lengths(self, label: str) -> ProbeSet:
        """Return the lengths that hold at a label."""
        return next((one for one in self.sets if one.subset == label), ProbeSet(subset=self.split))

    def blocks_at(self, data: Examples, label: str, rows: int) -> Iterator[list[Example]]:
        """Yield the examples of a label in lists of at most `rows`."""
        if not self.sets:
            yield from blocks(data, label, self.split, rows)
            return
        for period, held in data.periods.items():
            if label in held.subsets:
                yield from blocks(data, period, label, rows)


def _made_of(name: str, subsets: Sequence[str]) -> str:
    """Return which files make these subsets of a set, `name@version`, if its packaged recipe says so; else nothing."""
    own, _, version = name.partition("@")
    if own not in settings.packaged(settings.RECIPES):
        return ""
    sets = settings.resolved(Settings, own, settings.RECIPES)[0].get("examples", {}).get("sets", {})
    files = [sets[subset]["rows"] for subset in subsets if subset in sets]
    if not files:
        return ""
    build = f"{settings.build_command(own)} --set version={version}-whole"
    return f". {' and '.join(files)} make it: `{build}`, and `examples: {own}@{version}-whole` in the study"
