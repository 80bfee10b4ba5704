"""Replay of chosen rows: choices in the tree and in ids, the rows against a slow reference, runs to their ends."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from ticlm.core import paths
from ticlm.core.corpus import Corpus
from ticlm.core.errors import InputError
from ticlm.core.store import Store
from ticlm.platform.cli import plan_costs
from ticlm.platform.models import folders
from ticlm.platform.run import check, driver
from ticlm.platform.study.costs import Machine
from ticlm.platform.study.identity import weights_of
from ticlm.platform.study.plan import Plan, make
from ticlm.platform.study.round import sampled_source
from ticlm.platform.study.settings import Study
from ticlm.platform.study.stored_rounds import published
from ticlm.platform.study.tree import Run, rounds
from ticlm.platform.study.work import work_of
from ticlm.platform.train import sample as module
from ticlm.platform.train.loader import LoaderSpec, RankReader

MakeStudy = Callable[..., Study]
MakeCorpus = Callable[..., Corpus]
PERIODS = ("202301", "202302", "202303")
FAST = {"max_rate": 5e-3, "warmup_steps": 1}
RULES = ("unlike", "novelty", "loss", "excess")
LENGTH, POOL, NGRAM = 16, 3, 2


def chosen(rule: str, **changes: Any) -> dict[str, Any]:
    replay = {"pool": POOL, "ngram": NGRAM, **changes}
    return {"base": f"replay-chosen-{rule}", "schedule": FAST, "replay": replay}


def study_of(toy_study: MakeStudy, *methods: Any, **changes: Any) -> Study:
    calendar = {"initial": PERIODS[0], "step": "month", "last": PERIODS[-1]}
    return toy_study(**{"periods": calendar, "methods": list(methods)} | changes)


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory, toy_corpus: MakeCorpus, toy_study: MakeStudy) -> Plan:
    """Plain replay and the four rules on a toy corpus of three periods, trained to their ends in this process."""
    root = tmp_path_factory.mktemp("chosen")
    toy_corpus(root / "corpora/toy@1", PERIODS)
    study = study_of(toy_study, {"base": "replay-half", "schedule": FAST}, *map(chosen, RULES))
    driver.train(make(study, str(root)))
    return make(study, str(root))


def run_of(plan: Plan, rule: str) -> Run:
    return next(run for run in plan.tree.runs if run.method.name == f"replay-chosen-{rule}")


def rows_of(plan: Plan, key: str, label: str) -> np.ndarray:
    """The rows of a period that a finished choice published."""
    assert plan.store is not None
    place = paths.sampled_rows(paths.round_folder(plan.ids[key]), plan.records[key].attempt)
    corpus = Corpus.open(plan.store.uri(place), PERIODS[-1])
    return np.concatenate([block["tokens"] for block in corpus.rows(label, "train").all(100)])


# the tree and its ids


def test_periods_keep_the_shares_that_they_have_under_plain_replay(toy_study: MakeStudy) -> None:
    tree = rounds(study_of(toy_study, {"base": "replay-half", "schedule": FAST}, *map(chosen, RULES)))
    plain, *others = tree.runs
    for run in others:
        assert list(run.samples) == list(PERIODS[1:])
        for label, key in run.samples.items():
            spec, choice, like = tree.rounds[run.rounds[label]], tree.rounds[key], tree.rounds[plain.rounds[label]]
            assert [*spec.draws().values()] == [*like.draws().values()] and spec.steps == like.steps
            assert [one.period for one in spec.sources] == [one.period for one in like.sources]
            assert choice.chosen is not None and sum(choice.chosen.kept) == like.old_rows
            assert choice.chosen.looked == tuple(POOL * kept for kept in choice.chosen.kept)
            assert choice.parent == spec.parent and set(spec.needs) == {spec.parent, key}
            assert choice.new_rows == choice.old_rows == choice.tokens == 0


def test_what_is_looked_at_is_what_plain_replay_would_draw_next(toy_study: MakeStudy) -> None:
    tree = rounds(study_of(toy_study, chosen("unlike")))
    (run,) = tree.runs
    second, third = (tree.rounds[key] for key in run.samples.values())
    (first,) = second.pools
    drawn = {cursor.source: cursor.rows for cursor in second.cursors}[first]
    assert drawn == tree.rounds[run.rounds[PERIODS[0]]].draws()[first]
    assert {cursor.source: cursor.rows for cursor in third.cursors}[first] == drawn + second.pools[first]


def test_no_more_rows_are_looked_at_than_there_are(toy_study: MakeStudy) -> None:
    sizes = dict.fromkeys(PERIODS, 20)
    for pool, kept, looked in ((3, (4, 4), (12, 12)), (6, (4, 4), (20, 20))):
        tree = rounds(study_of(toy_study, chosen("unlike", pool=pool)), sizes)
        last = tree.rounds[tree.runs[0].samples[PERIODS[-1]]].chosen
        assert last is not None and (last.kept, last.looked) == (kept, looked)
    tree = rounds(study_of(toy_study, chosen("unlike")), dict.fromkeys(PERIODS, 3))
    last = tree.rounds[tree.runs[0].samples[PERIODS[-1]]].chosen
    assert last is not None and last.looked == last.kept == (4, 4), "all there is, again and again"


def test_a_buffer_is_chosen_from_and_what_has_expired_is_not(toy_study: MakeStudy) -> None:
    sizes = dict.fromkeys(PERIODS, 96)
    tree = rounds(study_of(toy_study, chosen("unlike", buffer_tokens=20 * LENGTH)), sizes)
    choice = tree.rounds[tree.runs[0].samples[PERIODS[-1]]]
    assert [cursor.window is not None and cursor.window[1] for cursor in choice.cursors] == [10, 10, False]
    assert choice.chosen is not None and choice.chosen.looked == (10, 10)
    tree = rounds(study_of(toy_study, chosen("loss", expire_after=1)), sizes)
    choice = tree.rounds[tree.runs[0].samples[PERIODS[-1]]]
    assert [source.period for source in choice.pools] == [PERIODS[1]]


def test_ids_are_known_before_anything_is_chosen_and_follow_the_settings(
    tmp_path: Path, toy_corpus: MakeCorpus, toy_study: MakeStudy
) -> None:
    toy_corpus(tmp_path / "corpora/toy@1", PERIODS)

    def ids(method: dict[str, Any]) -> list[str]:
        plan = make(study_of(toy_study, method), str(tmp_path))
        return [plan.ids[key] for key in plan.tree.rounds]

    usual, loss = ids(chosen("unlike")), ids(chosen("loss"))
    assert len(usual) == 5
    for other in (loss, ids(chosen("novelty")), ids(chosen("unlike", ngram=3)), ids(chosen("unlike", pool=2))):
        assert other[0] == usual[0] and not set(usual[1:]) & set(other)
    assert ids(chosen("loss", ngram=3)) == loss, "a loss has no n-grams"
    assert ids(chosen("unlike", rows_at_once=3)) == usual, "no model reads the rows"
    assert not set(ids(chosen("loss", rows_at_once=3))[1:]) & set(loss), "sums of another shape round otherwise"


@pytest.mark.parametrize(
    ("method", "changes", "told"),
    [
        (chosen("loss"), {"model": "tiny-t5", "objective": {"kind": "seq2seq"}}, "trains an encoder–decoder"),
        (chosen("unlike", ngram=18), {}, "ngram must be at most the 17 tokens of a row, got 18"),
        (chosen("unlike", pool=1), {}, "replay.pool: must be greater than or equal to 2, got 1"),
        (chosen("unlike", by="length"), {}, "replay.by: must be 'unlike', 'novelty', 'loss' or 'excess'"),
        ({**chosen("loss"), "deploy": {"kind": "leaf", "share": 0.2}}, {}, "replay chosen makes rows for its rounds"),
        ({"base": "joint", "replay": {"kind": "chosen", "by": "loss"}}, {}, "no meaning in a joint round"),
    ],
    ids=["encoder–decoder", "n-gram", "pool of one", "rule", "leaf", "joint"],
)
def test_what_cannot_be_chosen_is_refused_in_one_line(
    toy_study: MakeStudy, method: dict[str, Any], changes: dict[str, Any], told: str
) -> None:
    with pytest.raises(InputError, match=told) as raised:
        rounds(study_of(toy_study, method, **changes))
    assert "\n" not in str(raised.value)


# rows


def pairs(row: np.ndarray) -> list[tuple[int, int]]:
    return list(zip(row.tolist(), row[1:].tolist()))


def reference(plan: Plan, rule: str, label: str) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Return the candidates of each old period and their scores, by plain Python and by the model at one row."""
    run, store = run_of(plan, rule), plan.store
    assert store is not None
    choice = plan.tree.rounds[run.samples[label]]
    reader = RankReader(LoaderSpec((choice,), {"toy@1": store.uri("corpora/toy@1")}))
    looked = zip(choice.cursors, choice.pools.values())
    pools = [reader.next_rows(cursor, count)[1]["tokens"] for cursor, count in looked]
    labels = [source.period for source in choice.pools]
    if rule in ("loss", "excess"):
        now = [model_losses(plan, str(choice.parent), pool) for pool in pools]
        if rule == "excess":
            now = [ours - model_losses(plan, run.rounds[old], pool) for ours, old, pool in zip(now, labels, pools)]
        return {old: (pool, scores) for old, pool, scores in zip(labels, pools, now)}
    trained = plan.tree.rounds[run.rounds[label]]
    own = trained.own
    assert own is not None
    new = reader.next_rows(choice.cursors[-1], trained.draws()[own])[1]["tokens"]
    scored: list[list[float]]
    if rule == "unlike":
        known = {pair for row in new for pair in pairs(row)}
        scored = [[sum(pair not in known for pair in pairs(row)) for row in pool] for pool in pools]
    else:
        every = [set(pairs(row)) for rows in (new, *pools) for row in rows]
        having = {pair: sum(pair in row for row in every) for pair in set().union(*every)}
        scored = [[sum(1 / having[pair] for pair in set(pairs(row))) for row in pool] for pool in pools]
    return {old: (pool, np.array(scores)) for old, pool, scores in zip(labels, pools, scored)}


