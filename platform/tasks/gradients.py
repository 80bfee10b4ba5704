"""How large the gradient of an example is: how much a model would change if it learned it (EvolvingQA, section 5.3)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, ClassVar, Literal, NamedTuple

from pydantic import Field, model_validator

from ticlm.platform.tasks.base import Measurement, Prediction
from ticlm.platform.tasks.documents import are_finite, left_out
from ticlm.platform.tasks.subsets import SubsetsTask

if TYPE_CHECKING:
    from ticlm.core.examples import Example, Examples
    from ticlm.platform.tasks.answerer import Answerer, GradientNorm

NORM, INPUT, TARGET = "gradient-norm", "input", "target"


class _Measured(NamedTuple):
    id: str
    gradient: GradientNorm


class GradientNorms(SubsetsTask):
    """The mean over examples of the L2 norm of the gradient of all parameters, each example by itself.

    An example has a masked text and what the masks stand for, `input` and `target` of its `about` (salient span
    masking). Its loss is the mean cross-entropy of the target's tokens and the end of text. The norm depends on the
    number of masked entities and of targets, so both are kept beside it for each example, with its loss. Beside the
    mean norm (`gradient-norm`) stand `gradient-norm-sum`, the sum of the norms of all single tensors, which the
    released code prints; `gradient-norm/GROUP` for the embeddings, the encoder and other groups of parameters;
    `entities`, the mean number of sentinels in what is read; and `nll`, the mean loss per target.
    """

    kind: Literal["gradient-norms"] = "gradient-norms"
    # The lengths that EvolvingQA trains with; its code for gradients cuts them at 50 and 25 tokens.
    inputs: int = Field(512, gt=0)
    """The largest number of tokens of an input, the tokenizer's special ones among them. What is cut is counted."""
    targets: int = Field(400, gt=0)
    """The largest number of tokens of a target, the end of text among them."""
    limit: int | None = Field(None, gt=0)
    """Measure only the first N examples of each label, as each costs a backward pass; by default all."""
    metric: ClassVar[str] = NORM
    unit: ClassVar[str] = "examples"

    @model_validator(mode="after")
    def _uncut(self) -> GradientNorms:
        if any(one.cut_answers for one in self.sets):
            raise ValueError("sets: cut_answers is for tasks that compare answers")
        return self

    def measure(self, answerer: Answerer, data: Examples, label: str, rows: int) -> Iterator[Measurement]:
        reasons: Counter[str] = Counter()
        found: list[_Measured] = []
        own = self.lengths(label)
        inputs, targets = own.longest_input or self.inputs, own.tokens or self.targets
        left = self.limit
        for block in self.blocks_at(data, label, rows):
            measured = block if left is None else block[:left]
            if not measured:
                break
            left = None if left is None else left - len(measured)
            usable = list(_usable(measured, reasons))
            results = answerer.gradient_norms([pair for _, pair in usable], inputs, targets)
            for (example, _), result in zip(usable, results, strict=True):
                if isinstance(result, str):
                    reasons[f"a target {result}"] += 1
                else:
                    found.append(_Measured(example.id, result))
        if are_finite([one.gradient.norm + one.gradient.loss for one in found], reasons):
            yield from _means(found)
        yield from left_out(+reasons)
        cut = sum(one.gradient.cut for one in found)
        if cut:
            yield Measurement("an input or a target longer than is read", float(cut), cut, kind="cut")


def _usable(block: Sequence[Example], reasons: Counter[str]) -> Iterator[tuple[Example, tuple[str, str]]]:
    """Yield examples with their inputs and targets; examples that lack one are counted in `reasons`."""
    for example in block:
        pair = example.about.get(INPUT, ""), example.about.get(TARGET, "")
        missing = next((name for name, text in zip((INPUT, TARGET), pair) if not text.strip()), None)
        if missing is None:
            yield example, pair
        else:
            reasons[f"no {missing}"] += 1


def _means(found: Sequence[_Measured]) -> Iterator[Measurement]:
    from ticlm.platform.tasks.statistics import mean, ratio

    if not found:
        return
    gradients = [one.gradient for one in found]
    values = {NORM: [one.norm for one in gradients], f"{NORM}-sum": [one.norm_sum for one in gradients]}
    for group in dict.fromkeys(name for one in gradients for name in one.groups):
        values[f"{NORM}/{group}"] = [one.groups.get(group, 0.0) for one in gradients]
    values["entities"] = [float(one.entities) for one in gradients]
    kept = tuple(_prediction(one) for one in found)
    for metric, each in values.items():
        estimate = mean(each)
        predictions = kept if metric == NORM else ()
        yield Measurement(metric, estimate.value, len(each), estimate.stderr, predictions=predictions)
    counts = [one.targets for one in gradients]
    loss = ratio([one.loss * one.targets for one in gradients], counts)
    yield Measurement("nll", loss.value, sum(counts), loss.stderr)


def _prediction(one: _Measured) -> Prediction:
    gradient = one.gradient
    numbers = {
        "norm": gradient.norm,
        "norm-sum": gradient.norm_sum,
        "entities": float(gradient.entities),
        "loss": gradient.loss,
        "targets": float(gradient.targets),
        **{f"norm/{group}": norm for group, norm in gradient.groups.items()},
    }
    return Prediction(one.id, "", 0.0, 0.0, numbers=numbers)
