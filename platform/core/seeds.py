"""Random numbers that depend on a key alone: never on what was drawn before, or on which machine."""

from __future__ import annotations

import numpy as np


def keyed(*key: int) -> np.random.Generator:
    """Return a generator that depends on the key alone (Philox, the same on every platform)."""
    return np.random.Generator(np.random.Philox(np.random.SeedSequence([k & 0xFFFFFFFFFFFFFFFF for k in key])))
