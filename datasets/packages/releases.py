"""Which releases of a package are read: of each period the last one, from version to version upwards."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from datetime import datetime
from typing import TYPE_CHECKING

from ticlm.core.settings import Settings
from ticlm.datasets.codedocs.releases import Sdist

if TYPE_CHECKING:
    from packaging.version import Version

PRERELEASE = "a pre-release"
BACKPORT = "of a lower version than a release before it"
FOLLOWED = "followed within the period"
UNHASHED = "without a sha256 in its index"


class ReleaseFile(Settings):
    """The source distribution of a release: its version, its upload in UTC, its address (without credentials), and the
    sha256 that its index states."""

    version: str
    when: datetime
    url: str
    sha256: str
    bytes: int = 0


class ReleaseChain(Settings):
    """Releases of a package in the order in which they are read, and the counts of those that are not, by reason."""

    releases: tuple[ReleaseFile, ...]
    left: dict[str, int]


def chain(
    sdists: list[tuple[Version, Sdist]], period_of: Callable[[datetime], str | None], prereleases: bool
) -> ReleaseChain:
    """Return the releases of a package to read: of each period the one with the highest version, if it is higher than
    all that were uploaded before.

    Releases in no period are not seen at all, not even counted, so that the same comes out when there are more of
    them; so are files whose time of upload the index does not state, as they may have come on any day. A release of a
    lower version than one before it mends an old series; what it says of that stands in the next release of the newest
    series as well, mostly, and beside that one all its other text would be old. A release that was yanked counts like
    any other, as it may be yanked on any day after.
    """
    dated = sorted((sdist.when, version, sdist) for version, sdist in sdists if sdist.when is not None)
    left: Counter[str] = Counter()
    chosen: dict[str, ReleaseFile] = {}
    highest: Version | None = None
    for when, version, sdist in dated:
        label = period_of(when)
        if label is None:
            continue
        if version.is_prerelease and not prereleases:
            left[PRERELEASE] += 1
        elif not sdist.sha256:
            left[UNHASHED] += 1
        elif highest is not None and version < highest:
            left[BACKPORT] += 1
        else:
            highest = version
            left[FOLLOWED] += label in chosen
            chosen[label] = ReleaseFile(
                version=str(version), when=when, url=sdist.url, sha256=sdist.sha256, bytes=sdist.bytes
            )
    return ReleaseChain(
        releases=tuple(chosen.values()), left={why: count for why, count in sorted(left.items()) if count}
    )