def model_losses(plan: Plan, key: str, rows: np.ndarray) -> np.ndarray:
    assert plan.store is not None
    with plan.store.local(published(plan.store, plan.ids[key])) as folder:
        model = folders.load(folder).eval()
    found = []
    for row in torch.from_numpy(rows.astype(np.int64)):
        with torch.no_grad():
            found.append(float(model(input_ids=row[None], labels=row[None]).loss))
    return np.array(found)


@pytest.mark.parametrize("rule", RULES)
def test_the_rows_are_the_best_by_a_slow_reference(finished: Plan, rule: str) -> None:
    key = run_of(finished, rule).samples[PERIODS[-1]]
    for label, (pool, scores) in reference(finished, rule, PERIODS[-1]).items():
        mine = rows_of(finished, key, label)
        assert len(mine) == 4 < len(pool)
        order = np.sort(np.argsort(-np.round(scores, 4), kind="stable")[:4])
        assert np.array_equal(mine, pool[order]), label


def test_a_round_trains_on_the_rows_that_were_chosen(finished: Plan) -> None:
    run = run_of(finished, "loss")
    spec, key = finished.tree.rounds[run.rounds[PERIODS[-1]]], run.samples[PERIODS[-1]]
    work = work_of(finished, next(c for c in finished.chains if c.keys[-1] == run.rounds[PERIODS[-1]]))
    read = np.concatenate([b.columns["tokens"] for b in RankReader(LoaderSpec(work.rounds, work.corpora)).read(0)])
    wanted = np.concatenate([rows_of(finished, key, label) for label in PERIODS[:2]])
    assert len(read) == 16 and {row.tobytes() for row in wanted} <= {row.tobytes() for row in read}
    assert [s for s in spec.sources if s.period != PERIODS[-1]] == [sampled_source(key, one) for one in PERIODS[:2]]


