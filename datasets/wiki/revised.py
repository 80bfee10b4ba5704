"""What became of one article of a wiki between two snapshots, and the rows that a set of examples takes from it."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

from ticlm.datasets.text.revisions import Located, RevisedPassage, Revisions, revisions
from ticlm.datasets.wiki.changed_texts import ArticleTexts
from ticlm.datasets.wiki.diffs import Comparison
from ticlm.datasets.wiki.staging import Article

State = Literal["new", "changed", "edited without new text", "unchanged"]
STATES: tuple[State, ...] = ("new", "changed", "edited without new text", "unchanged")
PASSAGES = ("added", "revised", "same", "moved", "deleted")
KNOWN = "known"
"""Field of an added passage with its words of capitals and digits that the article had before: what is asked for by one
of these may be no news."""
Row = dict[str, Any]
_NAME = re.compile(r"\w*[A-Z0-9]\w*")


@dataclass(frozen=True)
class RevisedArticle:
    """An article of the newer snapshot and its revisions since the older one, which may not have had it."""

    article: Article
    new: bool
    revisions: Revisions
    differs: bool
    """Whether any character differs, case and punctuation included."""
    url: str = ""
    older: tuple[str, ...] = ()
    """The paragraphs of the older version, if there are revisions."""

    @property
    def state(self) -> State:
        """The class in which the article is counted."""
        if self.new:
            return "new"
        if any(part.kind != "same" for part in self.revisions.parts):
            return "changed"
        return "edited without new text" if self.differs else "unchanged"

    def passages(self) -> Counter[str]:
        """Count the passages by what became of them. Moved passages count as `moved` alone."""
        found = Counter("moved" if part.moved else part.kind for part in self.revisions.parts)
        return found + Counter(deleted=self.revisions.deleted)

    def whole(self) -> Row:
        """Return the row of the updated text."""
        return {"id": str(self.article.id), "text": self.revisions.updated(), "about": self._about()}

    def rows(self, kind: Literal["added", "revised"]) -> Iterator[Row]:
        """Yield a row for each added passage, or for each revised one with its older side."""
        known = _names("\n".join(self.older)) if kind == "added" else frozenset()
        for number, part in enumerate(self.revisions.of(kind)):
            about = self._about() | _place(part.new)
            if said := known & _names(part.new.text):
                about[KNOWN] = " ".join(sorted(said))
            if part.old is not None:
                about |= {"old": part.old.text, **_place(part.old, "old_")}
            yield {"id": f"{self.article.id}#{number}", "text": part.new.text, "about": about}

    def _about(self) -> dict[str, str]:
        about = {"title": self.article.title, "article": str(self.article.id), "url": self.url}
        return about | ({"new": "yes"} if self.new else {})


def revised(
    old: Article | None, new: Article, url: str = "", moved: Literal["changed", "unchanged"] = "changed"
) -> RevisedArticle:
    """Return what became of an article; `old` is None if the older snapshot does not have it.

    Raises TooRepetitive if both versions have too many equal lines.
    """
    before = () if old is None else old.paragraphs
    if old is None or before != new.paragraphs:
        return RevisedArticle(new, old is None, revisions(before, new.paragraphs, moved), True, url, tuple(before))
    same = Revisions(tuple(RevisedPassage("same", n, Located(line, 0, 0)) for n, line in enumerate(new.paragraphs)), 0)
    return RevisedArticle(new, False, same, False, url)


def by_revisions(comparison: Comparison, old: Article | None, new: Article) -> ArticleTexts | None:
    """Split an article into its updated text, which sets of wiki-revisions hold, and the text that stayed.

    An article that is new is all updated text. Returns None for one without text. Raises TooRepetitive.
    """
    if not new.paragraphs:
        return None
    found = revised(old, new, moved="changed" if comparison.moved_is_change else "unchanged")
    texts = [found.revisions.updated(), found.revisions.unchanged()]
    changed, unchanged = ([text] if text else [] for text in texts)
    return ArticleTexts(new, found.new, found.state, changed, unchanged, found.passages())


def unchanged_row(article: Article, url: str, most: int) -> Row | None:
    """Return the row of an article that never changed: its first paragraphs of at most `most` characters together;
    None if the first one is longer."""
    text = ""
    for paragraph in article.paragraphs:
        longer = f"{text}\n{paragraph}" if text else paragraph
        if len(longer) > most:
            break
        text = longer
    if not text:
        return None
    about = {"title": article.title, "article": str(article.id), "url": url, **_place(Located(text, 0, len(text)))}
    return {"id": str(article.id), "text": text, "about": about}


def _names(text: str) -> frozenset[str]:
    """Return the words of a text that have a capital or a digit."""
    return frozenset(_NAME.findall(text))


def _place(at: Located, prefix: str = "") -> dict[str, str]:
    return {f"{prefix}begin": str(at.begin), f"{prefix}end": str(at.end)}
