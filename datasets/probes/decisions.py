"""The tree that calls a candidate updated, new, or neither (CKL, appendix B, step 4 and 5).

A prediction of the initial model is *right* if the old corpus supports it as an answer to the question, and *wrong* if
it does not. Whether it is the answer of the new article does not matter. Then:

    right, and the new answer      discarded: neither updated nor new
    right, and another answer      UpdatedLAMA; the prediction is the outdated answer
    wrong, another answer found    UpdatedLAMA; the answer found in the old corpus is the outdated one
    wrong, the new answer found    discarded
    wrong, nothing found           NewLAMA

Without an initial model no prediction is right, and the last three branches decide.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from ticlm.datasets.probes.answers import agreement
from ticlm.datasets.probes.candidates import Candidate
from ticlm.datasets.probes.matching import Stated, settled

ProbeSubset = Literal["updated", "new", "new-easy"]
SUBSETS: tuple[ProbeSubset, ...] = ("updated", "new", "new-easy")

RIGHT_SAME = "prediction right, and the new answer"
RIGHT_OTHER = "prediction right, not the new answer"
FOUND_OTHER = "prediction wrong, another answer found"
FOUND_SAME = "prediction wrong, the new answer found"
FOUND_NOTHING = "prediction wrong, nothing found"
NESTED = "one of the two answers within the other"
MANY = "the old corpus gives several answers at a time"
FEW = "too few old documents give another answer"
OTHERWISE = "the old corpus has its names in other words"
"""Not branches of the paper, whose experts could tell: rules cannot say whether the answer changed."""

TREE: dict[str, ProbeSubset | None] = {
    RIGHT_OTHER: "updated",
    FOUND_OTHER: "updated",
    FOUND_NOTHING: "new",
    RIGHT_SAME: None,
    FOUND_SAME: None,
    NESTED: None,
    MANY: None,
    FEW: None,
    OTHERWISE: None,
}
"""The subset of each branch; None for those that are discarded."""


@dataclass(frozen=True, slots=True)
class Decision:
    """The branch of a candidate; for an updated one the outdated answer, and what the old corpus says."""

    candidate: Candidate
    branch: str
    outdated: str = ""
    evidence: Stated | None = None
    prediction: str = ""

    @property
    def subset(self) -> ProbeSubset | None:
        """Return the subset, or None if the candidate is discarded."""
        return TREE[self.branch]


def decide(
    candidate: Candidate, prediction: str, support: Stated | None, alternative: Callable[[], Stated | None]
) -> Decision:
    """Return the decision on a candidate.

    `support` is what in the old corpus supports the prediction, None if it is wrong. `alternative` looks for an answer
    of the old corpus; it is called only if the prediction is wrong.
    """
    new = (candidate.answer,)
    if support is not None:
        branch = {"same": RIGHT_SAME, "other": RIGHT_OTHER, "nested": NESTED}[agreement(prediction, new)]
        return Decision(candidate, branch, prediction, support, prediction)
    found = alternative()
    if found is None:
        return Decision(candidate, FOUND_NOTHING, prediction=prediction)
    branch = {"same": FOUND_SAME, "other": FOUND_OTHER, "nested": NESTED}[agreement(found.answer, new)]
    return Decision(candidate, branch, found.answer, found, prediction)


def by_rules(candidate: Candidate, prediction: str, found: Sequence[Stated], support: int = 1) -> Decision:
    """Return the decision where `found` are the answers of the old corpus, newest first.

    A prediction is right if the newest of them, what the old corpus said last, is the same; else that one is the
    alternative. Where old and newer answers alternate, nothing can have changed; an answer that fewer than `support`
    old documents give may be that of one day, such as a score.
    """
    if found and not settled(found):
        return Decision(candidate, MANY, prediction=prediction)
    newest = found[0] if found else None
    right = newest is not None and bool(prediction) and agreement(newest.answer, (prediction,)) == "same"
    decision = decide(candidate, prediction, newest if right else None, lambda: newest)
    documents = {one.document for one in found if agreement(one.answer, (decision.outdated,)) == "same"}
    if decision.subset == "updated" and len(documents) < support:
        return Decision(candidate, FEW, prediction=prediction)
    return decision
