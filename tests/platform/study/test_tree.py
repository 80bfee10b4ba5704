"""The tree of rounds: budgets against values worked by hand (golden.md 2), what is shared, and what changes what."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, Literal

import pytest

from ticlm.core.errors import FutureMonthError, InputError
from ticlm.core.fingerprint import fingerprint
from ticlm.core.mixture import Mixture, Source
from ticlm.core.settings import parse
from ticlm.methods.catalog import ORACLE_CUTOFFS
from ticlm.methods.method import Continual
from ticlm.methods.schedules import WarmupCosine
from ticlm.methods.seams import Adapter
from ticlm.methods.timeline import MethodTimeline, RoundRequest
from ticlm.platform.models.settings import PresetModel
from ticlm.platform.study import tree as module
from ticlm.platform.study.round import Round, SourceCursor
from ticlm.platform.study.settings import Study, load
from ticlm.platform.study.tree import Run, Tree, rounds

INITIAL = 111_837_286_400
THREE_BILLION: dict[str, Any] = {
    "name": "tic-cc-3b",
    "corpus": "tic-cc",
    "periods": {"only": "tic-cc"},
    "model": "3b",
    "batch_rows": 256,
    "length": 2048,
    "initial": {"budget": INITIAL},
    "continual_tokens": INITIAL,
    "methods": ["cyclic-cosine"],
}


PREPARED = {"name": "tuned", "prepare": {"steps": 3, "split": "tune"}}
ALL = ("cyclic-cosine", "replay-equal", "replay-half", "oracle")


@cache
def tic_cc(continual_tokens: int, *methods: str) -> Tree:
    """The tree of the paper's 3B study; `oracle` is always sized by 220B."""
    chosen = [{"base": name, "continual_tokens": INITIAL} if name == "oracle" else {"base": name} for name in methods]
    study = THREE_BILLION | {"continual_tokens": continual_tokens, "methods": chosen}
    return rounds(parse(Study, study, "tic-cc"))


def specs(tree: Tree, run: int = 0) -> dict[str, Round]:
    """The rounds that end each period of a run."""
    return {label: tree.rounds[key] for label, key in tree.runs[run].rounds.items()}


def run_of(tree: Tree, name: str, seed: int = 0) -> Run:
    return next(run for run in tree.runs if run.method.name == name and run.seed == seed)


# budgets of the paper


@pytest.mark.parametrize(
    ("continual_tokens", "steps", "month", "unspent", "sequences"),
    [
        (INITIAL, 1887, 989_331_456, 379_043, 483_072),
        (2 * INITIAL, 3775, 1_979_187_200, 233_798, 966_400),
        (3 * INITIAL, 5663, 2_969_042_944, 88_553, 1_449_728),
    ],
    ids=["220B", "3b_4x", "440B"],
)
def test_a_month_has_whole_steps_and_the_plan_knows_the_rest(
    continual_tokens: int, steps: int, month: int, unspent: int, sequences: int
) -> None:
    tree = tic_cc(continual_tokens, "cyclic-cosine")
    first, *later = specs(tree).values()
    assert (first.steps, first.tokens) == (213_312, 111_836_921_856)
    assert sum(first.draws().values()) == 54_607_872
    assert len(later) == 113
    assert {(r.steps, r.tokens, sum(r.draws().values())) for r in later} == {(steps, month, sequences)}
    key_of_first, *keys = tree.runs[0].rounds.values()
    assert tree.rounds[key_of_first].unspent == 364_544 and {tree.rounds[key].unspent for key in keys} == {unspent}


def test_steps_before_a_round_are_the_continual_ones_of_its_run() -> None:
    places = [spec.position for spec in specs(tic_cc(INITIAL, "cyclic-cosine")).values()]
    assert [place.steps_before for place in places] == [0, *(1887 * k for k in range(113))]
    assert [place.index for place in places] == [0, *range(113)]


ORACLES = {
    "201305": (111_837_286_400, 213_312),
    "201501": (121_734_391_391, 232_189),
    "201701": (140_538_890_874, 268_056),
    "201901": (164_291_942_853, 313_362),
    "202101": (188_044_994_831, 358_667),
    "202301": (208_828_915_313, 398_309),
    "202407": (223_674_572_800, 426_625),
}


def nominal(tree: Tree, key: str) -> int:
    """Tokens a round was given, the rest that makes no step included."""
    return tree.rounds[key].budget


