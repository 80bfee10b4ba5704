"""Questions over two facts in a row: asked at once, each fact for itself, and step by step."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, ClassVar, Literal, NamedTuple

from pydantic import model_validator

from ticlm.datasets.examples.hops import Changed, Hops
from ticlm.datasets.text.matching import exact_match, f1
from ticlm.platform.tasks.base import NOT_A_NUMBER, Measurement, Prediction
from ticlm.platform.tasks.documents import left_out
from ticlm.platform.tasks.generated import EXACT, OUTDATED_EXACT, GeneratedAnswers
from ticlm.platform.tasks.questions import shortened

if TYPE_CHECKING:
    from ticlm.core.examples import Example, Examples
    from ticlm.platform.tasks.answerer import Answerer

FIRST, SECOND, STEPS = "first-exact", "second-exact", "steps-exact"
"""Numbers of a prediction: 1 where the answer to the first question, to the second one, or step by step is right."""
STEPS_OUTDATED, HALF, BRIDGE, FREQUENT = "steps-outdated-exact", "half-exact", "bridge-exact", "frequent-exact"
"""Further ones: 1 where the answer step by step is outdated, where that to the question over both follows from the
first change alone, where it is the answer to the first question, and where the most frequent answer would be right."""
CHANGED, AT_ONCE = "changed", "at-once"
"""What a prediction says of its question: the place of what changed in CHANGES, and 1 if both did in one period."""
CHANGES: tuple[Changed, ...] = ("neither", "first", "second", "both")
MEASURED = {"first-exact-match": FIRST, "second-exact-match": SECOND, "steps-exact-match": STEPS}
"""The number that each further metric is the mean of."""


class _Two(NamedTuple):
    """An example with its two questions, the answers to both and to the question over both, and whether one of these
    was cut before it was asked."""

    example: Example
    hops: Hops
    whole: str
    first: str
    second: str
    cut: bool


class AnswersInSteps(GeneratedAnswers):
    """What a model writes to questions over two facts in a row, such as those of a set of kind `fact-hops`.

    Each example is asked four times: the question over both facts, as `generated-answers` asks it; the question about
    each fact for itself, the second one with the right answer to the first in it; and step by step, where the model's
    own answer to the first question stands in the second one. An empty own answer leads nowhere and is wrong.

    `exact-match` and `outdated-exact-match` are of the question over both. Beside them stand `first-exact-match`,
    `second-exact-match`, `steps-exact-match`, `both-exact-match` (both single answers are right), and `composed`: the
    exact match of the question over both among the examples of which both single answers are right.
    """

    kind: Literal["answers-in-steps"] = "answers-in-steps"  # type: ignore[assignment]  # a kind of its own
    unit: ClassVar[str] = "questions"

    @model_validator(mode="after")
    def _asks_questions(self) -> AnswersInSteps:
        if self.form == "cloze":
            raise ValueError("form must be question or text: what a second step asks is made of the first one's answer")
        if self.score_by != EXACT:
            raise ValueError(f"score_by must be exact-match, by which single answers are judged, got {self.score_by}")
        return self

    def measure(self, answerer: Answerer, data: Examples, label: str, rows: int) -> Iterator[Measurement]:
        reasons: Counter[str] = Counter()
        found: list[Prediction] = []
        cut = wordless = 0
        for block in self.probes(answerer, data, label, rows, reasons):
            answered = self._answered(answerer, block, label)
            wordless += sum(one is None for one in answered)
            two = [one for one in answered if one is not None]
            cut += sum(one.cut for one in two)
            found += map(_judged, two, self._in_steps(answerer, two, label))
        if wordless:  # logits that are no numbers are not wrong answers: the cell has no mean
            reasons[NOT_A_NUMBER] += len(found) + wordless
        else:
            yield from _means(found)
        yield from left_out(+reasons)
        yield from shortened(cut, self.longest(label))

    def _answered(
        self, answerer: Answerer, block: Sequence[tuple[Example, str, bool]], label: str
    ) -> list[_Two | None]:
        """Return each example with the model's answers to three questions; None where the model wrote none."""
        hops = [Hops.of(example) for example, *_ in block]
        firsts, first_cut = self._shown(answerer, [one.first for one in hops], label)
        seconds, second_cut = self._shown(answerer, [one.asked_of(one.first_answer) for one in hops], label)
        asked = (block, *([(one, text, False) for (one, *_), text in zip(block, texts)] for texts in (firsts, seconds)))
        whole, first, second = (self._written(answerer, questions, label) for questions in asked)
        cuts = [one or a or b for (*_, one), a, b in zip(block, first_cut, second_cut, strict=True)]
        found: list[_Two | None] = []
        for (example, *_), one, a, b, c, was_cut in zip(block, hops, whole, first, second, cuts, strict=True):
            wrote = a is not None and b is not None and c is not None
            found.append(_Two(example, one, a.strip(), b.strip(), c.strip(), was_cut) if wrote else None)
        return found

    def _in_steps(self, answerer: Answerer, two: Sequence[_Two], label: str) -> list[str]:
        """Return the answers to second questions about the model's own answers to the first."""
        from ticlm.core.examples import MASK

        led = [place for place, one in enumerate(two) if one.first and MASK not in one.first]
        texts, _ = self._shown(answerer, [two[place].hops.asked_of(two[place].first) for place in led], label)
        asked = [(two[place].example, text, False) for place, text in zip(led, texts, strict=True)]
        said = dict(zip(led, self._written(answerer, asked, label) if asked else (), strict=True))
        return [(said.get(place) or "").strip() for place in range(len(two))]

    def _shown(self, answerer: Answerer, questions: Sequence[str], label: str) -> tuple[list[str], list[bool]]:
        """Return questions as they are asked at a label, and whether each lost something of it."""
        texts = [self.as_masked(self.asked(question, label)) for question in questions]
        longest = self.longest(label)
        read = texts if longest is None else answerer.beginning(texts, longest, self.is_cloze)
        return list(read), [part != text for part, text in zip(read, texts, strict=True)]


