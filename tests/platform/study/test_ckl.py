"""The studies of CKL: their steps before there is a corpus, the weights that they train, and the same in small."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest
from paths import ROOT
from rich.console import Console

from ticlm.core import settings
from ticlm.datasets.corpus.recipe import CorpusRecipe
from ticlm.methods.adapters.lora import LoRA
from ticlm.methods.freezing import frozen
from ticlm.methods.method import Continual
from ticlm.methods.recadam import RecAdam
from ticlm.methods.seams import RoundPosition
from ticlm.platform.cli import plan_view
from ticlm.platform.models import adapter_stack, build
from ticlm.platform.study import plan
from ticlm.platform.study.adapted import adapted_weights
from ticlm.platform.study.settings import load

SMALL = ROOT / "benchmarks/experiments/ckl"


@pytest.mark.parametrize(
    ("name", "steps"),
    [
        ("ckl", [25_000]),
        ("ckl-small", [5_000]),
        ("ckl-phases", [2_500, 2_500]),
        ("ckl-gpt2", [5_000]),
        ("ckl-as-released", [25_000]),
    ],
)
def test_a_study_of_ckl_has_the_steps_of_the_paper(name: str, steps: list[int]) -> None:
    made = plan.make(load(name), None)
    vanilla = next(run for run in made.tree.runs if run.method.name == "ckl-vanilla")
    assert [made.tree.rounds[key].steps for key in vanilla.rounds.values()][1:] == steps
    review = next(run for run in made.tree.runs if run.method.name == "ckl-mix-review")
    old = sum(made.tree.rounds[key].old_rows for key in review.rounds.values())
    new = sum(made.tree.rounds[key].new_rows for key in review.rounds.values())
    ratio = {"ckl": 10.132 / 4, "ckl-as-released": 4.0}  # as released, each epoch has as many old rows as the first
    assert old / new == pytest.approx(ratio.get(name, 12.565 / 8), rel=1e-3)


def test_as_released_the_methods_are_what_ckls_code_trains() -> None:
    study = load("ckl-as-released")
    by_name = {method.name: method for method in study.methods}
    assert list(by_name) == [method.name for method in load("ckl").methods]
    for method in by_name.values():  # over twice the steps there are, so that a round ends at .556 of the peak
        assert isinstance(method, Continual)
        position = RoundPosition(index=0, steps=25_000, steps_before=0)
        assert method.schedule.rate(24_999, position) / 1e-3 == pytest.approx(0.556, abs=1e-3)
    lora, recadam = by_name["ckl-lora"].adapter, by_name["ckl-recadam"].optimizer  # type: ignore[union-attr]
    assert isinstance(lora, LoRA) and lora.scale == 0.25
    assert isinstance(recadam, RecAdam) and recadam.weight_decay == 0
    assert {(recadam.annealed(t), recadam.pull(1e-3, recadam.annealed(t))) for t in (1, 250, 25_000)} == {(1.0, 0.0)}
    scored = {name: getattr(method.adapter, "scored", True) for name, method in by_name.items()}  # type: ignore[union-attr]
    assert [name for name, on in scored.items() if not on] == ["ckl-k-adapter-2", "ckl-k-adapter-3", "ckl-modular"]
    lama = next(task for task in study.evaluations if task.name == "lama")
    assert lama.released and [one.cut_answers for one in lama.sets] == [True, False, False, False]  # type: ignore[union-attr]


def test_questions_of_light_tuning_are_those_of_small_and_its_copies_are_tuned_on_others() -> None:
    for name, rate in (("ckl-light-tuning", 1e-4), ("ckl-light-tuning-high-rate", 1e-3)):
        study = load(name)
        nqe = next(task for task in study.evaluations if task.name.startswith("nqe"))
        assert [one.subset for one in nqe.sets] == ["new-easy-p1", "new-easy-p2"] and nqe.form == "question"  # type: ignore[union-attr]
        trained = plan.make(study, None)
        same = plan.make(load("ckl-gpt2" if rate == 1e-4 else "ckl-gpt2-high-rate"), None)
        assert {method.schedule.max_rate for method in study.methods} == {rate}  # type: ignore[union-attr]
        rounds = [[run.rounds for run in one.tree.runs] for one in (trained, same)]
        assert rounds[0] == rounds[1], "the checkpoints are those of the study that trains them"


def test_the_plan_says_what_is_trained_as_table_2_prints_it() -> None:
    printed = io.StringIO()
    Console(file=printed, width=200).print(plan_view.view(plan.make(load("ckl-parameters"), None)))
    for line in (
        "model: 737,668,096 parameters",
        "ckl-lora trains 403,908,096 of 738,847,744 weights (403M of 738M); each further round adds 1,179,648: "
        "the second trains 404,694,528 of 740,027,392",
        "ckl-k-adapter-2 trains 427,899,904 of 762,839,552 weights (427M of 762M); each further round adds 25,171,456: "
        "the second trains 427,899,904 of 788,011,008",
        "ckl-k-adapter-3 trains 440,484,864 of 775,424,512 weights (440M of 775M); each further round adds 37,756,416: "
        "the second trains 440,484,864 of 813,180,928",
        "ckl-modular trains 438,584,576 of 773,524,224 weights (438M of 773M); each further round adds 35,856,128: "
        "the second trains 438,584,576 of 809,380,352",
        "ckl-vanilla, ckl-recadam train all 737,668,096 weights",
    ):
        assert line in printed.getvalue()


def test_a_plan_has_the_weights_of_each_phase() -> None:
    """The second phase's counts are those of Table 3, of a decoder that goes on training its adapters."""
    weights = json.loads(plan_view.as_json(plan.make(load("ckl-parameters"), None)))["weights"]
    found = {(one["method"], one["period"]): (one["trained"], one["total"]) for one in weights}
    assert found["ckl-lora", "202011-202104"] == (403_908_096, 738_847_744)
    assert found["ckl-lora", "202105-202110"] == (404_694_528, 740_027_392)
    assert found["ckl-k-adapter-2", "202105-202110"] == (427_899_904, 788_011_008)
    assert found["ckl-lora", "202005-202010"] == found["ckl-vanilla", "202105-202110"] == (737_668_096,) * 2


