"""Further corpora: which of their periods are drawn at which rounds, with how many tokens; worked out by hand."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from ticlm.core.errors import FutureMonthError, InputError
from ticlm.core.mixture import Source
from ticlm.methods.corpora import CorpusClock
from ticlm.platform.study.settings import Study
from ticlm.platform.study.tree import Tree, rounds

MakeStudy = Callable[..., Study]
CALENDAR = {"initial": "202301", "step": "month", "last": "202306"}
WIKI = {"corpus": "wiki@1", "share": 0.25, "periods": {"initial": "202301..202303", "step": "quarter"}}
DOCS = {"corpus": "docs@1", "share": 0.125, "periods": {"initial": "202201..202212", "step": "year"}}
Q1, Q2, YEAR = "wiki 202301-202303", "wiki 202304-202306", "docs 202201-202212"


def method(name: str, **changes: Any) -> dict[str, Any]:
    schedule = {} if name == "oracle" else {"schedule": {"max_rate": 5e-3, "warmup_steps": 1}}
    return {"base": name, **schedule, **changes}


@pytest.fixture
def laid_out(toy_study: MakeStudy) -> Callable[..., Tree]:
    def make(*methods: Any, corpora: Any = (WIKI, DOCS), **changes: Any) -> Tree:
        named = list(methods or (method("cyclic-cosine"),))
        return rounds(toy_study(**{"periods": CALENDAR, "corpora": list(corpora), "methods": named} | changes))

    return make


def drawn(tree: Tree, run: int = 0) -> dict[str, dict[str, int]]:
    """Tokens by source of each round of a run: `toy 202301`."""
    return {
        label: {
            f"{share.source.corpus.partition('@')[0]} {share.source.period}": share.tokens
            for segment in tree.rounds[key].segments
            for share in segment.mixture.shares
        }
        for label, key in tree.runs[run].rounds.items()
    }


def test_a_round_draws_of_each_corpus_the_newest_period_that_has_ended(laid_out: Callable[..., Tree]) -> None:
    """Of 384 tokens first and 256 later, wiki has a quarter and docs an eighth, once a period of theirs has ended."""
    assert drawn(laid_out()) == {
        "202301": {YEAR: 48, "toy 202301": 336},
        "202302": {YEAR: 32, "toy 202302": 224},
        "202303": {Q1: 64, YEAR: 32, "toy 202303": 160},
        "202304": {Q1: 64, YEAR: 32, "toy 202304": 160},
        "202305": {Q1: 64, YEAR: 32, "toy 202305": 160},
        "202306": {Q2: 64, YEAR: 32, "toy 202306": 160},
    }


def test_replay_goes_over_the_past_periods_of_each_corpus(laid_out: Callable[..., Tree]) -> None:
    found = drawn(laid_out(method("replay-half")))
    old = {f"toy 20230{month}": 16 for month in range(1, 6)}
    assert found["202306"] == {Q1: 32, Q2: 32, YEAR: 32, **old, "toy 202306": 80}
    assert found["202304"][Q1] == 64, "a quarter that goes on is its own new text, not past text"


def test_a_corpus_without_a_new_period_can_give_its_share_to_the_main_one(laid_out: Callable[..., Tree]) -> None:
    found = drawn(laid_out(method("replay-half"), corpora=[WIKI | {"without_new": "main"}]))
    assert [sum(tokens for source, tokens in round_.items() if "toy" in source) for round_ in found.values()] == [
        *(384, 256, 192),
        *(256, 256, 192),
    ]
    assert found["202306"] | {Q1: 32, Q2: 32} == found["202306"]


def test_an_oracle_and_a_joint_round_draw_of_each_corpus_what_continual_runs_draw(
    laid_out: Callable[..., Tree],
) -> None:
    tree = laid_out(method("cyclic-cosine"), method("oracle", cutoffs=["202306"]), method("joint"))
    continual, oracle, joint = (drawn(tree, run) for run in range(3))
    of = [
        {name: sum(n for r in run.values() for s, n in r.items() if s.startswith(name)) for name in ("toy", "wiki")}
        for run in (continual, oracle, {"202306": joint["202306"]})
    ]
    assert of[0] == of[1] == {"toy": 336 + 224 + 4 * 160, "wiki": 256}
    assert of[2] == {"toy": 224 + 4 * 160, "wiki": 256}
    assert oracle["202306"] == {Q1: 128, Q2: 128, YEAR: 208, **{f"toy 20230{month}": 200 for month in range(1, 7)}}
    assert joint["202306"][Q1] == 192 and joint["202306"][Q2] == 64


def test_periods_that_end_together_count_as_one(laid_out: Callable[..., Tree]) -> None:
    """A monthly corpus beside quarterly rounds: its three months share the new part, and then are past months each."""
    months = {"corpus": "wiki@1", "share": 0.5, "periods": {"initial": "202301", "step": "month"}}
    quarters = {"initial": "202301..202303", "step": "quarter", "last": "202306"}
    found = drawn(laid_out(method("replay-half"), corpora=[months], periods=quarters))
    first, second = found.values()
    assert first == {**dict.fromkeys([f"wiki 20230{month}" for month in (1, 2, 3)], 64), "toy 202301-202303": 192}
    past = {"wiki 202301": 22, "wiki 202302": 21, "wiki 202303": 21}
    new = {"wiki 202304": 22, "wiki 202305": 21, "wiki 202306": 21}
    assert second == {**past, **new, "toy 202301-202303": 64, "toy 202304-202306": 64}


def test_a_gap_between_the_months_of_a_study_hides_no_quarter(laid_out: Callable[..., Tree]) -> None:
    """Between 2013-05 and 2013-12 of TiC-CC, three quarters end, and the round of December takes all of them."""
    wiki = WIKI | {"periods": {"initial": "201301..201303", "step": "quarter"}}
    tree = laid_out(corpora=[wiki], periods={"only": ["201305", "201312"]})
    quarters = {"wiki 201304-201306": 22, "wiki 201307-201309": 21, "wiki 201310-201312": 21}
    assert drawn(tree)["201312"] == {**quarters, "toy 201312": 192}


def test_rules_of_replay_hold_over_all_corpora(laid_out: Callable[..., Tree]) -> None:
    """The buffer is shared by the old periods of all corpora; each corpus counts its own periods to expiry."""
    replay = {"kind": "fixed", "alpha": 0.5, "buffer_tokens": 96}
    last = list(laid_out(method("replay-half", replay=replay)).rounds.values())[-1]
    kept = {cursor.source.period: cursor.window[1] for cursor in last.cursors if cursor.window is not None}
    old = ["202301-202303", *(f"20230{month}" for month in range(1, 6))]
    assert kept == dict.fromkeys(old, 1), "rows of 16 tokens"
    found = drawn(laid_out(method("replay-half", replay={"kind": "fixed", "expire_after": 1})))
    assert found["202306"] == {Q1: 32, Q2: 32, YEAR: 32, "toy 202305": 80, "toy 202306": 80}


def test_a_study_cut_at_its_first_periods_has_the_same_rounds(laid_out: Callable[..., Tree]) -> None:
    whole, first = laid_out(method("replay-half")), laid_out(method("replay-half"), first_periods=4)
    assert list(first.rounds) == list(whole.rounds)[:4]


def test_new_periods_of_all_corpora_count_as_new_text(laid_out: Callable[..., Tree]) -> None:
    """16 rows a round: half of what each corpus gives is new once it has a past; docs have none."""
    specs = list(laid_out(method("replay-half")).rounds.values())
    assert [spec.new_and_old_rows for spec in specs[1:]] == [(9, 7), (11, 5), (11, 5), (11, 5), (9, 7)]
    months = WIKI | {"periods": {"initial": "202301", "step": "month"}}
    spec = list(laid_out(method("replay-half", replay={"kind": "first"}), corpora=[months]).rounds.values())[-1]
    assert spec.own is None, "a month of another corpus is not the round's own period"


def test_what_ends_later_is_refused_by_name(laid_out: Callable[..., Tree], monkeypatch: pytest.MonkeyPatch) -> None:
    future = Source(corpus="wiki@1", period="202301-202303")
    monkeypatch.setattr(CorpusClock, "current", lambda self, label: (future,))
    with pytest.raises(FutureMonthError, match="a round at period 202301 would read period 202301-202303"):
        laid_out(corpora=[WIKI])


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"corpora": [WIKI | {"share": 0.9}, DOCS]}, "corpora: their shares are 1.025 together, and leave nothing for"),
        ({"corpora": [WIKI, WIKI | {"corpus": "else/wiki@1"}]}, "corpora: wiki@1 is there twice"),
        ({"corpora": [WIKI | {"corpus": "toy"}]}, "corpora: toy@1 is there twice (corpus: toy counts as one)"),
        (
            {"corpora": [WIKI | {"periods": {"initial": "202306..202308", "step": "quarter"}}]},
            "corpora.wiki@1.periods: none ends by the end of the study's last period 202306",
        ),
        ({"corpora": [WIKI | {"periods": {}}]}, "corpora.wiki@1.periods: give initial (or only)"),
        ({"methods": [method("mix-review")]}, "methods.mix-review: replay mix-review knows no past of further corpora"),
        ({"methods": [method("replay-self")]}, "methods.replay-self: replay self knows no past of further corpora"),
        ({"methods": [method("replay-spaced")]}, "methods.replay-spaced: replay spaced knows no past"),
        ({"methods": [method("replay-chosen-unlike")]}, "methods.replay-chosen-unlike: replay chosen knows no past"),
    ],
)
def test_what_makes_no_sense_is_one_line(toy_study: MakeStudy, changes: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError) as caught:
        toy_study(**{"periods": CALENDAR, "corpora": [WIKI], "methods": [method("cyclic-cosine")]} | changes)
    assert said in str(caught.value) and "\n" not in str(caught.value)
