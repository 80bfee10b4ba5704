"""A search: which settings of a method are tried on the first periods of a study, and the studies this makes.

Tuning may know nothing of later periods (TiC-LM, section 6 and App. C.2). So a trial is a study that ends with the
first ones: `first_periods` of the study, by default ten. Trials are scored on the `tune` split.

A study with a single continual period, as CKL's, has no earlier ones. Its trials train on that period, and are scored
on its `tune` rows and on those of an old corpus of the study; what is reported of the choice are `eval` rows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

from pydantic import Field, ValidationError

from ticlm.core import paths
from ticlm.core.errors import InputError
from ticlm.core.extras import require
from ticlm.core.fingerprint import fingerprint
from ticlm.core.mixture import Split
from ticlm.core.reading.settings_errors import first_error
from ticlm.core.settings import Settings, parse
from ticlm.methods.method import Continual, Method, OracleSeries
from ticlm.platform.models.settings import FolderModel
from ticlm.platform.study import settings
from ticlm.platform.study.identity import placed
from ticlm.platform.study.resources import Resources
from ticlm.platform.study.settings import Evaluate, Study
from ticlm.platform.tasks.packed_rows import Perplexity, PerplexityOn
from ticlm.tune_spaces import space as spaces
from ticlm.tune_spaces.space import Space

PERIODS = 10
"""How many periods tuning sees by default: the initial one and nine continual rounds."""
TRIALS = 16
OLD_TEXT = "old-text"
"""Name of the task that stands for backward in a study of one period: the loss on text of an old corpus."""


class Search(Settings):
    """How a space is searched.

    `reference`: with `oracle`, scores are regrets against an Oracle of the last period that tuning sees. This moves the
    numbers of all trials alike, so the choice is the same as under `raw`.
    """

    algorithm: Literal["grid", "random", "optuna"]
    scheduler: Literal["fifo", "asha"] = "fifo"
    trials: int | None = Field(None, gt=0)
    seed: int = 0
    reference: Literal["raw", "oracle"] = "raw"
    all_periods: Literal["none", "chosen", "ends", "every"] = "chosen"
    """Which trials are trained on all periods after the choice: none, the chosen one, also the worst, or every one."""
    choose_by: Literal["scores", "predicted"] = "scores"
    """What the rule compares: scores on the periods that tuning sees, or those that a law predicts for all periods."""

    def without_meaning(self) -> frozenset[str]:
        return frozenset({"choose_by"} if self.choose_by == "scores" else ())


@dataclass(frozen=True)
class Tuning:
    """A search over a space, for a study. `data`: the study's settings as written, before defaults."""

    space: Space
    study: Study
    data: Mapping[str, Any]
    search: Search

    def __post_init__(self) -> None:
        if self.search.algorithm == "grid" and self.space.domains:
            raise InputError(f"the space {self.space.name} has domains, no points: use --search optuna or random")
        if self.search.algorithm == "optuna" and self.space.points:
            raise InputError(f"the space {self.space.name} has points, no domains: use --search grid or random")
        if self.search.algorithm == "optuna":
            require("--search optuna", "search", "optuna")
        if self.search.choose_by == "predicted" and self.is_single:
            raise InputError(f"--choose-by predicted: study {self.study.name} has no later period to predict")
        self.space.check(self.base)
        self.seen(())  # a study of fewer periods

    @cached_property
    def base(self) -> Continual:
        """The method whose settings are searched."""
        return self.space.method_of(self.study.methods)

    @cached_property
    def _entire(self) -> Study:
        """The study on all its periods, the newest of which `last` stands for."""
        if self.study.first_periods is None:
            return self.study
        written = {key: value for key, value in self.data.items() if key != "first_periods"}
        return placed(parse(Study, written, f"tuning of {self.study.name}, on all its periods"))

    @cached_property
    def is_single(self) -> bool:
        """Whether the study has one continual period alone, after an initial one or an imported model."""
        labels = self.study.periods.timeline().labels
        return len(labels) - (self._start(labels) in labels) == 1

    def _start(self, labels: Sequence[str]) -> str:
        """Return the period of the initial checkpoint, which an imported one may have outside `labels`."""
        imported = isinstance(self.study.model, FolderModel) and self.study.initial.budget == 0
        return self.study.model.as_of if imported else labels[0]  # type: ignore[union-attr]

    @property
    def old_text(self) -> str | None:
        """The old corpus that tells what is forgotten, where a study has one period and a method that rehearses."""
        single = len(self.study.periods.timeline()) == 1
        return next((old.corpus for _, old in self.study.old_corpora), None) if single else None

    @property
    def trials(self) -> int:
        """How many trials the search has."""
        if self.space.points:
            return min(self.search.trials or len(self.space.points), len(self.space.points))
        return self.search.trials or TRIALS

    @property
    def at_once(self) -> int:
        """How many trials run concurrently: they are chains of one study, which share its workers evenly."""
        return min(self.study.resources.chains, self.trials, self.study.resources.worker_range[1])

    def folder(self, ids: Sequence[str], needs: Mapping[str, float]) -> str:
        """Return the folder of the search in the root.

        It is the same only for the same search of the same study on the same data, which the `ids` of rounds stand for,
        with the same reservation `needs` for each trial.
        """
        seen = self.seen((self.base,)).model_copy(update={"resources": Resources()})
        search = self.search.model_copy(update={"all_periods": "none", "choose_by": "scores"})
        room = (self.at_once, *(f"{kind} {amount:g}" for kind, amount in sorted(needs.items())))
        whole = fingerprint((seen, self.space.identity, search, tuple(ids), room))
        return paths.search(self.study.name, self.space.name, whole)

    def method(self, point: Mapping[str, Any]) -> Continual:
        """Return the method of a trial, with only the first of its seeds."""
        found = self.space.changed(self.base, point, self.space.label(point))
        return found.model_copy(update={"seeds": found.seeds[:1]})

    def at_ends(self, name: str) -> list[str]:
        """Return a line for each number of the trial of this name than which the grid has no smaller or no larger."""
        points, lines = {self.space.label(point): point for point in self.space.points}, []
        for path, value in points.get(name, {}).items():
            values = {point[path] for point in points.values() if path in point and _is_number(point[path])}
            if _is_number(value) and len(values) > 1 and value in (min(values), max(values)):
                end, more = ("largest", "larger") if value == max(values) else ("smallest", "smaller")
                lines.append(f"{path} {value:g} is the {end} that was tried: {more} ones may be better")
        return lines

    def seen(self, methods: Sequence[Method], periods: int | None = None) -> Study:
        """Return the study as far as tuning sees it (or only its first `periods`), with these methods.

        If regret is against an Oracle, the study has one of the last period. Raises InputError if the study has fewer
        periods.
        """
        whole = len(self.study.periods.timeline())
        first = whole if self.is_single else self.study.first_periods or PERIODS
        if first < 2 and not self.is_single:
            raise InputError(f"study {self.study.name}: first_periods is {first}; tuning needs two periods or more")
        if whole < first:
            raise InputError(
                f"study {self.study.name} has {whole} periods, fewer than the first {first} that tuning is to see; "
                "say first_periods in the study for fewer"
            )
        changes: dict[str, Any] = {
            "name": f"{self.study.name}-tuning",
            "first_periods": periods or first,
            "evaluations": self._tasks("tune"),
            "tables": (),
            "evaluate": Evaluate(compute=self.study.evaluate.compute),
            "reference": "raw",
            "methods": tuple(methods) or (self.base,),
        }
        adaptive = next((m for m in changes["methods"] if isinstance(m, Continual) and m.adaptive is not None), None)
        if adaptive is not None:
            raise InputError(
                f"methods.{adaptive.name}.replay: a search cannot try {type(adaptive.replay).__name__}: its shares are "
                "open before its rounds are trained; search with another replay, and take its rates"
            )
        if self.search.reference == "oracle" and periods is None:
            oracle = self._oracle(self.study.periods.timeline().labels[first - 1])
            changes |= {"methods": (*changes["methods"], oracle), "reference": oracle.name}
        return _changed(self.study, changes)

    def start(self) -> Study | None:
        """Return the study up to the initial checkpoint, which all trials share; None if that belongs to no period."""
        labels = self.seen(()).timeline.labels
        first = self._start(labels)
        if first not in labels:
            return None
        return self.seen((Continual(name="start"),), periods=labels.index(first) + 1)

    def whole(self, methods: Sequence[Method]) -> Study:
        """Return the study on all its periods, with these methods, scored on its own held-out rows."""
        series = [m for m in self._entire.methods if isinstance(m, OracleSeries)] * (self.search.reference == "oracle")
        changes = {"name": f"{self.study.name}-tuned", "evaluations": self._tasks(self._task.split), "tables": ()}
        named = self.study.reference if self.study.reference in [oracle.name for oracle in series] else None
        own = named if series else "raw"
        return _changed(self._entire, changes | {"methods": (*methods, *series), "reference": own})

    def chosen(self, point: Mapping[str, Any]) -> dict[str, Any]:
        """Return settings that `ticlm run` takes: the study's, with only the method of this point and Oracle series."""
        method = self.space.changed(self.base, point, f"{self.base.name}-{self.space.label(point)}")
        series = [m for m in self._entire.methods if isinstance(m, OracleSeries)]
        written = self.study.model_copy(update={"methods": (method, *series)}).model_dump(mode="json")["methods"]
        kept = {key: value for key, value in self.data.items() if key not in ("first_periods", "each_method")}
        if self.study.recipe is not None:
            kept["recipe"] = _from_anywhere(self.study.recipe)
        if self.study.recipes:
            kept["recipes"] = [_from_anywhere(one) for one in self.study.recipes]
        if self.study.reference not in (None, "raw", *(m.name for m in series)):
            kept["reference"] = None
        return kept | {"name": f"{self.study.name}-tuned", "methods": written}

    @property
    def describe(self) -> str:
        """The periods that tuning sees, in words."""
        labels = self.seen(()).timeline.labels
        if not self.is_single:
            return f"the first {len(labels)} periods ({labels[0]} … {labels[-1]}), split tune"
        found = f"the only continual period ({labels[-1]}), split tune"
        if len(labels) > 1:
            return found
        return f"{found}; backward: old text, {self.old_text or 'of which the study has none'}"

    @property
    def describe_whole(self) -> str:
        """The periods that the choice is reported on, in words."""
        return f"split {self._task.split}" if self.is_single else f"all {len(self.study.periods.timeline())} periods"

    @property
    def _task(self) -> Perplexity:
        """The task that trials are judged by: the loss on the study's own corpus."""
        return next((t for t in self.study.evaluations if isinstance(t, Perplexity)), Perplexity())

    def _tasks(self, split: Split) -> tuple[Perplexity | PerplexityOn, ...]:
        """Return the tasks on a split: the loss on the study's own text and, where it has a single period, on text of
        its old corpus. No probe is among them: a choice never sees what the study asks."""
        own = self._task.model_copy(update={"split": split, "prepare": None} if split == "tune" else {})
        if self.old_text is None:
            return (own,)
        return own, PerplexityOn(name=OLD_TEXT, corpus=self.old_text, split=split, max_rows=own.max_rows)

    def _oracle(self, cutoff: str) -> OracleSeries:
        """Return an Oracle trained from scratch on all that tuning sees, with the budget of the study's own series."""
        own = next((m for m in self.study.methods if isinstance(m, OracleSeries)), None)
        return OracleSeries(cutoffs=(cutoff,), continual_tokens=own.continual_tokens if own else None)


