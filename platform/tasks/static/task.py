"""Static tasks: benchmarks without periods, which show what a model can do in general (CORE: TiC-LM, section 4)."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

from pydantic import BeforeValidator, Field, model_validator

from ticlm.core import settings
from ticlm.core.extras import Extra
from ticlm.core.periods import Label
from ticlm.platform.tasks.base import Measurement, Reads, Task
from ticlm.platform.tasks.cells.cell import Axis
from ticlm.platform.tasks.static.part import CORE, HARNESS, Part

if TYPE_CHECKING:
    from ticlm.platform.tasks.answerer import Answerer
    from ticlm.platform.tasks.base import Data
    from ticlm.platform.tasks.cells.cell import Cell

ACCURACY, CHANCE, CENTERED = "accuracy", "chance", "centered"


def _parts(value: Any) -> Any:
    """Return the parts that `tasks:` names: `core`, or a list in which a part of CORE may be given by its name, alone
    or together with the fields that differ."""
    if value == "core":
        return CORE
    known = {part.name: part for part in CORE}

    def part(entry: Any) -> Any:
        if isinstance(entry, str):
            if entry not in known:
                raise ValueError(f"no task {entry!r} in CORE; it has {', '.join(known)}")
            return known[entry]
        if isinstance(entry, dict) and entry.get("name") in known and not entry.keys() & {"file", "harness"}:
            return settings.merged(known[entry["name"]].model_dump(), entry)
        return entry

    return [part(entry) for entry in value] if isinstance(value, list | tuple) else value


class Static(Task):
    """Shares of right answers on benchmarks without periods, scored through lm-evaluation-harness.

    A task has several parts, each a benchmark. The mean over the parts has the task's own name: for CORE it is `core`,
    the plain mean that the paper gives. `core-centered` is DCLM's mean of (accuracy − baseline) / (1 − baseline).
    """

    kind: Literal["static"] = "static"
    name: str = "core"
    """Name of the mean in results."""
    tasks: Annotated[
        tuple[Part, ...],
        BeforeValidator(_parts, json_schema_input_type=Literal["core"] | tuple[str | Part, ...]),
        Field(min_length=1),
    ] = CORE
    """The benchmarks, or the name of a packaged list (`core`)."""
    files: str = ""
    """Folder of the task files (DCLM's `eval/local_data`): a path or a URI."""
    checkpoints: tuple[Label, ...] | Literal["last", "all"] = "last"
    """Which checkpoints to score: the `last` of each run (as in the paper), `all` that the study evaluates, or those of
    the listed periods."""
    max_examples: int | None = Field(None, gt=0)
    """Score only the first N questions of each part."""
    prepare: None = None
    """Not available for tasks without periods."""
    reads: ClassVar[Reads] = "nothing"
    metric: ClassVar[str] = ACCURACY
    higher_is_better: ClassVar[bool] = True

    @model_validator(mode="after")
    def _whole(self) -> Static:
        names = [part.name for part in self.tasks]
        twice = sorted({name for name in names if names.count(name) > 1})
        if twice:
            raise ValueError(f"tasks: {twice[0]} is named twice; give each its own name")
        lost = [p.file for p in self.tasks if p.file and "://" not in p.file and not p.file.startswith(("/", "~"))]
        if lost and not self.files:
            raise ValueError(f"files is required: the folder in which {lost[0]} lies (DCLM's eval/local_data)")
        return self

    @property
    def axis(self) -> Axis:
        return "part"

    @property
    def chosen_checkpoints(self) -> tuple[Label, ...] | Literal["last", "all"]:
        return self.checkpoints

    def part(self, name: str) -> Part:
        return next(part for part in self.tasks if part.name == name)

    def labels(self, data: Data, periods: Sequence[str]) -> tuple[str, ...]:
        return tuple(part.name for part in self.tasks)

    def hashes(self, data: Data, labels: Sequence[str]) -> dict[str, str]:
        """Return the SHA-256 of the questions of each part. Raises InputError if a file is missing."""
        return {label: self.part(label).sha256(self.files) for label in labels}

    def identity_at(self, label: str) -> Static:
        """Return the task with this part alone, without the folder of its file and the choice of checkpoints."""
        part = self.part(label).identity
        return self.model_copy(update={"tasks": (part,), "files": "", "checkpoints": "all", "name": "static"})

    def extras(self) -> tuple[Extra, ...]:
        return (HARNESS,)

    def measure(self, answerer: Answerer, data: None, label: str, rows: int) -> Iterator[Measurement]:
        """Yield the measurements of one part: `accuracy`, and `chance`, the accuracy of a blind choice."""
        from ticlm.platform.tasks.documents import left_out
        from ticlm.platform.tasks.questions import shortened

        self.require()
        from ticlm.platform.tasks.static import harness

        result = harness.run_part(self.part(label), self.files, answerer, self.max_examples)
        if result.n:
            yield Measurement(ACCURACY, result.accuracy, result.n, result.stderr)
            yield Measurement(CHANCE, result.chance, result.n)
        yield from left_out(result.left_out)
        yield from shortened(result.cut)

    def table(self, cells: Sequence[Cell]) -> list[Measurement]:
        """Return `accuracy` and `centered` of each part, and the means over all parts (source "") once all parts are
        there."""
        by_part: dict[str, dict[str, Measurement]] = {}
        for cell in cells:
            row = Measurement.of(cell, cell.evaluated)
            by_part.setdefault(cell.evaluated, {})[row.title] = row
        parts = {part.name: _centered(part, by_part.get(part.name, {})) for part in self.tasks}
        return [*self._means(parts), *(row for rows in parts.values() for row in rows.values())]

    def _means(self, parts: Mapping[str, Mapping[str, Measurement]]) -> Iterator[Measurement]:
        for metric, name in ((ACCURACY, self.name), (CENTERED, f"{self.name}-{CENTERED}")):
            rows = [part[metric] for part in parts.values() if metric in part]
            if len(rows) == len(self.tasks):
                errors = [row.stderr for row in rows if row.stderr is not None]
                stderr = math.sqrt(sum(e * e for e in errors)) / len(rows) if len(errors) == len(rows) else None
                yield Measurement(name, sum(row.value for row in rows) / len(rows), sum(row.n for row in rows), stderr)


def _centered(part: Part, rows: Mapping[str, Measurement]) -> dict[str, Measurement]:
    """Return the rows of a part without `chance`, and with `centered`: (accuracy − baseline) / (1 − baseline)."""
    shown = {title: row for title, row in rows.items() if title != CHANCE}
    if ACCURACY in rows and CHANCE in rows:
        base = rows[CHANCE].value if part.baseline is None else part.baseline
        accuracy = rows[ACCURACY]
        stderr = None if accuracy.stderr is None else accuracy.stderr / (1 - base)
        value = (accuracy.value - base) / (1 - base)
        shown[CENTERED] = Measurement(CENTERED, value, accuracy.n, stderr, part.name)
    return shown
