"""The studies of EvolvingQA: their rounds before there is a corpus, and the weights that they train."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from ticlm.platform.cli import plan_view
from ticlm.platform.study import plan
from ticlm.platform.study.settings import load


def test_initial_takes_the_steps_after_which_its_checkpoint_was_released() -> None:
    made = plan.make(load("evolvingqa-initial"), None)
    assert sum(one.steps for one in made.tree.rounds.values()) == 204_240


@pytest.mark.parametrize(("name", "months", "copies"), [("evolvingqa", 6, 2_500), ("evolvingqa-synthetic", 3, 93)])
def test_every_method_trains_on_every_month_and_each_checkpoint_is_tuned_once(
    name: str, months: int, copies: int
) -> None:
    study = load(name)
    made = plan.make(study, None)
    start = study.model.as_of  # type: ignore[union-attr]
    labels = [start, *study.timeline.labels]
    assert len(labels) == months + 1
    for run in made.tree.runs:
        assert [*run.rounds] == labels and made.tree.rounds[run.rounds[start]].steps == 0
    tuned = [chain for chain in made.pending() if chain.is_side]
    checkpoints = {key for run in made.tree.runs for key in run.rounds.values()}
    ways = {task.prepare.model_dump_json() for task in study.evaluations if task.prepare}
    assert len(tuned) == len(ways) * len(checkpoints), "all sets are asked of one copy; a reader is another"
    assert {made.tree.rounds[chain.keys[-1]].steps for chain in tuned} == {copies}


def test_the_plan_says_what_is_trained_without_a_corpus_or_weights() -> None:
    printed = io.StringIO()
    Console(file=printed, width=200).print(plan_view.view(plan.make(load("evolvingqa-parameters"), None)))
    for line in (
        "model: 737,668,096 parameters",
        "lora-4 trains 403,908,096 of 738,847,744 weights (403M of 738M)\n",
        "k-adapter-2 trains 427,899,904 of 762,839,552 weights (427M of 762M)\n",
    ):
        assert line in printed.getvalue().replace(" \n", "\n"), "no further round adds any: all train one adapter"
