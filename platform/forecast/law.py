"""The law: the loss of a model on a period, from the rounds that made the model.

Every round r replaces a part of what the weights remember, the more the hotter it is (heat h_r: the sum of its rates):

    K_r = (1 − g_r) K_{r−1} + g_r w_r,        g_r = 1 − exp(−c h_r),  and 1 from scratch

where w_r[s] is the share of its tokens from period s. What is remembered of texts like those of period j, and the loss:

    m_rj = Σ_s K_r[s] exp(−|t_s − t_j| / τ)
    L_rj = b_j − A ln(ε + m_rj) − B ln(1 + C Σ h) − D ln(tokens of the round from scratch) + E h_r

The sum is over the continual rounds so far; E is what a round that was too hot costs on every period. So distance,
replay shares, rates and tokens all matter through what they do to K, and forgetting is what later rounds replace. A
round starts from that of its parent, so a leaf is a round like others. An average with weights v_i remembers and has
trained Σ v_i K_i and Σ v_i Σ h; what the last round of each cost is taken for noise that is not shared, Σ v_i² E h_i.
That
the loss is linear in logarithms of shares and of training follows the laws of continual pre-training (arXiv 2505.07796)
and of forgetting (arXiv 2502.06042), which are about one change of domain; the memory K carries them over many rounds.
b_j is how hard the period is, the same for all methods.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ticlm.platform.analysis.transfer import Cells
from ticlm.platform.forecast.features import RunFacts, years

Array = NDArray[np.float64]
RIDGE = 1e-4
"""Added to the squared sizes of A, B, D and E, per run: it decides only what the data do not."""
PRIOR = 0.01
"""Nats that a parameter costs per factor of e from where the fit starts."""
MOST_STEPS = 60


@dataclass(frozen=True)
class TrainedRun:
    """A run and its values, raw, of which less is better: float64[checkpoint, evaluated], NaN where there is none."""

    facts: RunFacts
    checkpoints: tuple[str, ...]
    evaluated: tuple[str, ...]
    values: Array
    cells: Cells

    @property
    def kinds(self) -> tuple[NDArray[np.bool_], ...]:
        """Masks of the backward, in-distribution and forward cells that it has a value for."""
        known = self.cells.within(~np.isnan(self.values))
        return known.backward, known.in_distribution, known.forward

    @property
    def weights(self) -> Array:
        """Weights of its cells in a fit: each kind counts the same, however many cells it has."""
        out = np.zeros(self.values.shape)
        for mask in self.kinds:
            out[mask] = 1 / np.sqrt(mask.sum()) if mask.any() else 0.0
        return out


@dataclass(frozen=True)
class Law:
    """A fitted law. `rates` are c, τ (years), ε and C; `sizes` are A, B, D and E, in nats."""

    rates: tuple[float, float, float, float]
    sizes: tuple[float, float, float, float]
    base: Mapping[str, float]
    """b_j by evaluated period."""

    def values(self, facts: RunFacts, checkpoints: Sequence[str], evaluated: Sequence[str]) -> Array:
        """Return the predicted loss in nats, float64[checkpoint, evaluated]; NaN for a checkpoint that the run lacks.

        A period that the fit had no value of gets the mean of all b_j, so that only differences between runs are
        meant there.
        """
        usual = float(np.mean(list(self.base.values()))) if self.base else 0.0
        base = np.array([self.base.get(label, usual) for label in evaluated])
        layout = _Layout([facts], [tuple(checkpoints)], tuple(evaluated))
        out: Array = base + layout.terms(np.log(self.rates))[0] @ np.array(self.sizes)
        return out


def fit(runs: Sequence[TrainedRun]) -> Law:
    """Fit the law to runs that are scored on the same periods, by least squares over their cells (docs/report.md)."""
    from scipy.optimize import least_squares

    problem = _Problem(runs)
    start = problem.start
    found = least_squares(
        lambda rates: np.concatenate([problem.residuals(rates), PRIOR * (rates - start)]),
        start,
        bounds=(start - 7, start + 7),
        max_nfev=MOST_STEPS,
    )
    sizes, base = problem.solve(found.x)
    c, tau, epsilon, growth = np.exp(found.x).tolist()
    a, b, d, e = sizes.tolist()
    return Law((c, tau, epsilon, growth), (a, b, d, e), base)


class _Layout:
    """The facts of runs as arrays, padded to the same number of rounds."""

    def __init__(
        self, facts: Sequence[RunFacts], checkpoints: Sequence[Sequence[str]], evaluated: Sequence[str]
    ) -> None:
        periods = list(dict.fromkeys(period for run in facts for one in run.rounds for period in one.shares))
        place = {period: number for number, period in enumerate(periods)}
        shape = (len(facts), max(len(run.rounds) for run in facts))
        self.shares = np.zeros((*shape, len(periods)))
        self.heat, self.scratch, self.tokens = np.zeros(shape), np.zeros(shape, bool), np.zeros(shape)
        for number, run in enumerate(facts):
            for r, one in enumerate(run.rounds):
                for period, share in one.shares.items():
                    self.shares[number, r, place[period]] = share
                self.heat[number, r], self.scratch[number, r] = one.heat, one.from_scratch
                self.tokens[number, r] = np.log(max(one.tokens, 1)) if one.from_scratch else np.nan
        self.parents, self.averages = np.full(shape, -1), dict[int, Array]()
        for number, run in enumerate(facts):
            for r, one in enumerate(run.rounds):
                self.parents[number, r] = r - 1 if one.parent is None else one.parent
                for part, weight in one.average:
                    self.averages.setdefault(r, np.zeros(shape))[number, part] = weight
        self.apart = np.abs(np.subtract.outer([years(p) for p in periods], [years(e) for e in evaluated]))
        rows = [run.checkpoints for run in facts]
        self.rows = [[row.get(label) for label in labels] for row, labels in zip(rows, checkpoints)]

    def terms(self, rates: Array) -> list[Array]:
        """Return, for each run, what A, B, D and E are multiplied by: float64[checkpoint, evaluated, 4]."""
        c, tau, epsilon, growth = np.exp(rates)
        near = np.exp(-self.apart / tau)
        replaced = np.where(self.scratch, 1.0, -np.expm1(-c * self.heat))
        remembered, heat, tokens, last = np.zeros(self.shares.shape), *np.zeros((3, *self.heat.shape))
        runs = np.arange(len(self.heat))
        for r in range(self.heat.shape[1]):
            g, scratch, parents = replaced[:, r, None], self.scratch[:, r], (runs, self.parents[:, r])
            remembered[:, r] = (1 - g) * remembered[parents] + g * self.shares[:, r]
            heat[:, r] = np.where(scratch, 0.0, heat[parents] + self.heat[:, r])
            tokens[:, r] = np.where(scratch, self.tokens[:, r], tokens[parents])
            last[:, r] = np.where(scratch, 0.0, self.heat[:, r])
            if r in self.averages:
                parts = self.averages[r]
                made = parts.any(axis=1)
                remembered[made, r] = np.einsum("nr,nrp->np", parts, remembered)[made]
                for of, weights in ((heat, parts), (tokens, parts), (last, parts**2)):
                    of[made, r] = (weights * of).sum(axis=1)[made]
        much = np.log(epsilon + remembered @ near)
        along = [np.broadcast_to(of[..., None], much.shape) for of in (np.log1p(growth * heat), tokens, last)]
        every = np.stack([-much, -along[0], -along[1], along[2]], -1)
        empty = np.full(every.shape[2:], np.nan)
        return [
            np.stack([empty if row is None else every[number, row] for row in rows])
            for number, rows in enumerate(self.rows)
        ]


class _Problem:
    """The least squares of a fit. A, B, D, E and all b_j are linear, so they are solved for within every step."""

    def __init__(self, runs: Sequence[TrainedRun]) -> None:
        self.evaluated = runs[0].evaluated
        self.layout = _Layout([run.facts for run in runs], [run.checkpoints for run in runs], self.evaluated)
        self.weights = [run.weights for run in runs]
        self.values = [np.where(np.isnan(run.values), 0.0, run.values) for run in runs]
        self.runs = len(runs)
        heats = [one.heat for run in runs for one in run.facts.continual if one.heat] or [1.0]
        total = [sum(one.heat for one in run.facts.continual) for run in runs]
        times = [years(label) for label in self.evaluated]
        whole = max(times) - min(times) or 1.0
        self.start = np.log([0.5 / np.median(heats), whole / 10, 0.03, 1 / (np.median(total) or 1.0)])

    def residuals(self, rates: Array) -> Array:
        """Return the weighted differences between law and values, in the order of runs and cells."""
        terms, values, weights, _ = self._centred(rates)
        sizes = self._sizes(terms, values, weights)
        out: Array = ((terms @ sizes - values) * weights / np.sqrt(3)).ravel()
        return out

    def solve(self, rates: Array) -> tuple[Array, dict[str, float]]:
        """Return A, B, D and E, and the b_j of the periods that have values."""
        terms, values, weights, means = self._centred(rates)
        sizes = self._sizes(terms, values, weights)
        base = means[1] - means[0] @ sizes
        known: NDArray[np.bool_] = np.any(weights > 0, axis=0)
        return sizes, {label: b for label, b, has in zip(self.evaluated, base.tolist(), known.tolist()) if has}

    def _centred(self, rates: Array) -> tuple[Array, Array, Array, tuple[Array, Array]]:
        """Return terms [row, evaluated, 4] and values [row, evaluated] less their weighted means over the rows of each
        period, the weights, and these means. Rows are the checkpoints of all runs."""
        weights = np.concatenate(self.weights)
        terms = np.nan_to_num(np.concatenate(self.layout.terms(rates)))
        values = np.concatenate(self.values)
        squares: Array = weights**2
        whole = np.maximum(squares.sum(axis=0), 1e-12)
        mean_terms = (terms * squares[..., None]).sum(axis=0) / whole[:, None]
        mean_values = (values * squares).sum(axis=0) / whole
        return terms - mean_terms, values - mean_values, weights, (mean_terms, mean_values)

    def _sizes(self, terms: Array, values: Array, weights: Array) -> Array:
        from scipy.optimize import nnls

        rows = (terms * weights[..., None]).reshape(-1, terms.shape[-1])
        gram = rows.T @ rows + RIDGE * self.runs * np.eye(terms.shape[-1])
        root = np.linalg.cholesky(gram)
        out: Array = nnls(root.T, np.linalg.solve(root, rows.T @ (values * weights).ravel()))[0]
        return out
