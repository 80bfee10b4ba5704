"""Releases of a project: versions and dates, and where an index of packages keeps their sources."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, datetime
from typing import Annotated, Any
from urllib.parse import unquote, urldefrag, urljoin, urlsplit, urlunsplit

from pydantic import BeforeValidator, Field

from ticlm.datasets.io import fetching
from ticlm.datasets.io.documents import moment
from ticlm.datasets.io.retry import in_one_line, passing
from ticlm.platform.core.errors import InputError, RunError
from ticlm.platform.core.periods import Label
from ticlm.platform.core.settings import Settings

ACCEPTED = "application/vnd.pypi.simple.v1+json, application/vnd.pypi.simple.v1+html;q=0.2, text/html;q=0.01"
NEAREST = 12


def _day(value: object) -> object:
    if value is None:
        return None
    try:
        return moment(str(value) if isinstance(value, int) else value).date()
    except ValueError:
        raise ValueError(f"not a date: {value!r}; write YYYY-MM-DD or YYYY-MM") from None


def _version(value: object) -> object:
    if isinstance(value, float):
        raise ValueError(f"versions are texts: write it in quotation marks, got {value!r}")
    return value


def _from_version(value: object) -> object:
    return value if isinstance(value, Mapping | Release) else {"version": value}


Day = Annotated[date | None, BeforeValidator(_day)]


class Release(Settings):
    """A version, the day it came out (or its month, which is then the first of it; where empty, the index has to know),
    and a folder or archive with what `CodeDocs` reads, if it is not where that says."""

    version: Annotated[Label, BeforeValidator(_version)] = Field(min_length=1)
    date: Day = None
    path: str = ""


AnyRelease = Annotated[Release, BeforeValidator(_from_version)]
"""A release, or only its version."""


@dataclass(frozen=True, slots=True)
class Sdist:
    """A source distribution on an index; `sha256`, `bytes` and `uploaded` as far as the index says them."""

    url: str
    sha256: str
    bytes: int
    uploaded: date | None


class Index:
    """The page of a project on an index of packages with the simple API (PEP 503, 691, 700), read when it is made.

    `url` is where the index is; where empty, pip's PIP_INDEX_URL, or the public one. A name and password in it are in
    no address that comes out. InputError for a project that it does not have, RunError where it cannot be read.
    """

    def __init__(self, url: str, project: str) -> None:
        from packaging.utils import canonicalize_name

        self.project = project
        whole = f"{_root(url)}/{canonicalize_name(project)}/"
        self.url = _without_login(whole)
        self._sdists = self._read(_asked(whole, self.url, project))

    def sdist(self, version: str) -> Sdist:
        """The source distribution of a version (1.13 is 1.13.0); InputError with the nearest there are."""
        from packaging.version import InvalidVersion, Version

        try:
            wanted = Version(version)
        except InvalidVersion:
            raise InputError(f"{self.project}: {version!r} is no version of Python packages (PEP 440)") from None
        if wanted in self._sdists:
            return self._sdists[wanted]
        if not self._sdists:
            raise InputError(
                f"{self.project}: {self.url} has no sources of it, only what is built; give its releases a path"
            )
        have = sorted(self._sdists)
        at = sum(one < wanted for one in have)
        near = have[max(0, at - NEAREST // 2) : at + NEAREST // 2]
        raise InputError(
            f"{self.project}: no sources of version {version} at {self.url}; the nearest of {len(have)} are "
            f"{', '.join(map(str, near))}"
        )

    def _read(self, data: bytes) -> dict[Any, Sdist]:
        """By version; of several formats `.tar.gz`."""
        from packaging.utils import InvalidSdistFilename, canonicalize_name, parse_sdist_filename
        from packaging.version import InvalidVersion

        links = _links_of_json(data) if data.lstrip()[:1] == b"{" else _links_of_html(data)
        found: dict[Any, Sdist] = {}
        for link, size, uploaded, sha256 in links:
            url, fragment = urldefrag(urljoin(self.url, link))
            filename = unquote(url.rsplit("/", 1)[-1])
            try:
                name, version = parse_sdist_filename(filename)
            except (InvalidSdistFilename, InvalidVersion):
                continue  # wheels, installers, and what never was a version
            if name != canonicalize_name(self.project) or (version in found and filename.endswith(".zip")):
                continue
            hashed = sha256 or (fragment[7:] if fragment.startswith("sha256=") else "")
            found[version] = Sdist(url, hashed.lower(), size, _uploaded(uploaded))
        return found


def with_login(url: str, index: str) -> str:
    """The address of a file with the name and password of the index's own, where both are on one server."""
    login, at, server = urlsplit(_root(index)).netloc.rpartition("@")
    asked = urlsplit(url)
    return urlunsplit(asked._replace(netloc=f"{login}@{server}")) if at and asked.netloc == server else url


def _without_login(url: str) -> str:
    parts = urlsplit(url)
    return urlunsplit(parts._replace(netloc=parts.netloc.rpartition("@")[2]))


def _root(index: str) -> str:
    return (index or os.environ.get("PIP_INDEX_URL") or _pips_own()).rstrip("/")


def _pips_own() -> str:
    """The index that pip asks where nobody names another."""
    try:
        from pip._internal.models.index import PyPI  # pip has no public name for it
    except ImportError:
        raise InputError("examples.index: say the URL of an index of packages, or set PIP_INDEX_URL") from None
    return str(PyPI.simple_url)


def _asked(url: str, shown: str, project: str) -> bytes:
    """The bytes of an index's page."""
    import fsspec
    import tenacity

    page = url + "index.html" if url.startswith("file:") or "://" not in url else url
    options = {"headers": {"Accept": ACCEPTED}} if url.startswith(("http://", "https://")) else {}
    patience = fetching.PATIENCE
    asking = tenacity.Retrying(
        stop=tenacity.stop_after_attempt(patience.tries),
        wait=tenacity.wait_random_exponential(multiplier=patience.first_s, max=patience.most_s),
        retry=tenacity.retry_if_exception(passing),
        reraise=True,
    )
    try:
        fs, path = fsspec.url_to_fs(page, **options)
        return bytes(asking(fs.cat_file, path))
    except FileNotFoundError:
        raise InputError(f"{project}: no such project at {shown}") from None
    except Exception as error:
        raise RunError(f"the index {shown} cannot be read: {in_one_line(error)}") from None


def _links_of_json(data: bytes) -> list[tuple[str, int, str, str]]:
    """(link, bytes, time of upload, sha256) of each file (PEP 691, 700)."""
    try:
        files = json.loads(data)["files"]
        return [
            (str(one["url"]), int(one.get("size") or 0), str(one.get("upload-time") or ""), _sha256(one))
            for one in files
        ]
    except (ValueError, KeyError, TypeError) as error:
        raise RunError(f"what the index answered is no list of files (PEP 691): {in_one_line(error)}") from None


def _sha256(file: Mapping[str, Any]) -> str:
    return str(dict(file.get("hashes") or {}).get("sha256") or "")


def _links_of_html(data: bytes) -> list[tuple[str, int, str, str]]:
    """The same of a page of links (PEP 503); some mirrors say the time in an attribute."""
    import lxml.etree
    import lxml.html

    try:
        page = lxml.html.document_fromstring(data)
    except (lxml.etree.LxmlError, ValueError):
        raise RunError("what the index answered is no page of links (PEP 503)") from None
    return [(a.get("href"), 0, a.get("data-upload-time", ""), "") for a in page.iter("a") if a.get("href")]


def _uploaded(text: str) -> date | None:
    try:
        return datetime.fromisoformat(text).date()
    except ValueError:
        return None
