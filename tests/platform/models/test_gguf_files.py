"""Models in GGUF become folders with equal logits; what is wrong with one is a line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch
from speakers import END, byte_level
from transformers import AutoModelForCausalLM, LlamaConfig, LlamaForCausalLM

from ticlm.core.errors import InputError
from ticlm.platform.cli import main
from ticlm.platform.eval import model_folder, sample
from ticlm.platform.models import folders, gguf_files

NAMES = {
    "model.embed_tokens": "token_embd",
    "model.norm": "output_norm",
    "lm_head": "output",
    "input_layernorm": "attn_norm",
    "post_attention_layernorm": "ffn_norm",
    "self_attn.q_proj": "attn_q",
    "self_attn.k_proj": "attn_k",
    "self_attn.v_proj": "attn_v",
    "self_attn.o_proj": "attn_output",
    "mlp.gate_proj": "ffn_gate",
    "mlp.up_proj": "ffn_up",
    "mlp.down_proj": "ffn_down",
}
HEADS = 2


def write_gguf(path: Path, tied: bool = True, architecture: str = "llama") -> LlamaForCausalLM:
    """Write a tiny Llama with a byte-level tokenizer, as converters of llama.cpp do. Returns the same model."""
    gguf = pytest.importorskip("gguf", reason="needs the extra gguf")
    tokenizer = json.loads(byte_level().to_str())["model"]
    tokens = sorted(tokenizer["vocab"], key=tokenizer["vocab"].__getitem__)
    torch.manual_seed(5)
    config = LlamaConfig(
        vocab_size=len(tokens), hidden_size=32, intermediate_size=64, num_hidden_layers=2, num_attention_heads=HEADS
    )
    config.tie_word_embeddings = tied
    module = LlamaForCausalLM(config).eval()
    for parameter in module.parameters():
        torch.nn.init.normal_(parameter, std=0.3)
    writer = gguf.GGUFWriter(path, architecture)
    writer.add_context_length(64)
    writer.add_embedding_length(32)
    writer.add_block_count(2)
    writer.add_feed_forward_length(64)
    writer.add_head_count(HEADS)
    writer.add_head_count_kv(HEADS)
    writer.add_layer_norm_rms_eps(config.rms_norm_eps)
    writer.add_vocab_size(len(tokens))
    writer.add_tokenizer_model("gpt2")
    writer.add_token_list(tokens)
    writer.add_token_types([3 if token == END else 1 for token in tokens])
    writer.add_token_merges([" ".join(pair) for pair in tokenizer["merges"]])
    writer.add_bos_token_id(tokens.index(END))
    writer.add_eos_token_id(tokens.index(END))
    for name, value in module.state_dict().items():
        if tied and name == "lm_head.weight":
            continue
        place, _, kind = name.removeprefix("model.layers.").rpartition(".")
        block, _, part = place.partition(".")
        known = NAMES[part] if block.isdigit() else NAMES[place]
        if known in ("attn_q", "attn_k"):  # llama.cpp turns pairs of neighbours, transformers the two halves of a head
            value = value.reshape(HEADS, 2, -1, 32).swapaxes(1, 2).reshape(32, 32)
        whole = f"blk.{block}.{known}.{kind}" if block.isdigit() else f"{known}.{kind}"
        writer.add_tensor(whole, value.numpy())
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return module


@pytest.mark.parametrize("tied", [True, False])
def test_a_folder_has_the_logits_of_the_file(tmp_path: Path, tied: bool) -> None:
    source = write_gguf(tmp_path / "m.gguf", tied)
    made = gguf_files.convert(tmp_path / "m.gguf", tmp_path / "model")
    ids = torch.tensor([[3, 17, 63, 0, 17, 5, 42]])
    read = AutoModelForCausalLM.from_pretrained(tmp_path, gguf_file="m.gguf", dtype=torch.float32).eval()
    with torch.inference_mode():
        found, theirs, own = (one(input_ids=ids).logits for one in (folders.load(made.folder).eval(), read, source))
    assert torch.equal(found, theirs)
    torch.testing.assert_close(found, own, rtol=1e-5, atol=1e-5)
    config = json.loads((made.folder / "config.json").read_text())
    assert "quantization_config" not in config and made.architecture == "LlamaForCausalLM"
    assert made.parameters == sum(one.numel() for one in source.parameters())
    assert sample.generate(str(tmp_path), str(made.folder), "Paris is", 3, 0.0, 0).startswith("Paris is")
    assert json.loads((made.folder / "source.json").read_text())["file"] == "m.gguf"


def test_the_command_makes_a_folder_and_eval_names_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    write_gguf(tmp_path / "m.gguf")
    monkeypatch.chdir(tmp_path)
    for name in ("m.gguf", "."):
        with pytest.raises(InputError, match=r"is a model in GGUF; .* with: ticlm convert m\.gguf m$"):
            model_folder.find(str(tmp_path), name)
    monkeypatch.setattr("sys.argv", ["ticlm", "convert", "m.gguf", "m"])
    with pytest.raises(SystemExit) as ended:
        main.main()
    assert not ended.value.code and "m: LlamaForCausalLM, " in capsys.readouterr().out
    assert model_folder.find(str(tmp_path), "m") == str(tmp_path / "m")


def test_what_cannot_be_converted_is_one_line(tmp_path: Path) -> None:
    write_gguf(tmp_path / "m.gguf")
    write_gguf(tmp_path / "other.gguf", architecture="nobodys")
    (tmp_path / "cut.gguf").write_bytes((tmp_path / "m.gguf").read_bytes()[:3000])
    (tmp_path / "taken").mkdir()
    for file, folder, said in (
        ("other.gguf", "new", "no causal model could be read: .*nobodys"),
        ("cut.gguf", "new", "no causal model could be read: "),
        ("m.gguf", "taken", "exists; choose another folder"),
    ):
        with pytest.raises(InputError, match=said) as caught:
            gguf_files.convert(tmp_path / file, tmp_path / folder)
        assert "\n" not in str(caught.value) and not (tmp_path / "new").exists()
    with pytest.raises(InputError, match="3 files in GGUF are there; name one, such as "):
        gguf_files.found_at(tmp_path)
