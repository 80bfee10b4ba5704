"""Scores of one model or several: asked by tasks, shown side by side, and written to a page and a file."""

from __future__ import annotations

import json
import shlex
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ticlm.core.errors import InputError
from ticlm.platform.cli.options import absolute

if TYPE_CHECKING:
    import pandas as pd

    from ticlm.core.store import Store
    from ticlm.platform.display.parts import Section
    from ticlm.platform.eval.cells import CheckpointWork
    from ticlm.platform.eval.folder import Scoring
    from ticlm.platform.report.report import Report
    from ticlm.platform.results.of_models import ScoredModel
    from ticlm.platform.results.study_result import StudyResult

TASK = "texts"
"""Name of the task that reads dated texts. It is part of no set's name, so a text is scored once in all of its sets."""


@dataclass(frozen=True)
class ScoresAsked:
    """What models are asked, and how their scores are shown."""

    tasks: str | None = None
    texts: Sequence[str] = ()
    step: str = "month"
    limit: int = 100
    by: str = "period"
    as_json: bool = False
    csv: Path | None = None
    page: Path | None = None

    def __post_init__(self) -> None:
        if self.by not in ("period", "source"):
            raise InputError(f"--by must be period or source, got {self.by}")
        if self.tasks is not None and self.texts:
            raise InputError("give --tasks FILE or --texts FILES, one of the two")
        for option, file in (("--csv", self.csv), ("--page", self.page)):
            if file is not None and not file.expanduser().absolute().parent.is_dir():
                raise InputError(f"{option} {file}: the folder {file.parent} is not there")
            if file is not None and file.expanduser().is_dir():
                example = file / ("scores.csv" if option == "--csv" else "models.html")
                raise InputError(f"{option} {file}: a folder; give a file, such as {example}")


def score(names: Sequence[str], asked: ScoresAsked, root: str, sets: Sequence[str]) -> None:
    """Ask models what they have not been asked yet, and show all of their scores.

    One model that is asked by a file has the table of its scores. Several models, and models that read dated texts,
    are compared by period, on a page too.
    """
    from ticlm.core.store import Store

    store = Store(absolute(root))
    scoring, lines = _scoring(asked, store, sets)
    works = scored(names, scoring, store, asked.as_json)
    names = [called(name, work.folder) for name, work in zip(names, works)]
    if len(names) == 1 and asked.tasks is not None and asked.page is None:
        _show_one(names[0], works[0], asked, store)
    else:
        _show_together(names, works, scoring, asked, store, lines)


def called(name: str, folder: str) -> str:
    """Return what a model was called; on the hub, with its commit."""
    from ticlm.core import hub

    shown = hub.shown(folder)
    return name if shown == folder else shown


def _scoring(asked: ScoresAsked, store: Store, sets: Sequence[str]) -> tuple[Scoring, list[str]]:
    """Return the tasks, and lines about the texts that they read."""
    from ticlm.core import settings
    from ticlm.platform.cli.models import texts
    from ticlm.platform.eval import folder

    if asked.tasks is not None:
        return settings.load(folder.Scoring, asked.tasks, folder.FOLDER, sets), []
    data, lines = texts.made(asked.texts, asked.step, asked.limit, store.root, asked.as_json)
    task = {"kind": "document-perplexity", "name": TASK, "examples": data.store.uri(), "keeps_losses": True}
    return parsed([task], "--texts", sets), lines


def parsed(tasks: Sequence[Mapping[str, Any]], where: str, sets: Sequence[str] = ()) -> Scoring:
    """Return what models are asked, of tasks as a file of them has them, with changes of settings. `where` is what asks
    for them, for errors."""
    from ticlm.core import settings
    from ticlm.platform.eval import folder

    return settings.parse(folder.Scoring, settings.changed(folder.Scoring, {"evaluations": tasks}, sets), where)


def scored(names: Sequence[str], scoring: Scoring, store: Store, quiet: bool) -> list[CheckpointWork]:
    """Score what has no value yet of each model; all are looked at before the first one is asked."""
    from ticlm.core import hub
    from ticlm.core.lease import lease
    from ticlm.core.progress import SILENT
    from ticlm.platform.cli.console import bars
    from ticlm.platform.eval import folder, model_folder
    from ticlm.platform.results import of_models

    works = [folder.unit(store, name, scoring) for name in names]
    of_models.named(names, works)
    if any(task.reads == "examples" for task in scoring.evaluations):
        for work in works:
            if not model_folder.tokenizer(work.folder):
                where = hub.shown(work.folder)
                raise InputError(f"{where} has no tokenizer, and the task reads text; put its files there")
    with lease(store, f"eval {' '.join(names)}"), bars() as show:
        for work in works:
            folder.run(replace(work, lease=store.lease), SILENT if quiet else show)
    return works


def _show_one(name: str, work: CheckpointWork, asked: ScoresAsked, store: Store) -> None:
    from ticlm.platform.cli.console import console, say
    from ticlm.platform.eval import folder

    rows = folder.scores(work)
    if asked.csv is not None:
        from ticlm.platform.report.csv_file import write_csv

        write_csv(folder.frame(rows), asked.csv.expanduser())
    if asked.as_json:
        print(folder.as_json(work, rows))
        return
    say(f"Scores of {name}")
    shown, left = folder.summed(rows) if asked.by == "period" else (rows, 0)
    console().print(folder.table(shown))
    if len(shown) < len(rows):
        rest = f", and {left:,} smaller ones" if left else ""
        say(f"each source in each period{rest}: --by source, or --csv FILE")
    for line in folder.notes(store, work, rows):
        say(line)


