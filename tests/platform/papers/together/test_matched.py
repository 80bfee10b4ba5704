"""Facts that several benchmarks ask for: what is known of them, how they are matched, and how scores agree."""

import math
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest
from factsets import INITIAL, MONTHS, answered, facts, joined, scored, study

from ticlm.core.examples import INFO, Example, Examples, ExamplesInfo, PeriodExamples, publish
from ticlm.core.periods import Calendar
from ticlm.core.store import Store
from ticlm.platform.analysis.agreement import DRAWN, PHI, RANK, agreement
from ticlm.platform.papers.tic_lm.borrowed_reference import renamed
from ticlm.platform.papers.together.matched import matched, same_facts
from ticlm.platform.results.facts import AskedFact, asked_fact, fact_frame
from ticlm.platform.results.kept_answers import prediction_frame
from ticlm.platform.results.study_result import StudyResult, TaskMetric
from ticlm.platform.study.plan import Plan
from ticlm.platform.tasks.generated import GeneratedAnswers


def test_the_fact_of_an_example_is_read_as_each_benchmark_writes_it() -> None:
    labels = {"subject": "Ada  Lovelace", "relation": "place of birth"}
    ids = {"subject-id": "Q7259", "relation-id": "P19"}
    probe = Example("Q7259 P19 Q84", "", "London", source="place of birth", about=labels | ids)
    assert asked_fact(probe) == ("ada lovelace", "place of birth", "Q7259", "P19")
    question = Example("Q7259 P19 Q84", "", "London", about=labels | {"property": "P19"})
    assert asked_fact(question) == ("ada lovelace", "place of birth", "Q7259", "P19")
    lama = Example("u1", "", "London", source="P19", about={"subject": "Ada Lovelace"})
    assert asked_fact(lama) == ("ada lovelace", "", "", "P19")
    synthetic = Example("f1", "", "Oster", source="mayor", about={"subject": "Nord"})
    assert asked_fact(synthetic) == ("nord", "mayor", "", "")
    assert not asked_fact(Example("1", "What?", "x", source="wiki")).is_known
    assert not AskedFact("ada", "", "Q1", "").is_known


def test_ids_are_compared_where_both_have_them_and_labels_elsewhere() -> None:
    ours = facts([("one", "x", "a1", "Q1/P19"), ("one", "x", "a2", "Q2/P19")])
    ours = ours.assign(subject="ada", relation="place of birth")
    asked = ("Q1/P19", "ada/P19", "ada/place of birth", "Q1/P20", "Q3/P19", "ada/P20")
    theirs = facts([("two", "x", f"b{k}", fact) for k, fact in enumerate(asked, 1)]).assign(subject="ada")
    found = {tuple(pair) for pair in same_facts(ours, theirs)[["id_a", "id_b"]].to_numpy()}
    by_id, by_label = {("a1", "b1")}, {(a, b) for a in ("a1", "a2") for b in ("b2", "b3")}
    assert found == by_id | by_label, "another id of the subject or relation is another fact, whatever its label"


def two_tasks(right: list[float], losses: list[float], tokens: int = 1) -> StudyResult:
    """A study whose tasks `asked` (right or wrong) and `kept` (losses) are about the same facts, in its last month."""
    at: dict[str, Any] = {"method": "a", "seed": 1, "trained": MONTHS[1], "label": MONTHS[1]}
    answers = [({**at, "task": "asked@1"}, [answered(f"q{k}", x) for k, x in enumerate(right)])]
    answers.append(({**at, "task": "kept@1"}, [scored(f"f{k}", x, tokens) for k, x in enumerate(losses)]))
    rows = [("asked", MONTHS[1], f"q{k}", f"Q{k}/P19") for k in range(len(right))]
    rows += [("kept", MONTHS[1], f"f{k}", f"Q{k}/P19") for k in range(len(losses))]
    cells = study().cells
    cells = joined(cells, cells[cells["task"] == "kept@1"].assign(task="asked@1"))
    metrics = {"asked@1": TaskMetric("exact-match", True), "kept@1": TaskMetric()}
    return study(cells=cells, predictions=prediction_frame(answers), facts=facts(rows), metrics=metrics)


def test_a_perplexity_agrees_with_answers_where_likelier_facts_are_right() -> None:
    (row,) = matched(two_tasks([1, 1, 1, 0, 0, 0], [0.2, 0.4, 0.6, 2.0, 2.5, 3.0], tokens=2))
    assert (row["facts"], row["score_a"], row["kind"]) == (6, 0.5, RANK) and math.isnan(row["both"])
    assert row["score_b"] == pytest.approx(math.exp((0.2 + 0.4 + 0.6 + 2 + 2.5 + 3) / 12))
    assert row["agreement"] == pytest.approx(0.8783, abs=1e-4), "Spearman's, with ties"
    (turned,) = matched(two_tasks([0, 0, 0, 1, 1, 1], [0.2, 0.4, 0.6, 2.0, 2.5, 3.0]))
    assert turned["agreement"] == pytest.approx(-0.8783, abs=1e-4)