# records, costs, interruptions


def test_a_record_tells_from_what_the_rows_were_chosen_and_what_it_cost(finished: Plan) -> None:
    store = finished.store
    assert store is not None
    for rule in RULES:
        about = finished.records[run_of(finished, rule).samples[PERIODS[-1]]].about
        scored = {"loss": 24, "excess": 24}.get(rule, 0)  # of the older period, under two checkpoints
        assert about["choosing"]["by"] == rule and (about["rows"], about["candidates"]) == (8, 24)
        assert about["scored_tokens"] == scored * LENGTH
        assert about["sampling_flops"] == 2 * about["parameters"] * scored * LENGTH
        assert [pool["period"] for pool in about["pools"]] == list(PERIODS[:2])
        for pool in about["pools"]:
            assert (pool["kept"], pool["candidates"], pool["missing"]) == (4, 12, 0)
            assert pool["mean_of_kept"] >= pool["mean_of_candidates"] and pool["mean_of_kept"] >= pool["lowest_kept"]
    last = finished.records[run_of(finished, "excess").samples[PERIODS[-1]]].about["pools"][-1]
    assert last["mean_of_candidates"] == 0, "the round starts from the checkpoint of that period"
    assert check.check(store)[1] == []


def test_a_plan_counts_what_is_scored_and_which_rows_are_seen(finished: Plan) -> None:
    parameters = finished.parameters
    assert parameters is not None
    for rule, scored in zip(RULES, (0, 0, 48, 24)):
        run = run_of(finished, rule)
        cost = plan_costs.describe(finished, list(run.keys), Machine())
        assert cost is not None and cost["sampling_flops"] == 2 * parameters * scored * LENGTH
        assert finished.kept(run)[0] == finished.kept(finished.tree.runs[0])[0] == 2
    seen = {(key, source): times for key, source, times in finished.epochs()}
    plain, other = finished.tree.runs[0].rounds, run_of(finished, "unlike").rounds
    for label in PERIODS:
        mine, theirs = ({s: n for (k, s), n in seen.items() if k == run[label]} for run in (other, plain))
        assert mine == theirs


