"""Tasks on sets of examples, and those of them that read whole texts to a model (TiC-LM, section 4).

Each task yields natural logs of perplexities, or shares of right answers, with a standard error by bootstrap over texts
or questions. It yields a value for each source of text if there are several, and the number of examples that were left
out, by reason.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import TYPE_CHECKING, ClassVar, Literal

from pydantic import Field

from ticlm.core.errors import InputError
from ticlm.core.mixture import Subset
from ticlm.platform.tasks.answerer import Cut, TokenLosses
from ticlm.platform.tasks.base import NOT_A_NUMBER, Measurement, Prediction, Reads, Task

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from ticlm.core.examples import Example, Examples
    from ticlm.platform.tasks.answerer import Answerer


class ExamplesTask(Task):
    """Base of tasks on a set of examples: `name@version` in the root, a path or a URI. `split` is a subset of it."""

    examples: str
    """The set of examples: `name@version` in the root, a path or a URI."""
    split: Subset = "all"
    """The subset of the set that is scored."""
    reads: ClassVar[Reads] = "examples"

    @property
    def data_source(self) -> str | None:
        return self.examples

    def identity_at(self, label: str) -> Task:
        return self.model_copy(update={"examples": ""})


class ReadingTask(ExamplesTask):
    """Base of tasks that read whole texts to a model.

    The first token of a text is scored after end-of-text. A text longer than the model's window is read in several
    windows, and every token is scored once.
    """

    first_token: bool = True
    """Whether the first token is scored; the code released with the paper leaves it out."""
    first_tokens: int | None = Field(None, gt=0)
    """Read only the first N tokens of each text (released for TiC-Wiki: 450)."""
    last_tokens: int | None = Field(None, gt=0)
    """Read only the last N tokens of each text (released for TiC-CodeDocs: 511)."""
    stride: int | None = Field(None, gt=0)
    """By how many tokens the windows over a long text move on; by default by their length, so that they are disjoint.
    A smaller stride gives tokens more context, and costs proportionally more."""
    unit: ClassVar[str] = "texts"

    def readings(
        self, answerer: Answerer, data: Examples, label: str, rows: int
    ) -> Iterator[tuple[Example, TokenLosses]]:
        """Yield each text of a period with the losses of its tokens."""
        cut = Cut(self.first_tokens, self.last_tokens, self.first_token, self.stride)
        for block in blocks(data, label, self.split, rows):
            yield from zip(block, answerer.read([e.text for e in block], cut), strict=True)


class DocumentPerplexity(ReadingTask):
    """ln ppl_token, the mean −ln P per token over whole texts (TiC-LM, Eq. 1); and `bits-per-byte`, by which models
    with different tokenizers can be compared."""

    kind: Literal["document-perplexity"] = "document-perplexity"
    keeps_losses: bool = False
    """Whether the loss of each text is kept beside the means: two models are then compared text by text."""
    compare: Literal["nll", "bits-per-byte"] = "nll"
    """The number by which models are compared: nats per token, or `bits-per-byte`, by which models with different
    tokenizers can be compared. Both are always there."""

    def without_meaning(self) -> frozenset[str]:
        unset = {"keeps_losses": self.keeps_losses, "compare": self.compare != "nll"}
        return super().without_meaning() | {name for name, is_set in unset.items() if not is_set}

    def identity_at(self, label: str) -> Task:
        return super().identity_at(label).model_copy(update={"compare": "nll"})  # the measurements are the same

    @property
    def metric(self) -> str:  # type: ignore[override]  # a class attribute of other tasks
        return self.compare

    @property
    def keeps_predictions(self) -> bool:
        return self.keeps_losses

    def measure(self, answerer: Answerer, data: Examples, label: str, rows: int) -> Iterator[Measurement]:
        import numpy as np

        from ticlm.platform.tasks.statistics import ratios

        reasons: Counter[str] = Counter()
        nll, tokens, size, source = [], [], [], []
        kept = list[Prediction]()
        for example, reading in self.readings(answerer, data, label, rows):
            if self.keeps_losses:
                kept.append(_loss(example, reading))
            if not reading.bytes:
                reasons["no token to score"] += 1
                continue
            nll.append(float(reading.losses.sum(dtype=np.float64)))  # a float32 sum over a long text would round
            tokens.append(len(reading.losses))
            size.append(reading.bytes)
            source.append(example.source)
        if are_finite(nll, reasons):
            sums, counts, lengths = map(np.asarray, (nll, tokens, size))
            for name, chosen in by_source(source):
                loss = (sums[chosen], counts[chosen])
                per_token, bits = ratios(loss, (sums[chosen] / math.log(2), lengths[chosen]))
                found = () if name else tuple(kept)
                n = int(counts[chosen].sum())
                yield Measurement("nll", per_token.value, n, per_token.stderr, name, predictions=found)
                yield Measurement("bits-per-byte", bits.value, int(lengths[chosen].sum()), bits.stderr, name)
        yield from left_out(reasons)


def _loss(example: Example, reading: TokenLosses) -> Prediction:
    """Return what is kept of a text: its loss in nats, its tokens and its bytes. Of a text without a token all are 0,
    so that the texts of every model are the same ones in the same order."""
    import numpy as np

    numbers = {
        "nll": float(reading.losses.sum(dtype=np.float64)),
        "tokens": float(len(reading.losses)),
        "bytes": float(reading.bytes),
    }
    return Prediction(example.id, example.source, math.nan, math.nan, None, numbers)


class NounPerplexity(ReadingTask):
    """ln ppl_noun, the mean −ln P over all tokens that are part of a proper noun (TiC-LM, Eq. 3); `n` counts these
    tokens.

    A token counts if its characters overlap a marked span, so all tokens of a name count. The mean is over the tokens
    of all texts, so a text without proper nouns adds nothing. Raises InputError if the texts were never tagged.
    """

    kind: Literal["noun-perplexity"] = "noun-perplexity"

    def measure(self, answerer: Answerer, data: Examples, label: str, rows: int) -> Iterator[Measurement]:
        import numpy as np

        from ticlm.platform.tasks.statistics import ratio

        reasons: Counter[str] = Counter()
        nll, tokens, source = [], [], []
        for example, reading in self.readings(answerer, data, label, rows):
            if example.nouns is None:
                raise InputError(
                    f"{self.name}: the proper nouns of examples {self.examples} ({label}, {self.split}) were never "
                    "marked; say `nouns:` in their recipe, and build it as another version"
                )
            within = overlapping(reading.offsets, example.nouns)
            if not within.any():
                reasons["no proper noun"] += 1
                continue
            nll.append(float(reading.losses[within].sum(dtype=np.float64)))
            tokens.append(int(within.sum()))
            source.append(example.source)
        if are_finite(nll, reasons):
            sums, counts = np.asarray(nll), np.asarray(tokens)
            for name, chosen in by_source(source):
                loss = ratio(sums[chosen], counts[chosen])
                yield Measurement("nll", loss.value, int(counts[chosen].sum()), loss.stderr, name)
        yield from left_out(reasons)


def overlapping(offsets: NDArray[np.int64], spans: Sequence[tuple[int, int]]) -> NDArray[np.bool_]:
    """Return which tokens share a character with any of the spans: bool[tokens].

    `offsets` are the characters [start, end) of each token, int64[tokens, 2]; `spans` are (start, end) pairs in any
    order.
    """
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
    # Spans are disjoint and in order by now: the first one that ends behind a token's start is the only one to look at.
    place = np.searchsorted(ends, offsets[:, 0], side="right")
    reached = place < len(starts)
    inside = starts[np.minimum(place, len(starts) - 1)] < offsets[:, 1]
    # A token without a character, such as a special one, overlaps nothing.
    return np.asarray(reached & inside & (offsets[:, 0] < offsets[:, 1]))


def blocks(data: Examples, period: str, subset: str, rows: int) -> Iterator[list[Example]]:
    """Yield the examples of a subset in lists of at most `rows`."""
    examples = data.read(period, subset)
    while block := list(islice(examples, rows)):
        yield block


def by_source(sources: Sequence[str]) -> Iterator[tuple[str, NDArray[np.bool_]]]:
    """Yield (source, bool[examples]): the mask of all examples under "", then one for each source if there are several.

    Yields nothing if there are no examples.
    """
    import numpy as np

    of = np.asarray(sources)
    if len(of):
        yield "", np.ones(len(of), bool)
    names = set(sources)
    for name in sorted(names - {""}) if len(names) > 1 else ():
        yield name, of == name


def are_finite(losses: Sequence[float], reasons: Counter[str]) -> bool:
    """Return whether all losses are numbers; if one is not, count them all under NOT_A_NUMBER in `reasons`."""
    broken = sum(not math.isfinite(loss) for loss in losses)
    if broken:
        reasons[NOT_A_NUMBER] += len(losses)
    return not broken


def left_out(reasons: Mapping[str, int]) -> Iterator[Measurement]:
    """Yield a measurement of kind `left out` for each reason: how many examples were not scored."""
    for reason, count in sorted(reasons.items()):
        yield Measurement(reason, float(count), count, kind="left out")
