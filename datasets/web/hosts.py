"""Hosts of urls, and named sets of hosts whose pages are counted separately."""

from __future__ import annotations

import re
from functools import cached_property

from pydantic import Field, field_validator

from ticlm.core.settings import Settings
from ticlm.datasets.web.news_hosts import NEWS_HOSTS

_AUTHORITY = re.compile(r"\s*(?:[A-Za-z][A-Za-z0-9+.-]*:)?//([^/?#\\\s]*)")


def host_of(url: str) -> str:
    """Return the host of a url as `full_host_of` does, without a leading `www.`."""
    return full_host_of(url).removeprefix("www.")


def full_host_of(url: str) -> str:
    """Return the host of a url in lower case, without user, port and a final dot; "" if it has none.

    Urls come from the web: no string raises an error.
    """
    found = _AUTHORITY.match(url)
    host = found[1].rpartition("@")[2].lower() if found else ""
    name = host[1:].partition("]")[0] if host.startswith("[") else host.partition(":")[0]
    return name.removesuffix(".")


class HostSet(Settings):
    """A named set of hosts. Their subdomains do not belong to it; a leading `www.` is ignored."""

    name: str = Field(min_length=1)
    """Name of the set."""
    hosts: tuple[str, ...] = Field(min_length=1)
    """Its hosts, without subdomains; a leading `www.` is ignored."""

    @field_validator("hosts")
    @classmethod
    def _plain(cls, hosts: tuple[str, ...]) -> tuple[str, ...]:
        for host in hosts:
            if not host or host != host_of(f"//{host}"):
                raise ValueError(f"hosts are written in lower case without www., port and path, got {host!r}")
        return tuple(sorted(set(hosts)))

    @cached_property
    def _set(self) -> frozenset[str]:
        return frozenset(self.hosts)

    def __contains__(self, host: str) -> bool:
        return host in self._set


WIKI = HostSet(
    name="wiki",
    hosts=("en.wikipedia.org", "en.m.wikipedia.org", "simple.wikipedia.org", "simple.m.wikipedia.org"),
)
"""TiC-CC-Wiki (TiC-LM, section 4.1): English and Simple English Wikipedia, with their mobile pages."""

NEWS = HostSet(name="news", hosts=NEWS_HOSTS)
"""A set like TiC-CC-News; `news_hosts.py` says how it differs."""