@pytest.mark.parametrize("continual_tokens", [INITIAL, 3 * INITIAL], ids=["220B", "440B"])
def test_an_oracle_has_as_many_tokens_as_a_220b_run_by_its_cutoff(continual_tokens: int) -> None:
    """Sizing the Oracles by the 440B study's own budget is the likeliest mistake: 1.9111 T instead of 1.1590 T."""
    tree = tic_cc(continual_tokens, "cyclic-cosine", "oracle")
    keys = run_of(tree, "oracle").rounds
    assert {label: (nominal(tree, key), tree.rounds[key].steps) for label, key in keys.items()} == ORACLES
    assert sum(nominal(tree, key) for key in keys.values()) == pytest.approx(1_158_950_994_464, abs=len(ORACLES))
    assert sum(tree.rounds[key].steps for key in keys.values()) == 2_210_520
    run = sum(nominal(tree, key) for key in run_of(tree, "cyclic-cosine").rounds.values())
    ratio = {INITIAL: 5.1814, 3 * INITIAL: 2.5907}[continual_tokens]
    assert 1_158_950_994_464 / run == pytest.approx(ratio, abs=5e-5)


def test_an_oracle_takes_equal_tokens_of_every_month_up_to_its_cutoff_from_scratch() -> None:
    tree = tic_cc(INITIAL, "cyclic-cosine", "oracle")
    for label, key in run_of(tree, "oracle").rounds.items():
        spec = tree.rounds[key]
        shares = [share.tokens for share in spec.segments[0].mixture.shares]
        assert spec.parent is None and spec.sources[-1].period == label and max(shares) - min(shares) <= 1
        assert spec.recipe.schedule == tree.rounds[tree.runs[0].rounds["201305"]].recipe.schedule
    months = [len(tree.rounds[key].sources) for key in run_of(tree, "oracle").rounds.values()]
    assert months == [1, 11, 30, 54, 78, 99, 114]


def test_the_first_oracle_is_the_shared_first_round() -> None:
    tree = tic_cc(INITIAL, *ALL)
    assert len({run.rounds["201305"] for run in tree.runs}) == 1
    oracle = set(run_of(tree, "oracle").rounds.values())
    assert len(oracle) == 7 and len(oracle & set(run_of(tree, "replay-half").rounds.values())) == 1


# what methods share


def test_equal_and_half_share_the_second_period_and_part_at_the_third() -> None:
    tree = tic_cc(INITIAL, *ALL)
    equal, half, plain = (run_of(tree, name).rounds for name in ("replay-equal", "replay-half", "cyclic-cosine"))
    assert equal["201312"] == half["201312"] != plain["201312"]
    assert not set(list(equal.values())[2:]) & set(half.values())
    assert len(tree.rounds) == 1 + 1 + 2 * 112 + 113 + 6


def test_parents_stand_before_children(toy_study: Callable[..., Study]) -> None:
    tree = rounds(toy_study(evaluations=[PREPARED]))
    known: set[str | None] = {None}
    for key, spec in tree.rounds.items():
        assert spec.parent in known and key == fingerprint(spec)
        known.add(key)


def test_seeds_share_the_first_round_and_nothing_else(toy_study: Callable[..., Study]) -> None:
    tree = rounds(toy_study(methods=[{"base": "cyclic-cosine", "seeds": [0, 1, 2], "schedule": {"warmup_steps": 1}}]))
    assert [run.seed for run in tree.runs] == [0, 1, 2]
    assert len({run.rounds["202301"] for run in tree.runs}) == 1
    assert len(tree.rounds) == 1 + 3 * 3
    assert [spec.recipe.seed for spec in specs(tree, 2).values()] == [0, 2, 2, 2]


def test_the_seed_of_the_first_round_is_the_studys_own(toy_study: Callable[..., Study]) -> None:
    initial = {"budget": {"steps": 6}, "schedule": {"kind": "cosine", "warmup_steps": 2}, "seed": 5}
    tree = rounds(toy_study(initial=initial))
    assert specs(tree)["202301"].recipe.seed == 5 and specs(tree)["202302"].recipe.seed == 0
    oracle = specs(tree, 2)["202303"]
    assert oracle.recipe.seed == 5 and oracle.recipe.schedule == specs(tree)["202301"].recipe.schedule


