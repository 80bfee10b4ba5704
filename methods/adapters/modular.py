"""Modular: a second, smaller encoder whose output is added to that of the frozen one (CKL)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from pydantic import Field

from ticlm.methods.adapters.beside import BesideTower

if TYPE_CHECKING:
    from torch import nn


class Modular(BesideTower):
    """An adapter for a T5: a second encoder M of T5-small's shape, with embeddings of its own. Its output, projected to
    the width of the first one, is added to the output of the first: E + scale · (P M(x) + b) (CKL, section 4)."""

    kind: Literal["modular"] = "modular"
    width: int = Field(512, gt=0)
    """Width of the second encoder."""
    layers: int = Field(6, gt=0, le=1000)
    """Layers of the second encoder."""
    heads: int = Field(8, gt=0)
    """Heads of attention in each layer."""
    head_width: int = Field(64, gt=0)
    """Dimensions of a head of attention."""
    inner: int = Field(2048, gt=0)
    """Width inside the feed-forward layers."""
    scale: float = Field(0.05, gt=0)
    """Factor of what it adds to the output of the first encoder."""

    def add(self, module: nn.Module, depth: int) -> None:
        from ticlm.methods.adapters import second_encoder

        shape = {"d_model": self.width, "num_layers": self.layers, "num_heads": self.heads}
        shape |= {"d_kv": self.head_width, "d_ff": self.inner}
        second_encoder.add(module, depth, shape, self.scale, self.scored)
