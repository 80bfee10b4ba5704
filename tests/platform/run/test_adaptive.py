"""Adaptive replay in a study: shares are known round by round, and a run that was cut off ends like an unbroken one."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from threading import Event

import pytest

from ticlm.core import paths
from ticlm.core.corpus import Corpus
from ticlm.core.errors import InputError, RunError
from ticlm.methods.objectives import Causal
from ticlm.platform.cli import plan_view
from ticlm.platform.run import driver
from ticlm.platform.run.open_shares import OpenShares
from ticlm.platform.study import plan
from ticlm.platform.study.chains import Chain
from ticlm.platform.study.identity import weights_of
from ticlm.platform.study.measured import SPLIT, tune_keys
from ticlm.platform.study.plan import Plan
from ticlm.platform.study.round import Measured, Round
from ticlm.platform.study.settings import Study
from ticlm.platform.study.tree import rounds

MakeStudy = Callable[..., Study]
METHODS = [
    {"base": base, "schedule": {"max_rate": 5e-3, "warmup_steps": 1}}
    for base in ("replay-adaptive", "replay-ado", "replay-spaced")
]


def weights(made: Plan) -> list[str]:
    return [weights_of(made.records[key]) for run in made.tree.runs for key in run.rounds.values()]


def test_shares_are_known_once_all_rounds_before_are_measured(toy_study: MakeStudy) -> None:
    study = toy_study(methods=METHODS[:1])

    def known(upto: int) -> list[bool]:
        def look(before: Mapping[str, Round], measured: Measured) -> dict[str, float] | None:
            place = list(before).index(measured.round)
            return {period: 2.0 + place for period in measured.periods} if place < upto else None

        return [spec.open for spec in rounds(study, recorded=look).rounds.values()]

    assert known(0) == known(1) == [False, False, True, True], "one old period needs no record"
    assert known(2) == [False, False, False, True]
    assert known(3) == [False, False, False, False]


def test_an_interrupted_run_ends_in_the_shares_and_the_bits_of_an_unbroken_one(
    toy_study: MakeStudy, toy_root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    study, other = toy_study(methods=METHODS, evaluate={"inside": {"every_steps": 2}}), toy_root.parent / "other"
    shutil.copytree(toy_root, other)
    made = plan.make(study, str(toy_root))
    assert len(made.open_rounds) == 6 and len(made.ids) == 2
    assert "6 rounds' shares are open until" in str(plan_view.describe(made)["notes"])
    driver.train(made)
    assert not made.open_rounds and not made.pending()
    later = plan.make(study, str(toy_root))
    assert later.ids == made.ids
    assert made.mid_round_records and later.mid_round_records == made.mid_round_records
    mixtures = {str(spec.segments) for spec in made.tree.rounds.values() if spec.period == "202304"}
    assert len(mixtures) >= 2, "rules differ"

    looks, again = list[int](), OpenShares.revealed

    def once(self: OpenShares, running: Sequence[Chain]) -> list[Chain]:
        looks.append(1)
        if len(looks) == 1:
            raise RunError("cut off")
        return again(self, running)

    monkeypatch.setattr(OpenShares, "revealed", once)
    with pytest.raises(RunError, match="cut off"):
        driver.train(plan.make(study, str(other)))
    shutil.copytree(toy_root / paths.CELLS, other / paths.CELLS, dirs_exist_ok=True)  # all losses, and not all rounds
    driver.train(resumed := plan.make(study, str(other)), stop=Event())
    assert resumed.ids == made.ids and weights(resumed) == weights(made)


def test_periods_without_tune_rows_are_not_measured(toy_template: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    corpus = Corpus.open(str(toy_template / "corpora/toy@1"))
    first, *others = corpus.periods
    splits = {name: split for name, split in corpus.periods[first].splits.items() if name != SPLIT}
    changed = corpus.periods | {first: corpus.periods[first].model_copy(update={"splits": splits})}
    monkeypatch.setattr(Corpus, "periods", changed)
    keys = tune_keys(Measured("a round", (first, *others), None), "0" * 64, corpus, Causal())
    assert [*keys] == others and others


def test_what_adaptive_replay_cannot_do_is_one_line_at_planning(
    toy_study: MakeStudy, toy_corpus: Callable[..., Corpus], tmp_path: Path
) -> None:
    toy_corpus(tmp_path / "corpora/toy@1", held_out=0)
    with pytest.raises(
        InputError, match=r"replay-adaptive\.replay: its shares .* tune rows, and corpus toy@1 has none"
    ):
        plan.make(toy_study(methods=METHODS[:1]), str(tmp_path))
