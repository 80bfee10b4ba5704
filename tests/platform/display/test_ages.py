"""The chart of how models age: what it draws, and what it says of how its means are taken."""

import dataclasses

from report_kinds import MONTHS, made_up
from reports import tic_lm

from ticlm.platform.analysis.matrix import views
from ticlm.platform.display.ages import part
from ticlm.platform.display.charts import Chart
from ticlm.platform.results.study_result import StudyResult


def charts(*results: StudyResult) -> tuple[Chart, ...]:
    return part(results, [views(one) for one in results]).sections[0].charts


def test_each_point_says_its_age_its_worth_and_its_number_of_cells() -> None:
    result = made_up("demo", MONTHS, cutoffs=(11,))
    (chart,) = charts(result)
    first = chart.series[0]
    assert [one.name for one in chart.series] == ["cyclic-cosine", "replay-half"] and chart.task == "perplexity@1"
    assert first.tips[-1].startswith("11 months after its training: regret +0.") and "% higher" in first.tips[-1]
    assert first.tips[-1].endswith("mean of 1 cell") and first.tips[11].startswith("in its own period: ")
    assert first.tips[10].startswith("text 1 month before: ") and first.tips[10].endswith("mean of 11 cells")
    assert list(first.hollow) == [abs(age) > 9 for age in first.x]
    (section,) = part([result], [views(result)]).sections
    assert "A hollow mark" in section.notes[0] and "oracle trained to 2023-12" in section.notes[0]
    assert "are left out" not in section.notes[0], "said only where cells are"


def test_without_a_reference_values_are_raw_and_the_note_says_so() -> None:
    result = made_up("raw", MONTHS, cutoffs=(), reference=False)
    (chart,) = charts(result)
    assert chart.y.line is None and chart.y.label == "mean log-perplexity, nats, lower is better"
    assert "There is no reference" in part([result], [views(result)]).sections[0].notes[0]


def test_there_is_a_chart_for_each_evaluation_and_none_for_its_sources() -> None:
    result = tic_lm(2, ["tic-cc@1", "wiki-qa@1"])
    assert [one.task for one in charts(result)] == ["tic-cc@1", "wiki-qa@1"]
    assert charts(result)[1].y.label == "mean regret, points, lower is better"
    again = dataclasses.replace(result, name="again", cells=result.cells.assign(study="again"))
    assert [one.y.label.partition(":")[0] for one in charts(result, again)] == ["tic-lm-3b"] * 2 + ["again"] * 2


def test_cells_of_one_age_alone_make_no_chart() -> None:
    result = tic_lm(1, ["tic-cc@1"])
    diagonal = result.cells[result.cells["trained"] == result.cells["evaluated"]]
    own = dataclasses.replace(result, cells=diagonal, own_period=frozenset(["tic-cc@1"]))
    assert part([own], [views(own)]).sections == ()
