"""The old corpus, to be searched: passages of its documents with a BM25 index, in a folder beside the set.

    <folder>/bm25/…            the index (bm25s; Robertson's BM25 as Lucene computes it)
    <folder>/passages.arrow    text, document and day of every passage, in the order of the index
    <folder>/sentences.npy     sorted hashes of all sentences
    <folder>/index.json        how many there are, written last

An index is made in the memory of one process: about 2 GB for a million passages.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ticlm.core.fingerprint import hash64
from ticlm.core.store import Store
from ticlm.datasets.probes.candidates import cut
from ticlm.datasets.text import bm25
from ticlm.datasets.text.diffs import key

PASSAGE_CHARS = 600
"""Passages end with the sentence that makes them as long as that."""
RECORD = "index.json"
QUERIES = 256  # cut into words at once


@dataclass(frozen=True, slots=True)
class OldPassage:
    """Some sentences of an old document, one a line; `day` is written YYYY-MM-DD."""

    text: str
    document: str
    day: str


def passages_of(text: str, document: str, day: str) -> Iterator[OldPassage]:
    """Cut a document into passages of whole sentences."""
    held: list[str] = []
    for sentence in cut(text):
        held.append(sentence)
        if sum(map(len, held)) >= PASSAGE_CHARS:
            yield OldPassage("\n".join(held), document, day)
            held = []
    if held:
        yield OldPassage("\n".join(held), document, day)


class OldCorpusIndex:
    """An index that is open."""

    def __init__(self, folder: Path) -> None:
        import bm25s
        import numpy as np
        import pyarrow as pa

        self._index: Any = bm25s.BM25.load(str(folder / "bm25"), mmap=True)
        self._passages = pa.ipc.open_file(pa.memory_map(str(folder / "passages.arrow"))).read_all()
        self._sentences = np.load(folder / "sentences.npy", mmap_mode="r")

    def __len__(self) -> int:
        return int(self._passages.num_rows)

    def search(self, queries: Sequence[str], most: int) -> list[list[OldPassage]]:
        """Return up to `most` passages for each query, best first; of equally good ones, the first of the corpus."""
        found: list[list[OldPassage]] = []
        for begin in range(0, len(queries), QUERIES):
            words = [bm25.known(self._index, tokens) for tokens in bm25.words_of(queries[begin : begin + QUERIES])]
            found += map(self._best, words, [min(most, len(self))] * len(words))
        return found

    def _best(self, words: list[str], most: int) -> list[OldPassage]:
        if not words:
            return []
        numbers, scores = self._index.retrieve([words], k=most, show_progress=False, n_threads=0)
        ranked = sorted((-float(score), int(number)) for number, score in zip(numbers[0], scores[0]) if score > 0)
        rows = self._passages.take([number for _, number in ranked]).to_pylist()
        return [OldPassage(**row) for row in rows]

    def has_sentences(self, texts: Sequence[str]) -> list[bool]:
        """Return for each text whether it is a sentence of the corpus, but for case and punctuation."""
        import numpy as np

        hashes = np.array([hash64(key(text)) for text in texts], dtype=np.uint64)
        at = np.searchsorted(self._sentences, hashes)
        inside = at < len(self._sentences)
        return [bool(ok and self._sentences[i] == h) for ok, i, h in zip(inside, at, hashes)]

    def has_word(self, word: str) -> bool:
        """Return whether the corpus writes a word, in any case."""
        return all(token in self._index.vocab_dict for token in re.findall(bm25.WORD, word.lower()))


def build(store: Store, folder: str, passages: Iterable[OldPassage]) -> int:
    """Write the index of some passages and return their number; a folder with RECORD is finished."""
    import numpy as np
    import pyarrow as pa

    store.remove(folder)
    held = list(passages)
    texts = [passage.text for passage in held]
    hashes = {hash64(key(sentence)) for text in texts for sentence in text.split("\n")}
    with tempfile.TemporaryDirectory(prefix="ticlm-index-") as temporary:
        index = bm25.indexed(texts)
        if index is not None:
            index.save(str(Path(temporary, "bm25")), show_progress=False)
        table = pa.table(
            {
                "text": texts,
                "document": [passage.document for passage in held],
                "day": [passage.day for passage in held],
            }
        )
        with pa.ipc.new_file(str(Path(temporary, "passages.arrow")), table.schema) as file:
            file.write_table(table, max_chunksize=4096)
        np.save(Path(temporary, "sentences.npy"), np.array(sorted(hashes), dtype=np.uint64))
        store.upload(Path(temporary), folder)
    store.write(f"{folder}/{RECORD}", b'{"passages": %d}' % len(held))
    return len(held)
