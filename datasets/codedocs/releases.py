"""Releases of a project, and where a package index keeps their sources.

The index is read without a client library: pages also come from folders and object stores through fsspec, every request
has the retries of all other readers, and some mirrors give upload times only in an attribute of their HTML.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, date, datetime
from typing import TYPE_CHECKING, Annotated, Any
from urllib.parse import unquote, urldefrag, urljoin, urlsplit, urlunsplit

from pydantic import BeforeValidator, Field

from ticlm.core.errors import InputError, RunError
from ticlm.core.periods import Label
from ticlm.core.remote.credentials import without_credentials
from ticlm.core.remote.passing import in_one_line, passing
from ticlm.core.settings import Settings
from ticlm.datasets.io import fetching, http_requests
from ticlm.datasets.io.dates import moment

if TYPE_CHECKING:
    from packaging.version import Version

ACCEPTED = "application/vnd.pypi.simple.v1+json, application/vnd.pypi.simple.v1+html;q=0.2, text/html;q=0.01"
WHEEL = ".whl"
SHA256 = re.compile(r"[0-9a-f]{64}")
NEAREST = 12
"""Number of versions that an error lists."""


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


Day = Annotated[date | None, BeforeValidator(_day, json_schema_input_type=str | int | None)]


class Release(Settings):
    """A release of a project.

    `date` is the day on which it came out, or its month, which means the first day; without it, the index must give the
    date. `path` is a folder or archive with the release, if it differs from the path in `CodeDocs`.
    """

    version: Annotated[Label, BeforeValidator(_version, json_schema_input_type=str | int)] = Field(min_length=1)
    """The version, as the project writes it."""
    date: Day = None
    """The day on which it came out, or its month (its first day); by default, the date in the index."""
    path: str = ""
    """A folder or archive with this release, if it is not where `path` of the whole set says."""


AnyRelease = Annotated[Release, BeforeValidator(_from_version, json_schema_input_type=str | int | Release)]
"""A release, which may be given as its version alone."""


@dataclass(frozen=True, slots=True)
class Sdist:
    """A source distribution on an index; `sha256` (64 hex digits), `bytes` and `when` (its upload, in UTC) are "", 0
    and None if the index lacks them."""

    url: str
    sha256: str
    bytes: int
    when: datetime | None

    @property
    def uploaded(self) -> date | None:
        return None if self.when is None else self.when.date()


class Index:
    """The page of a project on a package index with the simple API (PEP 503, 691, 700), read on construction.

    `url` is the address of the index; if empty, the one that pip is configured with is used (PIP_INDEX_URL, its files,
    its default). A name and password in it appear in no address that comes out. Raises InputError if the index does
    not have the project, RunError if it cannot be read.
    """

    def __init__(self, url: str, project: str) -> None:
        from packaging.utils import canonicalize_name

        self.project = project
        page = f"{_root(url)}/{canonicalize_name(project)}/"
        self.url = without_credentials(page)
        self._sdists: dict[Version, Sdist] = {}
        self._uploads: dict[Version, list[datetime | None]] = {}
        self._read(_fetched(page, self.url, project))

    def sdists(self) -> list[tuple[Version, Sdist]]:
        """Return all versions with their source distributions, from the lowest version on."""
        return sorted(self._sdists.items())

    def uploads(self) -> list[tuple[Version, datetime | None]]:
        """Return all versions, from the lowest on, with the first upload of one of their files, source distributions
        and wheels alike; None if the index states no date of any."""
        firsts = {of: min((when for when in files if when), default=None) for of, files in self._uploads.items()}
        return sorted(firsts.items())

    def sdist(self, version: str) -> Sdist:
        """Return the source distribution of a version (1.13 is 1.13.0). Raises InputError that lists the nearest
        ones."""
        from packaging.version import InvalidVersion, Version

        try:
            parsed = Version(version)
        except InvalidVersion:
            raise InputError(f"{self.project}: {version!r} is no version of Python packages (PEP 440)") from None
        if parsed in self._sdists:
            return self._sdists[parsed]
        if not self._sdists:
            raise InputError(
                f"{self.project}: {self.url} has no sources of it, only what is built; give its releases a path"
            )
        versions = sorted(self._sdists)
        at = sum(other < parsed for other in versions)
        near = versions[max(0, at - NEAREST // 2) : at + NEAREST // 2]
        raise InputError(
            f"{self.project}: no sources of version {version} at {self.url}; the nearest of {len(versions)} are "
            f"{', '.join(map(str, near))}"
        )

    def _read(self, data: bytes) -> None:
        """Note the source distributions and the first uploads by version; `.tar.gz` goes before `.zip`."""
        links = _links_of_json(data) if data.lstrip()[:1] == b"{" else _links_of_html(data)
        for link, size, uploaded, sha256 in links:
            url, fragment = urldefrag(urljoin(self.url, link))
            filename = unquote(url.rsplit("/", 1)[-1])
            version = _version_of(filename, self.project)
            if version is None:
                continue
            digest = (sha256 or (fragment[7:] if fragment.startswith("sha256=") else "")).lower()
            when = _uploaded(uploaded)
            self._uploads.setdefault(version, []).append(when)
            if not filename.endswith(WHEEL) and not (version in self._sdists and filename.endswith(".zip")):
                # Anything else is no hash, and would become a part of paths.
                self._sdists[version] = Sdist(url, digest if SHA256.fullmatch(digest) else "", size, when)


def _version_of(filename: str, project: str) -> Version | None:
    """Return the version of a source distribution or wheel of the project; None of installers, of files of another
    project and of names without a valid version."""
    from packaging.utils import (
        InvalidSdistFilename,
        InvalidWheelFilename,
        canonicalize_name,
        parse_sdist_filename,
        parse_wheel_filename,
    )
    from packaging.version import InvalidVersion

    try:
        parse = parse_wheel_filename if filename.endswith(WHEEL) else parse_sdist_filename
        name, version, *_ = parse(filename)
    except (InvalidSdistFilename, InvalidWheelFilename, InvalidVersion):
        return None
    return version if name == canonicalize_name(project) else None


def with_login(url: str, index: str) -> str:
    """Return the address of a file with the index's name and password, if both are on the same server."""
    login, at, server = urlsplit(_root(index)).netloc.rpartition("@")
    parts = urlsplit(url)
    return urlunsplit(parts._replace(netloc=f"{login}@{server}")) if at and parts.netloc == server else url


