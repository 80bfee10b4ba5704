"""The packaged studies: they plan without data, and TiC-LM's have the rows, budgets and shares of its tables."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from fractions import Fraction
from typing import Any

import pytest
from plans import described, planned

from ticlm.core.periods import TIC_CC_MONTHS
from ticlm.core.settings import packaged
from ticlm.methods.method import Continual, Joint, OracleSeries
from ticlm.methods.optimizers import ScheduleFree
from ticlm.methods.replay import EqualReplay, ExponentialReplay, FixedReplay, NoReplay
from ticlm.methods.schedules import AutoregressiveCosine, WarmupCosine
from ticlm.platform.cli import plan_view
from ticlm.platform.study.costs import Machine
from ticlm.platform.study.round import Round
from ticlm.platform.study.settings import load
from ticlm.platform.study.tree import Run

EVERY = packaged("platform/studies")
PAPER = [name for name in EVERY if name.startswith("tic-lm-")]
TUNING = ["tic-lm-table-5", "tic-lm-table-6", "tic-lm-table-7"]
INITIAL = 111_837_286_400
BATCH = 256 * 2048
CHECKPOINTS = (
    *("201403", "201501", "201602", "201701", "201801", "201901"),
    *("202001", "202101", "202201", "202301", "202402", "202407"),
)
ORACLES = {
    "201305": (213_312, 111_837_286_400),
    "201501": (232_189, 121_734_391_391),
    "201701": (268_056, 140_538_890_874),
    "201901": (313_362, 164_291_942_853),
    "202101": (358_667, 188_044_994_831),
    "202301": (398_309, 208_828_915_313),
    "202407": (426_625, 223_674_572_800),
}
TABLE_2 = (
    *("cyclic-cosine", "cyclic-cosine+ar", "cyclic-rsqrt", "schedule-free"),
    *("replay-equal", "replay-half", "replay-equal+ar", "replay-half+ar"),
    *("lwf", "lwf-per-token", "ewc", "ewc-new-data", "oracle"),
)
TABLE_9 = ("equal", "exp", "0.1", "0.3", "half", "0.7", "0.9")


def run_of(name: str, method: str, seed: int = 124) -> Run:
    return next(run for run in planned(name).tree.runs if (run.method.name, run.seed) == (method, seed))


def specs(name: str, method: str, seed: int = 124) -> dict[str, Round]:
    """The rounds that end each period of a run."""
    return {label: planned(name).tree.rounds[key] for label, key in run_of(name, method, seed).rounds.items()}


# all of them

ALIKE = ("tic-lm-table-3", "tic-lm-table-8", "tic-lm-table-11-1b")
"""Planned at night alone: studies of a hundred months whose methods are those of other tables."""


@pytest.mark.parametrize("name", [pytest.param(n, marks=pytest.mark.nightly) if n in ALIKE else n for n in EVERY])
def test_a_packaged_study_has_its_files_name_a_plan_and_a_cost_without_data(name: str) -> None:
    plan = planned(name)
    assert plan.study.name == name and plan.corpus is None
    found = plan_view.describe(plan, Machine())
    assert found["total"]["rounds"] == len(plan.tree.rounds) > 0
    if plan.study.model.kind != "folder":  # a published folder is sized with its corpus, whose tokenizer is its own
        assert min(found["cost"][key] for key in ("parameters", "flops", "gpu_hours", "weights_bytes")) > 0
        published = sum(
            spec.sample is None for spec in plan.tree.rounds.values()
        )  # rows that are chosen are no weights
        weights = 4 * found["parameters"] * published
        inside = 4 * found["parameters"] * (found["cost"]["inside_models"] or 0)
        assert found["total"]["disk_bytes"] == weights == found["cost"]["weights_bytes"] - inside


@pytest.mark.parametrize("name", PAPER)
def test_a_study_of_the_paper_trains_as_the_paper_says(name: str) -> None:
    study = load(name)
    assert (study.batch_rows, study.length) == (256, 2048)
    assert study.initial.budget == INITIAL and study.initial.seed == 124
    assert study.initial.schedule == WarmupCosine(max_rate=3e-3, end_rate=3e-5, warmup_steps=5000)
    assert (study.precision.compute, study.precision.reduce) == ("bfloat16", "bfloat16")
    assert study.loss.z_loss == 1e-4 and study.loss.clip_norm == 1
    for method in study.methods:
        if isinstance(method, Continual):
            schedule = method.schedule.model_dump()
            assert (schedule["warmup_steps"], schedule.get("end_rate", 3e-5)) == (50, 3e-5)
            assert method.seeds[0] == 124


@pytest.mark.parametrize("name", sorted({*PAPER} - {*TUNING, "tic-lm-joint"}))
def test_all_months_are_trained_on_and_twelve_checkpoints_are_scored(name: str) -> None:
    study = load(name)
    assert study.periods.timeline().labels == TIC_CC_MONTHS
    assert study.evaluate.checkpoints == study.evaluate.periods == CHECKPOINTS
    assert [TIC_CC_MONTHS.index(label) for label in CHECKPOINTS] == [2, 10, 20, 29, 41, 53, 65, 77, 89, 98, 108, 113]


def test_every_oracle_is_scored_because_each_stands_for_later_checkpoints() -> None:
    """201305 is no checkpoint of the tables; it is what the series has at 201403."""
    plan = planned("tic-lm-3b-220b")
    scored = [label for label in ORACLES if plan.study.scores(run_of("tic-lm-3b-220b", "oracle", 0).method, label)]
    assert scored == list(ORACLES)
    plain = run_of("tic-lm-3b-220b", "cyclic-cosine")
    assert tuple(label for label in plain.rounds if plan.study.scores(plain.method, label)) == CHECKPOINTS


# Table 2


@pytest.mark.parametrize(
    "name",
    ["tic-lm-1b-220b", "tic-lm-3b-220b", "tic-lm-3b-440b", "tic-lm-table-3", "tic-lm-table-8", "tic-lm-table-11"],
)
def test_table_2_has_eleven_rows_lwf_and_ewc_twice_and_three_seeds_of_the_first(name: str) -> None:
    methods = load(name).methods
    assert tuple(m.name for m in methods) == TABLE_2
    assert [m.seeds for m in methods] == [(124, 125, 126), *[(124,)] * 11, (0,)]


@pytest.mark.parametrize(
    ("name", "model"),
    [("tic-lm-1b-220b", "1b"), ("tic-lm-3b-220b", "3b"), ("tic-lm-3b-440b", "3b"), ("tic-lm-table-11-1b", "1b")],
)
def test_sizes_are_those_of_the_table(name: str, model: str) -> None:
    assert load(name).model.model_dump()["name"] == model


@pytest.mark.parametrize(
    ("name", "steps", "month", "ratio"),
    [
        ("tic-lm-1b-220b", 1887, 989_710_499, 5.1814),
        ("tic-lm-3b-220b", 1887, 989_710_499, 5.1814),
        ("tic-lm-3b-440b", 5663, 2_969_131_497, 2.5907),
    ],
)
def test_the_plan_tells_the_budgets_of_table_2(name: str, steps: int, month: int, ratio: float) -> None:
    rows = described(name)
    assert tuple(rows) == TABLE_2
    for method in TABLE_2[:-1]:
        row = rows[method]
        first, *later = row["periods"].values()
        assert first == {"steps": 213_312, "tokens": INITIAL}
        assert later == [{"steps": steps, "tokens": month}] * 113
        assert (row["rounds"], row["steps"]) == (114, 213_312 + 113 * steps)
        assert row["tokens"] == INITIAL + 113 * month
        assert row["oracle_ratio"] == pytest.approx(ratio, abs=5e-5)


@pytest.mark.parametrize("name", ["tic-lm-1b-220b", "tic-lm-3b-220b", "tic-lm-3b-440b", "tic-lm-table-10"])
def test_the_oracles_are_sized_by_220b_at_every_scale(name: str) -> None:
    """By the 440B study's own budget they would be 1.9111 T."""
    row = described(name)["oracle"]
    assert {label: tuple(total.values()) for label, total in row["periods"].items()} == ORACLES
    assert row["steps"] == 2_210_520
    assert row["tokens"] == pytest.approx(1_158_950_994_464, abs=len(ORACLES))  # each is rounded down to a token


