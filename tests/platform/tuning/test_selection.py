"""The choice among trials: the paper's Tables 5 to 7 give its choices, fronts and hindsight; what must hold of any."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from ticlm.core.errors import InputError, RunError
from ticlm.platform.tuning.selection import PeriodScores, TrialScores, choose, decimals, describe, front, on_all, worst
from ticlm.platform.tuning.table import as_json, read, table, write

TABLE_5 = """\
setting,backward,in_distribution,forward,all_backward,all_in_distribution,all_forward
1e-3,0.103,0.086,0.118,0.197,0.083,0.209
3e-4,0.019,0.016,0.051,0.125,0.041,0.178
1e-4,0.002,0.005,0.039,0.072,0.027,0.161
5e-5,0.002,0.006,0.039,0.062,0.034,0.163
3e-5,0.004,0.009,0.040,0.060,0.042,0.165
AR,0.002,0.008,0.043,0.058,0.040,0.166
"""
TABLE_6 = """\
setting,backward,in_distribution,forward
1e-3 / 0.033,0.1025,0.0856,0.1178
5e-4 / 0.033,0.0448,0.0373,0.0713
3e-4 / 0.033,0.0206,0.0183,0.0532
5e-5 / 0.033,0.0053,0.0105,0.0406
1e-4 / 0.067,0.0049,0.0080,0.0406
1e-4 / 0.033,0.0044,0.0077,0.0404
1e-4 / 0.010,0.0042,0.0075,0.0403
1e-4 / 0.005,0.0042,0.0075,0.0403
1e-4 / 0.0001,0.0044,0.0077,0.0404
"""
TABLE_7 = """\
setting,backward,in_distribution,forward
1e0,0.0025,0.0050,0.0394
1e1,0.0025,0.0050,0.0394
1e4,0.0025,0.0050,0.0394
1e5,0.0025,0.0049,0.0394
1e6,0.0021,0.0047,0.0391
1e7,0.0013,0.0050,0.0389
1e8,0.0107,0.0178,0.0462
1e9,0.0286,0.0400,0.0586
"""


@pytest.fixture
def printed(tmp_path: Path) -> dict[int, list[TrialScores]]:
    """The tables of the paper by number, read as a user would feed them in."""
    out = {}
    for number, text in ((5, TABLE_5), (6, TABLE_6), (7, TABLE_7)):
        path = tmp_path / f"table-{number}.csv"
        path.write_text(text)
        out[number] = read(path)
    return out


def settings(trials: Sequence[TrialScores]) -> list[str]:
    return [trial.setting for trial in trials]


# the paper's tables


@pytest.mark.parametrize(
    "number, chosen, mean", [(5, "1e-4", 0.015333), (6, "1e-4 / 0.010", 0.017333), (7, "1e7", 0.015067)]
)
def test_the_rule_makes_the_choices_of_the_paper(
    printed: dict[int, list[TrialScores]], number: int, chosen: str, mean: float
) -> None:
    found = choose(printed[number])
    assert found.setting == chosen and found.scores is not None
    assert found.scores.mean == pytest.approx(mean, abs=5e-7)


def test_equal_rows_tie_and_the_first_is_chosen(printed: dict[int, list[TrialScores]]) -> None:
    assert choose(printed[6][::-1]).setting == "1e-4 / 0.005"
    assert describe(printed[6])[0].endswith("picks 1e-4 / 0.010 (mean 0.01733, tied with 1e-4 / 0.005)")


def test_rows_that_add_up_to_the_same_tie_whatever_binary_makes_of_them() -> None:
    """0.1 + 0.2 is not 0.3 in floating point: added up as they are, one of the two would win in either order."""
    one, other = TrialScores("a", "a", PeriodScores(0.1, 0.2, 0.0)), TrialScores("b", "b", PeriodScores(0.3, 0.0, 0.0))
    assert (choose([one, other]), choose([other, one])) == (one, other)
    assert one.scores is not None and other.scores is not None and one.scores.mean == other.scores.mean == 0.1


@pytest.mark.parametrize(
    "number, expected", [(5, ["1e-4"]), (6, ["1e-4 / 0.010", "1e-4 / 0.005"]), (7, ["1e6", "1e7"])]
)
def test_the_fronts_of_the_tables(printed: dict[int, list[TrialScores]], number: int, expected: list[str]) -> None:
    """Strict dominance in all three would keep 5e-5 and AR in Table 5."""
    assert settings(front(printed[number])) == expected
    assert describe(printed[number])[1] == f"on the Pareto front: {'; '.join(expected)}"


def test_all_months_would_prefer_another_learning_rate(printed: dict[int, list[TrialScores]]) -> None:
    assert choose(printed[5], on_all).setting == "5e-5"
    assert settings(front(printed[5], on_all)) == ["1e-4", "5e-5", "3e-5", "AR"]
    assert describe(printed[5])[2:] == [
        "on all periods the rule would prefer 5e-5 (0.08633 against 0.08667): "
        "what is best on the first periods is not best in hindsight",
        "on the Pareto front of all periods: 1e-4; 5e-5; 3e-5; AR",
    ]


def test_the_worst_of_the_tables(printed: dict[int, list[TrialScores]]) -> None:
    assert [worst(printed[number]).setting for number in (5, 6, 7)] == ["1e-3", "1e-3 / 0.033", "1e9"]


def test_a_choice_that_holds_on_all_periods_is_said_to(printed: dict[int, list[TrialScores]]) -> None:
    two = [replace(trial, whole=trial.whole if trial.setting in ("1e-3", "1e-4") else None) for trial in printed[5]]
    assert describe(two)[2] == (
        "on all periods (2 of 6 settings were run on them) the choice holds: 1e-4 (mean 0.08667)"
    )


def test_a_choice_that_ties_on_all_periods_holds(printed: dict[int, list[TrialScores]]) -> None:
    same = [replace(trial, whole=PeriodScores(0.1, 0.2, 0.3)) for trial in printed[5]]
    assert describe(same)[2].startswith(
        "on all periods the choice holds: 1e-4 (mean 0.20000, tied with 1e-3; 3e-4; 5e-5"
    )


def test_one_trial_on_all_periods_says_nothing_of_hindsight(printed: dict[int, list[TrialScores]]) -> None:
    one = [replace(trial, whole=trial.whole if trial.setting == "1e-4" else None) for trial in printed[5]]
    assert not any("all periods" in line for line in describe(one))


def test_hindsight_without_the_chosen_setting_says_so(printed: dict[int, list[TrialScores]]) -> None:
    others = [replace(trial, whole=None if trial.setting == "1e-4" else trial.whole) for trial in printed[5]]
    assert "pick 5e-5 (mean 0.08633); 1e-4 was not scored on them" in describe(others)[2]


# trials without scores


STOPPED = TrialScores("s", "3e-2", None, note="stopped early after 201312")
DIVERGED = TrialScores("d", "1e-1", PeriodScores(float("nan"), 1.0, 2.0))
INFINITE = TrialScores("i", "1", PeriodScores(1.0, float("-inf"), 2.0))
FINE = TrialScores("f", "1e-3", PeriodScores(3.0, 2.0, 4.0))


def test_what_has_no_numbers_is_never_chosen_and_is_said() -> None:
    trials = [STOPPED, DIVERGED, INFINITE, FINE]
    assert choose(trials) is worst(trials) is FINE and front(trials) == (FINE,)
    assert describe(trials)[2] == (
        "not compared: 3e-2 (stopped early after 201312); 1e-1 (scores that are no finite numbers: nan, 1.0, 2.0); "
        "1 (scores that are no finite numbers: 1.0, -inf, 2.0)"
    )


@pytest.mark.parametrize("trials", [[], [STOPPED], [DIVERGED, STOPPED]])
def test_a_choice_among_nothing_is_an_error_that_says_why(trials: list[TrialScores]) -> None:
    with pytest.raises(RunError, match="no trial has scores to choose by") as error:
        choose(trials)
    assert all(trial.setting in str(error.value) for trial in trials) and "\n" not in str(error.value)
    with pytest.raises(RunError):
        describe(trials)
    assert front(trials) == ()


# what holds of any trials


NUMBERS = st.one_of(st.sampled_from([0.0, 0.1, 0.2, 0.3, 1e-30, 1.0]), st.floats(-1e6, 1e6))
SCORES = st.builds(PeriodScores, NUMBERS, NUMBERS, NUMBERS)
TRIALS = st.lists(SCORES, min_size=1, max_size=8).map(
    lambda rows: [TrialScores(f"t{place}", f"s{place}", scores) for place, scores in enumerate(rows)]
)


def scored(trial: TrialScores) -> PeriodScores:
    assert trial.scores is not None
    return trial.scores


@given(TRIALS)
def test_the_choice_is_on_the_front(trials: list[TrialScores]) -> None:
    """Means rounded to floats would choose (1, 1, 1e-30) before (1, 1, 0)."""
    assert choose(trials) in front(trials)


@given(TRIALS)
def test_whatever_is_not_on_the_front_is_dominated_by_something_on_it(trials: list[TrialScores]) -> None:
    best = front(trials)
    assert best
    for trial in trials:
        dominators = [one for one in best if scored(one).dominates(scored(trial))]
        assert bool(dominators) == (trial not in best)


@given(TRIALS, st.randoms(use_true_random=False))
def test_the_order_of_trials_matters_only_for_ties(trials: list[TrialScores], random: object) -> None:
    mixed = list(trials)
    random.shuffle(mixed)  # type: ignore[attr-defined]
    assert scored(choose(trials)).total == scored(choose(mixed)).total
    assert scored(worst(trials)).total == scored(worst(mixed)).total
    assert set(front(trials)) == set(front(mixed))


@given(TRIALS, st.integers(0, 7), st.integers(0, 8), st.tuples(*[st.floats(0, 10)] * 3).filter(any))
def test_a_dominated_trial_changes_nothing(
    trials: list[TrialScores], above: int, place: int, more: tuple[float, float, float]
) -> None:
    base = scored(trials[above % len(trials)])
    worse = TrialScores("worse", "worse", PeriodScores(*(a + b for a, b in zip(base.there, more))))
    if not base.dominates(scored(worse)):  # too little to move a float
        return
    longer = [*trials[:place], worse, *trials[place:]]
    assert choose(longer) is choose(trials) and front(longer) == front(trials)


@given(TRIALS)
def test_nothing_is_better_than_the_choice_or_worse_than_the_worst(trials: list[TrialScores]) -> None:
    totals = [scored(trial).total for trial in trials]
    assert (scored(choose(trials)).total, scored(worst(trials)).total) == (min(totals), max(totals))
    assert len(trials) == 1 or choose(trials) is not worst(trials)


@given(TRIALS, st.lists(st.one_of(st.none(), SCORES), min_size=8, max_size=8))
def test_trials_come_back_from_csv_as_they_were(
    tmp_path_factory: pytest.TempPathFactory, trials: list[TrialScores], wholes: list[PeriodScores | None]
) -> None:
    named = [
        replace(trial, name=f'a, "b" {n}', setting=f'a, "b" {n}', whole=whole, note="x, y" if n % 2 else "")
        for n, (trial, whole) in enumerate(zip(trials, wholes))
    ]
    path = tmp_path_factory.mktemp("csv") / "trials.csv"
    path.write_text(write([*named, STOPPED]))
    assert read(path) == [*named, replace(STOPPED, name=STOPPED.setting)]


# the table


def shown(trials: Sequence[TrialScores]) -> str:
    console = Console(width=200, color_system=None)
    with console.capture() as capture:
        console.print(table(trials, "Table [5]"))
    return capture.get()


def row(text: str, setting: str) -> str:
    return next(" ".join(line.split()) for line in text.splitlines() if line.split()[:1] == [setting])


def test_the_table_says_in_words_what_is_chosen_and_on_the_front(printed: dict[int, list[TrialScores]]) -> None:
    text = shown(printed[5])
    assert "Table [5]" in text and "first 10 periods (201305 … 201412); (all): all 114 periods" in text
    assert row(text, "1e-4") == (
        "1e-4 0.0020 0.0050 0.0390 0.0153 0.0720 0.0270 0.1610 0.0867 chosen; on the front; on the front of all"
    )
    assert row(text, "5e-5").endswith(" 0.0863 best of all periods; on the front of all")
    assert row(text, "3e-4").endswith(" 0.1147")


def test_the_table_without_all_periods_has_four_numbers_and_notes(printed: dict[int, list[TrialScores]]) -> None:
    text = shown([*printed[7], STOPPED])
    assert row(text, "1e7") == "1e7 0.0013 0.0050 0.0389 0.01507 chosen; on the front"
    assert row(text, "3e-2") == "3e-2 – – – – stopped early after 201312"
    assert "(all)" not in text


def test_a_table_in_which_nothing_can_be_chosen_is_shown_all_the_same() -> None:
    text = shown([STOPPED, DIVERGED])
    assert "chosen" not in text and row(text, "1e-1").startswith("1e-1 nan 1.0000")


@pytest.mark.parametrize(
    "values, places",
    [([0.1, 0.2], 4), ([3.21456, 3.21457], 5), ([1.0, 1.0], 4), ([1.0, float("nan")], 4), ([0, 1e-12], 8)],
)
def test_numbers_have_as_many_decimals_as_tell_them_apart(values: list[float], places: int) -> None:
    assert decimals(values) == places


def test_json_says_what_the_lines_say(printed: dict[int, list[TrialScores]]) -> None:
    found = json.loads(json.dumps(as_json([*printed[5], STOPPED, DIVERGED]), allow_nan=False))
    assert (found["chosen"], found["front"]) == ("1e-4", ["1e-4"])
    assert found["all"] == {"chosen": "5e-5", "front": ["1e-4", "5e-5", "3e-5", "AR"]}
    assert found["trials"][2]["scores"]["mean"] == pytest.approx(0.046 / 3)
    assert found["trials"][-2] == {
        "name": "s", "setting": "3e-2", "scores": None, "all": None, "note": "stopped early after 201312",
    }  # fmt: skip
    assert found["trials"][-1]["scores"]["backward"] == "nan"
    assert as_json([STOPPED])["chosen"] is None and "all" not in as_json([STOPPED])


# bad input


@pytest.mark.parametrize(
    "text, said",
    [
        ("", "line 1: no column setting; needed: setting, backward, in_distribution, forward"),
        ("setting,backward,forward\n", "line 1: no column in_distribution"),
        ("setting,backward,in_distribution,forward,bwd\n", "line 1: unknown column 'bwd'; allowed: setting, backward"),
        ("setting,backward,in_distribution,forward,forward\n", "line 1: two columns forward"),
        ("setting,backward,in_distribution,forward\n", "holds no trials"),
        ("setting,backward,in_distribution,forward\na,1,2\n", "line 2: 3 values for 4 columns"),
        ("setting,backward,in_distribution,forward\n\na,1,2,x\n", "line 3: forward must be a number, got 'x'"),
        ("setting,backward,in_distribution,forward\na,1,,2\n", "line 2: in_distribution is blank, but backward is not"),
        ("setting,backward,in_distribution,forward\n,1,1,2\n", "line 2: setting is blank"),
        ("setting,backward,in_distribution,forward\na,1,1,2\na,1,1,2\n", "line 3: the setting 'a' is there twice"),
        ('setting,backward,in_distribution,forward\n"a,1,1,2\n', "line 2: not valid CSV"),
        (
            "setting,backward,in_distribution,forward,all_forward\na,1,1,2,3\n",
            "line 2: all_backward is blank, but all_forward is not; give all three or none",
        ),
    ],
)
def test_a_wrong_file_is_one_line_that_names_the_place(tmp_path: Path, text: str, said: str) -> None:
    path = tmp_path / "trials.csv"
    path.write_text(text)
    with pytest.raises(InputError) as error:
        read(path)
    assert said in str(error.value) and str(path) in str(error.value) and "\n" not in str(error.value)


def test_a_file_that_cannot_be_read_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "binary.csv").write_bytes(b"\xff\xfe\x00")
    for name in ("nowhere.csv", "binary.csv"):
        with pytest.raises(InputError, match="cannot be read"):
            read(tmp_path / name)


def test_choosing_loads_nothing_heavy() -> None:
    code = (
        "import sys; import ticlm.platform.tuning.selection, ticlm.platform.tuning.table;"
        "sys.exit(' '.join({'torch', 'ray', 'pandas', 'numpy', 'rich'} & set(sys.modules)) or 0)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_a_trial_that_alone_was_run_on_all_periods_is_not_called_the_best_of_them() -> None:
    from rich.console import Console

    def shown(*trials: TrialScores) -> str:
        with (console := Console(width=200)).capture() as out:
            console.print(table(trials, "x"))
        return out.get()

    first = TrialScores("a", "a", PeriodScores(1, 1, 1), PeriodScores(2, 2, 2))
    assert "chosen" in shown(first, TrialScores("b", "b", PeriodScores(2, 2, 2)))
    assert "best of all" not in shown(first, TrialScores("b", "b", PeriodScores(2, 2, 2)))
    assert "best of all" in shown(first, TrialScores("b", "b", PeriodScores(2, 2, 2), PeriodScores(3, 3, 3)))
