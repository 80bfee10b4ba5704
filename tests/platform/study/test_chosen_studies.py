"""The packaged studies of replay of chosen rows: their rival, what they share with other studies, and equal FLOPs."""

from __future__ import annotations

import pytest

from ticlm.methods.method import Continual
from ticlm.methods.replay import ChosenReplay
from ticlm.platform.study.settings import Study, load
from ticlm.platform.study.tree import Run, Tree, rounds

STUDIES = {"headline-chosen": "headline", "monthly-chosen": "monthly"}
RULES = ("unlike", "novelty", "loss", "excess")


def runs_of(tree: Tree, name: str) -> list[Run]:
    return [run for run in tree.runs if run.method.name == name]


def steps_of(tree: Tree, run: Run) -> int:
    """Steps of a run's continual rounds."""
    return sum(tree.rounds[key].steps for key in run.keys if tree.rounds[key].parent is not None)


def scored_of(tree: Tree, run: Run) -> int:
    """Tokens that are scored to choose a run's rows."""
    return sum(tree.rounds[key].sampled_tokens for key in run.keys)


@pytest.mark.parametrize("name", STUDIES)
def test_the_rules_differ_from_plain_replay_by_their_rows_alone(name: str) -> None:
    plain, *others = load(name).methods
    assert [one.name for one in others] == [f"replay-chosen-{rule}" for rule in RULES] and plain.name == "replay-half"
    for one in others:
        assert isinstance(one, Continual) and isinstance(plain, Continual) and isinstance(one.replay, ChosenReplay)
        assert (one.schedule, one.seeds) == (plain.schedule, plain.seeds)
        assert (one.replay.alpha, one.replay.pool) == (0.5, 4)


@pytest.mark.parametrize(("name", "whole"), STUDIES.items())
def test_the_rounds_of_plain_replay_are_those_of_the_whole_study(name: str, whole: str) -> None:
    """The rate of replay ½ there is the rate here: if one moves, the other has to follow."""
    mine, theirs = (rounds(load(one)) for one in (name, whole))
    shared = set(mine.rounds) & set(theirs.rounds)
    plain = [run for run in runs_of(mine, "replay-half") if set(run.keys) <= shared]
    assert len(plain) == {"headline-chosen": len(runs_of(theirs, "replay-half")), "monthly-chosen": 1}[name]


@pytest.mark.parametrize("name", STUDIES)
def test_the_longer_rival_has_the_flops_of_choosing_by_loss(name: str) -> None:
    def same(study: Study) -> tuple[object, ...]:
        return study.periods, study.initial, study.evaluations, study.evaluate, study.corpus, study.reference

    ours, longer = load(name), load(f"{name}-longer")
    assert same(ours) == same(longer)
    (rival,), plain_rival = longer.methods, ours.methods[0]
    assert isinstance(rival, Continual) and isinstance(plain_rival, Continual)
    assert (rival.name, rival.seeds, rival.schedule) == ("replay-half", plain_rival.seeds, plain_rival.schedule)
    chosen, plain = rounds(ours), rounds(longer)
    run = runs_of(chosen, "replay-chosen-loss")[0]
    wanted = steps_of(chosen, run) * ours.batch_tokens + scored_of(chosen, run) / 3
    assert steps_of(plain, plain.runs[0]) * longer.batch_tokens == pytest.approx(wanted, rel=2e-3)


def test_the_longest_rival_has_the_flops_of_choosing_by_excess() -> None:
    """As the comment of the file says."""
    tree, batch = rounds(load("headline-chosen")), load("headline-chosen").batch_tokens
    run = runs_of(tree, "replay-chosen-excess")[0]
    wanted = steps_of(tree, run) * batch + scored_of(tree, run) / 3
    longest = rounds(load("headline-chosen-longer", ["continual_tokens.per_period=338_432"]))
    assert steps_of(longest, longest.runs[0]) * batch == pytest.approx(wanted, rel=2e-3)
