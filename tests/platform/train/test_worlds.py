"""Any number of workers trains the same bits: plain gloo processes, a replay chain, checkpoints that change hands."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pytest

from ticlm.core.integrity.records import read_record
from ticlm.core.paths import round_folder
from ticlm.core.store import Store
from ticlm.platform.eval import cells as evaluation
from ticlm.platform.study import plan
from ticlm.platform.study.identity import weights_of
from ticlm.platform.study.settings import Study
from ticlm.platform.study.stored_rounds import published
from ticlm.platform.study.work import ChainWork, work_of
from ticlm.platform.tasks.cells.files import read_cells
from ticlm.platform.train.loader import LoaderSpec, RankReader, share

Forks = Callable[..., list[tuple[int, Any]]]
REPLAY = {
    "batch_rows": 10,
    "periods": {"initial": "202301", "step": "month", "last": "202303"},
    "initial": {"budget": {"steps": 8}, "schedule": {"kind": "cosine", "max_rate": 1e-2, "warmup_steps": 2}},
    "continual_tokens": {"per_period": 6 * 10 * 16},
    "loss": {"clip_norm": 0.8},
    "methods": [{"base": "replay-half", "schedule": {"max_rate": 5e-3, "warmup_steps": 1}}],
}


def nightly(*values: Any, id: str | None = None) -> Any:
    """Return a case of a test that runs at night alone: what it adds is a product of what is tried for each change."""
    return pytest.param(*values, id=id, marks=pytest.mark.nightly)


@dataclass(frozen=True)
class Trained:
    """What a chain left behind: its rounds' weights, metrics and cells."""

    weights: list[dict[str, Any]]
    bytes: list[bytes]
    metrics: list[dict[str, list[float]]]
    cells: dict[tuple[str, str], float]


def chain_work(study: Study, root: Path) -> ChainWork:
    made = plan.make(study, str(root))
    (chain,) = made.chains
    return work_of(made, chain)


@dataclass(frozen=True)
class Worlds:
    """A study and a place for the roots that its chain is trained in."""

    train_world: Callable[..., None]
    forks: Forks
    folder: Path
    study: Study

    def train(self, root: str, world: int, saves: int | None = None, micro: int | None = None) -> None:
        """Train the chain on `world` workers in the named root, or until `saves` checkpoints are written."""
        work = chain_work(self.study, self.folder / root)
        self.train_world(replace(work, micro_rows=micro or work.micro_rows), world, saves)

    def whole(self, root: str, world: int, micro: int | None = None) -> Trained:
        self.train(root, world, micro=micro)
        return self.outcome(root)

    def outcome(self, root: str) -> Trained:
        """What is in a root whose chain is done, its cells scored."""
        work, store = chain_work(self.study, self.folder / root), Store(self.folder / root)
        ended = self.forks(partial(score, self.study, self.folder / root), log=self.folder / f"{root}.log")
        assert ended[0][0] == 0, (self.folder / f"{root}.log").read_text()[-3000:]
        return outcome(work, store)


def score(study: Study, root: Path) -> None:
    for unit in evaluation.units(plan.make(study, str(root))):
        evaluation.score(unit)


def outcome(work: ChainWork, store: Store) -> Trained:
    from safetensors.numpy import load

    records = [read_record(store, round_folder(round_id)) for round_id in work.ids]
    files = [store.read(f"{published(store, round_id)}/model.safetensors") for round_id in work.ids]
    cells: dict[tuple[str, str], float] = {}
    for spec, record in zip(work.rounds, records):
        assert record is not None
        for cell in read_cells(store, weights_of(record)):
            cells[spec.period, cell.evaluated] = cell.value
    assert len(cells) == len(work.rounds) ** 2
    names = [f"{round_folder(i)}/{r.attempt}/metrics.json" for i, r in zip(work.ids, records) if r is not None]
    return Trained([load(f) for f in files], files, [store.read_json(n) for n in names], cells)


def assert_same_bits(found: Trained, expected: Trained) -> None:
    """Invariant 2: weights, losses, norms and cells."""
    assert found.bytes == expected.bytes
    assert found.metrics == expected.metrics
    assert found.cells == expected.cells


@pytest.fixture(scope="module")
def replay(
    train_world: Callable[..., None],
    forks: Forks,
    tmp_path_factory: pytest.TempPathFactory,
    toy_corpus: Callable[..., Any],
    toy_study: Callable[..., Study],
) -> Worlds:
    folder = tmp_path_factory.mktemp("worlds")
    toy_corpus(folder / "toy@1")
    resources = {"trainer": "process", "device": "cpu", "chains": 1, "cadence": {"steps": 4}, "micro_batch_rows": 3}
    return Worlds(train_world, forks, folder, toy_study(**REPLAY, corpus=f"{folder}/toy@1", resources=resources))


@pytest.fixture(scope="module")
def alone(replay: Worlds) -> Trained:
    """The chain as one worker trains it."""
    return replay.whole("alone", 1)


