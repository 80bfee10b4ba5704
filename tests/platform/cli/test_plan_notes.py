"""Notes of a plan name who repeats text, the shortest round, and lopsided months."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from ticlm.core.corpus import Corpus
from ticlm.platform.cli import plan_notes, study
from ticlm.platform.study import plan as plans
from ticlm.platform.study.settings import Study

Studies = Callable[..., Study]


def test_the_method_and_the_month_that_are_repeated_most_are_named(toy_study: Studies, toy_root: Path) -> None:
    methods = [{"base": "cyclic-cosine"}, {"base": "oracle", "cutoffs": ["202301", "202303"]}]
    budgets = {"per_period": 4 * 16 * 900}
    made = plans.make(toy_study(methods=methods, continual_tokens=budgets), str(toy_root))
    most = plan_notes.most_epochs(made)
    assert most is not None and most.who == "cyclic-cosine" and most.epochs > 4
    notes = plan_notes.notes(made, most)
    assert (
        f"cyclic-cosine sees {most.source} {most.epochs:.2f} times; from about 4 times on text is learned by heart"
        in ("\n".join(notes))
    )


def test_rounds_of_few_steps_are_counted_and_the_shortest_is_named(toy_study: Studies, toy_root: Path) -> None:
    made = plans.make(toy_study(), str(toy_root))
    notes = [note for note in plan_notes.notes(made, None) if "steps" in note]
    assert len(notes) == 1 and "rounds have fewer than 10 steps, the fewest 4 (" in notes[0]
    schedule = {"kind": "cosine", "max_rate": 1e-2, "warmup_steps": 2}
    longer = {"initial": {"budget": {"steps": 60}, "schedule": schedule}, "continual_tokens": {"per_period": 6400}}
    notes = plan_notes.notes(plans.make(toy_study(**longer), str(toy_root)), None)
    assert not any("fewer than 10 steps" in note for note in notes)


def test_lopsided_months_of_the_study_are_named(
    toy_study: Studies, toy_corpus: Callable[..., Corpus], tmp_path: Path
) -> None:
    toy_corpus(tmp_path / "corpora/toy@1", rows=12)
    notes = plan_notes.notes(plans.make(toy_study(), str(tmp_path)), None)
    assert (
        "202301: 12 train rows and 16 eval rows; a mean over fewer than 20 says little" in notes[-1].partition(" (")[0]
    )


def test_seeds_that_share_a_first_model_are_said_to_leave_others_out(toy_study: Studies, toy_root: Path) -> None:
    budget = toy_study().initial.model_dump(mode="json", serialize_as_any=True)
    told = []
    for seeds, first in (([1, 2], 0), ([1], 0), ([0, 1], [0, 1])):
        methods = [{"base": "cyclic-cosine", "seeds": seeds, "schedule": {"max_rate": 1e-2, "warmup_steps": 1}}]
        made = plans.make(toy_study(methods=methods, initial=budget | {"seed": first}), str(toy_root))
        told.append([note for note in plan_notes.notes(made, None) if "first model" in note])
    assert told[0][0].startswith("cyclic-cosine: the seeds share one first model") and told[1:] == [[], []]


def test_texts_that_are_read_beyond_the_rows_of_a_model_from_scratch_are_named(
    toy_study: Studies, toy_root: Path
) -> None:
    read: dict[str, Any] = {"kind": "document-perplexity", "name": "read", "examples": "mine"}
    rows, model = toy_study().length, toy_study().model.model_dump(mode="json", serialize_as_any=True)
    told = []
    for task, changes in ((read, {}), (read | {"first_tokens": rows}, {}), (read, {"max_position_embeddings": rows})):
        changed = model | {"changes": {**json.loads(model["changes"]), **changes}}
        made = plans.make(toy_study(model=changed, evaluations=[task]), str(toy_root))
        told.append([note for note in plan_notes.notes(made, None) if "windows" in note])
    assert told[0][0].startswith("read: texts are read in windows of up to 512 tokens by a model that learns from")
    assert f"scratch on rows of {rows};" in told[0][0] and told[1:] == [[], []]


@pytest.mark.parametrize("lacks", ["set mine@1", "corpus mine@1"])
def test_a_plan_that_lacks_something_names_it_and_tells_what_is_known_without_it(
    toy_study: Studies, toy_root: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], lacks: str
) -> None:
    """What copies are tuned on says which rounds there are; without a set that is only asked, all are known."""
    data = toy_study().model_dump(mode="json", serialize_as_any=True)
    asked: dict[str, Any] = {"kind": "document-perplexity", "name": "read", "examples": "mine"}
    if "corpus" in lacks:
        schedule = {"kind": "constant", "max_rate": 1e-3, "warmup_steps": 0}
        asked = {"kind": "perplexity", "name": "tuned", "prepare": {"corpus": "mine", "schedule": schedule}}
        asked["prepare"] |= {"epochs": 1, "expected_rows": 9, "period": "202301", "as_of": "202301"}
    (tmp_path / "study.yaml").write_text(yaml.safe_dump(data | {"evaluations": [*data["evaluations"], asked]}))
    study.plan(f"{tmp_path}/study.yaml", str(toy_root), as_json=True)
    told = json.loads(capsys.readouterr().out)
    assert [one["name"] for one in told["missing"]] == [lacks]
    assert all(one["id"] for one in told["tree"]) == (told["epochs"] is not None) == ("set" in lacks)
    assert not any("not built yet" in note for note in told["notes"])


def test_how_long_recadam_s_pull_outweighs_training_is_told_by_method(toy_study: Studies) -> None:
    """Of 3 rounds of 40 steps; λ is 6/7 or more from the fourth step after t0."""
    schedule = {"kind": "constant", "max_rate": 1e-3, "warmup_steps": 0}

    def told(*optimizers: dict[str, Any]) -> list[str]:
        methods = [
            {"base": "recadam", "name": f"m{n}", "schedule": schedule, "optimizer": optimizer}
            for n, optimizer in enumerate(optimizers)
        ]
        made = plans.make(toy_study(corpus="nowhere", methods=methods, continual_tokens={"steps": 40}), None)
        return [note for note in plan_notes.notes(made, None) if "RecAdam" in note]

    assert told({"t0": 10}, {"t0_share": 0.5}) == [
        "m0: the pull of RecAdam outweighs training in 39 of 120 steps (32.5 %)",
        "m1: the pull of RecAdam outweighs training in 69 of 120 steps (57.5 %)",
    ]
    (late,) = told({"t0": 250})
    assert late == (
        "m0: the pull of RecAdam outweighs training in 120 of 120 steps (100 %); in 3 of 3 rounds (202302) to the last "
        "step, so hardly anything is learned: lower t0, or give t0_share, such as 0.01"
    )
    (flat,) = told({"anneal": "constant"})
    assert flat.endswith("hardly anything is learned: raise task_share, or lower gamma")
