"""What a replay buffer keeps of the past and what it throws away, row by row: read with the real reader."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ticlm.core.corpus import Corpus
from ticlm.core.errors import InputError
from ticlm.core.mixture import Source
from ticlm.methods.replay import EqualReplay, ExponentialReplay, FixedReplay, NoReplay
from ticlm.methods.seams import Replay
from ticlm.platform.study.plan import Plan, make
from ticlm.platform.study.round import Round, SourceCursor
from ticlm.platform.study.settings import Study
from ticlm.platform.study.tree import rounds
from ticlm.platform.train.loader import LoaderSpec, RankReader

Studies = Callable[..., Study]
LENGTH, BATCH, STEPS, ROWS = 16, 4, 4, 96
PERIODS = ("202301", "202302", "202303", "202304", "202305", "202306")
FAST = {"schedule": {"max_rate": 5e-3, "warmup_steps": 1}}


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory, toy_corpus: Callable[..., Corpus]) -> Path:
    folder = tmp_path_factory.mktemp("buffer")
    toy_corpus(folder / "corpora/toy@1", PERIODS, rows=ROWS)
    return folder


@dataclass(frozen=True)
class Seen:
    """A round, and by old period: its rows that are still there in the order of their draws, the rows it drew, and
    those that the chain had drawn before."""

    spec: Round
    kept: Mapping[str, list[int]]
    drawn: Mapping[str, Counter[int]]
    before: Mapping[str, Counter[int]]

    @property
    def old(self) -> list[str]:
        return [source.period for source in self.spec.sources if source.period != self.spec.period]


def watched(plan: Plan, uri: Path) -> Iterator[Seen]:
    """The rounds of the only run, through the reader."""
    specs = tuple(plan.tree.rounds[key] for key in plan.tree.runs[0].rounds.values())
    reader = RankReader(LoaderSpec(specs, {"toy@1": str(uri)}))
    before: dict[str, Counter[int]] = {label: Counter() for label in PERIODS}
    for number, spec in enumerate(specs):
        drawn: dict[str, Counter[int]] = {}
        for step in range(spec.steps):
            for source, rows in reader.rows(number, step).items():
                drawn.setdefault(source.period, Counter()).update(rows)
        order = reader._segment(spec, 0, spec.draws())
        kept = {}
        for k, source in enumerate(spec.draws()):
            window = order.windows[k]
            kept[source.period] = order.positions(k, np.arange(window[1] if window else ROWS)).tolist()
        yield Seen(spec, kept, drawn, {label: Counter(rows) for label, rows in before.items()})
        for label, found in drawn.items():
            before[label].update(found)


def buffered(toy_study: Studies, rows: int | None, kind: str = "equal", steps: int = STEPS, **changes: Any) -> Study:
    replay: dict[str, Any] = {"kind": kind} | ({} if rows is None else {"buffer_tokens": rows * LENGTH}) | changes
    return toy_study(
        periods={"initial": PERIODS[0], "step": "month", "last": PERIODS[-1]},
        methods=[{"base": "replay-equal", "replay": replay, **FAST}],
        continual_tokens={"per_period": steps * BATCH * LENGTH},
    )


# few rows kept, all of them, and more than there are; rounds that draw little of a period, and all of it twice
CASES = [(rows, steps) for rows in (5, 20, 50, 130, 300, 10_000) for steps in (2, 30, 110)]


@pytest.fixture(scope="module", params=CASES, ids=lambda case: f"{case[0]} rows, {case[1]} steps")
def run(request: pytest.FixtureRequest, root: Path, toy_study: Studies) -> tuple[int, list[Seen]]:
    """How many rows the buffer holds, and the rounds under it."""
    rows, steps = request.param
    plan = make(buffered(toy_study, rows, steps=steps), str(root))
    return rows, list(watched(plan, root / "corpora/toy@1"))


def test_each_old_period_keeps_its_part_of_the_buffer_and_no_row_twice(run: tuple[int, list[Seen]]) -> None:
    buffer, seen = run
    for one in seen:
        for label in one.old:
            assert len(one.kept[label]) == min(buffer // len(one.old), ROWS)
            assert len(set(one.kept[label])) == len(one.kept[label])
        assert sum(len(one.kept[label]) for label in one.old) <= buffer


def test_what_was_thrown_away_never_comes_back(run: tuple[int, list[Seen]]) -> None:
    _, seen = run
    for one, following in pairwise(seen):
        for label in one.old:
            assert set(following.kept[label]) <= set(one.kept[label])


def test_only_rows_that_are_kept_are_drawn(run: tuple[int, list[Seen]]) -> None:
    _, seen = run
    assert all(set(one.drawn[label]) <= set(one.kept[label]) for one in seen for label in one.old)


def test_rows_that_were_not_trained_on_come_first(run: tuple[int, list[Seen]]) -> None:
    _, seen = run
    for one in seen:
        for label in one.old:
            fresh = set(one.kept[label]) - set(one.before[label])
            drawn = one.drawn[label]
            assert len(fresh & set(drawn)) == min(len(fresh), drawn.total())


def test_rows_that_were_not_trained_on_are_kept_longest(run: tuple[int, list[Seen]]) -> None:
    _, seen = run
    for one, following in pairwise(seen):
        for label in one.old:
            had, left, known = set(one.kept[label]), set(following.kept[label]), set(following.before[label])
            assert not (had - left) - known or not left & known
    for one, following in pairwise(seen):  # and so it is when a period becomes old
        new, known = one.spec.period, set(following.before[one.spec.period])
        left = set(following.kept[new])
        assert left <= set(range(ROWS)) - known or set(range(ROWS)) - known <= left


def test_kept_rows_are_drawn_round_and_round(run: tuple[int, list[Seen]]) -> None:
    """No row comes twice more often than another, before all have come."""
    _, seen = run
    for one in seen:
        for label in one.old:
            counts = [one.drawn[label][row] for row in one.kept[label]]
            assert max(counts) - min(counts) <= 1


def test_a_buffer_that_holds_everything_changes_no_count_of_rows(root: Path, toy_study: Studies) -> None:
    """Its rounds are others, but what they draw of the past is exhausted before it repeats, as without it."""
    for rows in (None, 10_000):
        plan = make(buffered(toy_study, rows, steps=50), str(root))
        *_, last = watched(plan, root / "corpora/toy@1")
        for label in last.old:
            whole = last.before[label] + last.drawn[label]
            counts = [whole[row] for row in range(ROWS)]
            assert max(counts) - min(counts) <= 1


def cut(before: SourceCursor, rows: int, size: int = ROWS) -> SourceCursor:
    return before.cut(rows * LENGTH + LENGTH - 1, LENGTH, size)


def test_of_a_period_that_is_trained_on_for_the_first_time_as_an_old_one_the_first_rows_are_kept() -> None:
    source = Source(corpus="toy@1", period="202301")
    spec = cut(SourceCursor(source=source, seed=3, rows=0), rows=10)
    assert (spec.window, spec.rows) == ((0, 10), 0)


@pytest.mark.parametrize(
    ("drawn", "rows", "window", "at"),
    [
        (24, 10, (24, 10), 0),  # enough are left in the epoch
        (24, 72, (24, 72), 0),
        (24, 80, (16, 80), 8),  # it reaches back for 8 that were drawn
        (24, 500, (0, 96), 24),
        (96, 10, (96, 10), 0),  # a new epoch
        (190, 10, (182, 10), 8),
    ],
)
def test_a_window_begins_where_the_chain_stands_and_stays_in_its_epoch(
    drawn: int, rows: int, window: tuple[int, int], at: int
) -> None:
    source = Source(corpus="toy@1", period="202301")
    found = cut(SourceCursor(source=source, seed=3, rows=drawn), rows=rows)
    assert (found.window, found.rows, found.seed) == (window, at, 3)


@pytest.mark.parametrize(
    ("drawn", "rows", "window", "at"),
    [
        (5, 20, (24, 20), 5),
        (5, 15, (29, 15), 0),  # lost: the five that were drawn
        (5, 12, (32, 12), 0),  # and three that were not
        (15, 15, (29, 15), 10),
        (20, 15, (29, 15), 0),  # all were drawn once
        (33, 15, (29, 15), 8),  # the second time round
        (5, 30, (24, 20), 5),  # what was thrown away does not come back
    ],
)
def test_a_window_loses_the_rows_that_it_began_with(drawn: int, rows: int, window: tuple[int, int], at: int) -> None:
    source = Source(corpus="toy@1", period="202301")
    found = cut(SourceCursor(source=source, seed=3, rows=drawn, window=(24, 20)), rows=rows)
    assert (found.window, found.rows) == (window, at)


# expiry


def drawn_periods(study: Study) -> dict[str, list[str]]:
    """By period: the older ones its round draws from."""
    tree = rounds(study)
    specs = (tree.rounds[key] for key in tree.runs[0].rounds.values())
    return {s.period: [source.period for source in s.sources if source.period != s.period] for s in specs}


def test_a_period_expires_with_age(toy_study: Studies) -> None:
    found = drawn_periods(buffered(toy_study, None, expire_after=2))
    assert found == {label: list(PERIODS[max(0, k - 2) : k]) for k, label in enumerate(PERIODS)}


def test_a_period_that_has_expired_is_never_drawn_again(toy_study: Studies) -> None:
    found = drawn_periods(buffered(toy_study, None, expired=["202302", "202304"]))
    assert found == {
        label: [old for old in PERIODS[:k] if old not in ("202302", "202304")] for k, label in enumerate(PERIODS)
    }


ALL = [Source(corpus="c@1", period=f"{k:03d}") for k in range(120)]


@pytest.mark.parametrize("replay", [EqualReplay, FixedReplay, ExponentialReplay])
@pytest.mark.parametrize("months", [2, 5, 30, 114])
def test_what_is_left_of_the_past_is_shared_as_if_it_were_all(replay: type[Replay], months: int) -> None:
    """Expiry shortens what a rule sees, and the budget is spent in full all the same."""
    seen = ALL[:months]
    found = replay(expire_after=3, expired=("000", "020")).draw(seen, 10**9)
    left = [source for source in seen[:-1][-3:] if source.period not in ("000", "020")]
    assert found == replay().mixture([*left, seen[-1]], 10**9) and found.tokens == 10**9


def test_where_all_the_past_has_expired_the_new_period_has_the_whole_budget() -> None:
    found = FixedReplay(expired=("000", "001"), buffer_tokens=100).draw(ALL[:3], 1000)
    assert found == NoReplay().mixture(ALL[:3], 1000)


@pytest.mark.parametrize("replay", [EqualReplay, FixedReplay, ExponentialReplay])
def test_a_buffer_is_shared_by_the_old_periods_that_are_left(replay: type[Replay]) -> None:
    found = replay(buffer_tokens=1000, expire_after=7).draw(ALL[:30], 10**6)
    assert [share.kept for share in found.shares] == [1000 // 7] * 7 + [None]
    assert found.tokens == 10**6  # a buffer bounds what is kept, not how much is drawn of it


def test_buffer_and_expiry_together_throw_away_for_good(root: Path, toy_study: Studies) -> None:
    plan = make(buffered(toy_study, 40, expire_after=2), str(root))
    for one in watched(plan, root / "corpora/toy@1"):
        assert one.old == list(PERIODS[: PERIODS.index(one.spec.period)][-2:])
        assert {len(one.kept[label]) for label in one.old} <= {40, 20}


# what is told


def test_epochs_are_counted_of_what_is_kept(root: Path, toy_study: Studies) -> None:
    plan = make(buffered(toy_study, 10, steps=20), str(root))
    seen = {(plan.tree.rounds[key].period, source.period): epochs for key, source, epochs in plan.epochs()}
    assert seen["202301", "202301"] == 24 / 96
    assert seen["202302", "202301"] == 24 / 96 + 40 / 10  # half of 80 rows, out of ten
    assert seen["202303", "202301"] == pytest.approx(24 / 96 + 40 / 10 + (80 / 3) / 5, abs=1 / 5)


def bytes_of(plan: Plan, *labels: str) -> int:
    assert plan.corpus is not None
    return sum(file.bytes for label in labels for file in plan.corpus.split(label, "train").files)


def test_without_a_buffer_every_old_shard_must_be_kept(root: Path, toy_study: Studies) -> None:
    plan = make(buffered(toy_study, None), str(root))
    assert plan.kept(plan.tree.runs[0]) == (5, bytes_of(plan, *PERIODS[:-1]))


def test_expiry_bounds_the_shards_that_must_be_kept(root: Path, toy_study: Studies) -> None:
    plan = make(buffered(toy_study, None, expire_after=2), str(root))
    pairs = [bytes_of(plan, *pair) for pair in pairwise(PERIODS[:-1])]
    assert plan.kept(plan.tree.runs[0]) == (2, max(pairs))


def test_a_buffer_bounds_the_bytes_that_must_be_kept(root: Path, toy_study: Studies) -> None:
    whole = make(buffered(toy_study, None), str(root))
    plan = make(buffered(toy_study, 48), str(root))
    periods, found = plan.kept(plan.tree.runs[0])
    sizes = [bytes_of(whole, label) for label in PERIODS[:-1]]
    assert periods == 5 and found is not None
    assert min(sizes) / 2 <= found <= max(sizes) / 2 + 5  # 48 of 96 rows, of one period or of several


def test_a_buffer_of_more_than_there_is_keeps_what_there_is(root: Path, toy_study: Studies) -> None:
    kept = [(plan := make(buffered(toy_study, rows), str(root))).kept(plan.tree.runs[0]) for rows in (None, 10_000)]
    assert kept[0] == kept[1]


def test_without_a_corpus_periods_are_known_and_bytes_are_not(toy_study: Studies) -> None:
    plan = make(buffered(toy_study, 48), None)
    assert plan.kept(plan.tree.runs[0]) == (5, None)


# what makes no sense


def test_a_buffer_below_one_row_is_refused_in_one_line(toy_study: Studies) -> None:
    with pytest.raises(InputError) as caught:
        rounds(buffered(toy_study, None, buffer_tokens=79))
    said = "buffer_tokens leaves 15 tokens of toy@1/202301/train, less than one row of 16"
    assert str(caught.value) == said  # at the sixth period, 79 // 5


def test_a_buffer_of_one_row_for_each_period_is_enough(toy_study: Studies) -> None:
    tree = rounds(buffered(toy_study, 5))
    last = tree.rounds[list(tree.runs[0].rounds.values())[-1]]
    assert [d.window[1] for d in last.cursors if d.window] == [1] * 5


def test_another_buffer_makes_other_rounds_from_the_second_period_on(toy_study: Studies) -> None:
    def keys(rows: int | None) -> list[str]:
        return list(rounds(buffered(toy_study, rows)).runs[0].rounds.values())

    found = [keys(rows) for rows in (20, 21, None)]
    assert [len({run[k] for run in found}) for k in range(3)] == [1, 3, 3]
