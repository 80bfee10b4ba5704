"""Costs: what a study takes before there is any data, in the paper's own numbers."""

from __future__ import annotations

import io
import json
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from plans import planned
from rich.console import Console

from ticlm.core import quantities
from ticlm.core.errors import InputError
from ticlm.methods.seams import Context, Penalty, PenaltyState
from ticlm.methods.timeline import Imported
from ticlm.platform.cli import plan_view
from ticlm.platform.models import memory
from ticlm.platform.study import costs
from ticlm.platform.study.adapted import weights_of
from ticlm.platform.study.costs import Machine
from ticlm.platform.study.plan import Plan, make
from ticlm.platform.study.settings import Study, load

Studies = Callable[..., Study]
STEP_1 = {"schedule": {"max_rate": 5e-3, "warmup_steps": 1}}


def priced(study: Study, machine: Machine | None = None, root: Path | None = None) -> dict[str, Any]:
    return plan_view.describe(make(study, None if root is None else str(root)), machine or Machine())


def printed(plan: Plan, machine: Machine | None = None) -> str:
    console = Console(file=io.StringIO(), width=200)
    console.print(plan_view.view(plan, machine or Machine()))
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def test_the_paper_costs_what_it_says() -> None:
    """TiC-LM at 3B with 220B tokens: parameters, FLOPs of the continual phase, H100-hours, the Oracle series."""
    found = plan_view.describe(planned("tic-lm-3b-220b"), Machine())
    cost, row = found["cost"], found["methods"][0]
    assert cost["parameters"] == found["parameters"] == 2_796_096_000 and cost["vocabulary"] == 50_432
    continual = sum(given["tokens"] for given in list(row["periods"].values())[1:])
    assert continual * cost["flops_per_token"] == pytest.approx(1.8762e21, rel=5e-5)
    assert continual * cost["flops_per_token_with_attention"] == pytest.approx(2.1014e21, rel=5e-5)
    assert cost["tokens_per_s_per_gpu"] == pytest.approx(20_710.6 * 0.35 / 0.351, rel=2e-3)
    assert continual / cost["tokens_per_s_per_gpu"] / 3600 == pytest.approx(1500, rel=5e-3)
    assert row["gpu_hours"] == pytest.approx(3000, rel=5e-3), "the initial phase costs as much again"
    ratio = plan_view.describe(planned("tic-lm-3b-440b"), Machine())["methods"][0]["oracle_ratio"]
    assert ratio == pytest.approx(2.5907, abs=5e-5)


def test_the_lines_of_a_plan_tell_it_without_any_data() -> None:
    text = printed(planned("tic-lm-3b-440b"))
    assert "model: 2,796,096,000 parameters, with the vocabulary of the model's settings (50,432 tokens)" in text
    assert "at 35 % of the 989 TFLOP/s of one H100: 20,633 tokens/s a GPU, " in text and "days on 8 GPUs)" in text
    assert "training: 9.81e+22 FLOPs (1.1e+23 with attention), and 4e+21 that penalties add" in text
    assert "USD" not in text and "the corpus's shards are not known yet" in text
    assert " USD at 2.5 USD an hour" in printed(planned("tic-lm-3b-440b"), Machine("b200", 0.4, 2.5))