def _judged(two: _Two, in_steps: str) -> Prediction:
    """Return the answer over both with all that is known of the example's answers."""
    example, hops, right = two.example, two.hops, (two.example.answer or "", *two.example.aliases)
    numbers = {
        FIRST: exact_match(two.first, (hops.first_answer,)),
        SECOND: exact_match(two.second, (hops.second_answer,)),
        STEPS: exact_match(in_steps, right),
        BRIDGE: exact_match(two.whole, (hops.first_answer,)),
        FREQUENT: exact_match(hops.frequent, right),
        CHANGED: float(CHANGES.index(hops.changed)),
        AT_ONCE: float(hops.at_once),
    }
    if example.outdated:
        numbers |= {
            OUTDATED_EXACT: exact_match(two.whole, example.outdated),
            STEPS_OUTDATED: exact_match(in_steps, example.outdated),
        }
    if hops.half:
        numbers[HALF] = exact_match(two.whole, (hops.half,))
    return Prediction(example.id, two.whole, exact_match(two.whole, right), f1(two.whole, right), numbers=numbers)


def _means(found: Sequence[Prediction]) -> Iterator[Measurement]:
    """Yield the mean of each metric; the first one has the predictions."""
    yield from _mean(EXACT, [one.exact for one in found], tuple(found))
    old = [one.numbers[OUTDATED_EXACT] for one in found if OUTDATED_EXACT in one.numbers]
    yield from _mean("outdated-exact-match", old)
    for metric, number in MEASURED.items():
        yield from _mean(metric, [one.numbers[number] for one in found])
    both = [one.numbers[FIRST] * one.numbers[SECOND] for one in found]
    yield from _mean("both-exact-match", both)
    yield from _mean("composed", [one.exact for one, known in zip(found, both) if known])


def _mean(metric: str, values: Sequence[float], kept: tuple[Prediction, ...] = ()) -> Iterator[Measurement]:
    """Yield the mean of values from 0 to 1; nothing if there are none."""
    from ticlm.platform.tasks.statistics import mean

    if values:
        share = mean(values)
        yield Measurement(metric, share.value, len(values), share.stderr, predictions=kept)
