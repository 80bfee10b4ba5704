"""Scores of probes at every checkpoint: in frames, tables and charts, from a study that trains and is scored."""

from __future__ import annotations

import csv
import dataclasses
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from finished import run
from parts import part_of, tables_of
from probesets import RIGHT, one_phase, static_row
from sets import kept_subsets

from ticlm.core.errors import InputError
from ticlm.core.examples import MASK, Example
from ticlm.core.settings import parse
from ticlm.platform.papers.ckl.part import Probes
from ticlm.platform.papers.ckl.probes import COLUMNS, probe_table
from ticlm.platform.report.report import Report
from ticlm.platform.report.write import write
from ticlm.platform.results.of_plan import study_result
from ticlm.platform.results.study_result import StudyResult
from ticlm.platform.study.settings import Study, load

SETS = [{"subset": "invariant"}, {"subset": "new"}]
RATE = {"schedule": {"kind": "cosine", "max_rate": 5e-3, "warmup_steps": 1}}
LAMA = {"kind": "generated-answers", "name": "lama", "examples": "toy@1", "sets": SETS, "tokens": 1, "stop": ""}
RANKS = {"kind": "answer-ranks", "name": "lama-ranks", "examples": "toy@1", "sets": SETS, "best": [1, 5]}
METRICS = ["exact-match", "f1", "p@1", "p@5"]


def made_up(**fields: Any) -> StudyResult:
    study = one_phase({name: RIGHT[name] for name in ("vanilla", "broken")}, **fields)
    return dataclasses.replace(study, tables=(Probes(tasks=("lama",)),))


def test_a_study_with_models_inside_its_rounds_has_a_score_after_each_epoch(
    toy_root: Path, toy_study: Callable[..., Study], tmp_path: Path
) -> None:
    """An epoch has 24 steps of 4 rows, so the round after the base has 9, and a model after each three."""
    probes = [Example(f"p{i}", f"w{i} w{i + 1} {MASK}", f"w{i + 2}") for i in range(1, 9)]
    kept_subsets(toy_root / "examples/toy@1", {"invariant": probes[:5], "new": probes[5:]})
    study = toy_study(
        methods=[{"base": "ckl-vanilla", **RATE}, {"base": "ckl-lora", "freeze": "all", **RATE}],
        periods={"initial": "202301", "last": "202302"},
        evaluations=[{"kind": "perplexity"}, LAMA, RANKS],
        evaluate={"inside": {"every_epochs": 0.125}},
        continual_tokens={"epochs": 0.375},
        tables=[{"kind": "probes", "tasks": ["lama", "lama-ranks"]}],
    )
    result = study_result(run(study, toy_root))
    report = Report([result])
    frame: Any = part_of(report, "Probes").frames["probes"]
    mine = frame[(frame["method"] == "ckl-lora") & (frame["set"] == "new") & (frame["trained"] == "202302")]
    assert list(frame.columns) == list(COLUMNS) and sorted(mine["metric"].unique()) == METRICS
    known = mine[mine["metric"] == "p@5"]
    start = float(frame.loc[frame["place"] == "base", "epochs"].iloc[0])
    assert [epochs - start for epochs in known["epochs"]] == pytest.approx([0.125, 0.25, 0.375])
    assert known["place"].tolist() == ["", "", "end"] and known["step"].isna().tolist() == [False, False, True]
    assert result.mid_round is not None
    cells = result.mid_round.set_index(["method", "trained", "step", "task", "source", "metric"])["value"]
    inside = known[known["step"].notna()]
    assert [cells["ckl-lora", "202302", step, "lama-ranks@1", "new", "p@5"] for step in inside["step"]] == list(
        inside["value"]
    )
    (section,) = part_of(report, "Probes").sections
    assert [chart.title for chart in section.charts] == [
        f"{task}, {label}, {name}"
        for task, name in (("lama", "EM"), ("lama-ranks", "P@1"))
        for label in ("invariant", "new")
    ]
    assert len(section.charts[0].series) == 2 and section.charts[0].x.label == "epochs"
    assert section.charts[0].series[0].x == pytest.approx([start / 2, start, *(start + k / 8 for k in (1, 2, 3))])
    write(report, tmp_path / "out")
    rows = list(csv.DictReader((tmp_path / "out/probes.csv").open()))
    assert len(rows) == len(frame) == 2 * (2 + 3) * 2 * len(METRICS)
    assert any((tmp_path / "out/figures").glob("probes-*lama.png"))
    counts = list(csv.DictReader((tmp_path / "out/weights.csv").open()))
    lora = next(row for row in counts if (row["method"], row["trained"]) == ("ckl-lora", "202302"))
    (weights,) = (one for one in result.weights if (one.method, one.period) == ("ckl-lora", "202302"))
    assert (int(lora["trained_weights"]), int(lora["weights"])) == (weights.trained, weights.total)
    shown = (tmp_path / "out/index.html").read_text().split('<section id="weights">')[1].split("</section>")[0]
    assert f">{weights.trained:,}<" in shown and f">{weights.total:,}<" in shown
    assert weights.total == result.parameters + weights.trained, "LoRA alone is trained"


