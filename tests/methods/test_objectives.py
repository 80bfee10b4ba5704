"""Objectives: which tokens of a row are inputs and labels, and how much each label weighs."""

from __future__ import annotations

import torch

from ticlm.core.row_columns import TOKENS, ColumnNeed
from ticlm.methods.objectives import Causal


def test_padding_of_a_causal_row_is_never_a_target_and_changes_no_other() -> None:
    rows = {TOKENS: torch.tensor([[5, 6, 7, 9, 9], [5, 6, 7, 8, 4]])}
    arguments, labels, weights = Causal(pad=9)(rows)
    assert arguments["input_ids"].tolist() == [[5, 6, 7, 9], [5, 6, 7, 8]]
    assert weights is not None and weights.tolist() == [[1, 1, 0, 0], [1, 1, 1, 1]]
    assert Causal(pad=9).targets(rows) == 6 and Causal(pad=9).columns == {TOKENS: ColumnNeed(1, 9)}
    plain = Causal()(rows)
    assert plain[2] is None and plain[1].tolist() == labels.tolist() and Causal().targets(rows) is None
