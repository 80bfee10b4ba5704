"""The figures of a report as files: the charts of the page, drawn by the page's own JavaScript.

The scripts in web/ turn numbers into SVG text without a browser. QuickJS, a small JavaScript engine, runs them here,
and resvg makes a PNG of each SVG. The same numbers give the same bytes.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from importlib.resources import as_file, files
from pathlib import Path
from typing import TYPE_CHECKING

from ticlm.platform.core.quantities import printable

if TYPE_CHECKING:
    from importlib.resources.abc import Traversable

    from ticlm.platform.core.examples import Examples

CHARTS = ("numbers.js", "svg.js", "png.js", "lines.js", "bars.js", "heatmap.js", "charts.js")
"""Scripts that need no browser, in their order."""
UNCOVERED = re.compile(
    r"[^\n\x20-\u017f\u0370-\u0377\u037a-\u037d\u0384-\u038a\u038c\u038e-\u03a1\u03a3-\u045f"
    r"\u2010-\u2027\u2030-\u203a\u20ac\u2190-\u2193\u2200-\u2265\u25a0-\u25cf]"
)
"""A character that the font of web/ lacks: Chinese, for one. The fonts of the machine are read for it alone, since that
takes time and makes pictures differ from machine to machine."""
ZOOM = 2
"""Pixels of a PNG per unit of its SVG."""


def draw(data: Mapping[str, object], folder: Path) -> list[Path]:
    """Write every figure of a report as NAME.svg and NAME.png to `folder`, which is made where there is any.

    `data` is what `page_data.payload` returns. Returns the files written.
    """
    from resvg_py import svg_to_bytes

    written: list[Path] = []
    with as_file(asset("DejaVuSans.ttf")) as font:
        for parts, svg in _drawn(data):
            folder.mkdir(parents=True, exist_ok=True)
            name = slug(*parts)
            while folder / f"{name}.svg" in written:
                name += "-"
            png, text = folder / f"{name}.png", folder / f"{name}.svg"
            known = not UNCOVERED.search(svg)
            png.write_bytes(svg_to_bytes(svg, zoom=ZOOM, font_files=[str(font)], skip_system_fonts=known))
            text.write_text(svg, encoding="utf-8")
            written += [png, text]
    return written


def draw_examples(examples: Examples, folder: Path) -> list[Path]:
    """Write a figure of everything that was counted of a set of examples to `folder`; returns the files written."""
    from ticlm.platform.analysis.tallies import counted
    from ticlm.platform.report.page_data import examples_payload

    return draw(examples_payload(counted(examples)), folder)


def slug(*parts: str) -> str:
    """Return a file name made of parts of any text."""
    return "-".join(re.sub(r"[^\w.]+", "-", part.lower()).strip("-") for part in parts if part)


def asset(name: str) -> Traversable:
    """Return a file of web/."""
    return files("ticlm").joinpath("platform", "report", "web", name)


def _drawn(data: Mapping[str, object]) -> list[tuple[list[str], str]]:
    """Return the parts of the name and the SVG text of each figure, without characters that XML does not have."""
    from quickjs import Context

    engine = Context()
    engine.set("input", json.dumps(data, allow_nan=False))
    scripts = [asset(name).read_text(encoding="utf-8") for name in (*CHARTS, "figures.js")]
    engine.eval("\n".join(["'use strict'; const report = JSON.parse(input);", *scripts]))
    drawn: list[tuple[list[str], str]] = json.loads(engine.eval("JSON.stringify(figures())"))
    return [(parts, printable(svg)) for parts, svg in drawn]
