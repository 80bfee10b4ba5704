"""Methods of one page can be told apart, also without colours."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

import pytest
from eyes import apart, lab
from reports import METHODS as PAPER
from reports import tic_lm

from ticlm.methods.catalog import METHODS as CATALOG
from ticlm.methods.method import OracleSeries
from ticlm.platform.display.palette import THEMES, Style, _luminance, styles
from ticlm.platform.results.study_result import MethodResult

ALIKE = 15
"""Distance in L*a*b* below which thin lines are taken for each other."""


BEYOND = (
    *("wsd", "trunk-leaf", "infinite", "muon", "mer", "replay-self", "replay-adaptive", "replay-ado", "replay-spaced"),
    *("replay-chosen-unlike", "replay-chosen-novelty", "replay-chosen-loss", "replay-chosen-excess"),
    *("replay-half+ema", "replay-half+mean", "replay-half+wsm", "replay-half+anchor", "replay-half+time"),
)


def catalogue() -> list[MethodResult]:
    """The methods of the catalogue, without those of CKL's Table 2 and those beyond the papers, which are studies of
    their own."""
    rows = [method for method in CATALOG if not method.name.startswith("ckl-") and method.name not in BEYOND]
    return [MethodResult(m.name, m.group, (1,), isinstance(m, OracleSeries)) for m in rows]


def toned(style: Style, dark: bool) -> str:
    """The colour as it is drawn: `tone` of svg.js makes it lighter on a dark ground, to a contrast of 2.7 or more."""
    parts = [int(style.color[i : i + 2], 16) for i in (1, 3, 5)]
    for share in range(18, 100, 2):
        lighter = [part + (255 - part) * share / 100 * dark for part in parts]
        if not dark or _contrast_with_dark(lighter) >= 2.7:
            break
    return "#" + "".join(f"{round(part):02x}" for part in lighter)


def _contrast_with_dark(parts: Sequence[float]) -> float:
    card = str(THEMES["dark"]["card"])
    ground = _luminance([int(card[i : i + 2], 16) / 255 for i in (1, 3, 5)])
    return (_luminance([part / 255 for part in parts]) + 0.05) / (ground + 0.05)


def test_the_distance_of_colours_is_that_of_cie76() -> None:
    assert lab("#ffffff") == pytest.approx([100, 0, 0], abs=0.02)
    assert lab("#ff0000") == pytest.approx([53.24, 80.09, 67.20], abs=0.1)
    assert apart("#d00000", "#006000") < 30 < apart("#0000d0", "#c0c000")  # red and green are alike to some


@pytest.mark.parametrize("dark", [False, True])
def test_methods_that_look_alike_differ_in_dashes_or_marker(dark: bool) -> None:
    (found,) = styles([catalogue()])
    close = [(a, b) for a, b in combinations(found, 2) if apart(toned(a, dark), toned(b, dark)) < ALIKE]
    assert len(close) > 20  # shades of one hue do not suffice
    assert all((a.dash, a.marker) != (b.dash, b.marker) for a, b in close)
    both = [(a, b) for a, b in close if a.dash != b.dash and a.marker != b.marker]
    assert len(both) >= 0.9 * len(close)


@pytest.mark.parametrize("dark", [False, True])
def test_methods_of_the_papers_table_that_look_alike_differ_in_both(dark: bool) -> None:
    (found,) = styles([tic_lm(len(PAPER)).methods])
    for a, b in combinations(found, 2):
        if apart(toned(a, dark), toned(b, dark)) < ALIKE:
            assert a.dash != b.dash and a.marker != b.marker, (a, b)


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_eight_checkpoints_over_time_can_be_told_apart(theme: str) -> None:
    stops: list[str] = list(THEMES[theme]["lines"])  # type: ignore[call-overload]
    shades = []
    for i in range(8):  # as `ramp` of svg.js
        place = i / 7 * (len(stops) - 1)
        low = min(int(place), len(stops) - 2)
        pairs = [[int(one[at : at + 2], 16) for at in (1, 3, 5)] for one in stops[low : low + 2]]
        shades.append("#" + "".join(f"{round(a + (b - a) * (place - low)):02x}" for a, b in zip(*pairs)))
    assert min(apart(a, b) for a, b in combinations(shades, 2)) >= ALIKE


def test_no_two_methods_of_a_page_look_the_same() -> None:
    two = styles([tic_lm().methods, tic_lm(name="again").methods])
    every = [style for own in two for style in own]
    assert len(set(every)) == len(every) == 24
    assert [one.color for one in two[0]] == [one.color for one in two[1]]  # one method, one colour
    (whole,) = styles([catalogue()])
    assert len(set(whole)) == len(whole)
