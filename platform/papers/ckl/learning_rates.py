"""The trade-off of the learning rate: what is kept and what is gained at each rate (CKL, Table 7)."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pandas as pd

    from ticlm.platform.papers.ckl.study_fuar import FuarTables


def trade_off(found: FuarTables) -> pd.DataFrame:
    """Return a row for each method at its last checkpoint, by rate; methods keep their order where rates are equal.

    Columns: study, fuar, method, rate, one for each score at that checkpoint, and value, low, high of its FUAR.
    """
    last = found.rows.drop_duplicates(["study", "fuar", "method"], keep="last")
    keys = ["study", "fuar", "method", "trained"]
    scores = found.scores.drop_duplicates([*keys, "score"])
    wide = scores.pivot(index=keys, columns="score", values="score_after").reset_index()
    names = list(dict.fromkeys(scores["score"]))
    whole = last.merge(wide, on=keys, how="left").sort_values("rate", kind="stable")
    return whole[["study", "fuar", "method", "rate", *names, "value", "low", "high"]].reset_index(drop=True)
