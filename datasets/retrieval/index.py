"""Dense vectors of passages, in shards of files beside the set, and the exact search in them (faiss).

<passages>.npy      float32[rows, dims], mapped into memory on a local store
<passages>.ivf      an inverted file of faiss, for an approximate search; only if `lists` is set
<passages>.json     the files with their hashes, and how many passages were cut; written last
"""

from __future__ import annotations

import io
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, Protocol

from ticlm.core.accounting import Step
from ticlm.core.extras import require
from ticlm.core.fingerprint import fingerprint
from ticlm.core.integrity import own_hash
from ticlm.core.integrity.records import StoredFile
from ticlm.core.store import Store
from ticlm.datasets.examples.context import BuildContext
from ticlm.datasets.io.executor import Executor, reported
from ticlm.datasets.retrieval.passages import Passages, Shard, check, read_table, record_of, stored

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Vectors = NDArray[np.float32]
    Numbers = NDArray[np.int64]
    Scores = NDArray[np.float64]

SPARE = 16
"""Candidates of a shard beyond the number that is asked for. More are taken where scores are too close to tell."""
QUESTIONS = 1024
"""Questions that are searched for at once."""
UNIT = 2.0**-24
"""Rounding of float32: the error of a dot product of d numbers is at most d · UNIT · |a| · |b|, nearly."""


class Encodes(Protocol):
    """Makes vectors of texts."""

    def encoded(
        self, side: Literal["question", "context"], titles: Sequence[str] | None, texts: Sequence[str]
    ) -> tuple[Vectors, int]:
        """Return float32[texts, dims], and how many texts were cut."""
        ...


class EncodedShards:
    """The vectors of some passages."""

    def __init__(self, passages: Passages, encoder: Encodes, lists: int = 0) -> None:
        self.passages, self.encoder, self.lists = passages, encoder, lists
        self.store = passages.store
        self._records: dict[str, dict[str, Any]] = {}

    def encode(self, context: BuildContext, executor: Executor | None = None) -> Step:
        """Encode the shards that have no vectors yet; return the account of all passages. Raises InputError without
        faiss."""
        faiss_library()
        executor = executor or context.executor
        missing = [shard.file for shard in self.passages.shards if not self.store.exists(_record(shard.file))]
        work = _EncodeShard(self.store, self.encoder, self.lists)
        done = reported(executor.each(work, missing), f"{len(missing):,}", context.progress, "shards encoded")
        for _ in done:
            pass
        cut = sum(int(self.record(shard)["cut"]) for shard in self.passages.shards)
        return Step(name="passages encoded", read=len(self.passages), edited=cut)

    def record(self, shard: Shard) -> dict[str, Any]:
        """Return the record of a shard's vectors. Raises InputError if it is damaged."""
        path = _record(shard.file)
        if path not in self._records:
            self._records[path] = record_of(self.store, path)
        return self._records[path]

    def vectors(self, shard: Shard) -> Vectors:
        """Return float32[rows, dims], mapped from disk on a local store. Raises InputError if the file is damaged."""
        import numpy as np

        file = StoredFile.model_validate(self.record(shard)["vectors"])
        check(self.store, file)
        if self.store.is_local:
            return np.load(self.store.path(file.path), mmap_mode="r")  # type: ignore[no-any-return]
        return np.load(io.BytesIO(self.store.read(file.path)))  # type: ignore[no-any-return]

    def inverted(self, shard: Shard) -> Any | None:
        """Return the inverted file of a shard, or None if it is searched as a whole."""
        import numpy as np

        if not self.lists:
            return None
        file = StoredFile.model_validate(self.record(shard)["inverted"])
        check(self.store, file)
        return faiss_library().deserialize_index(np.frombuffer(self.store.read(file.path), np.uint8))


