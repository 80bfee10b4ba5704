"""The difference of each model from the first one, by period and over all of them, with paired bootstrap intervals."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ticlm.platform.analysis.conventions import Convention, Preset
from ticlm.platform.analysis.matrix import View
from ticlm.platform.analysis.paired_bootstrap import paired, stratified

if TYPE_CHECKING:
    import pandas as pd

COLUMNS = ("study", "task", "metric", "source", "period", "model", "against", "difference", "low", "high", "texts")
"""`period` is empty for the mean over periods, `texts` where the losses of single texts were not kept."""
PRESET = Preset(default=Convention(id_rule="exact"))
"""The rules of a report of models: the one checkpoint of each is of the whole span, so that every cell is ID, and the
mean over ID is that over all periods."""
Array = NDArray[np.float64]
Texts = dict[str, tuple[Array, Array]]
"""Period -> losses and sizes float64[texts, models], in the unit of the view and in what it is counted per."""


def model_differences(views: Sequence[View]) -> pd.DataFrame:
    """Return a frame of COLUMNS for the views of a study of models: `difference` is that of `model` minus `against`.

    The mean over periods gives each of them the same weight. An end is NaN where fewer than two texts, or periods if
    texts are not known, were scored.
    """
    import pandas as pd

    return pd.DataFrame([row for view in views for row in _of(view)], columns=list(COLUMNS))


def _of(view: View) -> Iterator[dict[str, Any]]:
    names = [one.method.name for one in view.methods]
    values = np.stack([one.values[0, 0] for one in view.methods])  # [models, periods]
    periods = [place for place in range(len(view.evaluated)) if not np.isnan(values[:, place]).any()]
    if len(names) < 2 or not periods:
        return
    texts = _texts(view, names)
    found = {}
    for place in periods:
        label = view.evaluated[place]
        if label in texts:
            found[label] = stratified([_sums(*texts[label])])
        else:
            alone = np.full(len(names) - 1, np.nan)
            found[label] = (values[1:, place] - values[0, place], alone, alone)
    labels = [view.evaluated[place] for place in periods]
    if all(label in texts for label in labels):
        found[""] = stratified([_sums(*texts[label]) for label in labels])
    else:
        apart = (values[1:, periods] - values[:1, periods]).T
        found[""] = paired(apart, np.ones_like(apart))
    for label, (whole, low, high) in found.items():
        counted = sum(len(texts[one][0]) for one in ([label] if label else labels) if one in texts)
        for place, model in enumerate(names[1:]):
            yield {
                "study": view.study.name,
                "task": view.task,
                "metric": view.metric.name,
                "source": view.source,
                "period": label,
                "model": model,
                "against": names[0],
                "difference": float(whole[place]),
                "low": float(low[place]),
                "high": float(high[place]),
                "texts": counted or None,
            }


def _texts(view: View, names: Sequence[str]) -> Texts:
    """Return the losses of single texts, where all models have them of the same texts."""
    kept = view.study.predictions
    if kept is None or not len(kept):
        return {}
    own = kept[kept["task"] == view.task]
    if view.source:
        own = own[own["text"] == view.source]  # where losses are kept, the text of an answer is the text's source
    found: Texts = {}
    is_bits = view.metric.name == "bits-per-byte"
    for label, rows in own.groupby("label", sort=False):
        by_model = [rows.loc[rows["method"] == name] for name in names]
        numbers = [list(one["numbers"]) for one in by_model]
        if len({tuple(one["id"]) for one in by_model}) > 1 or not all("nll" in one for of in numbers for one in of):
            continue
        losses = np.array([[one["nll"] for one in of] for of in numbers]).T / (math.log(2) if is_bits else 1)
        sizes = np.array([[one["bytes" if is_bits else "tokens"] for one in of] for of in numbers]).T
        known = (sizes > 0).all(1)
        if known.any() and (sizes == sizes[:, :1]).all():  # cut to some tokens, two tokenizers read other bytes
            found[str(label)] = losses[known], sizes[known]
    return found


def _sums(losses: Array, sizes: Array) -> tuple[Array, Array]:
    """Return the differences from the first model, and what they are counted per: float64[texts, models - 1].

    All models count the same bytes of a text, or with one tokenizer the same tokens.
    """
    return losses[:, 1:] - losses[:, :1], sizes[:, 1:]
