"""The seams, shown by a test each: encoder-decoders, segments, tuned copies, penalties with state, stacked adapters."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from ticlm.core.corpus import Corpus
from ticlm.core.integrity.records import read_record
from ticlm.core.mixture import Mixture, Source
from ticlm.core.paths import round_folder
from ticlm.core.store import Store
from ticlm.methods.method import Continual
from ticlm.methods.schedules import WarmupCosine
from ticlm.methods.seams import Adapter, Batch, Context, Penalty, PenaltyState
from ticlm.platform.eval import sample
from ticlm.platform.models import adapter_stack, folders
from ticlm.platform.models.sharding import Workers
from ticlm.platform.run import driver
from ticlm.platform.study import plan
from ticlm.platform.study.identity import weights_of
from ticlm.platform.study.plan import Plan
from ticlm.platform.study.round import Segment
from ticlm.platform.study.settings import Study
from ticlm.platform.study.stored_rounds import published
from ticlm.platform.study.work import ChainWork, work_of
from ticlm.platform.tasks.cells.cell import Cell
from ticlm.platform.tasks.cells.files import read_cells
from ticlm.platform.train import trainer
from ticlm.platform.train.loader import LoaderSpec, RankReader

MakeStudy = Callable[..., Study]
MakeCorpus = Callable[..., Corpus]
FAST = WarmupCosine(max_rate=2e-2, end_rate=1e-2, warmup_steps=1)


def run_whole(study: Study, root: Path) -> Plan:
    made = plan.make(study, str(root))
    driver.train(made)
    driver.evaluate(made)
    return made


def chain_work(study: Study, root: Path) -> ChainWork:
    made = plan.make(study, str(root))
    (found,) = made.chains
    return work_of(made, found)


def weights(root: str | Path, round_id: str) -> bytes:
    store = Store(root)
    return store.read(f"{published(store, round_id)}/model.safetensors")


def cells_of(made: Plan, key: str) -> list[Cell]:
    assert made.store is not None
    return read_cells(made.store, weights_of(made.records[key]))


# --- an encoder-decoder ----------------------------------------------------------------------------------------------


def test_an_encoder_decoder_trains_and_is_scored_by_the_same_chain(
    tmp_path: Path, toy_corpus: MakeCorpus, toy_study: MakeStudy
) -> None:
    from transformers import AutoModelForSeq2SeqLM

    corpus = toy_corpus(tmp_path / "corpora/toy@1", inputs=12)
    t5 = {
        "d_model": 16,
        "d_kv": 8,
        "d_ff": 32,
        "num_layers": 1,
        "num_heads": 2,
        "pad_token_id": 0,
        "decoder_start_token_id": 0,
    }
    study = toy_study(
        model={"kind": "config", "model_type": "t5", "config": t5},
        objective={"kind": "seq2seq"},
        periods={"initial": "202301", "last": "202302"},
        methods=[Continual(name="plain", schedule=FAST)],
        initial={"budget": {"steps": 40}, "schedule": FAST.model_dump()},
    )
    made = run_whole(study, tmp_path)
    first, last = made.tree.runs[0].rounds.values()
    folder = tmp_path / published(Store(tmp_path), made.ids[last])
    losses = json.loads(
        (tmp_path / published(Store(tmp_path), made.ids[first])).parent.joinpath("metrics.json").read_text()
    )
    assert np.mean(losses["loss"][-5:]) < np.mean(losses["loss"][:5]) - 0.3

    scored = {cell.evaluated: cell for cell in cells_of(made, last)}
    module = AutoModelForSeq2SeqLM.from_pretrained(folder).eval()
    for label in ("202301", "202302"):
        (rows,) = corpus.rows(label, "eval").all(1000)
        inputs, targets = (torch.from_numpy(rows[name].astype("int64")) for name in ("inputs", "targets"))
        with torch.no_grad():
            labels = targets.masked_fill(targets == 0, -100)
            theirs = module(input_ids=inputs, attention_mask=(inputs != 0).long(), labels=labels).loss
        assert scored[label].n == int((targets != 0).sum()) < targets.numel()
        assert scored[label].value == pytest.approx(float(theirs), abs=1e-5)


# --- segments --------------------------------------------------------------------------------------------------------


def two_segments(study: Study, root: Path) -> ChainWork:
    """The first round of the study with three steps of the first period, then three that mix it with the second."""
    work = chain_work(study, root)
    first, second = (Source(corpus="toy@1", period=label) for label in ("202301", "202302"))
    spec = work.rounds[0].model_copy(
        update={
            "segments": (
                Segment(mixture=Mixture.of({first: 1}), steps=3),
                Segment(mixture=Mixture.of({first: 1, second: 3}), steps=3),
            )
        }
    )
    return replace(work, rounds=(spec,), ids=("two",))


def test_a_round_of_two_segments_changes_its_mixture_in_between(
    toy_root: Path, toy_study: MakeStudy, run_until: Callable[[ChainWork, int], None]
) -> None:
    resources = {"trainer": "process", "device": "cpu", "cadence": {"steps": 2}}
    study = toy_study(methods=[Continual(name="plain", schedule=FAST)], resources=resources)
    work = two_segments(study, toy_root)
    corpus = Corpus.open(work.corpora["toy@1"])
    of = {
        row.tobytes(): (label, i)
        for label in ("202301", "202302")
        for block in corpus.rows(label, "train").all(1000)
        for i, row in enumerate(block["tokens"])
    }
    drawn = [
        [of[row.tobytes()] for row in b.columns["tokens"]]
        for b in RankReader(LoaderSpec(work.rounds, work.corpora)).read(0)
    ]
    assert [sum(label == "202301" for label, _ in batch) for batch in drawn] == [4, 4, 4, 1, 1, 1]
    assert len({row for batch in drawn for row in batch}) == 24, "a row was drawn twice"

    trainer.run_chain(work, Workers())
    stopped = replace(work, ids=("stopped",))
    run_until(stopped, 2)
    trainer.run_chain(stopped, Workers())
    assert weights(toy_root, "stopped") == weights(toy_root, "two")


# --- a leaf round ----------------------------------------------------------------------------------------------------


def test_a_task_can_train_a_little_before_it_scores(toy_root: Path, toy_study: MakeStudy) -> None:
    prepare = {"steps": 3, "schedule": {"kind": "cosine", "max_rate": 2e-2, "warmup_steps": 0}}
    plain, tuned = {"name": "perplexity"}, {"name": "after-tuning", "prepare": prepare}
    changes = {"methods": [Continual(name="plain", schedule=FAST)], "periods": {"initial": "202301", "last": "202302"}}
    made = run_whole(toy_study(**changes, evaluations=[plain, tuned]), toy_root)
    assert len(made.records) == len(made.tree.rounds) == 2 + 2
    for label, key in made.tree.runs[0].rounds.items():
        leaf = made.tree.scored(key, "after-tuning@1")
        assert made.tree.rounds[leaf].parent == key
        assert [s.split for s in made.tree.rounds[leaf].sources] == ["tune"]
        before = {c.evaluated: c.value for c in cells_of(made, key)}
        after = {c.evaluated: c.value for c in cells_of(made, leaf)}
        assert {c.task for c in cells_of(made, leaf)} == {"after-tuning@1"}
        assert after[label] < before[label], "three steps on the period's own text did not help"
    alone = plan.make(toy_study(**changes), str(toy_root))
    assert set(alone.ids.values()) < set(made.ids.values()), "leaves changed the rounds they hang on"


# --- a penalty with state --------------------------------------------------------------------------------------------


class Average(Penalty):
    """Pulls weights towards a moving average of themselves, which must survive a restart."""

    kind: Literal["average"] = "average"
    strength: float = 0.05

    def start(self, context: Context) -> PenaltyState:
        return AverageState(self.strength, context.module)


class AverageState:
    def __init__(self, strength: float, module: nn.Module) -> None:
        self.strength, self.calls = strength, 0
        self.average = {name: p.detach().clone() for name, p in module.named_parameters()}

    def loss(self, batch: Batch, logits: Tensor) -> Tensor | None:
        return None

    def pull(self, name: str, parameter: Tensor) -> None:
        assert parameter.grad is not None
        self.calls += 1
        strength = self.strength * (1 + self.calls % 5)
        parameter.grad.add_(parameter.detach() - self.average[name], alpha=strength)
        self.average[name].lerp_(parameter.detach(), 0.2)

    def before_evaluation(self) -> None: ...

    def state_dict(self) -> dict[str, Any]:
        return {"average": self.average, "calls": self.calls}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self.average, self.calls = state["average"], state["calls"]


def test_the_state_of_a_penalty_survives_a_restart(
    toy_root: Path, toy_study: MakeStudy, run_until: Callable[[ChainWork, int], None]
) -> None:
    def study(*penalties: Penalty) -> Study:
        resources = {"trainer": "process", "device": "cpu", "cadence": {"steps": 2}}
        method = Continual(name="average", schedule=FAST, penalties=penalties)
        return toy_study(methods=[method], resources=resources, periods={"initial": "202301", "last": "202302"})

    corpora = {"toy@1": f"{toy_root}/corpora/toy@1"}
    work = chain_work(study(Average()), toy_root)
    trainer.run_chain(work, Workers())
    stopped = replace(work, root=str(toy_root.parent / "stopped"))
    run_until(stopped, 3)  # after steps 2 and 4 of the first round, and 2 of the second
    assert read_record(Store(stopped.root), round_folder(work.ids[0])) is not None
    trainer.run_chain(stopped, Workers())
    for round_id in work.ids:
        assert weights(stopped.root, round_id) == weights(toy_root, round_id)

    plain = chain_work(study(), toy_root)
    trainer.run_chain(plain, Workers())
    assert plain.ids[0] == work.ids[0], "the initial round has no penalty"
    assert plain.ids[1] != work.ids[1]
    assert weights(toy_root, plain.ids[1]) != weights(toy_root, work.ids[1])
    assert corpora == dict(work.corpora)


# --- adapters --------------------------------------------------------------------------------------------------------


class LowRank(Adapter):
    """A low-rank path beside each block's MLP."""

    kind: Literal["low-rank"] = "low-rank"
    rank: int = 4

    def add(self, module: nn.Module, depth: int) -> None:
        width: int = module.config.hidden_size  # type: ignore[union-attr, assignment]
        for block in module.model.layers:  # type: ignore[union-attr]
            path = nn.Sequential(nn.Linear(width, self.rank, bias=False), nn.Linear(self.rank, width, bias=False))
            nn.init.zeros_(path[1].weight)  # type: ignore[arg-type]
            block.mlp.add_module(f"adapter_{depth}", path)
            block.mlp.register_forward_hook(lambda mlp, args, out, path=path: out + path(args[0]))


