"""Unpacked: files of every packing as streams, whole, cut off, and from afar."""

from __future__ import annotations

import bz2
import gzip
import io
import random
import subprocess
import sys
import threading
from pathlib import Path

import py7zr
import pytest
import web
import zstandard

from ticlm.datasets.io.unpack import Damaged, unpacked

DATA = random.Random(0).randbytes(300_000) + b"\n".join(b"a line %d" % n for n in range(50_000))
HALF = len(DATA) // 2
PLAIN = ("", ".gz", ".bz2", ".zst")


def seven(members: dict[str, bytes]) -> bytes:
    sink = io.BytesIO()
    with py7zr.SevenZipFile(sink, "w", filters=[{"id": py7zr.FILTER_LZMA2, "preset": 1}]) as archive:
        for name, data in members.items():
            archive.writestr(data, name)
    return sink.getvalue()


def packed(suffix: str, data: bytes = DATA) -> bytes:
    match suffix:
        case ".gz":
            return gzip.compress(data, 1, mtime=0)
        case ".bz2":
            return bz2.compress(data, 1)
        case ".zst":
            return zstandard.compress(data)
        case ".7z":
            return seven({"a.xml": data})
    return data


def everything(path: str | Path) -> dict[str, bytes]:
    return {name: stream.read() for name, stream in unpacked(str(path))}


@pytest.mark.parametrize("suffix", PLAIN)
def test_a_file_of_any_packing_gives_what_is_in_it(suffix: str, tmp_path: Path) -> None:
    (tmp_path / f"a.xml{suffix}").write_bytes(packed(suffix))
    assert everything(tmp_path / f"a.xml{suffix}") == {"a.xml": DATA}


@pytest.mark.parametrize("suffix", PLAIN)
def test_several_streams_in_a_row_are_one(suffix: str, tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(packed(suffix, DATA[:HALF]) + packed(suffix, DATA[HALF:]))
    assert everything(tmp_path / "a") == {"a": DATA}


def test_how_a_file_begins_counts_for_more_than_its_name(tmp_path: Path) -> None:
    (tmp_path / "a.bz2").write_bytes(packed(".gz"))
    assert everything(tmp_path / "a.bz2")["a.bz2"] == DATA
    (tmp_path / "b.bz2").write_bytes(b"<mediawiki>")
    with pytest.raises(Damaged, match=r"b\.bz2 is named \.bz2 and does not begin like one"):
        everything(tmp_path / "b.bz2")


@pytest.mark.parametrize("suffix", [".gz", ".bz2", ".zst"])
def test_of_a_file_that_is_cut_off_what_came_before_was_read(suffix: str, tmp_path: Path) -> None:
    data = packed(suffix)
    (tmp_path / "a").write_bytes(data[: len(data) * 3 // 4])
    members = unpacked(str(tmp_path / "a"))
    _, stream = next(members)
    read = b""
    with pytest.raises(Damaged, match="is damaged"):
        while block := stream.read(1000):
            read += block
    assert read and DATA.startswith(read)


def test_members_of_a_7z_come_in_order_and_only_those_that_are_wanted(tmp_path: Path) -> None:
    (tmp_path / "a.7z").write_bytes(seven({"b": DATA, "empty": b"", "folder/a": b"later"}))
    assert everything(tmp_path / "a.7z") == {"b": DATA, "empty": b"", "folder/a": b"later"}
    assert [name for name, _ in unpacked(str(tmp_path / "a.7z"), lambda name: name != "b")] == ["empty", "folder/a"]
    assert list(unpacked(str(tmp_path / "a.7z"), lambda name: False)) == []


def test_what_is_not_read_of_a_member_is_passed_over_and_no_thread_stays(tmp_path: Path) -> None:
    (tmp_path / "a.7z").write_bytes(seven({"b": DATA * 20, "a": b"later"}))
    before = set(threading.enumerate())  # some of earlier tests may end meanwhile
    heads = {name: stream.read(3) for name, stream in unpacked(str(tmp_path / "a.7z"))}
    assert heads == {"b": DATA[:3], "a": b"lat"}
    left = unpacked(str(tmp_path / "a.7z"))
    next(left)[1].read(3)
    left.close()  # type: ignore[attr-defined]
    assert not set(threading.enumerate()) - before


def test_a_7z_that_is_broken_is_damaged_where_it_breaks(tmp_path: Path) -> None:
    whole = bytearray(seven({"a": DATA}))
    (tmp_path / "cut.7z").write_bytes(whole[: len(whole) // 2])  # without its table of contents
    with pytest.raises(Damaged, match=r"cut\.7z is damaged"):
        everything(tmp_path / "cut.7z")
    whole[200_000] ^= 1
    (tmp_path / "flipped.7z").write_bytes(whole)
    with pytest.raises(Damaged, match=r"flipped\.7z is damaged"):
        everything(tmp_path / "flipped.7z")


def test_a_7z_with_a_password_says_so(tmp_path: Path) -> None:
    with py7zr.SevenZipFile(tmp_path / "a.7z", "w", password="secret") as archive:
        archive.writestr(DATA, "a")
    with pytest.raises(Damaged) as error:
        everything(tmp_path / "a.7z")
    assert str(error.value) == f"{tmp_path / 'a.7z'} is packed with a password; unpack it first"


@pytest.mark.parametrize("suffix", [".bz2", ".7z"])
def test_a_file_from_afar_is_read_as_one_that_is_here(suffix: str) -> None:
    with web.served({f"a.xml{suffix}": packed(suffix)}) as site:
        assert everything(f"{site.url}/a.xml{suffix}") == {"a.xml": DATA}


def test_a_file_that_is_not_there_is_no_damage(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        everything(tmp_path / "a.gz")


MEMORY = """
import psutil, sys
from ticlm.datasets.io.unpack import unpacked
import py7zr
rss = lambda: psutil.Process().memory_info().rss >> 20
for name, stream in unpacked(sys.argv[1]):
    stream.read(1000)
    before, most, length = rss(), 0, 1000
    while block := stream.read(1 << 18):
        length += len(block)
        most = max(most, rss())
    print(length, most - before)
"""


@pytest.mark.slow
@pytest.mark.parametrize("suffix", [".gz", ".bz2", ".zst", ".7z"])
def test_memory_does_not_grow_with_what_is_inside(suffix: str, tmp_path: Path) -> None:
    data = b"\n".join(b"%x is the square of %d" % (n * n, n) for n in range(2_500_000))
    (tmp_path / "a").write_bytes(packed(suffix, data))
    ran = subprocess.run([sys.executable, "-c", MEMORY, tmp_path / "a"], capture_output=True, text=True, check=True)
    length, grown_mib = map(int, ran.stdout.split())
    assert length == len(data)
    assert grown_mib < 24, f"{grown_mib} MiB for {length >> 20} MiB"
