"""Claims against made-up runs: differences by hand, intervals over first models, and verdicts."""

from __future__ import annotations

import dataclasses
import math
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from probesets import CKL, one_phase
from scipy import stats

from ticlm.core.errors import InputError
from ticlm.platform.analysis.probe_scores import ScoreReader
from ticlm.platform.display.claims.part import Claims
from ticlm.platform.display.claims.settings import Claim, KnownBefore
from ticlm.platform.display.claims.verdicts import FAILS, HOLDS, OPEN, ClaimPair, Verdict, difference, judge, runs_of
from ticlm.platform.papers.ckl.study_fuar import last_fuar
from ticlm.platform.results.study_result import StudyResult
from ticlm.platform.study import settings

SEEDS = (0, 1, 2, 3, 4, 5)


def claim(**what: Any) -> Claim:
    return Claim(says="it is so", **({"score": "lama/invariant"} | what))


def study(models: int = 3, name: str = "ckl", of: str = "model") -> StudyResult:
    """Six runs of each method, which start from so many first models in turn."""
    made = dataclasses.replace(one_phase(seeds=SEEDS), name=name)
    first = SimpleNamespace(round_of=lambda method, seed, trained, task="": f"{of} {seed % models}")
    return dataclasses.replace(made, setup=first)  # type: ignore[arg-type]


def reader(of: StudyResult) -> ScoreReader:
    return ScoreReader(of, "exact-match")


def test_a_score_is_its_change_since_the_first_checkpoint_in_points() -> None:
    # 240 of 1,000 before; after it 130 and seed - 1 more
    found = runs_of(reader(study()), claim(higher=("base",), lower=("vanilla",)), "vanilla")
    assert found.values == {seed: pytest.approx(-11.0 + (seed - 1) / 10) for seed in SEEDS}
    assert found.groups() == [pytest.approx([-11.1 + s / 10, -10.8 + s / 10]) for s in range(3)]
    base = runs_of(reader(study()), claim(higher=("base",), lower=("vanilla",)), "base")
    assert set(base.values.values()) == {0.0} and set(base.values) == set(SEEDS)


def test_runs_of_one_study_are_compared_seed_by_seed() -> None:
    """Seeds differ by up to half a point, and the difference of two methods does not."""
    made = study()
    asked = claim(higher=("lora",), lower=("vanilla",))
    judged = judge(asked, Claims(claims=(asked,)), made)
    (pair,) = judged.pairs
    assert (pair.difference, pair.low, pair.high) == pytest.approx((4.0, 4.0, 4.0))
    assert (pair.models, pair.runs, judged.verdict) == (3, 6, HOLDS)


@pytest.mark.parametrize("models", [1, 2, 3])
def test_intervals_are_students_t_over_the_means_of_first_models(models: int) -> None:
    made, asked = study(models), claim(higher=("base",), lower=("vanilla",))
    one, other = (runs_of(reader(made), asked, name) for name in ("base", "vanilla"))
    pair = difference("base", "vanilla", one, other)
    values = np.array([one.values[seed] - other.values[seed] for seed in SEEDS])
    means = values if models == 1 else np.array([values[first::models].mean() for first in range(models)])
    low, high = stats.t.interval(0.95, len(means) - 1, means.mean(), stats.sem(means))
    assert (pair.difference, pair.low, pair.high) == pytest.approx((means.mean(), low, high), abs=2e-3)
    assert pair.models == models


def test_studies_with_the_same_first_models_are_compared_seed_by_seed() -> None:
    made, other = study(), study(name="other")
    asked = claim(higher=("lora",), lower=("other/vanilla",))
    (pair,) = judge(asked, Claims(claims=(asked,)), made, [made, other]).pairs
    assert (pair.difference, pair.low, pair.high) == pytest.approx((4.0, 4.0, 4.0))


def test_methods_of_studies_with_other_first_models_are_compared_by_the_means_of_these() -> None:
    made, other = study(), study(name="other", of="another model")
    asked = claim(higher=("lora",), lower=("other/vanilla",))
    (pair,) = judge(asked, Claims(claims=(asked,)), made, [made, other]).pairs
    means = [
        np.array([values.values[s] + values.values[s + 3] for s in range(3)]) / 2
        for values in (runs_of(reader(made), asked, "lora"), runs_of(reader(other), asked, "vanilla"))
    ]
    error = math.sqrt(sum(float(np.var(side, ddof=1)) / 3 for side in means))
    assert pair.difference == pytest.approx(4.0)
    assert pair.high - pair.difference == pytest.approx(stats.t.ppf(0.975, 2) * error, rel=1e-3)
    (absent,) = judge(asked, Claims(claims=(asked,)), made, [made]).pairs
    assert math.isnan(absent.difference) and absent.verdict(None) == OPEN


