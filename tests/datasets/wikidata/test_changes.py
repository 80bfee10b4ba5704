"""Changes: what became of the triplets of a subject, against the definition by sets."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ticlm.datasets.wikidata.changes import Fate, TripletChange, changes
from ticlm.datasets.wikidata.triplets import Triplet


def triplet(relation: str, object_: str, text: str | None = None) -> Triplet:
    return Triplet("Q1", relation, object_, text)


def fates(old: list[Triplet] | None, new: list[Triplet]) -> dict[str, tuple[Fate, str]]:
    found = changes(old, new)
    return {f"{c.triplet.relation} {c.triplet.object}": (c.fate, " ".join(t.object for t in c.replaced)) for c in found}


def test_triplets_stay_or_are_new_updated_or_removed() -> None:
    old = [triplet("P1", "Q2"), triplet("P2", "Q3"), triplet("P3", "Q4"), triplet("P3", "Q5"), triplet("P4", "Q6")]
    new = [triplet("P1", "Q2"), triplet("P1", "Q7"), triplet("P2", "Q8"), triplet("P3", "Q5"), triplet("P5", "Q9")]
    assert fates(old, new) == {
        "P1 Q2": ("same", ""),
        "P1 Q7": ("updated", ""),
        "P2 Q8": ("updated", "Q3"),
        "P3 Q5": ("same", ""),
        "P3 Q4": ("removed", ""),
        "P4 Q6": ("removed", ""),
        "P5 Q9": ("new", ""),
    }
    assert {fate for fate, _ in fates(None, new).values()} == {"new"}


@pytest.mark.parametrize(
    ("before", "now", "fate"),
    [
        (("Q2", "Bonn"), ("Q2", "Köln"), "same"),
        (("Q2", "Straße"), ("Q3", "STRASSE"), "same"),
        (("Q2", None), ("Q2", "Bonn"), "same"),
        (("Q2", None), ("Q3", None), "updated"),
        (("Q2", "Q3"), ("Q3", "x"), "updated"),
    ],
)
def test_objects_are_the_same_by_id_or_by_label_whatever_the_case(
    before: tuple[str, str | None], now: tuple[str, str | None], fate: Fate
) -> None:
    assert fates([triplet("P1", *before)], [triplet("P1", *now)])[f"P1 {now[0]}"][0] == fate


OBJECTS = st.tuples(st.sampled_from(["Q1", "Q2", "Q3", "Q4"]), st.sampled_from(["a", "A", "b", "Q1", None]))
SAID = st.lists(st.builds(lambda relation, one: triplet(relation, *one), st.sampled_from(["P1", "P2"]), OBJECTS))


def same(one: Triplet, other: Triplet) -> bool:
    labels = [text.casefold() if text else None for text in (one.text, other.text)]
    return one.relation == other.relation and (one.object == other.object or labels[0] == labels[1] is not None)


@given(old=st.none() | SAID, new=SAID)
def test_fates_agree_with_their_definition_by_sets(old: list[Triplet] | None, new: list[Triplet]) -> None:
    before, now = (list({(t.relation, t.object): t for t in reversed(said or [])}.values()) for said in (old, new))
    expected: list[TripletChange] = []
    for one in now:
        gone = {t for t in before if t.relation == one.relation and not any(same(t, other) for other in now)}
        if any(same(one, other) for other in before):
            expected.append(TripletChange("same", one))
        elif any(one.relation == other.relation for other in before):
            expected.append(TripletChange("updated", one, tuple(gone)))
        else:
            expected.append(TripletChange("new", one))
    replaced = {t for change in expected for t in change.replaced}
    missing = {t for t in before if not any(same(t, other) for other in now)}
    expected += [TripletChange("removed", t) for t in missing - replaced]
    assert canonical(list(changes(old, new))) == canonical(expected)


def canonical(found: list[TripletChange]) -> list[str]:
    return sorted(f"{c.fate} {c.triplet} {sorted(map(str, c.replaced))}" for c in found)


def test_thousands_of_objects_of_a_relation_take_no_longer_each() -> None:
    old, new = ([triplet("P1", f"Q{n}", f"label {n}") for n in range(first, first + 20_000)] for first in (0, 10_000))
    began = time.process_time()
    found = list(changes(old, new))
    assert time.process_time() - began < 5  # pairwise, it would be 400 million comparisons
    assert [sum(c.fate == fate for c in found) for fate in ("same", "updated")] == [10_000, 10_000]
