"""Trees of files in folders and archives of every kind, and archives that mean harm."""

from __future__ import annotations

import io
import os
import tarfile
import zipfile
from collections.abc import Mapping
from pathlib import Path

import pytest
import web
from hypothesis import given
from hypothesis import strategies as st

from ticlm.core.errors import InputError, RunError
from ticlm.datasets.codedocs import archives
from ticlm.datasets.codedocs.archives import describe, files

TREE = {"top/a.rst": b"one", "top/b/c.py": b"two" * 999, "top/b/d.png": b"\x89PNG", "top/e": b""}
SUFFIXES = [".zip", ".whl", ".tar", ".tar.gz", ".tgz", ".tar.bz2", ".tar.xz"]


def packed(tree: Mapping[str, bytes], suffix: str) -> bytes:
    sink = io.BytesIO()
    if suffix in (".zip", ".whl"):
        with zipfile.ZipFile(sink, "w", zipfile.ZIP_DEFLATED) as into:
            for name, data in tree.items():
                into.writestr(name, data)
        return sink.getvalue()
    mode = {".tar": "w", ".tgz": "w:gz"}.get(suffix, "w:" + suffix.rsplit(".", 1)[-1])
    with tarfile.open(fileobj=sink, mode=mode) as archive:  # type: ignore[call-overload]
        for name, data in tree.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(data)
            archive.addfile(entry, io.BytesIO(data))
    return sink.getvalue()


def read(path: str | Path, sha256: str = "") -> dict[str, bytes | str]:
    return dict(files(str(path), lambda name: "a picture" if name.endswith(".png") else "", sha256))


def written(folder: Path, suffix: str, tree: Mapping[str, bytes] = TREE) -> Path:
    path = folder / f"tree{suffix}"
    path.write_bytes(packed(tree, suffix))
    return path


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_every_archive_gives_the_files_of_its_folder(tmp_path: Path, suffix: str) -> None:
    for name, data in TREE.items():
        (tmp_path / "folder" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "folder" / name).write_bytes(data)
    expected = {**TREE, "top/b/d.png": "a picture"}
    assert read(tmp_path / "folder") == expected
    assert read(written(tmp_path, suffix)) == expected


@pytest.mark.parametrize("suffix", [".zip", ".tar.gz"])
@pytest.mark.parametrize(
    ("top", "kept"),
    [("toy-1.2.0/", ""), ("1.2.0/", ""), ("./toy-v2/", ""), ("toy-0a1b2c3d/", ""), ("toy-main/", ""), ("doc/", "doc/")],
)
def test_the_folder_of_a_release_is_no_part_of_its_files_names(
    tmp_path: Path, suffix: str, top: str, kept: str
) -> None:
    assert set(read(written(tmp_path, suffix, {f"{top}a.rst": b"1", f"{top}b/c.rst": b"2"}))) == {
        f"{kept}a.rst",
        f"{kept}b/c.rst",
    }
    two = {"toy-1.2.0/a.rst": b"1", "toy-1.3.0/a.rst": b"2"}
    assert set(read(written(tmp_path, suffix, two))) == set(two)


def test_an_archive_is_read_by_what_it_is(tmp_path: Path) -> None:
    path = tmp_path / "tree.tar.gz"
    path.write_bytes(packed(TREE, ".zip"))
    assert read(path)["top/a.rst"] == b"one"


@pytest.mark.parametrize("suffix", [".zip", ".tar.gz"])
def test_a_remote_archive_is_fetched_and_its_hash_compared(tmp_path: Path, suffix: str) -> None:
    import hashlib

    data = packed(TREE, suffix)
    with web.served({f"tree{suffix}": data}) as site:
        assert read(f"{site.url}/tree{suffix}", hashlib.sha256(data).hexdigest())["top/a.rst"] == b"one"
        with pytest.raises(RunError, match="its sha256 is"):
            read(f"{site.url}/tree{suffix}", "0" * 64)
    with pytest.raises(RunError, match="its sha256 is"):
        read(written(tmp_path, suffix), "0" * 64)