def test_a_number_of_a_run_is_that_of_the_entry_it_names() -> None:
    made = study()
    asked = claim(score="", number="ckl", higher=("vanilla",), lower=("lora",))
    found = runs_of(reader(made), asked, "lora")
    assert found.values == {seed: last_fuar(made, CKL, "lora", seed) for seed in SEEDS}
    # by hand: (240 - 169) / 1000 lost, (24 - 4) / 200 + (6 - 2) / 100 gained
    assert found.values[0] == pytest.approx(0.071 / 0.14)
    assert runs_of(reader(made), asked, "broken").values == {}, "nothing was gained: there is no number"


@pytest.mark.parametrize(
    "low, high, within, verdict",
    [
        (0.1, 2.0, None, HOLDS),
        (-0.1, 2.0, None, OPEN),
        (-2.0, -0.1, None, FAILS),
        (math.nan, math.nan, None, OPEN),
        (-1.0, 2.0, 3.0, HOLDS),
        (-4.0, 2.0, 3.0, OPEN),
        (3.1, 9.0, 3.0, FAILS),
        (-9.0, -3.1, 3.0, FAILS),
    ],
)
def test_an_interval_decides(low: float, high: float, within: float | None, verdict: Verdict) -> None:
    assert ClaimPair("a", "b", (low + high) / 2, low, high, 3, 9).verdict(within) == verdict


def test_one_pair_that_says_the_contrary_decides_for_all() -> None:
    made = study()
    asked = claim(higher=("lora", "broken"), lower=("vanilla",))
    judged = judge(asked, Claims(claims=(asked,)), made)
    assert [pair.verdict(None) for pair in judged.pairs] == [HOLDS, FAILS] and judged.verdict == FAILS


def test_the_report_has_each_claim_with_its_pairs_and_a_sentence() -> None:
    asked = Claims(
        name="CKL",
        claims=(
            claim(higher=("lora", "kept"), lower=("vanilla",), source="Table 2"),
            claim(score="", number="ckl", higher=("lora",), lower=("vanilla",)),
        ),
    )
    part = asked.part(study())
    (table,) = part.sections[0].tables
    assert [line.block for line in table.lines] == [
        *["1. it is so (Table 2): holds"] * 2,
        "2. it is so: does not hold",
    ]
    assert [line.names for line in table.lines] == [
        ("lama/invariant", "lora > vanilla"),
        ("lama/invariant", "kept > vanilla"),
        ("ckl", "lora > vanilla"),
    ]
    assert table.lines[0].cells[0].text == "+4.0" and table.lines[2].cells[1].text == FAILS
    assert "over 3 first models, with up to 6 runs" in table.notes[1]
    assert part.sentences == (("ckl", "CKL: of 2 claims, holds 1, does not hold 1, cannot be told 0."),)
    assert list(part.frames["claims"]["verdict"]) == [HOLDS, HOLDS, FAILS]


@pytest.mark.parametrize(
    "change, line",
    [
        ("lower=[nobody]", "tables.CKL.claims.0.lower: no method nobody; there are ckl-vanilla, "),
        ("score=nothing/new", "tables.CKL.claims.0.score: no evaluation nothing; there are lama"),
        ("lower=[base]", "base stands on both sides"),
        ("number=fuar", "give a score or a number, one of the two"),
    ],
)
def test_what_is_wrong_with_a_claim_is_one_line(change: str, line: str) -> None:
    with pytest.raises(InputError, match=line.replace(".", r"\.")):
        settings.load("ckl-world", [f"tables.2.claims.0.{change}"])
    with pytest.raises(InputError, match=r"tables\.CKL\.claims\.1\.number: no entry of tables with a number probes"):
        settings.load("ckl-world", ["tables.2.claims.1.number=probes"])


def test_first_models_that_know_less_than_is_asked_are_named_with_what_they_reached() -> None:
    asked = Claims(
        claims=(claim(higher=("base",), lower=("vanilla",)),), base={"score": "lama/invariant", "at_least": 24.5}
    )
    part = asked.part(study(models=2))
    assert "lama/invariant of the first models: 24.0 (seed 0), 24.0 (seed 1)." in part.sections[0].tables[0].notes
    assert part.missing == tuple(
        f"ckl, claims claims: the first model of seed {seed} reached 24.0 of lama/invariant, not the 24.5 asked"
        for seed in (0, 1)
    )
    enough = asked.model_copy(update={"base": KnownBefore(score="lama/invariant", at_least=24.0)})
    assert enough.part(study()).missing == ()
