"""A choice by predicted scores, and what a search refuses to predict."""

from pathlib import Path

import pytest
import searches

from ticlm.platform.core.errors import InputError
from ticlm.platform.tuning import extrapolate, selection, table
from ticlm.platform.tuning.selection import PeriodScores, TrialScores

AR = TrialScores("ar", "AR", PeriodScores(3.67, 3.68, 3.77), predicted=PeriodScores(3.68, 3.64, 3.91))
COSINE = TrialScores("cosine", "cosine", PeriodScores(3.78, 3.70, 3.78), predicted=PeriodScores(3.74, 3.39, 3.87))


def test_predictions_choose_where_the_first_periods_choose_the_worst() -> None:
    trials = [AR, COSINE]
    assert selection.choose(trials, selection.on_tuning) is AR
    assert selection.choose(trials) is COSINE
    first, second = selection.describe(trials)[:2]
    assert "predicted for all periods" in first and "picks cosine" in first
    assert "by the first periods alone it would pick AR" in second
    assert table.as_json(trials)["chosen"] == "cosine"
    assert table.as_json(trials)["trials"][0]["predicted"]["in_distribution"] == 3.64


def test_a_search_of_too_few_trials_cannot_choose_by_predictions(tmp_path: Path) -> None:
    study = searches.write_study(tmp_path)
    few = searches.rates(study, "schedule.max_rate=1e-3,2e-3", choose_by="predicted")
    with pytest.raises(InputError, match="needs 5 trials or more, and this search has 2"):
        extrapolate.check(few)
    extrapolate.check(searches.rates(study, "schedule.max_rate=1e-3,2e-3"))
    many = searches.rates(study, "schedule.max_rate=1e-3,2e-3,3e-3,4e-3,5e-3", choose_by="predicted")
    extrapolate.check(many)


def test_how_a_search_chooses_is_no_part_of_its_folder(tmp_path: Path) -> None:
    study = searches.write_study(tmp_path)
    values = "schedule.max_rate=1e-3,2e-3,3e-3,4e-3,5e-3"
    one, two = (searches.rates(study, values, choose_by=by) for by in ("scores", "predicted"))
    assert one.folder(["a"], {}) == two.folder(["a"], {})
