"""The words of a report: names of evaluations, units, and what is left out because it says nothing."""

import dataclasses

import pytest
from reports import page, tic_lm

from ticlm.platform.analysis.numbers import TableColumn
from ticlm.platform.analysis.summary import summarize
from ticlm.platform.display.table_rows import heading, lines
from ticlm.platform.display.words import column_title, explained, explanations, measured, period, title
from ticlm.platform.results.study_result import TaskMetric


def test_an_evaluation_shows_the_version_of_its_data_only_beside_another_one() -> None:
    assert title("wiki@1", ["wiki@1", "perplexity@1"]) == "wiki"
    assert title("wiki@2", ["wiki@1", "wiki@2"]) == "wiki @2"
    assert title("perplexity@1", ["perplexity@1"]) == "held-out text"
    assert column_title(TableColumn("tic-cc@1", "news"), ["tic-cc@1"]) == "tic-cc · news"


@pytest.mark.parametrize(
    ("metric", "raw", "relative"),
    [
        (TaskMetric(per="token"), "log-perplexity, nats per token", "regret, nats per token"),
        (TaskMetric(), "log-perplexity, nats", "regret, nats"),
        (TaskMetric("accuracy", True), "accuracy, %", "regret, points"),
        (TaskMetric("bits-per-byte"), "bits per byte", "regret, bits"),
    ],
)
def test_a_column_says_what_it_holds_and_in_which_unit(metric: TaskMetric, raw: str, relative: str) -> None:
    assert (measured(metric, False), measured(metric, True)) == (raw, relative)


def test_the_terms_are_explained_beside_the_answer_with_the_reference_by_name() -> None:
    result = tic_lm(2, ["tic-cc@1"])
    raw = dataclasses.replace(result, reference=None)
    relative, plain = (" ".join(explanations([one], summarize([one]))) for one in (result, raw))
    assert "the reference model (oracle trained to 2024-07)" in relative
    assert "Regret" not in plain and "the best that the same run had reached on it" in plain
    assert all(
        word in text for text in (relative, plain) for word in ("Bwd. (backward)", "ID (in-dist", "Fwd. (forward)")
    )
    assert "oracle trained to 2024-07" in explained([result], summarize([result]))
    html = page(result)
    assert html.index("Bwd. (backward)") < html.index('id="cost"') and "<abbr title=" in html
    assert heading(summarize([result]), [result]) == "Regret, nats, relative to oracle trained to 2024-07"


def test_a_column_that_holds_nothing_is_left_out() -> None:
    result = tic_lm(2, ["tic-cc@1"])
    alone = dataclasses.replace(
        result, methods=result.methods[:-1], reference=None, cells=result.cells[result.cells["method"] != "oracle"]
    )
    assert "÷ run" in page(result) and "÷ run" not in page(alone)


def test_the_row_of_an_oracle_series_names_its_models() -> None:
    *_, oracle = lines(summarize([tic_lm(1, ["tic-cc@1"])]))
    assert oracle.about == "7 models, 2013-05 to 2024-07"
    few = dataclasses.replace(oracle, cutoffs=("202301", "202312"))
    assert few.about == "models of 2023-01, 2023-12"


def test_periods_are_named_as_in_the_charts() -> None:
    assert [period(one) for one in ("202301", "20240101-20240128", "2024", "physics")] == [
        "2023-01",
        "2024-01-01…2024-01-28",
        "2024",
        "physics",
    ]
