"""What dated changes say of the age of a model, in words."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ticlm.platform.analysis.age.ages import ModelAge
from ticlm.platform.analysis.age.changes import month_text
from ticlm.platform.analysis.age.edge import PLACEBOS, SURE, FactEdge, Placebo
from ticlm.platform.analysis.numbers import signed

UNKNOWN = "unknown"
SEVERAL = 5
"""Fewest models with claims whose estimates are counted against them."""
NARROW = 0.5
"""Share of the months that the interval of a placebo covers at least, where nothing is to be found."""


def edge_text(age: ModelAge) -> str:
    """Return the edge as a table has it: `2023-04 (2022-11 to 2023-08)`, or that it is unknown."""
    edge = age.edge
    if edge is None or not edge.is_known:
        return UNKNOWN
    return f"{month_text(edge.month)} ({interval_text(edge)})"


def interval_text(edge: FactEdge) -> str:
    """Return the 95 % interval, whose ends may be open: `2022-11 to 2023-08`, `2022-11 to 2026-05 or later`."""
    below, above = " or earlier" * edge.is_open_below, " or later" * edge.is_open
    return f"{month_text(edge.low)}{below} to {month_text(edge.high)}{above}"


def p_text(age: ModelAge) -> str:
    return "–" if age.edge is None else f"{age.edge.p:.3f}"


def clock_text(age: ModelAge) -> str:
    """Return the month at which a model answers; unknown where its edge is, as some month is always the likeliest."""
    return month_text(age.clock.month) if age.clock and age.edge and age.edge.is_known else UNKNOWN


def version_text(age: ModelAge) -> str:
    """Return where a model reads versions of pages best, as a table has it."""
    version = age.version
    if version is None:
        return "–"
    return f"{month_text(version.month)} ({month_text(version.low)} to {month_text(version.high)})"


def sentence(age: ModelAge) -> str:
    """Return what is known of the age of a model in one sentence."""
    said = f"; claimed {month_text(age.claimed)}" if age.claimed is not None else ""
    edge = age.edge
    if edge is None:
        return f"{age.model}: age unknown: {age.too_few}{said}."
    if not edge.is_known:
        asked = f"{len(age.changes):,} changes of {len(set(age.changes.fact.tolist())):,} facts"
        return (
            f"{age.model}: age unknown: what it prefers does not depend on when values changed (p {edge.p:.2f}, "
            f"{asked}){said}."
        )
    if edge.month == edge.last:
        after = "the facts end before its knowledge does"
    elif edge.is_open:
        after = "it may have read up to the end of the facts"
    else:
        after = f"no sign of what changed after {month_text(edge.high)}"
    return f"{age.model} prefers what was new up to {month_text(edge.month)}; {after}{_of_claim(age, edge)}."


def notes(ages: Sequence[ModelAge], most: int) -> Iterator[str]:
    """Yield what the columns are, and what a reader must know of the estimates, of single ones for the first `most`."""
    yield (
        "Fact edge: the month up to which a model has read, by which of the two values of each dated change it "
        "prefers; in brackets the 95 % interval over resampled facts. p: the share of dealings of the dates over the "
        f"changes that look as much like an edge; above {SURE} the edge is unknown. Fact clock: the month whose values "
        "the model finds likeliest; it lags the edge, as old values were read more often."
    )
    if versions := next((age.version for age in ages if age.version), None):
        yield (
            f"Version clock: the month whose versions of {versions.pages} pages a model reads best beside the "
            "reference; in brackets the 95 % interval over resampled pages, which is too narrow with few pages."
        )
    yield from _against_claims(ages)
    for age in ages[:most]:
        if age.alike:
            yield f"{age.model}: {age.alike} changes are left out, as its tokenizer cannot tell both values apart."
        if age.estimate is not None:
            yield _placebo(age.model, age.estimate[1])


def _against_claims(ages: Sequence[ModelAge]) -> Iterator[str]:
    """Yield how far the edges of several models are from the months that they claim."""
    claims = [(age.edge, age.claimed) for age in ages if age.claimed is not None]
    if len(claims) < SEVERAL:
        return
    known = [(edge, claimed) for edge, claimed in claims if edge is not None and edge.is_known]
    near = sum(abs(edge.month - claimed) <= 1 for edge, claimed in known)
    covered = sum(edge.holds(claimed) for edge, claimed in known)
    yield (
        f"Of {len(claims)} models with a claimed month, the edge of {len(known)} is known; it is within a month of the "
        f"claimed one for {near}, and the interval holds that for {covered}."
    )


def _placebo(model: str, placebo: Placebo) -> str:
    told = (
        f"{model}, placebo: with dates dealt out anew within each fact the edge is unknown in {placebo.unknown} of "
        f"{PLACEBOS} dealings, and the interval of the first one covers {signed(100 * placebo.width, 0)} % of the "
        "months"
    )
    if placebo.width < NARROW:
        told += (
            "; that is less than half: intervals are too narrow where nothing is, or facts that changed once keep dates"
        )
    return f"{told}."


def _of_claim(age: ModelAge, edge: FactEdge) -> str:
    """Return how a claimed month fits an edge that is known."""
    if age.claimed is None:
        return ""
    said = f"; claimed {month_text(age.claimed)}"
    if edge.holds(age.claimed):
        return f"{said}, which fits"
    if age.claimed < edge.low:
        return f"{said}, but it knows later changes"
    return f"{said}, {age.claimed - edge.high} months later"
