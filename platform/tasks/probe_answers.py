"""The answers that a model writes to probes, and how many of them are right, or outdated."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, ClassVar, Literal, NamedTuple

from pydantic import Field

from ticlm.datasets.text.matching import exact_match, f1
from ticlm.platform.tasks.base import NOT_A_NUMBER, Measurement, Prediction
from ticlm.platform.tasks.documents import left_out
from ticlm.platform.tasks.probes import ProbeTask, averaged, right
from ticlm.platform.tasks.questions import shortened

if TYPE_CHECKING:
    from ticlm.platform.core.examples import Example, Examples
    from ticlm.platform.tasks.answerer import Answerer


class _Answered(NamedTuple):
    """A probe with what the model wrote; `stale` says whether that is an outdated answer, None if there is none."""

    source: str
    prediction: Prediction
    stale: float | None


class ProbeAnswers(ProbeTask):
    """The share of probes to which the model writes a right answer (`exact-match`), the mean `f1` of its words, and
    the share to which it writes an outdated one (`outdated-exact-match`, of the probes that have one).

    `…-macro` are means over the means of the sources, which are relations in LAMA. Texts are compared as in SQuAD,
    without regard to case, punctuation and articles; of several right answers the best counts.
    """

    kind: Literal["probe-answers"] = "probe-answers"
    tokens: int = Field(32, gt=0)
    """The largest number of tokens of an answer."""
    beams: int = Field(1, gt=0)
    """Beams of the search for an answer; 1 takes the likeliest token each time."""
    stop: str = "."
    """A causal model's answer ends before the first of these, an encoder–decoder's to a question too; empty: none."""
    released: bool = False
    """Let an encoder–decoder write as in the code released with CKL: `tokens` then count its start and the mask too,
    and text behind the next sentinel belongs to the answer."""
    metric: ClassVar[str] = "exact-match"

    def measure(self, answerer: Answerer, data: Examples, label: str, rows: int) -> Iterator[Measurement]:
        from ticlm.platform.tasks.statistics import mean

        reasons: Counter[str] = Counter()
        found: list[_Answered] = []
        cut = wordless = 0
        for asked in self.probes(answerer, data, label, rows, reasons):
            for (example, _, was_cut), text in zip(asked, self._written(answerer, asked, label), strict=True):
                cut += was_cut
                if text is None:
                    wordless += 1
                else:
                    found.append(self._judged(answerer, example, text.strip(), label))
        if wordless:  # a model whose logits are no numbers is not one that answers wrongly
            reasons[NOT_A_NUMBER] += len(found) + wordless
        else:
            source = [one.source for one in found]
            kept = tuple(one.prediction for one in found)
            yield from averaged("exact-match", [one.exact for one in kept], source, kept)
            yield from averaged("f1", [one.f1 for one in kept], source)
            stale = [one.stale for one in found if one.stale is not None]
            if stale:
                share = mean(stale)
                yield Measurement("outdated-exact-match", share.value, len(stale), share.stderr)
        yield from left_out(+reasons)
        yield from shortened(cut)

    def _written(
        self, answerer: Answerer, asked: Sequence[tuple[Example, str, bool]], label: str
    ) -> Sequence[str | None]:
        tokens, texts = self.lengths(label).tokens or self.tokens, [text for _, text, _ in asked]
        if self.form == "question":
            return answerer.generate(texts, tokens, self.stop, self.beams)
        return answerer.fill(texts, tokens, self.stop, self.beams, plain=self.released)

    def _judged(self, answerer: Answerer, example: Example, text: str, label: str) -> _Answered:
        lengths, answers = self.lengths(label), right(example)
        if lengths.cut_answers:
            answers = tuple(answerer.beginning(answers, lengths.tokens or self.tokens))
        stale = exact_match(text, example.outdated) if example.outdated else None
        exact = exact_match(text, answers)
        return _Answered(example.source, Prediction(example.id, text, exact, f1(text, answers)), stale)
