"""Searches whose trials train: they score what plain runs score, stop without leaving anything reserved, go on after a
kill, and never look at a later period. What Ray Tune does with trials is in test_ray_tune.py."""

from __future__ import annotations

import gzip
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from reserved import wait_until_nothing_is_reserved
from searches import MONTHS, ON_RAY, finished, rates, searched, snapshot_says_terminated
from signals import started
from toys import build_toy_corpus
from watchdog.events import FileSystemEvent, FileSystemEventHandler
from watchdog.observers import Observer

from ticlm.core.errors import FutureMonthError, RunError
from ticlm.core.integrity.records import read_record
from ticlm.core.settings import parse
from ticlm.core.store import Store
from ticlm.datasets.corpus import build
from ticlm.datasets.corpus.recipe import CorpusRecipe
from ticlm.platform.run import driver
from ticlm.platform.study import plan
from ticlm.platform.study.settings import Study, load
from ticlm.platform.tuning import ray_tune, search, selection, trial

pytestmark = [pytest.mark.ray, pytest.mark.slow]


def plain(root: Path, study: Study) -> dict[str, selection.PeriodScores]:
    """The same by an ordinary run of the study."""
    done = plan.make(study, str(root))
    driver.train(done)
    driver.evaluate(done)
    return trial.scores(done)


def test_a_search_scores_what_plain_runs_score_and_its_choice_is_a_study_that_runs(
    ray_local: None, year: Path, study: Callable[..., str], tmp_path: Path
) -> None:
    wanted = rates(study(), all_periods="ends")
    found = searched(year, wanted)
    assert [one.setting for one in found.trials] == ["max_rate 1e-3", "max_rate 0.02", "max_rate 0.005"]

    build_toy_corpus(tmp_path / "plain/corpora/toy@1", periods=MONTHS, rows=64)
    methods = [wanted.method({"schedule.max_rate": rate}) for rate in (1e-3, 2e-2, 5e-3)]
    assert [method.seeds for method in methods] == [(3,)] * 3
    assert {one.name: one.scores for one in found.trials} == plain(tmp_path / "plain", wanted.seen(methods))

    best, worst = selection.choose(found.trials), selection.worst(found.trials)
    assert {one.name for one in found.trials if one.whole is not None} == {best.name, worst.name}
    ends = [method for method in methods if method.name in (best.name, worst.name)]
    whole = plain(tmp_path / "plain", wanted.whole(ends))
    assert {one.name: one.whole for one in found.trials if one.whole is not None} == whole

    chosen = load(f"{found.folder}/chosen.yaml")
    assert chosen.timeline.labels == MONTHS and [m.name for m in chosen.methods[1:]] == ["oracle"]
    (method,) = chosen.methods[:1]
    assert method.seeds == (3, 4) and method.schedule.max_rate in (1e-3, 2e-2, 5e-3)  # type: ignore[union-attr]
    ran = plan.make(chosen, str(year))
    (first,) = [run for run in ran.tree.runs if run.method.name == method.name and run.seed == 3]
    assert all(ran.done(key) for key in first.rounds.values()), "the search has trained it already"

    every = load(f"{found.folder}/study.yaml")
    assert every.last_visible_period == MONTHS[9] and plan.make(every, str(year)).pending() == []
    told = json.loads(Path(found.folder, "choice.json").read_text())
    assert told["chosen"] == best.name and len(told["trials"]) == 3

    again = searched(year, wanted)
    assert again == found


def test_regret_against_an_oracle_of_the_tenth_month_moves_all_alike(year: Path, study: Callable[..., str]) -> None:
    raw = rates(study(), all_periods="none")
    methods = [raw.method({"schedule.max_rate": rate}) for rate in (1e-3, 2e-2, 5e-3)]
    tuning = rates(study(), all_periods="none", reference="oracle")
    made = ray_tune.prepare(tuning, Store(year))
    (series,) = [m for m in made.study.methods if m.name == "oracle"]
    assert series.cutoffs == (MONTHS[9],)  # type: ignore[union-attr]
    (run,) = [run for run in made.tree.runs if run.method.name == "oracle"]
    assert all(plan.make(made.study, str(year)).done(key) for key in run.rounds.values()), "it is trained before trials"
    losses, regrets = plain(year, raw.seen(methods)), plain(year, tuning.seen(methods))
    apart = [[a - b for a, b in zip(losses[name].there, regrets[name].there)] for name in losses]
    assert apart[0] != [0, 0, 0] and all(row == pytest.approx(apart[0]) for row in apart)


