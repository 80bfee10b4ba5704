"""The columns of a corpus's rows: the seam between what makes rows from text and what a model learns from them.

A row maker of `datasets.corpus` says which columns it writes; the corpus's manifest lists them (`Column`). An objective
of `methods` says which columns it needs (`ColumnNeed`). Neither knows the other: both know the names below, and
`check_columns` compares the two before anything is trained.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from ticlm.core.errors import InputError

if TYPE_CHECKING:
    from ticlm.core.token_rows import Column

TOKENS = "tokens"
"""A stretch of text for a causal model: inputs and labels overlap in all tokens but one."""
INPUTS = "inputs"
"""What an encoder reads."""
TARGETS = "targets"
"""What a decoder predicts given the `inputs` of the same row."""


class ColumnNeed(NamedTuple):
    """The demands of an objective on a column: its length, as the study's `length` plus `extra` (None: any length), and
    the token id that fills its rows up (`pad`; None: the objective reads every token of a row)."""

    extra: int | None = 0
    pad: int | None = None


def check_columns(corpus: str, columns: Sequence[Column], needs: Mapping[str, ColumnNeed], length: int) -> None:
    """Raise InputError if the rows of a corpus cannot serve an objective with these needs and a study's `length`."""
    known = {column.name: column for column in columns}
    for name, need in needs.items():
        if name not in known:
            raise InputError(f"corpus {corpus} has columns {', '.join(known)}, the objective needs {name}")
        column = known[name]
        if need.extra is not None and column.length != length + need.extra:
            fitting = column.length - need.extra
            raise InputError(
                f"length: {length}, but the corpus {corpus} was cut into rows of {fitting}; set length: {fitting}"
            )
        if column.pad is not None and column.pad != need.pad:
            raise InputError(
                f"corpus {corpus} fills its column {name} up with token {column.pad}, the objective expects "
                f"{need.pad}; set objective.pad: {column.pad}"
            )
