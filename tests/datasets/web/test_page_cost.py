"""The cost of a page: what would take minutes or gigabytes to parse is counted, its neighbours and real pages stay."""

from __future__ import annotations

import io
import random
import sys
from pathlib import Path
from typing import Any

import pytest
import web
from paths import SHARED

from ticlm.datasets.io.documents import Bad, Skipped
from ticlm.datasets.web import warc_records
from ticlm.datasets.web.page_cost import tag_count, too_costly
from ticlm.datasets.web.warc import PageRules, PageText, pages

REAL = SHARED / "warc"
COSTLY = "too costly to parse"
SENTENCE = "A page has a sentence that is long enough to stay. "


def outcomes(bodies: list[str]) -> list[str]:
    """The text of each page, or the reason that it has none."""
    records = [
        web.record("response", web.answer(body.encode()), f"https://site/{n}", Content_Type="application/http")
        for n, body in enumerate(bodies)
    ]
    found = pages(io.BytesIO(web.gz(records)), PageRules())
    return [one.text if isinstance(one, PageText) else one.reason for one in found]


def among_neighbours(body: str) -> str:
    """What becomes of a page between two sound ones, which must stay."""
    sound = f"<html><body><p>{SENTENCE}</p></body></html>"
    before, found, after = outcomes([sound, body, sound])
    assert before == after == SENTENCE.strip()
    return found


BOMBS = {
    "formatting": "<p>" + "".join(f"<font color={n}>" for n in range(2_000)) + "</p>" + "<p>x" * 3_000,
    "formatting in capitals": "".join(f"<B CLASS={n}>" for n in range(2_000)) + "<P>x</P>" * 3_000,
    "attributes": "<p " + " ".join(f"a{n}=1" for n in range(30_000)) + ">x</p>",
    "attributes with marks in their values": "<p " + " ".join(f'a{n}="1>"' for n in range(30_000)) + ">x</p>",
    "attributes that look like tags": "<p " + " ".join(f"a{n}='<i>'" for n in range(30_000)) + ">x</p>",
    "attributes of a tag without an end": "<p " + " ".join(f"a{n}" for n in range(30_000)),
    "options": "<select>" + "<option>x" * 30_000 + "</select>",
    "options in capitals": "<SELECT>" + "<OPTION>x</OPTION>" * 30_000,
    "elements, all nested": "<div>" * 500 + "<i>x</i>" * 400_000,
    "end tags that end nothing": "<span>" * 60_000 + "</b>" * 60_000,
}


@pytest.mark.parametrize("bomb", BOMBS.values(), ids=BOMBS)
def test_a_page_that_is_too_costly_costs_one_page(bomb: str) -> None:
    assert among_neighbours(bomb) == COSTLY


def _rows(count: int) -> str:
    return "<table>" + "<tr><td>a<td>b" * count + "</table>"


LARGE = {
    "a long list of options": "<select>" + "<option value=1>x</option>" * 8_000 + "</select>",
    "many lists of options": ("<select>" + "<option>x" * 1_000 + "</select>") * 40,
    "a table of 100,000 cells": _rows(50_000),
    "paragraphs and line ends that are never closed": "<p>a word<br>" * 60_000,
    "icons": "<li><i class='icon-{}'></i> <b title=x>x</b></li>" * 10_000,
    "formatting that is repeated and never closed": "<table>" + "<tr><td><font size=2 color=red>x" * 9_000,
    "a script without tags": "<script>var x = [" + "if (a <b) { c = 'd e f' } " * 9_000 + "]</script>",
    "an attribute of a megabyte": f"<img src='data:{'a b=c ' * 200_000}'>",
    "a text of a megabyte": "a < b and some words " * 50_000,
    "a comment of a megabyte": "<!-- <a " + "b=c d " * 200_000 + "-->",
    "a megabyte of blanks within a tag": "<a" + " " * 1_000_000 + ">x</a>",
}


@pytest.mark.parametrize("body", LARGE.values(), ids=LARGE)
def test_a_large_page_of_common_make_is_read(body: str) -> None:
    assert SENTENCE.strip() in among_neighbours(f"<html><body><p>{SENTENCE * 9}</p>{body}</body></html>")


@pytest.mark.parametrize(
    "body",
    [
        "<select>" + "<option value=1>x</option>" * 20_000 + "</select>",
        "<p " + " ".join(f"a{n}=1" for n in range(10_000)) + ">",
        "<p " + "data more text " * 50_000 + ">",
        "<div>" * 9_000 + "</b>" * 9_000 + "</div>" * 9_000,
        _rows(99_999),
    ],
    ids=["20,000 options", "10,000 attributes", "a tag that lost its end", "some wrong end tags", "cells"],
)
def test_what_costs_a_second_or_two_is_not_too_costly(body: str) -> None:
    assert not too_costly(body, tag_count(body))


def test_no_page_of_tags_at_random_makes_the_look_raise() -> None:
    rng = random.Random(0)
    parts = ["<", ">", "</", "=", '"', "'", " ", "p", "font", "option", "select", "<!--", "-->", "<script>", "x" * 9]
    for _ in range(20):
        body = "".join(rng.choices(parts, k=40_000))
        assert isinstance(outcomes([body])[0], str)


@pytest.mark.parametrize("path", sorted(REAL.glob("*/*.warc*")), ids=lambda path: path.name)
def test_no_real_page_is_too_costly(path: Path) -> None:
    with path.open("rb") as stream:
        assert COSTLY not in {one.reason for one in pages(stream, PageRules()) if isinstance(one, Bad | Skipped)}


def test_a_page_that_finds_no_memory_is_too_costly(monkeypatch: pytest.MonkeyPatch) -> None:
    import resiliparse.extract.html2text as extractor

    def fails(*_: Any, **__: Any) -> str:
        raise MemoryError

    monkeypatch.setattr(extractor, "extract_plain_text", fails)
    assert outcomes([f"<p>{SENTENCE}</p>"]) == [COSTLY]


def test_heads_without_an_end_are_searched_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """A head may be 64 KiB long; where many begin and none ends, each byte is looked at a few times, not thousands."""
    searched = [0]

    class Counted:
        def search(self, data: bytearray, start: int = 0, end: int = sys.maxsize) -> Any:
            found = pattern.search(data, start, end)
            searched[0] += (found.end() if found else min(end, len(data))) - start
            return found

    pattern = warc_records._HEAD_END
    monkeypatch.setattr(warc_records, "_HEAD_END", Counted())
    heads = b"WARC/1.0\r\nA: b\r\n" * 16_000
    found = list(pages(io.BytesIO(heads + web.plain(web.some_pages(2))), PageRules()))
    assert sum(isinstance(one, Bad) for one in found) > 3_000 and isinstance(found[-1], PageText)
    assert searched[0] < 4 * len(heads)
