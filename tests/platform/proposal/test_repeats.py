"""Budgets are such that no model of a written study sees a text so often that plans warn of it."""

from __future__ import annotations

from dataclasses import replace
from datetime import date, timedelta
from pathlib import Path

import pytest

from ticlm.methods.method import OracleSeries
from ticlm.platform.cli.plan_notes import MANY_EPOCHS
from ticlm.platform.proposal import proposal
from ticlm.platform.proposal.columns import Roles
from ticlm.platform.proposal.date_formats import DateFormat
from ticlm.platform.proposal.inspection import Amount, Inspection
from ticlm.platform.proposal.periods import chosen
from ticlm.platform.proposal.proposal import Proposal
from ticlm.platform.proposal.repeats import _most
from ticlm.platform.proposal.speed import Pace
from ticlm.platform.study import settings as studies

PACE = Pace((0.002, 1e-8), (0.0005, 3e-9))
WORDS = ["some words of a text that a tokenizer can be learnt from"] * 20


def proposed(later: float, root: Path) -> Proposal:
    """The proposal for four years of text, the third of which has `later` times the text of the others."""
    first = date(2016, 1, 1)
    days = {
        first + timedelta(days=at): Amount(2, 1_000 * (later if 730 <= at < 1095 else 1), 100) for at in range(1461)
    }
    roles = Roles(("text", "date"), "text", "date", DateFormat(None), "", "")
    found = Inspection(("posts/*.jsonl",), 1, roles, days, read=3_000, sample=WORDS)
    return proposal.propose(
        found, chosen(days, date(2020, 6, 1), 8), 20, "posts", str(root), "ticlm init", lambda: PACE
    )


def test_the_time_is_that_of_the_budgets_whatever_changes_them(tmp_path: Path) -> None:
    sizes = proposed(1, tmp_path).sizes
    less = replace(sizes, initial=sizes.initial // 2)
    assert (less.seconds["training"] < sizes.seconds["training"], less.minutes < sizes.minutes) == (True, True)


def seen(made: Proposal, folder: Path) -> float:
    study = studies.load(str(proposal.write(made, folder, force=True)[-1]))
    most = _most(study, made.sizes)
    assert most is not None
    return most[0]


@pytest.mark.parametrize("later", [0.2, 1, 4, 30])
def test_no_text_is_seen_more_often_than_plans_allow(later: float, tmp_path: Path) -> None:
    assert seen(proposed(later, tmp_path), tmp_path) < MANY_EPOCHS


def test_an_oracle_that_would_see_a_small_period_too_often_has_fewer_tokens_or_is_left_out(tmp_path: Path) -> None:
    uneven, lopsided = (proposed(later, tmp_path) for later in (1, 4))
    assert 0 < uneven.sizes.oracle_tokens < uneven.sizes.initial + uneven.sizes.updates
    assert f"continual_tokens: {uneven.sizes.oracle_updates}" in uneven.study
    assert not lopsided.sizes.oracle
    assert "would see the smallest\n#   period" in lopsided.study
    assert not any(
        isinstance(one, OracleSeries)
        for one in studies.load(str(proposal.write(lopsided, tmp_path, force=True)[-1])).methods
    )
