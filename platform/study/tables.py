"""Tables and charts that a study asks its report for, besides those that every report has.

Such a setting names tasks of `evaluations` and reaches no round and no cell, so it can be added to a study that has
run. What is made of it stands on higher floors: in the folder of a paper, or in a class of the user's own.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Sequence
from typing import Annotated, Any, ClassVar, Self

from pydantic import TypeAdapter

from ticlm.core.extensions import TABLES
from ticlm.core.reading.kinds import Kinds
from ticlm.core.settings import Settings
from ticlm.platform.tasks.base import Task, whole_task

SAYS = "says"
KINDS = {
    "fuar": "ticlm.platform.papers.ckl.part:Fuar",
    "probes": "ticlm.platform.papers.ckl.part:Probes",
    "evolving": "ticlm.platform.papers.evolvingqa.part:Evolving",
    "temporalwiki": "ticlm.platform.papers.temporalwiki.part:FactPairs",
    "claims": "ticlm.platform.display.claims.part:Claims",
    "kept": "ticlm.platform.display.kept.part:Kept",
    "hops": "ticlm.platform.display.hops.part:HopTables",
    SAYS: "ticlm.platform.display.says:Says",
}
"""Kind of tables -> import path of its settings. A paper is named here and in its own folder."""


class TableRequest(Settings):
    """What a study asks its report for; `display.parts.Tables` adds what is made of it."""

    not_tasks: ClassVar[frozenset[str]] = frozenset({"kind", "name"})
    """Fields in which no task is named."""
    shows_construction: ClassVar[bool] = False
    """Whether the tables say how the sets were built that their tasks ask."""
    has_number_of_run: ClassVar[bool] = False
    """Whether the tables have one number for each run, which claims may be about."""
    name: str
    """Name of these tables in reports."""

    @property
    def numbers_of_run(self) -> tuple[str, ...]:
        """The numbers that claims may be about: `NAME`, or `NAME/PART` for each of several."""
        return (self.name,) if self.has_number_of_run else ()

    @abstractmethod
    def named(self) -> Iterable[tuple[str, str]]:
        """Yield (setting, task) of every task that it names. A task is named as in `evaluations`, with or without its
        version; `TASK/SET` names one set of it."""

    def named_entries(self) -> Iterable[tuple[str, str]]:
        """Yield (setting, name) of every other entry of `tables` whose number of a run it reads."""
        return ()

    def named_methods(self) -> Iterable[tuple[str, str]]:
        """Yield (setting, method) of every method of the study that it names."""
        return ()

    def asked_questions(self) -> Iterable[str]:
        """Yield the tasks whose questions' answers, categories and contexts are needed (results/questions.py)."""
        return ()

    def further_sets(self) -> Sequence[str]:
        """Return sets of examples, by name or path, whose construction is shown besides that of the sets asked."""
        return ()

    def check(self, tasks: Sequence[Task], labels: Sequence[str]) -> None:
        """Raise ValueError if a task is named that the study lacks, or that may be several. `labels` are the study's
        periods, and that of an imported start."""
        for setting, name in self.named():
            self.find_task(setting, name, tasks)

    def find_task(self, setting: str, name: str, tasks: Sequence[Task]) -> Task:
        """Return the task that a setting names, of a task's tuned copies the first. Raises ValueError if there is none,
        or if several may be meant."""
        name = name.partition("/")[0]
        meant = {
            whole_task(task.id): task
            for task in tasks
            if name in (task.id, task.name, whole_task(task.id), whole_task(task.name))
        }
        if not meant:
            raise ValueError(f"{self.where(setting)}: no evaluation {name}; there are {', '.join(t.id for t in tasks)}")
        if len(meant) > 1:
            raise ValueError(f"{self.where(setting)}: {name} may be {' or '.join(task.id for task in meant.values())}")
        return next(iter(meant.values()))

    def where(self, setting: str) -> str:
        """Return where a setting stands, for errors."""
        return f"tables.{self.name}.{setting}" if setting else f"tables.{self.name}"

    def with_task(self, task: str, new: str) -> Self:
        """Return this request with a task (`name@version`) under its new name."""

        def renamed(value: object) -> object:
            if isinstance(value, (list, tuple)):
                return [renamed(one) for one in value]
            if isinstance(value, dict):
                return {key: one if key in self.not_tasks else renamed(one) for key, one in value.items()}
            if not isinstance(value, str):
                return value
            name, slash, rest = value.partition("/")
            return f"{new}{slash}{rest}" if name in (task, task.rpartition("@")[0]) else value

        return type(self).model_validate(renamed(self.model_dump()))


AnyTables = Annotated[TableRequest, Kinds("ticlm.platform.display.parts:Tables", TABLES, KINDS)]


def check_tables(
    wanted: Sequence[TableRequest], tasks: Sequence[Task], labels: Sequence[str], methods: Sequence[str] = ()
) -> None:
    """Raise ValueError if two have one name, or if one asks for what the study does not have."""
    check_names("tables", [one.name for one in wanted])
    numbers = [name for one in wanted for name in one.numbers_of_run]
    for one in wanted:
        one.check(tasks, labels)
        for what, named, known in (
            ("entry of tables with a number", one.named_entries(), numbers),
            ("method", one.named_methods(), methods),
        ):
            for setting, name in named:
                if name not in known:
                    raise ValueError(f"{one.where(setting)}: no {what} {name}; there are {', '.join(known) or 'none'}")


def with_texts(wanted: Sequence[TableRequest], tasks: Sequence[Task]) -> tuple[TableRequest, ...]:
    """Return the tables that a study asks for, and the section of texts if a task has prompts to show and no entry says
    how to show them."""
    if any(getattr(one, "kind", "") == SAYS for one in wanted) or not any(task.shown_prompts for task in tasks):
        return tuple(wanted)
    return *wanted, TypeAdapter[TableRequest](AnyTables).validate_python({"kind": SAYS})


def check_names(where: str, names: Sequence[str]) -> None:
    """Raise ValueError, which begins with `where`, if a name stands twice."""
    if twice := next((name for name in names if names.count(name) > 1), None):
        raise ValueError(f"{where}: {twice} is named twice; give each its own name")


def refuse_keys_of_before(data: Any) -> Any:
    """Return the data of a study. Raises ValueError if it has a kind of tables as a key, as studies had before 0.2."""
    if isinstance(data, dict) and (key := next((kind for kind in KINDS if kind in data), None)):
        raise ValueError(f"{key} is no key any more: write tables: [{{kind: {key}, …}}]")
    return data
