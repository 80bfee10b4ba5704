"""Web archives for benchmarks: real pages and posts if `../shared/data` exists, else those of the synthetic world.

A page has the three records of Common Crawl (request, response, metadata), each in a gzip member of its own.
"""

from __future__ import annotations

import gzip
import html
import json
from collections.abc import Iterator, Sequence
from datetime import date
from itertools import cycle, islice
from pathlib import Path
from random import Random
from uuid import NAMESPACE_URL, uuid5

from ticlm.core.periods import Calendar
from ticlm.datasets.synthetic.world import SyntheticWorld
from ticlm.datasets.web.warc_records import WarcRecord, records

SHARED = Path(__file__).resolve().parents[3] / "shared" / "data"
REAL_EVERY = 5
"""One page in five is a real one; the others are texts in furniture of ours."""
POSTS_OF_A_PAGE = 6  # of the invented world, whose texts are short


def write(path: Path, pages: int, seed: int = 0) -> int:
    """Write a WARC file with so many pages; bytes of their HTML. Files of other seeds go on with other texts."""
    size = 0
    with path.open("wb") as file:
        file.write(_record("warcinfo", "", b"software: benchmark\r\n", "application/warc-fields"))
        for number, response in zip(range(pages), _responses(seed, seed * pages)):
            size += len(response)
            url = f"https://site{number % 97}.example/{seed}/page-{number}.html"
            file.write(_record("request", url, b"GET / HTTP/1.1\r\n\r\n", "application/http; msgtype=request"))
            file.write(_record("response", url, response, "application/http; msgtype=response"))
            file.write(_record("metadata", url, b"fetchTimeMs: 100\r\n", "application/warc-fields"))
    return size


def texts() -> Iterator[str]:
    """Texts without end: dated posts, else articles of the invented world; the same ones again after the last."""
    files = sorted((SHARED / "monthly").glob("*.jsonl.gz"))
    return cycle(_posts(files) if files else _articles())


def _posts(files: Sequence[Path]) -> Iterator[str]:
    for path in files:
        with gzip.open(path, "rt") as lines:
            yield from (json.loads(line)["text"] for line in lines)


def _articles() -> Iterator[str]:
    calendar = Calendar(initial="202301", step="month", last="202312")
    world = SyntheticWorld(epoch=date(2023, 1, 1))
    written = (page.text for period in calendar.timeline().periods for page in world.documents(period))
    while some := list(islice(written, POSTS_OF_A_PAGE)):
        yield "\n".join(some)


def _responses(seed: int, skip: int) -> Iterator[bytes]:
    """HTTP responses without end, of the texts after the first `skip`."""
    rng, real = Random(seed), _real()
    for number, text in enumerate(islice(texts(), skip, None)):
        if real and number % REAL_EVERY == 0:
            yield real[number // REAL_EVERY % len(real)]
        else:
            yield b"HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\n\r\n" + _page(text, rng).encode()


def _real() -> list[bytes]:
    """Responses with a page in them, of a real crawl."""
    path = SHARED / "warc" / "dolma" / "sample-0000.warc.gz"
    if not path.exists():
        return []
    with path.open("rb") as file:
        found = [record for record in records(file, 1 << 24) if isinstance(record, WarcRecord)]
    return [r.block for r in found if r.header.get("warc-type") == "response" and r.block]


def _page(text: str, rng: Random) -> str:
    """A text as a page: paragraphs between menus, teasers, scripts and a footer; about 30 kB more than the text."""
    words = [word for word in text.split()[:400] if word.isalpha()] or ["page"]
    body = "\n".join(f"<p>{html.escape(part)}</p>" for part in text.split("\n") if part.strip())
    title = html.escape(" ".join(text.split()[:8]))
    style = "\n".join(f".c{rng.randrange(10**6)} {{ margin: {rng.randrange(40)}px; color: #333 }}" for _ in range(150))
    script = "\n".join(f"window.q{n} = {{ id: {rng.randrange(10**9)}, on: true }};" for n in range(250))
    menu, more, end = (_links(words, rng, count) for count in (60, 30, 40))
    return f"""<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><title>{title}</title>
<style>{style}</style><script>{script}</script></head>
<body><header><nav class="menu"><ul>{menu}</ul></nav></header>
<main><article><h1>{title}</h1>
{body}
</article></main>
<aside class="sidebar"><h3>More</h3><ul>{more}</ul></aside>
<footer class="footer"><ul>{end}</ul><p>All rights reserved.</p></footer>
</body></html>"""


def _links(words: Sequence[str], rng: Random, count: int) -> str:
    chosen = (" ".join(rng.choices(words, k=3)) for _ in range(count))
    return "\n".join(
        f'<li class="item"><a href="/{rng.randrange(10**6)}">{html.escape(name)}</a></li>' for name in chosen
    )


def _record(kind: str, url: str, block: bytes, content_type: str) -> bytes:
    head = [
        "WARC/1.0",
        f"WARC-Type: {kind}",
        f"WARC-Record-ID: <urn:uuid:{uuid5(NAMESPACE_URL, kind + url)}>",
        "WARC-Date: 2024-05-18T02:00:00Z",
        f"Content-Type: {content_type}",
        f"Content-Length: {len(block)}",
        *([f"WARC-Target-URI: {url}"] if url else []),
        *(["WARC-Identified-Payload-Type: text/html"] if kind == "response" else []),
    ]
    return gzip.compress("\r\n".join(head).encode() + b"\r\n\r\n" + block + b"\r\n\r\n", 6)