def adapted(toy_study: MakeStudy, **changes: Any) -> Study:
    method = Continual(name="low-rank", group="adapter", schedule=FAST, adapter=LowRank())
    resources = {"trainer": "process", "device": "cpu", "cadence": {"steps": 2}}
    return toy_study(methods=[method], resources=resources, periods={"initial": "202301", "last": "202303"}, **changes)


def test_adapters_stack_over_rounds_on_a_frozen_base(toy_root: Path, toy_study: MakeStudy) -> None:
    from safetensors.torch import load_file
    from transformers import AutoModelForCausalLM

    made = run_whole(adapted(toy_study), toy_root)
    saved = [toy_root / published(Store(toy_root), made.ids[key]) for key in made.tree.runs[0].rounds.values()]
    base, once, twice = (load_file(folder / "model.safetensors") for folder in saved)
    assert base.keys() == once.keys() == twice.keys()
    assert all(torch.equal(base[name], twice[name]) for name in base), "the base was not frozen"
    first, both = (load_file(folder / adapter_stack.ADAPTER_WEIGHTS) for folder in saved[1:])
    assert {name.split("adapter_")[1][0] for name in both} == {"0", "1"}
    assert all(torch.equal(both[name], value) for name, value in first.items()), "the first adapter was not frozen"

    stacked = folders.load(saved[2]).eval()
    plain = AutoModelForCausalLM.from_pretrained(saved[2]).eval()
    assert {n for n, _ in plain.named_parameters()} < {n for n, _ in stacked.named_parameters()}
    assert [type(a) for a in adapter_stack.read(saved[2])] == [LowRank, LowRank]
    ids = torch.arange(10)[None]
    with torch.no_grad():
        assert not torch.allclose(stacked(ids).logits, plain(ids).logits, atol=1e-2)

    last = list(made.tree.runs[0].rounds.values())[-1]
    said = sample.generate(str(toy_root), made.ids[last][:10], "w1 w2 w3", 12, 0.0, 0)
    ours, theirs = (
        m.generate(input_ids=torch.tensor([[1, 2, 3]]), max_new_tokens=12, do_sample=False, pad_token_id=63)[0].tolist()  # type: ignore[operator]
        for m in (stacked, plain)
    )
    assert said == " ".join(f"w{i}" for i in ours if i != 63)
    assert ours != theirs, "generate() did not pass through the adapters"