@dataclass(frozen=True)
class _EncodeShard:
    """Writes the vectors of a file of passages."""

    store: Store
    encoder: Encodes
    lists: int

    def __call__(self, file: StoredFile) -> None:
        import numpy as np

        columns = read_table(self.store, file).select(["title", "text"]).to_pydict()
        vectors, cut = self.encoder.encoded("context", columns["title"], columns["text"])
        path = file.path.removesuffix(".arrow")
        with self.store.writing(f"{path}.npy") as sink:
            np.save(sink, vectors)
        record: dict[str, Any] = {"cut": cut, "vectors": stored(self.store, f"{path}.npy").model_dump()}
        if self.lists:
            self.store.write(f"{path}.ivf", inverted_file(vectors, self.lists))
            record["inverted"] = stored(self.store, f"{path}.ivf").model_dump()
        self.store.write(_record(file), own_hash.with_hash(record))


@dataclass(frozen=True)
class DenseSearch:
    """A search by dot product. Encoded questions are kept in `folder` until the build is done.

    What was found in the first period, and in all shards of a search, is remembered: where the same questions are asked
    in the next month, only what is new there is searched.
    """

    shards: EncodedShards
    encoder: Encodes
    probes: int
    folder: str
    _known: dict[str, dict[tuple[str, ...], list[Best]]] = field(default_factory=dict)

    def search(self, questions: Sequence[str], shards: Sequence[Shard], top: int) -> list[list[tuple[int, float]]]:
        """Return numbers and scores of the `top` passages of these shards for each question, best first; of equally
        good ones, the first."""
        if not questions:
            return []
        name = fingerprint((top, tuple(questions)))[:32]
        queries = self._encoded(name, questions)
        blocks = [queries[begin : begin + QUESTIONS] for begin in range(0, len(queries), QUESTIONS)]
        paths, known = tuple(shard.file.path for shard in shards), self._known.setdefault(name, {})
        done = max((prefix for prefix in known if paths[: len(prefix)] == prefix), key=len, default=())
        found = known.get(done) or [Best.none(len(block), top) for block in blocks]
        for number, shard in enumerate(shards[len(done) :], len(done) + 1):  # each is read once, for all questions
            vectors, inverted = self.shards.vectors(shard), self.shards.inverted(shard)
            found = [
                best.with_shard(block, vectors, shard.start, inverted, self.probes)
                for best, block in zip(found, blocks, strict=True)
            ]
            if number == len(shards) or shard.part.first > shards[number].part.first:
                known[paths[:number]] = found
        return [several for best in found for several in best.listed()]

    def _encoded(self, name: str, questions: Sequence[str]) -> Vectors:
        import numpy as np

        store, path = self.shards.store, f"{self.folder}/questions/{name}.npy"
        if not store.exists(path):
            vectors, _ = self.encoder.encoded("question", None, questions)
            with store.writing(path) as sink:
                np.save(sink, vectors)
        return np.load(io.BytesIO(store.read(path)))  # type: ignore[no-any-return]


@dataclass(frozen=True)
class Best:
    """The best passages so far of some questions: scores, float64[questions, top], largest first, and numbers, int64 of
    the same shape; −inf and −1 where there is none."""

    scores: Scores
    numbers: Numbers

    @staticmethod
    def none(questions: int, top: int) -> Best:
        """Return no passages."""
        import numpy as np

        return Best(np.full((questions, top), -np.inf), np.full((questions, top), -1, np.int64))

    def with_shard(self, queries: Vectors, vectors: Vectors, start: int, inverted: Any = None, probes: int = 1) -> Best:
        """Return the best of these passages and of a shard, whose first passage has the number `start`; `queries` is
        float32[questions, d], `vectors` float32[passages, d].

        faiss finds candidates in float32, whose last digits depend on how many are searched at once. Their dot products
        are then taken in float64, so that neither shards nor batches change the outcome. Shards must come in the order
        of their numbers: of equal scores, the first stays.
        """
        import numpy as np

        top = self.scores.shape[1]
        slack = _slack(queries, vectors)
        rough, rows = _candidates(queries, vectors, top, top + SPARE, slack, inverted, probes)
        # only what may still be among the best is worth an exact score
        there = (rows >= 0) & (rough >= self.scores[:, -1:] - slack[:, None])
        exact = np.full(rough.shape, -np.inf)
        exact[there] = _products(queries, vectors, np.nonzero(there)[0], rows[there])
        scores = np.concatenate([self.scores, exact], axis=1)
        numbers = np.concatenate([self.numbers, np.where(there, rows + start, -1)], axis=1)
        order = np.argsort(-scores, axis=1, kind="stable")[:, :top]
        return Best(np.take_along_axis(scores, order, 1), np.take_along_axis(numbers, order, 1))

    def listed(self) -> list[list[tuple[int, float]]]:
        """Return numbers and scores of each question, best first."""
        pairs = zip(self.numbers.tolist(), self.scores.tolist(), strict=True)
        return [[(number, score) for number, score in zip(*row) if number >= 0] for row in pairs]