# rows already drawn


def test_a_replayed_source_goes_on_where_its_chain_stopped(toy_study: Callable[..., Study]) -> None:
    tree = rounds(toy_study())
    first, second, third, fourth = specs(tree, 1).values()
    assert first.cursors == ()
    january, february, march = (Source(corpus="toy@1", period=label) for label in ("202301", "202302", "202303"))
    assert second.draws() == {january: 8, february: 8}
    assert second.cursors == (SourceCursor(source=january, seed=0, rows=24),)
    assert third.draws() == {january: 4, february: 4, march: 8}
    assert third.cursors == (
        SourceCursor(source=january, seed=0, rows=32),
        SourceCursor(source=february, seed=0, rows=8),
    )
    assert fourth.cursors[:2] == (
        SourceCursor(source=january, seed=0, rows=36),
        SourceCursor(source=february, seed=0, rows=12),
    )


def test_a_source_keeps_the_seed_of_the_round_that_first_drew_from_it(toy_study: Callable[..., Study]) -> None:
    """Else rows drawn in the first round would come again before the others have come once."""
    method = {"base": "replay-half", "seeds": [3], "schedule": {"warmup_steps": 1}}
    drawn = specs(rounds(toy_study(methods=[method])))["202303"].cursors
    assert [(d.source.period, d.seed) for d in drawn] == [("202301", 0), ("202302", 3)]


class Returning(Continual):
    """Leaves the first period alone for a round, then comes back to it."""

    kind: Literal["returning"] = "returning"  # type: ignore[assignment]

    def round_requests(self, horizon: MethodTimeline) -> Any:
        first, second, third, _ = horizon.sources.values()
        yield RoundRequest(period=first.period, start="scratch", mixtures=(Mixture.of({first: 6 * 64}),), initial=True)
        yield RoundRequest(period=second.period, start="previous", mixtures=(Mixture.of({second: 4 * 64}),))
        yield RoundRequest(period=third.period, start="previous", mixtures=(Mixture.of({first: 4 * 64}),))


def test_a_source_goes_on_even_after_a_round_without_it(toy_study: Callable[..., Study]) -> None:
    schedule = {"kind": "cosine", "warmup_steps": 1}
    method = parse(Returning, {"name": "returning", "schedule": schedule}, "method")
    last = specs(rounds(toy_study().model_copy(update={"methods": (method,)})))["202303"]
    assert last.cursors == (SourceCursor(source=last.sources[0], seed=0, rows=24),)


def test_a_round_from_scratch_has_drawn_nothing(toy_study: Callable[..., Study]) -> None:
    assert all(spec.cursors == () and spec.parent is None for spec in specs(rounds(toy_study()), 2).values())


# causality


class Peeking(Continual):
    """A wrong method: it reads the period after the one it trains on."""

    kind: Literal["peeking"] = "peeking"  # type: ignore[assignment]

    def round_requests(self, horizon: MethodTimeline) -> Any:
        labels = horizon.labels
        yield RoundRequest(
            period=labels[0], start="scratch", mixtures=(Mixture.of({horizon.sources[labels[1]]: 9999}),), initial=True
        )


def test_a_round_that_reads_a_later_period_is_refused_and_both_are_named(toy_study: Callable[..., Study]) -> None:
    study = toy_study().model_copy(update={"methods": (Peeking(name="peeking"),)})
    with pytest.raises(FutureMonthError) as caught:
        rounds(study)
    assert "at period 202301 would read period 202302" in str(caught.value)


def test_no_round_of_any_method_reads_a_later_period() -> None:
    tree = tic_cc(INITIAL, *ALL)
    assert all(source.period <= spec.period for spec in tree.rounds.values() for source in spec.sources)
    assert all(drawn.source.period <= spec.period for spec in tree.rounds.values() for drawn in spec.cursors)


