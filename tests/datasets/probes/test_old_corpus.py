"""The index of the old corpus: found by words, kept in a folder, the same on every store."""

from __future__ import annotations

import uuid
from pathlib import Path

import pytest

from ticlm.core.store import Store
from ticlm.datasets.probes.old_corpus import RECORD, OldCorpusIndex, OldPassage, build, passages_of

TEXTS = {
    "a": "The mayor of Brenford is Ada Stone.",
    "b": "The mayor of Calden is Bram Orack.",
    "c": "Rain fell. Nobody was surprised.",
}


@pytest.mark.parametrize("kind", ["local", "memory"])
def test_what_was_indexed_is_found(tmp_path: Path, kind: str) -> None:
    store = Store(tmp_path if kind == "local" else f"memory://{uuid.uuid4().hex}")
    passages = [one for name, text in TEXTS.items() for one in passages_of(text, name, "2023-01-01")]
    assert build(store, "index/x", passages) == 3 and store.exists(f"index/x/{RECORD}")
    with store.local("index/x") as folder:
        corpus = OldCorpusIndex(folder)
        found = corpus.search(["mayor of Calden", "zzz", "", "rain"], 2)
        assert [[one.document for one in several] for several in found] == [["b", "a"], [], [], ["c"]]
        assert found[3] == [OldPassage("Rain fell.\nNobody was surprised.", "c", "2023-01-01")]
        assert corpus.has_sentences(["rain fell", "Rain rose.", "Nobody was surprised."]) == [True, False, True]
        assert corpus.has_word("Ada") and not corpus.has_word("Eve")
        assert len(corpus.search(["mayor"], 50)[0]) == 2


def test_passages_end_with_sentences() -> None:
    text = " ".join(f"Sentence number {n} is here." for n in range(60))
    found = list(passages_of(text, "a", "2023-01-01"))
    assert len(found) > 1 and " ".join(one.text for one in found).replace("\n", " ") == text
    assert all(600 <= len(one.text.replace("\n", "")) < 640 for one in found[:-1])


def test_nothing_is_an_empty_index(tmp_path: Path) -> None:
    assert build(Store(tmp_path), "index/x", []) == 0
