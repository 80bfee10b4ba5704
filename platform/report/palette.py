"""The colours of a report, the same in its page and in its figures."""

from __future__ import annotations

import colorsys
from collections.abc import Sequence

from ticlm.platform.analysis.results import MethodResult

HUES = {"optimizer": 0.59, "replay": 0.0, "regularization": 0.39}
"""Blue, red and green, as in Figure 1 of TiC-LM."""
MORE_HUES = (0.77, 0.09, 0.50, 0.90, 0.16)
GREY = "#80858d"
APART = ("#2f6fb5", "#d2622a", "#2f9e6e", "#8a5cc2", "#b8922a", "#c2456f", "#3d9db0", "#7a7f87")
"""Colours for lines that belong to no single method."""

NEAREST = "#8a2be2"
"""The line of the evaluation nearest in time to each checkpoint, purple as in Figure 4 of TiC-LM."""

DIVERGING = ("#0b3c6f", "#2f79b5", "#93c3e3", "#f7f6f3", "#f3ab8c", "#cf4b3b", "#7a0b1e")
"""Below zero, zero, above zero, on a light ground."""
DIVERGING_DARK = ("#a9d8fb", "#4f9fdc", "#28527c", "#22262d", "#7d3a31", "#dd6350", "#ffb39f")
SEQUENTIAL = ("#f4f6e6", "#b9ddb9", "#62b3a9", "#2f7f9e", "#2b4b84", "#241b4b")
SEQUENTIAL_DARK = tuple(reversed(SEQUENTIAL))


def colors(methods: Sequence[MethodResult]) -> list[str]:
    """A colour for each method: one hue per group, a shade of it per method; Oracles are grey."""
    groups = list(dict.fromkeys(m.group for m in methods if not m.is_oracle))
    spare = [group for group in groups if group not in HUES]
    hues = HUES | {group: MORE_HUES[i % len(MORE_HUES)] for i, group in enumerate(spare)}
    sizes = {group: sum(m.group == group and not m.is_oracle for m in methods) for group in groups}
    used = dict.fromkeys(groups, 0)
    found = []
    for method in methods:
        if method.is_oracle:
            found.append(GREY)
            continue
        found.append(_shade(hues[method.group], used[method.group], sizes[method.group]))
        used[method.group] += 1
    return found


def blend(stops: Sequence[str], at: float) -> str:
    """The colour at `at` (0 to 1) on a scale of evenly spaced stops."""
    place = at * (len(stops) - 1)
    low = min(int(place), len(stops) - 2)
    pairs = zip(_channels(stops[low]), _channels(stops[low + 1]))
    return "#" + "".join(f"{round(a + (b - a) * (place - low)):02x}" for a, b in pairs)


def _channels(color: str) -> tuple[int, int, int]:
    return int(color[1:3], 16), int(color[3:5], 16), int(color[5:7], 16)


def _shade(hue: float, index: int, count: int) -> str:
    at = index / (count - 1) if count > 1 else 0.35
    red, green, blue = colorsys.hls_to_rgb((hue + 0.13 * (at - 0.35)) % 1, 0.36 + 0.28 * at, 0.68)
    return "#" + "".join(f"{round(255 * part):02x}" for part in (red, green, blue))