# budgets that make no sense


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"continual_tokens": {"per_period": 63}}, "the budget of period 202302 is 63 tokens, too small for one step"),
        ({"continual_tokens": 100}, "the budget of period 202302 is 33 tokens"),
        ({"initial": {"budget": 63, "schedule": {"kind": "cosine", "warmup_steps": 0}}}, "period 202301 is 63 tokens"),
        ({"initial": {"budget": {"steps": 50}}}, "schedule of the round at period 202301: warmup_steps must be below"),
        ({"methods": ["cyclic-cosine"]}, "schedule of the round at period 202302: warmup_steps must be below the 4"),
        (
            {"initial": {"budget": {"epochs": 1}, "schedule": {"kind": "cosine", "warmup_steps": 0}}},
            "initial.budget is in epochs of 202301, which no corpus has yet",
        ),
    ],
)
def test_a_budget_that_makes_no_round_is_refused_in_one_line(
    toy_study: Callable[..., Study], changes: dict[str, Any], said: str
) -> None:
    with pytest.raises(InputError) as caught:
        rounds(toy_study(**changes))
    assert said in str(caught.value) and "\n" not in str(caught.value)


def test_a_budget_may_be_in_epochs_once_the_rows_are_counted(toy_study: Callable[..., Study]) -> None:
    initial = {"budget": {"epochs": 1.5}, "schedule": {"kind": "cosine", "warmup_steps": 0}}
    tree = rounds(toy_study(initial=initial), {"202301": 90, "202302": 5})
    assert specs(tree)["202301"].steps == 33 and specs(tree)["202301"].unspent == 3 * 16


def test_a_timeline_of_one_period_has_one_round(toy_study: Callable[..., Study]) -> None:
    one = {"initial": "202301", "step": "month", "last": "202301"}
    tree = rounds(toy_study(periods=one, continual_tokens=10**6, methods=[{"base": "cyclic-cosine"}]))
    assert len(tree.rounds) == 1


# one more month


def months(toy_study: Callable[..., Study], last: str, **changes: Any) -> Tree:
    return rounds(toy_study(periods={"initial": "202301", "step": "month", "last": last}, **changes))


@pytest.mark.parametrize("method", ["cyclic-cosine", "cyclic-cosine+ar", "replay-equal", "replay-half"])
def test_one_more_month_adds_one_round_to_each_chain_and_changes_none(
    toy_study: Callable[..., Study], method: str
) -> None:
    chosen = [{"base": method, "schedule": {"warmup_steps": 1}}]
    before, after = (months(toy_study, last, methods=chosen) for last in ("202304", "202305"))
    assert list(before.rounds.items()) == list(after.rounds.items())[:-1]
    assert after.rounds[after.runs[0].rounds["202305"]].parent == before.runs[0].rounds["202304"]


def test_a_total_that_is_split_over_all_months_changes_with_their_number(toy_study: Callable[..., Study]) -> None:
    """Which is why a study that is to grow has a budget per period."""
    before, after = (months(toy_study, last, continual_tokens=4 * 4 * 16 * 12) for last in ("202304", "202305"))
    assert set(before.rounds) & set(after.rounds) == {before.runs[0].rounds["202301"]}


# what reaches a round


def changed_rounds(toy_study: Callable[..., Study], **changes: Any) -> set[str]:
    """Periods of the first method's rounds that `changes` turns into others."""
    before, after = rounds(toy_study()).runs[0].rounds, rounds(toy_study(**changes)).runs[0].rounds
    return {label for label in before if before[label] != after[label]}


EVERY = {"202301", "202302", "202303", "202304"}


@pytest.mark.parametrize(
    "changes",
    [
        {"batch_rows": 2},
        {"length": 8},
        {"model": {"name": "tiny", "changes": {"hidden_size": 32}}},
        {"objective": {"kind": "seq2seq"}},
        {"loss": {"z_loss": 0}},
        {"loss": {"clip_norm": 2}},
        {"precision": {"compute": "bfloat16"}},
        {"precision": {"reduce": "bfloat16"}},
        {"initial": {"budget": {"steps": 7}, "schedule": {"kind": "cosine", "max_rate": 1e-2, "warmup_steps": 2}}},
        {"initial": {"budget": {"steps": 6}, "schedule": {"kind": "cosine", "max_rate": 2e-2, "warmup_steps": 2}}},
        {"corpus": "other"},
    ],
)
def test_what_reaches_the_weights_of_the_first_round_makes_other_rounds(
    toy_study: Callable[..., Study], changes: dict[str, Any]
) -> None:
    assert changed_rounds(toy_study, **changes) == EVERY


