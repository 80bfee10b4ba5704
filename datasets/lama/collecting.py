"""Collecting probes: the rules that every source of probes shares, and the counts of what they left out."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Literal

from ticlm.core.accounting import Step
from ticlm.core.examples import MASK, Example
from ticlm.core.mixture import Subset
from ticlm.core.periods import Period
from ticlm.core.settings import Settings
from ticlm.datasets.examples.context import BuildContext, PeriodDraft
from ticlm.datasets.examples.placing import UnusableExample
from ticlm.datasets.lama import statistics
from ticlm.datasets.lama.statistics import SHOWN
from ticlm.datasets.lama.words import mentions, words

TWICE = "the same probe twice"
_SENTINEL = re.compile(r"<extra_id_\d+>")


class ProbeRules(Settings):
    """Rules that leave out probes, beyond the probes that no model can be asked.

    A probe without an input, without an answer, with two masks or with bytes that are no text is always left out, and
    so is a probe that is the same as an earlier one. A probe with the id of another probe gets a new id.
    """

    answer_in_prompt: Literal["keep", "drop"] = "keep"
    """What becomes of a probe whose answer stands in its input or question: it is kept, counted and marked (`answer-in`
    of its `about`), or dropped. The printed scores of CKL include such probes."""
    without_mask: Literal["drop", "keep"] = "drop"
    """What becomes of a probe whose input has no `<extra_id_0>`: it is dropped, or kept as a plain question."""


@dataclass
class Collected:
    """The probes of one period, by subset, with the counts of what was read and dropped."""

    rules: ProbeRules
    subsets: dict[Subset, list[Example]] = field(default_factory=dict)
    remarks: Counter[str] = field(default_factory=Counter)
    """Probes that were kept although something is odd about them, by what it is and their subset."""
    _read: Counter[str] = field(default_factory=Counter)
    _dropped: dict[str, Counter[str]] = field(default_factory=dict)
    _ids: dict[str, dict[str, Example]] = field(default_factory=dict)

    def add(self, subset: Subset, made: Callable[[], Example], step: str = "") -> bool:
        """Add the probe that `made` returns, or count why it cannot be used; return whether it was added.

        The counts stand under `step`, by default the subset.
        """
        step = step or subset
        self._read[step] += 1
        try:
            example = self._named(subset, checked(made(), self.rules))
        except UnusableExample as why:
            self._dropped.setdefault(step, Counter())[str(why)] += 1
            return False
        if any(
            words(old) == words(new) for old in example.outdated for new in (example.answer or "", *example.aliases)
        ):
            self.remark("an outdated answer is also right", subset)
        self.subsets.setdefault(subset, []).append(example)
        return True

    def expect(self, step: str) -> None:
        """Count a step that may read nothing, so that it is shown."""
        self._read[step] += 0

    def remark(self, what: str, subset: Subset, count: int = 1) -> None:
        """Count something odd about probes that are kept."""
        self.remarks[f"{subset}: {what}"] += count

    @property
    def steps(self) -> tuple[Step, ...]:
        """What was read and dropped, step by step, in the order in which they began."""
        return tuple(
            Step(name=name, read=read, dropped=dict(sorted(self._dropped.get(name, {}).items())))
            for name, read in self._read.items()
        )

    @property
    def statistics(self) -> dict[str, dict[str, int]]:
        """The counts of PeriodExamples.statistics."""
        counts = statistics.of(self.subsets)
        return counts | ({"remarks": dict(sorted(self.remarks.items()))} if self.remarks else {})

    def drafts(
        self, context: BuildContext, period: Period, inputs: tuple[str, ...], names: Iterable[Subset] = ()
    ) -> Iterator[PeriodDraft]:
        """Yield the draft of the period; without any probe, leave the counts, as one step, with the build and yield
        nothing.

        Subsets of these `names` that have no probe are written empty: tasks leave out what is empty, but refuse a
        period that lacks the subset that they score.
        """
        if any(self.subsets.values()):
            subsets: dict[Subset, list[Example]] = {name: [] for name in names}
            subsets |= self.subsets
            yield PeriodDraft(period, subsets, self.steps, self.statistics, inputs)
        else:
            dropped = sum(self._dropped.values(), Counter[str]())
            context.steps.append(
                Step(name="probes", read=sum(self._read.values()), dropped=dict(sorted(dropped.items())))
            )

    def _named(self, subset: Subset, example: Example) -> Example:
        """Return the example under an id that no other one of its subset has. Raises UnusableExample if it is the same
        as an earlier one of this id."""
        known, name, number = self._ids.setdefault(subset, {}), example.id, 1
        while name in known:
            if replace(known[name], id=example.id, about={}) == replace(example, about={}):
                raise UnusableExample(TWICE)
            number += 1
            name = f"{example.id}~{number}"
        if number > 1:
            self.remark("the id of another probe, now with a number behind it", subset)
        known[name] = replace(example, id=name)
        return known[name]


def checked(example: Example, rules: ProbeRules) -> Example:
    """Return the example with its mark (SHOWN) if its answer stands in a prompt. Raises UnusableExample if it breaks a
    rule."""
    texts = (
        example.id,
        example.text,
        example.question or "",
        example.answer or "",
        *example.aliases,
        *example.outdated,
    )
    if not all(map(_is_text, (*texts, example.source, *example.about, *example.about.values()))):
        raise UnusableExample("unreadable text")
    if not example.text.strip():
        raise UnusableExample("without input")
    if not words(example.answer or ""):
        raise UnusableExample("without answer")
    masks = _SENTINEL.findall(example.text)
    if len(masks) > 1:
        raise UnusableExample("more than one mask")
    if masks and masks[0] != MASK:
        raise UnusableExample(f"a mask that is not {MASK}")
    if not masks and rules.without_mask == "drop":
        raise UnusableExample("without a mask")
    where = shown(example)
    if where and rules.answer_in_prompt == "drop":
        raise UnusableExample(f"answer in the {where[0]}")
    about = {name: value for name, value in example.about.items() if name != SHOWN}
    return replace(example, about=about | ({SHOWN: " ".join(where)} if where else {}))


def shown(example: Example) -> list[str]:
    """Return the prompts (`input`, `question`) that have a right answer in them."""
    prompts = {"input": example.text, "question": example.question or ""}
    answers = (example.answer or "", *example.aliases)
    return [name for name, prompt in prompts.items() if any(mentions(prompt, answer) for answer in answers)]


def _is_text(value: str) -> bool:
    try:
        value.encode()
    except UnicodeEncodeError:  # bytes that are no UTF-8
        return False
    return True
