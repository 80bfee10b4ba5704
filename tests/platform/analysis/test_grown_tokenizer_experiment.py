"""`benchmarks.experiments.grown_tokenizer`: its means over periods, and what doing nothing scores, worked by hand."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from benchmarks.experiments.grown_tokenizer import difference, means, never_updated

PERIODS = ("2022", "202301", "202302")
CELLS = pd.DataFrame(  # the value is 10 · checkpoint + period
    [(trained, evaluated, 10.0 * i + j) for i, trained in enumerate(PERIODS) for j, evaluated in enumerate(PERIODS)],
    columns=["trained", "evaluated", "value"],
)


def test_means_are_of_updated_checkpoints_by_evaluated_period() -> None:
    found = {name: values[0].tolist() for name, values in means([CELLS], "2022").items()}
    nan = pytest.approx(float("nan"), nan_ok=True)
    assert found["before"] == [0, 1, 2]
    assert found["Bwd."] == [15, 21, nan]  # the first period of checkpoints 1 and 2, the second of checkpoint 2
    assert found["ID"] == [nan, 11, 22]
    assert found["Fwd."] == [nan, nan, 12]


def test_doing_nothing_scores_on_each_period_what_the_first_checkpoint_does() -> None:
    found = means([never_updated(CELLS, "2022")], "2022")
    assert np.nanmean(found["Bwd."]) == 0.5 and np.nanmean(found["ID"]) == 1.5 and np.nanmean(found["Fwd."]) == 2


def test_a_difference_has_its_errors_over_periods_and_over_first_models() -> None:
    apart = np.array([[0.1, 0.3, np.nan], [0.3, 0.5, np.nan]])
    assert difference(apart) == "+0.3000 ± 0.1000 ± 0.1000"
    assert difference(apart[:1]) == "+0.2000 ± 0.1000 ± –"
