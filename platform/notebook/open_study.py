"""A study in a notebook: its results as DataFrames, its figures as SVG, its checkpoints as models."""

from __future__ import annotations

import json
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ticlm.core.errors import InputError
from ticlm.core.reading.near import hint
from ticlm.core.store import Store
from ticlm.platform.report.report import Report
from ticlm.platform.report.request import ReportRequest
from ticlm.platform.results.of_plan import study_result
from ticlm.platform.results.setup import StudyRequest
from ticlm.platform.results.study_result import StudyResult, tidy
from ticlm.platform.study.plan import Plan

if TYPE_CHECKING:
    import pandas as pd

    from ticlm.platform.analysis.matrix import MethodView, View


@dataclass(frozen=True)
class Picture:
    """A figure of a report as SVG, which a notebook shows by itself."""

    name: str
    svg: str

    def _repr_svg_(self) -> str:
        return self.svg

    def save(self, path: str) -> None:
        """Write it to a file."""
        Path(path).expanduser().write_text(self.svg, encoding="utf-8")


class OpenStudy:
    """A study on a root, as it was when this object was made."""

    def __init__(self, made: Plan, request: StudyRequest | None) -> None:
        self._plan, self._request = made, request

    def __repr__(self) -> str:
        done = sum(map(self._plan.done, self._plan.tree.rounds))
        return f"<study {self.name}: {done} of {len(self._plan.tree.rounds)} rounds are done>"

    @property
    def name(self) -> str:
        """The name of the study."""
        return self._plan.study.name

    @property
    def methods(self) -> list[str]:
        """The names of its methods, in the order of its file."""
        return [method.name for method in self._plan.study.methods]

    @property
    def periods(self) -> list[str]:
        """The labels of its periods, oldest first."""
        return list(self._plan.study.timeline.labels)

    def plan(self) -> pd.DataFrame:
        """Return its rounds, one a row: the chain, the period, steps and tokens, whether it is done, and its id."""
        import pandas as pd

        made, rows = self._plan, []
        for chain in made.chains:
            for key in chain.keys:
                spec = made.tree.rounds[key]
                known = {"steps": spec.steps, "tokens": spec.tokens, "done": made.done(key), "round": made.ids.get(key)}
                rows.append({"chain": made.label(chain), "period": spec.period, **known})
        return pd.DataFrame(rows)

    def results(self) -> pd.DataFrame:
        """Return every number about its checkpoints, one a row, as `results.csv` has them."""
        return tidy([self._result])

    def summary(self) -> pd.DataFrame:
        """Return a row for each method, task and source: the means of its matrix, and what it cost."""
        return self._report.summary.copy()

    def differences(self) -> pd.DataFrame:
        """Return the differences between methods, with 95 % intervals."""
        return self._report.differences.copy()

    def matrix(
        self, method: str, task: str | None = None, relative: bool = True, source: str = "", seed: int | None = None
    ) -> pd.DataFrame:
        """Return the values of a method: a row for each trained period, a column for each evaluated one.

        `task` is a name such as `perplexity@1`; by default the first. `relative`: as regret against the study's
        reference, of which lower is better; else as the task measures. `source`: only on this source of text. `seed`:
        of this seed; by default the mean over all.
        """
        import pandas as pd

        view, study = self._view(task, source), self._result
        known = [one.method.name for one in view.methods]
        own: MethodView = view.methods[known.index(_one_of("method", method, known))]
        if relative and view.reference is None:
            raise InputError(f"study {self.name} has no reference for regret: give relative=False")
        values = own.mean
        if seed is not None:
            seeds = own.method.seeds
            if seed not in seeds:
                raise InputError(f"{method} has no seed {seed}; its seeds: {', '.join(map(str, seeds))}")
            values = own.by_seed[seeds.index(seed)]
        return pd.DataFrame(
            view.relative(values) if relative else values,
            index=pd.Index(study.checkpoints, name="trained"),
            columns=pd.Index(view.evaluated, name="evaluated"),
        )

    def figures(self) -> list[str]:
        """Return the names of its figures."""
        return list(self._pictures)

    def figure(self, name: str) -> Picture:
        """Return a figure by its name, or by the beginning of one."""
        begins = [one for one in self._pictures if one.startswith(name)] if name else []
        return self._pictures[begins[0] if begins else _one_of("figure", name, list(self._pictures))]

    def checkpoint(self, method: str, period: str | None = None, seed: int | None = None) -> tuple[Any, Any]:
        """Return the model after a period, by default the newest, and its tokenizer, both of transformers; the model is
        on the CPU, in float32."""
        from ticlm.platform.eval.address import Address
        from ticlm.platform.eval.checkpoint import load_checkpoint
        from ticlm.platform.eval.model_folder import addressed
        from ticlm.platform.study.stored_rounds import published

        if self._plan.store is None or not self._plan.ids:
            raise self._nothing()
        round_id = addressed(self._plan, Address(self.name, method, period, seed))
        place = self._plan.store.uri(published(self._plan.store, round_id))
        with Store(place).local("") as folder:
            found = load_checkpoint(Path(folder), self._plan.study.objective)
        return found.module, found.tokenizer

    @cached_property
    def _result(self) -> StudyResult:
        if self._plan.corpus is None or not self._plan.records:
            raise self._nothing()
        return study_result(self._plan, self._request)

    @cached_property
    def _report(self) -> Report:
        root = self._plan.store.root if self._plan.store is not None else ""
        return Report([self._result], request=ReportRequest(root))

    @cached_property
    def _pictures(self) -> dict[str, Picture]:
        from ticlm.platform.report.figures import drawn
        from ticlm.platform.report.page_data import payload

        return {name: Picture(name, svg) for _, name, svg in drawn(json.dumps(payload(self._report), allow_nan=False))}

    def _view(self, task: str | None, source: str) -> View:
        """Return the view of a task, which may be named without its version, and of a source."""
        views = self._report.views[0]
        if not views:
            raise InputError(f"study {self.name} has no cells yet: ticlm run")
        tasks = list(dict.fromkeys(view.task for view in views))
        versions = [one for one in tasks if task in (None, one, one.partition("@")[0])]
        chosen = versions[0] if versions else _one_of("task", str(task), tasks)
        of = {view.source: view for view in views if view.task == chosen}
        return of[source if source in of else _one_of(f"source of {chosen}", source, list(of))]

    def _nothing(self) -> InputError:
        named = self._request.named if self._request is not None else self.name
        return InputError(f"nothing of study {self.name} is finished yet: ticlm run {shlex.quote(named)}")


def _one_of(what: str, name: str, known: Sequence[str]) -> str:
    """Return a name that is known. Raises InputError with those that are."""
    if name not in known:
        there = ", ".join(one for one in known if one) or "none"
        raise InputError(f"no {what} {name!r}{hint(name, known)}; there are {there}")
    return name