@pytest.mark.nightly
def test_asha_stops_trials_and_leaves_nothing_reserved(ray_local: None, year: Path, study: Callable[..., str]) -> None:
    """Eight trials on two CPUs without a dashboard: were a stopped one to keep its workers, the others would wait for
    ever."""

    wanted = search.load(
        "cyclic-cosine",
        study(resources=ON_RAY),
        (),
        ("schedule.max_rate=5e-3,3e-3,2e-3,1e-3,1,5e-4,3e-4,1e-4",),
        {"scheduler": "asha", "all_periods": "none"},
    )
    assert wanted.at_once == 2
    found = searched(year, wanted)
    stopped = [one for one in found.trials if "(asha)" in one.note]
    through = [one for one in found.trials if one.scores is not None]
    assert len(found.trials) == 8 and stopped and through and len(stopped) + len(through) == 8
    assert all(one.scores is None for one in stopped)
    wait_until_nothing_is_reserved()


def command(study: str, root: Path) -> list[str]:
    values = ("--values", "schedule.max_rate=1e-3,2e-3,5e-3,1e-2,2e-2")
    options = ("--root", str(root), "--all-periods", "none", "--set", "resources.chains=1")
    return [sys.executable, "-m", "ticlm.platform", "tune", "cyclic-cosine", study, *values, *options]


@pytest.mark.nightly
def test_a_killed_search_goes_on_without_repeating_what_is_finished(year: Path, study: Callable[..., str]) -> None:
    file = study()
    log = year.parent / "log"
    with tempfile.TemporaryDirectory(prefix="ray", dir="/tmp", ignore_cleanup_errors=True) as folder:
        environment = os.environ | {"RAY_TMPDIR": folder, "OMP_NUM_THREADS": "1", "TUNE_GLOBAL_CHECKPOINT_S": "0.5"}
        environment.pop("RAY_ADDRESS", None)
        options = {"stderr": subprocess.STDOUT, "env": environment, "start_new_session": True}
        with log.open("w") as out, started(command(file, year), stdout=out, **options) as first:
            deadline = time.monotonic() + 300
            while snapshot_says_terminated(year) < 2:
                assert first.poll() is None and time.monotonic() < deadline, log.read_text()[-3000:]
                time.sleep(0.1)
            os.killpg(first.pid, signal.SIGKILL)
            first.wait()
        before = finished(year)
        assert len(before) < 5, "it was killed before its end"
        attempts = {name: read_record(Store(year), f"rounds/{name}") for name in Store(year).folders("rounds")}

        second = subprocess.run(command(file, year), capture_output=True, text=True, env=environment, timeout=1000)
    assert second.returncode == 0, second.stdout[-3000:] + second.stderr[-3000:]
    for name, record in attempts.items():
        assert record is None or read_record(Store(year), f"rounds/{name}") == record
    assert "picks" in second.stdout and len(json.loads(_choice(year))["trials"]) == 5
    told = [line for line in second.stdout.splitlines() if "mean of backward, in-distribution and forward" in line]
    assert len(told) < 9 * 5, "finished trials were not run again"
    assert before.items() <= finished(year).items(), "what they wrote stands"


def _choice(root: Path) -> str:
    (file,) = root.glob("tuning/*/choice.json")
    return file.read_text()


# nothing of a later period


class Opened(FileSystemEventHandler):
    def __init__(self) -> None:
        self.paths: list[str] = []

    def on_any_event(self, event: FileSystemEvent) -> None:
        if not event.is_directory:
            self.paths.append(f"{event.event_type} {event.src_path!r}")


@contextmanager
def watched(*folders: Path) -> Iterator[Opened]:
    """What any process does to files below these folders while the block runs: the kernel tells."""
    handler, observer = Opened(), Observer()
    for folder in folders:
        observer.schedule(handler, str(folder), recursive=True)
    observer.start()
    try:
        yield handler
        time.sleep(1)
    finally:
        observer.stop()
        observer.join()


