"""A choice by predicted scores, and what a search refuses to predict."""

from pathlib import Path

import finished
import pytest
import searches
from toys import build_toy_corpus

from ticlm.core.errors import InputError
from ticlm.platform.study import plan
from ticlm.platform.tuning import extrapolate, selection, table
from ticlm.platform.tuning.selection import PeriodScores, TrialScores
from ticlm.platform.tuning.trial import scores

AR = TrialScores("ar", "AR", PeriodScores(3.67, 3.68, 3.77), forecast=PeriodScores(3.68, 3.64, 3.91))
COSINE = TrialScores("cosine", "cosine", PeriodScores(3.78, 3.70, 3.78), forecast=PeriodScores(3.74, 3.39, 3.87))


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


def test_trials_are_predicted_for_periods_that_are_not_there_yet(tmp_path: Path) -> None:
    """The law cannot tell the first two trials apart, so what it adds to their own scores is the same."""
    build_toy_corpus(tmp_path / "root/corpora/toy@1", periods=searches.MONTHS[:3], rows=64, held_out=8)
    study = searches.write_study(tmp_path, first_periods=3, methods=searches.METHODS[:2])
    wanted = searches.rates(study, "optimizer.weight_decay=0.0,0.9", choose_by="predicted")
    methods = [wanted.method({"optimizer.weight_decay": decay}) for decay in (0.0, 0.9)]
    methods += [wanted.method({"schedule.max_rate": rate}) for rate in (1e-3, 3e-3, 9e-3)]
    seen = plan.make(finished.run(wanted.seen(methods), tmp_path / "root").study, str(tmp_path / "root"))
    own, found = scores(seen), extrapolate.forecasts(wanted, methods, seen)
    assert set(found) == set(own) and all(one.comparable for one in found.values())
    added = [[a - b for a, b in zip(found[method.name].there, own[method.name].there)] for method in methods]
    assert added[0] == pytest.approx(added[1]) and added[0] != pytest.approx(added[2])
    with pytest.raises(InputError, match="a prediction needs 5 trials that end, and 2 did; without the option"):
        extrapolate.forecasts(wanted, methods[:2], seen)