@pytest.mark.parametrize("world", [2, 3, 4])
@pytest.mark.parametrize("micro", [None, 1, 3])
def test_ranks_together_read_the_rows_of_one_worker(replay: Worlds, world: int, micro: int | None) -> None:
    """Ten rows: in micro-batches of 3, two workers have six and four of them."""
    work = chain_work(replay.study, replay.folder / "none")
    feeds = [LoaderSpec(work.rounds, work.corpora, rank, world, micro_rows=micro) for rank in range(world)]
    mine = [share(10, micro or -(-10 // world), rank, world) for rank in range(world)]
    for number in range(len(work.rounds)):
        whole = list(RankReader(LoaderSpec(work.rounds, work.corpora)).read(number))
        assert len(whole) == work.rounds[number].steps
        parts = [list(RankReader(feed).read(number)) for feed in feeds]
        for batch, *found in zip(whole, *parts, strict=True):
            rows = np.empty_like(batch.columns["tokens"])
            for part, chosen in zip(found, mine):
                assert (part.round, part.step) == (batch.round, batch.step)
                rows[chosen] = part.columns["tokens"]
            np.testing.assert_array_equal(rows, batch.columns["tokens"])


@pytest.mark.parametrize(
    ("resources", "rows"),
    [
        ({"workers": 1}, 10),
        ({"workers": 4}, 3),
        ({"workers": (1, 4)}, 3),
        ({"workers": (1, 4), "micro_batch_rows": 2}, 2),
    ],
)
def test_micro_batches_do_not_depend_on_how_many_workers_there_are_now(
    replay: Worlds, resources: dict[str, Any], rows: int
) -> None:
    chosen = replay.study.resources.model_copy(update={"micro_batch_rows": None} | resources)
    work = chain_work(replay.study.model_copy(update={"resources": chosen}), replay.folder / "none")
    assert work.micro_rows == rows


@pytest.mark.slow
@pytest.mark.parametrize("world", [nightly(2), 3, nightly(4)])
def test_any_number_of_workers_trains_the_bits_of_one(replay: Worlds, alone: Trained, world: int) -> None:
    """20 steps at rates above the demo's. Of four micro-batches of 3, 3, 3 and 1 rows, three workers compute one more
    than each; four compute one each."""
    assert_same_bits(replay.whole(f"several-{world}", world), alone)
    norms = [norm for metrics in alone.metrics for norm in metrics["gradient_norm"]]
    assert min(norms) < replay.study.loss.clip_norm < max(norms), "both sides of the clip are to be tested"


@pytest.mark.slow
def test_more_workers_than_rows_train_the_bits_of_one(replay: Worlds) -> None:
    few = replace(replay, study=replay.study.model_copy(update={"batch_rows": 3}))
    assert_same_bits(few.whole("few-4", 4, micro=1), few.whole("few-1", 1, micro=1))


@pytest.mark.slow
@pytest.mark.nightly
def test_two_workers_that_are_killed_resume_to_the_same_bits(replay: Worlds, alone: Trained) -> None:
    replay.train("resumed", 2, saves=1)
    replay.train("resumed", 2, saves=2)
    replay.train("resumed", 2)
    assert_same_bits(replay.outcome("resumed"), alone)


@pytest.mark.slow
def test_a_chain_goes_from_two_workers_to_one_to_four(replay: Worlds, alone: Trained) -> None:
    replay.train("handed", 2, saves=1)
    replay.train("handed", 1, saves=1)
    replay.train("handed", 4)
    assert_same_bits(replay.outcome("handed"), alone)


@pytest.mark.slow
def test_a_round_of_several_mixtures_goes_on_to_the_same_bits_on_any_number_of_workers(
    replay: Worlds, toy_study: Callable[..., Study]
) -> None:
    """Rounds of 14 and 6 steps; the fifth checkpoint lies in the second mixture of the first of them."""
    review = {"base": "mix-review", "replay": {"ratio": 0.5, "decay": 0.5}, "schedule": {"warmup_steps": 1}}
    changes = REPLAY | {"methods": [review], "continual_tokens": {"epochs": 1.5}}
    study = toy_study(**changes, corpus=replay.study.corpus, resources=replay.study.resources)
    mixed = replace(replay, study=study)
    steps = [[segment.steps for segment in spec.segments] for spec in chain_work(study, replay.folder / "none").rounds]
    assert steps == [[8], [14, 6], [14, 6]]
    mixed.train("mixed-handed", 2, saves=5)
    mixed.train("mixed-handed", 1, saves=2)
    mixed.train("mixed-handed", 3)
    assert_same_bits(mixed.outcome("mixed-handed"), mixed.whole("mixed-alone", 1))


@pytest.mark.slow
def test_padded_pairs_train_alike_on_uneven_workers(
    replay: Worlds, tmp_path: Path, toy_corpus: Callable[..., Any], toy_study: Callable[..., Study]
) -> None:
    """Budgets and means count weighted targets: a rank whose rows hold more padding counts for less."""
    toy_corpus(tmp_path / "toy@1", inputs=12)
    t5 = {"d_model": 16, "d_kv": 8, "d_ff": 32, "num_layers": 1, "num_heads": 2, "dropout_rate": 0.0}
    changes = REPLAY | {"batch_rows": 5, "methods": ["cyclic-cosine"], "initial": {"budget": {"steps": 4}}}
    model = {"kind": "config", "model_type": "t5", "config": t5}
    flat = {"kind": "cosine", "max_rate": 1e-2, "warmup_steps": 0}
    changes |= {"initial": {"budget": {"steps": 4}, "schedule": flat}, "objective": {"kind": "seq2seq"}}
    changes |= {"methods": [{"base": "cyclic-cosine", "schedule": flat}], "continual_tokens": {"per_period": 160}}
    study = toy_study(**changes, model=model, corpus=f"{tmp_path}/toy@1")
    pairs = replace(replay, folder=tmp_path, study=study)
    assert_same_bits(pairs.whole("three", 3, micro=2), pairs.whole("one", 1, micro=2))


@pytest.mark.slow
def test_workers_change_no_bit_in_bfloat16(replay: Worlds, alone: Trained) -> None:
    """Gradients are sent in bfloat16 and added up in float32."""
    from ticlm.platform.models.settings import Precision

    precision = Precision(compute="bfloat16", reduce="bfloat16")
    half = replace(replay, study=replay.study.model_copy(update={"precision": precision}))
    one = half.whole("half-1", 1)
    assert_same_bits(half.whole("half-3", 3), one)
    assert max(abs(one.cells[k] - v) for k, v in alone.cells.items()) > 1e-6, "was it bfloat16 at all?"


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "worlds"), [("float32", ()), nightly("float32", (2, 3)), nightly("bfloat16", (2, 3))])
def test_a_converted_model_trains_to_the_same_bits_on_any_number_of_workers(
    replay: Worlds, tmp_path: Path, kind: Literal["float32", "bfloat16"], worlds: tuple[int, ...]
) -> None:
    """It is a mixture with one expert. Two workers cut its matrices along their second axis, three some of them. The
    chain changes hands between both; `worlds` also train it as a whole."""
    import openlm as toy

    from ticlm.platform.models.convert import convert
    from ticlm.platform.models.settings import FolderModel, Precision

    path = toy.save(tmp_path / "epoch_1.pt", toy.weights(qk_norm=True))
    convert(path, tmp_path / "model", toy.HEADS)
    model = FolderModel(path=str(tmp_path / "model"), as_of="outside")
    changes = {"model": model, "precision": Precision(compute=kind, reduce=kind)}
    converted = replace(replay, folder=tmp_path, study=replay.study.model_copy(update=changes))
    one = converted.whole("one", 1)
    for world in worlds:
        assert_same_bits(converted.whole(f"several-{world}", world), one)
    converted.train("handed", 2, saves=1)
    converted.train("handed", 3, saves=1)
    converted.train("handed", 1)
    assert_same_bits(converted.outcome("handed"), one)


ADAFACTOR_RECADAM = {"kind": "adafactor"}, {"kind": "recadam", "gamma": 50.0, "t0": 3, "k": 1.0}
MUON_MER = {"kind": "muon"}, {"kind": "mer", "every": 4}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("optimizers", "kind", "worlds"),
    [
        pytest.param(ADAFACTOR_RECADAM, "float32", (), id="adafactor-recadam"),
        nightly(ADAFACTOR_RECADAM, "bfloat16", (2,), id="adafactor-recadam-bfloat16"),
        nightly(MUON_MER, "float32", (2,), id="muon-mer"),
        nightly(MUON_MER, "bfloat16", (2,), id="muon-mer-bfloat16"),
    ],
)
def test_optimizers_with_other_state_train_alike_on_workers_that_come_and_go(
    replay: Worlds,
    optimizers: tuple[dict[str, Any], dict[str, Any]],
    kind: Literal["float32", "bfloat16"],
    worlds: tuple[int, ...],
) -> None:
    """In the initial round, means over whole weights (Adafactor), or momentum of matrices (Muon). After it, a copy
    of the weights that a round starts from, which no checkpoint holds (RecAdam), or one of those after a group of
    steps, which they do (MER). Killed in the middle of a round of each."""
    from ticlm.platform.models.settings import Precision

    first, later = optimizers
    whole = replay.study.model_dump()
    whole["initial"]["optimizer"] = first
    for method in whole["methods"]:
        method["optimizer"] = later
    study = Study.model_validate(whole)
    study = study.model_copy(update={"precision": Precision(compute=kind, reduce=kind)})
    name = f"{first['kind']}-{kind}"
    other = replace(replay, study=study)
    one = other.whole(f"{name}-1", 1)
    for world in worlds:
        assert_same_bits(other.whole(f"{name}-{world}", world), one)
    other.train(name, 2, saves=1)
    other.train(name, 1, saves=1)
    other.train(name, 3)
    assert_same_bits(other.outcome(name), one)
