"""The colours of a report: of its methods, of its colour scales, and of a light and a dark ground."""

from __future__ import annotations

import colorsys
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain

from ticlm.platform.results.study_result import MethodResult

HUES = {"optimizer": 0.62, "replay": 0.0, "regularization": 0.42}
"""Blue, red and green, as in Figure 1 of TiC-LM."""
MORE_HUES = (0.77, 0.09, 0.50, 0.90, 0.16)
BRIGHTEST = 0.3
"""Highest luminance of a line: its contrast with white is 3 or more."""
GREY = "#80858d"
FROZEN = "#86623c"
"""The model that is never updated: brown and dotted, beside the grey of Oracles."""
FROZEN_DASHES: tuple[str | None, ...] = ("2 2", "2 4", "2 6")
APART = ("#2f6fb5", "#d2622a", "#2f9e6e", "#8a5cc2", "#b8922a", "#c2456f", "#3d9db0", "#7a7f87")
"""Colours for lines that belong to no single method."""
DASHES: tuple[str | None, ...] = (None, "8 4", "2 3", "10 3 2 3", "5 2", "12 3 2 3 2 3", "1 4")
MARKERS = ("circle", "square", "up", "diamond", "cross", "down", "bar", "star")
"""Dashes and markers of methods; seven and eight have no common divisor, so 56 methods differ."""
ORACLE_DASHES: tuple[str | None, ...] = ("4 3", "1 2", "12 4", "4 2 1 2 1 2")

SEQUENTIAL = ("#f4f6e6", "#b9ddb9", "#62b3a9", "#2f7f9e", "#2b4b84", "#241b4b")
THEMES: dict[str, dict[str, object]] = {
    "light": {
        "dark": False,
        "card": "#ffffff",
        "ink": "#1c1e22",
        "soft": "#62666e",
        "line": "#e3e0d9",
        "near": "#8a2be2",
        "missing": "#eceae5",
        "hatch": "#8b9099",
        "diverging": ("#0b3c6f", "#2f79b5", "#93c3e3", "#f7f6f3", "#f3ab8c", "#cf4b3b", "#7a0b1e"),
        "worse": ("#f7f6f3", "#fbdf9d", "#f3a06c", "#cf4b3b", "#7a0b1e", "#35040d"),
        "better": ("#062243", "#0b3c6f", "#2f79b5", "#6cb6c9", "#c4e6dc", "#f7f6f3"),
        "lines": ("#d87d16", "#c42b6e", "#9349aa", "#7f0aff", "#001e76", "#000000"),
        "sequential": SEQUENTIAL,
    },
    "dark": {
        "dark": True,
        "card": "#1b1f25",
        "ink": "#e9e6e0",
        "soft": "#a0a5ad",
        "line": "#30353d",
        "near": "#cf9bff",
        "missing": "#262b32",
        "hatch": "#7b818b",
        "diverging": ("#a9d8fb", "#4f9fdc", "#28527c", "#22262d", "#7d3a31", "#dd6350", "#ffb39f"),
        "worse": ("#22262d", "#5a2f45", "#97404a", "#dd6350", "#f5a46c", "#ffe6a8"),
        "better": ("#e2f3ff", "#a9d8fb", "#4f9fdc", "#2f6f96", "#28485c", "#22262d"),
        "lines": ("#6f5fe8", "#b570bb", "#e1578b", "#af8d5f", "#ffe007", "#d5ff75"),
        "sequential": SEQUENTIAL[::-1],
    },
}
"""The colours of a chart's ground (`card`), text (`ink`, `soft`), grid lines, the line of the evaluation nearest in
time (purple as in Figure 4 of TiC-LM), missing cells with their hatching, and the stops of the two colour scales.
`diverging` goes from below zero over zero to above zero; `worse` and `better` are its halves with more steps, for
matrices on one side of zero. `lines` are those of checkpoints over time, the newest farthest from
the ground: a search found stops of which eight steps stay 17 apart in L*a*b* for all kinds of colour vision, where
eight blues were 4 apart."""


@dataclass(frozen=True)
class Style:
    """How the lines and points of one method look: no two methods of a page share the dashes and the marker."""

    color: str
    dash: str | None
    marker: str


def styles(studies: Sequence[Sequence[MethodResult]]) -> list[list[Style]]:
    """Return a style for each method of each study on one page.

    Methods of one group have shades of one hue; the same method of two studies has one colour, with other dashes and
    another marker. Oracles are grey; models that are never updated are brown, dotted, with stars.
    """
    every = list(chain.from_iterable(studies))
    distinct = {method.name: method for method in every}
    shades = dict(zip(distinct, colors(list(distinct.values()))))
    place, oracles, frozen, found = 0, 0, 0, []
    for methods in studies:
        own = []
        for method in methods:
            if method.frozen_of:
                dash, marker = FROZEN_DASHES[frozen % len(FROZEN_DASHES)], MARKERS[-1 - frozen % len(MARKERS)]
                frozen += 1
            elif method.is_oracle:
                dash, marker = ORACLE_DASHES[oracles % len(ORACLE_DASHES)], MARKERS[(3 + oracles) % len(MARKERS)]
                oracles += 1
            else:
                dash, marker = DASHES[place % len(DASHES)], MARKERS[place % len(MARKERS)]
                place += 1
            own.append(Style(shades[method.name], dash, marker))
        found.append(own)
    return found


def colors(methods: Sequence[MethodResult]) -> list[str]:
    """Return one colour for each method: a hue for each group, and a shade of it for each method. Oracles are
    grey, models that are never updated are brown."""
    groups = list(dict.fromkeys(m.group for m in methods if m.is_run))
    spare = [group for group in groups if group not in HUES]
    hues = HUES | {group: MORE_HUES[i % len(MORE_HUES)] for i, group in enumerate(spare)}
    sizes = {group: sum(m.group == group and m.is_run for m in methods) for group in groups}
    used = dict.fromkeys(groups, 0)
    chosen = []
    for method in methods:
        if not method.is_run:
            chosen.append(FROZEN if method.frozen_of else GREY)
            continue
        chosen.append(_shade(hues[method.group], used[method.group], sizes[method.group]))
        used[method.group] += 1
    return chosen


def _shade(hue: float, index: int, count: int) -> str:
    at = index / (count - 1) if count > 1 else 0.35
    lightness = 0.25 + 0.37 * at
    while True:
        parts = colorsys.hls_to_rgb((hue + 0.13 * (at - 0.35)) % 1, lightness, 0.85)
        if _luminance(parts) <= BRIGHTEST:
            return "#" + "".join(f"{round(255 * part):02x}" for part in parts)
        lightness -= 0.01


def _luminance(parts: Sequence[float]) -> float:
    """Return the relative luminance of a colour in sRGB (WCAG 2.2)."""
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return sum(weight * part for weight, part in zip((0.2126, 0.7152, 0.0722), linear))
