"""The studies of EvolvingQA and TemporalWiki: their rounds without a corpus, and the weights that they train."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from ticlm.methods.method import Continual
from ticlm.methods.optimizers import AdamW
from ticlm.platform.cli import plan_view
from ticlm.platform.study import plan
from ticlm.platform.study.settings import load


def test_initial_takes_the_steps_after_which_its_checkpoint_was_released() -> None:
    made = plan.make(load("evolvingqa-initial"), None)
    assert sum(one.steps for one in made.tree.rounds.values()) == 204_240


@pytest.mark.parametrize(("name", "months"), [("evolvingqa", 6), ("evolvingqa-synthetic", 3)])
def test_every_method_trains_on_every_month_and_each_checkpoint_is_tuned_once_if_at_all(name: str, months: int) -> None:
    study = load(name)
    made = plan.make(study, None)
    start = study.model.as_of  # type: ignore[union-attr]
    labels = [start, *study.timeline.labels]
    assert len(labels) == months + 1
    for run in made.tree.runs:
        assert [*run.rounds] == labels and made.tree.rounds[run.rounds[start]].steps == 0
    tuned = [chain for chain in made.pending() if chain.is_side]
    checkpoints = {key for run in made.tree.runs for key in run.rounds.values()}
    assert len(tuned) == (len(checkpoints) if name == "evolvingqa" else 0), "all sets are asked of one copy; or of none"
    assert {made.tree.rounds[chain.keys[-1]].steps for chain in tuned} <= {2_500}


def test_the_plan_says_what_is_trained_without_a_corpus_or_weights() -> None:
    printed = io.StringIO()
    Console(file=printed, width=200).print(plan_view.view(plan.make(load("evolvingqa-parameters"), None)))
    for line in (
        "model: 737,668,096 parameters",
        "lora-4 trains 403,908,096 of 738,847,744 weights (403M of 738M)\n",
        "k-adapter-2 trains 427,899,904 of 762,839,552 weights (427M of 762M)\n",
        "lora-4-self trains 403,514,880 of 738,454,528 weights (403M of 738M)\n",  # 24 · 16,384 fewer than lora-4
        "k-adapter-2-text trains 427,899,904 of 762,839,552 weights (427M of 762M)\n",
    ):
        assert line in printed.getvalue().replace(" \n", "\n"), "no further round adds any: all train one adapter"


@pytest.mark.parametrize("name", ["temporalwiki", "temporalwiki-full", "temporalwiki-initial", "temporalwiki-parts"])
def test_temporalwiki_trains_by_one_adam_and_goes_on_with_one_adapter(name: str) -> None:
    methods = [method for method in load(name).methods if isinstance(method, Continual)]
    adams = [method.optimizer for method in methods if isinstance(method.optimizer, AdamW)]
    assert {(one.betas, one.weight_decay) for one in adams} == {((0.9, 0.999), 0.0)}
    assert len(adams) == len(methods) - ("recadam" in [method.name for method in methods])
    assert {method.adapter.per for method in methods if method.adapter} <= {"run"}


def test_perplexity_by_part_of_speech_is_of_the_checkpoints_of_temporalwiki() -> None:
    rounds = [
        [run.rounds for run in plan.make(load(name), None).tree.runs] for name in ("temporalwiki", "temporalwiki-parts")
    ]
    assert rounds[0] == rounds[1]
    assert "pos-perplexity" not in {task.kind for task in load("temporalwiki").evaluations}, "it needs a pipeline"