def test_the_base_stands_once_and_the_best_is_bold() -> None:
    tables = tables_of(Report([made_up()]), "probes")
    assert [table.title for table in tables] == ["invariant", "updated", "new"]
    (first,) = (table for table in tables if table.title == "invariant")
    assert [line.names[0] for line in first.lines] == ["base", "vanilla", "broken"]
    assert [line.cells[0].text for line in first.lines] == ["24.00", "13.00", "10.00"]
    assert [line.cells[0].stands_out for line in first.lines] == [False, True, False]
    assert first.lines[1].cells[0].under == "± 1.06" and first.groups == (("lama: 1,000 probes", 1),)


def test_a_score_of_zero_has_a_bound_and_no_error() -> None:
    study = made_up()
    rows = study.static.assign(value=0.0, stderr=0.0)
    (table, *_) = tables_of(Report([dataclasses.replace(study, static=rows)]), "probes")
    assert table.lines[1].cells[0].under == "≤ 0.30", "3 / n"


def test_without_models_inside_rounds_there_is_a_table_and_no_chart() -> None:
    (section,) = part_of(Report([made_up()]), "Probes").sections
    assert section.tables and not section.charts


def test_values_are_means_over_seeds_and_a_checkpoint_without_all_of_them_is_left_out() -> None:
    study = made_up(seeds=(1, 2))
    frame: Any = probe_table([(study, Probes(tasks=("lama",)))])
    end = frame[(frame["place"] == "end") & (frame["set"] == "invariant") & (frame["method"] == "vanilla")].iloc[0]
    assert (end["value"], end["seeds"]) == (pytest.approx(0.1305), 2) and end["std"] == pytest.approx(
        0.000707, abs=1e-6
    )
    one = static_row("vanilla", 1, "202105", "invariant", 1, 1000)
    more = dataclasses.replace(study, static=pd.concat([study.static, pd.DataFrame([one])], ignore_index=True))
    assert set(probe_table([(more, Probes(tasks=("lama",)))])["trained"]) == {"outside", "202104"}


def test_a_task_on_periods_or_of_no_name_is_refused(toy_study: Callable[..., Study]) -> None:
    data = toy_study().model_dump(mode="json")
    for tasks, said in ((["perplexity"], "is asked about periods"), (["lama"], "no evaluation lama"), ([], "tasks")):
        with pytest.raises(InputError, match=said) as found:
            parse(Study, data | {"tables": [{"kind": "probes", "tasks": tasks}]}, "study.yaml")
        assert "\n" not in str(found.value)


def test_the_table_of_kilt_is_one_of_all_eleven_datasets() -> None:
    (asked,) = load("ckl-kilt").tables
    assert isinstance(asked, Probes) and len(asked.tasks) == 11