def _show_together(
    names: Sequence[str],
    works: Sequence[CheckpointWork],
    scoring: Scoring,
    asked: ScoresAsked,
    store: Store,
    lines: Sequence[str],
) -> None:
    from ticlm.platform.cli.console import console, say
    from ticlm.platform.display.models.part import static as without_periods
    from ticlm.platform.display.text_tables import terminal
    from ticlm.platform.results import of_models

    models = of_models.named(names, works)
    title = "+".join(one.name.replace("/", "-") for one in models)
    cells, static, missing = of_models.frames(title, models, store)
    report = _report(title, models, scoring, store, lines) if len(cells) else None
    if asked.page is not None and report is None:
        raise InputError("--page shows scores by period: no task of these has periods")
    if asked.csv is not None:
        _write_csv([cells, static], report, asked.csv.expanduser())
    if asked.as_json:
        print(_as_json(models, report, lines))
        return
    for answer in report.answers if report else ():
        say(answer.whole)
    sections = report.sections if report else [without_periods(static, [one.name for one in models])]
    for table in (table for section in _shown(sections, asked.by) for table in section.for_terminal()):
        console().print(terminal(table))
    for line in (*dict.fromkeys(note for section in sections for note in section.notes), *lines, *missing):
        say(line)
    if report:
        say(f"page: {publish(report, models, asked, store)}")


def _report(title: str, models: Sequence[ScoredModel], scoring: Scoring, store: Store, lines: Sequence[str]) -> Report:
    """Return the report of models, as that of a study."""
    from ticlm.platform.results import of_models

    result = of_models.study_result(title, models, store, scoring.tables)
    return report_of(replace(result, external_inputs=(*lines, *result.external_inputs)), store)


def report_of(result: StudyResult, store: Store) -> Report:
    """Return the report of a study of models that this command asked for."""
    from ticlm.platform.analysis.models.differences import PRESET
    from ticlm.platform.report.report import Report
    from ticlm.platform.report.request import ReportRequest

    return Report([result], PRESET, ReportRequest(store.root, typed=shlex.join(["ticlm", *sys.argv[1:]])))


def _shown(sections: Sequence[Section], by: str) -> list[Section]:
    """Return the sections that a terminal shows: by period or by source, and all others."""
    other = {"period": "by-source", "source": "by-period"}[by]
    if (
        by == "source"
        and any(one.id == other for one in sections)
        and not any(one.id == "by-source" for one in sections)
    ):
        raise InputError("--by source: the texts are of one source, or name none")
    return [one for one in sections if one.id != other]


def publish(report: Report, models: Sequence[ScoredModel], asked: ScoresAsked, store: Store) -> str:
    """Write the page to the file that was asked for, or into a folder of its own in `reports/` of the root; return the
    place."""
    import tempfile

    from ticlm.platform.analysis.models.differences import PRESET
    from ticlm.platform.report import page, write
    from ticlm.platform.report.page_data import payload
    from ticlm.platform.results import of_models

    if asked.page is not None:
        asked.page.expanduser().write_text(page.render(report, payload(report)), encoding="utf-8")
        return str(asked.page)
    assert report.request is not None
    folder = report.request.place([one.name for one in report.results], [of_models.identity(models)], PRESET)
    with tempfile.TemporaryDirectory() as local:
        write.write(report, Path(local) if not store.is_local else Path(store.path(folder)))
        if not store.is_local:
            store.upload(Path(local), folder)
    return f"{store.uri(folder)}/index.html"


def _write_csv(frames: Sequence[pd.DataFrame], report: Report | None, file: Path) -> None:
    """Write every score with its model; for all models but the first, also the difference from that, where known."""
    import pandas as pd

    from ticlm.platform.report.csv_file import write_csv

    rows = pd.concat([frame for frame in frames if len(frame)], ignore_index=True)
    rows = rows.rename(columns={"method": "model", "evaluated": "period"})
    rows = rows.reindex(columns=["model", "task", "period", "source", "metric", "value", "stderr", "n"])
    differences = report.files.get("models") if report else None
    if differences is not None:
        keys = ["model", "task", "period", "source", "metric"]
        rows = rows.merge(differences[[*keys, "against", "difference", "low", "high"]], "left", keys)
    write_csv(rows, file)


def _as_json(models: Sequence[ScoredModel], report: Report | None, lines: Sequence[str]) -> str:
    """Return the models with all of their scores, and how far each is from the first, as JSON."""
    from ticlm.platform.eval import folder
    from ticlm.platform.report.write import records

    differences = report.files.get("models") if report else None
    told = {
        "about": list(lines),
        "models": [
            {"name": one.name, "tokenizer": one.tokenizer, "parameters": one.parameters}
            | json.loads(folder.as_json(one.work, folder.scores(one.work)))
            for one in models
        ],
        "differences": [] if differences is None else records(differences),
    }
    return json.dumps(told, indent=1, ensure_ascii=False)
