"""Reports of fabricated studies whose numbers come from real arithmetic, so that every mean can be worked by hand."""

import base64
import dataclasses
import io
import json
import re
import subprocess
import sys
from collections.abc import Sequence
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from browser import CHROMIUM, Browser
from calendars import CHECKPOINTS as YEARLY
from calendars import CUTOFFS
from reports import tic_lm
from rich.console import Console

from ticlm.core.accounting import Overlap
from ticlm.core.errors import InputError
from ticlm.core.periods import TIC_CC_MONTHS, Calendar
from ticlm.platform.analysis.conventions import Convention, Preset, named
from ticlm.platform.analysis.numbers import count
from ticlm.platform.analysis.summary import summarize
from ticlm.platform.display.table_rows import legend
from ticlm.platform.report.page import render
from ticlm.platform.report.page_data import payload
from ticlm.platform.report.report import Report
from ticlm.platform.report.request import ReportRequest
from ticlm.platform.report.write import as_json, contamination_lines, table, write
from ticlm.platform.results.study_result import (
    COLUMNS,
    STATIC_COLUMNS,
    MethodResult,
    PeriodText,
    StudyResult,
    TaskMetric,
)

INITIAL, CONTINUAL, PER_TOKEN = 111_837_286_400, 111_837_286_400, 16_776_576_000
METHODS = (
    # name, group, seeds, forgotten per year, in-distribution, unseen per year
    ("cyclic-cosine", "optimizer", (1, 2, 3), 0.016, 0.027, 0.038),
    ("cyclic-cosine-ar", "optimizer", (1,), 0.0125, 0.040, 0.039),
    ("cyclic-rsqrt", "optimizer", (1,), 0.014, 0.030, 0.038),
    ("replay-t", "replay", (1,), -0.012, 0.074, 0.029),
    ("replay-half", "replay", (1,), -0.003, 0.042, 0.034),
    ("replay-half-ar", "replay", (1,), -0.006, 0.033, 0.034),
    ("lwf", "regularization", (1,), 0.016, 0.027, 0.038),
    ("ewc", "regularization", (1,), 0.0125, 0.032, 0.037),
)
Values = np.ndarray[tuple[int, ...], np.dtype[np.float64]]


def years(labels: Sequence[str]) -> Values:
    return np.array([int(label[:4]) + (int(label[4:6]) - 1) / 12 for label in labels])


def nll(trained: Sequence[str], evaluated: Sequence[str], forgotten: float, own: float, unseen: float) -> Values:
    """E[trained, evaluated]: a month's own difficulty, plus what a year's distance costs on either side of it."""
    apart = years(trained)[:, None] - years(evaluated)[None, :]
    difficulty = 2.45 + 0.012 * (years(evaluated) - 2013) + 0.02 * np.sin(3 * years(evaluated))
    return difficulty + own + forgotten * np.maximum(apart, 0) + unseen * np.maximum(-apart, 0) ** 0.9


def rows(
    method: str, seed: int, trained: Sequence[str], evaluated: Sequence[str], values: Values, **more: str
) -> pd.DataFrame:
    count = len(trained) * len(evaluated)
    frame = {
        "study": "tic-cc-3b",
        "method": method,
        "seed": seed,
        "trained": np.repeat(trained, len(evaluated)),
        "evaluated": np.tile(evaluated, len(trained)),
        "task": more.get("task", "tic-cc@1"),
        "source": more.get("source", ""),
        "metric": "nll",
        "value": values.ravel(),
        "n": 16_777_216,
        "stderr": 0.0004,
        "key": [f"{method}-{seed}-{i}" for i in range(count)],
    }
    return pd.DataFrame(frame)[list(COLUMNS)]


