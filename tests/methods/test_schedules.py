"""Learning rates against values worked by hand (golden.md 3); each comment names what a row tells apart."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ticlm.core.periods import Calendar
from ticlm.methods.schedules import (
    AutoregressiveCosine,
    Constant,
    CyclicRsqrt,
    Infinite,
    Linear,
    LinearDecay,
    OneCycleLegacy,
    Rsqrt,
    Warmup,
    WarmupCosine,
    WarmupStableDecay,
)
from ticlm.methods.seams import RoundPosition

CYCLIC = WarmupCosine(max_rate=1e-4)
INITIAL = WarmupCosine(max_rate=3e-3, warmup_steps=5000)


def place(steps: int, index: int = 0) -> RoundPosition:
    return RoundPosition(index=index, steps=steps, steps_before=index * steps)


@pytest.mark.parametrize(
    ("schedule", "steps", "step", "rate"),
    [
        (CYCLIC, 1887, 0, 2.0e-6),  # not 0: the first step trains
        (CYCLIC, 1887, 24, 5.0e-5),
        (CYCLIC, 1887, 49, 1.0e-4),
        (CYCLIC, 1887, 50, 1.0e-4),
        (CYCLIC, 1887, 968, 6.502993e-5),
        (CYCLIC, 1887, 1886, 3.000005e-5),  # just above the end, which would be reached one step later
        (CYCLIC, 5663, 0, 2.0e-6),
        (CYCLIC, 5663, 50, 1.0e-4),
        (CYCLIC, 5663, 2856, 6.500979e-5),
        (CYCLIC, 5663, 5662, 3.000001e-5),
        (INITIAL, 213_312, 0, 6.0e-7),
        (INITIAL, 213_312, 4999, 3.0e-3),
        (INITIAL, 213_312, 109_156, 1.515e-3),
        (INITIAL, 213_312, 213_311, 3.0e-5),
    ],
)
def test_the_cosine_of_one_round(schedule: WarmupCosine, steps: int, step: int, rate: float) -> None:
    assert schedule.rate(step, place(steps)) == pytest.approx(rate, rel=1e-6)


def test_a_cyclic_cosine_is_the_same_in_every_round() -> None:
    assert [CYCLIC.rate(s, place(100, index=0)) for s in range(100)] == [
        CYCLIC.rate(s, place(100, index=50)) for s in range(100)
    ]


def test_the_mean_rate_of_a_round_is_that_of_the_paper() -> None:
    """Table 5: 6.47e-5 for a peak of 1e-4, 3.96e-5 for 5e-5."""
    for peak, mean in ((1e-4, 6.47e-5), (5e-5, 3.96e-5)):
        schedule = WarmupCosine(max_rate=peak)
        assert sum(schedule.rate(s, place(1887)) for s in range(1887)) / 1887 == pytest.approx(mean, rel=2e-3)


RSQRT = [  # golden.md 3; a peak of 1e-3, as the release's README has it, would give 2.1e-4 at step 1487
    (CyclicRsqrt(), 0, 49, 1e-4),
    (CyclicRsqrt(), 0, 51, 9.931033e-5),
    (CyclicRsqrt(), 0, 100, 7.949747e-5),
    (CyclicRsqrt(), 0, 200, 6.5e-5),
    (CyclicRsqrt(), 0, 800, 4.75e-5),
    (CyclicRsqrt(), 0, 1486, 4.284025e-5),
    (CyclicRsqrt(), 0, 1487, 4.283594e-5),
    (CyclicRsqrt(), 0, 1687, 3.641797e-5),
    (CyclicRsqrt(), 0, 1886, 3.003209e-5),
    (CyclicRsqrt(), 112, 800, 4.75e-5),  # anew in every round
    (Rsqrt(), 0, 49, 1e-4),
    (Rsqrt(), 0, 50, 1e-4),
    (Rsqrt(), 0, 1486, 4.284025e-5),
    (Rsqrt(), 0, 1487, 4.283594e-5),
    (Rsqrt(), 0, 1886, 3.003209e-5),
    (Rsqrt(), 1, 49, 4.124652e-5),
    (Rsqrt(), 1, 50, 4.124652e-5),
    (Rsqrt(), 1, 1486, 3.852265e-5),
    (Rsqrt(), 1, 1487, 3.852139e-5),
    (Rsqrt(), 1, 1886, 3.002130e-5),
    (Rsqrt(), 10, 49, 3.359851e-5),
    (Rsqrt(), 10, 1486, 3.346926e-5),
    (Rsqrt(), 10, 1487, 3.346917e-5),
    (Rsqrt(), 10, 1886, 3.000867e-5),
    (Rsqrt(), 112, 50, 3.107656e-5),
    (Rsqrt(), 112, 1487, 3.107292e-5),
    (Rsqrt(), 112, 1886, 3.000268e-5),
]


@pytest.mark.parametrize(("schedule", "index", "step", "rate"), RSQRT)
def test_the_inverse_square_root(schedule: CyclicRsqrt, index: int, step: int, rate: float) -> None:
    assert schedule.rate(step, place(1887, index)) == pytest.approx(rate, rel=1e-6)


def test_the_single_trajectory_warms_up_from_where_the_cooldown_ended() -> None:
    schedule, end = Rsqrt(), place(1887, 4)
    rates = [schedule.rate(s, end) for s in range(51)]
    assert schedule.rate(1886, place(1887, 3)) < rates[0] < rates[49] == pytest.approx(rates[50], rel=1e-12)
    assert all(b - a == pytest.approx(rates[1] - rates[0], rel=1e-6) for a, b in pairwise(rates[:50]))


def test_the_mean_rates_of_the_inverse_square_roots() -> None:
    for schedule, index, mean in ((CyclicRsqrt(), 0, 4.85e-5), (Rsqrt(), 56, 3.13e-5)):
        found = sum(schedule.rate(s, place(1887, index)) for s in range(1887)) / 1887
        assert found == pytest.approx(mean, rel=2e-3)


def test_a_line_and_a_constant_after_their_warm_up() -> None:
    line, flat = Linear(max_rate=1.0, end_rate=0.2, warmup_steps=4), Constant(max_rate=1.0, warmup_steps=4)
    warm = [0.25, 0.5, 0.75, 1.0]
    assert [line.rate(s, place(12)) for s in range(12)] == pytest.approx([*warm, *(1 - i / 10 for i in range(8))])
    assert [flat.rate(s, place(12)) for s in range(12)] == [*warm, *[1.0] * 8]


@pytest.mark.parametrize(("warmup", "cooldown"), [(50, 50), (99, 1), (1, 120)])
def test_a_round_too_short_for_its_cooldown_is_refused(warmup: int, cooldown: int) -> None:
    with pytest.raises(ValueError, match=f"100 steps of a round together, got {warmup} and {cooldown}"):
        CyclicRsqrt(warmup_steps=warmup, cooldown_steps=cooldown).check(place(100))
    CyclicRsqrt(warmup_steps=warmup, cooldown_steps=cooldown).check(place(200))


@given(st.floats(1e-6, 1.0), st.floats(0, 1.0), st.integers(0, 20), st.integers(1, 200), st.integers(0, 200))
def test_a_rate_rises_to_the_peak_then_never_rises_and_stays_between_its_ends(
    peak: float, part: float, warmup: int, after: int, index: int
) -> None:
    for schedule in (
        WarmupCosine(max_rate=peak, end_rate=peak * part, warmup_steps=warmup),
        AutoregressiveCosine(max_rate=peak, end_rate=peak * part, warmup_steps=warmup),
    ):
        here = place(warmup + after, index)
        rates = [schedule.rate(s, here) for s in range(here.steps)]
        rising, falling = rates[:warmup], rates[warmup:]
        assert rising == sorted(rising) and all(0 < rate <= schedule.peak(here) * (1 + 1e-12) for rate in rising)
        assert all(b <= a * (1 + 1e-12) for a, b in pairwise(falling))
        assert min(falling) >= schedule.end_rate * (1 - 1e-12) and falling[0] == pytest.approx(schedule.peak(here))


# autoregressive


PEAKS = {
    "201312": (3.000000e-4, 1.000000e-4, 3.000000e-3),  # counted from the initial month this would be 1.65e-4
    "201403": (1.650000e-4, 6.500000e-5, 1.515000e-3),
    "201404": (9.750000e-5, 4.750000e-5, 7.725000e-4),
    "201407": (6.954058e-5, 4.025126e-5, 4.649464e-4),
    "201409": (4.808657e-5, 3.468911e-5, 2.289523e-4),
    "201502": (3.546845e-5, 3.141775e-5, 9.015293e-5),
    "201604": (3.150784e-5, 3.039092e-5, 4.658622e-5),
    "201811": (3.025605e-5, 3.006638e-5, 3.281656e-5),
    "202407": (3.005217e-5, 3.001353e-5, 3.057387e-5),
}


@pytest.mark.parametrize(("column", "first"), [(0, 3e-4), (1, 1e-4), (2, 3e-3)])
@pytest.mark.parametrize("month", PEAKS)
def test_the_peaks_of_the_autoregressive_cosine_by_month(month: str, column: int, first: float) -> None:
    index = Calendar(only="tic-cc").timeline().index(month) - 1
    schedule = AutoregressiveCosine(max_rate=first)
    assert schedule.peak(place(1887, index)) == pytest.approx(PEAKS[month][column], rel=1e-6)
    assert schedule.peak(place(5663, index)) == schedule.peak(place(1887, index))


def test_a_round_under_the_autoregressive_cosine_starts_at_its_own_peak() -> None:
    schedule = AutoregressiveCosine()
    for index in (0, 1, 112):
        here = place(1887, index)
        assert schedule.rate(49, here) == schedule.rate(50, here) == schedule.peak(here)
        cosine = WarmupCosine(max_rate=schedule.peak(here))
        assert [schedule.rate(s, here) for s in (0, 968, 1886)] == [cosine.rate(s, here) for s in (0, 968, 1886)]


def test_the_autoregressive_cosine_needs_no_horizon() -> None:
    """A cosine over a known horizon of 113 rounds is 1.668766e-4 at its middle. The excess falls as 1/i squared."""
    schedule = AutoregressiveCosine()
    assert schedule.peak(place(1887, 56)) < 3.1e-5
    excess = [(schedule.peak(place(1887, i)) - 3e-5) * (i + 1) ** 2 for i in (500, 5000)]
    assert excess == pytest.approx([2.7e-4 * math.pi**2 / 4] * 2, rel=5e-3)


@pytest.mark.parametrize("schedule", [CYCLIC, AutoregressiveCosine()])
def test_a_warm_up_must_end_before_the_round(schedule: WarmupCosine) -> None:
    schedule.check(place(51))
    with pytest.raises(ValueError, match="warmup_steps must be below the 50 steps of a round, got 50"):
        schedule.check(place(50))


# of CKL


@pytest.mark.parametrize("steps", [100, 200, 1000, 2500, 25_000])
def test_a_linear_decay_is_a_table_of_shares_of_the_round(steps: int) -> None:
    schedule = LinearDecay()
    found = [schedule.rate(share * steps // 100, place(steps)) for share in (0, 5, 10, 55, 100)]
    assert found == [share * 1e-3 for share in (0, 0.5, 1, 0.75, 0.5)]
    assert schedule.rate(7, place(steps, 3)) == schedule.rate(7, place(steps, 0)), "it starts anew in every round"


def test_a_linear_decay_has_other_shares_too() -> None:
    flat, steep = LinearDecay(warmup_share=0, end_share=1), LinearDecay(warmup_share=0.5, end_share=0, max_rate=2.0)
    assert [flat.rate(s, place(3)) for s in range(3)] == [1e-3] * 3
    assert [steep.rate(s, place(8)) for s in range(8)] == [0, 0.5, 1, 1.5, 2, 1.5, 1, 0.5]


def test_a_round_without_a_step_after_the_warm_up_is_refused() -> None:
    LinearDecay().check(place(2))
    LinearDecay(warmup_share=0).check(place(1))
    with pytest.raises(ValueError, match=r"got 0.1 of a round of 1 steps"):
        LinearDecay().check(place(1))
    with pytest.raises(ValueError, match=r"got 0.95 of a round of 10 steps"):
        LinearDecay(warmup_share=0.95).check(place(10))


@pytest.mark.parametrize(("stretch", "steps"), [(1, 40), (2, 40), (2, 97), (2.5, 33), (3, 250), (10, 11)])
def test_the_one_cycle_is_torchs_over_a_longer_horizon(stretch: float, steps: int) -> None:
    import torch

    optimizer = torch.optim.SGD([torch.zeros(1)], lr=1.0)
    theirs = torch.optim.lr_scheduler.OneCycleLR(
        optimizer, 1e-3, total_steps=round(stretch * steps), pct_start=0.1, anneal_strategy="linear",
        cycle_momentum=False, div_factor=25, final_div_factor=1e4,
    )  # fmt: skip
    schedule = OneCycleLegacy(stretch=stretch)
    schedule.check(place(steps))
    for step in range(steps):
        assert schedule.rate(step, place(steps)) == pytest.approx(theirs.get_last_lr()[0], rel=1e-12)
        optimizer.step()
        theirs.step()


@pytest.mark.parametrize(
    ("stretch", "warmup", "end"),
    [(1, 0.1, 4e-9), (2, 0.2, 5.556e-4), (3, 0.3, 7.407e-4)],
    ids=["gpt2", "full", "small"],
)
def test_the_released_settings_of_ckl_end_far_above_their_papers(stretch: float, warmup: float, end: float) -> None:
    schedule, steps = OneCycleLegacy(stretch=stretch), 25_000
    rates = [schedule.rate(s, place(steps)) for s in range(steps)]
    assert rates[0] == pytest.approx(4e-5) and rates.index(max(rates)) + 1 == warmup * steps
    assert max(rates) == pytest.approx(1e-3) and rates[-1] == pytest.approx(end, rel=1e-4)


@pytest.mark.parametrize(("stretch", "steps", "warmup"), [(1, 10, 1), (2, 5, 1), (1.5, 3, 0.4)])
def test_a_round_too_short_for_the_one_cycle_is_refused(stretch: float, steps: int, warmup: float) -> None:
    with pytest.raises(ValueError, match=f"a stretch of {stretch} makes it {warmup} of {steps} steps"):
        OneCycleLegacy(stretch=stretch).check(place(steps))
    OneCycleLegacy(stretch=stretch).check(place(steps + 10))


def test_a_schedule_with_a_warm_up_must_say_what_follows_it() -> None:
    class Forgotten(Warmup):
        pass

    with pytest.raises(TypeError, match="after_warmup"):
        Forgotten()  # type: ignore[abstract]


@pytest.mark.parametrize(
    ("decay", "falling"),
    [
        ("linear", [1.0, 0.8, 0.6, 0.4]),
        ("cosine", [1.0, 0.882843, 0.6, 0.317157]),
        ("sqrt", [1.0, 0.6, 0.434315, 0.307180]),
    ],
)
def test_a_stable_rate_decays_over_its_share_at_the_end(decay: Any, falling: list[float]) -> None:
    """From 1 to 0.2 over the last 4 of 8 steps: 0.2 + 0.8 D(i / 4)."""
    schedule = WarmupStableDecay(max_rate=1.0, end_rate=0.2, warmup_steps=2, decay_share=0.5, decay=decay)
    found = [schedule.rate(s, place(8)) for s in range(8)]
    assert found == pytest.approx([0.5, 1.0, 1.0, 1.0, *falling], abs=1e-6)


def test_a_decay_of_the_whole_round_begins_where_the_warm_up_ends() -> None:
    schedule = WarmupStableDecay(max_rate=1.0, end_rate=0.0, warmup_steps=1, decay_share=1.0, decay="linear")
    assert [schedule.rate(s, place(5)) for s in range(5)] == pytest.approx([1.0, 1.0, 0.75, 0.5, 0.25])


def test_the_infinite_trajectory_goes_on_over_rounds_and_each_later_one_rises_to_it() -> None:
    """Two steps up to 1, four on a cosine down to 0.5, then 0.5 for ever; rounds of 4 steps."""
    schedule = Infinite(max_rate=1.0, constant_rate=0.5, warmup_steps=2, cooldown_steps=4, rewarm_steps=2)
    rates = [[schedule.rate(s, place(4, i)) for s in range(4)] for i in range(3)]
    first, second = [0.5, 1.0, 1.0, 0.926777], [0.75 / 2, 0.573223, 0.5, 0.5]
    assert rates[0] == pytest.approx(first, abs=1e-6)
    assert rates[1] == pytest.approx(second, abs=1e-6)
    assert rates[2] == [0.25, 0.5, 0.5, 0.5]


def test_an_infinite_schedule_that_does_not_fit_is_refused() -> None:
    with pytest.raises(ValueError, match=r"constant_rate must be at most max_rate, got 0\.2 and 0\.1"):
        Infinite(max_rate=0.1, constant_rate=0.2)
    with pytest.raises(ValueError, match="rewarm_steps must be below the 4 steps of a round, got 4"):
        Infinite(rewarm_steps=4).check(place(4, 1))


RATES, SHORT = st.floats(1e-300, 1e3), st.integers(1, 9)
WARMED = {"max_rate": RATES, "warmup_steps": SHORT}
ENDING = {**WARMED, "end_rate": st.floats(0, 1e3)}
COOLED = {**ENDING, "cooldown_steps": st.integers(0, 9)}
SHARES = {"decay_share": st.floats(1e-9, 1), "decay": st.sampled_from(["linear", "cosine", "sqrt"])}
LATER = {"constant_rate": st.just(1e-300), "cooldown_steps": st.integers(0, 99), "rewarm_steps": st.integers(0, 9)}
SCHEDULES: st.SearchStrategy[Any] = st.one_of(
    st.builds(Constant, **WARMED),
    st.builds(Linear, **ENDING),
    st.builds(WarmupCosine, **ENDING),
    st.builds(AutoregressiveCosine, **ENDING),
    st.builds(CyclicRsqrt, **COOLED),
    st.builds(Rsqrt, **COOLED),
    st.builds(WarmupStableDecay, **WARMED, **SHARES),
    st.builds(Infinite, **WARMED, **LATER),
    st.builds(LinearDecay, warmup_share=st.floats(0, 1, exclude_max=True), end_share=st.floats(0, 1)),
    st.builds(OneCycleLegacy, stretch=st.floats(1, 10), max_rate=RATES),
)


@given(SCHEDULES, st.integers(1, 60), st.integers(0, 5))
def test_a_packaged_schedule_that_fits_a_round_gives_only_rates(schedule: Any, steps: int, index: int) -> None:
    """So plans look at the rates of a user's own classes alone."""
    try:
        schedule.check(place(steps, index))
    except ValueError:
        return
    rates = [schedule.rate(step, place(steps, index)) for step in range(steps)]
    assert all(math.isfinite(rate) and rate >= 0 for rate in rates), rates
