"""The figures of a report as files: the charts of the page, drawn by the page's own JavaScript.

The scripts in web/ turn numbers into SVG text without a browser. QuickJS, a small JavaScript engine, runs them here,
and resvg makes a PNG of each SVG. The same numbers give the same bytes.
"""

from __future__ import annotations

import hashlib
import json
import re
import warnings
from collections.abc import Collection, Iterator, Mapping
from importlib.metadata import version
from importlib.resources import as_file
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ticlm.core.errors import TiclmWarning
from ticlm.core.extras import missing
from ticlm.core.quantities import printable
from ticlm.platform.display.templates import asset

if TYPE_CHECKING:
    from ticlm.core.examples import Examples

CHARTS = (
    *("numbers.js", "labels.js", "svg.js", "marks.js", "png.js", "lines.js", "bars.js"),
    *("heatmap.js", "heattable.js", "charts.js"),
)
"""Scripts that need no browser, in their order."""
UNCOVERED = re.compile(
    r"[^\n\x20-\u017f\u0370-\u0377\u037a-\u037d\u0384-\u038a\u038c\u038e-\u03a1\u03a3-\u045f"
    r"\u2010-\u2027\u2030-\u203a\u20ac\u2190-\u2193\u2200-\u2265\u25a0-\u25cf]"
)
"""A character that the font of web/ lacks: Chinese, for one. The fonts of the machine are read for it alone, since that
takes time and makes pictures differ from machine to machine."""
RECORD = "drawn.json"
PICTURES = ("cost", "matrices")
"""Kinds of figures that the page of a reader without scripts shows."""
ZOOM = 2
"""Pixels of a PNG per unit of its SVG."""
PIXELS = 24_000_000
"""Most pixels of a PNG with that zoom; a larger one has a pixel per unit. A hundred matrices are 51 million: 4.5 s and
360 MB. Twelve are 8 million."""


def draw(data: Mapping[str, Any], folder: Path) -> list[Path]:
    """Write every figure of a report as NAME.svg and NAME.png to `folder`, which is made where there is any; those of
    single sources of text as SVG alone, and all of them without resvg, which the extra `charts` brings, with a warning.

    `data` is what `page_data.payload` returns. The folder holds the figures of one report: others in it are removed. A
    record in it says what they were drawn from; where that is unchanged and no file was touched, nothing is drawn.
    Returns the files.
    """
    text = json.dumps(data, allow_nan=False)
    record = folder / RECORD
    drawn_from = _drawn_from(text)
    known = _recorded(record)
    if known.get("drawn_from") == drawn_from and known.get("files") == _hashes(folder):
        return [folder / name for name in known["files"]]
    of_sources = {
        (study["name"], view["name"]) for study in data["studies"] for view in study["views"] if view["source"]
    }
    by_parts = _write(text, folder, of_sources)
    written = [path for paths in by_parts.values() for path in paths]
    for path in _figures_in(folder):
        if path not in written:
            path.unlink()
    if written:
        files = {path.name: _hash(path.read_bytes()) for path in written}
        made = {"drawn_from": drawn_from, "files": files, "pictures": _of_page(data, by_parts)}
        record.write_text(json.dumps(made), encoding="utf-8")
    else:
        record.unlink(missing_ok=True)
    return written


def _write(data: str, folder: Path, of_sources: Collection[tuple[str, str]]) -> dict[tuple[str, ...], list[Path]]:
    """Draw all figures; return the files of each by the parts of its name.

    Those of single sources, (study, view), are SVG alone: as PNG, ten sources take 5 MB and 80 % of the time.
    """
    if line := missing("figures are SVG alone, as PNG", "charts", "resvg_py"):
        warnings.warn(line, TiclmWarning, stacklevel=2)
    written: dict[tuple[str, ...], list[Path]] = {}
    with as_file(asset("DejaVuSans.ttf")) as font:
        for parts, name, svg in drawn(data):
            folder.mkdir(parents=True, exist_ok=True)
            files = written.setdefault(parts, [])
            png, text = folder / f"{name}.png", folder / f"{name}.svg"
            known = not UNCOVERED.search(svg)
            if not line and tuple(parts[1:]) not in of_sources:
                from resvg_py import svg_to_bytes

                png.write_bytes(svg_to_bytes(svg, zoom=_zoom(svg), font_files=[str(font)], skip_system_fonts=known))
                files.append(png)
            text.write_text(svg, encoding="utf-8")
            files.append(text)
    return written