def test_each_further_round_adds_as_many_weights_as_the_second() -> None:
    """What the plan says of round 3 is what a module of three adapters has."""
    size = "{d_model: 16, d_kv: 8, d_ff: 32, num_layers: 2, num_heads: 2}"
    model = f"model={{kind: config, model_type: t5, config: {size}}}"
    study = load("ckl-parameters", sets=[model, "methods=[ckl-vanilla, ckl-lora]"])
    (lora,) = (one for one in adapted_weights(study, 100) if one.method == "ckl-lora")
    method = next(one for one in study.methods if one.name == "ckl-lora")
    assert isinstance(method, Continual)
    module = build.from_config(build.config(study.model, 100), study.objective)
    for number in (1, 2, 3):
        adapter_stack.prepare(module, method.adapter, frozen(method.freeze, method.adapter), 0)
        sizes = [(weight.numel(), weight.requires_grad) for weight in module.parameters()]
        assert lora.in_round(number) == (sum(n for n, trained in sizes if trained), sum(n for n, _ in sizes))


@pytest.mark.parametrize("file", sorted(SMALL.glob("*.yaml")), ids=lambda file: file.stem)
def test_the_experiments_in_small_are_whole(file: Path) -> None:
    if file.stem in ("posts", "phases", "tenth"):
        recipe = settings.load(CorpusRecipe, str(file), "datasets/recipes", ["documents.paths=[posts/x.jsonl]"])
        assert recipe.name == file.stem and recipe.rows.kind == "salient-spans"
    else:
        study = load(str(file))
        known = {one.name for folder in (SMALL, ROOT / "datasets/recipes") for one in folder.iterdir()}
        assert study.name == file.stem and f"{study.corpus}.yaml" in known
