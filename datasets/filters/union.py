"""Filters, and the list that RefinedWeb uses. A filter keeps a document, rewrites it, or returns a reason to drop it.

RefinedWeb's filters are in modules of their own: `urls`, `language`, `quality`, `repetition`, `clean_lines`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Annotated, Any, Literal, Protocol

from pydantic import Field

from ticlm.core.errors import InputError
from ticlm.core.extensions import object_at
from ticlm.core.fingerprint import hash64
from ticlm.core.settings import Settings
from ticlm.datasets.filters.clean_lines import CleanLines
from ticlm.datasets.filters.date_line import DateLine
from ticlm.datasets.filters.language import Language
from ticlm.datasets.filters.later_text import LaterThanItsDate
from ticlm.datasets.filters.offensive import OffensiveWords
from ticlm.datasets.filters.personal import Masked, PersonalData
from ticlm.datasets.filters.quality import (
    Alphabetic,
    Bullets,
    Ellipses,
    Newlines,
    StopWords,
    Symbols,
    WordCount,
    WordLength,
)
from ticlm.datasets.filters.repetition import Repetition
from ticlm.datasets.filters.urls import BannedHosts, RemoveUrls, UrlWords
from ticlm.datasets.io.documents import Document


class Filter(Protocol):
    """A filter. It sees one document and nothing else, so its decision depends neither on other documents nor on the
    order in which they come.

    If it reads a file (a list, a model), it has a property `identity` that includes a hash of the file's contents. A
    filter without that property is identified by its settings.

    A filter that may give a document another timestamp says so by a property `moving`. The document then belongs to the
    period of its new date, and is counted there, as if it had been read with it.

    A filter that masks parts of a text returns them counted by kind, as a Masked document.
    """

    def __call__(self, document: Document) -> Document | str | Masked: ...


class MinChars(Settings):
    """Leave out texts of fewer than `chars` characters."""

    kind: Literal["min_chars"] = "min_chars"
    chars: int = Field(gt=0)
    """Least number of characters of a text."""

    def __call__(self, document: Document) -> Document | str:
        return document if len(document.text) >= self.chars else f"shorter than {self.chars} characters"


class ShareOfDocuments(Settings):
    """Keep a random share of the documents, by a hash of each one's id: the same documents in every build, and in every
    period. CKL's SMALL is a tenth of its news."""

    kind: Literal["share"] = "share"
    share: float = Field(gt=0, le=1)
    """Share of the documents (0 to 1) to keep; a smaller share is part of a larger one."""
    salt: str = ""
    """A text that is hashed with each document's id; another salt keeps other documents."""

    def __call__(self, document: Document) -> Document | str:
        # other hashes than those of `splits`, which would otherwise hold out the documents that are kept
        place = hash64(f"share\0{self.salt}\0{document.id}") / 2**64
        return document if place < self.share else "not in the share that is kept"


class Function(Settings):
    """A function of the user, `package.module:function`. It takes a Document and returns a Document, a reason to leave
    it out, or whether to keep it.

    The function is identified by its name and `version`: raise the version when the function changes. A document for
    which it raises an exception is left out, and counted.
    """

    kind: Literal["function"] = "function"
    name: str = Field(pattern=r"^[A-Za-z_][\w.]*:[A-Za-z_]\w*$")
    """Import path of the function, `package.module:function`."""
    version: int = 1
    """Part of the corpus's identity: raise it when the function changes."""

    def __call__(self, document: Document) -> Document | str:
        function = _imported(self.name)
        try:
            outcome = function(document)
            if isinstance(outcome, Document):
                outcome.text.encode()  # half of a surrogate pair is no text
        except Exception as error:  # one page must not end a build of millions
            return f"{self.name} raised {type(error).__name__}"
        match outcome:
            case Document() | str():
                return outcome
            case bool():
                return document if outcome else f"left out by {self.name}"
        raise InputError(
            f"filters: {self.name} returned {outcome!r:.100}; allowed are a Document, a reason, True, False"
        )


@cache
def _imported(name: str) -> Callable[[Document], Any]:
    try:
        found = object_at(name)
    except InputError as error:
        raise InputError(f"filters: {error}") from None
    if not callable(found):
        raise InputError(f"filters: {name} is no function but {found!r:.100}")
    return found  # type: ignore[no-any-return]


AnyFilter = Annotated[
    BannedHosts
    | UrlWords
    | RemoveUrls
    | Newlines
    | Language
    | WordCount
    | WordLength
    | Symbols
    | Bullets
    | Ellipses
    | Alphabetic
    | StopWords
    | Repetition
    | CleanLines
    | MinChars
    | ShareOfDocuments
    | LaterThanItsDate
    | DateLine
    | PersonalData
    | OffensiveWords
    | Function,
    Field(discriminator="kind"),
]
"""The filters that a recipe can name. To add one, write a class and add it to this union."""

REFINEDWEB: tuple[AnyFilter, ...] = (
    RemoveUrls(),
    Newlines(),
    Language(),
    WordCount(),
    WordLength(),
    Symbols(),
    Bullets(),
    Ellipses(),
    Alphabetic(),
    StopWords(),
    Repetition(),
    CleanLines(),
)
"""The filters of DCLM-Baseline and TiC-CC, after RefinedWeb, in their order: what `filters: refinedweb` stands for.

BannedHosts and UrlWords need lists, so they are not in it. RefinedWeb puts them first: banned hosts, then three lists
of words. Words of the first may be nowhere in a url (`within: anything`), words of the second may not be whole words of
it, and of the third it may have one word, but not two (`at_least: 2`).
"""


@dataclass(frozen=True, slots=True)
class FilterOutcome:
    """The result of a list of filters: the document, or the reason to leave it out.

    `step` is the index of the filter that left it out; `edited` are the indices of the filters that changed it, and
    `masked` the number of parts that they masked by (index, kind).
    """

    document: Document | None
    reason: str | None = None
    step: int | None = None
    edited: tuple[int, ...] = ()
    masked: Mapping[tuple[int, str], int] = field(default_factory=dict)


def passed(document: Document, filters: Sequence[Filter]) -> FilterOutcome:
    """Apply the filters in turn, up to the first that leaves the document out."""
    edited, masked = list[int](), dict[tuple[int, str], int]()
    for number, step in enumerate(filters):
        outcome = step(document)
        if isinstance(outcome, str):
            return FilterOutcome(None, outcome, number, tuple(edited), masked)
        if isinstance(outcome, Masked):
            masked |= {(number, kind): count for kind, count in outcome.kinds.items()}
            outcome = outcome.document
        if outcome is not document:
            edited.append(number)
            document = outcome
    return FilterOutcome(document, edited=tuple(edited), masked=masked)