def test_a_run_that_is_interrupted_while_it_chooses_ends_with_the_same_bits(
    finished: Plan, tmp_path: Path, toy_corpus: MakeCorpus, toy_study: MakeStudy, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Once before any row is written, and once when all rows are there and the record is not."""
    toy_corpus(tmp_path / "corpora/toy@1", PERIODS)
    study = study_of(toy_study, chosen("loss"))

    class Killed(Exception):
        pass

    def killed(*_: Any) -> Any:
        raise Killed

    for name in ("_write_chosen", "_choice_facts"):
        with monkeypatch.context() as patch:
            patch.setattr(module, name, killed)
            with pytest.raises(Killed):
                driver.train(make(study, str(tmp_path)))
    driver.train(make(study, str(tmp_path)))
    again, run = make(study, str(tmp_path)), run_of(finished, "loss")
    for key in again.tree.rounds:
        assert again.ids[key] == finished.ids[key]
        mine, theirs = again.records[key], finished.records[key]
        assert mine.about.get("pools") == theirs.about.get("pools")
        assert key in run.samples.values() or weights_of(mine) == weights_of(theirs)
    folder = paths.round_folder(again.ids[run.samples[PERIODS[1]]])
    assert len(Store(tmp_path).folders(folder)) == 1, "what interrupted attempts left is gone"