def faiss_library() -> Any:
    """Return the module faiss. Raises InputError if it is not installed."""
    require("examples.retriever: kind dpr", "retrieval", "faiss")
    import faiss

    return faiss


def inverted_file(vectors: Vectors, lists: int) -> bytes:
    """Return an inverted file of vectors, float32[passages, d], with at most one list per vector, as bytes that faiss
    reads."""
    faiss = faiss_library()
    count = min(lists, len(vectors))
    index = faiss.IndexIVFFlat(faiss.IndexFlatIP(vectors.shape[1]), vectors.shape[1], count, faiss.METRIC_INNER_PRODUCT)
    index.cp.min_points_per_centroid = 1  # it warns below 39
    index.train(vectors)
    index.add(vectors)
    return bytes(faiss.serialize_index(index).tobytes())


def _candidates(
    queries: Vectors, vectors: Vectors, top: int, most: int, slack: Scores, inverted: Any, probes: int
) -> tuple[Vectors, Numbers]:
    """Return float32[queries, n] scores and int64[queries, n] rows of the best vectors for each query: `most` of them,
    or as many more as may be among its `top`. Rows are in ascending order, −1 where there is none."""
    import numpy as np

    faiss, most = faiss_library(), min(most, len(vectors))
    if inverted is not None:
        rough, rows = inverted.search(queries, most, params=faiss.SearchParametersIVF(nprobe=probes))
    else:
        rough, rows = faiss.knn(queries, vectors, most, metric=faiss.METRIC_INNER_PRODUCT)
    last = np.where(rows[:, -1] >= 0, rough[:, -1], -np.inf)
    unclear = last >= rough[:, min(top, most) - 1] - 2 * slack
    if most < len(vectors) and unclear.any():  # many passages of nearly the same score
        more = _candidates(queries[unclear], vectors, top, 4 * most, slack[unclear], inverted, probes)
        wide = ((0, 0), (0, more[1].shape[1] - most))
        rough, rows = np.pad(rough, wide, constant_values=-np.inf), np.pad(rows, wide, constant_values=-1)
        rough[unclear], rows[unclear] = more
    order = np.argsort(rows, axis=1)
    return np.take_along_axis(rough, order, 1), np.take_along_axis(rows, order, 1)


def _slack(queries: Vectors, vectors: Vectors) -> Scores:
    """Return float64[queries], the largest error of a dot product in float32."""
    import numpy as np

    longest = float(np.sqrt(np.einsum("ij,ij->i", vectors, vectors, dtype=np.float64).max(initial=0.0)))
    norms = np.sqrt(np.einsum("ij,ij->i", queries, queries, dtype=np.float64))
    # n products and n sums err by n * UNIT times the sum of absolute products (Higham), which is at most the product
    # of the norms; 1.01 covers terms of higher order
    slack: Scores = norms * longest * vectors.shape[1] * UNIT * 1.01
    return slack


def _products(queries: Vectors, vectors: Vectors, at: Numbers, rows: Numbers) -> Scores:
    """Return float64[pairs], the dot product of query `at[i]` and vector `rows[i]`; float64 copies of all pairs at once
    would take too much memory."""
    import numpy as np

    found = np.empty(len(at))
    for begin in range(0, len(at), 4096):
        block = slice(begin, begin + 4096)
        left, right = queries[at[block]].astype(np.float64), vectors[rows[block]].astype(np.float64)
        found[block] = (left * right).sum(axis=1)
    return found


def _record(file: StoredFile) -> str:
    return f"{file.path.removesuffix('.arrow')}.json"
