"""Forgetting against a run's own best, worked by hand."""

import dataclasses

import numpy as np
import pytest
from reports import tic_lm

from ticlm.platform.analysis.forgetting import forgetting
from ticlm.platform.analysis.matrix import views
from ticlm.platform.analysis.summary import summarize

LOSS = np.array([[2.0, 3.0, 4.0], [2.5, 2.0, 3.0], [2.2, 2.6, 2.0]])
"""Three checkpoints on three periods: what the first knew of period 0 is partly lost, then partly regained."""


def test_a_loss_is_compared_with_the_best_of_the_same_run_up_to_then() -> None:
    lost = [[0.0, 0.0, 0.0], [0.5, 0.0, 0.0], [0.2, 0.6, 0.0]]
    np.testing.assert_allclose(forgetting(LOSS), lost)
    np.testing.assert_allclose(forgetting(np.stack([LOSS, LOSS + 1])), [lost, lost])
    np.testing.assert_allclose(forgetting(-LOSS, higher_is_better=True), lost)


def test_a_missing_cell_stays_missing_and_is_no_best() -> None:
    holed = LOSS.copy()
    holed[0, 0] = np.nan
    lost = forgetting(holed)
    assert np.isnan(lost[0, 0]) and lost[1, 0] == 0.0  # 2.5 is the first that is known
    assert lost[2, 0] == 0.0  # and 2.2 is better


@pytest.mark.parametrize("task", ["tic-cc@1", "wiki-qa@1"])
def test_the_summary_averages_it_over_the_past_of_all_seeds_and_not_for_oracles(task: str) -> None:
    result = dataclasses.replace(tic_lm(1, [task]), reference=None)
    (view,) = [one for one in views(result) if not one.source]
    row, oracle = (summarize([result]).set_index("method").loc[name] for name in ("cyclic-cosine", "oracle"))
    if task == "tic-cc@1":
        below = np.tril_indices(12, -1)
        expected = np.mean([forgetting(seed)[below].mean() for seed in view.methods[0].by_seed])
        row = row[row["source"] == ""].iloc[0]
        assert row["forgetting"] == pytest.approx(expected) and 0 < expected < 0.2
        assert oracle["forgetting"].isna().all()
    else:
        assert row["forgetting"] > 0 and np.isnan(oracle["forgetting"])
