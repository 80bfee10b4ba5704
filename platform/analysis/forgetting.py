"""Forgetting against a run's own best: what a run once knew of a period and has lost since."""

from __future__ import annotations

import numpy as np

from ticlm.platform.analysis.matrix import Array


def forgetting(values: Array, higher_is_better: bool = False) -> Array:
    """Return how much worse each cell is than the best that the same run had reached on that period by then.

    `values` are [..., trained, evaluated], raw, in the order of training. A result is 0 where the checkpoint itself is
    the best so far, and never negative; missing cells stay NaN and are no best (Chaudhry et al., 2018, section 3, with
    the checkpoint itself among the candidates).
    """
    best = (np.fmax if higher_is_better else np.fmin).accumulate(values, axis=-2)
    return best - values if higher_is_better else values - best
