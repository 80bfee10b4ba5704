"""Releases of a project, and an index that says where their sources are: on loopback, in both of its languages."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import date
from typing import Any

import pytest
import web

from ticlm.core.errors import InputError, RunError
from ticlm.core.settings import parse
from ticlm.datasets.codedocs.releases import Index, Release
from ticlm.datasets.io import fetching
from ticlm.datasets.io.fetching import Patience

FILES = {
    "toy-1.2.0.zip": ("2017-06-07T14:00:00.123Z", "a" * 64),
    "toy-1.2.0.tar.gz": ("2017-06-07T14:00:00Z", "b" * 64),
    "toy-1.10.0.tar.gz": ("2019-01-14T00:00:00Z", "c" * 64),
    "toy-1.10.0-cp37-none-any.whl": ("2019-01-14T00:00:00Z", "d" * 64),
    "toy-2.0.0rc1.tar.gz": ("", "e" * 64),
    "other-9.0.tar.gz": ("", "f" * 64),
    "toy-nonsense-.exe": ("", ""),
}


@pytest.fixture(autouse=True)
def _impatient(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(fetching, "PATIENCE", Patience(tries=3, first_s=0.001, most_s=0.002))
    yield


def html(times: bool = False) -> bytes:
    links = [
        f'<a href="../../files/{name}#sha256={sha}"{f""" data-upload-time="{when}" """ if times else ""}>{name}</a>'
        for name, (when, sha) in FILES.items()
    ]
    return f"<!DOCTYPE html><html><body><a name='top'></a>{'<br/>'.join(links)}</body></html>".encode()


def as_json() -> bytes:
    files: list[dict[str, Any]] = [
        {"filename": name, "url": f"../../files/{name}", "hashes": {"sha256": sha}, "size": 7, "upload-time": when}
        for name, (when, sha) in FILES.items()
    ]
    return json.dumps({"meta": {"api-version": "1.1"}, "name": "toy", "files": files}).encode()


@pytest.mark.parametrize("page", [html(), html(times=True), as_json()])
def test_the_sources_of_a_version_are_found_in_both_languages_of_an_index(page: bytes) -> None:
    with web.served({"simple/toy/": page}) as site:
        index = Index(f"{site.url}/simple/", "Toy")
        found = index.sdist("1.2")
        assert (found.url, found.sha256) == (f"{site.url}/files/toy-1.2.0.tar.gz", "b" * 64)
        assert found.uploaded == (None if page == html() else date(2017, 6, 7))
        assert found.bytes == (7 if page == as_json() else 0)
        assert index.sdist("2.0.0rc1").uploaded is None
        assert [str(version) for version, _ in index.uploads()] == ["1.2.0", "1.10.0", "2.0.0rc1"]


@pytest.mark.parametrize("sha256", ["bb", "/../../../etc/cron.d/x", "b" * 63 + "g", "b" * 65, "b" * 64 + "\n"])
def test_a_hash_that_is_none_counts_as_none(sha256: str) -> None:
    page = as_json().replace(b"b" * 64, json.dumps(sha256)[1:-1].encode())
    with web.served({"simple/toy/": page}) as site:
        assert Index(f"{site.url}/simple/", "toy").sdist("1.2").sha256 == ""


def test_a_version_that_is_not_there_is_told_with_its_neighbours() -> None:
    with web.served({"simple/toy/": html()}) as site:
        index = Index(f"{site.url}/simple", "toy")
        with pytest.raises(
            InputError, match=r"no sources of version 1\.3.*the nearest of 3 are 1\.2\.0, 1\.10\.0, 2\.0"
        ):
            index.sdist("1.3")
        with pytest.raises(InputError, match="'first' is no version"):
            index.sdist("first")


def test_a_project_without_sources_and_one_that_is_not_there_are_told() -> None:
    wheels = b'<a href="toy-1.0-py3-none-any.whl">toy-1.0-py3-none-any.whl</a>'
    with web.served({"simple/toy/": wheels}) as site:
        with pytest.raises(InputError, match="no sources of it, only what is built; give its releases a path"):
            Index(f"{site.url}/simple", "toy").sdist("1.0")
        with pytest.raises(InputError, match="no such project"):
            Index(f"{site.url}/simple", "nope")


def test_an_index_that_fails_is_asked_again() -> None:
    with web.served({"simple/toy/": html()}, faults=["503", "500"]) as site:
        assert Index(f"{site.url}/simple", "toy").sdist("1.10.0").sha256 == "c" * 64
    with web.served({"simple/toy/": html()}, faults=["503"] * 9) as site, pytest.raises(RunError, match="503"):
        Index(f"{site.url}/simple", "toy")


@pytest.mark.parametrize("page", [b'{"files": 3}', b"{", b'{"files": [{}]}', b""])
def test_what_is_no_index_is_said_in_one_line(page: bytes) -> None:
    with web.served({"simple/toy/": page}) as site, pytest.raises(RunError, match=r"no list of files|no page of links"):
        Index(f"{site.url}/simple", "toy")


def test_pips_setting_names_the_index_and_its_password_is_not_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    with web.served({"simple/toy/": html()}) as site:
        monkeypatch.setenv("PIP_INDEX_URL", f"{site.url}/simple")
        assert Index("", "toy").sdist("1.10.0").sha256 == "c" * 64
        monkeypatch.setenv("PIP_INDEX_URL", f"{site.url}/simple".replace("//", "//me:secret@"))
        with pytest.raises(InputError) as told:
            Index("", "nope")
        assert "secret" not in str(told.value) and "127.0.0.1" in str(told.value)


def test_pips_file_names_the_index_too(monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> None:
    monkeypatch.delenv("PIP_INDEX_URL", raising=False)
    monkeypatch.setenv("PIP_CONFIG_FILE", f"{tmp_path}/pip.conf")
    with web.served({"simple/toy/": as_json()}) as site:
        (tmp_path / "pip.conf").write_text(f"[global]\nindex-url = {site.url}/simple\n")
        assert [str(version) for version, _ in Index("", "toy").sdists()] == ["1.2.0", "1.10.0", "2.0.0rc1"]
    (tmp_path / "pip.conf").write_text("index-url\n")
    with pytest.raises(InputError, match="index: pip's configuration cannot be read"):
        Index("", "toy")


def test_an_index_can_be_a_folder(tmp_path: Any) -> None:
    folder = tmp_path / "simple/toy"
    folder.mkdir(parents=True)
    (folder / "index.html").write_bytes(html())
    assert Index(f"file://{tmp_path}/simple", "toy").sdist("1.2.0").url.endswith("/files/toy-1.2.0.tar.gz")


@pytest.mark.parametrize(
    ("written", "day"),
    [("2017-06", date(2017, 6, 1)), (201706, date(2017, 6, 1)), ("2017-06-07", date(2017, 6, 7)), (None, None)],
)
def test_a_release_has_a_date_or_a_month(written: object, day: date | None) -> None:
    assert parse(Release, {"version": "1.0", "date": written}, "here").date == day


def test_a_version_that_yaml_took_for_a_number_is_refused() -> None:
    with pytest.raises(InputError, match=r"quotation marks, got 1\.2"):
        parse(Release, {"version": 1.2}, "here")
    with pytest.raises(InputError, match="not a date: 'soon'"):
        parse(Release, {"version": "1.2", "date": "soon"}, "here")
