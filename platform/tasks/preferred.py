"""Which of two answers a model prefers: the updated one or the outdated one (EvolvingQA, Table 5).

The released code of EvolvingQA compares parts of a greedy generation instead, and counts ties as outdated; here both
answers are scored as the paper says.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, ClassVar, Literal, NamedTuple

from ticlm.core.periods import Label
from ticlm.datasets.text.matching import f1
from ticlm.platform.tasks.answerer import Continuation
from ticlm.platform.tasks.base import Measurement, Prediction, Task
from ticlm.platform.tasks.documents import are_finite, left_out
from ticlm.platform.tasks.questions import shortened
from ticlm.platform.tasks.subsets import ProbeSet
from ticlm.platform.tasks.time_prompt import TimedProbeTask

if TYPE_CHECKING:
    from ticlm.core.examples import Example, Examples
    from ticlm.platform.tasks.answerer import Answerer

UPDATED, OUTDATED, TIED = "updated", "outdated", "tied"
Scores = tuple[Continuation, Continuation]
"""The scores of the answer and of the outdated answer."""


class _PairQuestion(NamedTuple):
    """An example with the text to ask, which may have been cut, and its two answers."""

    example: Example
    text: str
    cut: bool
    answers: tuple[str, str]


class _Pair(NamedTuple):
    """An example with the scores of its two answers behind its question and, as `priors`, behind nothing."""

    asked: _PairQuestion
    scores: Scores
    priors: Scores

    @property
    def cut(self) -> bool:
        """Whether the question did not fit the model's window."""
        return any(one.cut for one in self.scores)

    @property
    def numbers(self) -> dict[str, float]:
        """The numbers to keep of an example, by name: ln P in nats, and tokens."""
        found: dict[str, float] = {}
        for which, score, prior in zip(("", f"-{OUTDATED}"), self.scores, self.priors):
            found[f"logp{which}"], found[f"tokens{which}"] = score.logprob, float(score.tokens)
            found[f"prior{which}"] = prior.logprob
        return found

    def leads(self) -> dict[str, float]:
        """Return the lead of the answer over the outdated one in nats, by the way to compare them; negative if it is
        behind."""
        (new, old), (prior, old_prior) = self.scores, self.priors
        return {
            "": new.logprob - old.logprob,
            "-per-token": new.logprob / new.tokens - old.logprob / old.tokens,
            "-pmi": (new.logprob - prior.logprob) - (old.logprob - old_prior.logprob),
        }


class PreferredAnswers(TimedProbeTask):
    """The shares of examples of which a model finds the answer likelier than the outdated one (`updated`), less likely
    (`outdated`), or exactly as likely (`tied`); the three add up to 1.

    Compared is ln P(answer, end of text | question), summed over the tokens; under the same names with `-per-token`
    behind, its mean over the tokens; and with `-pmi`, the sum less ln P(answer, end of text) without a question, so
    that answers that are likely anywhere have no advantage. Of several outdated answers, the first counts. The text
    that is kept of an example is the preferred answer, empty for a tie.
    """

    kind: Literal["preferred-answers"] = "preferred-answers"
    form: Literal["question", "text"] = "question"
    """What is asked: the `question` of an example, or its text."""
    metric: ClassVar[str] = UPDATED
    unit: ClassVar[str] = "pairs of answers"

    def prior(self, example: Example) -> str:
        """Return the text behind which an answer has the likelihood that it has anywhere."""
        return ""

    def measure(self, answerer: Answerer, data: Examples, label: str, rows: int) -> Iterator[Measurement]:
        reasons: Counter[str] = Counter()
        pairs: list[_Pair] = []
        for asked in self._blocks(answerer, data, label, rows, reasons):
            pairs += self._scored(answerer, asked, reasons)
        if are_finite([sum(pair.numbers.values()) for pair in pairs], reasons):
            yield from _shares(pairs)
        yield from left_out(+reasons)
        yield from shortened(sum(pair.asked.cut for pair in pairs), self.longest(label))
        yield from shortened(sum(pair.cut for pair in pairs))

    def _blocks(
        self, answerer: Answerer, data: Examples, label: str, rows: int, reasons: Counter[str]
    ) -> Iterator[list[_PairQuestion]]:
        """Yield what is scored at once. What has not both answers is counted in `reasons`."""
        for probes in self.probes(answerer, data, label, rows, reasons):
            yield list(_with_both(probes, reasons))

    def _scored(self, answerer: Answerer, asked: Sequence[_PairQuestion], reasons: Counter[str]) -> Iterator[_Pair]:
        """Yield each example with its scores. One with an answer that cannot be scored is counted in `reasons`."""
        # Four scores for each example: both answers behind the question, then both behind the prior.
        for one, four in zip(asked, self._four(answerer, asked), strict=True):
            scores = [score for score in four if not isinstance(score, str)]
            if len(scores) == 4:
                new, old, prior, old_prior = scores
                yield _Pair(one, (new, old), (prior, old_prior))
            else:
                reason = next(score for score in four if isinstance(score, str))
                reasons[f"an answer {reason}"] += 1

    def _four(self, answerer: Answerer, asked: Sequence[_PairQuestion]) -> Iterator[list[Continuation | str]]:
        """Yield the scores of both answers of each example behind its question, then behind the prior."""
        around = ("<extra_id_0> ", "<extra_id_1>") if self.as_cloze else ("", "")  # as the model learned its spans
        texts = [
            (before, answer.join(around))
            for one in asked
            for before in (one.text, self.as_masked(self.prior(one.example)).lstrip())
            for answer in one.answers
        ]
        results = iter(answerer.score(texts, end=True))
        for _ in asked:
            yield [next(results) for _ in range(4)]


