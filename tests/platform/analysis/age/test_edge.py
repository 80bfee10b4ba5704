"""The edge of a model's knowledge, on leads made with a known edge: found, covered, and unknown where nothing is."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from ticlm.platform.analysis.age.changes import OPEN, Changes, month_number, month_text, spans
from ticlm.platform.analysis.age.edge import PLACEBOS, FactEdge, candidates, fact_edge
from ticlm.platform.analysis.age.score import CHOSEN, AgeScore, bounded, expected_leads, log_likelihoods

START, MONTHS = month_number("202301"), 36


def made(
    edge: int | None, memory: float = float("inf"), noise: float = 1.0, seed: int = 0, trend: float = 0.0
) -> Changes:
    """Changes of 60 facts in MONTHS months, and the preferences of a model with an edge so many months after START;
    None: it goes by fame alone. `trend`: by how much new values gain fame until the middle, and lose it later."""
    rng = np.random.default_rng(seed)
    fact = np.repeat(np.arange(60), 5)
    month = START + np.concatenate([np.sort(rng.choice(MONTHS, 5, replace=False)) for _ in range(60)])
    since, until = spans(fact, month, ["a"] * len(fact), ["a"] * len(fact))
    fame = rng.normal(-8, 1.5, (2, len(fact)))
    fame[0] += trend * np.cos(np.pi * (month - START) / MONTHS)
    asked = Changes(fact, since, month, until, *np.zeros((2, len(fact))), *fame)
    if edge is None:
        lead = asked.lead_anywhere.copy()
    else:
        lead = expected_leads(asked, np.array([START + edge]), memory, CHOSEN.fame_months)[:, 0]
    return replace(asked, new=lead + rng.normal(0, noise, len(lead)))


@pytest.mark.parametrize("memory", [3.0, float("inf")], ids=["updated", "at once"])
@pytest.mark.parametrize("edge", [8, 20, 29])
def test_an_edge_is_found_and_covered_whether_a_model_forgets_or_not(edge: int, memory: float) -> None:
    found = fact_edge(made(edge, memory))
    assert found is not None
    one, _ = found
    assert abs(one.month - START - edge) <= 1 and one.low <= START + edge <= one.high and one.is_known
    assert one.high - one.low <= 8 and not one.is_open


def test_intervals_cover_the_edge_as_often_as_they_say() -> None:
    found = [fact_edge(made(18, 10.0, noise=2.0, seed=seed)) for seed in range(10)]
    held = [one[0].low <= START + 18 <= one[0].high for one in found if one is not None]
    assert len(held) == 10 and sum(held) >= 9


def test_dates_dealt_out_anew_have_no_edge() -> None:
    known = made(18)
    rng = np.random.default_rng(0)
    found = [fact_edge(known.shuffled(rng)) for _ in range(10)]
    assert sum(one is not None and not one[0].is_known for one in found) >= 9


def test_fame_that_falls_over_time_is_no_edge() -> None:
    found = [fact_edge(made(None, trend=2.0, seed=seed)) for seed in range(4)]
    assert sum(one is not None and not one[0].is_known for one in found) >= 3
    known = fact_edge(made(20, trend=2.0))
    assert known is not None and abs(known[0].month - START - 20) <= 1, "and hides none"


def test_a_model_that_knows_all_changes_may_have_read_more() -> None:
    found = fact_edge(made(MONTHS + 5))
    assert found is not None and found[0].is_open and found[0].is_known


def test_the_same_numbers_twice_and_a_placebo() -> None:
    first, again = fact_edge(made(18)), fact_edge(made(18))
    assert first == again and first is not None
    assert first[1].unknown >= PLACEBOS // 2 and first[1].width > 0.3


def test_too_few_changes_or_facts_or_months_give_nothing() -> None:
    every = made(18)

    def of(kept: np.ndarray[tuple[int], np.dtype[np.bool_]]) -> Changes:
        return Changes(*(getattr(every, name)[kept] for name in every.__dataclass_fields__))

    assert fact_edge(of(np.arange(len(every)) < 4)) is None
    assert fact_edge(of(every.fact < 4)) is None
    assert fact_edge(of(every.month == every.month[0])) is None


def test_spans_follow_the_changes_of_a_fact() -> None:
    fact, month = np.array([0, 1, 0, 1, 0]), np.array([10, 50, 30, 40, 20])
    old, new = ["a", "q", "b", "p", "z"], ["b", "r", "c", "q", "y"]
    since, until = spans(fact, month, old, new)
    assert until.tolist() == [20, OPEN, OPEN, 50, 30]
    assert since[[0, 3]].tolist() == [0, 30], "the first value held as long as the median one: 10 months"
    assert since[[1, 2, 4]].tolist() == [40, 20, 10], "a value that no change began did, too"
    assert spans(fact, month, [*old[:4], "b"], [*new[:4], "c"])[0][4] == 10
    assert [month_text(month_number(one)) for one in ("202401", "2024-12")] == ["2024-01", "2024-12"]
    for wrong in ("2024", "2024-5", "2024-05-17", "2024-13"):
        with pytest.raises(ValueError, match="expected a month such as 2024-08"):
            month_number(wrong)


def test_an_interval_is_open_where_the_facts_end() -> None:
    closed, above, below = (FactEdge(30, low, high, 0.01, 10, 40) for low, high in ((25, 35), (25, 40), (10, 35)))
    assert [closed.holds(month) for month in (24, 25, 35, 36)] == [False, True, True, False]
    assert above.holds(99) and not above.holds(24) and below.holds(1) and not below.holds(36)


def test_resamples_are_as_sets_with_the_changes_repeated() -> None:
    changes, rng = made(18), np.random.default_rng(3)
    counts = rng.multinomial(60, np.full(60, 1 / 60), 2)[:, changes.fact].astype(float)
    edges, plain = candidates(changes), AgeScore((3.0, float("inf")), 0.03, 1e9)
    found = log_likelihoods(plain, changes, edges, counts)
    for weights, row in zip(counts, found):
        times = np.repeat(np.arange(len(changes)), weights.astype(int))
        x = np.stack([np.ones(len(times)), changes.lead_anywhere[times]], 1)
        best = np.full(len(edges), -np.inf)
        for memory in plain.memories:
            told = expected_leads(changes, edges, memory, 0.03)[times]
            for k in range(len(edges)):
                full = np.column_stack([x, told[:, k]])
                lead = changes.lead[times]
                slope = np.linalg.lstsq(full, lead, rcond=None)[0]
                rest = [((lead - one @ np.linalg.lstsq(one, lead, rcond=None)[0]) ** 2).sum() for one in (x, full)]
                gain = len(times) / 2 * np.log(rest[0] / rest[1]) if slope[2] > 0 else 0
                best[k] = max(best[k], gain)
        np.testing.assert_allclose(row, best, rtol=1e-6, atol=1e-6)


def test_bounds_draw_in_what_is_far_and_leave_the_rest() -> None:
    values = np.array([0.0, 1.0, -1.0, 0.5, 40.0])
    assert bounded(values, 3.0).tolist()[:4] == values.tolist()[:4] and bounded(values, 3.0)[4] < 5
    assert bounded(np.array([1.0, 1.0, 1.0, 9.0]), 3.0)[3] == 9, "more than half are equal: no deviation to go by"
