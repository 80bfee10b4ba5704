"""MediaWiki: pages out of dumps as they stood, what is no article, and dumps that are wrong."""

from __future__ import annotations

import io
import subprocess
import sys
from collections import Counter
from collections.abc import Sequence
from datetime import date

import pytest
from paths import ROOT, SHARED
from wikisite import Edit, dump, page

from ticlm.core.errors import InputError
from ticlm.datasets.io.unpack import unpacked
from ticlm.datasets.wiki.mediawiki import Revision, Wiki, end_of, revisions

MEDIAWIKI = SHARED / "mediawiki"


def read(
    data: bytes, days: Sequence[date] | None = None, namespaces: Sequence[int] = (0,), about: Wiki | None = None
) -> list[Revision]:
    moments = None if days is None else [end_of(day) for day in days]
    return list(revisions(io.BytesIO(data), "w.xml", namespaces, moments, about or Wiki()))


def test_a_page_is_its_newest_revision() -> None:
    (found,) = read(dump([page(7, "A & B", Edit("old", 1), Edit("new", 2, "2016-04-02T00:00:00Z"))]))
    assert found == Revision(7, "A & B", 2, (0,), "new", "")


def test_what_is_no_article_says_why() -> None:
    pages = [
        page(1, "Talk:A", "text", space=1),
        page(2, "B", "#REDIRECT [[A]]", redirect="A"),
        page(3, "C", " #weiterleitung [[A]]"),
        page(4, "D", "  "),
        page(5, "E", Edit("", deleted=True)),
        page(6, "F", Edit("{}", model="json")),
        page(7, "G", "# item\n# [[item]]"),
    ]
    assert [one.why for one in read(dump(pages))] == [
        "another namespace",
        "redirect",
        "redirect",
        "without text",
        "deleted text",
        "not wikitext",
        "",
    ]
    assert [one.title for one in read(dump(pages), namespaces=(0, 1)) if not one.why] == ["Talk:A", "G"]


def test_a_dump_says_whose_links_are_hidden_and_where_its_wiki_is() -> None:
    about = Wiki()
    read(b"\xef\xbb\xbf" + dump([page(1, "A", "text")]), about=about)
    assert about == Wiki(
        ("category", "datei", "file", "image", "kategorie"), "https://w.example/wiki/Main", name="wwiki"
    )


HISTORY = [
    page(
        1,
        "A",
        Edit("first", 10, "2016-01-31T23:59:59Z"),
        Edit("#redirect [[B]]", 30, "2016-03-01T00:00:00Z"),
        Edit("second", 20, "2016-02-01T00:00:00Z"),  # out of order
        Edit("", 40, "2016-04-01T00:00:00Z", deleted=True),
        redirect="B",
    ),
    page(2, "B", Edit("born in march", 31, "2016-03-05T00:00:00Z")),
    page(3, "User:C", Edit("x", 5, "2016-01-01T00:00:00Z"), space=2),
]
MONTHS = [date(2016, 1, 31), date(2016, 2, 28), date(2016, 3, 31), date(2016, 4, 30), date(2016, 5, 31)]


def test_a_history_gives_each_day_the_newest_revision_until_its_end() -> None:
    found = read(dump(HISTORY), MONTHS)
    assert [(one.page, one.revision, one.moments, one.text, one.why) for one in found] == [
        (1, 10, (0,), "first", ""),
        (1, 20, (1,), "second", ""),
        (1, 30, (2,), "", "redirect"),
        (1, 40, (3, 4), "", "deleted text"),
        (2, 31, (2, 3, 4), "born in march", ""),
        (3, 5, (0, 1, 2, 3, 4), "", "another namespace"),
    ]


def test_a_page_that_did_not_exist_yet_is_absent() -> None:
    assert read(dump(HISTORY), [date(2015, 12, 31)]) == []


@pytest.mark.parametrize("damage", ["cut", "entity", "tag", "time"])
def test_broken_xml_loses_the_rest_and_says_so(damage: str) -> None:
    whole = dump([page(1, "A", "text"), page(2, "B", "more"), page(3, "C", "end")])
    data = {
        "cut": whole[: whole.index(b"more")],
        "entity": whole.replace(b"more", b"&nbsp;"),
        "tag": whole.replace(b"<ns>0</ns><id>2</id>", b"<odd/>"),
        "time": whole.replace(b"<id>2</id>\n<revision><id>1</id><timestamp>", b"<id>2</id>\n<revision><timestamp>x"),
    }[damage]
    about = Wiki()
    assert [one.page for one in read(data, about=about)] == [1]
    assert about.broken and "\n" not in about.broken


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"<posts></posts>", "w.xml is no dump of a MediaWiki: its XML begins with <posts>"),
        (b"", "w.xml is no dump of a MediaWiki: no element found"),
        (b"PK\x03\x04", "w.xml is no dump of a MediaWiki: not well-formed"),
        (dump([], "0.12"), "w.xml has version '0.12' of MediaWiki's export schema; known are 0.3, "),
        (b"<mediawiki/>", "w.xml has version '' of MediaWiki's"),
        (dump([]).replace(b"siteinfo>", b"odd>"), "w.xml is no dump of a MediaWiki: Unexpected tag found"),
    ],
)
def test_what_is_no_dump_is_refused_in_one_line(data: bytes, message: str) -> None:
    with pytest.raises(InputError) as error:
        read(data)
    assert str(error.value).startswith(message) and "\n" not in str(error.value)


MEMORY = """
import io, itertools, psutil
from wikisite import dump, page
from ticlm.datasets.wiki.mediawiki import Wiki, revisions

class Endless(io.RawIOBase):
    def __init__(self, count):
        head, tail = dump(["|"]).split(b"|")
        pages = (page(n, f"T{n}", "text").encode() for n in range(count))
        self.parts = itertools.chain([head], pages, [tail])
    def read(self, size=-1):
        return next(self.parts, b"")

def after(count):
    for number, _ in enumerate(revisions(Endless(count), "w", (0,), None, Wiki()), 1):
        if number == count:
            return psutil.Process().memory_info().rss
first = after(2000)
print((after(42000) - first) >> 10)
"""


@pytest.mark.slow
def test_memory_does_not_grow_with_the_dump() -> None:
    ran = subprocess.run(
        [sys.executable, "-c", MEMORY], capture_output=True, text=True, check=True, cwd=ROOT / "tests/support"
    )
    assert int(ran.stdout) < 1024, "KiB for 40,000 pages more"


@pytest.mark.skipif(not MEDIAWIKI.exists(), reason="needs the shared data")
def test_real_dumps_are_read_to_their_end() -> None:
    about, counts = Wiki(), Counter[str]()
    for _, stream in unpacked(str(next((MEDIAWIKI / "gensim").iterdir()))):
        counts.update(one.why for one in revisions(stream, "gensim", (0,), None, about))
    assert counts == {"": 106, "redirect": 99, "another namespace": 1} and not about.broken
    for _, stream in unpacked(str(next((MEDIAWIKI / "aawiki-20260101").iterdir()))):
        found = list(revisions(stream, "aawiki", range(16), [end_of(date(2026, 1, 1))], about))
    assert len(found) == len({one.page for one in found}) == 507 and not about.broken
