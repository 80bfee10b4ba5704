"""The record of a tokenizer that continues another one: which tokens are new, and what each of them is made of.

It lies beside tokenizer.json as `grown.json`, in a corpus and in each model that is trained on it, with a hash of
itself.
"""

from __future__ import annotations

from ticlm.core import paths
from ticlm.core.errors import InputError
from ticlm.core.integrity import own_hash
from ticlm.core.settings import Settings
from ticlm.core.store import Store

FILE = "grown.json"


class Growth(Settings):
    """The new tokens of a grown tokenizer. All tokens of its base keep their ids, which are below `base_size`; new
    token number i has the id `base_size` + i."""

    base: str
    """Name of the base, in words."""
    base_sha256: str
    """Hash of the base's tokenizer.json."""
    base_size: int
    """One more than the largest id of the base."""
    period: str
    """The period whose text the new tokens were learned on."""
    parts: tuple[tuple[int, ...], ...]
    """For each new token, the tokens of the base that its text is cut into, two or more."""
    counts: tuple[int, ...]
    """For each new token, how often its two halves stood side by side in that text when it was learned."""

    @property
    def size(self) -> int:
        """Return one more than the largest id."""
        return self.base_size + len(self.parts)

    @property
    def new(self) -> int:
        """Return the number of new tokens."""
        return len(self.parts)


def path(tokenizer: str = paths.TOKENIZER) -> str:
    """Return the path of the record, from the folder that a tokenizer's folder lies in."""
    return f"{tokenizer}/{FILE}" if tokenizer else FILE


def write(store: Store, growth: Growth) -> None:
    """Write the record into the tokenizer's folder of a corpus."""
    store.write(path(), own_hash.with_hash(growth.model_dump(mode="json")))


def read(store: Store, tokenizer: str = paths.TOKENIZER) -> Growth | None:
    """Return the record beside a tokenizer, which lies in this folder of a store; None if there is none. Raises
    InputError if it is damaged."""
    where = path(tokenizer)
    if not store.exists(where):
        return None
    again = "copy it from the model folder of a finished round, or build the corpus again"
    found = own_hash.read_as(Growth, store.read(where), store.uri(where), again)
    old = range(found.base_size)
    if not all(len(parts) > 1 and all(part in old for part in parts) for parts in found.parts):
        raise InputError(f"{store.uri(where)}: its new tokens are not made of two or more tokens of the base; {again}")
    return found
