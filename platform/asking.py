"""Tasks on examples: texts are read to a model, questions are asked (TiC-LM, section 4).

All of them give natural logs of perplexities, or shares of right answers, with a standard error by bootstrap over
texts or questions.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import islice
from typing import TYPE_CHECKING, ClassVar, Literal

from pydantic import Field

from ticlm.platform.examples import Example, Subset
from ticlm.platform.reading import Cut
from ticlm.platform.tasks import Measurement, Task

if TYPE_CHECKING:
    from ticlm.platform.answerer import Answerer
    from ticlm.platform.examples import Examples


class ExamplesTask(Task):
    """Base of tasks on a set of examples: `name@version` in the root, a path or a URI; `split` is a subset of it."""

    examples: str
    split: Subset = "all"
    on_examples: ClassVar[bool] = True

    @property
    def elsewhere(self) -> str | None:
        return self.examples


def blocks(data: Examples, period: str, subset: str, rows: int) -> Iterator[list[Example]]:
    """The examples of a subset, `rows` at a time."""
    examples = data.read(period, subset)
    while block := list(islice(examples, rows)):
        yield block


class DocumentPerplexity(ExamplesTask):
    """ln ppl_token, the mean −ln P per token over whole texts (TiC-LM, Eq. 1), with a value for each source of text
    where there are several; and `bits-per-byte`, which models with different tokenizers share.

    A text's first token is scored after end-of-text; long ones go in windows, every token once.
    """

    kind: Literal["document-perplexity"] = "document-perplexity"
    first_token: bool = True
    """Whether the first token is scored; the code released with the paper leaves it out."""
    first_tokens: int | None = Field(None, gt=0)
    """Only so many tokens of each text, from its start (released for TiC-Wiki: 450)."""
    last_tokens: int | None = Field(None, gt=0)
    """Only so many tokens of each text, before its end (released for TiC-CodeDocs: 511)."""

    def measure(self, answerer: Answerer, data: Examples, period: str, rows: int) -> Iterator[Measurement]:
        import numpy as np

        from ticlm.platform.bootstrap import ratio

        nll, tokens, size, source = [], [], [], []
        cut = Cut(self.first_tokens, self.last_tokens, self.first_token)
        for block in blocks(data, period, self.split, rows):
            for example, reading in zip(block, answerer.read([e.text for e in block], cut)):
                nll.append(float(reading.losses.sum(dtype=np.float64)))
                tokens.append(len(reading.losses))
                size.append(reading.bytes)
                source.append(example.source)
        sums, counts, lengths, of = map(np.asarray, (nll, tokens, size, source))
        for name in ["", *sorted(set(source) - {""})]:
            mine = of == name if name else np.ones(len(of), bool)
            mean, stderr = ratio(sums[mine], counts[mine])
            yield Measurement("nll", mean, int(counts[mine].sum()), stderr, name)
            bits, error = ratio(sums[mine] / math.log(2), lengths[mine])
            yield Measurement("bits-per-byte", bits, int(lengths[mine].sum()), error, name)