def test_the_plan_tells_what_of_the_past_each_method_must_keep() -> None:
    kept = {name: (row["kept_periods"], row["kept_bytes"]) for name, row in described("tic-lm-3b-220b").items()}
    replays = {name: (113, None) for name in TABLE_2 if name.startswith("replay")}
    assert kept == dict.fromkeys(TABLE_2, (0, None)) | replays | {"ewc": (1, None), "oracle": (113, None)}


def test_both_scales_have_the_same_oracles_and_no_other_round_in_common() -> None:
    small, large = planned("tic-lm-3b-220b").tree.rounds, planned("tic-lm-3b-440b").tree.rounds
    oracles = set(run_of("tic-lm-3b-220b", "oracle", 0).rounds.values())
    assert set(small) & set(large) == oracles and len(oracles) == 7


@pytest.mark.parametrize("name", ["tic-lm-table-9", "tic-lm-table-11", "tic-lm-joint", *TUNING])
def test_what_other_tables_share_with_table_2_is_not_trained_again(name: str) -> None:
    rounds = planned("tic-lm-3b-220b").tree.rounds
    mine = {run.method.name: set(run.rounds.values()) for run in planned(name).tree.runs}
    shared = {method for method, keys in mine.items() if keys <= set(rounds)}
    assert (
        shared
        == {
            "tic-lm-table-9": {"oracle", "replay-equal", "replay-half", "replay-equal+ar", "replay-half+ar"},
            "tic-lm-table-11": set(TABLE_2),
            "tic-lm-joint": {"oracle"},
            "tic-lm-table-5": {"lr-1e-4", "cyclic-cosine+ar"},
            "tic-lm-table-6": {"lr-1e-4-wd-0.010"},
            "tic-lm-table-7": {"ewc-1e7"},
        }[name]
    )


