"""Conventions are checked on the calendars that were really published, whose cells were counted by hand."""

from pathlib import Path

import calendars
import numpy as np
import pytest
from calendars import periods

from ticlm.core.errors import InputError
from ticlm.core.periods import Period
from ticlm.core.settings import parse
from ticlm.platform.analysis.conventions import Convention, Preset, named
from ticlm.platform.analysis.transfer import transfer

CHECKPOINTS = periods(calendars.FIRST_OF_YEARS)
WITH_INITIAL = periods("201305") + CHECKPOINTS
WIKI, NUMPY, PYTORCH = periods(calendars.WIKI), periods(calendars.NUMPY), periods(calendars.PYTORCH)


def counts(convention: Convention, evaluated: list[Period]) -> tuple[int, int, int]:
    return transfer(np.zeros((len(CHECKPOINTS), len(evaluated))), CHECKPOINTS, evaluated, convention).cells


@pytest.mark.parametrize(
    ("task", "evaluated", "paper", "paper_1b"),
    [
        ("tic-cc", WITH_INITIAL, (66, 12, 66), (66, 12, 66)),  # with the column of 201305: 78/12/66
        ("tic-cc-news@1", WITH_INITIAL, (66, 12, 66), (66, 12, 66)),
        ("tic-wiki-diff", WIKI, (97, 10, 85), (107, 7, 85)),
        ("tic-wiki-unchanged@3", WIKI, (97, 10, 85), (107, 7, 85)),
        ("codedocs-numpy", NUMPY, (63, 8, 121), (71, 3, 121)),
        ("codedocs-pytorch", PYTORCH, (25, 4, 103), (29, 1, 70)),
        ("perplexity@1", WITH_INITIAL, (78, 12, 66), (78, 12, 66)),  # a task of nobody's is taken whole
    ],
)
def test_packaged_presets_count_the_cells_of_the_real_calendars(
    task: str, evaluated: list[Period], paper: tuple[int, int, int], paper_1b: tuple[int, int, int]
) -> None:
    assert counts(named("paper").of(task), evaluated) == paper
    assert counts(named("paper-1b").of(task), evaluated) == paper_1b


def test_without_its_first_checkpoint_pytorch_has_more_forward_cells() -> None:
    own = named("paper-1b").of("codedocs-pytorch")
    whole = Convention(id_rule=own.id_rule, bwd_includes_id=own.bwd_includes_id)
    assert counts(whole, PYTORCH) == (29, 1, 103)


def test_what_does_not_count_is_of_no_kind_and_claims_nothing() -> None:
    convention = Convention(first_checkpoint="201602", evaluated_periods=("201412", "201508"))
    trained, evaluated = periods("201501 201602 201701"), periods("201412 201508 201608")
    cells = convention.cells(trained, evaluated)
    np.testing.assert_array_equal(cells.counted, [[False, False, False], [True, True, False], [True, True, False]])
    np.testing.assert_array_equal(cells.in_distribution, [[0, 0, 0], [0, 1, 0], [0, 0, 0]])
    # had 201412 been all there is, 201602 would be the first to claim it: 201501 does not count
    alone = Convention(first_checkpoint="201602", evaluated_periods=("201412",)).cells(trained, evaluated)
    np.testing.assert_array_equal(alone.in_distribution, [[0, 0, 0], [1, 0, 0], [0, 0, 0]])


def test_a_named_period_is_found_however_its_span_is_written() -> None:
    evaluated = periods("201412-201506 201507")
    for label in ("201412..201506", "201412-201506", "20141201..20150630"):
        convention = Convention.model_validate({"evaluated_periods": [label]})
        assert convention.columns(CHECKPOINTS, evaluated).tolist() == [0]
    checkpoints = Convention(evaluated_periods="checkpoints")
    assert checkpoints.columns(periods("201412..201506"), evaluated).tolist() == [0]


def test_a_named_period_that_is_not_evaluated_is_one_line() -> None:
    convention = Convention(evaluated_periods=("201501", "201502"))
    with pytest.raises(InputError, match=r"^evaluated_periods: 201502 is none of .*: 201501, 201508, .*202404$"):
        convention.cells(CHECKPOINTS, WIKI)


@pytest.mark.parametrize(
    ("task", "expected"),
    [
        ("perplexity@1", ("beats", "nearest_preceding_exclusive")),  # of the packaged studies of Table 2
        ("tic-cc-wiki", ("beats", "nearest_preceding_exclusive")),
        ("tic-math@1", ("beats_or_within_std", "contain")),
        ("tic-english@2", ("beats_or_within_std", "contain")),
        ("tic-wiki-changed@1", ("beats_or_within_std", "contain")),
        ("tic-codedocs-numpy@1", ("beats_or_within_std", "contain")),
        ("tic-wiki-qa@1", ("beats_or_within_std", "nearest_preceding_exclusive")),
        ("tic-text@1", ("beats_or_within_std", "nearest_preceding_exclusive")),
    ],
)
def test_the_preset_of_the_printed_numbers_knows_tasks_by_the_names_of_the_recipes(
    task: str, expected: tuple[str, str]
) -> None:
    found = named("paper-1b").of(task)
    assert (found.highlight, found.id_rule) == expected


def test_the_first_pattern_that_fits_a_name_without_its_version_wins() -> None:
    exact, contain = Convention(id_rule="exact"), Convention(id_rule="contain")
    preset = Preset(by_task={"wiki-*": exact, "*-diff": contain})
    assert preset.of("Wiki-diff@2") == exact and preset.of("other-diff") == contain
    assert preset.of("diff@wiki-1") == preset.default == Convention()


def test_a_preset_may_be_a_file_that_extends_a_packaged_one(tmp_path: Path) -> None:
    file = tmp_path / "mine.yaml"
    file.write_text("extends: paper-1b\nby_task: {mine: {period: end, first_checkpoint: 201501}}\n")
    preset = named(str(file))
    assert preset.of("mine@1") == Convention(period="end", first_checkpoint="201501")
    assert preset.of("tic-wiki-diff") == named("paper-1b").of("tic-wiki-diff")


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ({"id_rule": "nearest"}, "'nearest_preceding_exclusive', 'nearest_preceding', 'exact' or 'contain'"),
        ({"first_checkpoint": "2015"}, "'2015' is not a span of time"),
        ({"evaluated_periods": ["201513"]}, "'201513' is not a span of time"),
        ({"rule": "exact"}, "unknown key"),
    ],
)
def test_a_wrong_convention_is_one_line(setting: dict[str, object], message: str) -> None:
    with pytest.raises(InputError, match=r"^mine: ") as error:
        parse(Preset, {"default": setting}, "mine")
    assert message in str(error.value) and "\n" not in str(error.value)


def test_an_unknown_preset_names_those_there_are() -> None:
    with pytest.raises(InputError, match="did you mean paper-1b"):
        named("paper-3b")


def test_a_convention_is_told_in_words() -> None:
    told = named("paper-1b").of("codedocs-pytorch").describe()
    assert "holds the last day of the checkpoint's period; cells that are ID count in Bwd. too" in told
    assert "checkpoints before 201701 are left out" in told and "an older Oracle where there is none" in told
    assert "Oracle" not in named().of("codedocs-pytorch").describe()
    told_apart = named("paper-1b").describe(["tic-cc", "codedocs-numpy", "tic-wiki-diff", "codedocs-numpy"])
    assert [line.partition(":")[0] for line in told_apart] == ["tic-cc", "codedocs-numpy, tic-wiki-diff"]
    assert named().describe(["a", "b"]) == [Convention().describe()]
