"""The perplexity of texts by part of speech: of proper nouns, nouns, verbs and numbers (TemporalWiki, section 4)."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from typing import TYPE_CHECKING, Literal, NamedTuple

from ticlm.core.errors import InputError
from ticlm.platform.tasks.base import Measurement
from ticlm.platform.tasks.documents import ReadingTask, are_finite, left_out, overlapping

if TYPE_CHECKING:
    from ticlm.core.examples import Examples
    from ticlm.platform.tasks.answerer import Answerer


class _Loss(NamedTuple):
    """The summed −ln P of some tokens of a text, in nats, and their number."""

    nll: float
    tokens: int


class PartOfSpeechPerplexity(ReadingTask):
    """The mean −ln P over all tokens of texts and, for each group of parts of speech as its source, over the tokens
    that are part of such a word; `n` counts the tokens.

    A token counts for a group if its characters overlap a word that the set's `parts_of_speech` marked, so all tokens
    of a word count. The mean is over the tokens of all texts, so a text without such a word adds nothing to the group.
    The set's own sources are not told apart. Raises InputError if the texts were never marked.
    """

    kind: Literal["pos-perplexity"] = "pos-perplexity"

    def measure(self, answerer: Answerer, data: Examples, label: str, rows: int) -> Iterator[Measurement]:
        import numpy as np

        from ticlm.platform.tasks.statistics import ratio

        reasons: Counter[str] = Counter()
        losses: defaultdict[str, list[_Loss]] = defaultdict(list)
        for example, reading in self.readings(answerer, data, label, rows):
            if example.parts is None:
                raise InputError(
                    f"{self.name}: the parts of speech of examples {self.examples} ({label}, {self.split}) were never "
                    "marked; say `parts_of_speech:` in their recipe, and build it as another version"
                )
            if not len(reading.losses):
                reasons["no token to score"] += 1
                continue
            for group, spans in {"": None, **example.parts}.items():
                within = slice(None) if spans is None else overlapping(reading.offsets, spans)
                chosen = reading.losses[within]
                if len(chosen):
                    losses[group].append(_Loss(float(chosen.sum(dtype=np.float64)), len(chosen)))
        if are_finite([one.nll for one in losses[""]], reasons):
            for group, found in losses.items():
                if found:
                    mean = ratio([one.nll for one in found], [one.tokens for one in found])
                    yield Measurement("nll", mean.value, sum(one.tokens for one in found), mean.stderr, group)
        yield from left_out(reasons)
