"""Objectives: how the rows of a corpus become a model's inputs, labels and weights.

An objective names the columns it needs and says nothing of how they came about. A way to make (input, target) rows
from text, such as prefix language modelling or span corruption, is a row maker of the corpus
(`datasets/corpus/row_makers.py`); every one of them that writes `inputs` and `targets` trains with `seq2seq`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

from pydantic import Field, InstanceOf

from ticlm.core.extensions import METHODS, Own
from ticlm.core.row_columns import INPUTS, TARGETS, TOKENS, ColumnNeed
from ticlm.core.settings import Settings

if TYPE_CHECKING:
    from torch import Tensor


class Objective(Settings):
    """Base of objectives, which turn rows of a shard into a model's inputs, labels and weights."""

    encoder_decoder: ClassVar[bool] = False
    """Whether it trains an encoder–decoder; a causal language model otherwise."""

    @property
    def columns(self) -> Mapping[str, ColumnNeed]:
        """Return the columns that a corpus must have, by name, and what each must be like (`core/row_columns.py`)."""
        raise NotImplementedError

    def __call__(self, rows: Mapping[str, Tensor]) -> tuple[dict[str, Tensor], Tensor, Tensor | None]:
        """Return (arguments of the model's forward, labels int64[rows, L], weights float32[rows, L] or None if all are
        1). `rows` has token ids, int64[rows, length of the column], by the names of `columns`."""
        raise NotImplementedError

    def targets(self, rows: Mapping[str, Tensor]) -> int | None:
        """Return the weighted targets in these rows, or None if every row has exactly `length` of them."""
        return None


class Causal(Objective):
    """Next-token prediction: the first L of a row's L+1 `tokens` are inputs, the last L are labels of weight one, but
    for those that are padding."""

    kind: Literal["causal"] = "causal"
    pad: int | None = Field(None, ge=0)
    """Token that fills up rows at their end and is never a target; by default rows are full."""

    def without_meaning(self) -> frozenset[str]:
        return frozenset({"pad"} if self.pad is None else ())

    @property
    def columns(self) -> Mapping[str, ColumnNeed]:
        """The columns that a corpus must have, by name, where L is the study's `length`."""
        return {TOKENS: ColumnNeed(extra=1, pad=self.pad)}

    def __call__(self, rows: Mapping[str, Tensor]) -> tuple[dict[str, Tensor], Tensor, Tensor | None]:
        """Return (arguments, labels [rows, L], weights [rows, L]) of rows of L + 1 tokens; see `Objective`."""
        labels = rows[TOKENS][:, 1:]
        weights = None if self.pad is None else (labels != self.pad).float()
        return {"input_ids": rows[TOKENS][:, :-1]}, labels, weights

    def targets(self, rows: Mapping[str, Tensor]) -> int | None:
        """Count the targets that are not padding; None if rows have no padding."""
        return None if self.pad is None else int((rows[TOKENS][:, 1:] != self.pad).sum())


class Seq2Seq(Objective):
    """Encoder–decoder: the encoder reads `inputs`, the decoder predicts `targets` (the study's `length`). The token
    `pad` has weight zero, and also starts the decoder, as in T5."""

    encoder_decoder: ClassVar[bool] = True
    kind: Literal["seq2seq"] = "seq2seq"
    pad: int = Field(0, ge=0)
    """Token that fills up rows and is never a target."""

    @property
    def columns(self) -> Mapping[str, ColumnNeed]:
        """The columns that a corpus must have, by name; `inputs` may have any length."""
        return {TARGETS: ColumnNeed(pad=self.pad), INPUTS: ColumnNeed(extra=None, pad=self.pad)}

    def __call__(self, rows: Mapping[str, Tensor]) -> tuple[dict[str, Tensor], Tensor, Tensor | None]:
        """Return (arguments, labels [rows, L], weights [rows, L]) of rows of L targets; see `Objective`."""
        inputs, targets = rows[INPUTS], rows[TARGETS]
        # The decoder reads the targets one place later, behind the padding token with which T5's decoder begins.
        shifted = targets.roll(1, dims=1)
        shifted[:, 0] = self.pad
        arguments = {"input_ids": inputs, "attention_mask": (inputs != self.pad).long(), "decoder_input_ids": shifted}
        return arguments, targets, (targets != self.pad).float()

    def targets(self, rows: Mapping[str, Tensor]) -> int | None:
        """Count the targets that are not padding."""
        return int((rows[TARGETS] != self.pad).sum())


AnyObjective = Annotated[
    Annotated[Causal | Seq2Seq, Field(discriminator="kind")] | InstanceOf[Objective], Own(Objective, METHODS)
]
