"""Means over the seeds of tuned copies."""

from __future__ import annotations

import pandas as pd
import pytest

from ticlm.platform.analysis.tuned_seeds import over_seeds


def test_scores_of_copies_are_averaged_apart_for_each_method_and_label() -> None:
    rows = [("a", "il-seed-0@1", 0.2), ("a", "il-seed-7@1", 0.4), ("b", "il-seed-0@1", 0.1), ("a", "other@1", 9.0)]
    frame = pd.DataFrame(rows, columns=["method", "task", "value"]).assign(source="invariant", n=5, stderr=0.1)
    found = over_seeds(frame).set_index("method")
    assert list(found["task"]) == ["il@1", "il@1"] and found["copies"].to_dict() == {"a": 2, "b": 1}
    assert found.loc["a", "value"] == pytest.approx(0.3) and found.loc["a", "spread"] == pytest.approx(0.02**0.5)
    assert found["spread"].isna().to_dict() == {"a": False, "b": True} and over_seeds(frame[3:]).empty
