"""Searches with real Ray Tune: they choose by the rule, stop trials without leaving anything reserved, go on after a
kill, and never look at a later period."""

from __future__ import annotations

import gzip
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
import yaml
from watchdog.events import FileSystemEvent, FileSystemEventHandler
from watchdog.observers import Observer

from ticlm.datasets.corpus import build
from ticlm.datasets.corpus.recipe import CorpusRecipe
from ticlm.platform.core.corpus import Corpus
from ticlm.platform.core.errors import FutureMonthError, InputError, RunError
from ticlm.platform.core.settings import parse
from ticlm.platform.core.store import Store, read_record
from ticlm.platform.run import driver
from ticlm.platform.study import plan
from ticlm.platform.study.resources import Resources
from ticlm.platform.study.settings import Study, load
from ticlm.platform.tuning import outcome, search, selection, trial
from ticlm.platform.tuning import resources as room

pytestmark = [pytest.mark.ray, pytest.mark.slow]
BuildCorpus = Callable[..., Corpus]
MONTHS = tuple(f"2023{month:02d}" for month in range(1, 12))
FAST = {"max_rate": 5e-3, "warmup_steps": 1}
RATES = ("schedule.max_rate=1e-3,2e-2,5e-3",)
JOINT = """
from ray import tune
from ticlm.tune_spaces.space import Space

SPACE = Space(
    name="two",
    method="replay-half",
    domains={"schedule.max_rate": tune.loguniform(1e-4, 3e-2), "replay.alpha": tune.uniform(0.1, 0.9)},
)
"""


@pytest.fixture
def year(tmp_path: Path, toy_corpus: BuildCorpus) -> Path:
    """A root with the toy corpus of eleven months: tuning may see ten of them."""
    toy_corpus(tmp_path / "root/corpora/toy@1", periods=MONTHS, rows=64)
    return tmp_path / "root"


@pytest.fixture
def study(tmp_path: Path, toy_study: Callable[..., Study]) -> Callable[..., str]:
    """`study(**changes)` writes a study of the eleven months to a file, and gives its name."""

    def write(**changes: Any) -> str:
        whole = toy_study(**changes | {"periods": {"initial": MONTHS[0], "last": MONTHS[-1]}})
        data = {name: value for name, value in whole.model_dump(mode="json", serialize_as_any=True).items()}
        data["methods"] = changes.get("methods", METHODS)
        file = tmp_path / f"{whole.name}.yaml"
        file.write_text(yaml.safe_dump(data))
        return str(file)

    return write


METHODS = [
    {"base": "cyclic-cosine", "schedule": FAST, "seeds": [3, 4]},
    {"base": "replay-half", "schedule": FAST},
    {"base": "oracle", "cutoffs": [MONTHS[0], MONTHS[10]]},
]
ON_RAY = {"trainer": "ray", "device": "cpu", "workers": 2, "chains": 2, "cadence": {"steps": 1000}}


def made(root: Path, wanted: search.Tuning) -> outcome.SearchOutcome:
    with driver.connected(plan.make(wanted.seen(()), str(root)), dashboard=True):
        return outcome.make(wanted, str(root))


def rates(study: str, **asked: Any) -> search.Tuning:
    return search.load("cyclic-cosine", study, (), RATES, asked)


def plain(root: Path, study: Study) -> dict[str, selection.PeriodScores]:
    """The same by an ordinary run of the study."""
    done = plan.make(study, str(root))
    driver.train(done)
    driver.evaluate(done)
    return trial.scores(done)


def test_a_search_scores_what_plain_runs_score_and_its_choice_is_a_study_that_runs(
    ray_local: None, year: Path, study: Callable[..., str], tmp_path: Path, toy_corpus: BuildCorpus
) -> None:
    wanted = rates(study(), all_periods="ends")
    found = made(year, wanted)
    assert [one.setting for one in found.trials] == ["max_rate 1e-3", "max_rate 0.02", "max_rate 0.005"]

    toy_corpus(tmp_path / "plain/corpora/toy@1", periods=MONTHS, rows=64)
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

    again = made(year, wanted)
    assert again == found


