"""How colours look, also to people with a colour-vision deficiency: distances in CIE L*a*b* (CIE76)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

SEEN: dict[str, Array] = {
    "normal": np.eye(3),
    "protan": np.array(
        [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]]
    ),
    "deutan": np.array(
        [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]]
    ),
    "tritan": np.array(
        [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.303900]]
    ),
}
"""What linear RGB becomes at severity 1.0: Machado, Oliveira, Fernandes, "A Physiologically-based Model for Simulation
of Color Vision Deficiency", IEEE TVCG 15(6), 2009, table 1."""
XYZ = np.array(
    [[0.4124564, 0.3575761, 0.1804375], [0.2126729, 0.7151522, 0.0721750], [0.0193339, 0.1191920, 0.9503041]]
)
"""Linear sRGB to XYZ (IEC 61966-2-1); WHITE is D65."""
WHITE = np.array([0.95047, 1.0, 1.08883])


def apart(one: str, other: str) -> float:
    """The least distance of two colours #rrggbb over all ways to see them."""
    return min(float(np.linalg.norm(lab(one, seen) - lab(other, seen))) for seen in SEEN)


def lab(color: str, seen: str = "normal") -> Array:
    """L*, a*, b* of a colour #rrggbb."""
    part = np.frombuffer(bytes.fromhex(color[1:]), np.uint8) / 255
    linear = np.where(part <= 0.04045, part / 12.92, ((part + 0.055) / 1.055) ** 2.4)
    ratio = XYZ @ np.clip(SEEN[seen] @ linear, 0, 1) / WHITE
    x, y, z = np.where(ratio > (6 / 29) ** 3, np.cbrt(ratio), ratio * (29 / 6) ** 2 / 3 + 4 / 29)
    return np.array([116 * y - 16, 500 * (x - y), 200 * (y - z)])
