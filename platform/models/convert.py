"""Turning OpenLM checkpoints into folders in Hugging Face's format that give equal logits.

OpenLM norms by LayerNorm with a gain alone, for which transformers has no architecture. But LayerNorm(x) is
RMSNorm(x - mean(x)), and the mean can be taken out of the weights before:

- all that is added to the residual stream (embeddings, out_proj, w3) gets a mean of 0 over the width, so the stream has
  a mean of 0 everywhere. A LayerNorm does not see the difference, and is then an RMSNorm;
- queries and keys get a mean of 0 over all heads through the rows of their projections, if there is a q/k norm.

So a model without q/k norm is a Llama, and one with it is an OLMoE with a single expert: the router's probability of
one expert is 1, whatever its weights are. Equal are the logits: a model that is trained further is trained as one with
RMSNorm.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor
from transformers import AutoConfig, PretrainedConfig

from ticlm.core.errors import InputError
from ticlm.platform.models.folders import disk_errors
from ticlm.platform.models.openlm import THETA, Checkpoint, Shape, cutoff, read

SOURCE = "source.json"
SHARD_BYTES = 2 << 30
TOKENIZER = ("tokenizer.json", "tokenizer_config.json", "special_tokens_map.json")
END_OF_TEXT = "<|endoftext|>"


@dataclass(frozen=True)
class Converted:
    """A converted folder, its architecture and its parameters, and the last month that it was trained on, if known."""

    folder: Path
    architecture: str
    parameters: int
    cutoff: str | None = None


def convert(path: Path, folder: Path, heads: int | None = None, tokenizer: Path | None = None) -> Converted:
    """Write a model folder with the logits of an OpenLM checkpoint. It appears when it is whole.

    `tokenizer` is a tokenizer.json or a folder that has one; it is copied. A weight is in memory while it is converted,
    and 2 GiB of them until they are written.

    Raises InputError if the folder exists, or if the checkpoint or the tokenizer cannot be used.
    """
    check_new(folder)
    checkpoint = read(path, heads)
    files = tokenizer_files(tokenizer, checkpoint.shape.vocabulary) if tokenizer else {}
    made = configuration(checkpoint.shape, _end_of_text(files))
    with new_folder(folder) as whole:
        parameters = _write_weights(checkpoint, whole)
        made.save_pretrained(whole)
        for name, file in files.items():
            shutil.copyfile(file, whole / name)
        (whole / SOURCE).write_text(json.dumps(_source(checkpoint), indent=1))
    return Converted(folder, made.architectures[0], parameters, cutoff(path))


def check_new(folder: Path) -> None:
    """Raise InputError if a folder is there already, or if it is a URI."""
    if folder.parts and folder.parts[0].endswith(":"):
        raise InputError(f"{folder}: the model is written to a folder of this machine, not to a URI")
    if folder.exists():
        raise InputError(f"{folder} exists; choose another folder")


@contextmanager
def new_folder(folder: Path) -> Iterator[Path]:
    """Give a folder to write into, which is `folder` once the block has ended well."""
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"{folder}: cannot be made: {error.strerror}; choose another folder") from None
    with tempfile.TemporaryDirectory(prefix=f".{folder.name}-", dir=folder.parent) as temporary:
        whole = Path(temporary, "model")
        whole.mkdir()
        yield whole
        os.replace(whole, folder)


def configuration(shape: Shape, end_of_text: int) -> PretrainedConfig:
    """Return the transformers configuration of an OpenLM model."""
    made = AutoConfig.for_model(
        "olmoe" if shape.qk_norm else "llama",
        hidden_size=shape.width,
        num_hidden_layers=shape.layers,
        num_attention_heads=shape.heads,
        num_key_value_heads=shape.heads,
        intermediate_size=shape.inner,
        vocab_size=shape.vocabulary,
        max_position_embeddings=shape.context,
        rms_norm_eps=1e-5,
        rope_parameters={"rope_type": "default", "rope_theta": THETA},
        tie_word_embeddings=False,
        bos_token_id=end_of_text,
        eos_token_id=end_of_text,
        pad_token_id=None,
        use_cache=False,
        dtype="float32",
        **({"num_experts": 1, "num_experts_per_tok": 1} if shape.qk_norm else {}),
    )
    made.architectures = ["OlmoeForCausalLM" if shape.qk_norm else "LlamaForCausalLM"]
    return made


def translated(checkpoint: Checkpoint) -> Iterator[tuple[str, Tensor]]:
    """Yield the weights by their names in transformers, one at a time, in the dtype that they have."""
    weights, shape = checkpoint.weights, checkpoint.shape
    yield "model.embed_tokens.weight", _centred(weights["tok_embeddings.weight"], 1)
    for number in range(shape.layers):
        own, name = f"layers.{number}", f"model.layers.{number}"
        projections = weights[f"{own}.attention.in_proj.weight"].chunk(3)
        for part, projection in zip("qkv", projections, strict=True):
            centred = _centred(projection, 0) if shape.qk_norm and part != "v" else projection
            yield f"{name}.self_attn.{part}_proj.weight", centred
        if shape.qk_norm:
            for part in "qk":
                yield f"{name}.self_attn.{part}_norm.weight", weights[f"{own}.attention.{part}_norm.weight"]
        yield f"{name}.self_attn.o_proj.weight", _centred(weights[f"{own}.attention.out_proj.weight"], 0)
        inner = f"{name}.mlp.experts.0" if shape.qk_norm else f"{name}.mlp"
        for part, half in zip(("gate", "up"), weights[f"{own}.feed_forward.w12.weight"].chunk(2), strict=True):
            yield f"{inner}.{part}_proj.weight", half
        yield f"{inner}.down_proj.weight", _centred(weights[f"{own}.feed_forward.w3.weight"], 0)
        if shape.qk_norm:  # the router; it has no effect with one expert
            yield f"{name}.mlp.gate.weight", torch.zeros(1, shape.width)
        yield f"{name}.input_layernorm.weight", weights[f"{own}.attention_norm.weight"]
        yield f"{name}.post_attention_layernorm.weight", weights[f"{own}.ffn_norm.weight"]
    yield "model.norm.weight", weights["norm.weight"]
    yield "lm_head.weight", weights["output.weight"]


def _centred(weight: Tensor, dim: int) -> Tensor:
    """Return a matrix, float32 or wider, without its mean over `dim`."""
    # In float32 at least, and the mean in float64: LayerNorm takes away what is left of the mean, RMSNorm does not.
    kept = weight.float() if weight.dtype in (torch.bfloat16, torch.float16) else weight
    return kept - kept.mean(dim, keepdim=True, dtype=torch.float64).to(kept.dtype)


def _write_weights(checkpoint: Checkpoint, folder: Path) -> int:
    """Write float32 safetensors of at most 2 GiB and their index. Returns the number of parameters."""
    from safetensors.torch import save_file

    shards: list[list[str]] = []
    pending: dict[str, Tensor] = {}
    total = 0

    def flush() -> None:
        shards.append(list(pending))
        with disk_errors(folder):
            save_file(pending, folder / f"{len(shards)}.part", metadata={"format": "pt"})
        pending.clear()

    for name, weight in translated(checkpoint):
        if not bool(weight.isfinite().all()):
            raise InputError(f"{checkpoint.path}: the weights of {name} are not all finite numbers")
        whole = weight.to(torch.float32, copy=True).contiguous()
        if pending and sum(held.nbytes for held in pending.values()) + whole.nbytes > SHARD_BYTES:
            flush()
        pending[name] = whole
        total += whole.numel()
    flush()
    if len(shards) == 1:
        os.replace(folder / "1.part", folder / "model.safetensors")
        return total
    where: dict[str, str] = {}
    for number, names in enumerate(shards, 1):
        file = f"model-{number:05}-of-{len(shards):05}.safetensors"
        os.replace(folder / f"{number}.part", folder / file)
        where |= dict.fromkeys(names, file)
    index = {"metadata": {"total_size": 4 * total}, "weight_map": where}
    (folder / "model.safetensors.index.json").write_text(json.dumps(index, indent=1))
    return total


def _source(checkpoint: Checkpoint) -> dict[str, object]:
    """Return where a folder's weights come from. No path is in it: a folder has the same identity wherever it lies."""
    with checkpoint.path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    path, about = checkpoint.path, {key: checkpoint.about[key] for key in sorted(checkpoint.about)}
    return {"format": "OpenLM", "file": path.name, "sha256": digest, "cutoff": cutoff(path), **about}


