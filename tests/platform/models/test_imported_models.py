"""Imported checkpoints as the start of a study, or as a teacher: any causal model, at any period; what is refused."""

from __future__ import annotations

import gc
import json
import pickle
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal

import cloudpickle
import pytest
import torch
from torch import nn

from ticlm.core.errors import InputError
from ticlm.core.store import Store
from ticlm.methods.schedules import AutoregressiveCosine
from ticlm.methods.seams import Adapter
from ticlm.platform.analysis.summary import summarize
from ticlm.platform.models import adapter_stack, folders
from ticlm.platform.models.settings import FolderModel
from ticlm.platform.results.of_plan import study_result
from ticlm.platform.run import driver
from ticlm.platform.study import plan
from ticlm.platform.study.external_inputs import external_inputs
from ticlm.platform.study.identity import weights_of
from ticlm.platform.study.settings import Study
from ticlm.platform.study.stored_rounds import published
from ticlm.platform.study.tree import rounds
from ticlm.platform.study.work import work_of
from ticlm.platform.tuning import search

MakeStudy = Callable[..., Study]
FAST = {"kind": "cosine", "max_rate": 5e-3, "warmup_steps": 1}
SIZES: dict[str, dict[str, Any]] = {
    "gpt2": {"n_embd": 16, "n_layer": 1, "n_head": 2, "n_positions": 64, "attn_pdrop": 0.0, "resid_pdrop": 0.0},
    "gpt_neox": {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 32},
}


class Shift(Adapter):
    """One number, which does nothing."""

    kind: Literal["shift"] = "shift"

    def add(self, module: nn.Module, depth: int) -> None:
        holder = nn.Module()
        holder.register_parameter("by", nn.Parameter(torch.zeros(1)))
        module.add_module(f"adapter_{depth}", holder)


def save_model(folder: Path, kind: str = "gpt2", vocab_size: int = 64, seed: int = 0) -> dict[str, torch.Tensor]:
    """A Hugging Face folder as anybody might bring it; returns its weights."""
    from transformers import AutoConfig, AutoModelForCausalLM

    ends = {"bos_token_id": 63, "eos_token_id": 63}
    made = AutoConfig.for_model(kind, vocab_size=vocab_size, **SIZES[kind], **ends)
    torch.manual_seed(seed)
    module = AutoModelForCausalLM.from_config(made)
    module.save_pretrained(folder)
    return {name: value.clone() for name, value in module.state_dict().items()}


def imported(folder: Path, as_of: str) -> dict[str, Any]:
    """The part of a study that takes an imported checkpoint as it is."""
    initial = {"budget": 0, "schedule": FAST}
    return {"model": {"kind": "folder", "path": str(folder), "as_of": as_of}, "initial": initial}