@pytest.mark.parametrize(
    "change",
    [
        {"optimizer": {"weight_decay": 0.1}},
        {"schedule": {"max_rate": 6e-3, "warmup_steps": 1}},
        {"seeds": [1]},
    ],
)
def test_what_a_method_is_made_of_makes_other_rounds_after_the_first(
    toy_study: Callable[..., Study], change: dict[str, Any]
) -> None:
    method = {"base": "cyclic-cosine", "schedule": {"max_rate": 5e-3, "warmup_steps": 1}} | change
    assert changed_rounds(toy_study, methods=[method]) == EVERY - {"202301"}


@pytest.mark.parametrize(
    "changes",
    [
        {"name": "renamed"},
        {"resources": {"workers": [2, 4], "device": "cpu", "micro_batch_rows": 1, "compile": True}},
        {"evaluate": {"checkpoints": ["202304"], "periods": ["202301"]}},
        {"evaluations": [{"name": "other", "version": 3}]},
        {"reference": "raw"},
        {"max_epochs": 100},
        {"methods": [{"base": "cyclic-cosine", "name": "renamed", "schedule": {"max_rate": 5e-3, "warmup_steps": 1}}]},
    ],
    ids=str,
)
def test_what_reaches_no_weights_leaves_every_round_as_it_was(
    toy_study: Callable[..., Study], changes: dict[str, Any]
) -> None:
    assert changed_rounds(toy_study, **changes) == set()


def test_the_tree_is_a_pure_function(toy_study: Callable[..., Study]) -> None:
    assert rounds(toy_study()) == rounds(toy_study())


# leaves


def test_a_task_that_prepares_adds_a_leaf_to_every_checkpoint_it_scores(toy_study: Callable[..., Study]) -> None:
    plain = rounds(toy_study())
    tree = rounds(toy_study(evaluations=[{}, PREPARED]))
    assert list(tree.rounds)[: len(plain.rounds)] == list(plain.rounds)
    leaves = {tree.scored(key, "tuned@1"): key for key in plain.rounds}
    assert set(leaves) == set(tree.rounds) - set(plain.rounds) and len(leaves) == len(plain.rounds)
    assert all(tree.scored(key, "perplexity@1") == key for key in plain.rounds)
    for leaf, parent in leaves.items():
        spec, above = tree.rounds[leaf], tree.rounds[parent]
        assert spec.parent == parent and spec.period == above.period and spec.steps == 3
        assert [(s.period, s.split) for s in spec.sources] == [(above.period, "tune")]
        assert sum(spec.draws().values()) == 3 * 4 and spec.cursors == ()
        assert spec.recipe.model == above.recipe.model and spec.recipe.schedule != above.recipe.schedule


def test_only_checkpoints_that_are_evaluated_have_leaves(toy_study: Callable[..., Study]) -> None:
    tree = rounds(toy_study(evaluations=[PREPARED], evaluate={"checkpoints": ["202301", "202304"]}))
    # the shared first round, the last one of two methods, and the Oracle that stands for 202304
    assert [tree.rounds[key].period for key, _ in tree.leaves] == ["202301", "202304", "202304", "202303"]


def test_a_preparation_too_short_for_its_schedule_is_refused(toy_study: Callable[..., Study]) -> None:
    short = {"name": "tuned", "prepare": {"steps": 3, "schedule": {"kind": "cosine", "warmup_steps": 3}}}
    with pytest.raises(InputError, match="what prepares for a task at period 202301: warmup_steps must be below the 3"):
        rounds(toy_study(evaluations=[short]))


def test_the_leaves_of_a_study_are_in_the_same_order_every_time(toy_study: Callable[..., Study]) -> None:
    """Sets of strings are in another order in every process."""
    tree = rounds(toy_study(evaluations=[PREPARED]))
    parents = [spec.parent for spec in tree.rounds.values() if spec.sources[0].split == "tune"]
    assert parents == [key for key, spec in tree.rounds.items() if spec.sources[0].split == "train"]