PLANTED = "xylophonic zanzibarian quuxification"


def write_months(folder: Path, months: tuple[str, ...]) -> None:
    """Dated text, a file per month; the eleventh month's is planted and stands nowhere else."""
    folder.mkdir(exist_ok=True)
    for number, month in enumerate(months):
        lines = []
        for page in range(120):
            words = " ".join(f"word{(page * 7 + k * (number + 3)) % 211}" for k in range(60))
            text = f"{PLANTED} {words} {PLANTED}" * 3 if month == MONTHS[10] else words
            when = f"{month[:4]}-{month[4:]}-{1 + page % 28:02d}T00:00:00Z"
            lines.append(json.dumps({"url": f"https://x.org/{month}/{page}", "text": text, "timestamp": when}))
        with gzip.open(folder / f"{month}.jsonl.gz", "wt", compresslevel=1) as file:
            file.write("\n".join(lines))


def recipe(folder: Path, last: str) -> CorpusRecipe:
    return parse(
        CorpusRecipe,
        {
            "name": "toy",
            "version": 1,
            "documents": {"kind": "files", "paths": [f"{folder}/*.jsonl.gz"]},
            "periods": {"initial": MONTHS[0], "step": "month", "last": last},
            "splits": {"eval": 0.15, "tune": 0.15},
            "tokenizer": {"kind": "train", "vocab_size": 400},
            "length": 16,
            "seed": 0,
        },
        "recipe",
    )


def test_tuning_never_opens_a_file_of_the_eleventh_month(
    ray_local: None, loop: None, tmp_path: Path, study: Callable[..., str]
) -> None:
    """Text planted there is in no tokenizer, filter, held-out set or trial: the corpus of the first ten months is the
    same with it and without, and the kernel sees no open of the month's files while a search runs."""
    texts, ten = tmp_path / "texts", tmp_path / "ten"
    write_months(texts, MONTHS)
    write_months(ten, MONTHS[:10])
    with_it = build.build(recipe(texts, MONTHS[10]), str(tmp_path / "root"), lambda _: None)
    without = build.build(recipe(ten, MONTHS[9]), str(tmp_path / "other"), lambda _: None)
    assert with_it.info.tokenizer.sha256 == without.info.tokenizer.sha256
    for label in MONTHS[:10]:
        for split in ("train", "eval", "tune"):
            assert with_it.split(label, split).sha256 == without.split(label, split).sha256
    vocabulary = with_it.store.read("tokenizer/tokenizer.json")
    assert b"word" in vocabulary and not any(word.encode() in vocabulary for word in PLANTED.split())

    root = tmp_path / "root"
    eleventh = root / "corpora/toy@1/periods" / MONTHS[10]
    planted = tmp_path / "planted"
    planted.mkdir()
    (texts / f"{MONTHS[10]}.jsonl.gz").rename(planted / f"{MONTHS[10]}.jsonl.gz")
    one = "schedule.max_rate=1e-3"
    wanted = rates(study(model={"name": "tiny", "changes": SMALL}), one, all_periods="none", reference="oracle")
    with watched(eleventh, planted) as seen:
        found = searched(root, wanted)
    assert all(one.scores is not None for one in found.trials)
    assert seen.paths == []

    with watched(eleventh) as seen:  # were it opened, it would have been seen
        driver.train(plan.make(wanted.whole([wanted.method({"schedule.max_rate": 1e-3})]), str(root)))
    assert any(path.startswith("opened") and "train" in path for path in seen.paths)


SMALL = {"hidden_size": 16, "intermediate_size": 32, "num_hidden_layers": 1}


def test_a_trial_that_asks_for_a_later_period_is_refused(
    ray_local: None, year: Path, study: Callable[..., str]
) -> None:
    """In whatever way a setting would reach there."""
    values = ("replay.expired=[202311]",)
    with pytest.raises((FutureMonthError, RunError), match="202310 would read period 202311"):
        searched(year, search.load("replay-half", study(), (), values, {"all_periods": "none"}))