def test_right_answers_agree_by_phi_and_several_examples_of_a_fact_count_as_one() -> None:
    of = two_tasks([1, 1, 0, 0], [0.0] * 4)
    at: dict[str, Any] = {"method": "a", "seed": 1, "trained": MONTHS[1], "label": MONTHS[1]}
    right = {"f0": 1.0, "f1": 0.0, "f2": 0.0, "f3": 0.0, "f4": 0.0, "f5": 1.0}
    answers = [
        ({**at, "task": "asked@1"}, [answered(f"q{k}", float(k < 2)) for k in range(4)]),
        ({**at, "task": "kept@1"}, [answered(name, x) for name, x in right.items()]),
    ]
    more = facts([("kept", MONTHS[1], "f4", "Q0/P19"), ("kept", MONTHS[1], "f5", "Q9/P19")])
    metrics = dict.fromkeys(("asked@1", "kept@1"), TaskMetric("exact-match", True))
    assert of.facts is not None
    held = study(
        cells=of.cells,
        predictions=prediction_frame(answers),
        facts=joined(of.facts, more),
        metrics=metrics,
    )
    (row,) = matched(held)
    assert (row["facts"], row["score_a"], row["score_b"]) == (4, 0.5, 0.125), "f0 and f4 ask for one fact"
    assert row["both"] == pytest.approx(0.125) and row["kind"] == PHI
    assert row["agreement"] == pytest.approx(np.corrcoef([1, 1, 0, 0], [0.5, 0, 0, 0])[0, 1])


def test_methods_are_compared_at_the_last_checkpoint_that_both_tasks_asked() -> None:
    of = two_tasks([1, 0, 1], [0.1, 2.0, 0.3])
    early: dict[str, Any] = {"method": "a", "seed": 1, "trained": INITIAL, "task": "kept@1", "label": MONTHS[1]}
    assert of.predictions is not None
    longer = joined(of.predictions, prediction_frame([(early, [scored("f0", 9.0, 1)])]))
    whole: dict[str, Any] = {"cells": of.cells, "predictions": of.predictions, "facts": of.facts, "metrics": of.metrics}
    (row,) = matched(study(**whole | {"predictions": longer}))
    assert (row["trained"], row["label_a"], row["label_b"], row["method"]) == (MONTHS[1], MONTHS[1], MONTHS[1], "a")
    assert matched(study()) == [], "no facts are known"
    assert of.facts is not None
    assert matched(study(**whole | {"facts": of.facts.assign(asked="one@1/all")})) == [], "the same examples"
    (as_named,) = renamed([of], ["asked@1=wiki-qa@1"])
    assert [one["task_a"] for one in matched(as_named)] == ["wiki-qa@1"]


def test_an_interval_of_agreement_holds_it_and_shrinks_with_more_facts() -> None:
    random = np.random.default_rng(0)

    def drawn(n: int, by_rank: bool) -> tuple[float, float, float, str]:
        x = random.random(n) < 0.5
        y = np.where(random.random(n) < 0.7, x, random.random(n) < 0.5)
        return agreement(x.astype(float), y + (random.random(n) if by_rank else 0.0), by_rank)

    for by_rank in (False, True):
        few, many = drawn(100, by_rank), drawn(DRAWN + 500, by_rank)
        assert few[1] < few[0] < few[2] and many[1] < many[0] < many[2]
        assert many[2] - many[1] < 0.5 * (few[2] - few[1])
    assert all(math.isnan(x) for x in agreement(np.ones(9), np.arange(9.0), True)[:3]), "all are right"
    few = agreement((np.arange(28) == 5).astype(float), np.arange(28.0), True)
    assert few[0] < 0 and math.isnan(few[1]) and math.isnan(few[2]), "a third of the resamples have no right answer"
    assert agreement(np.arange(9.0), np.arange(9.0) ** 3, True)[0] == pytest.approx(1)


def test_the_facts_of_a_study_are_those_of_its_tasks_that_keep_predictions(tmp_path: Path) -> None:
    sets = {name: made(tmp_path / name) for name in ("news", "wiki")}
    asked: dict[str, Any] = {"news": {"split": "new"}, "wiki": {"sets": [{"subset": "new"}]}}
    tasks = [
        GeneratedAnswers.model_validate({"name": name, "examples": name, "form": "question", **more})
        for name, more in asked.items()
    ]
    found = cast(Plan, SimpleNamespace(study=SimpleNamespace(evaluations=tasks), **plan_of(sets)))
    frame = fact_frame(found)
    assert frame is not None
    columns = ("task", "label", "asked", "id", "subject_id", "relation_id")
    assert [tuple(row) for row in frame[list(columns)].to_numpy()] == [
        *[("news@1", label, "news@1/new", f"Q{k} P19 Q84", f"Q{k}", "P19") for k, label in enumerate(MONTHS)],
        *[("wiki@1", "new", "wiki@1/new", f"Q{k} P19 Q84", f"Q{k}", "P19") for k in range(2)],
    ]
    alone = cast(Plan, SimpleNamespace(study=SimpleNamespace(evaluations=tasks[:1]), **plan_of(sets)))
    assert fact_frame(alone) is None, "there is nothing to match it with"


def plan_of(sets: dict[str, Examples]) -> dict[str, Any]:
    labels = {"news": MONTHS, "wiki": ("new",)}
    return {"data_of": lambda task: sets[task.name], "labels": lambda task: labels[task.name]}


def made(folder: Path) -> Examples:
    """A set of two months with one fact each, and an example that names none."""
    store = Store(folder)
    store.write(INFO, ExamplesInfo(name=folder.name, version="1", recipe="0" * 16).model_dump_json().encode())
    for k, period in enumerate(Calendar(initial=MONTHS[0], step="month", last=MONTHS[1]).timeline().periods):
        new = [Example(f"Q{k} P19 Q84", "Where?", "London", about={"subject": "Ada"}), Example(f"{k}", "What?", "x")]
        publish(store, PeriodExamples(period=period, subsets={}, statistics={}), {"new": new})
    return Examples.open(str(folder))
