"""Benchmark of comparing dumps of a wiki: pages read, cleaned and compared per second, and memory.

    python -m benchmarks.wiki [--quick]

The sides take turns on one core. Comparing is timed against plain difflib on the same paragraphs and sentences, which
makes keys of all lines and does not skip the common beginning and end of two versions. Cleaning is timed against the
parser's own `strip_code`. Pages are those of `../shared/data`, or invented; in the newer version of every other page,
three lines are changed, removed or inserted.
"""

from __future__ import annotations

import argparse
import bz2
import io
import json
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from difflib import SequenceMatcher
from pathlib import Path
from random import Random
from statistics import median
from typing import BinaryIO, cast
from xml.sax.saxutils import escape

from ticlm.datasets.io.unpack import unpacked
from ticlm.datasets.text.diffs import key, passages
from ticlm.datasets.text.sentences import sentences
from ticlm.datasets.wiki.mediawiki import Wiki, revisions
from ticlm.datasets.wiki.wikitext import paragraphs

SHARED = Path(__file__).resolve().parents[2] / "shared" / "data" / "mediawiki" / "gensim"
HEAD = """<mediawiki xmlns="http://www.mediawiki.org/xml/export-0.10/" version="0.10" xml:lang="en">
<siteinfo><sitename>W</sitename><dbname>w</dbname><base>https://w.example/wiki/Main</base><generator>g</generator>
<case>first-letter</case><namespaces><namespace key="0" case="first-letter" /></namespaces></siteinfo>
"""
Pages = Sequence[tuple[str, str]]


def pages() -> Pages:
    """Return (title, wikitext) of real articles, or of invented ones if there are none."""
    if SHARED.exists():
        return [
            (one.title, one.text)
            for path in SHARED.iterdir()
            for _, stream in unpacked(str(path))
            for one in revisions(stream, str(path), (0,), None, Wiki())
            if not one.why
        ]
    rng = Random(0)
    words = ["'''alpha'''", "[[beta]]", "gamma", "[[delta|Delta]]", "{{eps}}", "zeta<ref>x</ref>", "eta", "theta"]
    lines = [" ".join(rng.choices(words, k=12)).capitalize() + "." for _ in range(40_000)]
    return [(f"Page {n}", "\n\n".join(" ".join(rng.choices(lines, k=4)) for _ in range(60))) for n in range(100)]


def edited(text: str, rng: Random) -> str:
    lines = text.split("\n")
    for number in sorted(rng.sample(range(len(lines)), min(3, len(lines))), reverse=True):
        match rng.randrange(3):
            case 0:
                lines.insert(number, "A paragraph that was put in. It has two sentences.")
            case 1:
                del lines[number]
            case _:
                lines[number] += " A sentence that was put in."
    return "\n".join(lines)


def dump(several: Pages) -> bytes:
    body = "".join(
        f"<page><title>{escape(title)}</title><ns>0</ns><id>{number}</id><revision><id>{number}</id>"
        f"<timestamp>2016-05-01T00:00:00Z</timestamp><model>wikitext</model><text>{escape(text)}</text></revision></page>\n"
        for number, (title, text) in enumerate(several, 1)
    )
    return f"{HEAD}{body}</mediawiki>".encode()


def read(packed: bytes) -> int:
    stream = cast(BinaryIO, bz2.open(io.BytesIO(packed)))  # noqa: SIM115  of bytes in memory
    return sum([len(one.text) for one in revisions(stream, "dump", (0,), None, Wiki())])


def plainly(old: Sequence[str], new: Sequence[str]) -> list[str]:
    """Return the changed text that difflib alone finds."""
    found: list[str] = []
    for tag, i, j, k, m in SequenceMatcher(None, [*map(key, old)], [*map(key, new)], autojunk=False).get_opcodes():
        if tag == "insert":
            found += new[k:m]
        elif tag == "replace":
            a = [one for line in old[i:j] for one in sentences(line)]
            b = [one for line in new[k:m] for one in sentences(line)]
            for inner, _, _, x, y in SequenceMatcher(
                None, [*map(key, a)], [*map(key, b)], autojunk=False
            ).get_opcodes():
                found += b[x:y] if inner in ("replace", "insert") else []
    return found


