"""The answers that a model writes, and how well they match: to probes (CKL, LAMA), questions, and tasks of KILT."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from pydantic import Field

from ticlm.core.extras import Extra
from ticlm.core.periods import Label
from ticlm.datasets.text.matching import exact_match, f1
from ticlm.platform.tasks.base import NO_NUMBERS, NOT_A_NUMBER, Measurement, Prediction, Task
from ticlm.platform.tasks.documents import left_out
from ticlm.platform.tasks.probes import averaged, right
from ticlm.platform.tasks.questions import shortened
from ticlm.platform.tasks.time_prompt import TimedProbeTask

if TYPE_CHECKING:
    from ticlm.core.examples import Example, Examples
    from ticlm.platform.tasks.answerer import Answerer

EXACT = "exact-match"
OUTDATED_EXACT, OUTDATED_F1 = "outdated-exact", "outdated-f1"
"""Numbers of a prediction whose example has outdated answers."""
OUTDATED = {"outdated-exact-match": OUTDATED_EXACT, "outdated-f1": OUTDATED_F1}
"""The number that each metric on outdated answers is the mean of."""
ECHOED = "echoed-date"
TEMPORAL = ("DATE", "TIME")
"""Types of answers (OntoNotes) that a date may be mistaken for."""


class _Answered(NamedTuple):
    """An example with the model's answer; `score` is its value of the task's metric."""

    example: Example
    prediction: Prediction
    score: float


class GeneratedAnswers(TimedProbeTask, version=2):
    """The mean of a metric over what a model writes, each time the best that it has with one of the right answers.

    `exact-match` and `f1` compare texts as in SQuAD, without regard to case, punctuation and articles (but numbers keep
    their points and signs, without which 1.5 would be 15), `accuracy` word for word, `rouge-l` by the longest common
    subsequence of words (the last two as in KILT, Petroni et al., 2021). Beside `exact-match` stand `f1`, and
    `outdated-exact-match` and `outdated-f1`: how well the text matches an outdated answer, over the examples that have
    one. `…-macro` are means over the means of the sources, which are relations in LAMA. With a time prompt,
    `echoed-date` is the share of texts that only repeat its date, and `echoed-date-temporal` the same share of the
    examples whose answer is of type DATE or TIME.
    """

    kind: Literal["generated-answers"] = "generated-answers"
    score_by: Literal["exact-match", "f1", "accuracy", "rouge-l"] = "exact-match"
    """The metric by which checkpoints are compared."""
    tokens: int = Field(32, gt=0)
    """The largest number of tokens of an answer."""
    beams: int = Field(1, gt=0)
    """Beams of the search for an answer; 1 takes the likeliest token each time. CKL's code searches with 2."""
    stop: str | None = None
    """Text at which an answer ends. By default a causal model fills a cloze up to the first `.`, as in CKL, and nothing
    else ends so."""
    cut_afterwards: bool = False
    """Write all `tokens`, and cut the text at `stop` then, as in the code released with TemporalWiki. By default the
    search ends at `stop`, so that with several beams it may find another text."""
    checkpoints: tuple[Label, ...] | Literal["last", "all"] = "all"
    """Checkpoints to ask: `all`, the `last`, or those of these periods; tuned copies are made of no others."""
    released: bool = False
    """Let an encoder–decoder write as in the code released with CKL: `tokens` then count its start and the mask too,
    text behind the next sentinel belongs to the answer, and a cloze whose mask is cut away is asked all the same."""

    def without_meaning(self) -> frozenset[str]:
        unset = {"checkpoints"} if self.checkpoints == "all" else set()
        return super().without_meaning() | unset | (set() if self.cut_afterwards else {"cut_afterwards"})

    @property
    def chosen_checkpoints(self) -> tuple[Label, ...] | Literal["last", "all"]:
        return self.checkpoints

    def identity_at(self, label: str) -> Task:
        return super().identity_at(label).model_copy(update={"checkpoints": "all"})

    @property
    def metric(self) -> str:  # type: ignore[override]  # a class attribute of other tasks
        return self.score_by

    @property
    def needs_mask(self) -> bool:
        return not self.released

    def extras(self) -> tuple[Extra, ...]:
        return (Extra("kilt", ("rouge_score",)),) if self.score_by == "rouge-l" else ()

    def measure(self, answerer: Answerer, data: Examples, label: str, rows: int) -> Iterator[Measurement]:
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
        if wordless:  # logits that are no numbers are not wrong answers: the cell has no mean
            reasons[NOT_A_NUMBER] += len(found) + wordless
        else:
            yield from self._means(found, label)
        yield from left_out(+reasons)
        yield from shortened(cut, self.longest(label))

    def _means(self, found: Sequence[_Answered], label: str) -> Iterator[Measurement]:
        source, kept = [one.example.source for one in found], tuple(one.prediction for one in found)
        yield from averaged(self.score_by, [one.score for one in found], source, kept)
        if self.score_by == EXACT:
            yield from averaged("f1", [one.f1 for one in kept], source)
            for metric, number in OUTDATED.items():
                yield from _share(metric, [one.numbers[number] for one in kept if number in one.numbers])
        if self.time_prompt:
            echoed = [(float(self.echoes(p.text, label)), e.about.get("type")) for e, p, _ in found]
            yield from _share(ECHOED, [value for value, _ in echoed])
            yield from _share(f"{ECHOED}-temporal", [value for value, kind in echoed if kind in TEMPORAL])

    def _written(
        self, answerer: Answerer, asked: Sequence[tuple[Example, str, bool]], label: str
    ) -> Sequence[str | None]:
        tokens, texts = self.lengths(label).tokens or self.tokens, [text for _, text, _ in asked]
        stop = ("." if self.is_cloze else "") if self.stop is None else self.stop
        ends = "" if self.cut_afterwards else stop
        if self.is_cloze:
            written = answerer.fill(texts, tokens, ends, self.beams, plain=self.released)
        else:
            written = answerer.generate(texts, tokens, ends, self.beams)
        if not (stop and self.cut_afterwards):
            return written
        return [text and text.partition(stop)[0] for text in written]

    def _judged(self, answerer: Answerer, example: Example, text: str, label: str) -> _Answered:
        lengths, answers = self.lengths(label), right(example)
        if lengths.cut_answers:  # CKL's code compares InvariantLAMA with answers that it has cut to four tokens
            answers = tuple(answerer.beginning(answers, lengths.tokens or self.tokens))
        old = example.outdated
        stale = {OUTDATED_EXACT: exact_match(text, old), OUTDATED_F1: f1(text, old)} if old else NO_NUMBERS
        prediction = Prediction(example.id, text, exact_match(text, answers), f1(text, answers), numbers=stale)
        match self.score_by:
            case "exact-match":
                score = prediction.exact
            case "f1":
                score = prediction.f1
            case "accuracy":
                score = accuracy(text, answers)
            case "rouge-l":
                score = rouge_l(text, answers)
        return _Answered(example, prediction, score)


def _share(metric: str, values: Sequence[float]) -> Iterator[Measurement]:
    """Yield the mean of values from 0 to 1; nothing if there are none."""
    from ticlm.platform.tasks.statistics import mean

    if values:
        share = mean(values)
        yield Measurement(metric, share.value, len(values), share.stderr)


def accuracy(text: str, answers: Sequence[str]) -> float:
    """Return 1 if the text is one of the answers, apart from white space at the ends (classes and entities)."""
    return float(text.strip() in {answer.strip() for answer in answers})


def rouge_l(text: str, answers: Sequence[str]) -> float:
    """Return the largest F-measure of ROUGE-L of the text with an answer (Lin, 2004), as `rouge-score` counts it: over
    words in lower case, without stemming."""
    return max((float(_rouge().score(answer, text)["rougeL"].fmeasure) for answer in answers), default=0.0)


@cache
def _rouge() -> Any:
    from rouge_score.rouge_scorer import RougeScorer

    return RougeScorer(["rougeL"], use_stemmer=False)