def test_no_library_is_loaded_to_size_a_preset() -> None:
    code = (
        "import sys; from ticlm.platform.cli import plan_view; from ticlm.platform.study import plan, settings\n"
        "assert plan_view.describe(plan.make(settings.load('tic-lm-joint'), None))['cost']['parameters']\n"
        "sys.exit(' '.join({'torch', 'transformers', 'ray', 'numpy'} & sys.modules.keys()) or 0)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_the_vocabulary_comes_from_the_recipe_of_the_corpus(toy_study: Studies, toy_root: Path) -> None:
    assert priced(toy_study(corpus="nowhere"))["cost"] is None
    guessed = priced(toy_study(corpus="synthetic"))["cost"]
    assert (guessed["vocabulary"], guessed["vocabulary_from"]) == (512, "recipe synthetic")
    known = priced(toy_study(), root=toy_root)["cost"]
    assert known["vocabulary_from"] == "corpus toy@1" and known["shard_bytes"] > 0 and guessed["shard_bytes"] is None
    assert priced(toy_study(corpus="tic-cc"))["cost"] is None, "a tokenizer by name is not looked up"
    own = toy_study(corpus="nowhere", model={"kind": "preset", "name": "tiny", "changes": {"vocab_size": 300}})
    assert priced(own)["cost"]["vocabulary"] == 300


class Silent(Penalty):
    def start(self, context: Context) -> PenaltyState:
        raise NotImplementedError


def test_what_penalties_add_is_counted_if_they_tell(toy_study: Studies) -> None:
    """Of the four rounds of six and three times four steps, the first has no penalty."""

    def added(penalty: Any) -> tuple[Any, ...]:
        method = {"base": "cyclic-cosine", "penalties": [penalty], **STEP_1}
        found = priced(toy_study(corpus="synthetic", methods=[method], resources={"chains": 1, "tuned_copies": 1}))
        cost = found["cost"]
        return cost["added_flops"] / cost["flops"], cost["not_counted"], cost["checkpoint_bytes"] / cost["parameters"]

    plain = 3 * 4 * 3  # three checkpoints, four bytes, weights and two moments
    assert added({"kind": "lwf"}) == (pytest.approx(12 / 18 / 3), [], plain)
    assert added({"kind": "ewc", "batches": 2}) == (pytest.approx(3 * 2 / 18), [], plain * 4 / 3)
    assert added({"kind": "lwf", "teacher": Imported(path="x", as_of="outside").model_dump()}) == (0, ["LwF"], plain)
    assert added(Silent()) == (0, ["Silent"], plain)


WIDTH, INNER, VOCABULARY, LENGTH = 64, 192, 512, 16
LAYER = 4 * WIDTH**2 + 3 * WIDTH * INNER + 4 * WIDTH
"""Weights of a layer of `tiny`, which has two, with its four norms."""
TABLE = VOCABULARY * WIDTH
ALL = 2 * LAYER + TABLE + WIDTH


@pytest.mark.parametrize(
    ("method", "trained", "total", "passed", "layers"),
    [
        ({"freeze": {"first_layers": 1}}, LAYER + WIDTH, ALL, LAYER + TABLE + WIDTH, 1),
        ({"adapter": {"kind": "lora", "rank": 2}}, 2 * 2 * 4 * WIDTH, ALL + 16 * WIDTH, ALL + 16 * WIDTH, 2),
    ],
    ids=["last layer", "lora"],
)
def test_frozen_weights_take_a_forward_pass_and_what_lies_above_a_trained_one(
    toy_study: Studies, method: dict[str, Any], trained: int, total: int, passed: int, layers: int
) -> None:
    """The first round of six steps trains all weights, three of four steps those of the method. The embeddings are tied
    to the output layer."""
    one = {"base": "cyclic-cosine", "name": "adapted", **STEP_1, **method}
    study = toy_study(corpus="synthetic", methods=[one], length=LENGTH, model={"kind": "preset", "name": "tiny"})
    plan = make(study, None)
    (found,) = plan.adapted
    assert (found.trained, found.total, found.passed, found.layers) == (trained, total, passed, layers)
    cost = plan_view.describe(plan, Machine())["cost"]
    whole, rest = (sum(spec.tokens for spec in part) for part in split(plan.tree.rounds.values()))
    assert whole and rest and cost["flops"] == 6 * ALL * whole + 2 * (total + passed + trained) * rest
    attention = 4 * WIDTH * LENGTH * (6 * whole + (2 + 2 * layers) * rest)
    assert cost["flops_with_attention"] == cost["flops"] + attention
    per_token = cost["flops"] / (whole + rest)
    assert cost["tokens_per_s_per_gpu"] == pytest.approx(Machine().flops_per_s("float32") / per_token)


def split(rounds: Any) -> tuple[list[Any], list[Any]]:
    """Rounds that train all weights, and others."""
    found: tuple[list[Any], list[Any]] = ([], [])
    for spec in rounds:
        found[spec.recipe.frozen != "nothing"].append(spec)
    return found


def test_checkpoints_leave_frozen_weights_out(toy_study: Studies) -> None:
    """Where a run starts from a folder, no round trains all weights."""
    one = {"base": "cyclic-cosine", "name": "last", **STEP_1, "freeze": {"first_layers": 1}}
    study = toy_study(corpus="synthetic", methods=[one], length=LENGTH, model={"kind": "preset", "name": "tiny"})
    plan = make(study, None)
    last = [spec for spec in plan.tree.rounds.values() if spec.recipe.frozen != "nothing"]
    weights = weights_of(study, plan.adapted)
    assert costs.checkpoint_bytes(ALL, study, last, 1, 0, weights) == 3 * 4 * 3 * (LAYER + WIDTH)
    assert plan.size is not None
    job = costs.memory_job(plan.size, study, last, (1, 1), weights)
    whole = costs.memory_job(plan.size, study, last, (1, 1))
    assert memory.of(job).state == 4 * (ALL + 3 * (LAYER + WIDTH)) and memory.of(whole).state == 4 * 4 * ALL
    assert 2 * memory.of(job).activations == memory.of(whole).activations


def test_checkpoints_are_those_of_the_chains_that_train_at_once(toy_study: Studies) -> None:
    one = priced(toy_study(corpus="synthetic", resources={"chains": 1}))["cost"]
    two = priced(toy_study(corpus="synthetic", resources={"chains": 2}))["cost"]
    many = priced(toy_study(corpus="synthetic", resources={"chains": 99}))["cost"]
    assert 2 * one["checkpoint_bytes"] == two["checkpoint_bytes"] and many["checkpoint_bytes"] > two["checkpoint_bytes"]


def test_models_inside_rounds_take_disk_too(toy_study: Studies) -> None:
    before = priced(toy_study(corpus="synthetic"))
    inside = priced(toy_study(corpus="synthetic", evaluate={"inside": {"every_steps": 2}}))["cost"]
    steps = [spec.steps for spec in make(toy_study(), None).tree.rounds.values()]
    assert inside["inside_models"] == sum(len(range(2, n, 2)) for n in steps)
    more = 4 * before["parameters"] * inside["inside_models"]
    assert inside["weights_bytes"] == before["cost"]["weights_bytes"] + more
    unknown = toy_study(corpus="synthetic", evaluate={"inside": {"every_epochs": 0.5}})
    assert priced(unknown)["cost"]["inside_models"] is None and "without those inside rounds" in printed(
        make(unknown, None)
    )


@pytest.mark.parametrize(
    ("machine", "error"),
    [
        (lambda: Machine("h10"), "--gpu: no peak of 'h10' is known; known are a100, h100"),
        (lambda: Machine(utilisation=35), "--utilisation must be from 1e-06 to 1, got 35"),
        (lambda: Machine(utilisation=5e-324), "--utilisation must be from 1e-06 to 1, got 5e-324"),
        (lambda: Machine(price=-1), "--price must be from 0 to 1,000,000, got -1"),
        (lambda: Machine(price=float("inf")), "--price must be from 0 to 1,000,000, got inf"),
        (lambda: Machine(price=float("nan")), "--price must be from 0 to 1,000,000, got nan"),
    ],
)
def test_a_machine_that_cannot_be_is_refused(machine: Callable[[], Machine], error: str) -> None:
    with pytest.raises(InputError, match=re.escape(error)):
        machine()


def test_hours_and_money_follow_the_machine() -> None:
    plan = planned("tic-lm-joint")
    slow, fast = (plan_view.describe(plan, Machine(gpu, price=2))["cost"] for gpu in ("a100", "b200"))
    assert slow["gpu_hours"] / fast["gpu_hours"] == pytest.approx(2250 / 312)
    assert slow["money"] == 2 * slow["gpu_hours"] and slow["days"] == slow["gpu_hours"] / 8 / 24
    assert quantities.size(slow["weights_bytes"]) in printed(plan)


def test_the_paper_s_evaluation_is_counted_before_there_is_a_corpus() -> None:
    """175 checkpoints (Oracles at all their cutoffs), 3 × 12 held-out sets of 8,192 rows of 2,048 tokens each."""
    scored = priced(load("tic-lm-3b-220b"), Machine(price=2))["cost"]["evaluation"]
    assert scored["tokens"] == scored["cells"] * 8192 * 2048 == 175 * 36 * 8192 * 2048
    assert scored["flops"] == 2 * 2_796_096_000 * scored["tokens"] and scored["compute"] == "bfloat16"
    hours = scored["gpu_hours_by_compute"]
    assert scored["gpu_hours"] == hours["bfloat16"] == scored["money"] / 2
    assert [round(hours[one]) for one in ("bfloat16", "tf32", "float32")] == [332, 553, 3267]
    slow = load("tic-lm-3b-220b", ["evaluate.compute=float32"])
    assert "5.91e+20 FLOPs, 3,267 GPU-hours in float32 (332 in bfloat16, 553 in tf32)\n" in printed(make(slow, None))


def test_training_in_float32_is_not_priced_at_the_peak_of_bfloat16() -> None:
    half, whole = (priced(load("tic-lm-joint", [f"precision.compute={one}"])) for one in ("bfloat16", "float32"))
    for rows in ("cost", "total"):
        assert whole[rows]["gpu_hours"] / half[rows]["gpu_hours"] == pytest.approx(989 / 67)
    assert whole["cost"]["evaluation"] == half["cost"]["evaluation"]
    text = printed(make(load("tic-lm-joint", ["precision.compute=float32"]), None))
    assert "at 35 % of the 67 TFLOP/s of one H100 in float32: " in text


def test_tasks_of_which_only_scoring_tells_the_tokens_are_named(toy_study: Studies) -> None:
    questions = {"kind": "exact-match", "name": "quiz", "examples": "quiz@1"}
    study = toy_study(corpus="synthetic", evaluations=[{"kind": "perplexity", "max_rows": 4}, questions])
    found = priced(study)["cost"]["evaluation"]
    checkpoints = len(make(study, None).tree.rounds)
    assert found["cells"] == checkpoints * len(study.timeline.labels) and found["not_counted"] == ["quiz"]
    assert found["tokens"] == found["cells"] * 4 * study.length
    assert "not counted: quiz, of which only scoring tells the tokens" in printed(make(study, None))


def test_a_round_of_json_names_the_runs_that_train_it(toy_study: Studies, toy_root: Path) -> None:
    tuned = {"kind": "perplexity", "name": "tuned", "prepare": {"steps": 2, "split": "tune"}}
    methods = [{"base": name, "seeds": [4, 5], **STEP_1} for name in ("cyclic-cosine", "replay-half")]
    plan = make(toy_study(methods=methods, evaluations=[tuned]), str(toy_root))
    rows = json.loads(plan_view.as_json(plan))["tree"]
    first, *later = [row for row in rows if row["tuned_copy"] is None]
    assert len(first["runs"]) == 4 and {len(row["runs"]) for row in later} == {1}
    named = {(run["method"], run["seed"], row["period"]): row["id"] for row in rows for run in row["runs"]}
    assert named == {
        (run.method.name, run.seed, label): plan.ids[key] for run in plan.tree.runs for label, key in run.rounds.items()
    }
    copies = {row["key"]: row["tuned_copy"] for row in rows if row["tuned_copy"]}
    assert copies == {leaf: {"of": key, "task": task} for (key, task), leaf in plan.tree.leaves.items()} != {}


def test_a_plan_tells_the_memory_of_a_worker_and_what_to_do_if_it_does_not_fit(toy_study: Studies) -> None:
    whole = planned("tic-lm-3b-220b")
    found = plan_view.describe(whole, Machine())["cost"]["memory"]
    assert (found["workers"], found["rows"], found["of"]) == (8, 8, 80 * 10**9) and found["remedies"] == ""
    assert found["total"] == found["state"] + found["gathered"] + found["activations"] + found["logits"]
    assert "memory: at least " in printed(whole) and " of the 80.0 GB of one H100\n" in printed(whole)
    assert "of the 24.0 GB of one L4: it does not fit; lower resources.micro_batch_rows from 8" in printed(
        whole, Machine("l4")
    ).replace("\n", " ")
    again = whole.study.model_copy(update={"resources": whole.study.resources.model_copy(update={"recompute": True})})
    assert priced(again)["cost"]["memory"]["activations"] < found["activations"] / 5
    assert "memory:" not in printed(make(toy_study(corpus="synthetic"), None)), "a toy fits anything"