def show(what: str, count: int, sides: Mapping[str, Callable[[], object]], rounds: int) -> None:
    """Time the sides in turns; print pages per second of each, and how much faster the first one is."""
    walls: dict[str, list[float]] = {name: [] for name in sides}
    cpus: dict[str, list[float]] = {name: [] for name in sides}
    for _ in range(rounds):
        for name, side in sides.items():
            wall, cpu = time.perf_counter(), time.process_time()
            side()
            walls[name].append(time.perf_counter() - wall)
            cpus[name].append(time.process_time() - cpu)
    first = next(iter(sides))
    for name in sides:
        wall, cpu = median(walls[name]), median(cpus[name])
        ratio = (
            ""
            if name == first
            else f"ours {wall / median(walls[first]):.2f}x wall, {cpu / median(cpus[first]):.2f}x CPU"
        )
        print(f"{what:10} {name:24} {count / wall:>10,.0f} pages/s wall {count / cpu:>10,.0f} CPU  {ratio}", flush=True)


def measure(rounds: int) -> None:
    import mwparserfromhell

    rng = Random(0)
    old = pages()
    new = [(title, edited(text, rng) if number % 2 else text) for number, (title, text) in enumerate(old)]
    packed = bz2.compress(dump(old))
    size = sum(len(text) for _, text in old)
    print(f"{len(old)} pages, {size / 1e6:.1f} MB of wikitext")
    show("reading", len(old), {"bz2 and XML": lambda: read(packed)}, rounds)
    cleaning: dict[str, Callable[[], object]] = {
        "ours": lambda: [paragraphs(text) for _, text in old],
        "strip_code": lambda: [mwparserfromhell.parse(text, skip_style_tags=True).strip_code() for _, text in old],
    }
    show("cleaning", len(old), cleaning, rounds)
    clean = [(paragraphs(before), paragraphs(after)) for (_, before), (_, after) in zip(old, new)]
    same = sum([one.text for one in passages(a, b) if one.changed] == plainly(a, b) for a, b in clean)
    print(f"comparing: {same} of {len(clean)} pages with the same changes on both sides")
    comparing: dict[str, Callable[[], object]] = {
        "ours": lambda: [passages(a, b) for a, b in clean],
        "difflib alone": lambda: [plainly(a, b) for a, b in clean],
    }
    show("comparing", len(clean), comparing, rounds)


def peak(copies: int) -> None:
    """Print the peak memory (MiB) of staging and comparing this many copies of the pages, with buckets of 4 MiB
    and writers that hold 2."""
    import resource

    from ticlm.core.store import Store
    from ticlm.datasets.examples.context import BuildContext
    from ticlm.datasets.io import buckets
    from ticlm.datasets.wiki import staging
    from ticlm.datasets.wiki.diffs import comparisons
    from ticlm.datasets.wiki.dumps import WikiDumps

    staging.BUCKET_BYTES = 4 << 20
    buckets.HELD_BYTES = 2 << 20
    some = pages()[:20]
    with tempfile.TemporaryDirectory() as folder:
        for month in (5, 6):
            with open(f"{folder}/w-20160{month}01.xml", "wb") as file:
                file.write(HEAD.encode())
                for copy in range(copies):
                    body = dump([(title, f"{copy} {month}\n\n{text}") for title, text in some]).decode()
                    inner = body.removeprefix(HEAD).removesuffix("</mediawiki>")
                    file.write(inner.replace("<ns>0</ns><id>", f"<ns>0</ns><id>{copy + 1}00").encode())
                file.write(b"</mediawiki>")
        wiki = WikiDumps(dumps=(folder,))
        root, files = Store(f"{folder}/root"), tuple(wiki.files())
        context = BuildContext(root, "staging", 0, files, frozenset(), print)
        compared = 0
        for comparison in comparisons(context, wiki, context.inputs):
            for number in range(comparison.stage.count):
                compared += sum(1 for _ in comparison.diffs(number, Counter()))
    print(json.dumps({"pages": compared, "mib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10}))


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    arguments.add_argument("--quick", action="store_true")
    arguments.add_argument("--peak", type=int, default=0)
    given = arguments.parse_args()
    if given.peak:
        peak(given.peak)
        return
    measure(1 if given.quick else 5)
    for copies in (1, 2) if given.quick else (16, 64):
        command = [sys.executable, "-m", "benchmarks.wiki", "--peak", str(copies)]
        print("memory    ", subprocess.run(command, check=True, capture_output=True, text=True).stdout.split("\n")[-2])


if __name__ == "__main__":
    main()
