"""Statistics of questions with contexts: how often a context has the answer, and how many words of the question it
has."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from ticlm.core.examples import Example
from ticlm.core.mixture import Subset

HIT, OUTDATED_HIT, GIVEN = "hit", "outdated-hit", "answer-in-question"
OVERLAP, GOLD_OVERLAP, RANK = "overlap", "gold-overlap", "gold-rank"
NOTHING = "nothing found"
BINS = 10
UNDEFINED = "no content words"
_RATES = {
    HIT: "answer in the context",
    OUTDATED_HIT: "outdated answer in the context",
    GIVEN: "answer given away by the question",
}
_SHARES = {OVERLAP: "the context", GOLD_OVERLAP: "the question's own passage"}


def of(subsets: Mapping[Subset, Sequence[Example]], top: int) -> dict[str, dict[str, int]]:
    """Return counts by name and subset, from the fields of `about` that this module names.

    Sums of shares are in thousandths, so that a mean is a sum through a number of questions.
    """
    found: dict[str, dict[str, int]] = {"questions": {name: len(several) for name, several in subsets.items()}}
    for key, title in _RATES.items():
        counts = {name: sum(one.about.get(key) == "yes" for one in several) for name, several in subsets.items()}
        if any(key in one.about for several in subsets.values() for one in several):
            found[title] = counts
    ranks = Counter[str]()
    for name, several in subsets.items():
        for one in several:
            if RANK in one.about:
                ranks[f"{name}: {one.about[RANK] or f'not in the first {top}'}"] += 1
    if ranks:
        found["rank of a passage of the right article"] = dict(sorted(ranks.items()))
        found[NOTHING] = {
            name: sum(one.about.get("retrieved") == "[]" for one in several) for name, several in subsets.items()
        }
    for key, title in _SHARES.items():
        shares = {name: [_share(one, key) for one in several if key in one.about] for name, several in subsets.items()}
        if not any(shares.values()):
            continue
        found[f"words of questions in {title}, in thousandths, summed"] = {
            name: round(1000 * sum(share for share in several if share is not None)) for name, several in shares.items()
        }
        found[f"words of questions in {title}, by share"] = {
            f"{name}: {share}": count
            for name, several in shares.items()
            for share, count in histogram(several).items()
            if count
        }
    return found


def histogram(shares: Iterable[float | None]) -> dict[str, int]:
    """Count shares in BINS bins of equal width, written `0.0-0.1`, and each None under UNDEFINED; the last bin has 1 in
    it."""
    counts = Counter(None if share is None else min(int(share * BINS + 1e-9), BINS - 1) for share in shares)
    named = {f"{number / BINS:.1f}-{(number + 1) / BINS:.1f}": counts[number] for number in range(BINS)}
    return named | ({UNDEFINED: counts[None]} if counts[None] else {})


def _share(example: Example, key: str) -> float | None:
    written = example.about[key]
    return float(written) if written else None
