"""Objectives: how rows of a shard become model inputs, labels and weights."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import Field

from ticlm.platform.core.settings import Settings

if TYPE_CHECKING:
    from torch import Tensor


class Causal(Settings):
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


class Seq2Seq(Settings):
    """Encoder–decoder: `inputs` to the encoder, `targets` (the study's `length`) predicted; `pad` has weight zero and
    also starts the decoder, as in T5."""

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


AnyObjective = Annotated[Causal | Seq2Seq, Field(discriminator="kind")]
