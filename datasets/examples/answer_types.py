"""The types of answers: the entity label that a tagger gives the answer where it stands in its text (CKL, Table 5)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain

from ticlm.core.examples import MASK, Example
from ticlm.datasets.text.spans import Span
from ticlm.datasets.text.taggers import Tagger

TYPE = "type"
"""Field of `Example.about` with the label."""


def with_types(tagger: Tagger, subsets: Mapping[str, Sequence[Example]]) -> dict[str, list[Example]]:
    """Return the examples with the label of each answer in `about["type"]`; an answer with a label keeps it.

    The label is that of the longest span, then the first, that touches the answer where it fills the mask or follows
    the text; if there is none, of a span of the answer read alone. An answer without any gets no label.
    """
    every = list(chain.from_iterable(subsets.values()))
    asked = [one for one in every if one.answer and TYPE not in one.about]
    places = [_placed(one) for one in asked]
    found = dict(zip(map(id, asked), _labels(tagger, places)))
    lost = [one for one in asked if not found[id(one)]]
    alone = [(one.answer or "", 0, len(one.answer or "")) for one in lost]
    found.update(zip(map(id, lost), _labels(tagger, alone)))
    return {name: [_typed(one, found.get(id(one), "")) for one in examples] for name, examples in subsets.items()}


def _placed(example: Example) -> tuple[str, int, int]:
    """Return an example's text with its answer in it, and where that begins and ends."""
    answer = example.answer or ""
    before, mask, behind = example.text.partition(MASK)
    before = before if mask else before.rstrip() + " "
    return before + answer + behind, len(before), len(before) + len(answer)


def _labels(tagger: Tagger, places: Sequence[tuple[str, int, int]]) -> Iterator[str]:
    for (_, spans), (_, begin, end) in zip(tagger.tagged([text for text, *_ in places]), places, strict=True):
        touching = [span for span in spans if span.begin < end and begin < span.end]
        yield max(touching, key=lambda span: span.end - span.begin, default=Span(0, 0)).label


def _typed(example: Example, label: str) -> Example:
    return replace(example, about={**example.about, TYPE: label}) if label else example
