"""The rank of a probe's right answer among all tokens."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING, ClassVar, Literal

from pydantic import Field, model_validator

from ticlm.platform.tasks.answerer import NOT_NUMBERS
from ticlm.platform.tasks.base import NOT_A_NUMBER, Measurement, Prediction
from ticlm.platform.tasks.documents import left_out
from ticlm.platform.tasks.probes import ProbeTask, averaged, right
from ticlm.platform.tasks.questions import shortened

if TYPE_CHECKING:
    from ticlm.core.examples import Examples
    from ticlm.platform.tasks.answerer import Answerer


class AnswerRanks(ProbeTask, version=2):  # 2: an encoder-decoder ranks answers as they stand inside a span
    """Precision at k: the share of clozes whose answer begins with one of the k likeliest tokens at the mask (LAMA;
    CKL, Figure 9), as `p@k`; the mean over the sources' means is `p@k-macro`.

    The best-ranked of several right answers counts. Of an answer of several tokens, only the first is ranked.
    """

    kind: Literal["answer-ranks"] = "answer-ranks"
    form: Literal["cloze"] = "cloze"
    """The cloze alone has a place to rank at."""
    # The k of CKL's Figure 9, of which no code was released: the first token is ranked, as LAMA's single ones are.
    best: tuple[int, ...] = Field((1, 5, 10, 20, 50, 100), min_length=1)
    """The values of k."""
    single_token: bool = False
    """Leave out and count the probes of which no right answer is a single token."""
    metric: ClassVar[str] = "p@1"

    @model_validator(mode="after")
    def _from_one(self) -> AnswerRanks:
        if 1 not in self.best or min(self.best) < 1:
            raise ValueError(f"best must be numbers from 1 on, 1 among them, got {', '.join(map(str, self.best))}")
        return self

    def measure(self, answerer: Answerer, data: Examples, label: str, rows: int) -> Iterator[Measurement]:
        reasons: Counter[str] = Counter()
        kept: list[tuple[str, Prediction]] = []
        cut = broken = 0
        for asked in self.probes(answerer, data, label, rows, reasons):
            results = iter(answerer.ranks([(text, answer) for one, text, _ in asked for answer in right(one)]))
            for example, _, was_cut in asked:
                cut += was_cut
                mine = [next(results) for _ in right(example)]
                ranks = [one for one in mine if not isinstance(one, str)]
                if NOT_NUMBERS in mine:
                    broken += 1
                elif not ranks:
                    reasons["an answer without a token"] += 1
                elif self.single_token and all(one.tokens > 1 for one in ranks):
                    reasons["an answer of several tokens"] += 1
                else:
                    first = min(one.rank for one in ranks if one.tokens == 1 or not self.single_token)
                    kept.append((example.source, Prediction(example.id, "", float(first == 1), 0.0, first)))
        if broken:
            reasons[NOT_A_NUMBER] += len(kept) + broken
        else:
            source, predictions = [name for name, _ in kept], tuple(one for _, one in kept)
            for k in self.best:
                values = [float(one.rank is not None and one.rank <= k) for one in predictions]
                yield from averaged(f"p@{k}", values, source, predictions if k == 1 else ())
        yield from left_out(+reasons)
        yield from shortened(cut, self.longest(label))
