"""The outcome of a search: its trials and their scores, the choice among them, and its scores on all periods.

It is kept as files: all trials as one study for a report, the scores, and the choice as a study that `ticlm run` takes.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import yaml

from ticlm.core import progress
from ticlm.core.errors import InputError
from ticlm.core.remote.credentials import json_without_credentials
from ticlm.core.store import Store
from ticlm.platform.run import driver
from ticlm.platform.study import needs, plan
from ticlm.platform.study.settings import Study
from ticlm.platform.tuning import extrapolate, ray_tune, selection, table
from ticlm.platform.tuning.search import Tuning
from ticlm.platform.tuning.selection import TrialScores
from ticlm.platform.tuning.trial import complete, scores
from ticlm.platform.tuning.tried import TuneTrial


@dataclass(frozen=True)
class SearchOutcome:
    """A finished search. `folder`: the URI of its files."""

    tuning: Tuning
    trials: tuple[TrialScores, ...]
    folder: str


def make(wanted: Tuning, store: Store, show: progress.Show = progress.SILENT, dashboard: str = "") -> SearchOutcome:
    """Search, choose, keep the choice, then train on all periods the trials that the search names for it.

    What is done already is only read. Call it inside `driver.connected`. Raises InputError if the corpus ends before
    the study does; the choice is kept by then.
    """
    extrapolate.check(wanted)
    show.say(f"{wanted.trials} trials, {wanted.at_once} at a time{f'; dashboard: {dashboard}' if dashboard else ''}")
    folder, trials = ray_tune.search(wanted, store, show)
    points = {wanted.space.label(trial.point): trial.point for trial in trials}
    found = SearchOutcome(wanted, tuple(_trials(wanted, trials, store)), store.uri(folder))
    _keep(found, points, store, folder)
    found = replace(found, trials=tuple(_on_all(found, points, store, show)))
    _keep(found, points, store, folder)
    return found


def as_json(found: SearchOutcome) -> str:
    """Return the trials, the front, the choice and the folder as JSON."""
    about = {"study": found.tuning.study.name, "space": found.tuning.space.name, "periods": found.tuning.describe}
    return json.dumps({**about, **table.as_json(found.trials), "folder": found.folder}, indent=1)


def _trials(wanted: Tuning, tried: Sequence[TuneTrial], store: Store) -> list[TrialScores]:
    """Return every setting that was tried, once; with scores if it was trained on all periods of tuning."""
    by_name = {wanted.space.label(trial.point): trial for trial in reversed(tried)}
    named = {name: by_name[name] for name in dict.fromkeys(wanted.space.label(trial.point) for trial in tried)}
    methods = [wanted.method(trial.point) for trial in named.values() if not trial.refused]
    found = _scores(wanted.seen(methods), store) if methods else {}
    expected: dict[str, selection.PeriodScores] = {}
    if wanted.search.choose_by == "predicted":
        done = [method for method in methods if method.name in found]
        expected = extrapolate.forecasts(wanted, done, plan.make(wanted.seen(done), store))
    return [
        TrialScores(
            name,
            wanted.space.describe(trial.point),
            found.get(name),
            note="" if name in found else trial.note,
            forecast=expected.get(name),
        )
        for name, trial in named.items()
    ]


def _on_all(found: SearchOutcome, points: Mapping[str, Any], store: Store, show: progress.Show) -> list[TrialScores]:
    """Return the trials with their scores on all periods, if they have been trained on them, now or before.

    If the search wants none of them, not even a record of a later period is opened.
    """
    if found.tuning.search.all_periods == "none":
        return list(found.trials)
    wanted, through = found.tuning, [trial for trial in found.trials if trial.scores is not None]
    which = wanted.search.all_periods
    ends = [selection.choose(found.trials), selection.worst(found.trials)]
    made = plan.make(_whole(wanted, {"chosen": ends[:1], "ends": ends, "every": through}[which], points), store)
    if missing := needs.missing_periods(made):
        raise InputError(
            f"the choice is kept in {found.folder}, but corpus {wanted.study.corpus} has no period {missing[0]} yet, "
            "to try it on all periods: append it, or say --all-periods none"
        )
    driver.train(made, show)
    driver.evaluate(made, show)
    whole = _scores(_whole(wanted, through, points), store)
    return [replace(trial, whole=whole.get(trial.name)) for trial in found.trials]


def _whole(wanted: Tuning, of: Sequence[TrialScores], points: Mapping[str, Any]) -> Study:
    return wanted.whole([wanted.method(points[trial.name]) for trial in of])


def _scores(study: Study, store: Store) -> dict[str, selection.PeriodScores]:
    """Return the scores of the methods that are trained and scored to the end, and so is their reference."""
    made = plan.make(study, store)
    done = set(complete(made))
    found = scores(made) if done else {}
    return {name: means for name, means in found.items() if name in done and means.comparable}


def _keep(found: SearchOutcome, points: Mapping[str, Any], store: Store, folder: str) -> None:
    wanted = found.tuning
    through = [trial.name for trial in found.trials if trial.scores is not None]
    chosen = wanted.chosen(points[selection.choose(found.trials).name])
    every = wanted.seen([wanted.method(points[name]) for name in through]).model_dump(mode="json")
    comment = f"# Chosen by ticlm tune on {wanted.describe}: {selection.RULE}.\n"
    files = {
        "chosen.yaml": comment + _yaml(chosen),
        "study.yaml": f"# The trials of ticlm tune on {wanted.describe}.\n" + _yaml(every),
        "trials.csv": table.write(found.trials),
        "choice.json": as_json(found),
    }
    for name, text in files.items():
        store.write(f"{folder}/{name}", text.encode())


def _yaml(data: Mapping[str, Any]) -> str:
    written = json_without_credentials(json.dumps(data))  # otherwise YAML writes what is there twice as an anchor
    return yaml.safe_dump(json.loads(written), sort_keys=False, allow_unicode=True, width=120)
