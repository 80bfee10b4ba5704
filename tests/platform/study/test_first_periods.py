"""A study that ends after its first periods: budgets stay, and nothing later can be asked for."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ticlm.core.corpus import Corpus
from ticlm.core.errors import FutureMonthError, InputError
from ticlm.platform.eval import cells
from ticlm.platform.run import driver
from ticlm.platform.study import plan
from ticlm.platform.study.settings import Study, load
from ticlm.platform.train.loader import LoaderSpec, RankReader

MakeStudy = Callable[..., Study]
FAST = {"max_rate": 5e-3, "warmup_steps": 1}
METHODS = [{"base": "cyclic-cosine", "schedule": FAST}, {"base": "replay-half", "schedule": FAST}]


def remove_period(root: Path, label: str) -> None:
    """Make every file of a period, its record too, unreadable by taking it away; its folder still stands."""
    for file in (root / "corpora/toy@1/periods" / label).rglob("*"):
        if file.is_file():
            file.unlink()
            file.with_name("trap").mkdir(exist_ok=True)


@pytest.mark.parametrize("tokens", [{"per_period": 256}, 3 * 256 + 2])
def test_rounds_are_those_of_the_whole_study(toy_root: Path, toy_study: MakeStudy, tokens: Any) -> None:
    """An even split of a budget is over all periods of the calendar, not over the first ones."""
    whole = plan.make(toy_study(methods=METHODS, continual_tokens=tokens), str(toy_root))
    first = plan.make(toy_study(methods=METHODS, continual_tokens=tokens, first_periods=3), str(toy_root))
    assert first.study.timeline.labels == whole.study.timeline.labels[:3]
    assert set(first.ids.values()) < set(whole.ids.values())
    for before, run in zip(whole.tree.runs, first.tree.runs):
        assert [first.ids[key] for key in run.rounds.values()] == [whole.ids[key] for key in before.rounds.values()][:3]


def test_the_whole_packaged_studies_of_tuning_share_their_rounds_with_the_study_they_tune() -> None:
    from ticlm.platform.study.tree import rounds

    tuning, whole = rounds(load("tic-lm-table-5")), rounds(load("tic-lm-3b-220b"))
    (chosen,) = [run for run in tuning.runs if run.method.name == "lr-1e-4"]
    (cosine,) = [run for run in whole.runs if run.method.name == "cyclic-cosine" and run.seed == 124]
    assert list(chosen.rounds.values()) == list(cosine.rounds.values())[:10]


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"methods": [*METHODS, {"base": "oracle", "cutoffs": ["202301", "202304"]}]}, "methods.oracle.cutoffs"),
        ({"evaluate": {"checkpoints": ["202304"]}}, "evaluate.checkpoints"),
        ({"evaluate": {"periods": ["202302", "202304"]}}, "evaluate.periods"),
        (
            {"methods": [{"base": "replay-half", "replay": {"kind": "fixed", "expired": ["202304"]}}]},
            "methods.replay-half.replay.expired",
        ),
    ],
)
def test_a_study_that_names_a_later_period_is_refused(
    toy_study: MakeStudy, changes: dict[str, Any], named: str
) -> None:
    toy_study(**{"methods": METHODS} | changes)
    with pytest.raises(FutureMonthError) as caught:
        toy_study(**{"methods": METHODS, "first_periods": 3} | changes)
    assert named in str(caught.value) and "202303" in str(caught.value) and "202304" in str(caught.value)
    assert caught.value.exit_code == 2 and "\n" not in str(caught.value)


def test_an_initial_model_of_a_later_period_is_refused(toy_study: MakeStudy, tmp_path: Path) -> None:
    from ticlm.platform.study.tree import rounds

    model = {"kind": "folder", "path": str(tmp_path), "as_of": "202304"}
    with pytest.raises(FutureMonthError, match="202303 would read period 202304"):
        rounds(toy_study(methods=METHODS, model=model, initial={"budget": 0}, first_periods=3))


def test_a_study_of_fewer_periods_is_refused(toy_study: MakeStudy) -> None:
    with pytest.raises(InputError, match=r"first_periods is 5, but it has only 4 \(202301 … 202304\)"):
        toy_study(methods=METHODS, first_periods=5)


def test_a_view_of_a_corpus_ends_where_it_says(toy_root: Path) -> None:
    uri = f"{toy_root}/corpora/toy@1"
    remove_period(toy_root, "202304")
    seen = Corpus.open(uri, "202303")
    assert list(seen.periods) == ["202301", "202302", "202303"]
    for ask in (
        lambda: seen.split("202304", "train"),
        lambda: seen.files("202304", "eval"),
        lambda: seen.rows("202304", "tune"),
    ):
        with pytest.raises(FutureMonthError, match="corpus toy@1, seen at period 202303 would read period 202304"):
            ask()
    with pytest.raises(InputError, match="has no period 202212"):
        seen.split("202212", "train")


def test_a_reader_of_a_round_cannot_be_fed_a_later_period(toy_root: Path, toy_study: MakeStudy) -> None:
    """Whatever made the round: the guard stands where files are opened."""
    made = plan.make(toy_study(methods=METHODS), str(toy_root))
    late = next(spec for spec in made.tree.rounds.values() if spec.period == "202304")
    corpora = {"toy@1": f"{toy_root}/corpora/toy@1"}
    next(RankReader(LoaderSpec((late,), corpora)).read(0))
    with pytest.raises(FutureMonthError, match="202303 would read period 202304"):
        next(RankReader(LoaderSpec((late,), corpora, last_visible_period="202303")).read(0))


def test_training_and_scoring_touch_no_file_of_a_later_period(toy_root: Path, toy_study: MakeStudy) -> None:
    remove_period(toy_root, "202304")
    made = plan.make(toy_study(methods=METHODS, first_periods=3), str(toy_root))
    driver.train(made)
    driver.evaluate(made)
    assert cells.units(made) == [] and len(made.records) == len(made.tree.rounds)
