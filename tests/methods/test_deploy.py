"""The weights of averages of checkpoints, against numbers worked out by hand and against what they stand for."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ticlm.methods.deploy import Anchor, Averaging, DecayShaped, ExponentialAverage, MeanOfLast, StepAverage

KEYS = tuple("abcdefghij")
ANY = st.one_of(
    st.floats(0.01, 0.99).map(lambda beta: ExponentialAverage(beta=beta)),
    st.integers(2, 8).map(lambda last: MeanOfLast(last=last)),
    st.floats(0.01, 0.99).map(lambda weight: Anchor(weight=weight)),
    st.builds(DecayShaped, last=st.integers(2, 8), shape=st.sampled_from(["linear", "cosine", "sqrt"])),
)


def weights(deploy: Averaging, trunk: int) -> Mapping[str, float]:
    """The weight of each checkpoint of a trunk in what is deployed last."""
    deployed: dict[str, dict[str, float]] = {}
    previous: str | None = None
    for n in range(1, trunk + 1):
        found: dict[str, float] = {}
        for key, weight in deploy.parts(KEYS[:n], previous):
            for checkpoint, share in deployed.get(key, {key: 1.0}).items():
                found[checkpoint] = found.get(checkpoint, 0.0) + weight * share
        previous = f"average of {n}"
        deployed[previous] = found
    return deployed[f"average of {trunk}"]


@pytest.mark.parametrize(
    ("deploy", "expected"),
    [
        (ExponentialAverage(beta=0.5), {"a": 0.125, "b": 0.125, "c": 0.25, "d": 0.5}),
        (ExponentialAverage(beta=0.9), {"a": 0.729, "b": 0.081, "c": 0.09, "d": 0.1}),
        (MeanOfLast(last=3), {"b": 1 / 3, "c": 1 / 3, "d": 1 / 3}),
        (MeanOfLast(last=8), {"a": 0.25, "b": 0.25, "c": 0.25, "d": 0.25}),
        (Anchor(weight=0.3), {"a": 0.3, "d": 0.7}),
        # 1 - sqrt(i / 4): 1, .5, .292893, .133975, 0
        (DecayShaped(last=4, shape="sqrt"), {"a": 0.5, "b": 0.207107, "c": 0.158919, "d": 0.133975}),
        # (1 + cos(pi i / 4)) / 2: 1, .853553, .5, .146447, 0
        (DecayShaped(last=4, shape="cosine"), {"a": 0.146447, "b": 0.353553, "c": 0.353553, "d": 0.146447}),
    ],
)
def test_the_weights_are_those_worked_out_by_hand(deploy: Averaging, expected: Mapping[str, float]) -> None:
    assert weights(deploy, 4) == pytest.approx(expected, abs=1e-6)


@given(ANY, st.integers(1, 10))
def test_weights_are_positive_and_sum_to_one(deploy: Averaging, trunk: int) -> None:
    found = weights(deploy, trunk)
    assert sum(found.values()) == pytest.approx(1, abs=1e-12) and min(found.values()) > 0
    assert KEYS[trunk - 1] in found and len(found) <= trunk


@given(st.floats(0.01, 0.99), st.integers(1, 10))
def test_the_recursion_of_ema_is_its_closed_form(beta: float, trunk: int) -> None:
    ages = {KEYS[trunk - 1 - age]: (1 - beta) * beta**age for age in range(trunk - 1)}
    assert weights(ExponentialAverage(beta=beta), trunk) == pytest.approx(ages | {"a": beta ** (trunk - 1)}, abs=1e-12)


@given(st.integers(2, 8), st.integers(1, 10))
def test_a_linear_decay_is_the_plain_mean(last: int, trunk: int) -> None:
    linear = weights(DecayShaped(last=last, shape="linear"), trunk)
    assert linear == pytest.approx(weights(MeanOfLast(last=last), trunk), abs=1e-12)


@pytest.mark.parametrize("shape", ["linear", "cosine", "sqrt"])
def test_the_average_is_the_sum_of_updates_that_a_decaying_rate_would_have_made(shape: str) -> None:
    """Checkpoint i is the sum of updates 0 … i; the decay gives update j the share D(j / n) of itself."""
    updates = [3.0, -1.0, 0.5, 4.0, -2.5]
    deploy = DecayShaped.model_validate({"last": 5, "shape": shape})
    checkpoints = {key: sum(updates[: i + 1]) for i, key in enumerate(KEYS[:5])}
    averaged = sum(checkpoints[key] * weight for key, weight in weights(deploy, 5).items())
    assert averaged == pytest.approx(sum(update * deploy.kept(j / 5) for j, update in enumerate(updates)), abs=1e-12)


@pytest.mark.parametrize("bad", [0.0, 1.0, -0.1, 1.5])
def test_beta_lies_between_zero_and_one(bad: float) -> None:
    with pytest.raises(ValueError, match="beta"):
        ExponentialAverage(beta=bad)


def test_the_weights_inside_a_round_are_those_worked_out_by_hand() -> None:
    half = StepAverage(every_steps=2, beta=0.5)
    assert half.parts(5) == ((2, 0.125 / 1.625), (4, 0.5 / 1.625), (5, 1 / 1.625)), "the last stretch is shorter"
    assert StepAverage(every_steps=2, beta=1).parts(6) == ((2, 1 / 3), (4, 1 / 3), (6, 1 / 3))
    assert StepAverage(every_steps=6, beta=0.9).parts(6) == ((6, 1.0),)


@given(st.integers(1, 9), st.floats(0.01, 1), st.integers(1, 200))
def test_weights_inside_a_round_sum_to_one_and_end_with_it(every: int, beta: float, steps: int) -> None:
    found = StepAverage(every_steps=every, beta=beta).parts(steps)
    assert sum(weight for _, weight in found) == pytest.approx(1, abs=1e-12)
    at = [step for step, _ in found]
    assert at == sorted(set(at)) and at[-1] == steps and all(step % every == 0 for step in at[:-1])
    shares = [weight for _, weight in found]
    assert shares == sorted(shares) and shares[0] > shares[-1] * 2.0**-25, "none that no float32 would feel"
