"""What Ray Tune does with trials: it runs, stops and records them, and goes on after a kill. Their scores come from a
table; tests of trials that train are in test_real_search.py."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from reserved import wait_until_nothing_is_reserved
from searches import (
    HOLD,
    MONTHS,
    ON_RAY,
    finished,
    journal,
    rates,
    searched,
    snapshot_says_terminated,
    table_trials,
)
from toys import build_toy_corpus

from ticlm.core.errors import InputError
from ticlm.core.store import Store
from ticlm.platform.study.settings import load
from ticlm.platform.tuning import ray_tune, search
from ticlm.platform.tuning.tried import TuneTrial

pytestmark = [pytest.mark.ray, pytest.mark.slow]
Study = Callable[..., str]
Forks = Callable[..., list[tuple[int, Any]]]
JOINT = """
from ray import tune
from ticlm.tune_spaces.space import Space

SPACE = Space(
    name="two",
    method="replay-half",
    domains={"schedule.max_rate": tune.loguniform(1e-4, 3e-2), "replay.alpha": tune.uniform(0.1, 0.9)},
)
"""


def ran(root: Path, tuning: search.Tuning) -> tuple[str, list[TuneTrial]]:
    """The search itself, without the choice that follows."""
    return ray_tune.search(tuning, Store(root))


def began(root: Path) -> list[str]:
    return [name for name, event in journal(root) if event == "began"]


def test_asha_stops_trials_and_leaves_nothing_reserved(table: None, year: Path, study: Study) -> None:
    """Six trials on two CPUs, which each hold a CPU beside their process: were a stopped one to keep it, the others
    would wait for ever."""

    values = "schedule.max_rate=1e-4,3e-4,5e-4,1e-3,2e-3,5e-3"
    tuning = rates(study(resources=ON_RAY), values, scheduler="asha", all_periods="none")
    assert tuning.at_once == 2
    _, trials = ran(year, tuning)
    stopped = [trial for trial in trials if "(asha)" in trial.note]
    assert len(trials) == 6 and not trials[0].note and stopped
    assert {trial.note for trial in stopped} <= {f"stopped after {label} (asha)" for label in MONTHS[1:9]}
    events = journal(year)
    assert [event for name, event in events if name.endswith("0.0001")] == ["began", *MONTHS[1:10], "ended"]
    assert len([event for _, event in events if event == "ended"]) == 6 - len(stopped)
    wait_until_nothing_is_reserved()


def test_a_process_of_tune_trains_nothing_before_its_first_step(table: None, year: Path, study: Study) -> None:
    """Tune drops one that is still starting, without a word, when another has become free for its trial."""
    tuning = rates(study(), "schedule.max_rate=1e-3,2e-3")
    process, (first, second) = ray_tune._trainable().__new__(ray_tune._trainable()), tuning.space.points
    process.setup({"settings": first}, tuning=tuning, store=Store(year), device="cpu")
    assert began(year) == []
    assert process.step()["period"] == MONTHS[1] and len(began(year)) == 1
    assert process.reset_config({"settings": second}) and len(began(year)) == 1
    assert process.step()["period"] == MONTHS[1] and len(set(began(year))) == 2
    process.cleanup()


def test_optuna_draws_trials_of_a_joint_space(table: None, year: Path, study: Study, tmp_path: Path) -> None:
    (tmp_path / "two.py").write_text(JOINT)
    tuning = search.load(str(tmp_path / "two.py"), study(), (), (), {"trials": 4, "all_periods": "none"})
    assert tuning.search.algorithm == "optuna"
    _, trials = ran(year, tuning)
    assert len(trials) == 4 and not any(trial.note for trial in trials)
    points = [dict(trial.point) for trial in trials]
    assert len({json.dumps(point) for point in points}) == 4
    assert all(1e-4 <= p["schedule.max_rate"] <= 3e-2 and 0.1 <= p["replay.alpha"] <= 0.9 for p in points)


def test_trials_are_told_to_tensorboard_and_wandb_with_their_settings(
    table: None, year: Path, study: Study, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
    from tensorboard.plugins.hparams.plugin_data_pb2 import HParamsPluginData

    monkeypatch.delenv("WANDB_MODE", raising=False)
    monkeypatch.setenv("WANDB_SILENT", "true")
    monkeypatch.chdir(tmp_path)
    resources = {"trainer": "process", "device": "cpu", "chains": 1, "wandb": {"mode": "offline"}}
    folder, _ = ran(year, rates(study(resources=resources), "schedule.max_rate=1e-3,2e-2", all_periods="none"))
    folders = sorted(path.parent for path in (year / folder).rglob("events.out.tfevents*"))
    assert [folder.name.rpartition("-")[0] for folder in folders] == ["max_rate-0.001", "max_rate-0.02"]
    seen = EventAccumulator(str(folders[0])).Reload()
    assert len(seen.Scalars("ray/tune/mean")) == 9
    (data,) = [
        HParamsPluginData.FromString(content)
        for tag, content in seen.PluginTagToContent("hparams").items()
        if "session_start" in tag
    ]
    assert data.session_start_info.hparams["settings/schedule.max_rate"].number_value == 1e-3
    written = b"".join(path.read_bytes() for path in (year / "wandb").glob("offline-run-*/run-*.wandb"))
    labels = (b"cyclic-cosine max_rate-0.001", b"cyclic-cosine max_rate-0.02", b"schedule.max_rate")
    assert [label for label in labels if label not in written] == []


FOUR = "schedule.max_rate=1e-3,2e-3,5e-3,1e-2"


def search_until_two_are_through(address: str, study: str, root: Path) -> None:
    """Search from a process of its own, which is gone without a word once two trials have finished."""
    import ray
    from ray.tune.execution.tune_controller import TuneController

    whole = TuneController.checkpoint

    def checkpoint(self: Any, force: bool = False, wait: bool = False) -> None:
        """Copy what Tune knows to the root, all of its files: killed between them, Tune cannot restore the search and
        runs all trials again."""
        whole(self, force, wait=True)
        if snapshot_says_terminated(root) == len(finished(root)) == 2:
            os.kill(os.getpid(), signal.SIGKILL)

    os.environ["TUNE_GLOBAL_CHECKPOINT_S"] = "0.5"  # how often it does
    ray.init(address=address, log_to_driver=False, logging_level="ERROR")
    TuneController.checkpoint = checkpoint
    with table_trials():
        ran(root, rates(study, FOUR, all_periods="none"))


def test_a_killed_search_goes_on_without_repeating_what_is_finished(
    table: None, year: Path, study: Study, forks: Forks, tmp_path: Path
) -> None:
    import ray

    name = study(resources={"trainer": "process", "device": "cpu", "chains": 1})
    (year / HOLD).write_text("0.005")
    address, log = ray.get_runtime_context().gcs_address, tmp_path / "log"
    ((code, _),) = forks(partial(search_until_two_are_through, address, name, year), log=log, timeout_s=400)
    assert code == -signal.SIGKILL, log.read_text()[-3000:]
    before, first = finished(year), began(year)
    assert len(before) == 2, "it was killed before its end"
    (year / HOLD).unlink()

    _, trials = ran(year, rates(name, FOUR, all_periods="none"))
    assert len(trials) == 4 and not any(trial.note for trial in trials)
    after = finished(year)
    assert len(after) == 4 and before.items() <= after.items(), "what finished trials wrote stands"
    done = {method for method, event in journal(year) if event == "ended"}
    again = began(year)[len(first) :]
    assert len(done) == 4 and len(again) == len(set(again)) == 4 - len(before), "finished trials were not run again"


def test_no_more_trials_run_at_once_than_there_is_room_for(table: None, year: Path, study: Study) -> None:
    """A trial reserves next to nothing for its own process, so nothing else would hold the others back."""
    resources = {"trainer": "process", "device": "cpu", "chains": 1}
    tuning = rates(study(resources=resources), all_periods="none")
    assert tuning.at_once == 1
    ran(year, tuning)
    names = began(year)
    assert len(names) == 3
    assert journal(year) == [(name, event) for name in names for event in ("began", *MONTHS[1:10], "ended")]


def test_a_rate_at_which_the_loss_is_no_number_is_told_and_not_tried_again(
    table: None, year: Path, study: Study
) -> None:
    _, (good, bad) = ran(year, rates(study(), "schedule.max_rate=5e-3,1e30", all_periods="none"))
    assert not good.note and "loss nan" in bad.note and bad.refused
    assert len(began(year)) == 2


def test_a_trial_that_cannot_be_a_study_is_told_and_not_tried_again(table: None, year: Path, study: Study) -> None:
    _, (good, bad) = ran(year, rates(study(), "schedule.max_rate=5e-3,1e-9", all_periods="none"))
    assert not good.note and bad.refused and bad.note == "a rate of 1e-09 is too low"
    assert len(began(year)) == 1


def test_what_tune_kept_may_be_broken(table: None, year: Path, study: Study) -> None:
    tuning = rates(study(), "schedule.max_rate=1e-3,2e-2", all_periods="none")
    found = ran(year, tuning)
    (kept,) = (year / found[0]).glob("tune/tuner.pkl")
    kept.write_bytes(kept.read_bytes()[:100])
    assert ran(year, tuning) == found
    assert len(began(year)) == 4, "without Tune's own state its trials run again; what they trained is on the root"


def test_more_trials_at_once_than_there_is_room_for_is_refused(ray_local: None, year: Path, study: Study) -> None:
    tuning = rates(study(resources=ON_RAY | {"workers": 3, "chains": 3}))
    with pytest.raises(InputError, match="3 trials at once, with 1 worker each, need 3 CPUs; this Ray has 2"):
        searched(year, tuning)


def test_a_corpus_without_later_months_is_enough_to_tune_and_not_to_try_on_all(
    table: None, tmp_path: Path, study: Study
) -> None:
    root = tmp_path / "root"
    build_toy_corpus(root / "corpora/toy@1", periods=MONTHS[:10], rows=64)
    two = "schedule.max_rate=1e-3,2e-2"
    with pytest.raises(InputError, match=r"the choice is kept in .*, but corpus toy has no period 202311 yet"):
        searched(root, rates(study(), two))
    (file,) = root.glob("tuning/*/chosen.yaml")
    assert load(str(file)).timeline.labels == MONTHS
    assert [trial.whole for trial in searched(root, rates(study(), two, all_periods="none")).trials] == [None] * 2
    assert len(began(root)) == 2, "the second call found the search done"