def test_regret_against_an_oracle_of_the_tenth_month_moves_all_alike(
    ray_local: None, year: Path, study: Callable[..., str]
) -> None:
    raw = made(year, rates(study(), all_periods="none")).trials
    wanted = rates(study(), all_periods="none", reference="oracle")
    regret = made(year, wanted).trials
    (series,) = [m for m in wanted.seen(()).methods if m.name == "oracle"]
    assert series.cutoffs == (MONTHS[9],)  # type: ignore[union-attr]
    apart = [[a - b for a, b in zip(one.scores or (), other.scores or ())] for one, other in zip(raw, regret)]
    assert apart[0] != [0, 0, 0] and all(row == pytest.approx(apart[0]) for row in apart)
    assert selection.choose(raw).name == selection.choose(regret).name


def test_asha_stops_trials_and_leaves_nothing_reserved(ray_local: None, year: Path, study: Callable[..., str]) -> None:
    """Eight trials on two CPUs without a dashboard: were a stopped one to keep its workers, the others would wait for
    ever."""
    import ray

    wanted = search.load(
        "cyclic-cosine",
        study(resources=ON_RAY),
        (),
        ("schedule.max_rate=5e-3,3e-3,2e-3,1e-3,1,5e-4,3e-4,1e-4",),
        {"scheduler": "asha", "all_periods": "none"},
    )
    assert wanted.at_once == 2
    found = made(year, wanted)
    stopped = [one for one in found.trials if "(asha)" in one.note]
    through = [one for one in found.trials if one.scores is not None]
    assert len(found.trials) == 8 and stopped and through and len(stopped) + len(through) == 8
    assert all(one.scores is None for one in stopped)
    deadline = time.monotonic() + 30
    while ray.available_resources().get("CPU") != 2 and time.monotonic() < deadline:
        time.sleep(0.2)
    held = [group for group in ray.util.placement_group_table().values() if group["state"] != "REMOVED"]
    assert ray.available_resources().get("CPU") == 2 and held == []


def test_optuna_draws_eight_trials_of_a_joint_space(
    ray_local: None, year: Path, study: Callable[..., str], tmp_path: Path
) -> None:
    (tmp_path / "two.py").write_text(JOINT)
    wanted = search.load(str(tmp_path / "two.py"), study(), (), (), {"trials": 8, "all_periods": "none"})
    assert wanted.search.algorithm == "optuna"
    found = made(year, wanted)
    assert len(found.trials) == 8 and all(one.scores is not None for one in found.trials)
    assert len({one.scores for one in found.trials}) == 8


