"""Searches that cannot be, and what each trial of one reserves."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from searches import METHODS, MONTHS, RATES, rates

from ticlm.core.errors import InputError
from ticlm.core.settings import parse
from ticlm.methods.method import OracleSeries
from ticlm.platform.study.resources import Resources
from ticlm.platform.study.settings import Study
from ticlm.platform.tuning import resources as room
from ticlm.platform.tuning import search


@pytest.mark.parametrize(
    ("space", "values", "changes", "asked", "said"),
    [
        ("cyclic-cosine", ("schedule.nope=1,2",), {}, {}, "schedule.nope is no setting"),
        ("ewc", ("penalties.3.weight=1",), {}, {}, "penalties.3"),
        ("cyclic-cosine", ("schedule.max_rate=",), {}, {}, "no values"),
        ("nothing", ("schedule.max_rate=1",), {}, {}, "neither the study nor the catalogue has"),
        ("nothing", (), {}, {}, "no packaged space; packaged are: ewc"),
        ("cyclic-cosine", RATES, {}, {"algorithm": "optuna"}, "use --search grid or random"),
        ("joint", (), {}, {"algorithm": "grid"}, "use --search optuna or random"),
        ("cyclic-cosine", RATES, {}, {"algorithm": "guess"}, "--search: must be 'grid', 'random' or 'optuna'"),
        ("cyclic-cosine", RATES, {}, {"all_periods": "some"}, "--all-periods: must be"),
        ("cyclic-cosine", RATES, {}, {"trials": 0}, "--trials: must be"),
        ("cyclic-cosine", RATES, {"first_periods": 12}, {}, "first_periods is 12, but it has only 11"),
        ("cyclic-cosine", RATES, {"first_periods": 1, "methods.2.cutoffs": "[202301]"}, {}, "two periods or more"),
    ],
)
def test_a_search_that_cannot_be_is_one_line(
    study: Callable[..., str],
    space: str,
    values: tuple[str, ...],
    changes: Mapping[str, Any],
    asked: Mapping[str, Any],
    said: str,
) -> None:
    sets = [f"{name}={value}" for name, value in changes.items()]
    with pytest.raises(InputError) as caught:
        search.load(space, study(), sets, values, asked)
    assert said in str(caught.value) and "\n" not in str(caught.value)


def test_a_study_of_fewer_than_ten_periods_is_refused_unless_it_says_so(
    study: Callable[..., str],
) -> None:
    name = study()
    four = ["periods.last=202304", "methods.2.cutoffs=[202301]"]
    with pytest.raises(InputError, match="has 4 periods, fewer than the first 10 that tuning is to see"):
        search.load("cyclic-cosine", name, four, RATES, {})
    wanted = search.load("cyclic-cosine", name, ["first_periods=3", "methods.2.cutoffs=[202301]"], RATES, {})
    assert wanted.seen(()).timeline.labels == MONTHS[:3]


def test_a_choice_at_an_end_of_the_grid_is_told(study: Callable[..., str]) -> None:
    values = ("schedule.max_rate=4e-3,1e-3,2e-3", "schedule.kind=cosine", "replay={kind: none}")
    wanted = search.load("cyclic-cosine", study(), [], values, {})
    told = {point["schedule.max_rate"]: wanted.at_ends(wanted.space.label(point)) for point in wanted.space.points}
    assert told == {
        4e-3: ["schedule.max_rate 0.004 is the largest that was tried: larger ones may be better"],
        1e-3: ["schedule.max_rate 0.001 is the smallest that was tried: smaller ones may be better"],
        2e-3: [],
    }


def test_the_whole_study_has_the_oracle_of_its_own_last_period(study: Callable[..., str]) -> None:
    """`last` stands for the newest of the first periods in what is searched, and for the newest of all in the rest."""
    ends = [METHODS[0], {"base": "oracle", "cutoffs": ["first", "last"]}]
    name, sets = study(methods=ends, first_periods=3), ["evaluate.checkpoints=[last]"]
    wanted = search.load("cyclic-cosine", name, sets, RATES, {"reference": "oracle"})
    chosen = parse(Study, wanted.chosen({"schedule.max_rate": 1e-3}), "chosen")
    oracles = [
        next(m.labels for m in found.methods if isinstance(m, OracleSeries))
        for found in (wanted.seen(()), wanted.whole((wanted.base,)), chosen)
    ]
    assert oracles == [(MONTHS[2],), (MONTHS[0], MONTHS[-1]), (MONTHS[0], MONTHS[-1])]
    assert wanted.whole((wanted.base,)).evaluate.checkpoints == (MONTHS[-1],)


@pytest.mark.parametrize(
    ("asked", "count", "have", "gets"),
    [
        ({"workers": 1}, 2, {"CPU": 2}, {"CPU": 0.01}),
        ({"workers": 1, "trainer": "process"}, 2, {"CPU": 2}, {"CPU": 1.0}),
        ({"workers": 1, "trainer": "process"}, 2, {"CPU": 2, "GPU": 2}, {"CPU": 1.0, "GPU": 1.0}),
        ({"workers": 1}, 1, {"CPU": 8, "GPU": 1}, {"CPU": 0.01}),  # its one GPU trains; the CPU scores
        ({"workers": 2}, 3, {"CPU": 32, "GPU": 8}, {"CPU": 0.01, "GPU": 0.66}),
        ({"workers": (1, 4)}, 2, {"CPU": 32, "GPU": 8}, {"CPU": 0.01, "GPU": 1.0}),
        ({"workers": 3, "evaluator_gpus": 0.25}, 2, {"CPU": 32, "GPU": 8}, {"CPU": 0.01, "GPU": 0.25}),
        ({"workers": 2, "device": "cpu"}, 2, {"CPU": 32, "GPU": 8}, {"CPU": 0.01}),
        ({"workers": 4, "evaluator_gpus": 0.25}, 2, {"CPU": 32, "GPU": 8}, "evaluator_gpus: 0.25 .* but 0 are left"),
        ({"workers": 5}, 2, {"CPU": 32, "GPU": 8}, "need 10 GPUs; this Ray has 8"),
    ],
)
def test_a_trial_reserves_no_gpu_that_its_workers_need(
    asked: Mapping[str, Any], count: int, have: Mapping[str, float], gets: Mapping[str, float] | str
) -> None:
    resources = Resources(**asked)
    if isinstance(gets, str):
        with pytest.raises(InputError, match=gets):
            room.reserved(resources, count, have)
    else:
        assert room.reserved(resources, count, have) == gets


def test_models_are_made_in_one_thread_at_a_time(tmp_path: Path, year: Path, study: Callable[..., str]) -> None:
    """transformers swaps functions of its own meanwhile; two threads that overlap leave them swapped."""
    from concurrent.futures import ThreadPoolExecutor

    from ticlm.platform.models import build as model
    from ticlm.platform.models import folders

    seen = rates(study()).seen(())
    tiny = model.scratch(model.config(seen.model, 64), seen.objective, 0)
    tiny.save_pretrained(tmp_path / "tiny")  # type: ignore[operator]
    with ThreadPoolExecutor(2) as pool:
        assert len(list(pool.map(lambda _: folders.load(tmp_path / "tiny"), range(40)))) == 40
