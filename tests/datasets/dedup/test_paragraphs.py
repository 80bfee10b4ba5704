"""The rule of deduplication, against hand-worked cases and a slow, obvious reference."""

from __future__ import annotations

import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from ticlm.datasets.dedup.bloom import BloomFilter
from ticlm.datasets.dedup.paragraphs import Verdict, judge, shingled, surviving, without
from ticlm.datasets.dedup.settings import Deduplicate

GOLDEN = [
    ("a b c d e f g\na b c d e f g", "a b c d e f g"),
    ("a b c d e f x", "a b c d e f x"),
    ("a b", "a b"),
    ("a b c d e f g\nq r", None),
    ("b c d e f g h i j k\nm n o p", "b c d e f g h i j k\nm n o p"),
    ("z y x w v u t s r q p o\na b c d e f g", "z y x w v u t s r q p o"),
    ("u u u u u u\nx y z x y z", "u u u u u u\nx y z x y z"),
    ("x y z x y z\na1 b1 c1 d1 e1 f1 g1", "\na1 b1 c1 d1 e1 f1 g1"),
]
"""Documents in order, and what is left of each, with n-grams of 3 and a threshold of 0.8."""


def filtered(texts: list[str], rule: Deduplicate, bloom: BloomFilter | None = None) -> tuple[list[str | None], Verdict]:
    found = shingled(texts, rule.ngram)
    verdict = judge(rule, found, bloom or BloomFilter.sized(100_000, 1e-5, rule.seed))
    left: list[str | None] = []
    for d, text in enumerate(texts):
        gone = verdict.paragraphs[found.documents[d] : found.documents[d + 1]]
        left.append(None if verdict.documents[d] else without(text, gone))
    return left, verdict


def reference(texts: list[str], n: int, threshold: float, paragraphs_go: bool) -> list[str | None]:
    """The rule with a set instead of a filter; words stand between spaces."""
    seen: set[tuple[str, ...]] = set()
    left: list[str | None] = []
    for text in texts:
        total = contained = 0
        stays = []
        for paragraph in re.split(r"(?<!^)(?=\n)", text) if text else []:
            words = paragraph.split()
            grams = [tuple(words[i : i + n]) for i in range(len(words) - n + 1)]
            found = sum(gram in seen for gram in grams)
            total, contained = total + len(grams), contained + found
            if paragraphs_go and grams and found / len(grams) > threshold:
                continue
            stays.append(paragraph)
            seen |= set(grams)
        whole = "".join(stays)
        left.append(None if total and contained / total > threshold else whole)
    return left


def test_hand_worked_documents() -> None:
    left, verdict = filtered([text for text, _ in GOLDEN], Deduplicate(ngram=3))
    assert left == [expected for _, expected in GOLDEN]
    assert verdict.contained == 5 + 4 + 0 + 5 + 4 + 5 + 0 + 4


texts = st.lists(
    st.lists(st.lists(st.sampled_from("abcd"), max_size=9).map(" ".join), min_size=1, max_size=4).map("\n".join),
    max_size=12,
)


@given(texts, st.integers(1, 4), st.sampled_from([0.0, 0.5, 0.8, 1.0]), st.booleans())
@settings(deadline=None, max_examples=300)
def test_the_rule_is_that_of_the_slow_reference(
    texts: list[str], n: int, threshold: float, paragraphs_go: bool
) -> None:
    rule = Deduplicate(ngram=n, threshold=threshold, remove="both" if paragraphs_go else "documents")
    assert filtered(texts, rule)[0] == reference(texts, n, threshold, paragraphs_go)


@given(texts, st.integers(0, 12))
@settings(deadline=None, max_examples=100)
def test_the_cut_into_parts_changes_nothing(texts: list[str], cut: int) -> None:
    rule = Deduplicate(ngram=2)
    bloom = BloomFilter.sized(100_000, 1e-5, rule.seed)
    parts = [left for part in (texts[:cut], texts[cut:]) for left in filtered(part, rule, bloom)[0]]
    assert parts == filtered(texts, rule)[0]


@given(texts)
@settings(deadline=None, max_examples=100)
def test_what_survives_has_the_ngrams_of_the_text_that_is_left(texts: list[str]) -> None:
    rule = Deduplicate(ngram=2)
    left, verdict = filtered(texts, rule)
    found = surviving(shingled(texts, 2), verdict.documents, verdict.paragraphs)
    again = shingled([text for text in left if text is not None], 2)
    for one, other in zip(found, again, strict=True):
        assert np.array_equal(one, other)


def test_a_frozen_filter_learns_nothing() -> None:
    rule, bloom = Deduplicate(ngram=2), BloomFilter.sized(1000, 1e-5, 0)
    found = shingled(["a b c d e"], 2)
    verdict = judge(rule, found, bloom, frozen=True)
    assert verdict.inserted == 0 and not bloom.blocks.any()
    assert not judge(rule, found, bloom).documents.any()
    assert judge(rule, found, bloom, frozen=True).documents.all()


def test_a_window_counts_positions_of_the_timeline() -> None:
    window = Deduplicate(scope="window", window=10, expected_ngrams=1000)
    assert [window.window_of(position) for position in (0, 9, 10, 113)] == [0, 0, 1, 11]
    assert Deduplicate().window_of(7) == 7


def test_a_window_needs_to_know_its_size_beforehand() -> None:
    with pytest.raises(ValidationError, match="expected_ngrams is required with scope window"):
        Deduplicate(scope="window")
