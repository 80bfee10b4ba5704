"""Filters of urls: pages left out because of their url, and urls removed from texts (RefinedWeb, appendix G.1 and G.2).

The url of a document is its id. The user gives the lists of hosts and words, as no published list may be packaged. They
come from outside the timeline: `as_of` is the last period that a list has seen.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from typing import Literal

from pydantic import Field

from ticlm.core.errors import InputError
from ticlm.core.periods import Label
from ticlm.core.settings import Settings
from ticlm.datasets.io.documents import Document
from ticlm.datasets.web.hosts import full_host_of, host_of

_Identity = tuple[Settings, str]


class BannedHosts(Settings):
    """Leave out pages of the hosts on a list. A leading `www.` is ignored; subdomains are other hosts.

    The released code deletes every "www" but keeps the dot after it, so that `www.example.org` never matches
    `example.org`. `released` does the same.
    """

    kind: Literal["banned_hosts"] = "banned_hosts"
    hosts: str
    """File with one host per line, local or remote."""
    as_of: Label | None = None
    """The last period from which the list may know anything; it comes from outside the timeline."""
    released: bool = False
    """Whether `www.` hosts never match, as in the released code."""

    @property
    def identity(self) -> _Identity:
        """Return the settings and the hash of the list's entries, not its path."""
        return self.model_copy(update={"hosts": "", "as_of": None}), digest(self.hosts)

    @property
    def external_inputs(self) -> str:
        return f"list of hosts {self.hosts}, as of {self.as_of or 'an unknown time'}"

    def __call__(self, document: Document) -> Document | str:
        url = document.id if "//" in document.id else f"//{document.id}"
        host = full_host_of(url).replace("www", "") if self.released else host_of(url)
        return "banned host" if host in _set(self.hosts) else document


class UrlWords(Settings):
    """Leave out pages whose url has `at_least` different words of a list, in upper or lower case.

    `within: words` finds whole words, between two boundaries (`\\b`). `within: anything` removes hyphens and dots from
    the url and finds a word anywhere in it, also as part of another word: for words that mean one thing only.
    """

    kind: Literal["url_words"] = "url_words"
    words: str
    """File with one word per line, local or remote."""
    within: Literal["words", "anything"] = "words"
    """Whether words are found between two boundaries, or anywhere in the url without its hyphens and dots."""
    at_least: int = Field(1, ge=1)
    """Leave out a page whose url has this many different words of the list."""
    as_of: Label | None = None
    """The last period from which the list may know anything; it comes from outside the timeline."""

    @property
    def identity(self) -> _Identity:
        """Return the settings and the hash of the list's entries, not its path."""
        return self.model_copy(update={"words": "", "as_of": None}), digest(self.words)

    @property
    def external_inputs(self) -> str:
        return f"list of words {self.words}, as of {self.as_of or 'an unknown time'}"

    def __call__(self, document: Document) -> Document | str:
        url = document.id.lower()
        found = self._inside(url) if self.within == "anything" else self._apart(url)
        return "banned words in url" if found >= self.at_least else document

    def _inside(self, url: str) -> int:
        url = _bare(url)
        return sum(word in url for word in _bare_words(self.words))

    def _apart(self, url: str) -> int:
        any_word, each = _patterns(self.words)
        if not any_word.search(url):
            return 0
        return sum(word.search(url) is not None for word in each)


_ENDS = """
aero app arpa asia au biz blog br ca cc ch cloud club cn co com coop cz de dev dk edu es eu fi fm fr gov gr hk hu ie il
info int io ir jobs jp kr live ly mil mobi museum mx name net news nl nz online org pl pro pt ro ru se sg shop site
store su tech tel tk travel tr tv tw ua uk vn wiki xyz za
"""
COMMON_TLDS = tuple(_ENDS.split())
"""Top-level domains of most hosts that occur in texts. Those that are also English words (in, is, it, me, so, to) are
not in the list: nothing shall be removed from "The end.It was", where a space is missing."""


