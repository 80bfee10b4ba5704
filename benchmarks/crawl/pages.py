"""Benchmark from pages of a WARC file to filtered texts, against datatrove's reader, extractors and Gopher filters.

    python benchmarks/rivals.py datatrove
    python -m benchmarks.crawl pages [--quick]

Both sides read the same file with the same rules and limits (Gopher's for quality and repetition), without language
detection. Reading, extraction and filters are also timed separately; the filters get the same texts on both sides.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from benchmarks.crawl import archives
from benchmarks.rivals import python
from benchmarks.serving import serve
from benchmarks.sides import Side

from ticlm.datasets.filters.union import REFINEDWEB, Filter, passed
from ticlm.datasets.io.documents import Document, Input, Piece
from ticlm.datasets.text.charset import decoded
from ticlm.datasets.web.crawl import CrawlDocuments
from ticlm.datasets.web.response import content, response
from ticlm.datasets.web.warc_records import WarcRecord, records

MOST = 16 << 20
NAME = "CC-MAIN-20240518015810-20240518045810-00000.warc.gz"
RULES = ("word_count", "word_length", "symbols", "bullets", "ellipses", "alphabetic", "stop_words", "repetition")
PARTS = ("reading", "extraction", "filters", "all")
OURS, ALL_STEPS, SAME, USUAL = (
    "ours",
    "ours, all of TiC-CC's steps",
    "datatrove + Resiliparse",
    "datatrove, Trafilatura",
)


def compare(folder: Path, pages: int, runs: int) -> dict[str, float]:
    """Print both sides; return our seconds of CPU per megabyte of HTML, and per megabyte of text for the filters."""
    size = archives.write(folder / NAME, pages)
    texts = [document.text for document in _documents(folder)]
    (folder / "texts.json").write_text(json.dumps(texts))
    here = (sys.executable, "-m", "benchmarks.crawl.pages", folder)
    rival = (python("datatrove"), Path(__file__).with_name("rival.py"), "pages", folder)
    commands = {OURS: here, ALL_STEPS: here, SAME: rival, USUAL: rival}
    asks = {
        OURS: {"rules": "gopher"},
        ALL_STEPS: {"rules": "refinedweb"},
        SAME: {"extractor": "resiliparse"},
        USUAL: {"extractor": "trafilatura"},
    }
    seconds: dict[tuple[str, str], tuple[float, float]] = {}
    kept: dict[str, int] = {}
    with ExitStack() as stack:
        sides = {name: stack.enter_context(Side(name, command)) for name, command in commands.items()}
        for part in PARTS:
            for name, side in sides.items():
                side.runs.clear()
                side.ask(part=part, **asks[name])
            for _ in range(runs):
                for name, side in sides.items():
                    side.time(part=part, **asks[name])
            for name, side in sides.items():
                seconds[name, part] = side.median("wall_s"), side.median("cpu_s")
                kept[name] = side.runs[0]["documents"]
            if part in ("reading", "extraction"):
                _check(part, {name: side.runs[0] for name, side in sides.items()})
    chars = sum(map(len, texts))
    print(f"{pages:,} pages, {size / 1e6:,.1f} MB of HTML, {chars / 1e6:,.1f} MB of text; medians of {runs} runs")
    _table(seconds, kept, pages)
    return {
        "read_s_per_html_mb": (seconds[ALL_STEPS, "all"][1] - seconds[ALL_STEPS, "filters"][1]) / size * 1e6,
        "filter_s_per_text_mb": seconds[ALL_STEPS, "filters"][1] / chars * 1e6,
    }


def _check(part: str, runs: dict[str, dict[str, Any]]) -> None:
    """Exit if sides with the same extractor did not see the same pages."""
    for key in ("documents", "chars"):
        if runs[OURS][key] != runs[SAME][key]:
            raise SystemExit(f"{part}: ours gave {runs[OURS][key]:,} {key}, {SAME} {runs[SAME][key]:,}")


def _table(seconds: dict[tuple[str, str], tuple[float, float]], kept: dict[str, int], pages: int) -> None:
    print(
        f"{'pages/s (CPU)':30}"
        + "".join(f"{part:>12}" for part in PARTS)
        + f"{'ours faster: wall':>20}{'CPU':>8}{'kept':>8}"
    )
    for name in kept:
        rates = "".join(f"{pages / seconds[name, part][1]:>12,.0f}" for part in PARTS)
        wall, cpu = (theirs / ours for theirs, ours in zip(seconds[name, "all"], seconds[OURS, "all"]))
        print(f"{name:30}{rates}{wall:>19.2f}x{cpu:>7.2f}x{kept[name]:>8,}")
    for name in (SAME, USUAL):
        print(f"{name}: " + ", ".join(f"{p} {seconds[name, p][1] / seconds[OURS, p][1]:.2f}x" for p in PARTS))


def _side(folder: Path) -> Callable[[dict[str, Any]], Callable[[], dict[str, Any]]]:
    texts: Sequence[str] = json.loads((folder / "texts.json").read_text())
    stamp = next(_documents(folder)).timestamp
    held = [Document(text, str(number), stamp) for number, text in enumerate(texts)]

    def prepare(request: dict[str, Any]) -> Callable[[], dict[str, Any]]:
        steps = tuple(s for s in REFINEDWEB if s.kind in RULES) if request["rules"] == "gopher" else REFINEDWEB
        match request["part"]:
            case "reading":
                return lambda: _counted(_html(folder))
            case "extraction":
                pages = list(_html(folder))
                return lambda: _counted(map(_extracted, pages))
            case "filters":
                return lambda: _counted(_kept(held, steps))
        return lambda: _counted(_kept(_documents(folder), steps))

    return prepare


def _documents(folder: Path) -> Any:
    reader = CrawlDocuments(paths=(str(folder / NAME),))
    found = reader.read(Piece(input=Input(path=str(folder / NAME), size=0, stamp="")))
    return (outcome for outcome in found if isinstance(outcome, Document))


def _html(folder: Path) -> Any:
    """Read without extraction: records, their responses, bodies as text."""
    with (folder / NAME).open("rb") as file:
        for record in records(file, MOST):
            if isinstance(record, WarcRecord) and record.block and record.header.get("warc-type") == "response":
                yield decoded(content(response(record.block), MOST), None, html=True)


def _extracted(html: str) -> str:
    from resiliparse.extract.html2text import extract_plain_text

    return str(extract_plain_text(html, main_content=True))


def _kept(documents: Any, steps: Sequence[Filter]) -> Any:
    outcomes = (passed(document, steps).document for document in documents)
    return (document.text for document in outcomes if document is not None)


def _counted(texts: Any) -> dict[str, Any]:
    lengths = [len(text) for text in texts if text]
    return {"documents": len(lengths), "chars": sum(lengths)}


if __name__ == "__main__":
    serve(_side(Path(sys.argv[1])))
