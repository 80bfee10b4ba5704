"""A search in a study with one continual period, as CKL's: what its trials see, and what they are scored by."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml
from toys import PERIODS, build_toy_corpus, make_toy_study

from ticlm.core import paths
from ticlm.core.errors import InputError
from ticlm.core.store import Store
from ticlm.platform.cli.tune import _print, _search
from ticlm.platform.run import driver
from ticlm.platform.study import plan
from ticlm.platform.tuning import search, selection, table
from ticlm.platform.tuning.outcome import SearchOutcome, _trials
from ticlm.platform.tuning.selection import PeriodScores, TrialScores
from ticlm.platform.tuning.trial import scores
from ticlm.platform.tuning.tried import TuneTrial

FAST = {"kind": "constant", "max_rate": 5e-2, "warmup_steps": 0}
LASTS = ("optimizer.t0=1,1000", "optimizer.gamma=5000")


def splits(tasks: tuple[Any, ...]) -> list[tuple[str, str | None, str]]:
    return [(task.name, task.data_source, task.split) for task in tasks]


def test_ckl_is_searched_on_tune_rows_of_its_year_and_of_the_old_corpus() -> None:
    """The choice is reported on other rows, and no probe is asked before."""
    wanted = search.load("recadam", "ckl", (), (), {})
    assert wanted.base.name == "ckl-recadam" and wanted.base.schedule.kind == "linear-decay"
    seen, whole = wanted.seen((wanted.base,)), wanted.whole((wanted.base,))
    assert splits(seen.evaluations) == [("perplexity", None, "tune"), ("old-text", "wikipedia-old", "tune")]
    assert splits(whole.evaluations) == [("perplexity", None, "eval"), ("old-text", "wikipedia-old", "eval")]
    assert seen.timeline.labels == whole.timeline.labels == ("202005-202104",) and not seen.tables
    told = "the only continual period (202005-202104), split tune; backward: old text, wikipedia-old"
    assert (wanted.describe, wanted.describe_whole) == (told, "split eval")


def test_a_study_of_several_periods_must_still_say_which_come_first() -> None:
    with pytest.raises(InputError, match="fewer than the first 10 that tuning is to see; say first_periods"):
        search.load("recadam", "temporalwiki", (), (), {})
    wanted = search.load("recadam", "temporalwiki", ("first_periods=2",), (), {})
    assert wanted.base in wanted.study.methods and len(wanted.seen(()).timeline) == 2
    assert splits(wanted.seen(()).evaluations) == [("diffs", None, "tune")], "probes are not asked"


def written(file: Path, model: str) -> str:
    """Write a study of the second toy period alone, which goes on from a model. Return the file's name."""
    old = {"corpus": "old", "period": PERIODS[0], "as_of": PERIODS[0]}
    study = make_toy_study(
        periods={"initial": PERIODS[1], "last": PERIODS[1]},
        model={"kind": "folder", "path": model, "as_of": "outside"},
        initial={"budget": 0},
        continual_tokens={"steps": 40},
        methods=[{"base": "recadam", "schedule": FAST}, {"base": "mix-review", "schedule": FAST, "replay": old}],
    )
    file.write_text(yaml.safe_dump(study.model_dump(mode="json", serialize_as_any=True)))
    return str(file)


def begun(root: Path) -> str:
    """Make a root with a corpus of the toy periods, an old one, and a model of the first period. Return its folder."""
    build_toy_corpus(root / "corpora/toy@1")
    build_toy_corpus(root / "corpora/old@1", periods=PERIODS[:1], name="old")
    first = make_toy_study(periods={"initial": PERIODS[0], "last": PERIODS[0]}, methods=["cyclic-cosine"])
    made = plan.make(first, str(root))
    driver.train(made)
    (key,) = made.ids
    return f"{root}/{paths.model(paths.round_folder(made.ids[key]), made.records[key].attempt)}"


def trained(wanted: search.Tuning, root: str) -> dict[str, PeriodScores]:
    made = plan.make(wanted.seen([wanted.method(point) for point in wanted.space.points]), root)
    driver.train(made)
    driver.evaluate(made)
    return scores(made)


def test_a_pull_to_the_last_step_learns_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A trial's backward is its loss on old text; the choice weighs both."""
    root = str(tmp_path / "root")
    study = written(tmp_path / "single.yaml", begun(tmp_path / "root"))
    wanted = search.load("recadam", study, (), LASTS, {"all_periods": "none"})
    found = trained(wanted, root)
    free, held = (found[wanted.space.label(point)] for point in wanted.space.points)
    assert free.forward is held.forward is None and free.backward is not None and held.backward is not None
    assert free.in_distribution < held.in_distribution - 0.05, "what learns is better on the new period"
    assert free.comparable and free.mean == pytest.approx((free.backward + free.in_distribution) / 2)
    trials = tuple(_trials(wanted, [TuneTrial(point) for point in wanted.space.points], Store(root)))
    assert {one.name: one.scores for one in trials} == found
    _print(SearchOutcome(wanted, trials, f"{root}/tuning/x"))
    said = " ".join(capsys.readouterr().out.split())
    assert "the only continual period (202302), split tune; backward: old text, old" in said


def test_without_an_old_corpus_it_is_said_that_nothing_measures_what_is_kept(tmp_path: Path) -> None:
    study = written(tmp_path / "single.yaml", "/nowhere")
    wanted = search.load(
        "recadam", study, ("methods=[{base: recadam, schedule: {kind: constant, max_rate: 5e-2}}]",), LASTS, {}
    )
    assert wanted.describe.endswith("backward: old text, of which the study has none")
    assert splits(wanted.seen(()).evaluations) == [("perplexity", None, "tune")]
    with pytest.raises(InputError, match="--choose-by predicted: study toy has no later period to predict"):
        search.load("recadam", study, (), LASTS, {"choose_by": "predicted"})


def test_a_search_without_its_corpus_is_one_line_before_any_trial(tmp_path: Path) -> None:
    wanted = search.load("recadam", "ckl", (), (), {})
    with pytest.raises(InputError, match=r"^corpus cc-recentnews: not there yet; build it with: "):
        _search(wanted, str(tmp_path), as_json=True)
    assert not list(tmp_path.glob("tuning/*"))


def test_means_that_a_study_cannot_have_stay_none_in_files_and_count_for_no_trial(tmp_path: Path) -> None:
    trials = [
        TrialScores("a", "a", PeriodScores(1.0, 4.0, None)),
        TrialScores("b", "b", PeriodScores(2.0, 2.0, None)),
        TrialScores("c", "c", PeriodScores(float("nan"), 1.0, None)),
    ]
    path = tmp_path / "trials.csv"
    path.write_text(table.write(trials))
    again = table.read(path)
    assert [one.scores for one in again[:2]] == [one.scores for one in trials[:2]]
    assert selection.choose(again).name == "b" and [one.name for one in selection.front(again)] == ["a", "b"]
    assert table.as_json(again)["trials"][0]["scores"] == {
        "backward": 1.0,
        "in_distribution": 4.0,
        "forward": None,
        "mean": 2.5,
    }
    path.write_text(table.write([*trials, TrialScores("d", "d", PeriodScores(0.0, 0.0, 0.0))]))
    with pytest.raises(InputError, match="some trials have none where others have a number"):
        table.read(path)