# studies that make no sense


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"evaluate": {"checkpoints": ["202305"]}}, "evaluate.checkpoints: 202305 is not in the timeline (202301 …"),
        ({"evaluate": {"periods": ["202212"]}}, "evaluate.periods: 202212 is not in the timeline"),
        ({"methods": [{"base": "oracle", "cutoffs": [202312]}]}, "methods.oracle.cutoffs: 202312 is not in the"),
        ({"methods": [{"base": "oracle", "cutoffs": []}]}, "an Oracle series needs cutoffs"),
        (
            {"methods": ["replay-halves"]},
            "no method 'replay-halves' in the catalogue (did you mean replay-half?); it has ",
        ),
        ({"methods": ["cyclic-cosine", "cyclic-cosine"]}, "cyclic-cosine is named twice"),
        ({"methods": []}, "methods"),
        ({"reference": "best"}, "reference must be raw or one of cyclic-cosine, replay-half, oracle, got 'best'"),
        ({"name": "Has Spaces"}, "name: "),
        ({"model": "7b"}, "'tiny-t5' or 'tiny-gpt2', got '7b'"),
        ({"continual_tokens": 0}, "continual_tokens"),
        ({"batch_rows": 0}, "batch_rows: must be greater than 0, got 0"),
        ({"resources": {"workers": [4, 2]}}, "workers must be a number or [min, max] with 0 < min <= max, got [4, 2]"),
        (
            {"resources": {"worker": 4}},
            "resources.worker: unknown key (did you mean workers?); allowed: cadence, ",
        ),
        ({"periods": {"initial": 202301}}, "give initial and last (or only)"),
        ({"resources": {"workers": [3, 2]}}, "resources.workers: workers must be a number or [min, max]"),
        ({"resources": {"workers": [0, 2]}}, "with 0 < min <= max, got [0, 2]"),
        ({"resources": {"workers": 0}}, "toy study: resources.workers: must be greater than 0, got 0"),
        (
            {"resources": {"workers": 5, "chains": 1}},
            "toy study: resources.workers: 5 workers, but a batch has only 4 rows",
        ),
        (
            {"resources": {"workers": [2, 5], "chains": 1}},
            "toy study: resources.workers: 5 workers, but a batch has only 4 rows",
        ),
        (
            {"resources": {"workers": 3, "micro_batch_rows": 2, "chains": 1}},
            "toy study: resources.workers: 3 workers, but a batch of 4 rows has only 2 micro-batches; lower "
            "resources.micro_batch_rows from 2 to 1, or workers",
        ),
        (
            {"methods": [{"base": "oracle", "cutoffs": ["202301", "202305"]}]},
            "toy study: methods.oracle.cutoffs: 202305 is not in the timeline (202301 … 202304)",
        ),
        (
            {"methods": [{"base": "replay-exp", "replay": {"group": 0}}]},
            "toy study: methods.0.replay.group: must be greater than 0, got 0",
        ),
        ({"methods": [{"base": "replay-half", "replay": {"alpha": 1.7}}]}, "alpha: must be less than or equal"),
        (
            {"methods": [{"base": "replay-half", "replay": {"alpah": 1}}]},
            "alpah: unknown key (did you mean alpha?); ",
        ),
        ({"methods": [{"base": "replay-half", "replay": {"buffer_tokens": 0}}]}, "buffer_tokens: must be gre"),
        (
            {"methods": [{"base": "replay-half", "replay": {"expired": ["202212"]}}]},
            "methods.replay-half.replay.expired: 202212 is not in the timeline",
        ),
        (
            {"methods": [{"base": "cyclic-cosine", "replay": {"kind": "none", "buffer_tokens": 64}}]},
            "replay none draws no old period: buffer_tokens, expire_after and expired have no meaning",
        ),
        (
            {"methods": [{"base": "joint", "replay": {"kind": "fixed"}}]},
            "joint: replay has no meaning in a joint round, which draws all periods at once",
        ),
        (
            {"methods": [{"base": "ewc", "penalties": [{"kind": "ewc"}, {"kind": "ewc", "weight": 3}]}]},
            "ewc: two penalties EWC have no meaning; give one with the summed weight",
        ),
        (
            {"methods": [{"base": "ewc", "penalties": [{"kind": "ewcc"}]}]},
            "methods.0.penalties.0: kind must be one of",
        ),
        ({"methods": [7]}, "methods.0: a method is a name of the catalogue, or a mapping of what it is made of, got 7"),
        ({"methods": [{"base": ["ewc"]}]}, "methods.0: no method ['ewc'] in the catalogue; it has cyclic-cosine, "),
        ({"initial": {"budget": 0}}, "0 takes an imported checkpoint as it is; model must be of kind folder"),
        (
            {"initial": {"budget": {"epoch": 1}}},
            "initial.budget.epoch: unknown key (did you mean epochs?); allowed: epochs, ",
        ),
        (
            {"continual_tokens": {"per_month": 9}},
            "per_month: unknown key; allowed: epochs, expected_rows, per_period, steps",
        ),
    ],
)
def test_a_study_that_makes_no_sense_is_refused_in_one_line(
    toy_study: Callable[..., Study], changes: dict[str, Any], said: str
) -> None:
    with pytest.raises(InputError) as caught:
        toy_study(**changes)
    message = str(caught.value)
    assert said in message and "\n" not in message
    assert "(top)" not in message and " more)" not in message


