"""The further numbers of predictions, as columns."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pandas as pd


def numbers(predictions: pd.DataFrame, name: str) -> pd.Series:
    """Return one of the `numbers` of each prediction, float64; NaN where a prediction has none of this name."""
    import pandas as pd

    values = [held.get(name, math.nan) if isinstance(held, Mapping) else math.nan for held in predictions["numbers"]]
    return pd.Series(values, index=predictions.index, dtype="float64")
