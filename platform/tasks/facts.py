"""How likely a model finds facts: subject, relation and object written as one text (TemporalWiki, Jang et al., 2022).

The released code of TemporalWiki takes the mean over batches of each batch's mean loss, so its numbers depend on the
size of a batch. Here every mean is over tokens or over facts.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, ClassVar, Literal, NamedTuple

from ticlm.platform.tasks.answerer import Cut
from ticlm.platform.tasks.base import Measurement, Prediction
from ticlm.platform.tasks.documents import are_finite, left_out
from ticlm.platform.tasks.questions import shortened
from ticlm.platform.tasks.subsets import SubsetsTask

if TYPE_CHECKING:
    from ticlm.core.examples import Example, Examples
    from ticlm.platform.tasks.answerer import Answerer

TRIPLE, OUTDATED, UPDATED, MEAN = "-triple", "-outdated", "-updated", "-mean"
"""Behind `nll`: the whole triple, the replaced object, the object that replaced one, and means over facts. The same
ends tell the numbers of a prediction apart, and those of its tokens."""


class _FactQuestion(NamedTuple):
    """A fact as it is asked: the name of its example; subject and relation; and its object, followed by the first
    object that it replaced, if there is one."""

    id: str
    prompt: str
    objects: tuple[str, ...]


class _Fact(NamedTuple):
    """A scored fact: the name of its example, the numbers to keep, and whether its subject lost its beginning."""

    id: str
    numbers: Mapping[str, float]
    cut: bool


class FactPerplexity(SubsetsTask):
    """The mean −ln P per token of a fact's object, given its subject and relation; lower is better.

    An example's text is subject and relation, its answer the object; a space stands between them. `nll` is over the
    object's tokens of all facts together, so it depends on no size of a batch. Beside it stand `nll-triple`, the same
    over all tokens of subject, relation and object; `nll-mean` and `nll-triple-mean`, means over the facts of each
    one's mean; and of the facts whose object replaced another one, `nll-updated` of the object and `nll-outdated` of
    the first one that was replaced. What was counted of every fact is kept.

    A causal model reads the three as one text with nothing before it; where a token would reach over the border between
    relation and object, the two are tokenized apart. An encoder–decoder reads subject and relation with its encoder and
    predicts the object; the whole triple it predicts as it does any text, behind an empty context.
    """

    kind: Literal["fact-perplexity"] = "fact-perplexity"
    first_token: bool = True
    """Whether the first token of the triple is scored, behind end-of-text; TemporalWiki's code leaves it out. This is
    about the `nll-triple` numbers alone."""
    unit: ClassVar[str] = "facts"

    def measure(self, answerer: Answerer, data: Examples, label: str, rows: int) -> Iterator[Measurement]:
        reasons: Counter[str] = Counter()
        facts: list[_Fact] = []
        for block in self.blocks_at(data, label, rows):
            facts += _scored(answerer, list(_usable(block, reasons)), self.first_token, reasons)
        if are_finite([sum(fact.numbers.values()) for fact in facts], reasons) and facts:
            yield from _means(facts)
        yield from left_out(reasons)
        yield from shortened(sum(fact.cut for fact in facts))


def _usable(examples: Sequence[Example], reasons: Counter[str]) -> Iterator[_FactQuestion]:
    """Yield the facts among examples; the others are counted in `reasons`."""
    from ticlm.core.examples import MASK

    for example in examples:
        prompt, answer = example.text.strip(), (example.answer or "").strip()
        if not answer:
            reasons["no answer"] += 1
        elif not prompt:
            reasons["no subject and relation"] += 1
        elif MASK in prompt:
            reasons["a cloze, whose answer stands within its text"] += 1
        else:
            replaced = [one.strip() for one in example.outdated if one.strip()]
            yield _FactQuestion(example.id, prompt, (answer, *replaced[:1]))


def _scored(
    answerer: Answerer, asked: Sequence[_FactQuestion], first_token: bool, reasons: Counter[str]
) -> Iterator[_Fact]:
    """Yield the facts that can be scored; the others are counted in `reasons`."""
    import numpy as np

    objects = iter(answerer.score([(one.prompt, f" {text}") for one in asked for text in one.objects]))
    wholes = answerer.read([f"{one.prompt} {one.objects[0]}" for one in asked], Cut(scores_first=first_token))
    for one, whole in zip(asked, wholes, strict=True):
        new, *old = [next(objects) for _ in one.objects]
        if isinstance(new, str):
            reasons[f"an object {new}"] += 1
            continue
        if not len(whole.losses):
            reasons["no token to score"] += 1
            continue
        numbers = _numbers("", -new.logprob, new.tokens)
        numbers |= _numbers(TRIPLE, float(whole.losses.sum(dtype=np.float64)), len(whole.losses))
        for replaced in old:
            if isinstance(replaced, str):
                reasons[f"an outdated object {replaced}"] += 1
            else:
                numbers |= _numbers(OUTDATED, -replaced.logprob, replaced.tokens)
        yield _Fact(one.id, numbers, new.cut)


def _numbers(end: str, nll: float, tokens: int) -> dict[str, float]:
    return {f"nll{end}": nll, f"tokens{end}": float(tokens)}


def _means(facts: Sequence[_Fact]) -> Iterator[Measurement]:
    """Yield all means over the facts, at least one."""
    kept = tuple(Prediction(fact.id, "", 0.0, 0.0, numbers=fact.numbers) for fact in facts)
    every = [fact.numbers for fact in facts]
    yield from _ratios({"nll": (every, ""), f"nll{TRIPLE}": (every, TRIPLE)}, kept)
    if replacing := [numbers for numbers in every if f"nll{OUTDATED}" in numbers]:
        yield from _ratios({f"nll{UPDATED}": (replacing, ""), f"nll{OUTDATED}": (replacing, OUTDATED)})
    alone = [
        {name: value for end in ("", TRIPLE) for name, value in _numbers(end, _per_token(numbers, end), 1).items()}
        for numbers in every
    ]
    yield from _ratios({f"nll{end}{MEAN}": (alone, end) for end in ("", TRIPLE)})


def _per_token(numbers: Mapping[str, float], end: str) -> float:
    return numbers[f"nll{end}"] / numbers[f"tokens{end}"]


def _ratios(
    wanted: Mapping[str, tuple[Sequence[Mapping[str, float]], str]], kept: tuple[Prediction, ...] = ()
) -> Iterator[Measurement]:
    """Yield, for each metric, the sum of all losses (nats) over the sum of all counts, with its error; `kept` are the
    predictions of the first metric."""
    import numpy as np

    from ticlm.platform.tasks.statistics import ratios

    sums = [np.array([one[f"nll{end}"] for one in facts]) for facts, end in wanted.values()]
    counts = [np.array([one[f"tokens{end}"] for one in facts]) for facts, end in wanted.values()]
    for metric, found, number in zip(wanted, ratios(*zip(sums, counts, strict=True)), counts, strict=True):
        yield Measurement(metric, found.value, int(number.sum()), found.stderr, predictions=kept)
        kept = ()
