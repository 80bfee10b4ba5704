"""Statistics of probe sets: sums per subset, from which tables show means and rates (CKL, Tables 1 and 5)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from ticlm.core.examples import Example
from ticlm.core.mixture import Subset

SHOWN = "answer-in"
"""Field of `Example.about` that names the prompts in which an answer stands: `input`, `question` or both."""
INPUT_WORDS, ANSWER_WORDS = "words of inputs", "words of answers"
IN_INPUT, IN_QUESTION = "answer in the input", "answer in the question"
WITH_QUESTION, WITH_OUTDATED = "with a question", "with outdated answers"
PER_SUBSET = (INPUT_WORDS, ANSWER_WORDS, WITH_QUESTION, WITH_OUTDATED, IN_INPUT, IN_QUESTION)
"""Statistics whose classes are subsets."""
RELATIONS = "relations"
LISTED = 50
"""Most frequent relations that are counted by name; the others are counted together."""


def of(subsets: Mapping[Subset, Sequence[Example]]) -> dict[str, dict[str, int]]:
    """Return sums by name and subset, and the number of probes of each relation.

    Words are runs of characters without white space; the mask counts as one, and of the answers the first is counted.
    """
    sums: dict[str, dict[str, int]] = {name: {} for name in PER_SUBSET}
    relations = Counter[str]()
    for subset, examples in sorted(subsets.items()):
        marks = [example.about.get(SHOWN, "").split() for example in examples]
        sums[INPUT_WORDS][subset] = sum(len(example.text.split()) for example in examples)
        sums[ANSWER_WORDS][subset] = sum(len((example.answer or "").split()) for example in examples)
        sums[WITH_QUESTION][subset] = sum(example.question is not None for example in examples)
        sums[WITH_OUTDATED][subset] = sum(bool(example.outdated) for example in examples)
        sums[IN_INPUT][subset] = sum("input" in mark for mark in marks)
        sums[IN_QUESTION][subset] = sum("question" in mark for mark in marks)
        relations.update(example.source for example in examples if example.source)
    top = dict(sorted(relations.items(), key=lambda pair: (-pair[1], pair[0]))[:LISTED])
    rest = relations.total() - sum(top.values())
    named = {RELATIONS: top | ({"other relations": rest} if rest else {})} if top else {}
    return sums | named
