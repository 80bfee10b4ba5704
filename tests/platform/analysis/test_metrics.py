"""What a difference of log-losses is worth in perplexity."""

import math

import pytest

from ticlm.platform.analysis.metrics import worth


@pytest.mark.parametrize(
    ("nats", "told"),
    [
        (0.143, "perplexity 15\u00a0% higher"),
        (-0.143, "perplexity 13\u00a0% lower"),
        (0.01, "perplexity 1.0\u00a0% higher"),
        (3.0, "perplexity 1,909\u00a0% higher"),
        (0.0012, "perplexity 0.12\u00a0% higher"),
        (0.0002, ""),
        (math.nan, ""),
    ],
)
def test_nats_are_said_as_a_percentage_of_perplexity(nats: float, told: str) -> None:
    assert worth(nats) == told
