"""Small spaCy pipelines, trained within seconds on the synthetic world, where every name is known."""

from __future__ import annotations

import random
import re
from pathlib import Path
from typing import Any

import spacy
from spacy.tokens import Doc
from spacy.training import Example
from spacy.util import fix_random_seed

from ticlm.core.periods import Period, span
from ticlm.datasets.synthetic.world import SyntheticWorld

Spans = tuple[tuple[int, int], ...]


def sentences(seed: int, count: int) -> list[tuple[str, Spans]]:
    """Sentences of a world, and the words of its names: those with a capital letter."""
    start, end = span("202301")
    facts = SyntheticWorld(seed=seed).facts([Period(label="202301", start=start, end=end)])
    stated = sorted({(sentence, k.fact.subject, k.fact.object) for k in facts for sentence in k.fact.statements})
    random.Random(0).shuffle(stated)
    return [(sentence, _names(sentence, named)) for sentence, *named in stated[:count]]


def _names(sentence: str, named: list[str]) -> Spans:
    places = [match.span() for name in named for match in re.finditer(re.escape(name), sentence)]
    words = [match.span() for match in re.finditer(r"\w+", sentence)]
    return tuple(
        (start, end)
        for start, end in words
        if sentence[start].isupper() and any(left <= start and end <= right for left, right in places)
    )


def trained(folder: Path, component: str = "morphologizer", count: int = 150) -> Path:
    """A pipeline with a morphologizer, which gives parts of speech, or a tagger, which gives only tags of English."""
    fix_random_seed(0)
    pipeline = spacy.blank("en")
    pipeline.add_pipe(component)
    examples = [_example(pipeline, text, names, component) for text, names in sentences(0, count)]
    optimizer = pipeline.initialize(lambda: examples)
    for _ in range(6):
        random.Random(0).shuffle(examples)
        for start in range(0, len(examples), 30):
            pipeline.update(examples[start : start + 30], sgd=optimizer)
    pipeline.meta["name"], pipeline.meta["version"] = "toy", "1.2.3"
    pipeline.to_disk(folder)
    return folder


def _example(pipeline: Any, text: str, names: Spans, component: str) -> Any:
    doc = pipeline.make_doc(text)
    starts = {start for start, _ in names}
    are_names = [token.idx in starts for token in doc]
    words, spaces = [token.text for token in doc], [bool(token.whitespace_) for token in doc]
    if component == "tagger":
        return Example(doc, Doc(pipeline.vocab, words, spaces, tags=["NNP" if name else "NN" for name in are_names]))
    return Example(doc, Doc(pipeline.vocab, words, spaces, pos=["PROPN" if name else "NOUN" for name in are_names]))