def test_trials_are_told_to_tensorboard_and_wandb_with_their_settings(
    ray_local: None, year: Path, study: Callable[..., str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
    from tensorboard.plugins.hparams.plugin_data_pb2 import HParamsPluginData

    monkeypatch.delenv("WANDB_MODE", raising=False)
    monkeypatch.setenv("WANDB_SILENT", "true")
    monkeypatch.chdir(tmp_path)
    resources = {"trainer": "process", "device": "cpu", "chains": 1, "wandb": {"mode": "offline"}}
    found = made(year, rates(study(resources=resources), all_periods="none"))
    folders = sorted(path.parent for path in Path(found.folder).rglob("events.out.tfevents*"))
    assert [folder.name.rpartition("-")[0] for folder in folders] == [
        "max_rate-0.001",
        "max_rate-0.005",
        "max_rate-0.02",
    ]
    seen = EventAccumulator(str(folders[0])).Reload()
    assert len(seen.Scalars("ray/tune/mean")) == 9
    (data,) = [
        HParamsPluginData.FromString(content)
        for tag, content in seen.PluginTagToContent("hparams").items()
        if "session_start" in tag
    ]
    assert data.session_start_info.hparams["settings/schedule.max_rate"].number_value == 1e-3
    runs = [path for place in (tmp_path, year) for path in place.rglob("run-*.wandb")]
    written = b"".join(path.read_bytes() for path in runs)
    for label in (b"cyclic-cosine max_rate-0.001", b"schedule.max_rate"):
        assert label in written


def command(study: str, root: Path) -> list[str]:
    values = ("--values", "schedule.max_rate=1e-3,2e-3,5e-3,1e-2,2e-2")
    options = ("--root", str(root), "--all-periods", "none", "--set", "resources.chains=1")
    return [sys.executable, "-m", "ticlm.platform", "tune", "cyclic-cosine", study, *values, *options]


def finished(root: Path) -> dict[str, str]:
    """What Tune has written of trials that went through, by their folders."""
    texts = {path.parent.name: path.read_text() for path in root.glob("tuning/*/tune/*/result.json")}
    return {name: text for name, text in texts.items() if len(text.splitlines()) == 9}


def test_a_killed_search_goes_on_without_repeating_what_is_finished(year: Path, study: Callable[..., str]) -> None:
    file = study()
    log = year.parent / "log"
    with tempfile.TemporaryDirectory(prefix="ray", dir="/tmp", ignore_cleanup_errors=True) as folder:
        environment = os.environ | {"RAY_TMPDIR": folder, "OMP_NUM_THREADS": "1"}
        environment.pop("RAY_ADDRESS", None)
        with log.open("w") as out:
            first = subprocess.Popen(
                command(file, year), stdout=out, stderr=subprocess.STDOUT, env=environment, start_new_session=True
            )
        deadline = time.monotonic() + 300
        while len(finished(year)) < 2:
            assert first.poll() is None and time.monotonic() < deadline, log.read_text()[-3000:]
            time.sleep(0.2)
        os.killpg(first.pid, signal.SIGKILL)
        first.wait()
        before = finished(year)
        assert len(before) < 5, "it was killed before its end"
        attempts = {name: read_record(Store(year), f"rounds/{name}") for name in Store(year).folders("rounds")}

        second = subprocess.run(command(file, year), capture_output=True, text=True, env=environment, timeout=400)
    assert second.returncode == 0, second.stdout[-3000:] + second.stderr[-3000:]
    for name, record in attempts.items():
        assert record is None or read_record(Store(year), f"rounds/{name}") == record
    assert "picks" in second.stdout and len(json.loads(_choice(year))["trials"]) == 5
    told = [line for line in second.stdout.splitlines() if "mean of the three" in line]
    assert len(told) < 9 * 5, "finished trials were not run again"
    assert before.items() <= finished(year).items(), "what they wrote stands"


def _choice(root: Path) -> str:
    (file,) = root.glob("tuning/*/choice.json")
    return file.read_text()


def test_no_more_trials_run_at_once_than_there_is_room_for(
    ray_local: None, year: Path, study: Callable[..., str]
) -> None:
    """A trial reserves next to nothing for its own process, so nothing else would hold the others back."""
    wanted = rates(study(resources={"trainer": "process", "device": "cpu", "chains": 1}), all_periods="none")
    found = made(year, wanted)
    assert wanted.at_once == 1
    spans = []
    for file in Path(found.folder).glob("tune/*/result.json"):
        told = [json.loads(line) for line in file.read_text().splitlines()]
        spans.append((told[0]["timestamp"] - told[0]["time_this_iter_s"], told[-1]["timestamp"]))
    spans.sort()
    assert len(spans) == 3 and all(ended <= began + 1 for (_, ended), (began, _) in pairwise(spans))


def test_a_rate_at_which_the_loss_is_no_number_is_told_and_not_tried_again(
    ray_local: None, year: Path, study: Callable[..., str]
) -> None:
    wanted = search.load("cyclic-cosine", study(), (), ("schedule.max_rate=5e-3,1e30",), {"all_periods": "none"})
    good, bad = made(year, wanted).trials
    assert good.scores is not None and bad.scores is None and "loss nan" in bad.note
    assert len(list(year.rglob("no-number.json"))) == 1


def test_what_tune_kept_may_be_broken(ray_local: None, year: Path, study: Callable[..., str]) -> None:
    wanted = rates(study(), all_periods="none")
    found = made(year, wanted)
    (kept,) = Path(found.folder).glob("tune/tuner.pkl")
    kept.write_bytes(kept.read_bytes()[:100])
    assert made(year, wanted) == found


def test_models_are_made_in_one_thread_at_a_time(tmp_path: Path, year: Path, study: Callable[..., str]) -> None:
    """transformers swaps functions of its own meanwhile; two threads that overlap leave them swapped."""
    from concurrent.futures import ThreadPoolExecutor

    from ticlm.platform.models import build as model
    from ticlm.platform.models import folders

    seen = rates(study()).seen(())
    tiny = model.scratch(model.config(seen.model, 64), seen.objective, 0)
    tiny.save_pretrained(tmp_path / "tiny")  # type: ignore[operator]
    with ThreadPoolExecutor(2) as pool:
        assert len(list(pool.map(lambda _: folders.load(tmp_path / "tiny"), range(40)))) == 40


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
    wanted = rates(study(model={"name": "tiny", "changes": SMALL}), all_periods="none", reference="oracle")
    with watched(eleventh, planted) as seen:
        found = made(root, wanted)
    assert all(one.scores is not None for one in found.trials)
    assert seen.paths == []

    with watched(eleventh) as seen:  # were it opened, it would have been seen
        driver.train(plan.make(wanted.whole([wanted.method({"schedule.max_rate": 1e-3})]), str(root)))
    assert any(path.startswith("opened") and "train" in path for path in seen.paths)


SMALL = {"hidden_size": 16, "intermediate_size": 32, "num_hidden_layers": 1}


# bad input


@pytest.mark.parametrize(
    ("space", "values", "changes", "asked", "said"),
    [
        ("cyclic-cosine", ("schedule.nope=1,2",), {}, {}, "schedule.nope is no setting"),
        ("ewc", ("penalties.3.weight=1",), {}, {}, "penalties.3"),
        ("cyclic-cosine", ("schedule.max_rate=",), {}, {}, "no values"),
        ("nothing", ("schedule.max_rate=1",), {}, {}, "neither the study nor the catalogue has"),
        ("nothing", (), {}, {}, "no packaged space; packaged are: ewc"),
        ("cyclic-cosine", RATES, {}, {"algorithm": "optuna"}, "use --search grid or random"),
        ("joint", (), {}, {"algorithm": "grid"}, "use --search optuna or random"),
        ("cyclic-cosine", RATES, {}, {"algorithm": "guess"}, "algorithm: Input should be 'grid', 'random' or 'optuna'"),
        ("cyclic-cosine", RATES, {}, {"all_periods": "some"}, "all_periods"),
        ("cyclic-cosine", RATES, {}, {"trials": 0}, "trials"),
        ("cyclic-cosine", RATES, {"first_periods": 12}, {}, "first_periods is 12, but it has only 11"),
        ("cyclic-cosine", RATES, {"first_periods": 1, "methods.2.cutoffs": "[202301]"}, {}, "two periods or more"),
    ],
)
def test_a_search_that_cannot_be_is_one_line(
    study: Callable[..., str],
    space: str,
    values: tuple[str, ...],
    changes: Mapping[str, Any],
    asked: Mapping[str, Any],
    said: str,
) -> None:
    sets = [f"{name}={value}" for name, value in changes.items()]
    with pytest.raises(InputError) as caught:
        search.load(space, study(), sets, values, asked)
    assert said in str(caught.value) and "\n" not in str(caught.value)


def test_a_study_of_fewer_than_ten_periods_is_refused_unless_it_says_so(
    tmp_path: Path, toy_study: Callable[..., Study], study: Callable[..., str]
) -> None:
    name = study()
    four = ["periods.last=202304", "methods.2.cutoffs=[202301]"]
    with pytest.raises(InputError, match="has 4 periods, fewer than the first 10 that tuning is to see"):
        search.load("cyclic-cosine", name, four, RATES, {})
    wanted = search.load("cyclic-cosine", name, ["first_periods=3", "methods.2.cutoffs=[202301]"], RATES, {})
    assert wanted.seen(()).timeline.labels == MONTHS[:3]


def test_more_trials_at_once_than_there_is_room_for_is_refused(
    ray_local: None, year: Path, study: Callable[..., str]
) -> None:
    wanted = rates(study(resources=ON_RAY | {"workers": 3, "chains": 3}))
    with pytest.raises(InputError, match="3 trials at once, with 1 worker each, need 3 CPUs; this Ray has 2"):
        made(year, wanted)


@pytest.mark.parametrize(
    ("asked", "count", "have", "gets"),
    [
        ({"workers": 1}, 2, {"CPU": 2}, {"CPU": 0.01}),
        ({"workers": 1, "trainer": "process"}, 2, {"CPU": 2}, {"CPU": 1.0}),
        ({"workers": 1, "trainer": "process"}, 2, {"CPU": 2, "GPU": 2}, {"CPU": 1.0, "GPU": 1.0}),
        ({"workers": 1}, 1, {"CPU": 8, "GPU": 1}, {"CPU": 0.01}),  # its one GPU trains; the CPU scores
        ({"workers": 2}, 3, {"CPU": 32, "GPU": 8}, {"CPU": 0.01, "GPU": 0.66}),
        ({"workers": (1, 4)}, 2, {"CPU": 32, "GPU": 8}, {"CPU": 0.01, "GPU": 1.0}),
        ({"workers": 3, "evaluator_gpus": 0.25}, 2, {"CPU": 32, "GPU": 8}, {"CPU": 0.01, "GPU": 0.25}),
        ({"workers": 2, "device": "cpu"}, 2, {"CPU": 32, "GPU": 8}, {"CPU": 0.01}),
        ({"workers": 4, "evaluator_gpus": 0.25}, 2, {"CPU": 32, "GPU": 8}, "evaluator_gpus: 0.25 .* but 0 are left"),
        ({"workers": 5}, 2, {"CPU": 32, "GPU": 8}, "need 10 GPUs; this Ray has 8"),
    ],
)
def test_a_trial_reserves_no_gpu_that_its_workers_need(
    asked: Mapping[str, Any], count: int, have: Mapping[str, float], gets: Mapping[str, float] | str
) -> None:
    resources = Resources(**asked)
    if isinstance(gets, str):
        with pytest.raises(InputError, match=gets):
            room.reserved(resources, count, have)
    else:
        assert room.reserved(resources, count, have) == gets


def test_a_trial_that_asks_for_a_later_period_is_refused(
    ray_local: None, year: Path, study: Callable[..., str]
) -> None:
    """In whatever way a setting would reach there."""
    values = ("replay.expired=[202311]",)
    with pytest.raises((FutureMonthError, RunError), match="202310 would read period 202311"):
        made(year, search.load("replay-half", study(), (), values, {"all_periods": "none"}))


def test_a_corpus_without_later_months_is_enough_to_tune_and_not_to_try_on_all(
    ray_local: None, tmp_path: Path, toy_corpus: BuildCorpus, study: Callable[..., str]
) -> None:
    root = tmp_path / "root"
    toy_corpus(root / "corpora/toy@1", periods=MONTHS[:10], rows=64)
    with pytest.raises(InputError, match=r"the choice is kept in .*, but corpus toy has no period 202311 yet"):
        made(root, rates(study()))
    (file,) = root.glob("tuning/*/chosen.yaml")
    assert load(str(file)).timeline.labels == MONTHS
    assert [one.whole for one in made(root, rates(study(), all_periods="none")).trials] == [None] * 3
