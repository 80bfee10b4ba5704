"""What a study's file says in fewer words makes the same study as the words written out."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ticlm.core.errors import InputError
from ticlm.core.fingerprint import fingerprint
from ticlm.methods.method import Continual, OracleSeries
from ticlm.platform.study import plan
from ticlm.platform.study.settings import Study

MakeStudy = Callable[..., Study]
RATES = {"max_rate": 5e-3, "warmup_steps": 1}
APART = [{"base": "cyclic-cosine", "schedule": RATES}, {"base": "replay-half", "schedule": RATES}]


def cutoffs(study: Study) -> tuple[str, ...]:
    return next(m.cutoffs for m in study.methods if isinstance(m, OracleSeries))


def test_first_and_last_are_the_ends_of_the_study_with_the_same_ids(toy_root: Path, toy_study: MakeStudy) -> None:
    words, labels = (
        toy_study(methods=[*APART, {"base": "oracle", "cutoffs": ends}], evaluate={"checkpoints": ends})
        for ends in (["first", "last"], ["202301", "202304"])
    )
    assert words == labels
    assert plan.make(words, str(toy_root)).ids == plan.make(labels, str(toy_root)).ids != {}


@pytest.mark.parametrize(
    ("changes", "written", "found"),
    [
        ({"first_periods": 3}, ["first", "last"], ("202301", "202303")),  # never a period that the study may not see
        ({"first_periods": 1}, ["first", "last"], ("202301",)),
        ({}, ["202304", "last"], ("202304",)),
        ({}, ["last", "202302"], ("202304", "202302")),
    ],
)
def test_an_oracle_at_last_is_cut_at_the_last_period_that_the_study_sees(
    toy_study: MakeStudy, changes: dict[str, Any], written: list[str], found: tuple[str, ...]
) -> None:
    assert cutoffs(toy_study(methods=[*APART, {"base": "oracle", "cutoffs": written}], **changes)) == found


def test_a_label_that_is_given_twice_is_still_refused(toy_study: MakeStudy) -> None:
    with pytest.raises((InputError, ValueError), match="one model for 202302"):
        toy_study(methods=[{"base": "oracle", "cutoffs": ["first", "202302", "202302"]}])


def test_what_methods_share_stands_once_and_changes_no_id(toy_study: MakeStudy) -> None:
    oracle = {"base": "oracle", "cutoffs": ["202304"]}
    apart = toy_study(methods=[*APART, oracle])
    shared = toy_study(methods=["cyclic-cosine", "replay-half", oracle], each_method={"schedule": RATES})
    assert shared.methods == apart.methods and fingerprint(shared) == fingerprint(apart)
    assert Study.model_validate(shared.model_dump()) == shared  # as pages and searches write it


def test_a_method_says_itself_what_differs(toy_study: MakeStudy) -> None:
    own = [
        {"base": "cyclic-cosine", "schedule": {"max_rate": 1e-2}},
        {"base": "cyclic-cosine", "name": "flat", "schedule": {"kind": "constant", "max_rate": 1e-3}},
    ]
    one, flat = toy_study(methods=own, each_method={"schedule": {**RATES, "end_rate": 1e-4}}).methods
    assert isinstance(one, Continual) and isinstance(flat, Continual)
    assert one.schedule.model_dump()["max_rate"] == 1e-2 and one.schedule.model_dump()["warmup_steps"] == 1
    assert flat.schedule.kind == "constant"  # a part that says its kind takes nothing from the others


def test_a_key_that_no_method_shares_is_refused(toy_study: MakeStudy) -> None:
    with pytest.raises((InputError, ValueError), match=r"each_method\.shedule: methods share schedule, replay"):
        toy_study(methods=["cyclic-cosine"], each_method={"shedule": RATES})
    for wrong in (3, "{", ["schedule"]):
        with pytest.raises((InputError, ValueError), match=r"each_method: must be a mapping of schedule, replay"):
            toy_study(methods=["cyclic-cosine"], each_method=wrong)


def test_what_methods_share_may_be_a_text_of_json(toy_study: MakeStudy) -> None:
    shared = {"schedule": RATES}
    text, mapping = (toy_study(methods=["cyclic-cosine"], each_method=one) for one in (json.dumps(shared), shared))
    assert text == mapping != toy_study(methods=["cyclic-cosine"])
