"""Listing of files: symbolic links are files, and folders, like those that they lead to."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from ticlm.core.errors import InputError
from ticlm.datasets.io.listing import files


def _names(*patterns: Path | str) -> list[str]:
    return [Path(entry.path).name for entry in files([str(pattern) for pattern in patterns], (".jsonl",))]


@pytest.fixture
def linked(tmp_path: Path) -> Path:
    """A folder whose only file stands elsewhere, and which leads to a folder elsewhere and to itself."""
    (tmp_path / "else/deep").mkdir(parents=True)
    (tmp_path / "else/a.jsonl").write_text("{}\n" * 100)
    (tmp_path / "else/deep/b.jsonl").write_text("{}\n")
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "link.jsonl").symlink_to("../else/a.jsonl")
    (folder / "deep").symlink_to("../else/deep")
    (folder / "again").symlink_to("../folder")
    return folder


def test_globs_and_folders_follow_links(linked: Path) -> None:
    assert _names(linked / "*.jsonl") == ["link.jsonl"]
    assert _names(linked) == ["b.jsonl", "link.jsonl"]


def test_a_link_has_the_size_and_the_time_of_its_file(linked: Path) -> None:
    (found,) = files([str(linked / "*.jsonl")], (".jsonl",))
    os.utime(linked.parent / "else/a.jsonl", (1, 1))
    (touched,) = files([str(linked / "*.jsonl")], (".jsonl",))
    assert found.size == touched.size == 300
    assert found.stamp != touched.stamp


def test_a_file_that_several_links_lead_to_is_listed_once(linked: Path) -> None:
    (linked / "other.jsonl").symlink_to("link.jsonl")
    assert _names(linked / "*.jsonl") == ["link.jsonl"]
    assert _names(linked.parent / "else", linked) == ["a.jsonl", "b.jsonl"]


@pytest.mark.parametrize("pattern", ["*.jsonl", ""])
def test_a_link_to_nothing_is_refused(linked: Path, pattern: str) -> None:
    (linked / "lost.jsonl").symlink_to("nowhere")
    with pytest.raises(InputError, match=r"folder/lost\.jsonl is a link to nothing"):
        _names(linked / pattern)
