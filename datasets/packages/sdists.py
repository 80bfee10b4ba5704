"""One source distribution: fetched once, compared with its hash, and read for its pages and its licence."""

from __future__ import annotations

import os
import posixpath
import re
from collections import Counter
from collections.abc import Sequence
from fnmatch import fnmatchcase
from typing import NamedTuple
from urllib.parse import unquote, urlsplit

from ticlm.core.errors import InputError, RunError
from ticlm.core.writers.aside import aside
from ticlm.datasets.codedocs.archives import BLOCK, files
from ticlm.datasets.codedocs.releases import SHA256, with_login
from ticlm.datasets.io.fetching import Unreachable, opened
from ticlm.datasets.packages.licences import stated_licence
from ticlm.datasets.packages.releases import ReleaseFile

SUFFIXES = (".rst", ".md", ".mdx", ".txt", ".py")
METADATA = "PKG-INFO"
NAME = re.compile(r"\w[\w.+!-]*", re.ASCII)
"""Names of source distributions (PEP 625, and older ones)."""


class SdistPages(NamedTuple):
    """The pages of a release by path, its licence, and what was left out of its files, by reason."""

    pages: dict[str, bytes]
    licence: str
    read: int
    left: Counter[str]


def downloaded(release: ReleaseFile, folder: str, index: str) -> str:
    """Return the path of a release's file below `folder`, which it is copied to if it is not there.

    Raises Unreachable if it cannot be read, or if what its index says of it would be a path outside of `folder`.
    """
    name = posixpath.basename(unquote(urlsplit(release.url).path))
    if not NAME.fullmatch(name) or not SHA256.fullmatch(release.sha256):
        raise Unreachable(f"{release.url}: its index gives it a name or a sha256 that is none")
    place = os.path.join(folder, release.sha256[:2], f"{release.sha256[2:16]}-{name}")
    if not os.path.exists(place):
        with aside(place) as (temporary, copy), opened(with_login(release.url, index)) as source:
            while block := source.read(BLOCK):
                copy.write(block)
        os.replace(temporary, place)
    return place


def sdist_pages(
    release: ReleaseFile, folder: str, index: str, include: Sequence[str], exclude: Sequence[str]
) -> SdistPages:
    """Return the pages of a release that match one of `include` and none of `exclude`.

    Raises Unreachable if the file cannot be read or is not the one that the index means, InputError if it is damaged.
    """

    def refused(path: str) -> str:
        if path == METADATA:
            return ""
        name, whole = path.rsplit("/", 1)[-1], f"/{path}"
        if not path.lower().endswith(SUFFIXES) and "." in name:
            return "of another format"
        if not any(fnmatchcase(whole, f"*/{glob}") for glob in include):
            return "not in include"
        return "in exclude" if any(fnmatchcase(whole, f"*/{glob}") for glob in exclude) else ""

    place = downloaded(release, folder, index)
    left: Counter[str] = Counter()
    pages: dict[str, bytes] = {}
    read, licence = 0, ""
    try:
        for path, data in files(place, refused, release.sha256):
            read += 1
            if isinstance(data, str):
                left[data] += 1
            elif path == METADATA:
                licence = stated_licence(data.decode(errors="replace"))
                left["metadata"] += 1
            else:
                pages[path] = data
    except RunError as error:  # of another hash: it may have been cut on its way, so it is fetched anew the next time
        os.remove(place)
        raise Unreachable(f"{release.url}: {str(error).removeprefix(f'{place}: ')}") from None
    except InputError as error:
        raise InputError(str(error).removeprefix(f"{place}: ")) from None
    return SdistPages(dict(sorted(pages.items())), licence, read, left)
