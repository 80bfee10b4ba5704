"""The likelihood of every month as the edge of a model's knowledge.

A model with its edge at month D leads for the new answer of changes up to D more than for later ones. The lead y of a
change at month c is y = a + b·z + δ·1[c ≤ D] + κ·ln(1 + D − c)₊ + noise, by least squares, with δ, κ ≥ 0; z is the lead
behind neutral words. The step is that of a model that was updated month after month; the ramp is that of a model that
read all months at once, in which a change is stated the more often the older it is. Both begin at the edge.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ticlm.platform.analysis.age.changes import Changes

LEAST = 5
"""Changes that must lie on either side of a month for it to be tried as the edge."""
Array = NDArray[np.float64]


@dataclass(frozen=True)
class Shape:
    """What the lead may depend on beside the edge, and how it falls there."""

    fame: bool = True
    """Whether the lead behind neutral words explains a part of the lead."""
    fame_too: bool = False
    """Whether that lead falls at the edge too: names that nobody had heard before they became answers."""
    ramp: bool = True
    """Whether older changes may be known better than recent ones."""
    drift: int = 0
    """Degree of a polynomial of time by which the lead may change whatever the model knows."""


def candidates(changes: Changes) -> NDArray[np.int64]:
    """Return int64[candidates], the months that have LEAST changes or more up to them and as many after them."""
    months, counts = np.unique(changes.month, return_counts=True)
    upto = np.cumsum(counts)
    return months[(upto >= LEAST) & (len(changes) - upto >= LEAST)]


def log_likelihoods(
    changes: Changes, edges: NDArray[np.int64], shape: Shape, weights: Array | None = None
) -> Array:
    """Return float64[resamples, edges]: how much likelier the leads are with the edge there than with none, in nats.

    `weights` is float64[resamples, changes]: how often each resample has each change; by default each once, in one.
    """
    weights = np.ones((1, len(changes))) if weights is None else weights
    months, place = np.unique(changes.month, return_inverse=True)
    ago = edges[None, :] - months[:, None]
    falls = [(ago >= 0).astype(np.float64)] + ([np.log1p(np.clip(ago, 0, None))] if shape.ramp else [])
    time = (changes.month - months.mean()) / max(1.0, float(np.ptp(months)) / 2)
    free = [time**degree for degree in range(shape.drift + 1)]
    found = _gain(changes.lead, [*free, changes.fame] if shape.fame else free, falls, place, weights)
    if shape.fame_too:
        found += _gain(changes.fame, free, falls, place, weights)
    return found


def _gain(lead: Array, free: list[Array], falls: list[Array], place: NDArray[np.intp], weights: Array) -> Array:
    """Return float64[resamples, edges], the gain in log-likelihood of a fall, after all that is free.

    `free` are float64[changes] each; `falls` float64[months, edges] each, and `place` the month of each change.
    """
    by_month = np.zeros((falls[0].shape[0], len(lead)))
    by_month[place, np.arange(len(lead))] = 1

    def sums(values: Array) -> Array:
        return (weights * values) @ by_month.T

    number = weights.sum(1)
    gram = np.stack([[weights @ (one * other) for other in free] for one in free]).transpose(2, 0, 1)
    inverse = np.linalg.pinv(gram, hermitian=True)
    moments = np.stack([weights @ (one * lead) for one in free], -1)
    explained = np.einsum("ri,rij,rj->r", moments, inverse, moments)
    rest = weights @ lead**2 - explained
    of_lead = sums(lead)
    of_free = [sums(one) for one in free]
    counts = sums(np.ones_like(lead))
    crossed = [np.stack([one @ fall for one in of_free], -1) for fall in falls]
    solved = [np.einsum("rij,rej->rei", inverse, one) for one in crossed]
    pull = [of_lead @ fall - np.einsum("rei,ri->re", one, moments) for fall, one in zip(falls, solved)]
    size = [
        [counts @ (fall * other) - np.einsum("rei,rei->re", one, two) for other, two in zip(falls, crossed)]
        for fall, one in zip(falls, solved)
    ]
    best = np.zeros_like(pull[0])
    for k, one in enumerate(pull):
        best = np.maximum(best, np.where((one > 0) & (size[k][k] > 1e-9), one**2 / np.maximum(size[k][k], 1e-9), 0))
    if len(falls) == 2:
        (aa, ab), (_, bb) = size
        det = aa * bb - ab**2
        is_whole = det > 1e-9 * np.maximum(aa * bb, 1e-9)
        det = np.where(is_whole, det, 1)
        step, ramp = (bb * pull[0] - ab * pull[1]) / det, (aa * pull[1] - ab * pull[0]) / det
        best = np.maximum(best, np.where(is_whole & (step > 0) & (ramp > 0), step * pull[0] + ramp * pull[1], 0))
    share = np.clip(best / np.maximum(rest, 1e-300)[:, None], 0, 1 - 1e-12)
    return -number[:, None] / 2 * np.log1p(-share)
