"""Tasks that ask questions: how likely the answer is, whether it is the likeliest choice, whether it is what a model
says (TiC-LM, section 4).

An example's text ends where its answer begins; between the two stands `delimiter`.
"""

from __future__ import annotations

import re
import string
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, ClassVar, Literal

from pydantic import Field

from ticlm.platform.core.errors import InputError
from ticlm.platform.tasks.base import NOT_A_NUMBER, Measurement
from ticlm.platform.tasks.documents import ExamplesTask, are_finite, blocks, by_source, left_out

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from ticlm.platform.core.examples import Example, Examples
    from ticlm.platform.tasks.answerer import Answerer, Continuation
    from ticlm.platform.tasks.statistics import Estimate


class QuestionTask(ExamplesTask):
    """Base of tasks on questions with answers.

    An answer that does not fit a model's window together with a token of its question is left out, and counted; a
    question that does not fit beside it loses its beginning; where it was scored, that is counted under `cut`.
    InputError where no example is such a question.
    """

    needs: ClassVar[str] = "answer"
    """What an example must have."""
    delimiter: str = " "
    """Between a question and its answer. Where it begins with a space, the question loses those that it ends in."""

    def context(self, example: Example) -> str:
        """All that stands before an answer, without the delimiter."""
        return example.text.rstrip() if self.delimiter[:1].isspace() else example.text

    def texts(self, example: Example) -> Sequence[str]:
        """What of an example is asked for; nothing where it is no such question."""
        return () if example.answer is None else (example.answer,)

    def asked(self, data: Examples, period: str, rows: int, rest: Counter[str]) -> Iterator[list[Example]]:
        """The questions, some at a time; what is none is counted in `rest`."""
        wrong, total = 0, 0
        for block in blocks(data, period, self.split, rows):
            asked = []
            for example in block:
                texts = self.texts(example)
                if not texts:
                    wrong += 1
                elif not all(text.strip() for text in texts):
                    rest["an empty answer"] += 1
                else:
                    asked.append(example)
            total += len(block)
            yield asked
        if wrong:
            rest[f"no {self.needs}"] += wrong
        if total and wrong == total:
            raise InputError(f"{self.name}: examples {self.examples} ({period}, {self.split}) have no {self.needs}")

    def scores(
        self, answerer: Answerer, questions: Sequence[Example], rest: Counter[str]
    ) -> Iterator[tuple[Example, list[Continuation]]]:
        """What came of all that is asked for; a question of which something could not be scored is counted in `rest`
        instead."""
        pairs = [(self.context(e), self.delimiter + text) for e in questions for text in self.texts(e)]
        found = iter(answerer.score(pairs))
        for example in questions:
            mine = [next(found) for _ in self.texts(example)]
            scored = [one for one in mine if not isinstance(one, str)]
            if len(scored) == len(mine):
                yield example, scored
            else:
                reason = next(one for one in mine if isinstance(one, str))
                rest[f"an answer {reason}"] += 1


class AnswerPerplexity(QuestionTask):
    """ln ppl_answer, where ppl_answer is the mean of 1 / P(answer | question) over questions (TiC-LM, Eq. 2)."""

    kind: Literal["answer-perplexity"] = "answer-perplexity"
    length_normalised: bool = False
    """Take P as the geometric mean over the answer's tokens, as the code released with the paper does."""

    def measure(self, answerer: Answerer, data: Examples, period: str, rows: int) -> Iterator[Measurement]:
        from ticlm.platform.tasks.statistics import log_mean_exp

        rest: Counter[str] = Counter()
        nll, source, cut = [], [], 0
        for block in self.asked(data, period, rows, rest):
            for example, (found,) in self.scores(answerer, block, rest):
                nll.append(-found.logprob / (found.tokens if self.length_normalised else 1))
                source.append(example.source)
                cut += found.cut
        if are_finite(nll, rest):
            yield from each_source("nll", nll, source, log_mean_exp)
        yield from left_out(rest)
        yield from shortened(cut)