def _root(index: str) -> str:
    return (index or os.environ.get("PIP_INDEX_URL") or _default_index()).rstrip("/")


def _default_index() -> str:
    """Return the index that pip's files of configuration name, else the one that it uses by default."""
    try:  # pip has no public name for either
        from pip._internal.configuration import Configuration
        from pip._internal.exceptions import ConfigurationError
        from pip._internal.models.index import PyPI
    except ImportError:
        raise InputError("index: give the URL of a package index, or set PIP_INDEX_URL") from None
    configured = Configuration(isolated=False)
    try:
        configured.load()
    except ConfigurationError as error:
        raise InputError(f"index: pip's configuration cannot be read: {in_one_line(error)}") from None
    for key in ("install.index-url", "global.index-url"):
        with suppress(ConfigurationError):  # raised for a key that is not set
            return str(configured.get_value(key))
    return str(PyPI.simple_url)


def _fetched(url: str, shown: str, project: str) -> bytes:
    """Return the bytes of an index's page; errors name it as `shown`."""
    import fsspec
    import tenacity

    page = url + "index.html" if url.startswith("file:") or "://" not in url else url
    options = {"headers": {"Accept": ACCEPTED}, **http_requests.proxy(url)} if http_requests.is_http(url) else {}
    retrying = tenacity.Retrying(
        stop=tenacity.stop_after_attempt(fetching.PATIENCE.tries),
        wait=fetching.pauses(),
        retry=tenacity.retry_if_exception(passing),
        reraise=True,
    )
    try:
        fs, path = fsspec.url_to_fs(page, **options)
        return bytes(retrying(fs.cat_file, path))
    except FileNotFoundError:
        raise InputError(f"{project}: no such project at {shown}") from None
    except Exception as error:
        raise RunError(f"the index {shown} cannot be read: {in_one_line(error)}") from None


def _links_of_json(data: bytes) -> list[tuple[str, int, str, str]]:
    """Return (link, bytes, time of upload, sha256) of each file on a JSON page (PEP 691, 700)."""
    try:
        files = json.loads(data)["files"]
        return [
            (str(file["url"]), int(file.get("size") or 0), str(file.get("upload-time") or ""), _sha256(file))
            for file in files
        ]
    except (ValueError, KeyError, TypeError) as error:
        raise RunError(f"what the index answered is no list of files (PEP 691): {in_one_line(error)}") from None


def _sha256(file: Mapping[str, Any]) -> str:
    return str(dict(file.get("hashes") or {}).get("sha256") or "")


def _links_of_html(data: bytes) -> list[tuple[str, int, str, str]]:
    """Return the same for an HTML page of links (PEP 503); some mirrors give the time in an attribute."""
    import lxml.etree
    import lxml.html

    try:
        page = lxml.html.document_fromstring(data)
    except (lxml.etree.LxmlError, ValueError):
        raise RunError("what the index answered is no page of links (PEP 503)") from None
    return [(a.get("href"), 0, a.get("data-upload-time", ""), "") for a in page.iter("a") if a.get("href")]


def _uploaded(text: str) -> datetime | None:
    try:
        when = datetime.fromisoformat(text)
    except ValueError:
        return None
    return when.replace(tzinfo=UTC) if when.tzinfo is None else when.astimezone(UTC)
