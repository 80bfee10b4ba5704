"""The models that a proposal may train from scratch, from small to large."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from ticlm.platform.models.presets import preset_size
from ticlm.platform.models.settings import PresetModel


class SizedModel(Protocol):
    """A model whose sizes are known."""

    @property
    def parameters(self) -> int:
        """Its weights."""

    @property
    def peak(self) -> float:
        """The peak of the rate at which such models are trained first."""


@dataclass(frozen=True)
class TinyModel:
    """A model of the preset `tiny` with other sizes, and the vocabulary that goes with it."""

    hidden: int
    inner: int
    layers: int
    heads: int
    vocabulary: int

    @property
    def changes(self) -> dict[str, int]:
        wanted = {
            "hidden_size": self.hidden,
            "intermediate_size": self.inner,
            "num_hidden_layers": self.layers,
            "num_attention_heads": self.heads,
        }
        preset = {"hidden_size": 64, "intermediate_size": 192, "num_hidden_layers": 2, "num_attention_heads": 2}
        return {key: value for key, value in wanted.items() if preset[key] != value}

    @property
    def model(self) -> PresetModel:
        return PresetModel.model_validate({"name": "tiny", "changes": self.changes})

    @property
    def peak(self) -> float:
        """The peak of its first round: .04 lies between the best of the two searches in docs/sizing.md, .03 for 43,000
        parameters and .08 for 109,000. Wider models want less, in proportion."""
        return 0.04 * min(1.0, 64 / self.hidden)

    @property
    def parameters(self) -> int:
        size = preset_size(self.model, self.vocabulary)
        assert size is not None
        return size.parameters


LADDER = (
    TinyModel(16, 48, 2, 2, 512),
    TinyModel(24, 72, 2, 2, 512),
    TinyModel(32, 96, 2, 2, 512),
    TinyModel(48, 144, 2, 2, 1024),
    TinyModel(64, 192, 2, 2, 1024),
    TinyModel(96, 288, 2, 2, 2048),
    TinyModel(128, 384, 3, 4, 2048),
    TinyModel(192, 576, 4, 4, 4096),
    TinyModel(256, 768, 6, 4, 4096),
)
"""Models from 15,000 to 7 million parameters, each about twice the one before."""