class MultipleChoice(QuestionTask):
    """The share of questions whose answer, the first of the choices, is the likeliest of them.

    Where it shares that place with others, so that nothing speaks for it, it counts as what guessing among them gives.
    """

    kind: Literal["multiple-choice"] = "multiple-choice"
    needs: ClassVar[str] = "choices"
    per: Literal["choice", "token", "byte"] = "choice"
    """What ln P is of: the whole choice, or the mean over its tokens or UTF-8 bytes, which gives long ones a chance."""
    metric: ClassVar[str] = "accuracy"
    higher_is_better: ClassVar[bool] = True

    def measure(self, answerer: Answerer, data: Examples, period: str, rows: int) -> Iterator[Measurement]:
        from ticlm.platform.tasks.statistics import mean

        rest: Counter[str] = Counter()
        right, source, cut, whole = [], [], 0, []
        for block in self.asked(data, period, rows, rest):
            for example, found in self.scores(answerer, block, rest):
                values = [one.logprob / self._size(one, text) for one, text in zip(found, example.choices, strict=True)]
                whole.append(sum(values))
                right.append((values[0] == max(values)) / values.count(max(values)))
                source.append(example.source)
                cut += any(one.cut for one in found)
        if are_finite(whole, rest):
            yield from each_source("accuracy", right, source, mean)
        yield from left_out(rest)
        yield from shortened(cut)

    def texts(self, example: Example) -> Sequence[str]:
        return example.choices if len(example.choices) > 1 else ()

    def _size(self, found: Continuation, text: str) -> int:
        return {"choice": 1, "token": found.tokens, "byte": len(text.encode())}[self.per]


class ExactMatch(QuestionTask):
    """The share of questions to which the model, going on greedily up to the end of the line, says the answer or one of
    its aliases: in any case, without punctuation and articles, as SQuAD compares them."""

    kind: Literal["exact-match"] = "exact-match"
    tokens: int = Field(32, gt=0)
    """The longest it may go on."""
    match: Literal["exact", "begins"] = "exact"
    """`begins`: it is enough to begin with an answer, as in the code released with the paper."""
    metric: ClassVar[str] = "accuracy"
    higher_is_better: ClassVar[bool] = True

    def measure(self, answerer: Answerer, data: Examples, period: str, rows: int) -> Iterator[Measurement]:
        from ticlm.platform.tasks.statistics import mean

        rest: Counter[str] = Counter()
        right, source, wordless = [], [], 0
        for block in self.asked(data, period, rows, rest):
            said = answerer.generate([self.context(e) + self._opening for e in block], self.tokens, stop="\n")
            for example, text in zip(block, said, strict=True):
                if text is None:
                    wordless += 1
                    continue
                labels = {normalised(one) for one in (example.answer or "", *example.aliases)} - {""}
                if not labels:
                    rest["an answer of punctuation and articles"] += 1
                    continue
                right.append(float(self._is_right(normalised(text), labels)))
                source.append(example.source)
        if wordless:  # a model whose logits are no numbers is not one that answers wrongly
            rest[NOT_A_NUMBER] += len(right) + wordless
        else:
            yield from each_source("accuracy", right, source, mean)
        yield from left_out(rest)

    @property
    def _opening(self) -> str:
        """What is said already when the model goes on: all of the delimiter but the space that its next token takes."""
        return self.delimiter.rstrip(" ")

    def _is_right(self, said: str, labels: set[str]) -> bool:
        return said in labels if self.match == "exact" else said.startswith(tuple(labels))


def normalised(text: str) -> str:
    """Lower case, without punctuation and articles, single spaces (SQuAD's evaluation script)."""
    plain = "".join(character for character in text.lower() if character not in string.punctuation)
    return " ".join(re.sub(r"\b(a|an|the)\b", " ", plain).split())


def each_source(
    metric: str, values: Sequence[float], source: Sequence[str], estimate: Callable[[ArrayLike], Estimate]
) -> Iterator[Measurement]:
    """The estimate over all questions, and over those of each source where there are several."""
    import numpy as np

    array = np.asarray(values, np.float64)
    for name, mine in by_source(source):
        found = estimate(array[mine])
        yield Measurement(metric, found.value, int(mine.sum()), found.stderr, name)


def shortened(count: int) -> Iterator[Measurement]:
    """How many questions lost their beginning, as a number of its own."""
    if count:
        yield Measurement("cut: a question longer than the model's window", float(count), count)