def _from_anywhere(recipe: str) -> str:
    """Return the path of a recipe's file for settings that are kept in another folder; other names as they are."""
    return str(Path(recipe).resolve()) if Path(recipe).is_file() else recipe


def _changed(study: Study, changes: Mapping[str, Any]) -> Study:
    """Return a study with other values of some settings, checked like any study."""
    fields = {name: getattr(study, name) for name in Study.model_fields}
    return parse(Study, fields | dict(changes), f"tuning of {study.name}")


def load(
    space: str,
    study: str,
    sets: Sequence[str],
    values: Sequence[str],
    options: Mapping[str, Any],
    root: str | None = None,
) -> Tuning:
    """Load a search by the names of a space and a study; `root` is where `periods: corpus` looks for the corpus.

    With `values` (`PATH=V1,V2…`), `space` is the name of a method, and the space is a grid of its settings. `options`:
    settings of Search; if its `algorithm` is None, the search uses the one the space is made for.
    """
    found = spaces.grid(space, values) if values else spaces.load(space)
    algorithm = options.get("algorithm") or ("grid" if found.points else "optuna")
    try:
        search = Search.model_validate({**options, "algorithm": algorithm})
    except ValidationError as error:
        field, line = first_error(error, Search)
        raise InputError(f"--{'search' if field == 'algorithm' else field.replace('_', '-')}: {line}") from None
    data, where = settings.resolved(study, sets, root)
    return Tuning(found, placed(parse(Study, data, where)), data, search)


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
