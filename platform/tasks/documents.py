"""Tasks on examples, and those that read texts to a model (TiC-LM, section 4).

All of them give natural logs of perplexities, or shares of right answers, with a standard error by bootstrap over
texts or questions; a value for each source where there are several; and how many examples were left out, by reason.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import TYPE_CHECKING, ClassVar, Literal

from pydantic import Field

from ticlm.platform.core.errors import InputError
from ticlm.platform.core.mixture import Subset
from ticlm.platform.tasks.answerer import Cut, TokenLosses
from ticlm.platform.tasks.base import NOT_A_NUMBER, Measurement, Task

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from ticlm.platform.core.examples import Example, Examples
    from ticlm.platform.tasks.answerer import Answerer


class ExamplesTask(Task):
    """Base of tasks on a set of examples: `name@version` in the root, a path or a URI; `split` is a subset of it."""

    examples: str
    split: Subset = "all"
    on_examples: ClassVar[bool] = True

    @property
    def data_source(self) -> str | None:
        return self.examples

    @property
    def identity(self) -> Task:
        return self.model_copy(update={"examples": ""})


class ReadingTask(ExamplesTask):
    """Base of tasks that read whole texts to a model.

    A text's first token is scored after end-of-text; long ones go in windows, every token once.
    """

    first_token: bool = True
    """Whether the first token is scored; the code released with the paper leaves it out."""
    first_tokens: int | None = Field(None, gt=0)
    """Only so many tokens of each text, from its start (released for TiC-Wiki: 450)."""
    last_tokens: int | None = Field(None, gt=0)
    """Only so many tokens of each text, before its end (released for TiC-CodeDocs: 511)."""
    stride: int | None = Field(None, gt=0)
    """By how many tokens the windows over a long text move on; by default by their length, so that they are disjoint.
    Smaller ones give its tokens more context, and cost as much more."""

    def readings(
        self, answerer: Answerer, data: Examples, period: str, rows: int
    ) -> Iterator[tuple[Example, TokenLosses]]:
        """What came of each text."""
        cut = Cut(self.first_tokens, self.last_tokens, self.first_token, self.stride)
        for block in blocks(data, period, self.split, rows):
            yield from zip(block, answerer.read([e.text for e in block], cut), strict=True)


class DocumentPerplexity(ReadingTask):
    """ln ppl_token, the mean −ln P per token over whole texts (TiC-LM, Eq. 1); and `bits-per-byte`, which models with
    different tokenizers share."""

    kind: Literal["document-perplexity"] = "document-perplexity"

    def measure(self, answerer: Answerer, data: Examples, period: str, rows: int) -> Iterator[Measurement]:
        import numpy as np

        from ticlm.platform.tasks.statistics import ratios

        rest: Counter[str] = Counter()
        nll, tokens, size, source = [], [], [], []
        for example, reading in self.readings(answerer, data, period, rows):
            if not reading.bytes:
                rest["no token to score"] += 1
                continue
            nll.append(float(reading.losses.sum(dtype=np.float64)))
            tokens.append(len(reading.losses))
            size.append(reading.bytes)
            source.append(example.source)
        if are_finite(nll, rest):
            sums, counts, lengths = map(np.asarray, (nll, tokens, size))
            for name, mine in by_source(source):
                loss = (sums[mine], counts[mine])
                per_token, bits = ratios(loss, (sums[mine] / math.log(2), lengths[mine]))
                yield Measurement("nll", per_token.value, int(counts[mine].sum()), per_token.stderr, name)
                yield Measurement("bits-per-byte", bits.value, int(lengths[mine].sum()), bits.stderr, name)
        yield from left_out(rest)


class NounPerplexity(ReadingTask):
    """ln ppl_noun, the mean −ln P over all tokens that proper nouns are in (TiC-LM, Eq. 3); `n` counts these tokens.

    A token counts where its characters overlap a marked span: all tokens of a name do, however many. The mean is over
    the tokens of all texts, so that a text without proper nouns adds nothing. InputError where texts were never tagged.
    """

    kind: Literal["noun-perplexity"] = "noun-perplexity"

    def measure(self, answerer: Answerer, data: Examples, period: str, rows: int) -> Iterator[Measurement]:
        import numpy as np

        from ticlm.platform.tasks.statistics import ratio

        rest: Counter[str] = Counter()
        nll, tokens, source = [], [], []
        for example, reading in self.readings(answerer, data, period, rows):
            if example.nouns is None:
                raise InputError(
                    f"{self.name}: the proper nouns of examples {self.examples} ({period}, {self.split}) were never "
                    "marked; say `nouns:` in their recipe, and build it as another version"
                )
            within = overlapping(reading.offsets, example.nouns)
            if not within.any():
                rest["no proper noun"] += 1
                continue
            nll.append(float(reading.losses[within].sum(dtype=np.float64)))
            tokens.append(int(within.sum()))
            source.append(example.source)
        if are_finite(nll, rest):
            sums, counts = np.asarray(nll), np.asarray(tokens)
            for name, mine in by_source(source):
                found = ratio(sums[mine], counts[mine])
                yield Measurement("nll", found.value, int(counts[mine].sum()), found.stderr, name)
        yield from left_out(rest)


def overlapping(offsets: NDArray[np.int64], spans: Sequence[tuple[int, int]]) -> NDArray[np.bool_]:
    """Which tokens, by their characters [start, end), share one with any of the spans."""
    import numpy as np

    merged: list[list[int]] = []
    for start, end in sorted(span for span in spans if span[0] < span[1]):
        if merged and start <= merged[-1][1]:
            merged[-1][1] = max(end, merged[-1][1])
        else:
            merged.append([start, end])
    if not merged:
        return np.zeros(len(offsets), bool)
    starts, ends = np.array(merged, np.int64).T
    place = np.searchsorted(ends, offsets[:, 0], side="right")  # the first span that ends behind the token's start
    reached = place < len(starts)
    inside = starts[np.minimum(place, len(starts) - 1)] < offsets[:, 1]
    return np.asarray(reached & inside & (offsets[:, 0] < offsets[:, 1]))


def blocks(data: Examples, period: str, subset: str, rows: int) -> Iterator[list[Example]]:
    """The examples of a subset, `rows` at a time."""
    examples = data.read(period, subset)
    while block := list(islice(examples, rows)):
        yield block


def by_source(sources: Sequence[str]) -> Iterator[tuple[str, NDArray[np.bool_]]]:
    """Which examples are whose: all of them under "", then those of each source where there are several; none of
    nothing."""
    import numpy as np

    of = np.asarray(sources)
    if len(of):
        yield "", np.ones(len(of), bool)
    names = set(sources)
    for name in sorted(names - {""}) if len(names) > 1 else ():
        yield name, of == name


def are_finite(losses: Sequence[float], rest: Counter[str]) -> bool:
    """Whether a model gave numbers all along. One that does not has no mean: without the worst it would look better."""
    broken = sum(not math.isfinite(loss) for loss in losses)
    if broken:
        rest[NOT_A_NUMBER] += len(losses)
    return not broken


def left_out(reasons: Mapping[str, int]) -> Iterator[Measurement]:
    """How many examples were not scored, by reason, as numbers of their own."""
    for reason, count in sorted(reasons.items()):
        yield Measurement(f"left out: {reason}", float(count), count)
