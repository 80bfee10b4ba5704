"""Charts as values: the page's script draws them in a browser, and the same script draws them as SVG and PNG files."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

from ticlm.core.errors import InputError
from ticlm.platform.display import palette
from ticlm.platform.display.view_data import rounded

Format = Literal["signed", "plus", "count", "share"]
"""How numbers of an axis are written: with decimals that tell its levels apart, so and with a sign above 0, as 1.2M, or
in percent."""
Kind = Literal["line", "bar", "points", "heat"]
StyleOf = Callable[[str, str], palette.Style | None]
"""Returns the style of a method of a study, by the names of both; None if there is no such method."""


@dataclass(frozen=True)
class Axis:
    """An axis of a chart. `whole`: it has no fractions; `zero`: it begins at 0; `line`: a value with a dashed line."""

    label: str = ""
    format: Format = "signed"
    log: bool = False
    whole: bool = False
    zero: bool = False
    line: float | None = None


@dataclass(frozen=True)
class Series:
    """The numbers of one line, one part of each bar, the points of one colour, or one row of a heat map."""

    name: str
    y: Sequence[float | None]
    """float[points]; None where a value is known to be missing, which leaves a gap."""
    x: Sequence[float] = ()
    """float[points]; empty where the chart has `labels`, one for each point."""
    method: str = ""
    """The method of the chart's study whose colour, dashes and marker it has; it needs no `color` then."""
    color: str = ""
    """`#rrggbb`; empty: that of its method, else the next one of the palette."""
    title: str = ""
    """What a tooltip and the legend say of it, where the name is too short."""
    tips: Sequence[str] = ()
    """What a tooltip says of each point; empty: its values by the names of the axes."""
    hollow: Sequence[bool] = ()
    """Which points are hollow, such as means of few cells; empty: none."""
    low: Sequence[float | None] = ()
    high: Sequence[float | None] = ()
    """Ends of an interval of each point, which a line is drawn with as a band; empty: none."""


@dataclass(frozen=True)
class Chart:
    """One chart. Its numbers are in the units in which they are shown, so shares are in percent.

    Raises InputError in one line if its series do not fit it.
    """

    title: str
    kind: Kind
    series: tuple[Series, ...]
    labels: tuple[str, ...] = ()
    """Names of the places along x, such as periods; empty: x is an axis of numbers. Bars and heat maps need them."""
    x: Axis = Axis()
    y: Axis = Axis()
    stacked: bool = False
    """Whether the bars of a label stand on each other; else they stand side by side."""
    study: str = ""
    """The study that it is about; empty: all of them."""
    task: str = ""
    """The evaluation (`name@version`) that it is about; the page shows it while that one is chosen. Empty: always."""
    figure: tuple[str, ...] = ()
    """Parts of its file's name. Charts with the same ones share a file; empty: its section and its title."""
    heading: str = ""
    """What stands above the charts of its file; empty: its title."""

    def __post_init__(self) -> None:
        if self.kind not in get_args(Kind):
            raise InputError(f"chart {self.title}: no kind {self.kind!r}; there are {', '.join(get_args(Kind))}")
        if isinstance(self.series, Series) or not self.series:
            raise InputError(f"chart {self.title}: series must be a tuple of at least one Series")
        if not self.labels and self.kind in ("bar", "heat"):
            raise InputError(f"chart {self.title}: {self.kind} needs labels, a name for each place along x")
        for one in self.series:
            where = f"chart {self.title}: series {one.name}"
            places = len(self.labels or one.x)
            if self.kind == "bar" and any(value is not None and value < 0 for value in one.y):
                raise InputError(f"{where} has a value below 0, which no bar shows; draw a line")
            if len(one.y) != places:
                raise InputError(f"{where} has {len(one.y)} values for {places} {'labels' if self.labels else 'x'}")
            ends = (("low ends", one.low), ("high ends", one.high))
            for what, each in (("tips", one.tips), ("hollow", one.hollow), *ends):
                if each and len(each) != len(one.y):
                    raise InputError(f"{where} has {len(each)} {what} for {len(one.y)} values")
            if any(value is not None and math.isinf(value) for value in (*one.y, *one.x)):
                raise InputError(f"{where} has an infinite value, which has no place on an axis")

    def faults(self) -> Iterator[str]:
        """Yield a line for each series with values that are not a number (NaN), which are drawn as gaps."""
        for one in self.series:
            if lost := sum(value is not None and math.isnan(value) for value in (*one.y, *one.x)):
                yield f"chart {self.title}: {lost} of {len(one.y)} values of {one.name} are not a number"

    def payload(self, style_of: StyleOf, section: str) -> dict[str, Any]:
        """Return the chart as JSON for the scripts of web/. `section` is the id of the section that it stands in."""
        return {
            "title": self.title,
            "kind": self.kind,
            "labels": self.labels,
            "x": vars(self.x),
            "y": vars(self.y),
            "stacked": self.stacked,
            "study": self.study,
            "task": self.task,
            "figure": self.figure or (section, self.study, self.title),
            "heading": self.heading,
            "series": [self._series(one, place, style_of) for place, one in enumerate(self.series)],
        }

    def _series(self, one: Series, place: int, style_of: StyleOf) -> dict[str, Any]:
        own = style_of(self.study, one.method) if one.method else None
        if one.method and own is None and not one.color:
            where = f"study {self.study}" if self.study else "a study, which the chart must name"
            raise InputError(f"chart {self.title}: series {one.name}: {one.method} is no method of {where}")
        style = own or palette.Style(color=palette.APART[place % len(palette.APART)], dash=None, marker="")
        return {
            "name": one.name,
            "title": one.title or one.name,
            "color": one.color or style.color,
            "dash": style.dash,
            "marker": style.marker,
            "x": [rounded(value) for value in one.x],
            "y": _numbers(one.y),
            "tips": list(one.tips),
            "hollow": list(map(int, one.hollow)),
            **({"low": _numbers(one.low), "high": _numbers(one.high)} if one.low else {}),
        }


def _numbers(values: Sequence[float | None]) -> list[float | None]:
    return [None if value is None else rounded(value) for value in values]
