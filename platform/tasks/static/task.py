"""Static tasks: benchmarks without periods, for what a model can do in general (CORE: TiC-LM, section 4)."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from importlib.util import find_spec
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

from pydantic import BeforeValidator, Field, model_validator

from ticlm.platform.core import settings
from ticlm.platform.core.errors import InputError
from ticlm.platform.core.periods import Label
from ticlm.platform.tasks.base import Measurement, Task
from ticlm.platform.tasks.static.part import CORE, NEEDS_HARNESS, Part

if TYPE_CHECKING:
    from ticlm.platform.tasks.answerer import Answerer
    from ticlm.platform.tasks.cell import Cell

ACCURACY, CHANCE, CENTERED = "accuracy", "chance", "centered"


def _parts(value: Any) -> Any:
    """`core`, or a list in which a task of CORE stands by its name, alone or with what is different."""
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
    """Shares of right answers on benchmarks without periods, asked through lm-evaluation-harness.

    Its mean over the parts goes by the task's own name: for CORE `core`, the plain mean that the paper gives, and
    `core-centered`, DCLM's mean of (accuracy − baseline) / (1 − baseline).
    """

    kind: Literal["static"] = "static"
    name: str = "core"
    tasks: Annotated[tuple[Part, ...], BeforeValidator(_parts), Field(min_length=1)] = CORE
    files: str = ""
    """Folder of the task files (DCLM's `eval/local_data`): a path or URI."""
    checkpoints: tuple[Label, ...] | Literal["last", "all"] = "last"
    """Whose are scored: of each run the last, as in the paper; all that the study evaluates; or these."""
    max_examples: int | None = Field(None, gt=0)
    """The first so many questions of each part alone."""
    prepare: None = None
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

    def part(self, name: str) -> Part:
        return next(part for part in self.tasks if part.name == name)

    def alone(self, name: str) -> Static:
        """What determines the answers to one part: no other part, no place, no choice of checkpoints."""
        return self.model_copy(
            update={"tasks": (self.part(name).identity,), "files": "", "checkpoints": "all", "name": "static"}
        )

    def scores(self, trained: str, labels: Sequence[str]) -> bool:
        """Whether a run's checkpoint of this period is asked; `labels` are all periods that the run trains on."""
        if self.checkpoints == "last":
            return trained == labels[-1]
        return self.checkpoints == "all" or trained in self.checkpoints

    def hashes(self) -> dict[str, str]:
        """Of what each part asks, by name; InputError where a file is missing."""
        return {part.name: part.sha256(self.files) for part in self.tasks}

    def measure(self, answerer: Answerer, data: None, period: str, rows: int) -> Iterator[Measurement]:
        """The numbers of the part named by `period`: `accuracy`, and `chance`, what a blind choice would get."""
        from ticlm.platform.tasks.documents import left_out
        from ticlm.platform.tasks.questions import shortened

        require_harness()
        from ticlm.platform.tasks.static import harness

        found = harness.found(self.part(period), self.files, answerer, self.max_examples)
        if found.n:
            yield Measurement(ACCURACY, found.accuracy, found.n, found.stderr, period)
            yield Measurement(CHANCE, found.chance, found.n, None, period)
        for one in (*left_out(found.left_out), *shortened(found.cut)):
            yield replace(one, source=period)

    def rows(self, cells: Sequence[Cell]) -> list[Measurement]:
        """What to show of one checkpoint's cells: of each part `accuracy` and `centered`, and the means over all parts
        (source ""), once all are there."""
        found: dict[str, dict[str, Cell]] = {}
        for cell in cells:
            found.setdefault(cell.source, {})[cell.metric] = cell
        parts = {part.name: self._centered(part, found.get(part.name, {})) for part in self.tasks}
        return [*self._means(parts), *(one for part in parts.values() for one in part.values())]

    def _centered(self, part: Part, cells: Mapping[str, Cell]) -> dict[str, Measurement]:
        shown = {
            name: Measurement(name, cell.value, cell.n, cell.stderr, part.name)
            for name, cell in cells.items()
            if name != CHANCE
        }
        if ACCURACY in cells and CHANCE in cells:
            base = cells[CHANCE].value if part.baseline is None else part.baseline
            value, error = (cells[ACCURACY].value - base) / (1 - base), cells[ACCURACY].stderr
            scaled = None if error is None else error / (1 - base)
            shown[CENTERED] = Measurement(CENTERED, value, cells[ACCURACY].n, scaled, part.name)
        return shown

    def _means(self, parts: Mapping[str, Mapping[str, Measurement]]) -> Iterator[Measurement]:
        for metric, name in ((ACCURACY, self.name), (CENTERED, f"{self.name}-{CENTERED}")):
            values = [part[metric] for part in parts.values() if metric in part]
            if len(values) == len(self.tasks):
                errors = [one.stderr for one in values if one.stderr is not None]
                whole = math.sqrt(sum(e * e for e in errors)) / len(values) if len(errors) == len(values) else None
                yield Measurement(name, sum(one.value for one in values) / len(values), sum(v.n for v in values), whole)


def require_harness() -> None:
    """InputError where lm-evaluation-harness is not installed."""
    if find_spec("lm_eval") is None:
        raise InputError(NEEDS_HARNESS)
