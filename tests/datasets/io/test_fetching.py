"""Fetching: remote files through servers that fail, and servers that will not have it."""

from __future__ import annotations

import gzip
import json
import random
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest
import web

from ticlm.core.errors import InputError
from ticlm.core.periods import Calendar
from ticlm.datasets.io import fetching, http_requests, records
from ticlm.datasets.io.documents import Document
from ticlm.datasets.io.fetching import Patience, Unreachable, listed, opened
from ticlm.datasets.io.file_documents import FileDocuments

DATA = random.Random(0).randbytes(100_000)
BLOCK = 30_000


@pytest.fixture(autouse=True)
def _impatient(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(fetching, "BLOCK", BLOCK)
    monkeypatch.setattr(fetching, "PATIENCE", Patience(tries=4, first_s=0.001, most_s=0.002))
    monkeypatch.setattr(fetching, "STALL_S", 2.0)
    yield


def read(url: str) -> bytes:
    with opened(url) as file:
        parts = []
        while part := file.read(7_001):
            parts.append(part)
    return b"".join(parts)


def test_a_local_file_is_read_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(DATA)
    assert read(str(tmp_path / "a")) == DATA
    with pytest.raises(FileNotFoundError):
        read(str(tmp_path / "b"))


def test_a_remote_file_comes_in_blocks_by_ranges() -> None:
    with web.served({"a": DATA}) as site:
        assert read(f"{site.url}/a") == DATA
    assert site.gets() == ["bytes=0-29999", "bytes=30000-59999", "bytes=60000-89999", "bytes=90000-99999"]


@pytest.mark.parametrize("fault", ["503", "500", "429", "close", "short"])
@pytest.mark.parametrize("ranges", [True, False])
def test_a_fault_is_waited_out_and_reading_goes_on_where_it_broke(fault: str, ranges: bool) -> None:
    with web.served({"a": DATA}, ranges=ranges, faults=["ok" if ranges else fault, fault, "ok", fault]) as site:
        assert read(f"{site.url}/a") == DATA
    if ranges:
        assert site.gets().count("bytes=30000-59999") == 2
        assert site.gets().count("bytes=0-29999") == 1


def test_a_server_that_ignores_ranges_without_saying_so_is_read_as_a_stream() -> None:
    with web.served({"a": DATA}, ranges=False) as site:
        site.header["Accept-Ranges"] = "bytes"
        assert read(f"{site.url}/a") == DATA


@pytest.mark.parametrize("ranges", [True, False])
def test_a_server_that_names_no_length_is_read_to_its_end(ranges: bool) -> None:
    with web.served({"a": DATA}, ranges=ranges, lengths=False) as site:
        assert read(f"{site.url}/a") == DATA


def test_bytes_that_a_server_calls_packed_stay_packed() -> None:
    """Or a `.gz` would arrive unpacked, and of another length than announced."""
    packed = gzip.compress(DATA)
    with web.served({"a.gz": packed}, header={"Content-Encoding": "gzip"}) as site:
        assert read(f"{site.url}/a.gz") == packed


def test_patience_ends_and_says_so_in_one_line() -> None:
    with web.served({"a": DATA}, faults=["ok", *["503"] * 50]) as site, pytest.raises(Unreachable) as caught:
        read(f"{site.url}/a")
    assert str(caught.value) == f"{site.url}/a cannot be read after 4 tries (byte 30000): HTTP status 503"
    assert site.gets().count("bytes=30000-59999") == 4


@pytest.mark.parametrize(
    ("header", "least"),
    [
        ({"Retry-After": "7"}, 7),
        ({"Retry-After": "9999"}, 300),
        ({"RateLimit": '"resolvers";r=0;t=23', "RateLimit-Policy": '"fixed window";q=3000;w=300'}, 23),
        ({"Retry-After": "Fri, 01 Mar 2024 00:00:00 GMT"}, 0),
        ({"Retry-After": "soon"}, 0),
    ],
)
@pytest.mark.parametrize("status", ["429", "503"])
def test_a_server_that_says_how_long_is_waited_for(
    status: str, header: dict[str, str], least: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    waits: list[float] = []
    monkeypatch.setattr("tenacity.nap.time", SimpleNamespace(sleep=waits.append))
    with web.served({"a": DATA}, faults=["ok", status], refusal=header) as site:
        assert read(f"{site.url}/a") == DATA
    assert len(waits) == 1 and least <= waits[0] <= least + 0.01


def test_a_proxy_of_the_environment_is_asked_and_its_login_is_not_in_the_address(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name in ("http_proxy", "HTTP_PROXY", "no_proxy", "NO_PROXY"):
        monkeypatch.delenv(name, raising=False)
    with web.served({"http://far.invalid/a": DATA}) as site:
        monkeypatch.setenv("http_proxy", site.url.replace("://", "://me:secret@"))
        assert read("http://far.invalid/a") == DATA
        monkeypatch.setenv("no_proxy", "far.invalid")
        assert http_requests.proxy("http://far.invalid/a") == {} != http_requests.proxy("http://other.invalid/a")
    assert "secret" not in str(http_requests.proxy("http://other.invalid/a")["proxy"])


@pytest.mark.parametrize("status", ["403", "404", "410"])
def test_a_refusal_is_final(status: str) -> None:
    with web.served({"a": DATA}, faults=["ok", status]) as site:
        with pytest.raises(Unreachable, match=f"HTTP status {status}"):
            read(f"{site.url}/a")
        assert len(site.gets()) == 2
        with pytest.raises(Unreachable, match="HTTP status 404"):
            read(f"{site.url}/nowhere")


def test_nobody_listening_is_unreachable_after_all_tries() -> None:
    with web.served({}) as site:
        pass
    with pytest.raises(Unreachable, match="after 4 tries"):
        read(f"{site.url}/a")


def test_a_silent_server_is_asked_again(monkeypatch: pytest.MonkeyPatch) -> None:
    import socket

    monkeypatch.setattr(fetching, "STALL_S", 0.1)
    monkeypatch.setattr(fetching, "PATIENCE", Patience(tries=2, first_s=0.001, most_s=0.002))
    with socket.socket() as deaf:
        deaf.bind(("127.0.0.1", 0))
        deaf.listen()
        with pytest.raises(Unreachable, match="after 2 tries"):
            read(f"http://127.0.0.1:{deaf.getsockname()[1]}/a")


@pytest.mark.parametrize("new", [DATA[:-1], DATA + b"x", bytes(len(DATA))])
def test_a_file_that_changes_while_it_is_read_is_an_error(new: bytes) -> None:
    with (
        web.served({"a": DATA}, header={"ETag": '"one"'}) as site,
        pytest.raises(Unreachable, match="changed while it was read"),
        opened(f"{site.url}/a") as file,
    ):
        assert file.read(10) == DATA[:10]
        site.files["a"], site.header["ETag"] = new, '"two"'
        file.read()


def test_a_file_that_changes_is_no_damage() -> None:
    with (
        web.served({"a": DATA}, header={"ETag": '"one"'}) as site,
        pytest.raises(Unreachable, match=r'ETag was "one", is "two"'),
        opened(f"{site.url}/a") as file,
    ):
        file.read(10)
        site.header["ETag"] = '"two"'
        raise ValueError("what a decoder says of two halves")


def test_a_protocol_nobody_knows_is_unreachable_at_once() -> None:
    with pytest.raises(Unreachable, match="nonsense://a cannot be read"):
        read("nonsense://a")


@pytest.mark.parametrize("ranges", [True, False])
def test_a_remote_file_can_be_read_from_anywhere(ranges: bool) -> None:
    with web.served({"a": DATA}, ranges=ranges) as site, opened(f"{site.url}/a") as file:
        for place in (70_000, 5, 99_999, 30_000):
            file.seek(place)
            assert file.read(40_000) == DATA[place : place + 40_000]
        file.seek(-3, 2)
        assert file.read() == DATA[-3:]


def test_a_file_in_a_bucket_is_read_and_a_missing_one_is_unreachable_at_once(s3_bucket: str) -> None:
    import fsspec

    with fsspec.open(f"{s3_bucket}/a", "wb") as file:
        file.write(DATA)
    assert read(f"{s3_bucket}/a") == DATA
    with pytest.raises(Unreachable, match=r"/b cannot be read \("):
        read(f"{s3_bucket}/b")
    with pytest.raises(Unreachable, match="changed while it was read"), opened(f"{s3_bucket}/a") as changing:
        assert changing.read(10) == DATA[:10]
        with fsspec.open(f"{s3_bucket}/a", "wb") as file:
            file.write(DATA[::-1])
        changing.read()


def test_a_list_of_paths_is_read_packed_or_plain(tmp_path: Path) -> None:
    text = b"crawl-data/a.warc.gz\n\n  crawl-data/b.warc.gz \n"
    with web.served({"p.gz": gzip.compress(text), "p": text, "bad.gz": gzip.compress(text)[:-9]}) as site:
        assert listed(f"{site.url}/p.gz") == listed(f"{site.url}/p") == ["crawl-data/a.warc.gz", "crawl-data/b.warc.gz"]
        with pytest.raises(InputError, match="no list of paths"):
            listed(f"{site.url}/bad.gz")


def lines(count: int) -> bytes:
    record = {"timestamp": "2013-05-01", "url": "u"}
    return b"".join(json.dumps({**record, "text": f"line {n} {DATA[n]}"}).encode() + b"\n" for n in range(count))


@pytest.mark.parametrize("name", ["a.jsonl", "a.jsonl.gz"])
def test_records_come_through_faults(name: str) -> None:
    data = gzip.compress(lines(2_000), 0) if name.endswith(".gz") else lines(2_000)
    with web.served({name: data}, faults=["ok", "503", "close", "ok", "short"]) as site:
        reader = FileDocuments(paths=(f"{site.url}/{name}",))
        (entry,) = reader.inputs(Calendar())
        (piece,) = reader.pieces(entry)
        found = list(reader.read(piece))
    assert len(found) == 2_000
    assert all(isinstance(one, Document) for one in found)


def test_stretches_of_a_remote_file_join(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(records, "STRETCH", 10_000)
    with web.served({"a.jsonl": lines(2_000)}) as site:
        reader = FileDocuments(paths=(f"{site.url}/a.jsonl",))
        (entry,) = reader.inputs(Calendar())
        pieces = reader.pieces(entry)
        assert len(pieces) > 2
        assert sum(len(list(reader.read(piece))) for piece in pieces) == 2_000


@pytest.mark.parametrize("name", ["a.jsonl", "a.parquet"])
def test_an_unreachable_file_of_records_is_neither_damage_nor_the_users_mistake(name: str, tmp_path: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    if name == "a.parquet":
        table = pa.table({"text": [str(DATA[n : n + 60]) for n in range(2_000)]})
        pq.write_table(table, tmp_path / name, row_group_size=100)
        data = (tmp_path / name).read_bytes()
    else:
        data = lines(2_000)
    with (
        web.served({name: data}, faults=["ok", *["503"] * 99]) as site,
        pytest.raises(Unreachable, match="HTTP status 503"),
    ):
        list(records.records(f"{site.url}/{name}", 0, None, ("text",)))
