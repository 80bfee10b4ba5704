"""Tasks that ask questions: how likely the answer is, whether it is the likeliest choice, or whether the model
generates it (TiC-LM, section 4).

The text of an example ends where its answer begins; `delimiter` stands between the two.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, ClassVar, Literal

from pydantic import Field

from ticlm.core.errors import InputError
from ticlm.datasets.text.matching import normalised
from ticlm.platform.tasks.base import NOT_A_NUMBER, Measurement
from ticlm.platform.tasks.documents import ExamplesTask, are_finite, blocks, by_source, left_out

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from ticlm.core.examples import Example, Examples
    from ticlm.platform.tasks.answerer import Answerer, Continuation
    from ticlm.platform.tasks.statistics import Estimate


class QuestionTask(ExamplesTask):
    """Base of tasks on questions with answers.

    If an answer to score is longer than the model's window, its question is left out and counted. A question too long
    for the window is cut at its start; scored questions that were cut are counted under the kind `cut`. Raises
    InputError if a period has examples, but none is a question of this kind.
    """

    needs: ClassVar[str] = "answer"
    """What an example must have."""
    delimiter: str = " "
    """Text between a question and its answer. If it begins with a space, spaces at the end of the question are
    removed."""

    def context(self, example: Example) -> str:
        """Return the text before the answer, without the delimiter."""
        return example.text.rstrip() if self.delimiter[:1].isspace() else example.text

    def texts(self, example: Example) -> Sequence[str]:
        """Return the continuations of an example to score; empty if it is not a question of this kind."""
        return () if example.answer is None else (example.answer,)

    def questions(self, data: Examples, period: str, rows: int, reasons: Counter[str]) -> Iterator[list[Example]]:
        """Yield the questions of a period in lists of at most `rows`. Examples that are no questions are counted in
        `reasons`."""
        wrong, total = 0, 0
        for block in blocks(data, period, self.split, rows):
            usable = []
            for example in block:
                texts = self.texts(example)
                if not texts:
                    wrong += 1
                elif not all(text.strip() for text in texts):
                    reasons["an empty answer"] += 1
                else:
                    usable.append(example)
            total += len(block)
            yield usable
        if wrong:
            reasons[f"no {self.needs}"] += wrong
        if total and wrong == total:
            raise InputError(f"{self.name}: examples {self.examples} ({period}, {self.split}) have no {self.needs}")

    def scored(
        self, answerer: Answerer, questions: Sequence[Example], reasons: Counter[str]
    ) -> Iterator[tuple[Example, list[Continuation]]]:
        """Yield each question with the scores of its continuations. If one of them could not be scored, the question is
        counted in `reasons` instead."""
        pairs = [(self.context(e), self.delimiter + text) for e in questions for text in self.texts(e)]
        results = iter(answerer.score(pairs))
        for example in questions:
            answers = [next(results) for _ in self.texts(example)]
            scores = [answer for answer in answers if not isinstance(answer, str)]
            if len(scores) == len(answers):
                yield example, scores
            else:
                reason = next(answer for answer in answers if isinstance(answer, str))
                reasons[f"an answer {reason}"] += 1


class AnswerPerplexity(QuestionTask):
    """ln ppl_answer, where ppl_answer is the mean of 1 / P(answer | question) over questions (TiC-LM, Eq. 2)."""

    # Equation 2 has P of the whole answer. The released code, whose files give the numbers of Table 11, takes the mean
    # over its tokens.
    kind: Literal["answer-perplexity"] = "answer-perplexity"
    length_normalised: bool = False
    """Take P as the geometric mean over the answer's tokens, as the code released with the paper does."""

    def measure(self, answerer: Answerer, data: Examples, label: str, rows: int) -> Iterator[Measurement]:
        from ticlm.platform.tasks.statistics import log_mean_exp

        reasons: Counter[str] = Counter()
        nll, source, cut = [], [], 0
        for block in self.questions(data, label, rows, reasons):
            for example, (answer,) in self.scored(answerer, block, reasons):
                nll.append(-answer.logprob / (answer.tokens if self.length_normalised else 1))
                source.append(example.source)
                cut += answer.cut
        if are_finite(nll, reasons):
            yield from each_source("nll", nll, source, log_mean_exp)
        yield from left_out(reasons)
        yield from shortened(cut)


