"""Triplets: Algorithm 3 with every rule that the text adds to it, and the caps."""

from __future__ import annotations

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from ticlm.datasets.wikidata.triplets import Caps, Category, Compared, Triplet, TripletRules, capped, compared


def triplet(relation: str, text: str | None, object_: str = "") -> Triplet:
    """Of the subject Q1; an object is known by its name here, unless it is said how else."""
    return Triplet("Q1", relation, object_ or f"id of {text}", text)


def describe(old: list[Triplet] | None, new: list[Triplet], **rules: object) -> dict[str, Category]:
    return {f"{t.relation} {t.text}": category for t, category in compare(old, new, **rules).found}


def compare(old: list[Triplet] | None, new: list[Triplet], **rules: object) -> Compared:
    return compared(old, new, TripletRules.model_validate(rules), seed=0)


def test_what_both_dumps_state_is_unchanged_and_the_rest_is_new() -> None:
    old = [triplet("capital", "Bonn"), triplet("country", "Germany"), triplet("mayor", "Anna")]
    new = [triplet("capital", "Berlin"), triplet("country", "Germany"), triplet("river", "Spree")]
    assert describe(old, new) == {
        "capital Berlin": "new object",
        "country Germany": "unchanged",
        "river Spree": "new relation",
    }


def test_triplets_that_are_gone_are_counted_and_in_neither_set() -> None:
    found = compare([triplet("capital", "Bonn"), triplet("mayor", "Anna")], [triplet("capital", "Berlin")])
    assert found.removed == 2
    assert [t.text for t, _ in found.found] == ["Berlin"]


def test_other_capitals_are_no_change_or_discarded_as_released() -> None:
    old, new = [triplet("motto", "Be Free")], [triplet("motto", "Be free")]
    assert describe(old, new) == {"motto Be free": "unchanged"}
    found = compare(old, new, case_only="discard")
    assert (found.found, found.dropped) == ([], {"object differs in case alone": 1})


def test_an_object_that_is_called_otherwise_now_is_still_the_same() -> None:
    assert describe([triplet("country", "Swaziland", "Q1050")], [triplet("country", "Eswatini", "Q1050")]) == {
        "country Eswatini": "unchanged"
    }


def test_one_more_object_of_a_relation_is_new_and_the_others_are_not() -> None:
    old = [triplet("child", "Ann"), triplet("child", "Ben")]
    new = [triplet("child", "Ben"), triplet("child", "ANN"), triplet("child", "Cid")]
    assert describe(old, new) == {"child Ben": "unchanged", "child ANN": "unchanged", "child Cid": "new object"}


def test_an_old_entity_that_said_nothing_is_not_a_new_one() -> None:
    assert describe([], [triplet("child", "Ann")]) == {"child Ann": "new relation"}


def test_of_a_new_entity_ten_triplets_are_sampled_in_whatever_order_they_come() -> None:
    new = [triplet("member", f"name{n}") for n in range(25)]
    found = compare(None, new)
    assert {category for _, category in found.found} == {"new entity"}
    assert (len(found.found), found.dropped) == (10, {"not sampled of a new entity": 15})
    assert describe(None, new) == describe(None, new[::-1])
    other = {t.text for t, _ in compared(None, new, TripletRules(), seed=1).found}
    assert other != {t.text for t, _ in found.found}
    assert len(describe(None, new, new_entity=None)) == 25


def test_long_unnamed_and_repeated_objects_are_left_out_with_the_reason() -> None:
    new = [
        triplet("work", "one two three four five"),
        triplet("work", "one two three four five six"),
        triplet("work", None, "Q5"),
        triplet("work", "twice"),
        triplet("work", "twice"),
        triplet("work", "twice", "another of that name"),
    ]
    found = compare([], new)
    assert [t.text for t, _ in found.found] == ["one two three four five", "twice"]
    assert found.dropped == {"object of more than 5 words": 1, "object without label": 1, "repeated triplet": 2}
    assert len(compare([], new, object_words=None).found) == 3


SMALL = st.lists(st.builds(triplet, st.sampled_from("pq"), st.sampled_from(["a", "A", "b", "a b", None])), max_size=8)


@given(old=st.none() | SMALL, new=SMALL, discard=st.booleans())
def test_every_triplet_of_the_new_dump_is_found_or_dropped_once(
    old: list[Triplet] | None, new: list[Triplet], discard: bool
) -> None:
    found = compare(old, new, object_words=1, new_entity=2, case_only="discard" if discard else "unchanged")
    assert len(found.found) + found.dropped.total() == len(new)
    named = [(t.relation, t.text) for t, _ in found.found]
    assert len(named) == len(set(named))
    known = {(t.relation, t.object) for t in old or []}
    assert all(category == "unchanged" for t, category in found.found if (t.relation, t.object) in known)
    if not discard:
        assert compare(old, new[::-1], object_words=1, new_entity=2).dropped == found.dropped


SAID = st.lists(st.tuples(*[st.sampled_from("abcdef")] * 3), max_size=40)


@given(triplets=SAID, shares=st.tuples(*[st.none() | st.floats(0.01, 1)] * 3))
def test_caps_hold_for_what_stays(
    triplets: list[tuple[str, str, str]], shares: tuple[float | None, float | None, float | None]
) -> None:
    caps = Caps(subject=shares[0], relation=shares[1], object=shares[2])
    kept = capped(triplets, caps)
    assert kept == sorted(set(kept))
    for part, share in enumerate(shares):
        counts = Counter(triplets[position][part] for position in kept)
        assert share is None or all(n <= max(1, share * len(kept) + 1e-6) for n in counts.values())
    if shares == (None, None, None):
        assert len(kept) == len(triplets)


def test_a_cap_takes_from_the_end_and_one_of_each_always_stays() -> None:
    triplets = [(f"s{n}", "is" if n < 6 else f"r{n}", "x") for n in range(10)]
    assert capped(triplets, Caps(relation=0.3)) == [0, 6, 7, 8, 9]  # 3 of 10, 2 of 7, 1 of 6, 1 of 5
    assert capped(triplets[:1], Caps(relation=0.01, subject=0.01, object=0.01)) == [0]
