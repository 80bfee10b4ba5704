"""Rounds with the packaged adapters and freezing rules: phases, runs, penalties, restarts, any number of workers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file
from torch.distributed.checkpoint.filesystem import FileSystemReader

from ticlm.core.errors import InputError
from ticlm.core.integrity.records import read_record
from ticlm.core.paths import MID_ROUND_FILES, round_folder
from ticlm.core.settings import parse
from ticlm.core.store import Store
from ticlm.methods.adapters.k_adapter import KAdapter
from ticlm.methods.adapters.lora import LoRA
from ticlm.methods.adapters.modular import Modular
from ticlm.methods.ewc import EWC
from ticlm.methods.freezing import FirstLayers
from ticlm.methods.lwf import LwF
from ticlm.methods.method import Continual
from ticlm.methods.schedules import WarmupCosine
from ticlm.methods.seams import Adapter
from ticlm.platform.models import adapter_stack, folder_files, folders, sharding
from ticlm.platform.models.settings import Precision
from ticlm.platform.models.sharding import Workers
from ticlm.platform.run import driver
from ticlm.platform.study import plan
from ticlm.platform.study.plan import Plan
from ticlm.platform.study.settings import Study
from ticlm.platform.study.stored_rounds import mid_round_checkpoints, published
from ticlm.platform.study.work import ChainWork, work_of
from ticlm.platform.train import trainer

MakeStudy = Callable[..., Study]
FAST = WarmupCosine(max_rate=2e-2, warmup_steps=1)
MODULAR = Modular(width=8, layers=1, heads=2, head_width=4, inner=16)
T5 = {"d_model": 16, "d_kv": 8, "d_ff": 32, "num_layers": 2, "num_heads": 2, "dropout_rate": 0.0}
LAST = FirstLayers(first_layers=1)
PAIRS = {"model": {"kind": "config", "model_type": "t5", "config": T5}, "objective": {"kind": "seq2seq"}}
THREE = {"initial": "202301", "last": "202303"}
GPT2: dict[str, Any] = {"model": {"name": "tiny-gpt2", "changes": {"n_embd": 16, "n_head": 2}}}


@pytest.fixture
def pairs_root(tmp_path: Path, toy_corpus: Callable[..., Any]) -> Path:
    """A root with a corpus of rows for an encoder–decoder."""
    toy_corpus(tmp_path / "corpora/toy@1", inputs=12)
    return tmp_path


def method(adapter: Adapter | None, **changes: Any) -> Continual:
    return Continual(name="adapted", group="adapter", schedule=FAST, adapter=adapter, **changes)


def trained(study: Study, root: Path) -> tuple[Plan, list[dict[str, torch.Tensor]]]:
    """The plan of a study that was trained, and the weights of its rounds, those of adapters among them."""
    made = plan.make(study, str(root))
    driver.train(made)
    found = []
    for key in made.tree.runs[0].rounds.values():
        folder = root / published(Store(root), made.ids[key])
        adapters = folder / adapter_stack.ADAPTER_WEIGHTS
        found.append(load_file(folder / "model.safetensors") | (load_file(adapters) if adapters.exists() else {}))
    return made, found


def moved(before: dict[str, torch.Tensor], after: dict[str, torch.Tensor]) -> set[str]:
    return {name for name, value in before.items() if not torch.equal(after[name], value)}


def test_each_phase_freezes_the_additions_before_it(pairs_root: Path, toy_study: MakeStudy) -> None:
    """K-Adapters of two phases: the encoder and the first adapter stay, the decoder trains in both."""
    study = toy_study(**PAIRS, periods=THREE, methods=[method(KAdapter(layers=(1, 2)), freeze="encoder")])
    _, (base, first, second) = trained(study, pairs_root)
    assert all(name.startswith("decoder.") for name in moved(base, first))
    assert all(name.startswith("decoder.") for name in moved(first, second))
    assert {name.split("adapter_")[1][0] for name in second if "adapter_" in name} == {"0", "1"}
    assert "shared.weight" in base and len(moved(base, first)) > 10


def test_an_adapter_of_a_run_is_trained_by_all_its_rounds(toy_root: Path, toy_study: MakeStudy) -> None:
    study = toy_study(**GPT2, periods=THREE, methods=[method(LoRA(per="run"))])
    _, (base, first, second) = trained(study, toy_root)
    assert not moved(base, first) and not {name for name in moved(first, second) if "adapter_" not in name}
    assert {name.split("adapter_")[1][0] for name in second if "adapter_" in name} == {"0"}
    assert all(".adapter_0." in name for name in moved(first, second)) and moved(first, second)


def test_frozen_weights_lie_on_a_disk_once(toy_root: Path, toy_study: MakeStudy) -> None:
    study = toy_study(**GPT2, periods=THREE, methods=[method(LoRA(per="run"))])
    made, _ = trained(study, toy_root)
    rounds = made.tree.runs[0].rounds.values()
    files = [toy_root / published(Store(toy_root), made.ids[key]) / "model.safetensors" for key in rounds]
    assert len({file.stat().st_ino for file in files}) == 1 and not list(toy_root.rglob(".*link"))
    assert len({(file.parent / folder_files.ADAPTERS).exists() for file in files}) == 2


def test_one_more_month_of_a_run_goes_on_with_its_adapter(toy_root: Path, toy_study: MakeStudy) -> None:
    """A chain that begins at the second month loads the adapter from the first, and ends in the same bits."""
    whole = toy_study(**GPT2, periods=THREE, methods=[method(LoRA(per="run"), penalties=(LwF(),))])
    _, at_once = trained(whole, toy_root)
    later = toy_root.parent / "later"
    (later / "corpora").mkdir(parents=True)
    (later / "corpora/toy@1").symlink_to(toy_root / "corpora/toy@1")
    trained(whole.model_copy(update={"periods": whole.periods.model_copy(update={"last": "202302"})}), later)
    _, by_month = trained(whole, later)
    assert all(not moved(a, b) for a, b in zip(at_once, by_month, strict=True))


def test_a_decoder_is_trained_without_any_adapter(pairs_root: Path, toy_study: MakeStudy) -> None:
    study = toy_study(**PAIRS, periods=THREE, methods=[method(None, freeze="encoder")])
    _, (base, first, _) = trained(study, pairs_root)
    assert moved(base, first) == {name for name in base if name.startswith("decoder.")}


def test_the_last_layer_alone_is_trained(toy_root: Path, toy_study: MakeStudy) -> None:
    study = toy_study(
        **GPT2, periods=THREE, methods=[method(None, freeze=LAST, penalties=(EWC(weight=10, batches=2),))]
    )
    _, (base, first, second) = trained(study, toy_root)
    last = {name for name in base if name.startswith(("transformer.h.1.", "transformer.ln_f."))}
    assert moved(base, first) == moved(first, second) == last


def test_a_tuned_copy_trains_all_weights(toy_root: Path, toy_study: MakeStudy) -> None:
    """Those of the adapters too, as CKL's light tuning and EvolvingQA's questions do."""
    tuned = {
        "name": "tuned",
        "prepare": {"steps": 2, "schedule": {"kind": "cosine", "max_rate": 1e-2, "warmup_steps": 0}},
    }
    study = toy_study(**GPT2, periods={"initial": "202301", "last": "202302"}, methods=[method(LoRA())])
    study = study.model_copy(update={"evaluations": parse_tasks(tuned)})
    made, (_, adapted) = trained(study, toy_root)
    key = made.tree.runs[0].rounds["202302"]
    folder = toy_root / published(Store(toy_root), made.ids[made.tree.scored(key, "tuned@1")])
    copy = load_file(folder / "model.safetensors") | load_file(folder / adapter_stack.ADAPTER_WEIGHTS)
    assert copy.keys() == adapted.keys() and moved(adapted, copy) == set(copy)


def parse_tasks(*tasks: dict[str, Any]) -> tuple[Any, ...]:
    from pydantic import TypeAdapter

    from ticlm.platform.tasks.union import AnyTask

    return tuple(TypeAdapter[Any](AnyTask).validate_python(task) for task in tasks)


def test_a_teacher_is_the_model_before_the_rounds_own_adapter() -> None:
    from ticlm.methods.objectives import Causal
    from ticlm.platform.models import build
    from ticlm.platform.models.settings import PresetModel

    module: Any = build.scratch(build.config(PresetModel(name="tiny-gpt2"), 64, 63), Causal(), 0).eval()
    adapter_stack.adapt(module, KAdapter(layers=(1, 2)), 0)
    tokens = torch.arange(1, 9)[None]
    with torch.no_grad():
        before = module(tokens).logits
        adapter_stack.adapt(module, KAdapter(layers=(1, 2)), 1)
        teacher: Any = sharding.twin(module, Causal(), Precision(), Workers()).eval()
        assert torch.equal(teacher(tokens).logits, before)
        assert not torch.allclose(module(tokens).logits, before, atol=1e-3)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"adapter": LoRA()}, "here: adapted: EWC with an adapter has no meaning"),
        ({"adapter": LoRA(), "freeze": "all"}, "here: adapted: EWC with an adapter has no meaning"),
        ({"adapter": LoRA(per="run")}, ""),
        ({"adapter": LoRA(), "freeze": "encoder"}, ""),
        ({"freeze": "all", "penalties": ()}, "here: adapted: freeze all leaves nothing to train without an adapter"),
    ],
    ids=str,
)
def test_ewc_needs_weights_that_were_there_before(changes: dict[str, Any], said: str) -> None:
    given = {"name": "adapted", "penalties": (EWC(),), **changes}
    if not said:
        assert parse(Continual, given, "here").penalties == (EWC(),)
        return
    with pytest.raises(InputError) as caught:
        parse(Continual, given, "here")
    assert str(caught.value).startswith(said)


COMPOSED: dict[str, tuple[bool, Continual]] = {
    "lora": (True, method(LoRA(), freeze="encoder", penalties=(EWC(weight=10, batches=2), LwF()))),
    "k-adapter": (True, method(KAdapter(layers=(1, 2)), freeze="encoder")),
    "modular": (True, method(MODULAR, freeze="encoder")),
    "last layer": (False, method(None, freeze=LAST, penalties=(EWC(weight=10, batches=2), LwF()))),
    "k-adapter, causal": (False, method(KAdapter(layers=(0, 2), per="run"), penalties=(LwF(),))),
}


@pytest.mark.slow
@pytest.mark.parametrize(
    "kind",
    [
        kind if kind in ("lora", "k-adapter", "last layer") else pytest.param(kind, marks=pytest.mark.nightly)
        for kind in COMPOSED
    ],
)
def test_adapters_do_not_depend_on_the_workers(
    kind: str,
    tmp_path: Path,
    toy_corpus: Callable[..., Any],
    toy_study: MakeStudy,
    train_world: Callable[..., None],
) -> None:
    """Two phases of replay on one worker, and on two, one and three, which each leave off inside a round."""
    pairs, one = COMPOSED[kind]
    root = tmp_path / "alone"
    toy_corpus(root / "corpora/toy@1", **({"inputs": 12} if pairs else {}))
    resources = {"trainer": "process", "device": "cpu", "cadence": {"steps": 3}, "micro_batch_rows": 1}
    from ticlm.methods.replay import FixedReplay

    replaying = one.model_copy(update={"replay": FixedReplay(alpha=0.5)})
    study = toy_study(**(PAIRS if pairs else GPT2), periods=THREE, methods=[replaying], resources=resources)
    work = chain_work(study, root)
    train_world(work, 1)
    other = replace(work, root=str(tmp_path / "other"))
    train_world(other, 2, saves=2)
    train_world(other, 1, saves=1)
    train_world(other, 3)
    for round_id in work.ids[1:]:
        mine, theirs = (read_record(Store(at), round_folder(round_id)) for at in (work.root, other.root))
        assert mine is not None and theirs is not None
        assert {f.path: f.sha256 for f in mine.files} == {f.path: f.sha256 for f in theirs.files}


def chain_work(study: Study, root: Path) -> ChainWork:
    made = plan.make(study, str(root))
    (chain,) = made.chains
    return work_of(made, chain)


TWO = (EWC(weight=10, batches=2),)
KILLED = {
    "per round": method(KAdapter(layers=(1, 2)), freeze="encoder", penalties=TWO),
    "per run": method(KAdapter(layers=(1, 2), per="run"), freeze="encoder", penalties=TWO),
    "last layer": method(None, freeze=LAST, penalties=TWO),
}


@pytest.mark.parametrize("kind", KILLED)
def test_an_adapted_model_is_killed_and_goes_on(
    tmp_path: Path,
    toy_corpus: Callable[..., Any],
    toy_study: MakeStudy,
    run_until: Callable[[ChainWork, int], None],
    kind: str,
) -> None:
    resources = {"trainer": "process", "device": "cpu", "cadence": {"steps": 2}}
    causal = kind == "last layer"
    root = tmp_path / "whole"
    toy_corpus(root / "corpora/toy@1", **({} if causal else {"inputs": 12}))
    study = toy_study(**(GPT2 if causal else PAIRS), periods=THREE, methods=[KILLED[kind]], resources=resources)
    work = chain_work(study, root)
    trainer.run_chain(work, Workers())
    for saves in (3, 4):
        stopped = replace(work, root=str(tmp_path / f"stopped-{saves}"))
        run_until(stopped, saves)
        trainer.run_chain(stopped, Workers())
        for round_id in work.ids:
            mine, theirs = (read_record(Store(at), round_folder(round_id)) for at in (stopped.root, work.root))
            assert mine is not None and theirs is not None
            assert {f.path: f.sha256 for f in mine.files} == {f.path: f.sha256 for f in theirs.files}
    assert folders.load(Path(work.root) / published(Store(work.root), work.ids[-1])) is not None


def test_a_checkpoint_leaves_frozen_weights_out(
    toy_root: Path, toy_study: MakeStudy, run_until: Callable[[ChainWork, int], None]
) -> None:
    resources = {"trainer": "process", "device": "cpu", "cadence": {"steps": 2}}
    study = toy_study(**GPT2, periods=THREE, methods=[method(None, freeze=LAST)], resources=resources)
    work = chain_work(study, toy_root)
    run_until(work, 3)  # two of the first round, of which all weights are trained, and one of the second
    ((_, last),) = mid_round_checkpoints(work.store, round_folder(work.ids[1]))
    keys = FileSystemReader(toy_root / last / MID_ROUND_FILES).read_metadata().state_dict_metadata
    names = {key.removeprefix("model.transformer.") for key in keys if key.startswith("model.")}
    assert len(names) == 14 and all(name.startswith(("h.1.", "ln_f.")) for name in names)
