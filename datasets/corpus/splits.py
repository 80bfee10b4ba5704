"""Splits: which documents are held out for evaluation and tuning, and which sets of rows are made of them."""

from __future__ import annotations

import json
from functools import lru_cache
from typing import Annotated, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Discriminator, Field, Tag, TypeAdapter, ValidationError, model_validator

from ticlm.core.fingerprint import hash64
from ticlm.core.mixture import Split
from ticlm.core.settings import Settings

SPLITS: tuple[Split, ...] = ("train", "eval", "tune")
OPEN = -1
"""In an array of splits (places in SPLITS): a document of which no earlier period has decided the split."""


class Splits(Settings):
    """Shares of the text that are held out. A document stays in one split in every period, so that a page used for
    evaluation is never trained on, also when it is seen again later.

    Over many documents a hash of the id is enough (`by: documents`). Where a few long documents make most of a period,
    it may hold out four fifths of the text instead of a third. `by: tokens` then decides each period as a whole, once
    all its documents are known: in the order of the same hash, documents go to eval as long as they fit into its share,
    then to tune, and all others to train. So a document that is larger than a held-out share is trained on, and what is
    held out has somewhat shorter documents. The corpus keeps what it decided, and a document that is seen again in a
    later period stays in its split. Shares are met in bytes of text, as the tokenizer is trained on the train split and
    so comes later, and before `deduplicate`.
    """

    eval: float = Field(0.1, ge=0, lt=1)
    """Share of the documents, or of the text (0 to 1), that is held out for evaluation."""
    tune: float = Field(0.02, ge=0, lt=1)
    """Share of the documents, or of the text (0 to 1), that is held out for tuning."""
    by: Literal["documents", "tokens"] = "documents"
    """In what the shares are met: in documents of the whole corpus, by a hash of each id alone, or in the text of each
    period, as closely as whole documents allow (`tokens`)."""
    salt: str = ""
    """A text that is hashed with each document's id; another salt holds out other documents."""

    def without_meaning(self) -> frozenset[str]:
        return super().without_meaning() | (frozenset({"by"}) if self.by == "documents" else frozenset())

    @model_validator(mode="after")
    def _leave_some(self) -> Splits:
        if self.eval + self.tune >= 1:
            raise ValueError(f"eval and tune must leave something to train on, got {self.eval} + {self.tune}")
        return self

    @property
    def shares(self) -> dict[Split, float]:
        """Return the share of the documents that each split has."""
        return {"train": 1 - self.eval - self.tune, "eval": self.eval, "tune": self.tune}

    def place(self, name: str) -> int:
        """Return the place of a group or id in the order in which documents are held out, from 0 to 2^64 - 1."""
        return hash64(f"{self.salt}\0{name}")

    def of(self, name: str) -> Split:
        """Return the split of the documents with this group or id, if splits are by documents."""
        share = self.place(name) / 2**64
        return "eval" if share < self.eval else "tune" if share < self.eval + self.tune else "train"

    def decided(self, sizes: NDArray[np.int64], before: NDArray[np.int8]) -> NDArray[np.int8]:
        """Return the split of each document of a period, int8[documents], if splits are by tokens.

        `sizes` are the bytes of its documents in the order of their places; `before` are the splits that earlier
        periods have decided, or OPEN.
        """
        found = before.copy()
        whole = int(sizes.sum())
        asked = [(split, share) for split, share in ((1, self.eval), (2, self.tune)) if share]
        has_some = np.count_nonzero(sizes) > 2
        for at, (split, share) in enumerate(asked, 1):
            is_open = np.flatnonzero((found == OPEN) & (sizes > 0))
            # what must be left for train and for the splits behind this one, as far as they have nothing yet
            behind = [0, *(other for other, _ in asked[at:])] if has_some else []
            most = len(is_open) - sum(not np.any((found == other) & (sizes > 0)) for other in behind)
            gap = int(share * whole) - int(sizes[found == split].sum())
            chosen = _filling(sizes[is_open], gap, whole // 3 if has_some else whole, most)
            if not chosen and has_some and most > 0 and not np.any((found == split) & (sizes > 0)):
                chosen = [int(sizes[is_open].argmin())]
            found[is_open[chosen]] = split
        found[found == OPEN] = 0
        return found


def _filling(sizes: NDArray[np.int64], gap: int, largest: int, most: int) -> list[int]:
    """Return which documents, int64[documents] bytes, fill a gap of so many bytes as closely as whole ones can: each
    that still fits and is not above the `largest` size, in their order, then the smallest other one, if that comes
    nearer than to leave the rest empty; at most `most` of them."""
    chosen: list[int] = []
    if most <= 0 or not len(sizes):
        return chosen
    smallest = int(sizes.min())
    for at, size in enumerate(sizes.tolist()):  # one after the other, as each choice leaves less for the next
        if gap < smallest or len(chosen) == most:
            break
        if size <= gap and size <= largest:
            chosen.append(at)
            gap -= size
    others = np.delete(np.arange(len(sizes)), chosen)
    if len(others) and len(chosen) < most:
        at = int(others[sizes[others].argmin()])
        if sizes[at] < 2 * gap and sizes[at] <= largest:
            chosen.append(at)
    return chosen


class GlobalShards(Settings):
    """Equal global shards, numbered from 1: a hash of its group (without one, of its id) puts a document into one.

    One shard is for training, one for evaluation, one for tuning; the others are not used (TiC-LM, appendix A; there,
    tuning uses other rows of the evaluation shard).
    """

    global_shards: int = Field(10, gt=0)
    """Number of equal shards that documents are spread over."""
    train: int = 1
    """Number of the shard that is trained on, from 1."""
    eval: int = 10
    """Number of the shard that is evaluated on, from 1."""
    tune: int = 9
    """Number of the shard that tuning is scored on, from 1."""
    salt: str = ""
    """A text that is hashed with each document's group or id; another salt makes other shards."""

    @model_validator(mode="after")
    def _apart(self) -> GlobalShards:
        chosen = (self.train, self.eval, self.tune)
        if len(set(chosen)) < 3 or not all(1 <= shard <= self.global_shards for shard in chosen):
            raise ValueError(f"train, eval and tune must be three shards of 1 to {self.global_shards}, got {chosen}")
        return self

    @property
    def shares(self) -> dict[Split, float]:
        """Return the share of the documents that each split has."""
        return dict.fromkeys(("train", "eval", "tune"), 1 / self.global_shards)

    def of(self, name: str) -> Split | None:
        """Return the split of the documents with this group or id, or None if their shard is not used."""
        shard = hash64(f"{self.salt}\0{name}") % self.global_shards + 1
        return {self.train: "train", self.eval: "eval", self.tune: "tune"}.get(shard)


def _kind_of_splits(value: object) -> str:
    numbered = isinstance(value, GlobalShards) or (isinstance(value, dict) and "global_shards" in value)
    return "GlobalShards" if numbered else "Splits"


AnySplits = Annotated[
    Annotated[Splits, Tag("Splits")] | Annotated[GlobalShards, Tag("GlobalShards")], Discriminator(_kind_of_splits)
]


@lru_cache(maxsize=16)  # all periods of a corpus state the same recipe
def stated(recipe: str) -> AnySplits | None:
    """Return the splits that a recipe (JSON, as the record of a period keeps it) states; None if it cannot be read."""
    try:
        return TypeAdapter[AnySplits](AnySplits).validate_python(json.loads(recipe)["splits"])
    except (ValueError, KeyError, TypeError, ValidationError):
        return None


class HeldOut(Settings):
    """Sets of rows that are made of the eval and tune documents of a period.

    Each source in `subsets` also gets rows of its own (`eval.wiki`). With `clean`, each set has a copy without the text
    that is also in the period's train split (`eval.clean`, `eval.wiki.clean`: TiC-LM, Fig. 7). A set has at most `rows`
    rows, chosen at random.
    """

    rows: int | None = Field(None, gt=0)
    """Largest number of rows of a held-out set, chosen at random; by default all."""
    subsets: tuple[Annotated[str, Field(pattern=r"^[a-z0-9-]+$")], ...] = ()
    """Sources that also get held-out sets of their own (`eval.wiki`)."""
    clean: bool = False
    """Whether each set also has a copy without the text that is in the period's train split (TiC-LM, Fig. 7)."""

    @model_validator(mode="after")
    def _named_apart(self) -> HeldOut:
        if "clean" in self.subsets or len(set(self.subsets)) < len(self.subsets):
            raise ValueError(f"subsets must be different, and none may be clean, got {list(self.subsets)}")
        return self

    def sets(self, split: Split) -> list[Split]:
        """Return the sets of rows that the documents of a split go into, the split itself first."""
        if split == "train":
            return [split]
        named = [split, *(f"{split}.{subset}" for subset in self.subsets)]
        return [*named, *(f"{name}.clean" for name in named)] if self.clean else named
