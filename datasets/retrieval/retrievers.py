"""What finds passages for questions: dense vectors, or words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, Literal, Protocol

from pydantic import Field

from ticlm.core.reading.plain import Plain
from ticlm.datasets.examples.context import BuildContext
from ticlm.datasets.retrieval.encoders import DprEncoders
from ticlm.datasets.retrieval.passages import Passages, Shard
from ticlm.datasets.retrieval.word_index import Bm25Retriever

AnyRetriever = Annotated[
    Annotated[DprEncoders | Bm25Retriever, Field(discriminator="kind")],
    Plain("kind", Literal["bm25"]),
]


class PassageSearch(Protocol):
    """Finds passages. It sees the shards that it is given, and no others."""

    def search(self, questions: Sequence[str], shards: Sequence[Shard], top: int) -> list[list[tuple[int, float]]]:
        """Return numbers and scores of up to `top` passages of these shards for each question, best first; of equally
        good ones, the one with the lowest number."""
        ...


class Retriever(Protocol):
    """Makes a search of passages."""

    @property
    def identity(self) -> Any:
        """Return what decides what is found: for a model from outside, the hash of its files and not its path."""
        ...

    @property
    def external_inputs(self) -> str | None:
        """Return a line that declares models from outside the timeline; None if there are none."""
        ...

    def opened(self, context: BuildContext, passages: Passages) -> PassageSearch:
        """Return a search in these passages, for which what is made once per passage is made or found."""
        ...
