from __future__ import annotations

import hashlib
import itertools
import random

import numpy as np
import pytest
import regex
from hypothesis import given, settings
from hypothesis import strategies as st
from uniseg.wordbreak import word_break
from uniseg.wordbreak import words as segments

from ticlm.datasets.text.words import classes, ngrams, paragraphs, shingles, split

TELLING = (  # two or three of each class of Word_Break, a pictograph that is a letter, controls, marks, other scripts
    "aZéß אב١7 9ｶカー_‿.:;,'’\"·\u2024\ufe13\u0301\u0308\u200d\u200b\u00ad\u2060"
    "\n\r\x0b\x85\u2028 \u2003\u3000\xa0\t\x1f🇩🇪🇫🛑👩❤\ufe0fℹⓂ漢字ไทยहिं-()$#|\x00"
)
TEXTS = st.text(st.sampled_from(TELLING) | st.characters(exclude_categories=["Cs", "Cn"]), max_size=60)


def cut(text: str) -> list[str]:
    words = split(text)
    return [text[start:end] for start, end in zip(words.start, words.end)]


def agreed(text: str) -> bool:
    """Whether uniseg (Unicode 16) and regex (a later one) know every character by the same class."""
    return all(regex.match(rf"\p{{Word_Break={word_break(c).value}}}", c) for c in text)


@settings(max_examples=1000)
@given(TEXTS.filter(agreed))
def test_words_are_what_unicode_says(text: str) -> None:
    assert cut(text) == [segment for segment in segments(text) if not segment.isspace()]


def test_few_characters_changed_their_class_since_unicode_16() -> None:
    every = map(chr, (*range(0xD800), *range(0xE000, 0x20000)))
    assert sum(not agreed(c) for c in every) < 1000


@pytest.mark.parametrize(
    "text, expected",
    [
        ("", []),
        (" \n\t ", []),
        ("Can't 3.14, foo_bar: a.b", ["Can't", "3.14", ",", "foo_bar", ":", "a.b"]),
        ("end. Next", ["end", ".", "Next"]),
        ("...", [".", ".", "."]),
        ("a\u0308\u0301b", ["a\u0308\u0301b"]),
        ("a\u200d🛑", ["a\u200d🛑"]),
        ("🇩🇪🇫🇷🇩", ["🇩🇪", "🇫🇷", "🇩"]),
        ('אב"אב אב\' אב"', ['אב"אב', "אב'", "אב", '"']),
        ("漢字", ["漢", "字"]),
        ("  \u0301", ["  \u0301"]),
        ("\r\n\na", ["a"]),
    ],
)
def test_words_of_hand_worked_texts(text: str, expected: list[str]) -> None:
    assert cut(text) == expected


def test_a_word_says_whether_it_begins_with_a_letter_or_number() -> None:
    assert split("a 1 é 漢 ½ . _a 🛑").alnum.tolist() == [True] * 5 + [False] * 3


@given(TEXTS)
def test_equal_words_have_equal_hashes_and_others_do_not(text: str) -> None:
    named = set(zip(cut(text), split(text).hash.tolist()))
    assert len({word for word, _ in named}) == len({value for _, value in named}) == len(named)


def test_hashes_use_all_their_bits() -> None:
    """Every bit is set in about half of the hashes, and neighbours differ in about half of their bits."""
    values = split(" ".join(map(str, range(20000)))).hash
    bits = (values[:, None] >> np.arange(64, dtype=np.uint64)) & np.uint64(1)
    assert np.all(np.abs(bits.mean(axis=0) - 0.5) < 0.02)
    assert np.all(np.abs((bits[1:] != bits[:-1]).mean(axis=0) - 0.5) < 0.02)


def test_hashes_stay_what_they_are() -> None:
    """Corpora are deduplicated by these: another value here is another corpus. So is another table of classes, which
    comes with another release of `regex`."""
    assert split("the 漢 3.14").hash.tolist() == [7712202038494019907, 6386957196336208225, 4706280984551418148]
    assert ngrams(split("a b c").hash, 2).tolist() == [18142109483857127880, 3458281952794839685]
    assert hashlib.sha256(classes().tobytes()).hexdigest()[:16] == "0a56aa602abf8230"


def test_shared_arrays_cannot_be_changed() -> None:
    with pytest.raises(ValueError, match="read-only"):
        split("one two").hash[0] = 1


def test_half_of_a_surrogate_pair_is_a_character_like_others() -> None:
    assert cut("a\ud83d b") == ["a", "\ud83d", "b"]


@given(st.lists(st.integers(0, 2**64 - 1), max_size=30), st.integers(1, 14))
def test_ngrams_are_equal_where_their_words_are(values: list[int], n: int) -> None:
    hashes = ngrams(np.array(values, np.uint64), n)
    grams = [tuple(values[i : i + n]) for i in range(len(values) - n + 1)]
    assert len(hashes) == len(grams)
    assert len(set(zip(grams, hashes.tolist()))) == len(set(grams)) == len(set(hashes.tolist()))


def test_the_order_of_words_tells_ngrams_apart() -> None:
    orders = list(itertools.permutations(split("a b c d e f").hash.tolist()))
    assert len({ngrams(np.array(order, np.uint64), 6)[0] for order in orders}) == 720


def test_an_ngram_is_the_same_wherever_it_stands() -> None:
    words = [random.Random(1).choice("abc") for _ in range(300)]
    grams = ngrams(split(" ".join(words)).hash, 5)
    for i in range(296):
        assert grams[i] == ngrams(split(" ".join(words[i : i + 5])).hash, 5)[0]


def test_ngrams_of_no_words_are_refused() -> None:
    with pytest.raises(ValueError, match="n must be at least 1, got 0"):
        ngrams(np.zeros(3, np.uint64), 0)
    with pytest.raises(ValueError, match="got -1"):
        shingles("a", -1)


@pytest.mark.parametrize(
    "text, expected",
    [
        ("", []),
        ("a", ["a"]),
        ("a\nb", ["a", "\nb"]),
        ("\na\n", ["\na", "\n"]),
        ("\n\n", ["\n", "\n"]),
        ("a\r\nb", ["a\r", "\nb"]),
    ],
)
def test_a_newline_belongs_to_the_paragraph_after_it(text: str, expected: list[str]) -> None:
    assert [text[a:b] for a, b in itertools.pairwise(paragraphs(text))] == expected


@given(TEXTS, st.integers(1, 4))
def test_shingles_are_the_ngrams_of_each_paragraph_by_itself(text: str, n: int) -> None:
    hashes, offsets = shingles(text, n)
    at = paragraphs(text)
    assert len(offsets) == len(at)
    for (a, b), (first, last) in zip(itertools.pairwise(at), itertools.pairwise(offsets)):
        assert hashes[first:last].tolist() == ngrams(split(text[a:b]).hash, n).tolist()
