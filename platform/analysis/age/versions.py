"""The version clock: the month of which a model reads pages best, beside a reference model on the same texts.

A page has a version in each of several months, and later versions are easier for everybody. What a model loses more
than a reference on the same version does not depend on that, so the month in which this is least is the model's.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ticlm.core.errors import InputError
from ticlm.core.periods import span

if TYPE_CHECKING:
    import pandas as pd

RESAMPLES = 1000
LEVEL = 0.95
FULL = 0.5
"""A month counts if it has this share of the pages of the fullest one: the mean of a few pages is low by chance."""
NO_REFERENCE = (
    "--versions needs a reference model (--reference MODEL): newer versions of a page are easier for every model, so "
    "the loss of one model alone says nothing about its age"
)
Array = NDArray[np.float64]


@dataclass(frozen=True)
class VersionClock:
    """An estimate. Months are counted since the year 0."""

    month: int
    low: int
    high: int
    """Ends of the 95 % interval, over resamples of pages. With a dozen pages it is too narrow: it held 34 of 40 true
    months of made-up losses."""
    pages: int
    months: int
    left_out: int
    """Pages that are there in one month only."""


def version_table(
    predictions: pd.DataFrame, model: str, reference: str | None, pages: Mapping[str, str] | None = None
) -> pd.DataFrame:
    """Return page, month, model, reference (bits per byte) and nats (per token of the model) of each version of a page.

    `predictions` has what `document-perplexity` keeps of texts; `pages` names the page of each example, by default its
    id. Two versions in a month count by their mean. Raises InputError without a reference of another name, or if texts
    have no losses.
    """
    import pandas as pd

    if reference is None:
        raise InputError(NO_REFERENCE)
    if reference == model:
        raise InputError(_is_itself(model))
    found = {}
    for name in (model, reference):
        own = predictions[predictions["method"] == name]
        told = pd.DataFrame(list(own["numbers"]), index=own.index, columns=["nll", "tokens", "bytes"], dtype=float)
        told["page"] = [(pages or {}).get(one, one) for one in own["id"]]
        told["month"] = [_month(label) for label in own["label"]]
        told["bits"] = told["nll"] / math.log(2) / told["bytes"]
        told["nats"] = told["nll"] / told["tokens"]
        found[name] = told[told["bytes"] > 0].groupby(["page", "month"])[["bits", "nats"]].mean()
        if found[name].empty:
            raise InputError(f"{name}: no loss of a single text; score the versions with keeps_losses: true")
    both = found[model].join(found[reference][["bits"]].rename(columns={"bits": "reference"}), how="inner")
    return both.rename(columns={"bits": "model"}).reset_index()[["page", "month", "model", "reference", "nats"]]


def version_clock(table: pd.DataFrame, seed: int = 0) -> VersionClock:
    """Return the month in which a model is best beside the reference, with an interval over pages.

    Raises InputError if the two are one model, or if there is one month only, or one page only.
    """
    if "reference" not in table or table["reference"].isna().all():
        raise InputError(NO_REFERENCE)
    if np.array_equal(table["model"], table["reference"]):
        raise InputError(_is_itself("the model"))
    return _clock(table, (table["model"] - table["reference"]).to_numpy(np.float64), seed)


def raw_clock(table: pd.DataFrame, column: str = "model", seed: int = 0) -> VersionClock:
    """Return the month in which a model's own loss is least: the published estimator, to be shown failing.

    `column` is model (bits per byte) or nats (per token).
    """
    return _clock(table, table[column].to_numpy(np.float64), seed)


def _clock(table: pd.DataFrame, losses: Array, seed: int) -> VersionClock:
    versions = table.assign(loss=losses).pivot_table(index="page", columns="month", values="loss")
    several = versions[versions.notna().sum(axis=1) >= 2]
    counts = several.notna().sum()
    kept = several.loc[:, counts >= max(1.0, FULL * counts.max())]
    kept = kept[kept.notna().sum(axis=1) >= 2]
    if kept.shape[1] < 2:
        raise InputError("the versions are of one month only, or no page has two; give pages of two months or more")
    if len(kept) < 2:
        raise InputError(f"one page only has versions, {kept.index[0]}; an interval over pages needs two or more")
    values = kept.to_numpy(np.float64)
    values = values - np.nanmean(values, axis=1, keepdims=True)
    months = kept.columns.to_numpy(np.int64)
    pages = len(kept)
    drawn = np.random.default_rng(seed).multinomial(pages, np.full(pages, 1 / pages), RESAMPLES)
    best = months[_means(values, drawn).argmin(1)]
    low, high = np.quantile(best, [(1 - LEVEL) / 2, (1 + LEVEL) / 2], method="inverted_cdf")
    at = int(_means(values, np.ones((1, pages), np.int64))[0].argmin())
    return VersionClock(int(months[at]), int(low), int(high), pages, len(months), len(versions) - pages)


def _means(values: Array, drawn: NDArray[np.int64]) -> Array:
    """Return float64[resamples, months], the mean over the pages of each resample; inf where it has none."""
    counts = drawn @ np.isfinite(values).astype(np.int64)
    sums = drawn @ np.nan_to_num(values)
    return np.where(counts > 0, sums / np.maximum(counts, 1), np.inf)


def _month(label: str) -> int:
    """Return the months since the year 0 of the first month of a period."""
    start = span(label)[0]
    return start.year * 12 + start.month - 1


def _is_itself(name: str) -> str:
    return f"--reference is {name} itself, so nothing is left to compare; give a model of another, known age"