def test_an_adapted_chain_resumes_to_the_same_bits(
    toy_root: Path, toy_study: MakeStudy, run_until: Callable[[ChainWork, int], None]
) -> None:
    work = chain_work(adapted(toy_study), toy_root)
    trainer.run_chain(work, Workers())
    for saves in (1, 3, 4):  # in the round without adapters, with one, with two
        stopped = replace(work, root=str(toy_root.parent / f"stopped-{saves}"))
        run_until(stopped, saves)
        torch.rand(saves)  # what a process drew before must not matter
        trainer.run_chain(stopped, Workers())
        for round_id in work.ids:
            mine, theirs = (read_record(Store(root), round_folder(round_id)) for root in (stopped.root, work.root))
            assert mine is not None and theirs is not None
            assert {f.path: f.sha256 for f in mine.files} == {f.path: f.sha256 for f in theirs.files}


def test_evaluation_scores_the_adapted_model(toy_root: Path, toy_study: MakeStudy) -> None:
    made = run_whole(adapted(toy_study), toy_root)
    values = [
        {c.evaluated: c.value for c in cells_of(made, key)}["202303"] for key in made.tree.runs[0].rounds.values()
    ]
    assert len(set(values)) == 3, f"adapters left no trace in the cells: {values}"


@pytest.mark.slow
@pytest.mark.parametrize("part", ["penalty", "adapter"])
def test_penalties_and_adapters_do_not_depend_on_the_workers(
    toy_root: Path, toy_study: MakeStudy, train_world: Callable[..., None], part: str
) -> None:

    method = Continual(
        name=part,
        schedule=WarmupCosine(max_rate=5e-3, warmup_steps=1),
        penalties=(Average(),) if part == "penalty" else (),
        adapter=LowRank() if part == "adapter" else None,
    )
    resources = {"trainer": "process", "device": "cpu", "cadence": {"steps": 3}, "micro_batch_rows": 1}
    study = toy_study(methods=[method], resources=resources, periods={"initial": "202301", "last": "202303"})
    work = chain_work(study, toy_root)
    train_world(work, 1)
    other = replace(work, root=str(toy_root.parent / "other"))
    train_world(other, 2, saves=2)  # the first round, then in the middle of the second
    train_world(other, 1, saves=1)
    train_world(other, 3)
    file = adapter_stack.ADAPTER_WEIGHTS if part == "adapter" else "model.safetensors"
    for round_id in work.ids[1:]:
        alone, together = (
            Store(root).read(f"{published(Store(root), round_id)}/{file}") for root in (work.root, other.root)
        )
        assert alone == together
