"""The version clock on losses whose truth is known: newer text is easier for everybody, and a model has its month."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from ticlm.core.errors import InputError
from ticlm.platform.analysis.age.versions import raw_clock, version_clock, version_table

FIRST, MONTHS = 2020 * 12, 36


def made(known: int, pages: int = 12, noise: float = 0.01, seed: int = 0) -> pd.DataFrame:
    """Return losses of a model of the month `known` and of a reference as old as the first month."""
    rng = np.random.default_rng(seed)
    rows = []
    for page in range(pages):
        level = rng.normal(1, 0.3)
        for ago in range(MONTHS):
            easy = level - 0.02 * ago + rng.normal(0, 0.05)
            own = easy + 0.004 * abs(ago - known) + rng.normal(0, noise)
            rows.append((f"page {page}", FIRST + ago, own, easy + 0.003 * ago, own * 3))
    return pd.DataFrame(rows, columns=["page", "month", "model", "reference", "nats"])


def test_beside_a_reference_the_month_is_found_and_alone_it_is_the_newest() -> None:
    table = made(known=20)
    found = version_clock(table)
    assert abs(found.month - (FIRST + 20)) <= 3
    assert (found.pages, found.months, found.left_out) == (12, MONTHS, 0)
    assert found == version_clock(table)
    for column in ("model", "nats"):
        assert raw_clock(table, column).month >= FIRST + MONTHS - 5


def test_the_interval_covers_the_month_mostly() -> None:
    """With 12 pages it covered 34 of 40 true months, less than its 95 %: few pages are too sure."""
    found = [version_clock(made(known=15, seed=seed)) for seed in range(20)]
    assert sum(one.low <= FIRST + 15 <= one.high for one in found) >= 16


def test_pages_of_one_month_are_left_out() -> None:
    alone = pd.DataFrame([("alone", FIRST, 0.1, 9.0, 0.3)], columns=["page", "month", "model", "reference", "nats"])
    table = made(known=20)
    assert version_clock(pd.concat([table, alone])).left_out == 1
    assert version_clock(pd.concat([table, alone])).month == version_clock(table).month


def test_what_cannot_be_dated_is_refused() -> None:
    table = made(known=20, pages=3)
    with pytest.raises(InputError, match="--reference is the model itself"):
        version_clock(table.assign(reference=table["model"]))
    with pytest.raises(InputError, match="newer versions of a page are easier for every model"):
        version_clock(table.drop(columns="reference"))
    with pytest.raises(InputError, match="of one month only"):
        version_clock(table[table["month"] == FIRST])
    with pytest.raises(InputError, match="one page only has versions, page 0"):
        version_clock(table[table["page"] == "page 0"])


def kept(model: str, label: str, page: str, nll: float) -> dict[str, object]:
    return {"method": model, "label": label, "id": page, "numbers": {"nll": nll, "tokens": 10.0, "bytes": 40.0}}


def test_kept_losses_become_a_table() -> None:
    rows = [kept(model, label, "a", nll) for model, nll in (("m", 4.0), ("r", 8.0)) for label in ("202001", "202002")]
    table = version_table(pd.DataFrame([*rows, kept("m", "202003", "a", 4.0)]), "m", "r", {"a": "page"})
    assert list(table["page"]) == ["page", "page"]
    assert list(table["month"]) == [FIRST, FIRST + 1]
    assert np.allclose(table["reference"], 2 * table["model"])
    assert np.allclose(table["nats"], 0.4)
    with pytest.raises(InputError, match="needs a reference model"):
        version_table(pd.DataFrame(rows), "m", None)
    with pytest.raises(InputError, match="--reference is m itself"):
        version_table(pd.DataFrame(rows), "m", "m")
    with pytest.raises(InputError, match="other: no loss of a single text"):
        version_table(pd.DataFrame(rows), "m", "other")
