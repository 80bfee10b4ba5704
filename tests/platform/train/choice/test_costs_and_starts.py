"""Replay of chosen rows: what a plan shows of its cost, and runs that start from an imported model."""

from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from ticlm.core import paths
from ticlm.core.corpus import Corpus
from ticlm.platform.cli import plan_view
from ticlm.platform.run import driver
from ticlm.platform.study.plan import make
from ticlm.platform.study.settings import Study
from ticlm.platform.study.stored_rounds import published

MakeStudy = Callable[..., Study]
MakeCorpus = Callable[..., Corpus]
PERIODS = ("202301", "202302", "202303")
FAST = {"max_rate": 5e-3, "warmup_steps": 1}
RULES = ("unlike", "novelty", "loss", "excess")
PLAIN = {"base": "replay-half", "schedule": FAST}
LENGTH = 16


def chosen(rule: str) -> dict[str, Any]:
    return {"base": f"replay-chosen-{rule}", "schedule": FAST, "replay": {"pool": 3, "ngram": 2}}


@pytest.fixture
def study_of(toy_study: MakeStudy) -> MakeStudy:
    calendar = {"initial": PERIODS[0], "step": "month", "last": PERIODS[-1]}
    return lambda *methods, **changes: toy_study(**{"periods": calendar, "methods": list(methods)} | changes)


def test_a_plan_shows_the_flops_of_choosing_beside_the_tokens(
    tmp_path: Path, toy_corpus: MakeCorpus, study_of: MakeStudy
) -> None:
    def shown(*methods: dict[str, Any]) -> tuple[dict[str, Any], str]:
        plan = make(study_of(*methods), str(tmp_path))
        console = Console(width=200, file=io.StringIO())
        with console.capture() as text:
            console.print(plan_view.view(plan))
        return plan_view.describe(plan), text.get()

    toy_corpus(tmp_path / "corpora/toy@1", PERIODS)
    found, text = shown(PLAIN, chosen("loss"))
    plain, loss = found["methods"]
    assert loss["tokens"] == plain["tokens"] and plain["all_flops"] == plain["flops"] == loss["flops"]
    assert loss["all_flops"] == loss["flops"] + 2 * found["parameters"] * 48 * LENGTH
    assert "FLOPs of one run" in text and f"{loss['all_flops']:.2e}" in text
    choices = [row for row in found["chains"] if row["kind"] == "sample"]
    assert len(choices) == 2 and all(row["all_flops"] > row["flops"] == row["tokens"] == 0 for row in choices)
    assert "FLOPs of one run" not in shown(PLAIN, chosen("unlike"))[1], "n-grams take none: they go with the tokens"


@pytest.mark.parametrize("rule", RULES)
def test_rows_are_chosen_behind_an_imported_model_too(
    tmp_path: Path, toy_corpus: MakeCorpus, study_of: MakeStudy, rule: str
) -> None:
    """It stands for the run's first checkpoint: the losses are computed, and no record of an earlier round is read."""
    toy_corpus(tmp_path / "corpora/toy@1", PERIODS)
    first = make(study_of({"base": "oracle", "cutoffs": [PERIODS[0]]}), str(tmp_path))
    driver.train(first)
    assert first.store is not None
    folder = first.store.uri(published(first.store, next(iter(first.ids.values()))))
    study = study_of(chosen(rule), model={"kind": "folder", "path": folder, "as_of": PERIODS[0]}, initial={"budget": 0})
    driver.train(make(study, str(tmp_path)))
    done = make(study, str(tmp_path))
    key = done.tree.runs[0].samples[PERIODS[-1]]
    place = paths.sampled_rows(paths.round_folder(done.ids[key]), done.records[key].attempt)
    rows = Corpus.open(first.store.uri(place), PERIODS[-1])
    assert [sum(len(b["tokens"]) for b in rows.rows(label, "train").all(100)) for label in PERIODS[:2]] == [4, 4]
