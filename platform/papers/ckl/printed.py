"""The scores and the FUARs that CKL prints (`ckl.yaml`), and the FUARs that follow from these scores."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Literal

from pydantic import Field, model_validator

from ticlm.core.settings import Settings, load
from ticlm.platform.analysis.probe_scores import ProbeScores
from ticlm.platform.papers.ckl.fuar import Average, Phase, Question, Ratio, Task, fuar

FOLDER = "platform/papers/ckl"
INITIAL, FIRST_PHASE, LAST = "initial", "phase-1", "last"
"""The checkpoints of a printed chain."""


class PrintedFuar(Settings):
    """The scores of one method, in percent, and the FUAR that stands beside them."""

    scores: tuple[float, ...]
    fuar: float | None
    """None: `no gain`."""
    corrected: float | None = None
    """What the printed scores give, where the printed FUAR is another."""


class CklTable(Settings):
    """One table, or one of the scenarios of Table 3."""

    table: str
    scores: tuple[str, ...]
    """Probe sets in the order of the columns."""
    probes: tuple[int, ...] = ()
    """Number of probes of each set, where it is known."""
    forgotten: tuple[str, ...]
    updated: tuple[str, ...] = ()
    new: tuple[str, ...] = ()
    base: tuple[float, ...]
    """Scores of the initial model."""
    phases: int = Field(1, ge=1)
    """Number of corpora after the initial one. With two, the forgetting of the first one's knowledge is n.d."""
    metric: Literal["exact-match", "f1"] = "exact-match"
    model: str = "T5-large"
    parameters: int = 737_668_096
    """Parameters of the model, without what methods add."""
    note: str = ""
    """Where the table contradicts itself or another one."""
    rows: Mapping[str, PrintedFuar]

    @model_validator(mode="after")
    def _whole(self) -> CklTable:
        for name, values in {"base": self.base, **{name: row.scores for name, row in self.rows.items()}}.items():
            if len(values) != len(self.scores):
                raise ValueError(f"table {self.table}: {name} has {len(values)} values for {len(self.scores)} scores")
        return self

    def question(self, method: str, average: Average = "macro") -> Question:
        """Return what the FUAR of a method is taken over."""
        now, probes = self.rows[method].scores, self.probes or (0,) * len(self.scores)
        found = {
            name: ProbeScores(name, {INITIAL: before, LAST: after}, n)
            for name, before, after, n in zip(self.scores, self.base, now, probes)
        }

        def task(names: Sequence[str]) -> Task:
            return tuple(found[name] for name in names)

        not_defined = [Phase(FIRST_PHASE, ())] * (self.phases - 1)
        phases = (Phase(INITIAL, task(self.forgotten)), *not_defined)
        return Question(phases, LAST, task(self.updated), task(self.new), average)

    def computed(self, method: str, average: Average = "macro") -> Ratio:
        """Return the FUAR that follows from the printed scores of a method."""
        return fuar(self.question(method, average))


class CklTables(Settings):
    """All tables with FUARs."""

    tables: tuple[CklTable, ...]

    def table(self, name: str) -> CklTable:
        return next(one for one in self.tables if one.table == name)


@cache
def ckl_tables() -> CklTables:
    """Load the packaged numbers."""
    return load(CklTables, "ckl", FOLDER)
