"""Checkpoints of OpenLM as model folders: equal logits, where they come from, and what is refused."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import openlm as toy
import pytest
import torch
from torch import Tensor, nn

from ticlm.core.errors import InputError
from ticlm.methods.objectives import Causal
from ticlm.platform.models import build, convert, folders
from ticlm.platform.models.openlm import cutoff, read
from ticlm.platform.models.settings import FolderModel
from ticlm.platform.models.sharding import cut_axis
from ticlm.platform.run import driver
from ticlm.platform.study import plan
from ticlm.platform.study.settings import Study

TOKENS = [3, 17, 63, 0, 17, 5, 42, 8, 8, 30, 1, 55]
FAST = {"kind": "cosine", "max_rate": 5e-3, "warmup_steps": 1}
PLACE = "3b_oracle_cutoff_202301/checkpoints/epoch_12.pt"
KINDS = pytest.mark.parametrize("qk_norm", [True, False], ids=["q/k norm", "no q/k norm"])


def converted(folder: Path, qk_norm: bool = True, **options: Any) -> Path:
    path = toy.save(folder / PLACE, toy.weights(qk_norm))
    return convert.convert(path, folder / "model", toy.HEADS, **options).folder


@KINDS
def test_a_converted_model_has_the_logits_of_the_checkpoint(tmp_path: Path, qk_norm: bool) -> None:
    module = folders.load(converted(tmp_path, qk_norm))
    with torch.inference_mode():
        found = module(input_ids=torch.tensor([TOKENS])).logits[0]
    expected = toy.logits(toy.weights(qk_norm), TOKENS)
    assert expected.std() > 0.1, "logits that say nothing"
    torch.testing.assert_close(found.double(), expected, rtol=0, atol=1e-5)


@KINDS
def test_the_conversion_is_exact_up_to_rounding(tmp_path: Path, qk_norm: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """In float64, with what transformers rounds to float32 done in float64, too."""
    from transformers.models.llama import modeling_llama as llama
    from transformers.models.olmoe import modeling_olmoe as olmoe

    def norm(self: Any, x: Tensor) -> Tensor:
        return self.weight * x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.variance_epsilon)  # type: ignore[no-any-return]

    def rotary(self: Any, x: Tensor, position_ids: Tensor) -> tuple[Tensor, Tensor]:
        size = toy.WIDTH // toy.HEADS
        angles = position_ids[..., None] * 10_000.0 ** -(torch.arange(0, size, 2, dtype=torch.float64) / size)
        both = torch.cat((angles, angles), -1)
        return both.cos(), both.sin()

    for kind in (llama.LlamaRMSNorm, olmoe.OlmoeRMSNorm):
        monkeypatch.setattr(kind, "forward", norm)
    for kind in (llama.LlamaRotaryEmbedding, olmoe.OlmoeRotaryEmbedding):
        monkeypatch.setattr(kind, "forward", rotary)
    state = {name: value.double() for name, value in toy.weights(qk_norm).items()}
    checkpoint = read(toy.save(tmp_path / PLACE, state), toy.HEADS)
    module = build.from_config(convert.configuration(checkpoint.shape, 0), Causal()).double().eval()
    if qk_norm:
        module.set_experts_implementation("eager")  # the other kernels know no float64
    _fill(module, dict(convert.translated(checkpoint)))
    with torch.inference_mode():
        found = module(input_ids=torch.tensor([TOKENS])).logits[0]
    torch.testing.assert_close(found, toy.logits(state, TOKENS), rtol=0, atol=1e-10)


def _fill(module: nn.Module, weights: dict[str, Tensor]) -> None:
    """Load weights by the names that files have: one matrix for each part of the expert."""
    for number in range(toy.LAYERS if "lm_head.weight" in weights else 0):
        expert = f"model.layers.{number}.mlp.experts"
        if f"{expert}.0.gate_proj.weight" in weights:
            halves = [weights.pop(f"{expert}.0.{part}_proj.weight") for part in ("gate", "up")]
            weights[f"{expert}.gate_up_proj"] = torch.cat(halves)[None]
            weights[f"{expert}.down_proj"] = weights.pop(f"{expert}.0.down_proj.weight")[None]
    module.load_state_dict(weights)


def test_prefixes_of_wrappers_and_rotary_tables_are_understood(tmp_path: Path) -> None:
    plain = converted(tmp_path / "plain")
    state = {f"module._orig_mod.{name}": value for name, value in toy.weights(True).items()}
    size = toy.WIDTH // toy.HEADS
    table = 10_000.0 ** -(torch.arange(0, size, 2) / size)
    state["module._orig_mod.layers.0.attention.pos_embed.inv_freq"] = table.bfloat16()
    metrics = [{"loss": np.float64(2.5), "n": np.int64(3)}]
    path = toy.save(tmp_path / "other" / PLACE, state, evaluation_metrics=metrics)
    made = convert.convert(path, tmp_path / "other/model", toy.HEADS)
    files = [(folder / "model.safetensors").read_bytes() for folder in (plain, made.folder)]
    assert files[0] == files[1]
    state["module._orig_mod.layers.0.attention.pos_embed.inv_freq"] = table * 2
    with pytest.raises(InputError, match="rotary frequencies are not those of 6 per head"):
        read(toy.save(path, state), toy.HEADS)


def test_the_shards_of_a_large_model_make_the_same_model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = folders.load(converted(tmp_path / "whole"))
    monkeypatch.setattr(convert, "SHARD_BYTES", 20_000)
    folder = converted(tmp_path / "shards")
    assert len(list(folder.glob("model-*-of-*.safetensors"))) > 2 and not (folder / "model.safetensors").exists()
    assert not list(folder.glob("*.part"))
    shards = folders.load(folder).state_dict()
    assert all(torch.equal(shards[name], value) for name, value in whole.state_dict().items())


def test_a_folder_says_where_its_weights_come_from(tmp_path: Path) -> None:
    import hashlib

    folder = converted(tmp_path)
    assert json.loads((folder / "source.json").read_text()) == {
        "format": "OpenLM",
        "file": "epoch_12.pt",
        "sha256": hashlib.sha256((tmp_path / PLACE).read_bytes()).hexdigest(),
        "cutoff": "202301",
        "epoch": 12,
        "name": "toy",
        "samples_seen": 640,
        "step": 10,
    }


@pytest.mark.parametrize(
    ("path", "month"),
    [
        ("oracle_1b_8x_cutoff201305/checkpoints/epoch_12.pt", "201305"),
        ("3b_oracle_cutoff_202407/epoch_21.pt", "202407"),
        ("cyclic/201412/checkpoints/epoch_1.pt", "201412"),
        ("oracle/checkpoints/epoch_201412.pt", None),
    ],
)
def test_the_cutoff_stands_in_the_path(tmp_path: Path, path: str, month: str | None) -> None:
    assert cutoff(tmp_path / path) == month


@pytest.mark.parametrize(
    ("params", "files", "heads"),
    [
        ("model: open_lm_1b_swiglutorch\nqk_norm: True\nseq_len: None\n", {}, 16),
        ("model: /somewhere/toy.json\nmodel_norm: gain_only_lp_layer_norm\n", {"toy.json": {"n_heads": 2}}, 2),
        ("model: toy\nmodel_norm: rms_norm\n", {"toy.json": {"n_heads": 6, "model_norm": "gain_only_layer_norm"}}, 6),
    ],
    ids=["a known name", "a JSON file", "the JSON file counts more"],
)
def test_the_heads_are_those_of_the_model_that_params_txt_names(
    tmp_path: Path, params: str, files: dict[str, Any], heads: int
) -> None:
    state = toy.weights(True)
    if heads == 16:
        state = {name: value.repeat(*[16] * value.ndim) for name, value in state.items()}
    path = toy.save(tmp_path / PLACE, state, params)
    for name, content in files.items():
        (path.parent / name).write_text(json.dumps(content))
    assert read(path).shape.heads == heads


def refused(path: Path, heads: int | None = toy.HEADS, **options: Any) -> str:
    with pytest.raises(InputError) as caught:
        convert.convert(path, path.parent / "out", heads, **options)
    assert "\n" not in str(caught.value)
    left = [file.name for file in path.parent.iterdir() if "out" in file.name]
    assert left == [], "something of the folder was left"
    return str(caught.value)


def _without(name: str) -> Callable[[dict[str, Tensor]], dict[str, Tensor]]:
    return lambda state: {key: value for key, value in state.items() if key != name}


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (_without("layers.1.attention.k_norm.weight"), "1 weights are missing, the first is layers.1.attention.k_norm"),
        (_without("layers.0.feed_forward.w3.weight"), "no weights of OpenLM: layers.0.feed_forward.w3.weight is miss"),
        (lambda state: state | {"layers.0.attention_norm.bias": torch.zeros(2)}, "not of OpenLM's architecture, the"),
        (lambda state: state | {"norm.weight": torch.ones(7)}, "norm.weight has shape [7], expected [24]"),
        (lambda state: state | {"output.weight": torch.full((64, 24), torch.nan)}, "lm_head.weight are not all finite"),
        (lambda state: state | {"layers.99999999.norm.weight": torch.zeros(1)}, "its layers are numbered up to 999"),
        (lambda state: state | {"norm.weight": torch.ones(24).to_sparse()}, "norm.weight is no tensor of real numbers"),
        (lambda state: state | {"norm.weight": torch.ones(24, device="meta")}, "norm.weight is no tensor of real num"),
        (lambda state: state | {"norm.weight": torch.ones(24) + 1j}, "norm.weight is no tensor of real numbers"),
        (lambda state: {}, "it has no state_dict of tensors"),
        (lambda state: {"norm.weight": 3}, "it has no state_dict of tensors"),
    ],
    ids=[
        "a norm gone",
        "a matrix gone",
        "a bias",
        "a shape",
        "a NaN",
        "a layer",
        "sparse",
        "meta",
        "complex",
        "empty",
        "no tensors",
    ],
)
def test_a_checkpoint_of_another_model_is_refused(
    tmp_path: Path, change: Callable[[dict[str, Tensor]], Any], said: str
) -> None:
    assert said in refused(toy.save(tmp_path / PLACE, change(toy.weights(True))))


@pytest.mark.parametrize(
    ("params", "heads", "said"),
    [
        ("", None, "no params.txt names open_lm_1b, open_lm_1b_swiglutorch, open_lm_3b"),
        ("model: open_lm_9t\n", None, "model open_lm_9t in params.txt is none of open_lm_1b"),
        ("", 5, "5 heads do not divide a width of 24 into even parts"),
        ("", 0, "0 heads do not divide a width of 24 into even parts"),
        ("n_heads: many\n", None, "n_heads must be a whole number, got 'many'"),
        ("", 24, "24 heads do not divide a width of 24 into even parts"),
        ("model_norm: rms_norm\n", 4, "model_norm rms_norm cannot be converted, only gain_only_lp_layer_norm or"),
        ("positional_embedding_type: head_rotary\n", 4, "positional_embedding_type head_rotary cannot be converted"),
        ("ffn_type: gemma_geglu\n", 4, "ffn_type gemma_geglu cannot be converted, only swiglu or swiglu_torch"),
    ],
)
def test_settings_that_are_unknown_or_mean_another_model_are_refused(
    tmp_path: Path, params: str, heads: int | None, said: str
) -> None:
    assert said in refused(toy.save(tmp_path / PLACE, toy.weights(True), params), heads)


def test_a_file_that_is_cut_off_or_runs_code_is_refused(tmp_path: Path) -> None:
    path = toy.save(tmp_path / PLACE, toy.weights(True))
    path.write_bytes(path.read_bytes()[:-5000])
    assert "not a checkpoint of torch, or cut off" in refused(path)
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
    assert "not a checkpoint of torch, or cut off" in refused(path)
    torch.save({"state_dict": toy.weights(True), "name": Path("/")}, path)
    assert "refused: its pickle asks for pathlib" in refused(path)
    path.write_text("weights\n")
    assert "it is no zip archive, as torch.save writes" in refused(path)
    assert "no such file" in refused(path.with_name("epoch_13.pt"))
    torch.save([1, 2], path)
    assert "it has no state_dict" in refused(path)


def test_a_folder_that_cannot_be_made_is_refused(tmp_path: Path) -> None:
    path = toy.save(tmp_path / PLACE, toy.weights(True))
    for folder, said in ((path / "out", "cannot be made: File exists"), (Path("s3://a/b"), "not to a URI")):
        with pytest.raises(InputError, match=said):
            convert.convert(path, folder, toy.HEADS)


def test_a_models_file_that_is_no_object_or_says_none_is_no_fault(tmp_path: Path) -> None:
    path = toy.save(tmp_path / PLACE, toy.weights(True), "model: own\n")
    (path.parent / "own.json").write_text("[1, 2]")
    assert "own.json: not a JSON object" in refused(path)
    (path.parent / "own.json").write_text('{"n_heads": 4, "seq_len": null}')
    assert read(path).shape.context == 2048


def test_a_folder_that_exists_is_not_written_over(tmp_path: Path) -> None:
    folder = converted(tmp_path)
    with pytest.raises(InputError, match="model exists; choose another folder"):
        converted(tmp_path)
    assert (folder / "config.json").exists()


def test_a_tokenizer_is_copied_if_it_belongs_to_the_model(tmp_path: Path, toy_root: Path) -> None:
    own = toy_root / "corpora/toy@1/tokenizer"
    folder = converted(tmp_path, tokenizer=own)
    assert (folder / "tokenizer.json").read_bytes() == (own / "tokenizer.json").read_bytes()
    path = tmp_path / PLACE
    assert "there is no tokenizer.json" in refused(path, tokenizer=tmp_path)
    (tmp_path / "wrong.json").write_text("{}")
    assert "not a tokenizer.json" in refused(path, tokenizer=tmp_path / "wrong.json")
    large = json.loads((own / "tokenizer.json").read_text())
    large["model"]["vocab"]["more"] = 64
    (tmp_path / "large.json").write_text(json.dumps(large))
    assert "it has a token 64, and the model knows 64" in refused(path, tokenizer=tmp_path / "large.json")


def test_the_matrices_of_the_expert_are_spread_over_workers(tmp_path: Path) -> None:
    """Cut along their first axis, which has one row, they would all lie on the first worker."""
    weights = folders.load(converted(tmp_path)).state_dict()
    shapes = {name.rpartition(".")[2]: weight.shape for name, weight in weights.items() if "layers.0.mlp.exp" in name}
    assert shapes == {"gate_up_proj": (1, 2 * toy.INNER, toy.WIDTH), "down_proj": (1, toy.WIDTH, toy.INNER)}
    assert [cut_axis(shapes["gate_up_proj"], world) for world in (1, 2, 3, 8)] == [1, 1, 0, 1], "80 is no multiple of 3"
    assert {cut_axis(weight.shape, 2) for weight in weights.values() if weight.ndim < 3} == {0}
    assert cut_axis((4, 80, 24), 2) == 0, "several experts"


def test_the_parameters_are_those_of_the_preset_but_for_the_router() -> None:
    """The published 1B: one row of routers a layer, which nothing depends on."""
    from ticlm.platform.models.openlm import Shape

    shape = Shape(layers=24, width=2048, inner=5632, vocabulary=50_432, heads=16, qk_norm=True)
    made = convert.configuration(shape, 0)
    count = build.count_parameters(made, Causal())
    assert count == 1_439_893_504 + 24 * 2048
    assert (made.num_hidden_layers, made.hidden_size) == (24, 2048), "the FLOPs of attention are counted from these"
    plain = convert.configuration(Shape(24, 2048, 5632, 50_432, 16, qk_norm=False), 0)
    assert build.count_parameters(plain, Causal()) == 1_439_795_200


@KINDS
def test_a_study_starts_from_a_converted_model(
    tmp_path: Path, toy_root: Path, toy_study: Callable[..., Study], qk_norm: bool
) -> None:
    """It is the checkpoint of its cutoff, is scored as such, and training goes on from it."""
    folder = converted(tmp_path, qk_norm, tokenizer=toy_root / "corpora/toy@1/tokenizer")
    study = toy_study(
        methods=[{"base": "cyclic-cosine", "schedule": FAST}],
        model=FolderModel(path=str(folder), as_of="202301").model_dump(),
        initial={"budget": 0, "schedule": FAST},
    )
    made = plan.make(study, str(toy_root))
    driver.train(made)
    driver.evaluate(made)
    assert [made.records[key].about["steps"] for key in made.tree.runs[0].rounds.values()] == [0, 4, 4, 4]
