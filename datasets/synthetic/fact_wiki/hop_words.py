"""The words for two facts in a row: `hops.yaml` beside this module."""

from __future__ import annotations

from functools import cache
from importlib.resources import files

from ticlm.core.settings import Settings, parse
from ticlm.datasets.synthetic.fact_wiki.words import Texts, WikiRelation, words


class HopWords(Settings):
    """Two relations, of which the second begins where the first one ends, with the words that state and ask both."""

    first: str
    second: str
    question: str
    """The question over both, as people ask it."""
    asked: str
    """The same, begun with the subject."""
    sentence: str
    details: Texts

    @property
    def name(self) -> str:
        """The names of both relations."""
        return f"{self.first}-{self.second}"

    @property
    def relations(self) -> tuple[WikiRelation, WikiRelation]:
        """Both relations."""
        known = {one.name: one for one in words().relations}
        return known[self.first], known[self.second]


class WikiHops(Settings):
    """All pairs of relations that follow each other."""

    hops: tuple[HopWords, ...]


@cache
def hop_words() -> tuple[HopWords, ...]:
    """Return the pairs of relations, read once per process."""
    import yaml

    text = files(__package__).joinpath("hops.yaml").read_text("utf-8")
    return parse(WikiHops, yaml.safe_load(text), "the hops of the fact wiki").hops
