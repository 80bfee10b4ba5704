"""Numbers of a model's configuration that nobody can build a model of, or train one with."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

LAYERS = re.compile(r"(^|_)layers?$")
NO_COUNT = ("max_window_layers",)
"""Keys with such a name that count no layers: Qwen2's default is 28, however few layers there are."""
MOST_LAYERS = 1000
"""The deepest transformer that was published has as many (DeepNet, arXiv 2203.00555). 1,000 take 5 to 20 s to build."""
MOST = {"num_labels": 100_000, "num_experts": 10_000, "num_local_experts": 10_000, "n_routed_experts": 10_000}
"""What transformers lists, or makes a module for, one by one."""
DROPOUT = re.compile(r"(^|_)(dropout|pdrop)(_|$)")


def check(config: Mapping[str, Any]) -> None:
    """Raise ValueError for more layers, labels or experts than can be built, for NaN, and for a dropout that is no
    share of values, or that leaves none."""
    for key, value in _numbers(config):
        name = key.rpartition(".")[2]
        if value != value:
            raise ValueError(f"{key} is NaN, which is no number")
        most = MOST_LAYERS if counts_layers(name) else MOST.get(name)
        if most is not None and not 0 <= value <= most:
            raise ValueError(f"{key} must be from 0 to {most:,}, got {shown(value)}")
        if DROPOUT.search(name) and not 0 <= value < 1:
            raise ValueError(f"{key} must be at least 0 and below 1, got {shown(value)}")


def check_layers(config: Mapping[str, Any], tensors: int) -> None:
    """Raise ValueError if a configuration has more layers than the weights beside it are tensors."""
    for key, value in _numbers(config):
        if counts_layers(key.rpartition(".")[2]) and value > tensors:
            raise ValueError(
                f"{key} is {shown(value)}, but the weights there are only {tensors:,} tensors; this is not the "
                "config.json of these weights"
            )


def counts_layers(name: str) -> bool:
    return LAYERS.search(name) is not None and name not in NO_COUNT


def shown(value: float) -> str:
    """Return a number for an error; Python writes no whole number of more than 4,300 digits."""
    return f"{value:,}" if abs(value) < 10**30 else "a number of more than 30 digits"


def _numbers(config: Mapping[str, Any], above: str = "") -> Iterator[tuple[str, int | float]]:
    """Yield the numbers of a configuration and of those inside it, by their keys joined with dots."""
    for key, value in config.items():
        if isinstance(value, Mapping):
            yield from _numbers(value, f"{above}{key}.")
        elif isinstance(value, int | float) and not isinstance(value, bool):
            yield f"{above}{key}", value