def test_workers_find_a_model_whose_path_begins_in_the_folder_of_the_command(
    tmp_path: Path, toy_root: Path, toy_study: MakeStudy, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Workers and trials run elsewhere. No id depends on where it lies, and the study stays as it is written."""
    save_model(tmp_path / "models/gpt2")
    monkeypatch.chdir(tmp_path)
    method = {"base": "cyclic-cosine", "schedule": FAST}
    made, elsewhere = (
        plan.make(toy_study(methods=[method], **imported(path, "202301")), str(toy_root))
        for path in (Path("models/gpt2"), tmp_path / "models/gpt2")
    )
    work, other = (work_of(one, one.chains[0]) for one in (made, elsewhere))
    assert work.ids == other.ids and [one.recipe for one in work.rounds] == [one.recipe for one in other.rounds]
    assert list(work.imported) == [str(tmp_path / "models/gpt2")]
    assert isinstance(made.study.model, FolderModel) and made.study.model.path == "models/gpt2"
    (tmp_path / "study.yaml").write_text(json.dumps(made.study.model_dump(mode="json", serialize_as_any=True)))
    tuning = search.load(
        "cyclic-cosine", "study.yaml", ("first_periods=3",), ("schedule.max_rate=1e-3,2e-3",), {}, str(toy_root)
    )
    assert isinstance(tuning.study.model, FolderModel) and tuning.study.model.path == str(tmp_path / "models/gpt2")


@pytest.mark.parametrize("kind", list(SIZES))
def test_any_causal_model_can_be_the_initial_checkpoint(
    tmp_path: Path, toy_root: Path, toy_study: MakeStudy, kind: str
) -> None:
    """It stands for the first period as it came; every method goes on from it, and it is scored like any other."""
    from transformers import AutoModelForCausalLM

    weights = save_model(tmp_path / "model", kind)
    methods = [
        {"base": "cyclic-cosine", "schedule": FAST},
        {"base": "ewc", "schedule": FAST, "penalties": [{"kind": "ewc", "weight": 100, "batches": 2}]},
        {"base": "lwf-per-token", "schedule": FAST},
    ]
    made = plan.make(toy_study(methods=methods, **imported(tmp_path / "model", "202301")), str(toy_root))
    assert made.parameters is not None
    driver.train(made)
    driver.evaluate(made)
    store = Store(toy_root)
    firsts = {run.rounds["202301"] for run in made.tree.runs}
    (first,) = firsts
    found = AutoModelForCausalLM.from_pretrained(toy_root / published(store, made.ids[first]))
    for name, value in found.state_dict().items():
        assert torch.equal(value, weights[name]), name
    lasts = {weights_of(made.records[run.rounds["202304"]]) for run in made.tree.runs}
    assert len(lasts) == 3 and weights_of(made.records[first]) not in lasts
    assert [made.records[key].about["steps"] for key in made.tree.runs[0].rounds.values()] == [0, 4, 4, 4]


def test_an_encoder_decoder_can_be_the_initial_checkpoint(
    tmp_path: Path, toy_corpus: Any, toy_study: MakeStudy
) -> None:
    from transformers import AutoConfig, AutoModelForSeq2SeqLM

    toy_corpus(tmp_path / "corpora/toy@1", inputs=12)
    sizes = {"d_model": 16, "d_kv": 8, "d_ff": 32, "num_layers": 1, "num_heads": 2, "vocab_size": 64}
    made = AutoConfig.for_model("t5", **sizes, pad_token_id=0, decoder_start_token_id=0)
    AutoModelForSeq2SeqLM.from_config(made).save_pretrained(tmp_path / "model")
    study = toy_study(
        objective={"kind": "seq2seq"},
        methods=[{"base": "lwf-per-token", "schedule": FAST}],
        **imported(tmp_path / "model", "202301"),
    )
    made = plan.make(study, str(tmp_path))
    driver.train(made)
    assert len(made.records) == 4


def test_adapters_of_an_imported_folder_are_kept(tmp_path: Path, toy_root: Path) -> None:
    module = folders.load(_adapted(tmp_path))
    assert [adapter.kind for adapter in module.ticlm_adapters] == ["shift"]  # type: ignore[union-attr]


def _adapted(folder: Path) -> Path:
    from ticlm.methods.objectives import Causal

    save_model(folder / "base")
    module = folders.load(folder / "base")
    shift = Shift()
    adapter_stack.extend(module, shift, 0)
    folders.publish(module.state_dict(), module.config, Causal(), [shift], folder / "adapted")
    return folder / "adapted"


def test_a_class_that_came_twice_by_value_is_found_whole(tmp_path: Path) -> None:
    """Pickled by value, as a script's own class is, it leaves an empty class behind at its second coming."""
    model, folder = nn.Linear(2, 2), tmp_path / "model"
    folder.mkdir()
    adapter_stack.adapt(model, Shift(), 0)
    adapter_stack.write(model.state_dict(), [Shift()], folder)
    module = sys.modules[__name__]
    cloudpickle.register_pickle_by_value(module)
    try:
        data = cloudpickle.dumps(Shift)
    finally:
        cloudpickle.unregister_pickle_by_value(module)
    gc.disable()  # it would take the empty class away
    try:
        assert pickle.loads(data) is Shift
        assert [type(one) for one in adapter_stack.read(folder)] == [Shift]
    finally:
        gc.enable()


def test_a_run_from_a_later_checkpoint_counts_rounds_from_the_timelines_first(
    tmp_path: Path, toy_study: MakeStudy
) -> None:
    """AR's index and the single trajectory of rsqrt are those of the whole run, not of this part of it."""
    ar = {"base": "cyclic-cosine+ar", "schedule": {"warmup_steps": 1}}
    rsqrt = {"base": "rsqrt", "schedule": {"warmup_steps": 1, "cooldown_steps": 1}}
    whole = rounds(toy_study(methods=[ar, rsqrt]))
    part = rounds(toy_study(methods=[ar, rsqrt], **imported(tmp_path, "202302")))
    for run, rest in zip(whole.runs, part.runs):
        assert list(rest.rounds) == ["202302", "202303", "202304"]
        for label in ("202303", "202304"):
            here, there = part.rounds[rest.rounds[label]], whole.rounds[run.rounds[label]]
            assert here.position == there.position and here.recipe.schedule == there.recipe.schedule
    last = part.rounds[part.runs[0].rounds["202304"]]
    assert isinstance(last.recipe.schedule, AutoregressiveCosine)
    assert last.recipe.schedule.peak(last.position) == pytest.approx(9.75e-5), (
        "i = 2; counted from the start it were 1.65e-4"
    )


def test_a_start_from_outside_the_timeline_trains_on_every_period(tmp_path: Path, toy_study: MakeStudy) -> None:
    tree = rounds(toy_study(methods=["cyclic-cosine+ar"], continual_tokens=4096 * 16, **imported(tmp_path, "outside")))
    (run,) = tree.runs
    assert list(run.rounds) == ["outside", "202301", "202302", "202303", "202304"]
    assert [tree.rounds[key].position.index for key in run.rounds.values()] == [0, 0, 1, 2, 3]
    assert [tree.rounds[key].budget for key in run.rounds.values()] == [0, *[4096 * 4] * 4]


@pytest.mark.parametrize("method", ["ewc", "lwf", "lwf-per-token", "ewc-new-data"])
def test_a_penalty_without_a_period_before_it_is_refused(tmp_path: Path, toy_study: MakeStudy, method: str) -> None:
    entry = {"base": method, "schedule": {"warmup_steps": 1}}
    with pytest.raises(InputError, match=r"the imported start \(as_of outside\) is none of the timeline") as caught:
        rounds(toy_study(methods=[entry], **imported(tmp_path, "outside")))
    assert "\n" not in str(caught.value)


def test_an_initial_budget_of_nothing_needs_a_model_to_import(toy_study: MakeStudy) -> None:
    with pytest.raises(InputError, match="model must be of kind folder"):
        toy_study(initial={"budget": 0, "schedule": FAST})


def lwf_with_teacher(folder: Path) -> dict[str, Any]:
    teacher = {"path": str(folder), "as_of": "202212"}
    return {"base": "lwf-per-token", "schedule": FAST, "penalties": [{"kind": "lwf", "teacher": teacher}]}


def test_a_teacher_can_be_imported(tmp_path: Path, toy_root: Path, toy_study: MakeStudy) -> None:
    """Its contents are part of a round's identity, its path is not, and it is named as from outside the timeline."""
    save_model(tmp_path / "teacher")
    own = {"base": "lwf-per-token", "name": "own", "schedule": FAST}
    made = plan.make(toy_study(methods=[own, lwf_with_teacher(tmp_path / "teacher")]), str(toy_root))
    driver.train(made)
    ours, theirs = (run.rounds["202302"] for run in made.tree.runs)
    assert weights_of(made.records[ours]) != weights_of(made.records[theirs])
    assert external_inputs(made) == [f"teacher {tmp_path}/teacher, as of 202212"]

    (tmp_path / "teacher").rename(tmp_path / "moved")
    moved = plan.make(toy_study(methods=[own, lwf_with_teacher(tmp_path / "moved")]), str(toy_root))
    assert moved.pending() == []
    config = tmp_path / "moved/config.json"
    config.write_text(json.dumps(json.loads(config.read_text()) | {"initializer_range": 0.5}))
    assert plan.make(toy_study(methods=[own, lwf_with_teacher(tmp_path / "moved")]), str(toy_root)).pending()


def with_oracles(*models: tuple[Path, str], **changes: Any) -> dict[str, Any]:
    entries = [{"path": str(path), "as_of": cutoff} for path, cutoff in models]
    return {"base": "oracle", "cutoffs": [], "models": entries} | changes


def test_models_of_others_stand_for_an_oracle_series(tmp_path: Path, toy_root: Path, toy_study: MakeStudy) -> None:
    """They are scored on every period as they came, nothing is trained for them, and regret is relative to the last."""
    for number, cutoff in enumerate(("202301", "202303")):
        save_model(tmp_path / cutoff, seed=number)
    series = with_oracles((tmp_path / "202303", "202303"), (tmp_path / "202301", "202301"))
    own = {"base": "cyclic-cosine", "schedule": FAST}
    study = toy_study(methods=[own, series], **imported(tmp_path / "202301", "202301"))
    made = plan.make(study, str(toy_root))
    driver.train(made)
    driver.evaluate(made)
    run = made.tree.runs[1]
    assert list(run.rounds) == ["202301", "202303"]
    assert run.rounds["202301"] == made.tree.runs[0].rounds["202301"], "it is the initial checkpoint, too"
    assert [made.records[key].about["steps"] for key in run.rounds.values()] == [0, 0]
    found = folders.load(toy_root / published(Store(toy_root), made.ids[run.rounds["202303"]])).state_dict()
    theirs = folders.load(tmp_path / "202303").state_dict()
    assert all(torch.equal(found[name], weight) for name, weight in theirs.items())
    result = study_result(made)
    mine = result.cells[result.cells["method"] == "oracle"]
    pairs = sorted(zip(mine["trained"], mine["evaluated"]))
    assert pairs == [(t, e) for t in ("202301", "202303") for e in ("202301", "202302", "202303", "202304")]
    assert result.reference == ("oracle", 0, "202303")
    ratios = summarize([result]).set_index("method")["oracle_ratio"]
    assert ratios.isna().all(), "what others spent is not known"
    assert f"oracle {tmp_path}/202303, as of 202303" in external_inputs(made)


def test_an_oracle_series_may_be_imported_in_part(tmp_path: Path, toy_root: Path, toy_study: MakeStudy) -> None:
    save_model(tmp_path / "model")
    initial = {"budget": {"steps": 2}, "schedule": FAST}
    series = with_oracles((tmp_path / "model", "202301"), cutoffs=["202302"])
    made = plan.make(toy_study(methods=[series], initial=initial), str(toy_root))
    assert {spec.period: spec.steps for spec in made.tree.rounds.values()} == {"202301": 0, "202302": 6}


@pytest.mark.parametrize(
    ("cutoffs", "months", "said"),
    [
        (["202302"], ["202302"], "an Oracle series needs one model for 202302, in cutoffs or in models"),
        ([], ["202302", "202302"], "an Oracle series needs one model for 202302"),
        ([], ["202401"], "methods.oracle.cutoffs: 202401 is not in the timeline"),
        ([], [], "an Oracle series needs cutoffs"),
    ],
)
def test_an_oracle_series_has_one_model_for_each_of_its_cutoffs(
    tmp_path: Path, toy_study: MakeStudy, cutoffs: list[str], months: list[str], said: str
) -> None:
    with pytest.raises(InputError) as caught:
        toy_study(methods=[with_oracles(*((tmp_path, month) for month in months), cutoffs=cutoffs)])
    assert said in str(caught.value) and "\n" not in str(caught.value)


def test_an_oracle_with_another_tokenizer_is_refused(tmp_path: Path, toy_root: Path, toy_study: MakeStudy) -> None:
    save_model(tmp_path / "oracle")
    (tmp_path / "oracle/tokenizer.json").write_text("{}")
    message = refused(toy_study(methods=[with_oracles((tmp_path / "oracle", "202303"))]), toy_root)
    assert message == (
        f"oracle {tmp_path}/oracle has another tokenizer than corpus toy@1: their predictions cannot be compared"
    )


def refused(study: Study, root: Path) -> str:
    made = plan.make(study, str(root))
    with pytest.raises(InputError) as caught:
        driver.train(made)
    assert "\n" not in str(caught.value)
    assert not list((root / "rounds").rglob("*")), "training had begun"
    return str(caught.value)


def test_a_teacher_with_another_vocabulary_is_refused(tmp_path: Path, toy_root: Path, toy_study: MakeStudy) -> None:
    save_model(tmp_path / "teacher", vocab_size=80)
    message = refused(toy_study(methods=[lwf_with_teacher(tmp_path / "teacher")]), toy_root)
    assert message == (
        f"teacher {tmp_path}/teacher has a vocabulary of 80, the model one of 64: their predictions cannot be compared"
    )


def test_a_checkpoint_of_another_shape_is_refused(tmp_path: Path, toy_root: Path, toy_study: MakeStudy) -> None:
    save_model(tmp_path / "model")
    config = tmp_path / "model/config.json"
    config.write_text(json.dumps(json.loads(config.read_text()) | {"n_embd": 24}))
    message = refused(
        toy_study(methods=[{"base": "cyclic-cosine", "schedule": FAST}], **imported(tmp_path / "model", "202301")),
        toy_root,
    )
    assert "has shape [" in message and "by its config.json it is [" in message


def test_a_checkpoint_without_some_weights_is_refused(tmp_path: Path, toy_root: Path, toy_study: MakeStudy) -> None:
    """transformers would fill them in at random."""
    from safetensors.torch import load_file, save_file

    save_model(tmp_path / "model")
    weights = load_file(tmp_path / "model/model.safetensors")
    save_file(
        {n: v for n, v in weights.items() if "mlp.c_fc" not in n},
        tmp_path / "model/model.safetensors",
        {"format": "pt"},
    )
    study = toy_study(methods=[{"base": "cyclic-cosine", "schedule": FAST}], **imported(tmp_path / "model", "202301"))
    made = plan.make(study, str(toy_root))
    with pytest.raises(InputError, match=r"it has no weights .*mlp\.c_fc"):
        driver.train(made)
