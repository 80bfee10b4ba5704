"""Crawls: which archives are read, when their pages are from, what they belong to."""

from __future__ import annotations

import gzip
from datetime import UTC, datetime
from pathlib import Path

import pytest
import web
from hypothesis import given
from hypothesis import strategies as st

from ticlm.core.errors import InputError
from ticlm.core.fingerprint import fingerprint
from ticlm.core.periods import Calendar
from ticlm.core.settings import parse
from ticlm.datasets.io import fetching
from ticlm.datasets.io.documents import Bad, Document, Skipped
from ticlm.datasets.io.fetching import Patience, Unreachable
from ticlm.datasets.web.crawl import CrawlDocuments
from ticlm.datasets.web.hosts import NEWS, WIKI, HostSet, host_of

MAY, JUNE = "CC-MAIN-20240518015810-20240518045810-00001", "CC-MAIN-20240601000000-20240601030000-00000"
BEGAN = datetime(2024, 5, 18, 1, 58, 10, tzinfo=UTC)
ALWAYS = Calendar()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A crawl of two months, with a WET beside one WARC."""
    (tmp_path / "wet").mkdir()
    records = [web.record("request", b"GET /", "https://site/0"), *web.some_pages(2)]
    (tmp_path / f"{MAY}.warc.gz").write_bytes(web.gz(records))
    (tmp_path / f"{JUNE}.warc.gz").write_bytes(web.gz(web.some_pages(1)))
    texts = [web.record("conversion", b"This is a text.", "https://site/0", Content_Type="text/plain")]
    (tmp_path / f"wet/{MAY}.warc.wet.gz").write_bytes(web.gz(texts))
    (tmp_path / "notes.txt").write_text("no archive")
    return tmp_path


def read(documents: CrawlDocuments, calendar: Calendar = ALWAYS) -> list[Document | Bad | Skipped]:
    inputs = documents.inputs(calendar)
    return [one for entry in inputs for piece in documents.pieces(entry) for one in documents.read(piece)]


def test_all_pages_of_a_file_are_of_the_time_in_its_name(folder: Path) -> None:
    found = read(CrawlDocuments(paths=(f"{folder}/{MAY}.warc.gz",)))
    assert [one.timestamp for one in found] == [BEGAN] * 3
    assert found[0] == Skipped("record of type request", BEGAN)
    assert isinstance(found[1], Document)
    assert (found[1].id, found[1].group, found[1].source) == ("https://site/0", MAY, "")


def test_with_dates_of_records_each_page_has_its_own(tmp_path: Path) -> None:
    dates = ["2019-01-02T03:04:05Z", "", "9999-01-01T00:00:00Z", "0000-00-00T00:00:00Z"]
    (tmp_path / "any-name.warc").write_bytes(
        web.plain([web.page("https://a", "A page that has text.", d) for d in dates])
    )
    first, *others = read(CrawlDocuments(paths=(str(tmp_path),), dated="record"))
    assert first.timestamp == datetime(2019, 1, 2, 3, 4, 5, tzinfo=UTC)
    assert [(one.reason, one.timestamp) for one in others if isinstance(one, Bad)] == [("unreadable date", None)] * 3
    assert isinstance(others[0], Bad) and others[0].where.startswith(f"{tmp_path}/any-name.warc: byte 0+")


@pytest.mark.parametrize("name", ["some.warc.gz", "CC-MAIN-2024.warc.gz", "CC-MAIN-20241318015810-1.warc.gz"])
def test_a_name_without_a_time_is_refused_with_advice(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_bytes(web.gz(web.some_pages(1)))
    with pytest.raises(InputError, match=r"set documents\.dated to record"):
        CrawlDocuments(paths=(str(tmp_path),)).inputs(ALWAYS)
    assert len(CrawlDocuments(paths=(str(tmp_path),), dated="record").inputs(ALWAYS)) == 1


def test_files_of_other_months_are_not_read_and_counted(folder: Path) -> None:
    crawl, may = CrawlDocuments(paths=(str(folder),)), Calendar(initial="202405", last="202405")
    assert [Path(entry.path).name[:14] for entry in crawl.inputs(may)] == ["CC-MAIN-202405"] * 2
    assert (crawl.count_outside(may), crawl.count_outside(ALWAYS)) == (1, 0)
    other = CrawlDocuments(paths=(str(folder),), dated="record")
    assert (len(other.inputs(may)), other.count_outside(may)) == (3, 0)


def test_a_warc_and_its_wet_are_held_out_together_wherever_they_lie(folder: Path) -> None:
    inputs = CrawlDocuments(paths=(str(folder),)).inputs(ALWAYS)
    assert [entry.group for entry in inputs] == [MAY, JUNE, MAY]
    found = read(CrawlDocuments(paths=(f"{folder}/wet",)))
    assert [one.group for one in found if isinstance(one, Document)] == [MAY]


def test_pages_can_be_held_out_one_by_one(folder: Path) -> None:
    crawl = CrawlDocuments(paths=(str(folder),), together="url")
    assert {entry.group for entry in crawl.inputs(ALWAYS)} == {""}
    assert {one.group for one in read(crawl) if isinstance(one, Document)} == {""}


def test_paths_are_files_globs_and_folders_each_file_once(folder: Path) -> None:
    every = CrawlDocuments(paths=(str(folder), f"{folder}/*.warc.gz", f"{folder}/{MAY}.warc.gz")).inputs(ALWAYS)
    assert [Path(entry.path).name for entry in every] == [f"{MAY}.warc.gz", f"{JUNE}.warc.gz", f"{MAY}.warc.wet.gz"]
    assert all(entry.stamp and entry.size for entry in every)
    with pytest.raises(InputError, match="matches no file"):
        CrawlDocuments(paths=(f"{folder}/none*",)).inputs(ALWAYS)
    with pytest.raises(InputError, match=r"no known format; these are \.warc, \.warc\.gz"):
        CrawlDocuments(paths=(f"{folder}/notes.txt",)).inputs(ALWAYS)


def test_a_list_names_archives_without_a_request_for_each(folder: Path) -> None:
    names = [f"crawl-data/{JUNE}.warc.gz", f"/crawl-data/{MAY}.warc.gz", f"s3://other/{MAY}.warc.gz"]
    with web.served({"warc.paths.gz": gzip.compress("\n".join(names).encode())}) as site:
        crawl = CrawlDocuments(lists=(f"{site.url}/warc.paths.gz",))
        inputs = crawl.inputs(ALWAYS)
        assert {method for method, _ in site.requests} <= {"GET", "HEAD"} and len(site.gets()) == 1
    base = "https://data.commoncrawl.org/crawl-data"
    assert [entry.path for entry in inputs] == [
        f"{base}/{MAY}.warc.gz",
        f"{base}/{JUNE}.warc.gz",
        f"s3://other/{MAY}.warc.gz",
    ]
    assert {(entry.size, entry.stamp) for entry in inputs} == {(0, "")}


def test_a_list_and_its_archives_come_through_a_server(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(fetching, "PATIENCE", Patience(tries=3, first_s=0.001, most_s=0.002))
    monkeypatch.setattr(fetching, "BLOCK", 100_000)
    (tmp_path / "paths").write_text(f"a/{MAY}.warc.gz\n")
    data = web.gz(web.some_pages(1_000))
    with web.served({f"a/{MAY}.warc.gz": data}, faults=["ok", "503", "close"]) as site:
        crawl = CrawlDocuments(lists=(str(tmp_path / "paths"),), base=site.url)
        assert len(read(crawl)) == 1_000
        site.faults = ["ok", "ok", *["503"] * 9]
        kept = []
        with pytest.raises(Unreachable, match="after 3 tries"):
            for one in crawl.read(crawl.pieces(crawl.inputs(ALWAYS)[0])[0]):
                kept.append(one)
        assert kept and all(isinstance(one, Document) for one in kept)


@pytest.mark.parametrize(("text", "message"), [("", "is empty"), ("a.txt\n", "names 'a.txt', no known format")])
def test_a_list_of_nothing_or_of_something_else_is_refused(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "paths").write_text(text)
    with pytest.raises(InputError, match=message):
        CrawlDocuments(lists=(str(tmp_path / "paths"),)).inputs(ALWAYS)
    with pytest.raises(InputError, match=r"documents\.lists: .*nowhere cannot be read"):
        CrawlDocuments(lists=(str(tmp_path / "nowhere"),)).inputs(ALWAYS)


def test_an_archive_that_is_gone_cannot_be_read(folder: Path) -> None:
    crawl = CrawlDocuments(paths=(f"{folder}/{MAY}.warc.gz",))
    (entry,) = crawl.inputs(ALWAYS)
    Path(entry.path).unlink()
    with pytest.raises(Unreachable, match="No such file"):
        list(crawl.read(crawl.pieces(entry)[0]))


def test_what_is_read_is_part_of_the_identity_and_where_it_lies_is_not() -> None:
    one = CrawlDocuments(paths=("/here",))
    assert one.identity == CrawlDocuments(lists=("/there",), base="https://mirror/").identity
    changed: list[dict[str, object]] = [
        {"dated": "record"},
        {"together": "url"},
        {"subsets": ()},
        {"pages": {"any_status": True}},
    ]
    others = [parse(CrawlDocuments, {"paths": "/here", **change}, "recipe").identity for change in changed]
    assert len({fingerprint(identity) for identity in [one.identity, *others]}) == 5


def test_settings_that_say_nothing_are_refused() -> None:
    with pytest.raises(InputError, match="give paths"):
        parse(CrawlDocuments, {}, "recipe")
    with pytest.raises(InputError, match="names of their own"):
        parse(CrawlDocuments, {"paths": "a", "subsets": [{"name": "a", "hosts": ["b"]}] * 2}, "recipe")
    with pytest.raises(InputError, match=r"got 'www\.B\.org'"):
        parse(CrawlDocuments, {"paths": "a", "subsets": [{"name": "a", "hosts": ["www.B.org"]}]}, "recipe")


# --- hosts and subsets


@pytest.mark.parametrize(
    ("url", "host"),
    [
        ("https://www.BBC.co.uk/news?x=//y", "bbc.co.uk"),
        ("http://user:pass@www.cnn.com:8080/a@b", "cnn.com"),
        ("http://www.www.org", "www.org"),
        ("http://notwww.org", "notwww.org"),
        ("//en.wikipedia.org./wiki", "en.wikipedia.org"),
        ("http://[::1]:80/", "::1"),
        ("dns:example.org", ""),
        ("http://", ""),
        ("../../etc/passwd", ""),
        ("", ""),
    ],
)
def test_a_host_is_read_from_a_url(url: str, host: str) -> None:
    assert host_of(url) == host


@given(st.text())
def test_any_url_has_a_host_or_none(url: str) -> None:
    assert "/" not in host_of(url) and "/" not in host_of(f"http://{url}")


def test_a_page_belongs_to_the_first_subset_that_names_its_host(tmp_path: Path) -> None:
    hosts = ["en.wikipedia.org", "de.wikipedia.org", "www.bbc.com", "sport.bbc.com", "BBC.com:443"]
    records = [web.page(f"https://{host}/a", "A page that has text.") for host in hosts]
    (tmp_path / f"{MAY}.warc").write_bytes(web.plain(records))
    found = read(CrawlDocuments(paths=(str(tmp_path),)))
    assert [one.source for one in found if isinstance(one, Document)] == ["wiki", "", "news", "", "news"]
    both = (HostSet(name="first", hosts=("bbc.com",)), *CrawlDocuments(paths=("x",)).subsets)
    found = read(CrawlDocuments(paths=(str(tmp_path),), subsets=both))
    assert [one.source for one in found if isinstance(one, Document)] == ["wiki", "", "first", "", "first"]


def test_the_packaged_sets_are_hosts_without_overlap() -> None:
    assert len(WIKI.hosts) == 4 and len(NEWS.hosts) >= 70
    assert not set(WIKI.hosts) & set(NEWS.hosts)