# tuning


@pytest.mark.parametrize("name", TUNING)
def test_tuning_sees_ten_months_with_the_budgets_of_the_whole_study(name: str) -> None:
    """A study of ten months with 110B would give each month eleven times as much."""
    study = load(name)
    assert study.timeline.labels == TIC_CC_MONTHS[:10] and study.timeline.labels[-1] == "201412"
    for method, row in described(name).items():
        totals = list(row["periods"].values())
        if method == "oracle":
            assert totals == [{"steps": 230_302, "tokens": INITIAL + INITIAL * 9 // 113}]
        else:
            assert totals[1:] == [{"steps": 1887, "tokens": 989_710_499}] * 9
    assert (study.evaluations[0].split, study.evaluate.checkpoints, study.evaluate.periods) == ("tune", "all", "all")
    assert study.reference_method == "oracle" and list(run_of(name, "oracle", 0).rounds) == ["201412"]


def test_table_5_has_five_learning_rates_and_ar() -> None:
    *methods, oracle = load("tic-lm-table-5").methods
    schedules = [method.schedule for method in methods if isinstance(method, Continual)]
    assert schedules == [
        *(WarmupCosine(max_rate=rate) for rate in (1e-3, 3e-4, 1e-4, 5e-5, 3e-5)),
        AutoregressiveCosine(max_rate=3e-4),
    ]
    assert isinstance(oracle, OracleSeries)


def test_table_6_has_nine_pairs_of_learning_rate_and_weight_decay() -> None:
    found = [
        (method.schedule.model_dump()["max_rate"], method.optimizer.weight_decay)
        for method in load("tic-lm-table-6").methods
        if isinstance(method, Continual) and isinstance(method.optimizer, ScheduleFree)
    ]
    assert found == [
        *((1e-3, 0.033), (5e-4, 0.033), (3e-4, 0.033), (5e-5, 0.033)),
        *((1e-4, 0.067), (1e-4, 0.033), (1e-4, 0.01), (1e-4, 0.005), (1e-4, 0.0001)),
    ]


def test_table_7_has_eight_weights_of_ewc_over_a_hundred_batches() -> None:
    penalties = [m.penalties[0].model_dump() for m in load("tic-lm-table-7").methods if isinstance(m, Continual)]
    assert [p["weight"] for p in penalties] == [10.0**power for power in (0, 1, 4, 5, 6, 7, 8, 9)]
    assert {(p["kind"], p["batches"]) for p in penalties} == {("ewc", 100)}


@pytest.mark.parametrize("name", TUNING)
def test_a_row_is_named_after_what_it_tries(name: str) -> None:
    for method in load(name).methods:
        if isinstance(method, Continual) and method.name.startswith("lr-"):
            rate, _, decay = method.name.removeprefix("lr-").partition("-wd-")
            assert float(rate) == method.schedule.model_dump()["max_rate"]
            assert not decay or float(decay) == method.optimizer.weight_decay
        elif isinstance(method, Continual) and method.penalties:
            assert float(method.name.removeprefix("ewc-")) == method.penalties[0].model_dump()["weight"]


# Tables 9 to 11, and section 6.2


def test_table_9_has_seven_mixtures_with_and_without_ar() -> None:
    *methods, oracle = load("tic-lm-table-9").methods
    assert [m.name for m in methods] == [f"replay-{n}{ar}" for ar in ("", "+ar") for n in TABLE_9]
    assert oracle.name == "oracle"
    replays = [EqualReplay(), ExponentialReplay(), *(FixedReplay(alpha=a) for a in (0.1, 0.3, 0.5, 0.7, 0.9))]
    for method, replay in zip(methods, replays * 2):
        assert isinstance(method, Continual) and method.replay == replay
        assert isinstance(method.schedule, AutoregressiveCosine) == method.name.endswith("+ar")


def test_table_10_is_half_replay_at_440b_on_two_corpora() -> None:
    local, windowed = load("tic-lm-table-10"), load("tic-lm-table-10-windowed")
    assert [m.name for m in local.methods] == ["replay-half", "replay-half+ar", "oracle"]
    assert windowed.methods == local.methods[:2]
    assert (local.corpus, windowed.corpus) == ("tic-cc", "tic-cc-windowed")
    assert local.continual_tokens == windowed.continual_tokens == 335_511_859_200
    assert windowed.reference_method is None  # its Oracle is that of the other corpus
    assert not set(planned("tic-lm-table-10").tree.rounds) & set(planned("tic-lm-table-10-windowed").tree.rounds)


def test_joint_draws_113_months_at_once_from_the_initial_checkpoint() -> None:
    study, run = load("tic-lm-joint"), run_of("tic-lm-joint", "joint")
    assert isinstance(study.methods[0], Joint) and list(run.rounds) == ["201305", "202407"]
    first, last = specs("tic-lm-joint", "joint").values()
    shares = [share.tokens for share in last.segments[0].mixture.shares]
    assert last.parent == run.rounds["201305"] and [s.period for s in last.sources] == list(TIC_CC_MONTHS[1:])
    assert len(shares) == 113 and max(shares) - min(shares) <= 1
    assert first.budget + last.budget == described("tic-lm-3b-220b")["cyclic-cosine"]["tokens"]
    assert study.evaluate.checkpoints == ("201305", "202407") and study.evaluate.periods == CHECKPOINTS
    assert list(run_of("tic-lm-joint", "oracle", 0).rounds) == ["201305", "202407"]


# mixtures in rows (golden values worked by hand)

GROUPS: dict[int, list[tuple[int, Fraction]]] = {
    2: [(1, Fraction(1, 2))],
    3: [(2, Fraction(1, 2))],
    11: [(10, Fraction(1, 2))],
    12: [(10, Fraction(1, 4)), (1, Fraction(1, 4))],
    13: [(10, Fraction(1, 4)), (2, Fraction(1, 4))],
    21: [(10, Fraction(1, 4)), (10, Fraction(1, 4))],
    22: [(10, Fraction(1, 4)), (10, Fraction(1, 8)), (1, Fraction(1, 8))],
    32: [(10, Fraction(1, 4)), (10, Fraction(1, 8)), (10, Fraction(1, 16)), (1, Fraction(1, 16))],
    35: [(10, Fraction(1, 4)), (10, Fraction(1, 8)), (10, Fraction(1, 16)), (4, Fraction(1, 16))],
    114: [*((10, Fraction(1, 4 * 2**k)) for k in range(11)), (3, Fraction(1, 4096))],
}
"""By months seen: groups of old months, newest first, and what share of the budget each group has."""


def rows_at(months: int, method: str) -> list[int]:
    """Rows of each month in the round of month number `months`, newest first, the month itself left out or 0."""
    drawn = list(specs("tic-lm-table-9", method).values())[months - 1].draws()
    by_period = {source.period: rows for source, rows in drawn.items()}
    return [by_period.get(label, 0) for label in reversed(TIC_CC_MONTHS[:months])]


@pytest.mark.parametrize("method", ["replay-exp", "replay-exp+ar"])
@pytest.mark.parametrize("months", GROUPS)
def test_exponential_replay_halves_from_group_to_group_and_the_last_takes_the_rest(months: int, method: str) -> None:
    now, *past = rows_at(months, method)
    assert now == 241_536 and now + sum(past) == 483_072
    assert sum(count for count, _ in GROUPS[months]) == months - 1
    for count, share in GROUPS[months]:
        group, past = past[:count], past[count:]
        assert all(abs(rows - 483_072 * share / count) < 1 for rows in group)
    assert sum(share for _, share in GROUPS[months]) == Fraction(1, 2)


@pytest.mark.parametrize(
    ("months", "quotas"),
    [
        (12, [(10, {12_076, 12_077}), (1, {120_768})]),
        (22, [(10, {12_076, 12_077}), (10, {6_038, 6_039}), (1, {60_384})]),
        (35, [(10, {12_076, 12_077}), (10, {6_038, 6_039}), (10, {3_019, 3_020}), (4, {7_548})]),
    ],
)
def test_rows_of_exponential_replay(months: int, quotas: list[tuple[int, set[int]]]) -> None:
    _, *past = rows_at(months, "replay-exp")
    if months == 12:
        assert sum(past[:10]) == 120_768
    for count, allowed in quotas:
        group, past = past[:count], past[count:]
        assert set(group) <= allowed
    assert past == []


@pytest.mark.parametrize(
    ("method", "now", "past"),
    [
        ("replay-equal", None, {4238: 54, 4237: 60}),
        ("replay-half", 241_536, {2138: 55, 2137: 58}),
        ("replay-0.9", 434_765, {428: 56, 427: 57}),
    ],
)
def test_rows_of_the_last_month(method: str, now: int | None, past: dict[int, int]) -> None:
    counts = rows_at(114, method)
    assert now is None or counts.pop(0) == now
    assert Counter(counts) == past


@pytest.mark.parametrize("alpha", [0.1, 0.3, 0.5, 0.7, 0.9])
@pytest.mark.parametrize("months", [2, 11, 12, 114])
def test_a_fixed_share_goes_to_the_month_and_the_rest_evenly_to_those_before(alpha: float, months: int) -> None:
    now, *past = rows_at(months, "replay-half" if alpha == 0.5 else f"replay-{alpha}")
    share = Fraction(str(alpha))
    assert abs(now - 483_072 * share) < 1
    assert all(abs(rows - 483_072 * (1 - share) / (months - 1)) < 1 for rows in past)


def test_exponential_replay_is_half_replay_for_eleven_months_and_at_the_twenty_first() -> None:
    """So tuning on ten months cannot tell them apart, and the two share nine rounds of the tree."""
    same = [t for t in range(2, 115) if rows_at(t, "replay-exp") == rows_at(t, "replay-half")]
    assert same == [*range(2, 12), 21]
    exp, half = (list(run_of("tic-lm-table-9", f"replay-{name}").rounds.values()) for name in ("exp", "half"))
    assert [a == b for a, b in zip(exp, half)] == [True] * 11 + [False] * 103


def test_at_the_second_month_three_mixtures_are_one_round() -> None:
    for ar in ("", "+ar"):
        runs = [run_of("tic-lm-table-9", f"replay-{name}{ar}").rounds for name in ("equal", "half", "exp")]
        assert len({run["201312"] for run in runs}) == 1
        assert len({run["201403"] for run in runs}) == 2
    others = [run_of("tic-lm-table-9", f"replay-{name}").rounds["201312"] for name in TABLE_9]
    assert len(set(others)) == 5


def test_no_replay_draws_the_month_alone() -> None:
    assert all(len(spec.sources) == 1 for spec in specs("tic-lm-3b-220b", "cyclic-cosine").values())
    assert run_of("tic-lm-3b-220b", "cyclic-cosine").method.replay == NoReplay()  # type: ignore[union-attr]


# the command


def test_a_plan_of_the_paper_loads_nothing_heavy_and_needs_no_data(tmp_path: Any) -> None:
    code = (
        "import sys\n"
        f"sys.argv = ['ticlm', 'plan', 'tic-lm-3b-440b', '--json', '--root', {str(tmp_path / 'nothing')!r}]\n"
        "from ticlm.platform.cli.main import main\n"
        "try:\n    main()\nexcept SystemExit as end:\n    assert not end.code\n"
        "heavy = {'torch', 'ray', 'transformers', 'datasets', 'pandas'}\n"  # recipes, which may need sets, load pyarrow
        "print(sorted(heavy & set(sys.modules)), file=sys.stderr)\n"
    )
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ended.stderr == "[]\n" and not (tmp_path / "nothing").exists()
    found = json.loads(ended.stdout)
    assert len(found["tree"]) == found["rounds"] == len(planned("tic-lm-3b-440b").tree.rounds)
    assert [row["name"] for row in found["methods"]] == list(TABLE_2)