class RemoveUrls(Settings):
    """Remove urls from the text, with up to ten white spaces before each.

    A url begins with a scheme or `www.`, or is a host that ends in one of `tlds` (or of the list `tld_list`, such as
    IANA's), or an IPv4 address; its port and path belong to it. Marks that end a sentence or close a bracket stay, and
    mail addresses stay. The released code looks for hosts (with or without a scheme) only in texts whose first letters
    spell a top-level domain ("The" begins with `th`, "Hello" with none). `released` looks only there too; what it then
    removes is as above, and differs from the released code by the marks beside a url.
    """

    kind: Literal["remove_urls"] = "remove_urls"
    tlds: tuple[str, ...] = COMMON_TLDS
    """Top-level domains that end a host."""
    tld_list: str | None = None
    """File with further top-level domains, one per line, such as IANA's."""
    released: bool = False
    """Whether hosts are looked for only where the released code does."""

    @property
    def identity(self) -> _Identity:
        return self.model_copy(update={"tld_list": None}), "" if self.tld_list is None else digest(self.tld_list)

    def __call__(self, document: Document) -> Document | str:
        text = "".join(self._kept(document.text))
        if not text.strip():
            return "nothing but urls"
        return document if text == document.text else replace(document, text=text)

    def _kept(self, text: str) -> Iterator[str]:
        tlds = frozenset(self.tlds) | (frozenset() if self.tld_list is None else _set(self.tld_list))
        hosts = not self.released or any(text[:n].lower() in tlds for n in range(2, 1 + max(map(len, tlds), default=0)))
        at = 0
        for found in _urls(text):
            if found["host"] is None or hosts:
                end = _end(found, tlds)
                if end > found.start():
                    before = text[at : found.start()]
                    yield before[: max(len(before.rstrip()), len(before) - 10)]
                    at = end
        yield text[at:]


def _urls(text: str) -> Iterator[re.Match[str]]:
    """Yield what looks like a url. Only the surroundings of dots and slashes are searched, as most words have none."""
    at = 0
    while hint := _HINT.search(text, at):
        begin = max(at, *(text.rfind(blank, at, hint.start()) for blank in " \n\t"))
        blank = _BLANK.search(text, hint.end())
        at = blank.start() if blank else len(text)
        yield from _URL.finditer(text, begin, at)


_HINT, _BLANK = re.compile(r"\.\w|://"), re.compile(r"\s")
_URL = re.compile(
    r"""(?<![\w@.-])                                   # not within a word or a mail address
    (?: (?:(?:https?|ftp)://)? (?:\d{1,3}\.){3}\d{1,3} (?![\w.-]*\w)
      | (?P<host> (?P<sure> (?:https?|ftp)://[^\s<>"]+ | www\.\w[\w.-]* )
                | (?> (?:[\w-]{1,63}\.)+ [^\W\d_][\w-]{0,62} ) (?!@) ) )
    (?: :\d{1,5})? (?: [/?\#][^\s<>"]* )?""",
    re.IGNORECASE | re.VERBOSE,
)
_AFTER = ".,;:!?)]}'\"’”»…"


def _end(found: re.Match[str], tlds: frozenset[str]) -> int:
    """Return where the url ends; where it begins, if it is not a url."""
    whole = found.start() + len(found[0].rstrip(_AFTER))
    if found["host"] is None or found["sure"] is not None:
        return whole
    labels = found["host"].lower().split(".")
    for last in range(len(labels) - 1, 0, -1):
        if labels[last] in tlds:
            return whole if last == len(labels) - 1 else found.start() + len(".".join(labels[: last + 1]))
    return found.start()


def _bare(text: str) -> str:
    return text.replace("-", "").replace(".", "")


@cache
def _set(path: str) -> frozenset[str]:
    return frozenset(entries(path))


@cache
def _bare_words(path: str) -> tuple[str, ...]:
    return tuple(sorted({_bare(word) for word in entries(path)} - {""}))


@cache
def _patterns(path: str) -> tuple[re.Pattern[str], tuple[re.Pattern[str], ...]]:
    """Return a pattern of any word of the list, and a pattern of each word."""
    words = [re.escape(word) for word in entries(path)]
    return re.compile(rf"\b(?:{'|'.join(words)})\b"), tuple(re.compile(rf"\b{word}\b") for word in words)


@cache
def entries(path: str) -> tuple[str, ...]:
    """Return the entries of a list in lower case, sorted, each once. Raises InputError if it cannot be read."""
    import fsspec

    try:
        with fsspec.open(path, "rt", encoding="utf-8", compression="infer") as file:
            lines = [line.partition("#")[0].strip().lower() for line in file]
    except (OSError, ValueError, ImportError, EOFError) as error:  # ValueError: no such protocol, or no text
        raise InputError(f"{path}: cannot be read as a list: {' '.join(str(error).split())}") from None
    found = tuple(sorted({line for line in lines if line}))
    if not found:
        raise InputError(f"{path}: a list without entries; expected one entry a line")
    return found


@cache
def digest(path: str) -> str:
    """Return the SHA-256 (hex) of the entries: path, compression, order and comments of the list do not change it."""
    return hashlib.sha256("\n".join(entries(path)).encode()).hexdigest()
