"""Differences between methods on the facts of TemporalWiki's tables, over the same facts."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from ticlm.platform.analysis.answers import LOSS, TOKENS, numbers
from ticlm.platform.analysis.metrics import is_loss
from ticlm.platform.analysis.month_rows import TableRow
from ticlm.platform.analysis.paired_bootstrap import NORMAL_QUANTILE, mean_interval, paired
from ticlm.platform.analysis.probe_scores import PER_PROBE
from ticlm.platform.papers.temporalwiki.pairs import Array, PairReader
from ticlm.platform.papers.temporalwiki.settings import CHANGED, UNCHANGED

COLUMNS = (
    *("study", "temporalwiki", "row", "against", "trained", "month", "part", "metric"),
    *("difference", "low", "high", "interval", "n"),
)
BOOTSTRAP, NORMAL = "paired bootstrap", "normal"
DRAWN = 1000
"""Most facts of which resamples are drawn; the normal interval of more is nearly the same, and takes no time."""


def pair_differences(reader: PairReader) -> list[dict[str, Any]]:
    """Return rows of COLUMNS: each row of a block less its first method, by month and part, over the facts that both
    were asked.

    Of a log-perplexity, `difference` is in nats per token, so that its exp is the ratio of the two perplexities; of a
    share, it is one of shares. `low` to `high` is the interval of 95 % over facts, made as `interval` says. Of several
    seeds, each fact counts with its mean.
    """
    first = next((row for row in reader.rows if not row.is_initial and not _is_oracle(reader, row)), None)
    if first is None:
        return []
    found = []
    for month in reader.months:
        for part, task in ((UNCHANGED, reader.asked.unchanged), (CHANGED, reader.asked.changed)):
            held = {row.name: _by_fact(reader, task, row, month) for row in reader.rows}
            base = held.get(first.name)
            for row in reader.rows:
                mine = held[row.name]
                if row.name == first.name or base is None or mine is None:
                    continue
                where = {"study": reader.study.name, "temporalwiki": reader.asked.name, "row": row.name}
                where |= {"against": first.name, "trained": row.checkpoints[month], "month": month}
                apart = _apart(mine, base, is_loss(reader.metric))
                if apart is not None:
                    found.append(where | {"part": part, "metric": reader.metric} | apart)
    return found


def ratio_interval(sums: Array, counts: Array) -> tuple[float, float, float, str]:
    """Return the ratio of two sums over units, the ends of its 95 % interval, and how this was made.

    Up to DRAWN units it is the percentile interval of a bootstrap over units, else that of the linearised ratio
    (Cochran, Sampling Techniques, 1977, section 6.4). The ends are NaN for fewer than two units, and where no unit
    differs from the ratio.
    """
    ratio = float(sums.sum() / counts.sum())
    residuals = sums - ratio * counts
    if len(sums) < 2 or np.allclose(residuals, 0, atol=1e-12):
        return ratio, math.nan, math.nan, ""
    if len(sums) <= DRAWN:
        _, low, high = paired(sums[:, np.newaxis], counts[:, np.newaxis])
        return ratio, float(low[0]), float(high[0]), BOOTSTRAP
    error = math.sqrt(len(sums) / (len(sums) - 1) * float((residuals**2).sum())) / float(counts.sum())
    return ratio, ratio - NORMAL_QUANTILE * error, ratio + NORMAL_QUANTILE * error, NORMAL


def _is_oracle(reader: PairReader, row: TableRow) -> bool:
    return any(one.is_oracle for one in reader.study.methods if one.name == row.method)


def _by_fact(reader: PairReader, task: str, row: TableRow, month: str) -> dict[str, tuple[float, float]] | None:
    """Return (score, weight) of each fact by its id, the means over the seeds; None if they were not kept. Of a
    log-perplexity, the score is a sum over the object's tokens, and the weight their number."""
    held = reader.predictions(task, row, month)
    if held is None:
        return None
    if is_loss(reader.metric):
        known = held.assign(score=numbers(held, LOSS), weight=numbers(held, TOKENS))
    elif reader.metric in PER_PROBE:
        known = held.assign(score=held[PER_PROBE[reader.metric]], weight=1.0)
    else:
        return None
    means = known.dropna(subset=["score", "weight"]).groupby("id", sort=False)[["score", "weight"]].mean()
    return {str(name): (float(score), float(weight)) for name, score, weight in _rows(means)}


def _rows(means: Any) -> Iterator[tuple[object, float, float]]:
    return zip(means.index, means["score"], means["weight"])


def _apart(
    mine: dict[str, tuple[float, float]], base: dict[str, tuple[float, float]], is_loss: bool
) -> dict[str, Any] | None:
    """Return the difference over the facts that both have, with equal weights in both; None if there are none."""
    both = [name for name in mine if name in base and mine[name][1] == base[name][1]]
    if not both:
        return None
    apart = np.array([mine[name][0] - base[name][0] for name in both])
    if is_loss:
        value, low, high, kind = ratio_interval(apart, np.array([mine[name][1] for name in both]))
    else:
        value, low, high = mean_interval(apart)
        kind = BOOTSTRAP if math.isfinite(low) else ""
    return {"difference": value, "low": low, "high": high, "interval": kind, "n": len(both)}
