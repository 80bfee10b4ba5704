"""Searches over a toy study of eleven months, and trials that take their scores from a table."""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import yaml
from toys import make_toy_study

from ticlm.core.errors import Diverged, InputError
from ticlm.core.store import Store
from ticlm.platform.run import driver
from ticlm.platform.study import plan
from ticlm.platform.study.settings import Study
from ticlm.platform.tuning import outcome, ray_tune, search
from ticlm.platform.tuning.selection import PeriodScores, TrialScores
from ticlm.platform.tuning.tried import TuneTrial

MONTHS = tuple(f"2023{month:02d}" for month in range(1, 12))
"""The study's periods; tuning may see the first ten."""
FAST = {"max_rate": 5e-3, "warmup_steps": 1}
RATES = ("schedule.max_rate=1e-3,2e-2,5e-3",)
METHODS = [
    {"base": "cyclic-cosine", "schedule": FAST, "seeds": [3, 4]},
    {"base": "replay-half", "schedule": FAST},
    {"base": "oracle", "cutoffs": [MONTHS[0], MONTHS[10]]},
]
ON_RAY = {"trainer": "ray", "device": "cpu", "workers": 2, "chains": 2, "cadence": {"steps": 1000}}
JOURNAL, HOLD = "trials.jsonl", "hold"


def write_study(folder: Path, **changes: Any) -> str:
    """Write a study of the eleven months to a file. Return the file's name."""
    study = make_toy_study(**changes | {"periods": {"initial": MONTHS[0], "last": MONTHS[-1]}})
    data = study.model_dump(mode="json", serialize_as_any=True) | {"methods": changes.get("methods", METHODS)}
    file = folder / f"{study.name}.yaml"
    file.write_text(yaml.safe_dump(data))
    return str(file)


def rates(study: str, *values: str, **settings: Any) -> search.Tuning:
    """A search of the learning rate; `settings` are those of Search."""
    return search.load("cyclic-cosine", study, (), values or RATES, settings)


def searched(root: Path, tuning: search.Tuning) -> outcome.SearchOutcome:
    """Run the search to its end, as the command does."""
    with driver.connected(plan.make(tuning.seen(()), str(root)), dashboard=True):
        return outcome.make(tuning, Store(root))


class TableTrial:
    """Stands for a Trial: its scores are its learning rate, and it trains nothing.

    It appends "began", every period and "ended" to a journal in the root. A rate above 1e29 has no loss, and one below
    1e-8 cannot be a study. With `resources.trainer: ray` it reserves a CPU that only `close` gives back, as the workers
    of a real trial do when their process is killed. A trial whose rate the file `hold` in the root names does not go on
    before that file is gone.
    """

    def __init__(self, study: Study, store: Store, device: str = "auto", warm: object = None) -> None:
        schedule: Any = study.methods[0].schedule  # type: ignore[union-attr]
        self.rate = float(schedule.max_rate)
        if self.rate < 1e-8:
            raise InputError(f"a rate of {self.rate} is too low")
        self.left = list(study.timeline.labels[1:])
        self._root, self._name, self._held = store.root, study.methods[0].name, None
        if study.resources.trainer == "ray":
            from ray.util import placement_group

            self._held = placement_group([{"CPU": 0.9}], lifetime="detached")
            assert self._held.wait(30)
        self._note("began")

    def next(self) -> tuple[str, PeriodScores]:
        if self.rate > 1e29:
            raise Diverged("period 202302, step 1: loss nan")
        while f"{self.rate:g}" in _lines(f"{self._root}/{HOLD}"):
            time.sleep(0.05)
        label = self.left.pop(0)
        self._note(label)
        if not self.left:
            self._note("ended")
        return label, PeriodScores(self.rate, self.rate, self.rate * (1 + len(self.left)))

    def close(self) -> None:
        if self._held is not None:
            from ray.util import remove_placement_group

            remove_placement_group(self._held)

    def _note(self, event: str) -> None:
        line = json.dumps([self._name, event]) + "\n"
        journal = os.open(f"{self._root}/{JOURNAL}", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        os.write(journal, line.encode())
        os.close(journal)


def journal(root: Path) -> list[tuple[str, str]]:
    """What trials did in this root, in order: (method, event)."""
    return [tuple(json.loads(line)) for line in _lines(root / JOURNAL)]


def _lines(file: Path | str) -> list[str]:
    try:
        return Path(file).read_text().splitlines()
    except FileNotFoundError:
        return []


TERMINATED = r"\"status\": \"TERMINATED\""


def snapshot_says_terminated(root: Path) -> int:
    """Count the trials that Tune's own snapshot of the search knows to be finished; after a kill it runs the others."""
    texts = [path.read_text() for path in root.glob("tuning/*/tune/experiment_state-*.json")]
    return max((text.count(TERMINATED) for text in texts), default=0)


def finished(root: Path) -> dict[str, str]:
    """What Tune has written of trials that went through, by their folders."""
    texts = {path.parent.name: path.read_text() for path in root.glob("tuning/*/tune/*/result.json")}
    return {name: text for name, text in texts.items() if len(text.splitlines()) == 9}


@contextmanager
def table_trials() -> Iterator[None]:
    """Have Tune's processes run TableTrial in place of Trial, and take the scores of a finished search from it."""
    import ray

    real, module = ray_tune._trainable(), sys.modules.get(__name__)

    class FromTable(real):  # type: ignore[misc, valid-type]
        def setup(self, config: dict[str, Any], **named: Any) -> None:
            from ticlm.platform.tuning import trial

            vars(trial)["Trial"] = TableTrial
            super().setup(config, **named)

    if module is not None:  # in a fork it came by value itself
        ray.cloudpickle.register_pickle_by_value(module)  # Ray's workers cannot import it
    try:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(ray_tune, "_trainable", lambda: FromTable)
            patch.setattr(ray_tune, "prepare", _plan_only)
            patch.setattr(outcome, "_trials", _from_table)
            yield
    finally:
        if module is not None:
            ray.cloudpickle.unregister_pickle_by_value(module)


def _plan_only(tuning: search.Tuning, root: str, *_: Any) -> plan.Plan:
    """The plan of what tuning sees, of which nothing is trained."""
    return plan.make(tuning.seen(()), root)


def _from_table(tuning: search.Tuning, tried: list[TuneTrial], root: str) -> list[TrialScores]:
    def scores(point: Mapping[str, Any]) -> PeriodScores:
        rate: float = tuning.method(point).schedule.max_rate
        return PeriodScores(rate, rate, rate)

    def name(point: Mapping[str, Any]) -> str:
        return tuning.space.label(point)

    return [
        TrialScores(name(t.point), tuning.space.describe(t.point), None if t.note else scores(t.point), note=t.note)
        for t in tried
    ]
