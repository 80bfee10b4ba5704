"""TODO"""

from __future__ import annotations

import numpy as np


def keyed(*key: int) -> np.random.Generator:
    """A generator that depends on the key alone (Philox, the same on every platform)."""
    return np.random.Generator(np.random.Philox(np.random.SeedSequence([k & 0xFFFFFFFFFFFFFFFF for k in key])))
