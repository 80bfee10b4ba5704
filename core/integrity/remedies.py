"""What messages about damage tell users to do. Where the damage lies decides what makes the work again.

Each function takes the path or URI of a folder of work, or of a corpus or set of examples, and returns the end of a
message. Rows that a round sampled, and models inside a round, are made only by their round. `ticlm data build` makes
a period of a corpus or of a set.
"""

from __future__ import annotations

import re

from ticlm.core import paths
from ticlm.core.settings import build_command

_IN_ROUND = re.compile(rf"(.*/{paths.ROUNDS}/[^/]+)/(?:{paths.INSIDE}/[^/]+|[^/]+/{paths.SAMPLED}(?:/.*)?)")
_FILTER = re.compile(r".+/dedup/[^/]+/\d+/[^/]+")
_PERIOD = re.compile(rf"(.+)/{paths.PERIODS}/[^/]+")


def redone(work: str) -> str:
    """Return what to do about damage in the folder `work`, or of its record."""
    if found := _IN_ROUND.fullmatch(work):
        return f"remove {found[1]} to redo this work"
    if _FILTER.fullmatch(work):  # it holds all text before, which no build reads again while its periods are there
        return "build a new version of the corpus"
    if found := _PERIOD.fullmatch(work):
        return f"remove {work} and append it again with {build_command(found[1])}"
    return "remove it to redo this work"


def corpus_again(corpus: str) -> str:
    """Return what to do about a damaged file that describes a `corpus`, or one of its builds. Which inputs were read
    stands in these files alone, so a build cannot write them again beside the periods that are there."""
    if _IN_ROUND.fullmatch(corpus):
        return redone(corpus)
    return f"restore it from a copy, or remove {corpus} and build it again with {build_command(corpus)}"


def set_described(examples: str) -> str:
    """Return what to do about a damaged file that describes a set of `examples`, or one of its builds."""
    return f"remove it and run {build_command(examples)}, which writes it again and keeps the periods"