def study(
    checkpoints: Sequence[str] = YEARLY,
    evaluated: Sequence[str] = YEARLY,
    methods: Sequence[tuple[str, str, tuple[int, ...], float, float, float]] = METHODS,
    scale: int = 1,
    oracle: bool = True,
    sources: Sequence[str] = (),
    steps: int = 20,
) -> StudyResult:
    """A continual run of every month of TiC-CC per method, budgets and costs as in the paper's 220B (× `scale`)."""
    cells, costs, rates = [], [], []
    index = {label: i for i, label in enumerate(TIC_CC_MONTHS)}
    for number, (name, _, seeds, forgotten, own, unseen) in enumerate(methods):
        for seed in seeds:
            shift = 0.0004 * (seed - 2) if len(seeds) > 1 else 0.0
            for shrink, source in enumerate(("", *sources)):
                values = (
                    nll(checkpoints, evaluated, forgotten / (1 + shrink), own + shift, unseen / (1 + shrink))
                    - 0.3 * shrink
                )
                cells.append(rows(name, seed, checkpoints, evaluated, values, source=source))
            tokens = np.array([INITIAL + scale * CONTINUAL * index[c] // 113 for c in checkpoints], float)
            extra = tokens - (INITIAL if number or seed > 1 else 0)
            costs.append(cost(name, seed, checkpoints, tokens, extra))
            rates.append(cosine(name, seed, steps))
    found = [MethodResult(name, group, seeds) for name, group, seeds, *_ in methods]
    if oracle:
        found.append(MethodResult("oracle", "reference", (1,), is_oracle=True))
        for shrink, source in enumerate(("", *sources)):
            values = nll(CUTOFFS, evaluated, -0.004 / (1 + shrink), 0.014, 0.0365 / (1 + shrink)) - 0.3 * shrink
            cells.append(rows("oracle", 1, CUTOFFS, evaluated, values, source=source))
        tokens = np.cumsum([INITIAL + CONTINUAL * index[c] / 113 for c in CUTOFFS])
        costs.append(cost("oracle", 1, CUTOFFS, tokens, tokens - INITIAL))
    return StudyResult(
        name="tic-cc-3b",
        parameters=2_796_096_000,
        timeline=Calendar(only="tic-cc").timeline(),
        methods=tuple(found),
        checkpoints=tuple(checkpoints),
        evaluated=tuple(evaluated),
        cells=pd.concat(cells, ignore_index=True),
        costs=pd.concat(costs, ignore_index=True),
        rates=pd.concat(rates, ignore_index=True),
        reference=("oracle", 1, "202407") if oracle else None,
        target_tokens=INITIAL + scale * CONTINUAL,
        external_inputs=("tokenizer GPT-NeoX-20B, as of 202202",),
    )


def cost(method: str, seed: int, trained: Sequence[str], tokens: Values, executed: Values) -> pd.DataFrame:
    spent = {"tokens": tokens, "flops": tokens * PER_TOKEN, "executed_tokens": executed}
    spent["executed_flops"] = executed * PER_TOKEN
    return pd.DataFrame({"method": method, "seed": seed, "trained": list(trained), **spent})


def cosine(method: str, seed: int, steps: int) -> pd.DataFrame:
    months = np.arange(len(TIC_CC_MONTHS) - 1)
    top = np.full(len(months), 1e-4)
    if method.endswith("-ar"):
        top = 3e-5 + 0.5 * (1 + np.cos(np.pi * months / (months + 1))) * 2.7e-4
    wave = 0.5 * (1 + np.cos(np.pi * np.arange(steps) / steps))
    rate = 3e-5 + wave[None, :] * (top[:, None] - 3e-5)
    steps_before = {"period": np.repeat(TIC_CC_MONTHS[1:], steps), "step": np.arange(rate.size)}
    return pd.DataFrame({"method": method, "seed": seed, **steps_before, "rate": rate.ravel()})


def without(result: StudyResult, **where: object) -> StudyResult:
    """The study without the cells that match."""
    mask = np.ones(len(result.cells), bool)
    for column, value in where.items():
        mask &= (result.cells[column] == value).to_numpy()
    return dataclasses.replace(result, cells=result.cells[~mask])


def cleaned(result: StudyResult, subsets: bool = True) -> StudyResult:
    """The study with a second task on its cleaned held-out split, 0.01 nats worse everywhere, and with its text."""
    again = result.cells.assign(task="clean@1", value=result.cells["value"] + 0.01, key="clean-" + result.cells["key"])
    overlap = Overlap(
        split="eval",
        documents=50,
        documents_dropped=1,
        paragraphs=400,
        paragraphs_dropped=4,
        ngrams=9000,
        contained=270,
    )
    text = tuple(
        PeriodText(label, 10**9 * (1 + i), {"wiki": 0.01, "news": 0.02 + i / 100} if subsets else {}, (overlap,))
        for i, label in enumerate(YEARLY)
    )
    return dataclasses.replace(
        result,
        cells=pd.concat([result.cells, again], ignore_index=True),
        splits={"tic-cc@1": "eval", "clean@1": "eval.clean"},
        text=text,
    )


def one(summary: pd.DataFrame, method: str, source: str = "") -> pd.Series:
    """The row of a method."""
    return summary[(summary["method"] == method) & (summary["source"] == source)].iloc[0]


# the summary


def test_means_are_regret_worked_by_hand() -> None:
    result = study(methods=[("flat", "optimizer", (1,), 0.0, 0.5, 0.0)])
    # the reference, Oracle-2024-07, is past every period: its own gap, less 0.004 a year
    reference = 0.014 - 0.004 * (years(["202407"]) - years(YEARLY))
    gap = 0.5 - reference  # one value per column, whatever the row
    n = len(YEARLY)
    row = one(summarize([result]), "flat")
    assert row["in_distribution"] == pytest.approx(gap.mean())
    assert row["backward"] == pytest.approx((gap * np.arange(n)[::-1]).sum() / (n * (n - 1) / 2))
    assert row["forward"] == pytest.approx((gap * np.arange(n)).sum() / (n * (n - 1) / 2))
    assert (row["backward_cells"], row["in_distribution_cells"], row["forward_cells"]) == (66, 12, 66)


def test_the_oracle_series_is_carried_forward_and_keeps_its_zero_row() -> None:
    row = one(summarize([study()]), "oracle")
    values = nll(CUTOFFS, YEARLY, -0.004, 0.014, 0.0365)
    rows = np.array([0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6])  # golden: newest cutoff at or before each checkpoint
    regrets = values[rows] - values[-1]
    assert not regrets[-1].any()
    assert row["in_distribution"] == pytest.approx(np.diag(regrets).mean())
    assert row["backward"] == pytest.approx(regrets[np.tril_indices(12, -1)].mean())


def test_seeds_give_a_mean_and_a_sample_deviation() -> None:
    row = one(summarize([study()]), "cyclic-cosine")
    alone = one(
        summarize([study(methods=[("cyclic-cosine", "optimizer", (2,), 0.016, 0.027, 0.038)])]), "cyclic-cosine"
    )
    for mean in ("backward", "in_distribution", "forward"):
        assert row[mean] == pytest.approx(alone[mean])  # seeds 1, 2, 3 are −0.0004, 0, +0.0004
        assert row[f"{mean}_std"] == pytest.approx(0.0004)
        assert np.isnan(alone[f"{mean}_std"])


def test_costs_are_those_of_the_paper() -> None:
    small, large = study(), dataclasses.replace(study(scale=3), name="440B")
    summary = summarize([small, large])
    of = {name: summary[summary["study"] == name].set_index("method") for name in ("tic-cc-3b", "440B")}
    assert of["440B"].loc["ewc", "oracle_ratio"] == pytest.approx(2.5907, abs=5e-5)
    assert of["tic-cc-3b"].loc["ewc", "oracle_ratio"] == pytest.approx(5.1814, abs=5e-5)
    assert of["tic-cc-3b"].loc["oracle", "tokens"] == pytest.approx(1.158950994464e12, rel=1e-9)
    assert of["tic-cc-3b"].loc["ewc", "executed_tokens"] == CONTINUAL  # it shares the initial round
    assert of["tic-cc-3b"].loc["cyclic-cosine", "tokens"] == INITIAL + CONTINUAL
    assert of["tic-cc-3b"].loc["cyclic-cosine", "executed_tokens"] == INITIAL + 3 * CONTINUAL  # three seeds


def test_an_oracle_of_the_same_size_serves_a_study_without_one() -> None:
    whole, bare = study(), dataclasses.replace(study(), name="bare")
    bare = without(bare, method="oracle", trained="201501")
    bare = dataclasses.replace(bare, methods=bare.methods[:-1])
    summary = summarize([whole, bare])
    row = one(summary[summary["study"] == "bare"], "ewc")
    assert row["oracle_ratio"] == pytest.approx(5.1814, abs=5e-5)
    assert row["in_distribution_beats_oracle"] == (one(summarize([whole]), "ewc")["in_distribution_beats_oracle"])


def test_best_is_within_one_deviation_of_the_best_of_the_block() -> None:
    close = ("close", "replay", (1,), 0.016, 0.0272, 0.038)
    beyond = ("beyond", "replay", (1,), 0.016, 0.0276, 0.038)
    summary = summarize([study(methods=[METHODS[0], close, beyond])])
    assert {m: one(summary, m)["in_distribution_best"] for m in ("cyclic-cosine", "close", "beyond", "oracle")} == {
        "cyclic-cosine": True,
        "close": True,
        "beyond": False,
        "oracle": False,  # the series does not compete
    }


def test_a_run_is_marked_as_in_the_paper_where_its_mean_beats_that_of_the_oracle_series() -> None:
    summary = summarize([study()], named("paper"))
    oracle = one(summary, "oracle")
    for _, row in summary[~summary["is_oracle"]].iterrows():
        assert row["backward_beats_oracle"] == (row["backward"] < oracle["backward"])
        assert row["in_distribution_beats_oracle"] == (row["in_distribution"] < oracle["in_distribution"])
    assert summary["in_distribution_beats_oracle"].any() and not summary["in_distribution_beats_oracle"].all()
    assert (summary["compared_checkpoints"][:-1] == 12).all() and "where a retrained model exists" not in legend(
        summary
    )[-1]


def test_by_default_a_run_is_compared_with_the_oracles_of_its_own_checkpoints_alone() -> None:
    """A run that is better than carried, older Oracles and worse than those of its own cutoffs gets no star."""
    own = [YEARLY.index(cutoff) for cutoff in CUTOFFS if cutoff in YEARLY]
    assert len(own) == 6
    series = nll(CUTOFFS, YEARLY, -0.004, 0.014, 0.0365)
    gap = {name: np.diag(nll(YEARLY, YEARLY, a, b, c))[own].mean() for name, _, _, a, b, c in METHODS}
    level = np.mean([series[CUTOFFS.index(YEARLY[i]), i] for i in own])
    summary, carried = summarize([study()]), summarize([study()], named("paper"))
    for name, mean in gap.items():
        row = one(summary, name)
        assert row["in_distribution_beats_oracle"] == (mean < level)
        assert (row["compared_checkpoints"], row["checkpoints"]) == (6, 12)
    assert one(carried, "cyclic-cosine")["in_distribution_beats_oracle"]
    assert not one(summary, "cyclic-cosine")["in_distribution_beats_oracle"]
    strong = summarize([study(methods=[("strong", "replay", (1,), -0.02, 0.005, 0.03)])])
    assert (
        "which is retrained (compared at the 6 of 12 checkpoints where a retrained model exists)" in legend(strong)[-1]
    )


def test_a_series_without_an_oracle_of_any_checkpoint_gives_no_star() -> None:
    late = tuple(label for label in YEARLY if label not in CUTOFFS)
    summary = summarize([study(checkpoints=late)])
    assert not summary[[f"{m}_highlight" for m in ("backward", "in_distribution", "forward")]].to_numpy().any()
    assert (summary["compared_checkpoints"] == 0).all()


def test_a_run_is_highlighted_as_the_tasks_convention_has_it() -> None:
    """Seeds deviate by 0.0004: on TiC-CC only what is better is marked, elsewhere what is that near too."""
    series = one(summarize([study()]), "oracle")["in_distribution"]
    own = one(summarize([study()]), "cyclic-cosine")["in_distribution"]
    near, far = 0.027 + (series - own) + 0.0003, 0.027 + (series - own) + 0.0005
    methods = [METHODS[0], ("near", "replay", (1,), 0.016, near, 0.038), ("far", "replay", (1,), 0.016, far, 0.038)]
    result = study(methods=methods)
    data_source = dataclasses.replace(result, cells=result.cells.assign(task="wiki@1"))
    for shown, expected in ((result, False), (data_source, True)):
        summary = summarize([shown], named("paper"))
        assert one(summary, "near")["in_distribution_highlight"] == expected
        assert not one(summary, "far")["in_distribution_highlight"]
        assert not one(summary, "near")["in_distribution_beats_oracle"]
        assert ("or within one standard deviation of it" in legend(summary)[-1]) == expected


def test_of_raw_values_the_best_follows_the_direction_of_the_metric() -> None:
    metric = TaskMetric("exact-match", higher_is_better=True)
    result = study(methods=METHODS[:3])
    cells = result.cells.assign(task="qa@1", metric="exact-match", value=np.exp(-result.cells["value"]))
    more = dataclasses.replace(result, cells=cells, metrics={"qa@1": metric})
    regret, raw = summarize([more]), summarize([dataclasses.replace(more, reference=None)])
    of, bare = (found[~found["is_oracle"]].set_index("method") for found in (regret, raw))
    for mean in ("backward", "in_distribution", "forward"):
        best, worst = str(bare[mean].idxmax()), str(bare[mean].idxmin())
        assert best == of[mean].idxmin()
        assert bare[f"{mean}_best"][best] and of[f"{mean}_best"][best] and not bare[f"{mean}_best"][worst]
        assert (bare[f"{mean}_beats_oracle"] == of[f"{mean}_beats_oracle"]).all()
    assert legend(raw)[0] == "Higher is better." and legend(regret)[0] == "Lower is better."


def test_the_last_column_is_core_at_the_last_checkpoint_where_it_was_scored() -> None:
    scores = [
        ("cyclic-cosine", seed, "202407", "core@1", "", "core", 0.49 + seed / 1000, 22, None) for seed in (1, 2, 3)
    ]
    scores += [
        ("ewc", 1, trained, "core@1", "", "core", value, 22, None)
        for trained, value in (("202301", 0.60), ("202407", 0.4915))
    ]
    scores += [("lwf", 1, "202407", "core@1", "", "core", 0.47, 22, None)]
    scores += [("lwf", 1, "202407", "core@1", "boolq", "accuracy", 0.99, 100, None)]
    static = pd.DataFrame(scores, columns=list(STATIC_COLUMNS))
    scored = dataclasses.replace(study(), static=static)
    summary = summarize([scored])
    cosine = one(summary, "cyclic-cosine")
    assert (cosine["core"], cosine["core_std"]) == (pytest.approx(0.492), pytest.approx(0.001))
    assert {m: bool(one(summary, m)["core_best"]) for m in ("cyclic-cosine", "ewc", "lwf", "oracle")} == {
        "cyclic-cosine": True,
        "ewc": True,  # within one deviation
        "lwf": False,
        "oracle": False,
    }
    text = shown(summary, results=[scored])
    assert "CORE" in text and "49.2" in text and "(0.1)" in text and "CORE" not in shown(summarize([study()]))


def test_cells_that_a_convention_leaves_out_are_neither_averaged_nor_missing() -> None:
    """TiC-CC with a column of the initial month, as it was scored: Table 2 is over 12 × 12."""
    whole = study(evaluated=("201305", *YEARLY))
    row, before = one(summarize([whole]), "replay-half"), one(summarize([study()]), "replay-half")
    assert all(row[mean] == pytest.approx(before[mean]) for mean in ("backward", "in_distribution", "forward"))
    holed = without(whole, method="replay-half", evaluated="201305")
    assert one(summarize([holed]), "replay-half")["missing"] == 0
    everything = Preset(default=Convention())
    assert one(summarize([whole], everything), "replay-half")["backward_cells"] == 78


def test_the_report_as_json_has_every_row_and_no_nan() -> None:
    told = json.loads(as_json(Report([study(methods=METHODS[:2])])))
    assert told["answers"][0].startswith("cyclic-cosine-ar cannot be told apart from cyclic-cosine on past periods")
    assert [row["method"] for row in told["summary"]] == ["cyclic-cosine", "cyclic-cosine-ar", "oracle"]
    assert told["summary"][1]["forward_std"] is None and told["summary"][0]["forward_std"] == pytest.approx(0.0004)
    assert len(told["differences"]) == 3 * 3 and told["outside"] == ["tokenizer GPT-NeoX-20B, as of 202202"]


def test_blocks_compete_by_size_and_budget_and_oracles_close_their_size() -> None:
    small = dataclasses.replace(study(), name="1b", parameters=1_439_893_504)
    summary = summarize([dataclasses.replace(study(scale=3), name="440B"), study(), small])
    order = summary.drop_duplicates("block")[["parameters", "is_oracle", "study"]].to_numpy().tolist()
    assert order == [
        [1_439_893_504, False, "1b"],
        [1_439_893_504, True, "1b"],
        [2_796_096_000, False, "tic-cc-3b"],
        [2_796_096_000, False, "440B"],
        [2_796_096_000, True, "440B"],
    ]
    assert summary["block"].is_monotonic_increasing


def test_without_a_reference_values_are_raw() -> None:
    result = study(oracle=False)
    row = one(summarize([result]), "replay-t")
    assert row["in_distribution"] == pytest.approx(np.diag(nll(YEARLY, YEARLY, -0.012, 0.074, 0.029)).mean())
    assert not row["relative"] and np.isnan(row["oracle_ratio"]) and not row["in_distribution_beats_oracle"]


def test_missing_cells_are_counted_and_never_compared() -> None:
    whole, holed = study(), without(study(), method="replay-half-ar", trained="201901")
    row, before = one(summarize([holed]), "replay-half-ar"), one(summarize([whole]), "replay-half-ar")
    assert (row["missing"], row["backward_missing"], row["in_distribution_missing"]) == (12, 5, 1)
    assert row["backward_cells"] == 61 and row["backward"] != before["backward"]
    assert before["backward_best"] and not row["backward_best"]
    assert not row["forward_beats_oracle"]


def test_an_oracle_without_cells_does_not_give_way_to_an_older_one() -> None:
    holed = without(study(), method="oracle", trained="201901")
    assert one(summarize([holed]), "oracle")["missing"] == 2 * 12  # rows 201901 and 202001


def test_evaluations_may_have_periods_of_their_own() -> None:
    wiki = ("201501", "201508", "201602", "201608", "202205", "202404")
    result = study(methods=METHODS[:2])
    more = [rows(m, s, YEARLY, wiki, nll(YEARLY, wiki, 0.01, 0.1, 0.02), task="wiki@2") for m, s in (("ewc", 1),)]
    more += [rows("oracle", 1, CUTOFFS, wiki, nll(CUTOFFS, wiki, 0, 0, 0), task="wiki@2")]
    more[0]["method"] = METHODS[1][0]
    cells = pd.concat([result.cells, *more], ignore_index=True)
    summary = summarize([dataclasses.replace(result, cells=cells, evaluated_by_task={"wiki@2": wiki})])
    row = summary[(summary["task"] == "wiki@2") & (summary["method"] == METHODS[1][0])].iloc[0]
    assert row["missing"] == 0
    assert row["backward_cells"] + row["in_distribution_cells"] + row["forward_cells"] == len(YEARLY) * len(wiki)
    assert row["in_distribution_cells"] == 5  # 201501 201602 201701←201608 202301←202205 202407←202404


def test_cells_that_stand_twice_are_refused() -> None:
    result = study(methods=METHODS[:1])
    with pytest.raises(ValueError, match="cells stand twice"):
        summarize([dataclasses.replace(result, cells=pd.concat([result.cells, result.cells[:3]]))])


def test_studies_need_names_of_their_own_and_cells() -> None:
    with pytest.raises(InputError, match="two studies of this report are named tic-cc-3b"):
        summarize([study(), study()])
    with pytest.raises(InputError, match="nothing to report"):
        summarize([dataclasses.replace(study(), cells=study().cells[:0])])


# the terminal


def shown(summary: pd.DataFrame, width: int = 200, sources: bool = False, results: Sequence[StudyResult] = ()) -> str:
    console = Console(width=width, record=True, file=io.StringIO())
    console.print(table(summary, sources, results))
    return console.export_text()


def test_the_table_reads_like_table_2() -> None:
    text = shown(summarize([study()], named("paper")))
    line = next(line for line in text.splitlines() if line.strip().startswith("cyclic-cosine "))
    assert " ".join(line.split()) == "cyclic-cosine 0.109 0.033★ 0.161 224B 3.75e21 447B 7.50e21 5.18×"
    assert "2.80B parameters · 224B tokens a run" in text and "2.80B parameters · Oracles, each from scratch" in text
    assert "7 models, 2013-05 to 2024-07" in text
    assert "(0.000)" in text and "Bwd." in text
    assert text.index("ewc") < text.index("oracle")


def test_the_table_has_the_columns_of_sources_where_asked() -> None:
    summary = summarize([study(sources=("wiki", "news"))])
    assert "news" not in shown(summary) and "tic-cc · news" in shown(summary, 240, sources=True)


def test_methods_of_two_studies_are_told_apart() -> None:
    summary = summarize([study(methods=METHODS[:1]), dataclasses.replace(study(methods=METHODS[:1]), name="other")])
    text = shown(summary)
    assert "cyclic-cosine (tic-cc-3b)" in text and "cyclic-cosine (other)" in text
    assert "(tic-cc-3b)" not in shown(summarize([study(methods=METHODS[:1])]))


@pytest.mark.parametrize(
    ("value", "text"),
    [(223_674_572_800, "224B"), (1.158950994e12, "1.16T"), (20_480_000, "20.5M"), (999_999, "1.00M"), (512, "512")],
)
def test_counts_have_three_digits_and_a_suffix(value: float, text: str) -> None:
    assert count(value) == text


# files


class Page(HTMLParser):
    """What a page asks for, its text outside of scripts, and the numbers of its charts."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.links: list[str] = []
        self.text, self.data, self._inside = "", "", ""
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.links += [value or "" for name, value in attrs if name in ("src", "href", "srcset", "action")]
        self._inside = "data" if ("id", "data") in attrs else tag

    def handle_endtag(self, tag: str) -> None:
        self._inside = ""

    def handle_data(self, data: str) -> None:
        if self._inside == "data":
            self.data += data
        elif self._inside not in ("script", "style"):
            self.text += data


def page_of(folder: Path) -> Page:
    return Page((folder / "index.html").read_text(encoding="utf-8"))


def rendered(*results: StudyResult) -> str:
    """The page alone, without figures beside it."""
    report = Report(results)
    page = render(report, payload(report))
    assert "<Macro" not in page, "a macro of the tables has the name of a text of the page"
    return page


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A report of a study with seeds, sources and missing cells."""
    into = tmp_path_factory.mktemp("report")
    holed = without(study(sources=("wiki",), methods=METHODS[:5]), method="replay-t", trained="201901")
    write(Report([dataclasses.replace(holed, missing=("replay-t, 201901: the chain <failed>",))]), into)
    return into


def test_a_report_is_a_page_a_table_and_figures(folder: Path) -> None:
    names = sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())
    views = ("tic-cc-3b-tic-cc-1", "tic-cc-3b-tic-cc-1-wiki")
    kinds = [f"figures/{kind}-{view}" for kind in ("matrices", "cost", "over-time", "lag") for view in views]
    once = ("figures/rates-tic-cc-3b", "figures/ages-tic-cc-3b-tic-cc-1")  # not for each source of text
    figures = [f"{name}.{suffix}" for name in (*kinds, *once) for suffix in ("png", "svg")]
    figures = [name for name in figures if not name.endswith("wiki.png")]  # sources are SVG alone
    tables = ["ages.csv", "differences.csv", "index.html", "results.csv", "summary.csv"]
    assert names == sorted([*tables, "figures/drawn.json", *figures])
    assert all(path.stat().st_size > 500 for path in folder.rglob("*") if path.is_file())


def test_the_page_asks_for_nothing_from_outside(folder: Path) -> None:
    html = (folder / "index.html").read_text(encoding="utf-8")
    beside = [link for link in page_of(folder).links if not link.startswith(("#", "data:"))]
    assert {"summary.csv", "results.csv", "differences.csv"} <= set(beside)
    assert all((folder / link).is_file() for link in beside)
    assert {str(path.relative_to(folder)) for path in folder.glob("figures/*.[ps][nv]g")} <= set(beside)
    assert not re.findall(r"@import|url\((?!#)|fetch\(|XMLHttpRequest|import\(", html)
    assert set(re.findall(r"https?://[^\s\"']+", html)) <= {"http://www.w3.org/2000/svg"}  # a name, not a request
    assert "default-src 'none'" in html


def test_the_page_names_what_is_missing_and_what_is_outside(folder: Path) -> None:
    text = page_of(folder).text
    assert "replay-t, 201901: the chain <failed>" in text
    assert "tic-cc-3b, tic-cc@1 · wiki, replay-t: 12 of 144 cells are missing" in text
    assert "tokenizer GPT-NeoX-20B, as of 202202" in text


def decoded(view: dict[str, Any], text: str) -> Values:
    steps = np.frombuffer(base64.b64decode(text), "<u2").astype(float)
    return np.where(steps == 65535, np.nan, view["low"] + view["step"] * steps).reshape(12, -1)


def test_the_page_holds_the_matrices_and_missing_cells_are_not_zero(folder: Path) -> None:
    data = json.loads(page_of(folder).data)["studies"][0]
    assert [view["name"] for view in data["views"]] == ["tic-cc@1", "tic-cc@1 · wiki"]
    view = data["views"][0]
    names = [method["label"] for method in data["methods"]]
    cosine_view = decoded(view, view["matrices"][names.index("cyclic-cosine")])
    np.testing.assert_allclose(cosine_view, nll(YEARLY, YEARLY, 0.016, 0.027, 0.038), atol=view["step"])
    assert view["step"] < 1e-4
    replay = decoded(view, view["matrices"][names.index("replay-t")])
    assert np.isnan(replay[YEARLY.index("201901")]).all() and np.isnan(replay).sum() == 12
    assert view["curves"][names.index("replay-t")]["missing"] == [0] * 5 + [12] + [0] * 6
    assert view["curves"][names.index("replay-t")]["mean"][5] is None
    assert view["carried"][names.index("oracle")][1:3] == ["201501", "201501"]


def test_methods_with_the_same_rates_share_a_line(folder: Path) -> None:
    lines = json.loads(page_of(folder).data)["studies"][0]["rates"]
    assert [line["methods"] for line in lines] == [[0, 2, 3, 4], [1]]


def test_the_page_shows_the_text_of_every_period() -> None:
    page = Page(rendered(cleaned(study(methods=METHODS[:2]))))
    text = json.loads(page.data)["studies"][0]["text"]
    assert text["labels"] == list(YEARLY) and text["tokens"][:2] == [10**9, 2 * 10**9]
    assert {one["name"]: one["shares"][1] for one in text["subsets"]} == {"wiki": 0.01, "news": 0.03}
    assert "#text" in page.links and "The text" in page.text


def test_a_text_without_a_census_has_no_shares_and_no_text_has_no_section(tmp_path: Path) -> None:
    bare = cleaned(study(methods=METHODS[:2]), subsets=False)
    assert json.loads(Page(rendered(bare)).data)["studies"][0]["text"]["subsets"] == []
    page = Page(rendered(study(methods=METHODS[:2])))
    assert json.loads(page.data)["studies"][0]["text"] is None
    assert not {"#text", "#contamination"} & set(page.links)


def test_contamination_is_one_line_in_the_terminal_and_a_cloud_of_points_on_the_page() -> None:
    result = cleaned(study(methods=METHODS[:2]))
    (line,) = contamination_lines(Report([study(methods=METHODS[:1]), result]))
    # cyclic-cosine's three seeds and one of the other, 12 checkpoints each, and the Oracle's cutoffs but the reference
    cells = (4 * 12 + len(CUTOFFS) - 1) * 12
    told = f"Pearson 1.0000, Spearman 1.0000, over {cells} cells; the mean loss changes by +0.010; of eval, the train "
    told += "text of the same period holds 2.0% of documents, 1.0% of paragraphs, 3.0% of n-grams"
    assert line.startswith("tic-cc-3b, tic-cc@1 (eval) → clean@1 (eval.clean): regret") and line.endswith(told)
    page = Page(rendered(result))
    (found,) = json.loads(page.data)["studies"][0]["contamination"]
    assert found["told"] in line and line in page.text
    assert [one["method"] for one in found["series"]] == [0, 1, 2]
    assert sum(len(one["before"]) for one in found["series"]) == found["whole"] == cells
    assert found["series"][0]["before"] == pytest.approx(found["series"][0]["after"], abs=1e-5)  # relative to each


def test_a_cloud_of_points_stays_a_small_page(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ticlm.platform.report.page_data.POINTS", 100)
    (found,) = json.loads(Page(rendered(cleaned(study()))).data)["studies"][0]["contamination"]
    assert sum(len(one["before"]) for one in found["series"]) == 100 and found["whole"] > 1000
    assert len(found["series"]) == len(METHODS) + 1  # every method is still there


@pytest.mark.slow
def test_the_text_and_contamination_are_figures_too(tmp_path: Path) -> None:
    files = write(Report([cleaned(study(methods=METHODS[:1]))]), tmp_path)
    names = {path.stem for path in files if path.suffix in (".png", ".svg")}
    assert {"text-tic-cc-3b", "contamination-tic-cc-3b-tic-cc-1-clean-1"} <= names
    assert "share of train tokens" in (tmp_path / "figures/text-tic-cc-3b.svg").read_text()
    write(Report([cleaned(study(methods=METHODS[:1]), subsets=False)]), tmp_path / "bare")
    assert "share of train tokens" not in (tmp_path / "bare/figures/text-tic-cc-3b.svg").read_text()


def test_names_cannot_break_out_of_the_page() -> None:
    evil = "</script><script>alert(1)</script>"
    result = study(methods=[(evil, "optimizer", (1,), 0.01, 0.02, 0.03)])
    html = rendered(dataclasses.replace(result, name="<b>&"))
    assert "<script>alert" not in html and "<b>" not in html
    assert json.loads(Page(html).data)["studies"][0]["methods"][0]["label"] == evil


@pytest.mark.slow
def test_the_same_results_give_the_same_bytes(tmp_path: Path) -> None:
    result = without(cleaned(study(methods=METHODS[:2])), trained="201901", method="oracle")
    first = write(Report([result]), tmp_path / "a")
    second = write(Report([result]), tmp_path / "b")
    assert [path.name for path in first] == [path.name for path in second]
    for one, other in zip(first, second):
        assert one.read_bytes() == other.read_bytes(), one.name


def test_what_is_missing_is_the_same_in_json_and_on_the_page() -> None:
    whole, other = study(methods=METHODS[:1]), dataclasses.replace(study(methods=METHODS[:1]), name="other")
    holed = dataclasses.replace(without(whole, method="cyclic-cosine", trained="201901", seed=1), missing=("why",))
    told = json.loads(as_json(Report([holed, other])))["missing"]
    assert told == ["tic-cc-3b: why", "tic-cc-3b, tic-cc@1, cyclic-cosine: 12 of 432 cells are missing"]
    assert all(line in Page(rendered(holed, other)).text for line in told)


def test_differences_of_an_older_report_do_not_stay_beside_it(tmp_path: Path) -> None:
    write(Report([study(methods=METHODS[:2])]), tmp_path)
    assert (tmp_path / "differences.csv").exists()
    files = write(Report([study(methods=METHODS[:1], oracle=False)]), tmp_path)
    assert not (tmp_path / "differences.csv").exists() and tmp_path / "summary.csv" in files


def test_a_reference_of_ones_own_that_lacks_a_task_is_missing_and_not_raw() -> None:
    result = study(methods=METHODS[:1])
    more = rows("cyclic-cosine", 1, YEARLY, YEARLY, nll(YEARLY, YEARLY, 0, 0, 0), task="wiki@1")
    both = dataclasses.replace(result, cells=pd.concat([result.cells, more], ignore_index=True))
    found = summarize([both])
    row = one(found[found["task"] == "wiki@1"], "cyclic-cosine")
    assert row["relative"] and np.isnan(row["in_distribution"]) and row["missing"] == 3 * 144
    borrowed = dataclasses.replace(both, reference=("somebody", 1, "202407"))
    assert not summarize([borrowed])["relative"].any()


def test_a_method_without_any_cell_is_shown_as_missing(tmp_path: Path) -> None:
    write(Report([without(study(methods=METHODS[:2]), method="cyclic-cosine-ar")]), tmp_path)
    assert "cyclic-cosine-ar: 144 of 144 cells are missing" in page_of(tmp_path).text
    assert "NaN" not in page_of(tmp_path).data


def test_a_study_without_cells_is_named_beside_one_that_has_them() -> None:
    empty = dataclasses.replace(study(methods=METHODS[:1]), name="tomorrow", cells=study().cells[:0])
    page = Page(rendered(study(methods=METHODS[:1]), empty))
    assert "tomorrow: no cells at all" in page.text
    assert [one["name"] for one in json.loads(page.data)["studies"]] == ["tic-cc-3b"]


def quarterly() -> StudyResult:
    """A first look at a toy study: raw, one method, neither costs nor rates, periods and tasks that span months."""
    timeline = Calendar(initial="201305..201412", step="quarter", last="201512").timeline()
    own, windows = timeline.labels, ("201309-201402", "201412-201506", "201507-201601")
    apart = np.abs(np.subtract.outer(np.arange(5), np.arange(5)))
    cells = [rows("plain", 1, own, own, 2.5 + 0.01 * apart)]
    cells.append(rows("plain", 1, own, windows, np.full((5, 3), 3.0), task="stack@1"))
    nothing = study(methods=METHODS[:1])
    return StudyResult(
        name="quarters",
        parameters=5_000_000,
        timeline=timeline,
        methods=(MethodResult("plain", "toy", (1,)),),
        checkpoints=own,
        evaluated=own,
        cells=pd.concat(cells, ignore_index=True),
        costs=pd.DataFrame(columns=nothing.costs.columns),
        rates=pd.DataFrame(columns=nothing.rates.columns),
        reference=None,
        target_tokens=10**8,
        evaluated_by_task={"stack@1": windows},
    )


def test_a_study_of_quarters_without_costs_or_rates_is_reported_too(tmp_path: Path) -> None:
    result = quarterly()
    files = write(Report([result]), tmp_path)
    assert not any("rates" in path.name for path in files)
    summary = summarize([result]).set_index("task")
    assert summary["in_distribution"].to_dict() == pytest.approx({"tic-cc@1": 2.5, "stack@1": 3.0})
    assert np.isnan(summary["tokens"]).all()
    assert "–" in shown(summarize([result])) and "Log-perplexity, nats" in shown(summarize([result]))


@pytest.mark.slow
def test_twelve_methods_of_every_month_fit_in_a_small_page(tmp_path: Path) -> None:
    many = [(f"{name}-{k}", group, (1,), a, b, c) for k in (0, 1) for name, group, _, a, b, c in METHODS][:11]
    result = study(TIC_CC_MONTHS, TIC_CC_MONTHS, many, steps=200)
    write(Report([result]), tmp_path)
    assert (tmp_path / "index.html").stat().st_size < 1_150_000  # a tenth are pictures


def test_importing_the_report_is_cheap() -> None:
    heavy = {"pandas", "quickjs", "resvg_py", "jinja2", "rich", "pyarrow", "torch"}
    code = f"import sys, ticlm.platform.report.write; print(sorted({heavy} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


@pytest.mark.slow
@pytest.mark.skipif(CHROMIUM is None, reason="no Chromium here")
@pytest.mark.parametrize("which", ["whole", "quarters", "cleaned"])
def test_the_page_runs_in_a_browser_without_a_complaint(folder: Path, tmp_path: Path, which: str) -> None:
    page = folder / "index.html"
    if which != "whole":
        result = quarterly() if which == "quarters" else cleaned(study(methods=METHODS[:2]))
        page = tmp_path / "index.html"
        page.write_text(rendered(result), encoding="utf-8")
    with Browser(tmp_path / "profile") as browser:
        browser.open(page, 1280)
        assert browser.complaints == []
        methods = {"whole": 6, "quarters": 1, "cleaned": 3}[which]
        assert browser.run("document.querySelectorAll('#heatmaps svg').length") == methods
        points = {"cleaned": (4 * 12 + len(CUTOFFS) - 1) * 12}.get(which, 0)
        assert browser.run("document.querySelectorAll('#pairs .series .mark').length") == points
        labels = set(browser.run("[...document.querySelectorAll('svg text')].map((text) => text.textContent)"))
    assert {"cumulative cost, tokens", "evaluated period"} <= labels
    assert ("share of train tokens" in labels) == ("regret on eval.clean" in labels) == bool(points)


def test_a_comparison_with_the_paper_does_not_outlive_its_report(tmp_path: Path) -> None:
    results = [tic_lm(1, ["tic-cc@1"])]
    assert tmp_path / "paper.csv" in write(Report(results, request=ReportRequest(paper=True)), tmp_path)
    assert tmp_path / "paper.csv" not in write(Report(results), tmp_path) and not (tmp_path / "paper.csv").exists()