class MultipleChoice(QuestionTask):
    """The share of questions whose answer, the first of the choices, is the likeliest choice.

    A question counts 1 if the right choice alone has the best score, 1 / (number tied) if it ties with others, else 0.
    """

    kind: Literal["multiple-choice"] = "multiple-choice"
    needs: ClassVar[str] = "choices"
    per: Literal["choice", "token", "byte"] = "choice"
    """Compare ln P of the whole choice, or its mean per token or per UTF-8 byte, so that long choices are not at a
    disadvantage."""
    metric: ClassVar[str] = "accuracy"
    higher_is_better: ClassVar[bool] = True

    def measure(self, answerer: Answerer, data: Examples, label: str, rows: int) -> Iterator[Measurement]:
        from ticlm.platform.tasks.statistics import mean

        reasons: Counter[str] = Counter()
        right, source, cut, sums = [], [], 0, []
        for block in self.questions(data, label, rows, reasons):
            for example, choices in self.scored(answerer, block, reasons):
                pairs = zip(choices, example.choices, strict=True)
                values = [choice.logprob / self._size(choice, text) for choice, text in pairs]
                sums.append(sum(values))
                right.append((values[0] == max(values)) / values.count(max(values)))
                source.append(example.source)
                cut += any(choice.cut for choice in choices)
        if are_finite(sums, reasons):
            yield from each_source("accuracy", right, source, mean)
        yield from left_out(reasons)
        yield from shortened(cut)

    def texts(self, example: Example) -> Sequence[str]:
        return example.choices if len(example.choices) > 1 else ()

    def _size(self, choice: Continuation, text: str) -> int:
        return {"choice": 1, "token": choice.tokens, "byte": len(text.encode())}[self.per]


class ExactMatch(QuestionTask, version=2):
    """The share of questions to which the model generates the answer or one of its aliases.

    The model generates greedily up to the end of the line. Texts are compared as in SQuAD: without regard to case,
    punctuation and articles. But numbers keep their points and signs, without which 1.5 would be 15.
    """

    kind: Literal["exact-match"] = "exact-match"
    tokens: int = Field(32, gt=0)
    """The largest number of tokens to generate."""
    match: Literal["exact", "begins"] = "exact"
    """`begins`: the generated text need only begin with an answer, as in the code released with the paper."""
    metric: ClassVar[str] = "accuracy"
    higher_is_better: ClassVar[bool] = True

    def measure(self, answerer: Answerer, data: Examples, label: str, rows: int) -> Iterator[Measurement]:
        from ticlm.platform.tasks.statistics import mean

        reasons: Counter[str] = Counter()
        right, source, wordless = [], [], 0
        for block in self.questions(data, label, rows, reasons):
            texts = answerer.generate([self.context(e) + self._opening for e in block], self.tokens, stop="\n")
            for example, text in zip(block, texts, strict=True):
                if text is None:
                    wordless += 1
                    continue
                answers = {normalised(answer) for answer in (example.answer or "", *example.aliases)} - {""}
                if not answers:
                    reasons["an answer of punctuation and articles"] += 1
                    continue
                right.append(float(self._is_right(normalised(text), answers)))
                source.append(example.source)
        if wordless:  # logits that are no numbers are not wrong answers: the cell has no mean
            reasons[NOT_A_NUMBER] += len(right) + wordless
        else:
            yield from each_source("accuracy", right, source, mean)
        yield from left_out(reasons)

    @property
    def _opening(self) -> str:
        """The delimiter without the spaces at its end, because tokenizers join a space to the word after it."""
        return self.delimiter.rstrip(" ")

    def _is_right(self, text: str, answers: set[str]) -> bool:
        return text in answers if self.match == "exact" else text.startswith(tuple(answers))


def each_source(
    metric: str, values: Sequence[float], source: Sequence[str], estimate: Callable[[ArrayLike], Estimate]
) -> Iterator[Measurement]:
    """Yield the estimate of `values` (one number per question) over all questions, and over those of each source if
    there are several."""
    import numpy as np

    array = np.asarray(values, np.float64)
    for name, chosen in by_source(source):
        result = estimate(array[chosen])
        yield Measurement(metric, result.value, int(chosen.sum()), result.stderr, name)


def shortened(count: int, longest: int | None = None) -> Iterator[Measurement]:
    """Yield a measurement of kind `cut`: how many questions lost their beginning, or their end where a task reads only
    `longest` tokens of a question. Yield nothing if none did."""
    if count:
        than = "the model's window" if longest is None else f"{longest} tokens"
        yield Measurement(f"a question longer than {than}", float(count), count, kind="cut")