class Bias(Adapter):
    """An adapter that is nothing but one."""

    kind: Literal["bias"] = "bias"

    def add(self, module: Any, depth: int) -> None:
        raise AssertionError


def test_ewc_with_an_adapter_is_refused() -> None:
    """It would hold weights in place that are frozen already."""
    with pytest.raises(InputError) as caught:
        parse(Continual, {"name": "both", "penalties": [{"kind": "ewc"}], "adapter": Bias()}, "here")
    assert str(caught.value) == "here: both: EWC with an adapter has no meaning: the weights it would hold are frozen"
    lwf = parse(Continual, {"name": "both", "penalties": [{"kind": "lwf"}], "adapter": Bias()}, "here")
    assert lwf.adapter == Bias()


@pytest.mark.parametrize("method", ["ewc", "ewc-new-data", "lwf", "lwf-per-token"])
@pytest.mark.parametrize("as_of", ["outside", "202212"])
def test_a_penalty_on_a_start_from_outside_the_timeline_is_refused_in_one_line(
    toy_study: Callable[..., Study], method: str, as_of: str
) -> None:
    chosen = [{"base": method, "schedule": {"warmup_steps": 1}}]
    model = {"kind": "folder", "path": "nowhere", "as_of": as_of}
    with pytest.raises(InputError) as caught:
        rounds(toy_study(model=model, initial={"budget": 0}, methods=chosen))
    assert str(caught.value) == (
        f"penalties tie a round to the period before it, and the imported start (as_of {as_of}) is none of the "
        "timeline: give an as_of from 202301 on, or an initial.budget to train on 202301 first"
    )


def test_a_penalty_on_a_start_within_the_timeline_refers_to_its_period(toy_study: Callable[..., Study]) -> None:
    chosen = [{"base": "ewc", "schedule": {"warmup_steps": 1}}]
    model = {"kind": "folder", "path": "nowhere", "as_of": "202302"}
    tree = rounds(toy_study(model=model, initial={"budget": 0}, methods=chosen))
    found = {label: [s.period for s in spec.reads if s is not None] for label, spec in specs(tree).items()}
    assert found == {"202302": [], "202303": ["202302"], "202304": ["202303"]}


def test_the_oracle_cutoffs_of_the_catalogue_are_the_papers() -> None:
    assert tuple(ORACLES) == ORACLE_CUTOFFS


def test_rounds_opens_no_file(toy_study: Callable[..., Study], monkeypatch: pytest.MonkeyPatch) -> None:
    study = toy_study(corpus="s3://nowhere/at/all")

    def refuse(*_: Any, **__: Any) -> Any:
        raise AssertionError("rounds opened a file")

    monkeypatch.setattr("builtins.open", refuse)
    monkeypatch.setattr("fsspec.url_to_fs", refuse)
    assert len(module.rounds(study).rounds) == 8


# settings of a method that is given by its name


@pytest.mark.parametrize(
    ("assignment", "rate", "steps"),
    [
        ("methods.0.schedule.warmup_steps=3", 1e-4, 3),
        ("methods.0={base: cyclic-cosine, schedule: {max_rate: 2}}", 2, None),
    ],
)
def test_a_part_of_a_method_that_is_a_plain_name_can_be_set(assignment: str, rate: float, steps: int | None) -> None:
    (method,) = load("demo", ["methods=[cyclic-cosine]", assignment]).methods
    assert isinstance(method, Continual) and isinstance(method.schedule, WarmupCosine)
    assert method.name == "cyclic-cosine" and method.schedule.max_rate == rate
    assert steps is None or method.schedule.warmup_steps == steps


def test_a_part_of_a_model_that_is_a_plain_name_can_be_set() -> None:
    model = load("demo", ["model=tiny", "model.changes.hidden_size=32"]).model
    assert model == PresetModel(name="tiny", changes='{"hidden_size": 32}')