def tokenizer_files(tokenizer: Path, vocabulary: int) -> dict[str, Path]:
    """Return the files of a tokenizer by name. Raises InputError if there is none, or if it does not suit the model."""
    from tokenizers import Tokenizer

    files = {"tokenizer.json": tokenizer}
    if tokenizer.is_dir():
        files = {name: tokenizer / name for name in TOKENIZER if (tokenizer / name).is_file()}
    if "tokenizer.json" not in files or not files["tokenizer.json"].is_file():
        raise InputError(f"--tokenizer {tokenizer}: there is no tokenizer.json")
    try:
        found = Tokenizer.from_file(str(files["tokenizer.json"]))
    except Exception as error:  # the library raises plain Exception
        raise InputError(f"--tokenizer {tokenizer}: not a tokenizer.json: {str(error).splitlines()[0]}") from None
    highest = max(found.get_vocab().values(), default=0)
    if highest >= vocabulary:
        raise InputError(f"--tokenizer {tokenizer}: it has a token {highest}, and the model knows {vocabulary}")
    return files


def _end_of_text(files: dict[str, Path]) -> int:
    """Return the token between documents; without a tokenizer 0, as in GPT-NeoX-20B."""
    from tokenizers import Tokenizer

    if not files:
        return 0
    return int(Tokenizer.from_file(str(files["tokenizer.json"])).token_to_id(END_OF_TEXT) or 0)
