"""Probes: questions about single facts that a model keeps, updates or learns (CKL, section 3; LAMA).

The answer of a cloze stands where MASK is. `generated` compares what a model writes there with the right answers,
`answer_ranks` ranks a right answer among all tokens that could begin there.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, ClassVar, Literal

from pydantic import Field, model_validator

from ticlm.datasets.text.matching import normalised
from ticlm.platform.tasks.base import Measurement, Prediction
from ticlm.platform.tasks.documents import by_source
from ticlm.platform.tasks.subsets import SubsetsTask

if TYPE_CHECKING:
    from ticlm.core.examples import Example, Examples
    from ticlm.platform.tasks.answerer import Answerer

MACRO = "-macro"
"""Ends the name of a mean over the means of all sources, such as the relations of facts."""


class ProbeTask(SubsetsTask):
    """Base of tasks on probes. Any of the right answers of a probe counts."""

    form: Literal["cloze", "question", "text"] = "cloze"
    """What is asked: the text as a cloze with a mask, the `question` beside it, or the text as it is."""
    as_cloze: str = ""
    """How a question or a text is asked of an encoder–decoder that fills masks, with `{asked}` and one mask in it:
    "{asked} It is<extra_id_0>."; by default as it is, of a model that was tuned to answer."""
    longest_input: int | None = Field(None, gt=0)
    """How many tokens of a question are read, the tokenizer's special ones among them. What is cut is counted; a cloze
    whose mask is cut away is left out and counted."""
    higher_is_better: ClassVar[bool] = True
    unit: ClassVar[str] = "probes"

    def without_meaning(self) -> frozenset[str]:
        return super().without_meaning() | (frozenset() if self.as_cloze else frozenset({"as_cloze"}))

    @model_validator(mode="after")
    def _checked_cloze(self) -> ProbeTask:
        from ticlm.core.examples import MASK

        if self.as_cloze and (self.as_cloze.count("{asked}"), self.as_cloze.count(MASK)) != (1, 1):
            raise ValueError(f"as_cloze must have {{asked}} and {MASK} in it, once each, got {self.as_cloze!r}")
        if self.as_cloze and self.form == "cloze":
            raise ValueError("as_cloze makes a cloze of a question or a text; form must be one of these")
        return self

    @property
    def is_cloze(self) -> bool:
        """Whether what is asked is a cloze."""
        return self.form == "cloze" or bool(self.as_cloze)

    @property
    def needs_mask(self) -> bool:
        """Whether a cloze without its mask cannot be asked."""
        return True

    def longest(self, label: str) -> int | None:
        """Return how many tokens of a question are read at a label; None: all."""
        return self.lengths(label).longest_input or self.longest_input

    def asked(self, text: str, label: str) -> str:
        """Return the text that is asked at a label in place of an example's own."""
        return text

    def as_masked(self, text: str) -> str:
        """Return a text as it is asked, with a mask where the task wants one."""
        return self.as_cloze.replace("{asked}", text) if self.as_cloze else text

    def probes(
        self, answerer: Answerer, data: Examples, label: str, rows: int, reasons: Counter[str]
    ) -> Iterator[list[tuple[Example, str, bool]]]:
        """Yield lists of (probe, text to ask, whether it was cut). Probes that cannot be asked are counted in
        `reasons`."""
        from ticlm.core.examples import MASK

        longest = self.longest(label)
        for block in self.blocks_at(data, label, rows):
            usable: list[tuple[Example, str]] = []
            for example in block:
                text = example.question if self.form == "question" else example.text
                reason = _unusable(example, text, self.form)
                if reason:
                    reasons[reason] += 1
                elif text is not None:
                    usable.append((example, self.as_masked(self.asked(text, label))))
            texts = [text for _, text in usable]
            cloze = self.is_cloze
            read = texts if longest is None else answerer.beginning(texts, longest, cloze)
            asked = [(one, part, part != text) for (one, text), part in zip(usable, read, strict=True)]
            lost = [cloze and self.needs_mask and MASK not in part for _, part, _ in asked]
            reasons[f"a mask behind the first {longest} tokens"] += sum(lost)
            yield [one for one, away in zip(asked, lost, strict=True) if not away]


def _unusable(example: Example, text: str | None, form: str) -> str:
    """Return why a probe cannot be asked; empty if it can."""
    from ticlm.core.examples import MASK

    if not any(normalised(answer) for answer in right(example)):
        return "no answer with a word" if right(example) else "no answer"
    if not text or not text.strip():
        return f"no {form}"
    masks = text.count(MASK) if form == "cloze" else 1
    return "" if masks == 1 else "more than one mask" if masks else "no mask"


def right(example: Example) -> tuple[str, ...]:
    """Return all right answers of a probe."""
    return tuple(one for one in (example.answer, *example.aliases) if one and one.strip())


def averaged(
    metric: str, values: Sequence[float], source: Sequence[str], predictions: tuple[Prediction, ...] = ()
) -> Iterator[Measurement]:
    """Yield the mean over all probes, with the `predictions`; and, if there are several sources, the mean of their
    means, which has no error of its own."""
    import numpy as np

    from ticlm.platform.tasks.statistics import mean

    if not values:
        return
    array, share = np.asarray(values, np.float64), mean(values)
    yield Measurement(metric, share.value, len(values), share.stderr, predictions=predictions)
    # Single sources get no cell: LAMA has dozens of relations, and predictions hold what they would be counted from.
    means = [float(array[chosen].mean()) for name, chosen in by_source(source) if name]
    if means:
        yield Measurement(metric + MACRO, float(np.mean(means)), len(means))