@pytest.mark.parametrize("suffix", SUFFIXES)
@pytest.mark.parametrize("share", [0.0, 0.3, 0.6, 0.85])
def test_half_an_archive_is_none(tmp_path: Path, suffix: str, share: float) -> None:
    path = written(tmp_path, suffix, {f"top/{n}.rst": os.urandom(3000) for n in range(20)})
    path.write_bytes(path.read_bytes()[: int(share * path.stat().st_size)])
    with pytest.raises(InputError, match="cut off, damaged, or no archive") as told:
        read(path)
    assert "\n" not in str(told.value)


def test_an_archive_that_ends_after_a_whole_file_is_cut_off_too(tmp_path: Path) -> None:
    path = tmp_path / "a.tar"
    path.write_bytes(packed({"a.rst": bytes(512), "b.rst": bytes(512)}, ".tar")[:2048])
    with pytest.raises(InputError, match="its end is missing"):
        read(path)


@given(at=st.integers(0, 2_000), bit=st.integers(0, 7), suffix=st.sampled_from([".zip", ".tar.gz"]))
def test_damage_is_found_or_does_no_harm(
    tmp_path_factory: pytest.TempPathFactory, at: int, bit: int, suffix: str
) -> None:
    path = written(tmp_path_factory.mktemp("damage"), suffix, {"top/a.rst": b"one two three" * 50})
    data = bytearray(path.read_bytes())
    data[at % len(data)] ^= 1 << bit
    path.write_bytes(data)
    try:
        found = read(path)
    except InputError as told:
        assert "\n" not in str(told)
    else:
        assert all(value in (b"one two three" * 50,) or isinstance(value, str) for value in found.values())


def test_a_file_that_leads_out_of_its_archive_is_not_read(tmp_path: Path) -> None:
    evil = {"../../a.rst": b"1", "/etc/b.rst": b"2", "top/../../c.rst": b"3", "C:\\d.rst": b"4", "top/e.rst": b"5"}
    for suffix in (".zip", ".tar.gz"):
        found = read(written(tmp_path, suffix, evil))
        assert [name for name, value in found.items() if isinstance(value, bytes)] == ["top/e.rst"]
        assert list(found.values()).count(archives.OUTSIDE) == 4


def test_a_link_is_not_followed(tmp_path: Path) -> None:
    sink = io.BytesIO()
    with tarfile.open(fileobj=sink, mode="w") as archive:
        for kind in (tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.FIFOTYPE):
            entry = tarfile.TarInfo(f"link{kind.decode()}.rst")
            entry.type, entry.linkname = kind, "/etc/passwd"
            archive.addfile(entry)
    (tmp_path / "a.tar").write_bytes(sink.getvalue())
    assert set(read(tmp_path / "a.tar").values()) == {archives.LINK}
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "a.rst").symlink_to("/etc/passwd")
    assert read(folder) == {"a.rst": archives.LINK}


@pytest.mark.parametrize("suffix", [".zip", ".tar.gz"])
def test_a_bomb_does_not_go_off(tmp_path: Path, suffix: str, monkeypatch: pytest.MonkeyPatch) -> None:
    path = written(tmp_path, suffix, {f"{n}.rst": bytes(100_000) for n in range(20)} | {"z.rst": b"small"})
    monkeypatch.setattr(archives, "MOST_BYTES", 50_000)
    assert sorted(map(str, set(read(path).values()))) == ["b'small'", archives.TOO_LARGE]
    monkeypatch.setattr(archives, "UNPACKED_BYTES", 200_000)
    with pytest.raises(InputError, match="unpacks to more than 200,000 bytes"):
        read(path)


def test_a_folder_is_one_input_that_changes_with_any_of_its_files(tmp_path: Path) -> None:
    (tmp_path / "docs/b").mkdir(parents=True)
    (tmp_path / "docs/a.rst").write_bytes(b"12345")
    (tmp_path / "docs/b/c.rst").write_bytes(b"123")
    before = describe(str(tmp_path / "docs"))
    assert before.size == 8 and before == describe(str(tmp_path / "docs/"))
    (tmp_path / "docs/b/c.rst").write_bytes(b"1234")
    assert describe(str(tmp_path / "docs")) != before
    for missing in ("nothing", "nothing.zip"):
        with pytest.raises(InputError, match="nothing"):
            describe(str(tmp_path / missing))
