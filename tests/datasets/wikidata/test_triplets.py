"""Triplets: Algorithm 3 with every rule that the text adds to it, and the caps."""

from __future__ import annotations

import random
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ticlm.core.fingerprint import fingerprint
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


TEMPORALWIKI = {"subject": 0.01, "relation": 0.05, "object": 0.05}


def skewed(seed: int) -> list[tuple[str, str, str]]:
    """10,000 triplets, whose subjects, relations and objects are as frequent as by Zipf's law."""
    draw = random.Random(seed)
    parts = [[1 / rank**1.1 for rank in range(1, count + 1)] for count in (2000, 60, 500)]
    several = [draw.choices(range(len(weights)), weights, k=10_000) for weights in parts]
    return [(f"Q{s}", f"P{r}", f"O{o}") for s, r, o in zip(*several)]


def cap_of(triplets: list[tuple[str, str, str]], part: int, share: float) -> list[tuple[str, str, str]]:
    """Return what one cap leaves, counted as plainly as can be."""
    left: list[tuple[str, str, str]] = []
    for triplet in triplets:
        if sum(other[part] == triplet[part] for other in left) + 1 <= max(1, int(share * len(triplets))):
            left.append(triplet)
    return left


def test_caps_of_what_was_found_hold_one_after_the_other_on_skewed_triplets() -> None:
    triplets = skewed(0)
    caps = Caps.model_validate(TEMPORALWIKI | {"of": "found"})
    kept = [triplets[position] for position in capped(triplets, caps)]
    small = triplets[:1500]
    by_hand = small
    for part, share in enumerate(TEMPORALWIKI.values()):
        by_hand = cap_of(by_hand, part, share)
    assert [small[position] for position in capped(small, caps)] == by_hand
    base = len(triplets)
    for part, (name, share) in enumerate(TEMPORALWIKI.items()):
        earlier = {key: TEMPORALWIKI[key] for key in list(TEMPORALWIKI)[:part]}
        left = [triplets[n] for n in capped(triplets, Caps.model_validate(earlier | {"of": "found"}))]
        most = Counter(triplet[part] for triplet in left).most_common(1)[0][1]
        now = [left[n] for n in capped(left, Caps.model_validate({name: share, "of": "found"}))]
        assert most > share * len(left) >= Counter(triplet[part] for triplet in now).most_common(1)[0][1]
        assert len(left) <= base
        base = len(left)
    assert 1000 < len(kept) < base


@pytest.mark.parametrize("of", ["found", "kept"])
def test_the_first_triplet_of_every_subject_survives_the_cap_of_subjects(of: str) -> None:
    triplets = skewed(1)
    first = {subject: n for n, (subject, _, _) in reversed(list(enumerate(triplets)))}
    for share in (0.01, 1e-5):
        kept = capped(triplets, Caps.model_validate({"subject": share, "of": of}))
        assert set(first.values()) <= set(kept)
        assert len(kept) < len(triplets)


def test_shares_of_what_is_kept_hold_on_skewed_triplets() -> None:
    triplets = skewed(2)
    kept = [triplets[n] for n in capped(triplets, Caps.model_validate(TEMPORALWIKI))]
    for part, share in enumerate(TEMPORALWIKI.values()):
        assert Counter(triplet[part] for triplet in kept).most_common(1)[0][1] <= share * len(kept)
    few = [(subject, f"P{n % 19}", object_) for n, (subject, _, object_) in enumerate(triplets)]
    assert len(capped(few, Caps(relation=0.05))) == 19  # 19 relations cannot have a twentieth each
    assert len(capped(few, Caps(relation=0.05, of="found"))) == 19 * 500


@given(triplets=SAID, shares=st.tuples(*[st.none() | st.floats(0.01, 1)] * 3))
def test_caps_of_what_was_found_hold_and_keep_one_of_something(
    triplets: list[tuple[str, str, str]], shares: tuple[float | None, float | None, float | None]
) -> None:
    found = capped(triplets, Caps(subject=shares[0], relation=shares[1], object=shares[2], of="found"))
    assert found == sorted(set(found)) and bool(found) == bool(triplets)
    for part, share in enumerate(shares):
        counts = Counter(triplets[position][part] for position in found)
        assert share is None or all(n <= max(1, share * len(triplets) + 1e-6) for n in counts.values())


def test_the_default_way_of_caps_is_no_part_of_an_id() -> None:
    assert fingerprint(Caps(subject=0.1)) == fingerprint(Caps(subject=0.1, of="kept"))
    assert fingerprint(Caps(subject=0.1)) != fingerprint(Caps(subject=0.1, of="found"))


def test_a_cap_takes_from_the_end_and_one_of_each_always_stays() -> None:
    triplets = [(f"s{n}", "is" if n < 6 else f"r{n}", "x") for n in range(10)]
    assert capped(triplets, Caps(relation=0.3)) == [0, 6, 7, 8, 9]  # 3 of 10, 2 of 7, 1 of 6, 1 of 5
    assert capped(triplets[:1], Caps(relation=0.01, subject=0.01, object=0.01)) == [0]
