"""`ticlm age`: up to which month models have read, by the dated changes of facts that they know."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from datetime import date, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ticlm.core.errors import InputError
from ticlm.platform.cli import completion
from ticlm.platform.cli.evaluation import Modules, Trust, import_modules
from ticlm.platform.cli.options import Root, absolute

if TYPE_CHECKING:
    import pandas as pd

    from ticlm.core.examples import Examples
    from ticlm.core.store import Store
    from ticlm.platform.cli.models.scores import ScoresAsked
    from ticlm.platform.report.report import Report
    from ticlm.platform.results.of_models import ScoredModel

TASK, VERSIONS = "facts", "versions"
RECIPES = "datasets/recipes"
"""The folder of the packaged recipes."""
DATE = re.compile(r"(\d{4})-(0[1-9]|1[0-2])")

Models = Annotated[
    list[str],
    typer.Argument(
        metavar="MODEL…",
        help="Folders, URIs, ORG/NAME, ids of rounds, STUDY/METHOD@PERIOD, with * for several checkpoints.",
        autocompletion=completion.models,
    ),
]
Facts = Annotated[
    str, typer.Option("--facts", metavar="SET", help="Dated facts: a set of the root, or a packaged one.")
]
Claimed = Annotated[
    list[str] | None,
    typer.Option("--claimed", metavar="YYYY-MM", help="Up to when it is said to have read; one month, or one a model."),
]
Versions = Annotated[
    str | None,
    typer.Option("--versions", metavar="SET", help="Dated versions of pages: with --reference, a second clock."),
]
Reference = Annotated[
    str | None, typer.Option("--reference", metavar="MODEL", help="A model of known age that reads the versions too.")
]
AsJson = Annotated[bool, typer.Option("--json", help="Print the estimates as JSON.")]
Csv = Annotated[Path | None, typer.Option("--csv", metavar="FILE", help="Also write the estimates here.")]
Page = Annotated[
    Path | None, typer.Option("--page", metavar="FILE", help="Write the page here, not into reports/ of the root.")
]


def age(
    names: Models,
    facts: Facts = "world-facts",
    claimed: Claimed = None,
    versions: Versions = None,
    reference: Reference = None,
    root: Root = "runs",
    as_json: AsJson = False,
    csv: Csv = None,
    page: Page = None,
    modules: Modules = None,
    trust: Trust = None,
) -> None:
    """Estimate up to which month models have read: which of two values of dated facts they prefer, the one from before
    a change or the one since then.

    Each model gets an edge with an interval and a p, or "unknown"; a page shows the evidence. Nothing is estimated from
    how well a model predicts texts: newer text is easier for every model (ticlm docs age).
    """
    from ticlm.platform.cli.models.scores import ScoresAsked

    import_modules(modules, trust)
    asked = ScoresAsked(as_json=as_json, csv=csv, page=page)
    named = _named(names, claimed or (), absolute(root))
    _estimate(named, _Sets(facts, versions, reference), absolute(root), asked)


@dataclass(frozen=True)
class _Named:
    """A model as it was named, and up to when it is said to have read, YYYY-MM; "" if nobody says."""

    name: str
    claimed: str


@dataclass(frozen=True)
class _Sets:
    """The sets that models are asked, and the model that reads the versions beside them. Raises InputError if one of
    the two is given alone."""

    facts: str
    versions: str | None
    reference: str | None

    def __post_init__(self) -> None:
        from ticlm.platform.analysis.age.versions import NO_REFERENCE

        if self.versions is not None and self.reference is None:
            raise InputError(NO_REFERENCE)
        if self.reference is not None and self.versions is None:
            raise InputError("--reference reads versions of pages: give --versions SET too")


def _named(names: Sequence[str], claimed: Sequence[str], root: str) -> list[_Named]:
    """Return the models that names stand for. A checkpoint of a study that a pattern fits claims the end of its
    period. Raises InputError for a date that is none, and for dates that do not match the models."""
    from ticlm.core.periods import span
    from ticlm.platform.eval import model_folder

    for month in claimed:
        if not DATE.fullmatch(month):
            raise InputError(f"--claimed must be a month such as 2024-08, got {month}")
        if month > f"{date.today():%Y-%m}":
            raise InputError(f"--claimed {month} is in the future")
    if len(claimed) not in (0, 1, len(names)):
        raise InputError(f"--claimed: {len(claimed)} months, {len(names)} names; give one month, or one for each name")
    told = claimed if len(claimed) == len(names) else [*claimed] * len(names) or [""] * len(names)
    found: dict[str, _Named] = {}
    for name, month in zip(names, told):
        matching = model_folder.matching(root, name)
        if matching is None:
            found[name] = _Named(name, month)
            continue
        for one in matching[0]:  # methods share rounds, and so models
            last = span(one.period)[1] - timedelta(days=1)
            place = f"{one.study}/{one.method}@{one.period}#{one.seed}"
            found.setdefault(one.round, _Named(place, month or f"{last:%Y-%m}"))
    return list(found.values())


def _estimate(named: Sequence[_Named], asked_sets: _Sets, root: str, asked: ScoresAsked) -> None:
    from ticlm.core.store import Store
    from ticlm.platform.cli.models import scores
    from ticlm.platform.results import of_models
    from ticlm.platform.study import data as corpora

    store = Store(root)
    data = _facts(asked_sets.facts, store, asked.as_json)
    tasks: list[dict[str, Any]] = [{"kind": "dated-facts", "name": TASK, "examples": data.store.uri()}]
    if asked_sets.versions is not None and asked_sets.reference is not None:
        pages = corpora.examples(asked_sets.versions, store).store.uri()
        tasks.append({"kind": "document-perplexity", "name": VERSIONS, "examples": pages, "keeps_losses": True})
        named = [*named, _Named(asked_sets.reference, "")]
    scoring = scores.parsed(tasks, "--facts")
    works = scores.scored([one.name for one in named], scoring, store, asked.as_json)
    models = of_models.named([scores.called(one.name, work.folder) for one, work in zip(named, works)], works)
    versions = (scoring.evaluations[1].id, models[-1].name) if len(tasks) > 1 else None
    told = {model.name: one.claimed for one, model in zip(named, models) if one.claimed}
    asked_about = models[: len(models) - (versions is not None)]
    title = models[0].name.replace("/", "-") if len(asked_about) == 1 else f"{len(asked_about)}-models"
    result = of_models.study_result(title, models, store, claimed=told, versions=versions)
    result = replace(result, external_inputs=(f"facts: {data.info.id}, {data.store.uri()}", *result.external_inputs))
    _show(scores.report_of(result, store), models, asked, store, data.info.id)


def _facts(name: str, store: Store, quiet: bool) -> Examples:
    """Return a set of dated facts. One that comes with the package is built if it is not there.

    Raises InputError if there is none of this name, or if it holds no changes.
    """
    from ticlm.core import paths, settings
    from ticlm.core.examples import INFO, Examples
    from ticlm.core.reading.near import hint
    from ticlm.core.store import Store
    from ticlm.datasets.evalsets import recipe as sets
    from ticlm.datasets.evalsets.dated_facts.change import CHANGES
    from ticlm.platform.cli.console import waiting
    from ticlm.platform.study.written.places import uri_of

    uri = uri_of(name, store, paths.examples)
    assert uri is not None
    if Store(uri).exists(INFO):
        data = Examples.open(uri)
    elif name in settings.packaged(RECIPES):
        with nullcontext() if quiet else waiting(f"building {name}"):
            data = sets.build(settings.load(sets.ExampleSetRecipe, name, RECIPES), store.root)
    else:
        raise InputError(f"--facts {name}: no such set in {store.uri()}{hint(name, settings.packaged(RECIPES))}")
    if not any(CHANGES in one.subsets for one in data.periods.values()):
        raise InputError(f"--facts {name}: {data.info.id} has no subset {CHANGES}, so it is no set of dated facts")
    _check_dates(name, data)
    return data


def _check_dates(name: str, data: Examples) -> None:
    """Raise InputError if a change of a set of dated facts is said to have happened after this month."""
    now = f"{date.today():%Y%m}"
    later = [label for label in data.periods if label > now]
    if later:
        raise InputError(f"--facts {name}: changes of {later[0]}, in the future; leave out what has not happened")


def _show(report: Report, models: Sequence[ScoredModel], asked: ScoresAsked, store: Store, facts: str) -> None:
    from ticlm.core.store import Store
    from ticlm.platform.cli.console import console, say
    from ticlm.platform.cli.models.scores import publish
    from ticlm.platform.display.age.part import FIGURES
    from ticlm.platform.display.text_tables import terminal
    from ticlm.platform.report.csv_file import write_csv
    from ticlm.platform.report.write import records

    rows = report.files["age"]
    if asked.csv is not None:
        write_csv(rows, asked.csv.expanduser())
    if asked.as_json:
        print(json.dumps(records(rows), indent=1, ensure_ascii=False))
        return
    section = next(one for one in report.sections if one.id == "age")
    for table in section.for_terminal():
        console().print(terminal(table))
    sentences = [one.whole for one in report.answers] if len(models) <= FIGURES else []
    for line in (*sentences, *section.notes, *report.missing):
        say(line)
    page = publish(report, models, asked, store)
    say(f"page: {page}")
    if asked.page is None:
        _write_results(rows, Store(page.rpartition("/")[0]), facts)


def _write_results(rows: pd.DataFrame, folder: Store, facts: str) -> None:
    """Write the edge of each model into .eval_results/ beside the page, as a repository on the hub has it."""
    import yaml

    name, _, version = facts.partition("@")
    for row in rows.itertuples():
        found = {
            "dataset": {"id": name, "task_id": "fact-edge", "revision": version},
            "value": str(row.edge) if row.is_known else "unknown",
            "date": date.today().isoformat(),
            "notes": f"95 % {row.interval}, p {row.p:.3f}; ticlm age" if row.edge else str(row.verdict),
        }
        file = f".eval_results/{re.sub(r'[^A-Za-z0-9._@-]', '-', str(row.model))}.yaml"
        folder.write(file, yaml.safe_dump([found], sort_keys=False, allow_unicode=True).encode())
