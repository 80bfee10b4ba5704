"""Objectives: how rows of a shard become model inputs, labels and weights."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

from pydantic import Field, InstanceOf

from ticlm.platform.core.extensions import METHODS, Own
from ticlm.platform.core.settings import Settings

if TYPE_CHECKING:
    from torch import Tensor


class Objective(Settings):
    """Base of objectives: how rows of a shard become a model's inputs, its labels and their weights."""

    encoder_decoder: ClassVar[bool] = False
    """Whether it trains an encoder–decoder; a causal language model otherwise."""

    @property
    def lengths(self) -> Mapping[str, int]:
        """Return the columns that a corpus must have, and how many tokens longer than the study's `length` each is."""
        raise NotImplementedError

    def __call__(self, rows: Mapping[str, Tensor]) -> tuple[dict[str, Tensor], Tensor, Tensor | None]:
        """Return the arguments of the model's forward, labels [rows, L], and weights [rows, L] or None if all are 1."""
        raise NotImplementedError

    def targets(self, rows: Mapping[str, Tensor]) -> int | None:
        """Return the weighted targets in these rows, or None if every row has exactly `length` of them."""
        return None


class Causal(Objective):
    """Next-token prediction: the first L of a row's L+1 `tokens` are inputs, the last L labels, all of weight one."""

    kind: Literal["causal"] = "causal"

    @property
    def lengths(self) -> Mapping[str, int]:
        """Columns a corpus must have, and how much longer than the study's `length` each is."""
        return {"tokens": 1}

    def __call__(self, rows: Mapping[str, Tensor]) -> tuple[dict[str, Tensor], Tensor, Tensor | None]:
        """(arguments of the model, labels [rows, L], weights [rows, L] or None where all are one)."""
        tokens = rows["tokens"]
        return {"input_ids": tokens[:, :-1]}, tokens[:, 1:], None

    def targets(self, rows: Mapping[str, Tensor]) -> int | None:
        """Weighted targets in these rows, or None where every row has exactly `length`."""
        return None


class Seq2Seq(Objective):
    """Encoder–decoder: `inputs` to the encoder, `targets` (the study's `length`) predicted; `pad` has weight zero and
    also starts the decoder, as in T5."""

    encoder_decoder: ClassVar[bool] = True
    kind: Literal["seq2seq"] = "seq2seq"
    pad: int = 0

    @property
    def lengths(self) -> Mapping[str, int]:
        return {"targets": 0}

    def __call__(self, rows: Mapping[str, Tensor]) -> tuple[dict[str, Tensor], Tensor, Tensor | None]:
        inputs, targets = rows["inputs"], rows["targets"]
        shifted = targets.roll(1, dims=1)
        shifted[:, 0] = self.pad
        arguments = {"input_ids": inputs, "attention_mask": (inputs != self.pad).long(), "decoder_input_ids": shifted}
        return arguments, targets, (targets != self.pad).float()

    def targets(self, rows: Mapping[str, Tensor]) -> int | None:
        return int((rows["targets"] != self.pad).sum())


AnyObjective = Annotated[
    Annotated[Causal | Seq2Seq, Field(discriminator="kind")] | InstanceOf[Objective], Own(Objective, METHODS)
]