def drawn(data: str) -> Iterator[tuple[tuple[str, ...], str, str]]:
    """Draw the figures of a report, whose `data` are JSON; yield of each the parts of its name, its name, and its
    SVG."""
    taken: set[str] = set()
    for parts, svg in _call("figures", data):
        name = slug(*parts)
        while name in taken:
            name += "-"
        taken.add(name)
        yield tuple(parts), name, printable(svg)  # without characters that XML does not have


def _zoom(svg: str) -> int:
    """Return the pixels of a PNG per unit of its SVG, whose first element says how large it is."""
    size = re.search(r'viewBox="0 0 ([\d.]+) ([\d.]+)"', svg)
    assert size is not None
    return ZOOM if float(size[1]) * float(size[2]) * ZOOM**2 <= PIXELS else 1


def _of_page(data: Mapping[str, Any], by_parts: Mapping[tuple[str, ...], list[Path]]) -> list[dict[str, str]]:
    """Return the names of the SVG files that `pictures` would draw again, in its order."""
    first = [(study["name"], study["views"][0]["name"]) for study in data["studies"] if study["views"]]
    return [
        {kind: next(path.name for path in by_parts[kind, *view] if path.suffix == ".svg") for kind in PICTURES}
        for view in first
    ]


def drawn_pictures(folder: Path) -> list[dict[str, str]]:
    """Return what `pictures` returns for the numbers that the figures of a folder were just drawn from.

    A heat map of a hundred methods takes seconds in QuickJS, and the page shows the same ones.
    """
    known = _recorded(folder / RECORD).get("pictures", [])
    return [{kind: (folder / name).read_bytes().decode() for kind, name in one.items()} for one in known]


def pictures(data: Mapping[str, object]) -> list[dict[str, str]]:
    """Return the SVG text of the `cost` and the `matrices` of each study's first view, for readers without scripts."""
    drawn: list[dict[str, str]] = _call("pictures", json.dumps(data, allow_nan=False))
    return [{name: printable(svg) for name, svg in one.items()} for one in drawn]


def draw_examples(examples: Examples, folder: Path) -> list[Path]:
    """Write a figure of everything that was counted of a set of examples to `folder`; returns the files written."""
    from ticlm.platform.report.page_data import examples_payload
    from ticlm.platform.results.tallies import counted

    return draw(examples_payload(counted(examples)), folder)


def slug(*parts: str) -> str:
    """Return a file name made of parts of any text."""
    return "-".join(re.sub(r"[^\w.]+", "-", part.lower()).strip("-") for part in parts if part)


def _call(function: str, data: str) -> Any:
    """Return what a function of figures.js gives for the numbers of a report."""
    from quickjs import Context

    engine = Context()
    engine.set("input", data)
    engine.eval("\n".join(["'use strict'; const report = JSON.parse(input);", *_scripts()]))
    return json.loads(engine.eval(f"JSON.stringify({function}())"))


def _scripts() -> list[str]:
    return [asset(name).read_text(encoding="utf-8") for name in (*CHARTS, "figures.js")]


def _drawn_from(data: str) -> str:
    """Return a hash of all that figures are made of: numbers, scripts, font, zoom, and the libraries that draw."""
    font = _hash(asset("DejaVuSans.ttf").read_bytes())
    libraries = [version("quickjs-ng"), "" if missing("", "charts", "resvg_py") else version("resvg-py")]
    return _hash("\0".join([data, *_scripts(), font, f"{ZOOM} {PIXELS}", *libraries]).encode())


def _hash(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def _figures_in(folder: Path) -> list[Path]:
    return [path for path in folder.glob("*") if path.suffix in (".svg", ".png")]


def _hashes(folder: Path) -> dict[str, str]:
    return {path.name: _hash(path.read_bytes()) for path in _figures_in(folder)}


def _recorded(record: Path) -> dict[str, Any]:
    """Return the record of the figures of a folder; nothing where there is none that can be read."""
    try:
        known: dict[str, Any] = json.loads(record.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return known
