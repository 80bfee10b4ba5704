"""The filter of offensive words: the user's list, phrases, and the share of words."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from ticlm.core.errors import InputError
from ticlm.core.fingerprint import fingerprint
from ticlm.datasets.filters.offensive import OffensiveWords
from ticlm.datasets.io.documents import Document


def document(text: str) -> Document:
    return Document(text, "a", datetime(2015, 6, 30, tzinfo=UTC))


@pytest.fixture
def words(tmp_path: Path) -> str:
    (tmp_path / "words").write_text("# a list\nDrat\nblast it all\nblast\n")
    return str(tmp_path / "words")


def test_texts_are_left_out_by_the_share_of_their_words(words: str) -> None:
    """Of ten words, one is on the list, and three are a phrase of it."""
    one = document("Drat! said the man who had lost his black hat.")
    three = document("Now blast it all, he said and went back home.")
    assert OffensiveWords(words=words, most=0.1)(one) is one
    assert OffensiveWords(words=words, most=0.09)(one) == "offensive words"
    assert OffensiveWords(words=words, most=0.29)(three) == "offensive words"
    assert OffensiveWords(words=words, most=0.3)(three) is three


def test_only_whole_words_count(words: str) -> None:
    given = document("Dratted blasting of quadrats, drat-free.")
    assert OffensiveWords(words=words, most=0)(given) is given and OffensiveWords(words=words, most=0)(document(""))


def test_the_entries_are_part_of_its_identity_and_their_place_is_not(words: str, tmp_path: Path) -> None:
    (tmp_path / "copy").write_text("blast it all\nblast\ndrat\n")
    (tmp_path / "other").write_text("blast\ndrat\n")
    ids = [fingerprint(OffensiveWords(words=str(tmp_path / name)).identity) for name in ("words", "copy", "other")]
    assert ids[0] == ids[1] != ids[2]
    assert "as of an unknown time" in OffensiveWords(words=words).external_inputs
    with pytest.raises(InputError, match="cannot be read as a list"):
        OffensiveWords(words="nowhere")(document("a"))