class DatedFacts(PreferredAnswers):
    """Which of two answers of a dated change a model prefers: the new one or the one that was right before.

    As `preferred-answers`, but of the text as it is, and without the end of text behind the answer. With `-pmi`, the
    likelihood of an answer behind the example's neutral words is subtracted. The changes of a fact are asked together,
    as a model reads the question once for all of its values: 4 times as fast on the packaged facts.
    """

    kind: Literal["dated-facts"] = "dated-facts"  # type: ignore[assignment]
    form: Literal["question", "text"] = "text"
    sets: tuple[ProbeSet, ...] = (ProbeSet(subset="changes"),)
    """The subsets to ask, each a label of its own, over all periods; with none, `split` is asked by period."""
    checkpoints: tuple[Label, ...] | Literal["ends", "all"] = "all"
    """Which checkpoints to ask: `all` that the study evaluates, the first and the last one of each run (`ends`), or
    those of the listed periods. Thousands of questions take a large model minutes each time."""

    @property
    def chosen_checkpoints(self) -> tuple[Label, ...] | Literal["last", "all"]:
        return "all" if self.checkpoints == "ends" else self.checkpoints

    def scores(self, trained: str, labels: Sequence[str]) -> bool:
        ends = (labels[0], labels[-1])
        return trained in ends if self.checkpoints == "ends" else super().scores(trained, labels)

    def identity_at(self, label: str) -> Task:
        return super().identity_at(label).model_copy(update={"checkpoints": "all"})

    def without_meaning(self) -> frozenset[str]:
        return super().without_meaning() | ({"checkpoints"} if self.checkpoints == "all" else frozenset())

    def prior(self, example: Example) -> str:
        return str(example.about.get("neutral", ""))

    def _four(self, answerer: Answerer, asked: Sequence[_PairQuestion]) -> Iterator[list[Continuation | str]]:
        # Apart: behind few neutral words stand hundreds of answers, and a batch is padded to its longest row.
        behind = (
            answerer.score([(before, f" {answer}") for one, before in befores for answer in one.answers])
            for befores in ([(one, one.text) for one in asked], [(one, self.prior(one.example)) for one in asked])
        )
        for question, prior in zip(*map(_pairs, behind), strict=True):
            yield [*question, *prior]

    def _blocks(
        self, answerer: Answerer, data: Examples, label: str, rows: int, reasons: Counter[str]
    ) -> Iterator[list[_PairQuestion]]:
        every = [one for block in super()._blocks(answerer, data, label, rows, reasons) for one in block]
        every.sort(key=lambda one: (one.example.about.get("fact", ""), one.text, one.example.id))
        for start in range(0, len(every), rows):
            yield every[start : start + rows]


def _pairs(scores: Sequence[Continuation | str]) -> Iterator[tuple[Continuation | str, ...]]:
    """Yield scores two by two."""
    return zip(scores[::2], scores[1::2], strict=True)


def _with_both(probes: Sequence[tuple[Example, str, bool]], reasons: Counter[str]) -> Iterator[_PairQuestion]:
    """Yield the examples that have an answer and an outdated one; the others are counted in `reasons`."""
    for example, text, cut in probes:
        new, old = example.answer, next((one for one in example.outdated if one.strip()), None)
        if new is None or not new.strip():
            reasons["no answer"] += 1
        elif old is None:
            reasons["no outdated answer"] += 1
        else:
            yield _PairQuestion(example, text, cut, (new, old))


def _shares(pairs: Sequence[_Pair]) -> Iterator[Measurement]:
    """Yield the share of each outcome, in each way to compare the answers."""
    from ticlm.platform.tasks.statistics import mean

    leads = [pair.leads() for pair in pairs]
    kept = tuple(_prediction(pair, one[""]) for pair, one in zip(pairs, leads, strict=True))
    for way in leads[0] if leads else ():
        values = [one[way] for one in leads]
        for outcome, hits in (
            (UPDATED, [value > 0 for value in values]),
            (OUTDATED, [value < 0 for value in values]),
            (TIED, [value == 0 for value in values]),
        ):
            share, whole = mean(hits), outcome + way
            yield Measurement(whole, share.value, len(hits), share.stderr, predictions=kept if whole == UPDATED else ())


def _prediction(pair: _Pair, lead: float) -> Prediction:
    (answer, old), name = pair.asked.answers, pair.asked.example.id
    text = answer if lead > 0 else old if lead < 0 else ""
    return Prediction(name, text, float(lead > 0), f1(text, (answer,)), numbers=pair.numbers)
