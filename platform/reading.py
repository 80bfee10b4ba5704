"""Reading a text to a model: which of its tokens, and what came of each."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


class Reading(NamedTuple):
    """What reading a text came to, token by token: −ln P, and the characters [start, end) that the token stands for;
    and the UTF-8 bytes of the text that was scored."""

    losses: NDArray[np.float32]
    offsets: NDArray[np.int64]
    bytes: int


class Cut(NamedTuple):
    """Which tokens of a text are read: the `first` so many, of those the `last` so many; and whether the first one read
    is scored, after end-of-text, or only stands before the others."""

    first: int | None = None
    last: int | None = None
    scores_first: bool = True
