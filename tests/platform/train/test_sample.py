"""Replay from the model itself: its samples in the tree and in ids, the rows, and runs in process to their ends."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from ticlm.core import paths
from ticlm.core.corpus import Corpus
from ticlm.core.errors import InputError, RunError
from ticlm.core.store import Store
from ticlm.methods.timeline import Sampling
from ticlm.platform.cli import plan_costs
from ticlm.platform.models import folders
from ticlm.platform.models.sampling import draw, sample_rows
from ticlm.platform.results.of_plan import study_result
from ticlm.platform.run import check, driver
from ticlm.platform.study.costs import Machine
from ticlm.platform.study.identity import weights_of
from ticlm.platform.study.nodes.parts import SampledRows
from ticlm.platform.study.plan import Plan, make
from ticlm.platform.study.round import Round
from ticlm.platform.study.settings import Study
from ticlm.platform.study.stored_rounds import published
from ticlm.platform.study.tree import rounds
from ticlm.platform.study.work import work_of
from ticlm.platform.train import sample as module

MakeStudy = Callable[..., Study]
MakeCorpus = Callable[..., Corpus]
PERIODS = ("202301", "202302", "202303")
SELF = {"base": "replay-self", "schedule": {"max_rate": 5e-3, "warmup_steps": 1}}
VOCABULARY, LENGTH, ROWS = 64, 16, 8


def study_of(toy_study: MakeStudy, *methods: Any, **changes: Any) -> Study:
    calendar = {"initial": PERIODS[0], "step": "month", "last": PERIODS[-1]}
    return toy_study(**{"periods": calendar, "methods": list(methods) or [SELF]} | changes)


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory, toy_corpus: MakeCorpus, toy_study: MakeStudy) -> Plan:
    """A toy run of three periods, trained to its end in this process."""
    root = tmp_path_factory.mktemp("self")
    toy_corpus(root / "corpora/toy@1", PERIODS)
    study = study_of(toy_study)
    driver.train(make(study, str(root)))
    return make(study, str(root))


def samples(plan: Plan) -> list[str]:
    return list(plan.tree.runs[0].samples.values())


# the tree and its ids


def test_each_round_has_a_sample_of_the_checkpoint_that_it_starts_from(toy_study: MakeStudy) -> None:
    tree = rounds(study_of(toy_study))
    (run,) = tree.runs
    first, second, third = run.rounds.values()
    assert list(run.samples) == list(PERIODS[1:])
    for start, label in zip((first, second), PERIODS[1:]):
        spec, sampled = tree.rounds[run.rounds[label]], tree.rounds[run.samples[label]]
        assert spec.parent == sampled.parent == start
        assert spec.needs == (start, run.samples[label]) and sampled.needs == (start,)
        assert isinstance(sampled.sample, SampledRows) and sampled.sample.rows == spec.old_rows == ROWS == spec.new_rows
        assert (sampled.steps, sampled.tokens, sampled.sampled_tokens) == (0, 0, ROWS * LENGTH)
    assert list(tree.rounds) == [first, run.samples["202302"], second, run.samples["202303"], third]
    assert not tree.side_rounds


def test_ids_are_known_before_anything_is_sampled_and_follow_the_settings(
    tmp_path: Path, toy_corpus: MakeCorpus, toy_study: MakeStudy
) -> None:
    toy_corpus(tmp_path / "corpora/toy@1", PERIODS)

    def ids(**sampling: Any) -> list[str]:
        changed = {**SELF, "replay": {"sampling": sampling}}
        plan = make(study_of(toy_study, changed), str(tmp_path))
        return [plan.ids[key] for key in plan.tree.rounds]

    usual, cooler = ids(), ids(temperature=0.5)
    assert len(usual) == 5 and usual[0] == cooler[0]
    assert not set(usual[1:]) & set(cooler)
    assert not set(usual[1:]) & set(ids(rows_at_once=8)), "sums of another shape round otherwise"


def test_no_old_text_is_kept_and_no_share_of_workers_is_lost(
    tmp_path: Path, toy_corpus: MakeCorpus, toy_study: MakeStudy
) -> None:
    toy_corpus(tmp_path / "corpora/toy@1", PERIODS)
    resources = {"trainer": "process", "device": "cpu", "chains": 4, "workers": 4}
    plain = {"base": "cyclic-cosine", "schedule": SELF["schedule"]}
    plan = make(study_of(toy_study, SELF, plain, resources=resources), str(tmp_path))
    assert plan.kept(plan.tree.runs[0]) == (0, 0)
    own = [chain for chain in plan.chains if not chain.is_trained]
    assert [plan.share(chain) for chain in own] == [(1, 1)] * 2 and all(map(plan.is_trunk, own))
    assert [plan.label(chain) for chain in own] == [
        "replay-self: 8 rows sampled at 202301",
        "replay-self: 8 rows sampled at 202302",
    ]
    assert plan.share(next(c for c in plan.chains if c.keys[0] == plan.tree.runs[0].rounds["202302"])) == (4, 4)


@pytest.mark.parametrize(
    ("method", "changes", "told"),
    [
        (SELF, {"model": "tiny-t5", "objective": {"kind": "seq2seq"}}, "trains an encoder–decoder"),
        ({**SELF, "adapter": {"kind": "k-adapter", "layers": [0]}}, {}, "KAdapter reads whole rows"),
        ({**SELF, "replay": {"alpha": 0.99}}, {}, "leaves no row to sample at period 202302"),
    ],
    ids=["encoder–decoder", "k-adapter", "no row"],
)
def test_what_cannot_be_sampled_is_refused_in_one_line(
    toy_study: MakeStudy, method: dict[str, Any], changes: dict[str, Any], told: str
) -> None:
    with pytest.raises(InputError, match=told) as raised:
        rounds(study_of(toy_study, method, **changes))
    assert "methods.replay-self." in str(raised.value) and "\n" not in str(raised.value)


def test_a_joint_round_samples_nothing(toy_study: MakeStudy) -> None:
    with pytest.raises(InputError, match="replay has no meaning in a joint round"):
        study_of(toy_study, {"base": "joint", "replay": {"kind": "self"}})


# tokens and rows


def test_a_token_is_that_of_its_number() -> None:
    """Of probabilities 1/8, 1/2, 1/8, 1/4: their sums are 1/8, 5/8, 3/4, 1."""
    logits = torch.tensor([[0.125, 0.5, 0.125, 0.25]], dtype=torch.float64).log()
    numbers = (0.0, 0.124, 0.126, 0.624, 0.626, 0.749, 0.751, 0.999)
    drawn = [int(draw(logits, torch.tensor([u], dtype=torch.float64), Sampling())) for u in numbers]
    assert drawn == [0, 0, 1, 1, 2, 2, 3, 3]


def test_a_nucleus_has_the_fewest_tokens_of_its_probability() -> None:
    """The tokens 1 and 3 have 3/4 together, so they are drawn in shares of 2/3 and 1/3; up to 1/2, token 1 is alone."""
    logits = torch.tensor([[0.125, 0.5, 0.125, 0.25]], dtype=torch.float64).log()

    def drawn(top_p: float) -> list[int]:
        return [
            int(draw(logits, torch.tensor([u], dtype=torch.float64), Sampling(top_p=top_p))) for u in (0.0, 0.66, 0.67)
        ]

    assert drawn(0.7) == [1, 1, 3] and drawn(0.45) == [1, 1, 1]


def test_a_low_temperature_takes_the_likeliest_token() -> None:
    logits = torch.randn(50, 30, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    uniform = torch.linspace(0, 0.999, 50, dtype=torch.float64)
    assert torch.equal(draw(logits, uniform, Sampling(temperature=1e-6)), logits.argmax(-1))


def test_rows_are_those_of_a_slow_reference_that_keeps_nothing(finished: Plan) -> None:
    """The whole prefix is read again for every token, and rows are written one by one."""
    store = finished.store
    assert store is not None
    with store.local(published(store, finished.ids[finished.tree.runs[0].rounds["202301"]])) as folder:
        model = folders.load(folder).eval()
    end, how = VOCABULARY - 1, Sampling()
    rows = sample_rows(model, range(3), LENGTH, end, VOCABULARY, how, "a key")
    assert rows.shape == (3, LENGTH + 1) and rows.min() >= 0 and rows.max() < VOCABULARY
    assert (rows[:, 0] == end).all() and not np.array_equal(rows[0], rows[1])
    for number in range(3):
        (alone,) = sample_rows(model, [number], LENGTH, end, VOCABULARY, how, "a key")
        assert alone.tolist() == rows[number].tolist()
        uniform = module_uniform("a key", number)
        for place in range(LENGTH):
            with torch.no_grad():
                logits = model(input_ids=torch.tensor(rows[number : number + 1, : place + 1])).logits[:, -1].double()
            chosen = draw(logits, torch.tensor([uniform[place]], dtype=torch.float64), how)
            assert int(chosen) == rows[number, place + 1]
    few = sample_rows(model, range(3), LENGTH, 9, 10, how, "a key")
    assert few.max() < 10, "what the tokenizer does not know is never drawn"


def module_uniform(key: str, number: int) -> list[float]:
    from ticlm.core.fingerprint import hash64
    from ticlm.core.seeds import random_numbers

    return [int(value) / 2**64 for value in random_numbers(LENGTH, hash64(f"{key} {number}"))]


def test_logits_that_are_not_numbers_are_an_error(finished: Plan) -> None:
    store = finished.store
    assert store is not None
    with store.local(published(store, finished.ids[finished.tree.runs[0].rounds["202301"]])) as folder:
        model = folders.load(folder)
    with torch.no_grad():
        next(model.parameters()).fill_(float("nan"))
    with pytest.raises(RunError, match="not numbers"):
        sample_rows(model, range(2), 4, 9, VOCABULARY, Sampling(), "a key")


# runs


def test_a_record_tells_where_the_rows_are_from_and_what_they_cost(finished: Plan) -> None:
    store, run = finished.store, finished.tree.runs[0]
    assert store is not None
    for label, before in zip(PERIODS[1:], PERIODS):
        about = finished.records[run.samples[label]].about
        assert about["kind"] == "sample" and (about["period"], about["parent_period"]) == (label, before)
        assert about["parent"] == finished.ids[run.rounds[before]]
        assert (about["rows"], about["sampled_tokens"]) == (ROWS, ROWS * LENGTH)
        assert about["sampling_flops"] == 2 * about["parameters"] * ROWS * LENGTH
        assert about["sampling"] == {"temperature": 1.0, "top_p": 1.0, "rows_at_once": 32} and about["seed"] == 0
        folder = paths.round_folder(finished.ids[run.samples[label]])
        rows = Corpus.open(
            store.uri(paths.sampled_rows(folder, finished.records[run.samples[label]].attempt)), PERIODS[-1]
        )
        assert rows.split(label, "train").sha256 == about["sampled_sha256"]
        (tokens,) = (block["tokens"] for block in rows.rows(label, "train").all(ROWS))
        assert tokens.shape == (ROWS, LENGTH + 1) and len(np.unique(tokens, axis=0)) == ROWS
    assert check.check(store)[1] == []


def test_sampled_tokens_are_counted_in_the_plan_and_in_the_report(finished: Plan) -> None:
    parameters = finished.parameters
    assert parameters is not None
    cost = plan_costs.describe(finished, list(finished.tree.rounds), Machine())
    assert cost is not None and cost["sampling_flops"] == 2 * parameters * 2 * ROWS * LENGTH
    assert "for rows that are sampled or scored" in plan_costs.lines(cost)[1]
    costs = study_result(finished).costs.query("method != 'frozen'")
    trained = (6 + 4 + 4) * 4 * LENGTH
    assert costs["tokens"].iloc[-1] == trained
    assert costs["flops"].iloc[-1] == 6 * parameters * trained + 2 * parameters * 2 * ROWS * LENGTH


def test_a_run_that_is_interrupted_while_it_samples_ends_with_the_same_bits(
    finished: Plan, tmp_path: Path, toy_corpus: MakeCorpus, toy_study: MakeStudy, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Once before any shard is written, and once when all rows are there and the record is not."""
    toy_corpus(tmp_path / "corpora/toy@1", PERIODS)
    study = study_of(toy_study)

    class Killed(Exception):
        pass

    def killed(*_: Any) -> Any:
        raise Killed

    for name in ("_write", "_sample_facts"):
        with monkeypatch.context() as patch:
            patch.setattr(module, name, killed)
            with pytest.raises(Killed):
                driver.train(make(study, str(tmp_path)))
    driver.train(make(study, str(tmp_path)))
    again = make(study, str(tmp_path))
    assert again.ids == finished.ids
    for key in finished.tree.rounds:
        mine, theirs = again.records[key], finished.records[key]
        assert weights_of(mine) == weights_of(theirs)
        assert mine.about.get("sampled_sha256") == theirs.about.get("sampled_sha256")
    folder = paths.round_folder(again.ids[samples(again)[0]])
    assert len(Store(tmp_path).folders(folder)) == 1, "what interrupted attempts left is gone"
    module.publish_sample(work_of(again, next(c for c in again.chains if not c.is_trained)))  # done: nothing happens


def test_an_average_is_sampled_if_it_is_what_the_next_round_starts_from(
    tmp_path: Path, toy_corpus: MakeCorpus, toy_study: MakeStudy
) -> None:
    toy_corpus(tmp_path / "corpora/toy@1", PERIODS)
    deployed = {**SELF, "deploy": {"kind": "ema", "next": "deployed"}}
    plan = make(study_of(toy_study, deployed), str(tmp_path))
    (run,) = plan.tree.runs
    last: Round = plan.tree.rounds[run.samples["202303"]]
    assert last.parent == run.rounds["202302"] != run.trunk["202302"]
