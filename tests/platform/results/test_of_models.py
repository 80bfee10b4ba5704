"""Models as a third source of results: matrices, means, intervals and tables work on them as on a study."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import speakers

from ticlm.core.errors import InputError
from ticlm.core.examples import INFO, Example, ExamplesInfo, PeriodExamples, publish
from ticlm.core.periods import Calendar
from ticlm.core.settings import parse
from ticlm.core.store import Store
from ticlm.platform.analysis.matrix import views
from ticlm.platform.analysis.models.differences import PRESET, model_differences
from ticlm.platform.analysis.summary import summarize
from ticlm.platform.display.text_tables import records
from ticlm.platform.eval import folder as scoring
from ticlm.platform.results import of_models
from ticlm.platform.results.of_models import ScoredModel
from ticlm.platform.results.study_result import StudyResult

WORDS = " ".join(speakers.TEXTS).split()
MONTHS = ("202301", "202302", "202303")
TASK = {"kind": "document-perplexity", "name": "texts", "examples": "notes@1", "keeps_losses": True}


def write_set(root: Path) -> None:
    """A set of examples `notes@1`: four texts of two sources a month."""
    store = Store(root / "examples/notes@1")
    info = ExamplesInfo(name="notes", version="1", recipe="test")
    store.create(INFO, json.dumps(info.model_dump(mode="json")).encode())
    calendar = Calendar(initial=MONTHS[0], step="month")
    for month, label in enumerate(MONTHS):
        cut = [(7 * month + 3 * k, 7 * month + 3 * k + 9) for k in range(4)]
        examples = [
            Example(id=str(k), text=" ".join(WORDS[start:end]), source="ab"[k % 2])
            for k, (start, end) in enumerate(cut)
        ]
        publish(store, PeriodExamples(period=calendar.period(label), subsets={}), {"all": examples})


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> tuple[Store, list[ScoredModel]]:
    """Three scored models; the first two have one tokenizer, the third another."""
    root = tmp_path_factory.mktemp("models")
    write_set(root)
    folders = [
        speakers.speaker(root / "deep"),
        speakers.speaker(root / "flat", num_hidden_layers=1),
        speakers.speaker(root / "other", speakers.metaspace()),
    ]
    asked = parse(scoring.Scoring, {"evaluations": [TASK]}, "test")
    works = [scoring.unit(Store(root), str(one), asked) for one in folders]
    for work in works:
        scoring.run(work)
    return Store(root), of_models.named([str(one) for one in folders], works)


@pytest.fixture(scope="module")
def alike(models: tuple[Store, list[ScoredModel]]) -> StudyResult:
    store, every = models
    return of_models.study_result("alike", every[:2], store)


def test_a_model_is_a_method_with_a_cell_for_each_period_and_source(
    models: tuple[Store, list[ScoredModel]], alike: StudyResult
) -> None:
    whole, *by_source = views(alike)
    assert [one.method.name for one in whole.methods] == ["deep", "flat"] and whole.evaluated == MONTHS
    assert [view.source for view in by_source] == ["a", "b"]
    for model, method in zip(models[1], whole.methods):
        kept = {
            r.period: r.found.value
            for r in scoring.scores(model.work)
            if r.found.metric == "nll" and not r.found.source
        }
        assert method.values[0, 0].tolist() == [kept[month] for month in MONTHS]


def test_the_mean_of_the_summary_is_that_over_all_periods(alike: StudyResult) -> None:
    table = summarize([alike], PRESET)
    rows = {row["method"]: row for row in records(table[table["source"] == ""])}
    for one in views(alike)[0].methods:
        row = rows[one.method.name]
        assert row["in_distribution"] == pytest.approx(one.values.mean())
        assert np.isnan(row["backward"]) and np.isnan(row["forward"])


def test_differences_are_those_of_the_values_with_intervals_over_texts(alike: StudyResult) -> None:
    whole = views(alike)[0]
    rows = records(model_differences([whole]))
    apart = whole.methods[1].values[0, 0] - whole.methods[0].values[0, 0]
    assert [row["period"] for row in rows] == [*MONTHS, ""]
    assert [row["difference"] for row in rows] == pytest.approx([*apart, apart.mean()])
    assert all(row["low"] <= row["difference"] <= row["high"] for row in rows)
    assert [row["texts"] for row in rows] == [4, 4, 4, 12]


def test_two_tokenizers_are_compared_in_bits_per_byte(
    models: tuple[Store, list[ScoredModel]], alike: StudyResult
) -> None:
    store, (deep, _, other) = models
    mixed = of_models.study_result("mixed", [deep, other], store)
    assert alike.metric("texts@1").name == "nll" and mixed.metric("texts@1").name == "bits-per-byte"
    whole = views(mixed)[0]
    assert records(model_differences([whole]))[0]["difference"] == pytest.approx(
        whole.methods[1].values[0, 0, 0] - whole.methods[0].values[0, 0, 0]
    )


def test_without_kept_losses_the_interval_is_over_periods(alike: StudyResult) -> None:
    *months, whole = records(model_differences(views(replace(alike, predictions=None))[:1]))
    assert all(np.isnan(row["low"]) and row["texts"] is None for row in months)
    assert whole["low"] <= whole["difference"] <= whole["high"]


def test_a_model_is_called_by_the_end_of_its_name_that_tells_it_apart(models: tuple[Store, list[ScoredModel]]) -> None:
    works = [one.work for one in models[1]]
    names = [one.name for one in of_models.named(["x/a/model", "x/b/model", "demo/m@202301"], works)]
    assert names == ["a/model", "b/model", "demo/m@202301"]


def test_a_model_that_is_named_twice_is_one_line(models: tuple[Store, list[ScoredModel]]) -> None:
    work = models[1][0].work
    with pytest.raises(InputError, match=r"^deep is named twice; name each model once$"):
        of_models.named(["deep", "deep"], [work, work])
    with pytest.raises(InputError, match=r"^copy and deep are one model, the same files; name each model once$"):
        of_models.named(["deep", "copy"], [work, work])


def test_weights_are_counted_from_their_files(models: tuple[Store, list[ScoredModel]]) -> None:
    from transformers import AutoModelForCausalLM

    deep = models[1][0]
    assert deep.parameters == sum(
        p.numel() for p in AutoModelForCausalLM.from_pretrained(deep.work.folder).parameters()
    )
