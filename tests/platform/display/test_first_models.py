"""Whatever is printed over seeds says from how many first models their runs start."""

import dataclasses

import pytest
from factsets import every_benchmark
from parts import part_of
from reports import page, tic_lm

from ticlm.platform.analysis.summary import summarize
from ticlm.platform.display.table_rows import legend
from ticlm.platform.display.words import LEAVES_OUT, means_over_seeds, over_seeds
from ticlm.platform.papers.together.overview import TITLE
from ticlm.platform.report.report import Report
from ticlm.platform.results.study_result import StudyResult


def starting(of: StudyResult, **models: int) -> StudyResult:
    """Return a study whose methods have three seeds that start from so many first models; others have one seed."""
    methods = [
        dataclasses.replace(one, seeds=(1, 2, 3), first_models=models[one.name]) if one.name in models else one
        for one in of.methods
    ]
    return dataclasses.replace(of, methods=tuple(methods))


def test_seeds_that_share_a_first_model_are_said_to_leave_others_out() -> None:
    assert over_seeds([("a", 1), ("b", 1)]) == f"The runs of a method share one first model; {LEAVES_OUT}."
    assert over_seeds([("a", 3), ("b", 3)]) == "The runs of a method start from 3 first models."


def test_rows_with_other_numbers_of_first_models_are_named() -> None:
    told = over_seeds([("a", 1), ("b", 3), ("c", 3), ("d", 2)])
    assert told.startswith("First models of the runs: d from 2, b and c from 3; those of all others share one, and ")
    assert over_seeds([("a", 2), ("b", 3)]) == "First models of the runs: a from 2, b from 3."


def test_rows_of_one_seed_say_nothing_of_seeds() -> None:
    assert means_over_seeds([("a", 1, 1)]) == []
    (line,) = means_over_seeds([("a", 1, 1), ("b", 3, 3)])
    assert line.endswith("The runs of a method start from 3 first models.")


@pytest.mark.parametrize(
    ("models", "told"),
    [
        ({"cyclic-cosine": 1}, "The runs of a method share one first model; another one may move values by more"),
        ({"cyclic-cosine": 3}, "The runs of a method start from 3 first models."),
        (
            {"cyclic-cosine": 3, "oracle": 1},
            "First models of the runs: cyclic-cosine from 3; those of all others share",
        ),
    ],
)
def test_the_legend_of_the_page_says_what_the_brackets_are_over(models: dict[str, int], told: str) -> None:
    of = starting(tic_lm(2, ["tic-cc@1"]), **models)
    said = " ".join(legend(summarize([of])))
    assert f"In brackets: the standard deviation over seeds. {told}" in said and told in page(of)


def test_two_studies_of_one_method_are_told_apart() -> None:
    two = [dataclasses.replace(tic_lm(1, ["tic-cc@1"]), name=name) for name in ("one", "other")]
    two = [starting(of, **{two[0].methods[0].name: n}) for of, n in zip(two, (1, 3))]
    assert f"First models of the runs: {two[0].methods[0].name} (other) from 3" in " ".join(legend(summarize(two)))


def test_the_table_of_all_benchmarks_has_the_number_of_first_models() -> None:
    of = every_benchmark()
    several = dataclasses.replace(of, methods=tuple(dataclasses.replace(one, first_models=3) for one in of.methods))
    frame = part_of(Report([several]), TITLE).frames["benchmarks_overview"]
    assert set(frame["first_models"]) == {3}
