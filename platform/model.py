"""Models: a transformers config to a module, sharded or whole; published folders and back.

The presets `1b` and `3b` have OpenLM's shapes (facts of TiC-LM's release) in the transformers architectures that come
closest, with the same parameter count to the last one: `3b` is an OLMo-2, whose q/k norm too spans all heads at once;
the published count of `1b` has no q/k norm, so it is a Llama. They differ in using RMSNorm where OpenLM has a gain-only
LayerNorm, and OLMo-2 in norming the output of a block instead of its input.
"""

from __future__ import annotations

import json
import os
import re
import tempfile
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
from safetensors import SafetensorError
from torch import nn
from torch.distributed import HashStore  # type: ignore[attr-defined]
from torch.distributed.checkpoint.state_dict import StateDictOptions, get_model_state_dict
from torch.distributed.fsdp import FSDPModule, MixedPrecisionPolicy, fully_shard
from transformers import AutoConfig, AutoModelForCausalLM, AutoModelForSeq2SeqLM, PretrainedConfig, PreTrainedModel

from ticlm.methods.seams import Adapter
from ticlm.platform.errors import InputError
from ticlm.platform.objective import AnyObjective, Seq2Seq
from ticlm.platform.order import keyed
from ticlm.platform.store import Store
from ticlm.platform.study import ConfigModel, FolderModel, Model, Precision, PresetModel

ADAPTERS = "adapters.json"
ADAPTER_WEIGHTS = "adapters.safetensors"
OBJECTIVE = "objective.json"

OPENLM = {"rms_norm_eps": 1e-5, "rope_theta": 10_000.0, "tie_word_embeddings": False, "vocab_size": 50_432}
SHAPES: dict[str, dict[str, Any]] = {
    "tiny": {
        "model_type": "olmo2",
        "hidden_size": 64,
        "num_hidden_layers": 2,
        "num_attention_heads": 2,
        "intermediate_size": 192,
        "rms_norm_eps": 1e-5,
        "tie_word_embeddings": True,
        "max_position_embeddings": 512,
    },
    "1b": {
        "model_type": "llama",
        "hidden_size": 2048,
        "num_hidden_layers": 24,
        "num_attention_heads": 16,
        "intermediate_size": 5632,
        "max_position_embeddings": 2048,
        **OPENLM,
    },
    "3b": {
        "model_type": "olmo2",
        "hidden_size": 2560,
        "num_hidden_layers": 32,
        "num_attention_heads": 32,
        "intermediate_size": 6912,
        "max_position_embeddings": 2048,
        **OPENLM,
    },
}

_MAKING = threading.RLock()
"""Held while a module is made: transformers swaps functions of torch and its own for that time, and two threads that do
so leave the wrong ones behind."""


@dataclass(frozen=True)
class Workers:
    """This process among those that train a chain together."""

    rank: int = 0
    world: int = 1
    device: str = "cpu"

    def barrier(self) -> None:
        if self.world > 1:
            dist.barrier()

    def agree(self, value: Any) -> Any:
        """Rank 0's value, on every rank."""
        if self.world == 1:
            return value
        box = [value]
        dist.broadcast_object_list(box, src=0, device=torch.device(self.device))
        return box[0]


@contextmanager
def local_group(precision: Precision, wanted: str) -> Iterator[str]:
    """The device for one worker alone; mixed precision goes through FSDP2, which needs a process group even then."""
    device = ("cuda" if torch.cuda.is_available() else "cpu") if wanted == "auto" else wanted
    if precision.compute == "float32" or dist.is_initialized():
        yield device
        return
    dist.init_process_group("nccl" if device == "cuda" else "gloo", store=HashStore(), rank=0, world_size=1)
    try:
        yield device
    finally:
        dist.destroy_process_group()


def config(model: Model, vocab_size: int, end_of_text: int | None = None) -> PretrainedConfig:
    """The transformers config of a study's model for a tokenizer of `vocab_size` tokens."""
    ends = {"eos_token_id": end_of_text, "bos_token_id": end_of_text, "pad_token_id": None, "use_cache": False}
    try:
        made = _config(model, {"vocab_size": vocab_size}, ends)
    except InputError:
        raise
    except Exception as error:  # transformers checks with errors of many kinds
        raise InputError(f"model: {' '.join(str(error).split())[:300]}") from None
    if made.vocab_size < vocab_size:
        raise InputError(f"model has a vocabulary of {made.vocab_size}, the corpus's tokenizer has {vocab_size} tokens")
    return made


def _config(model: Model, vocabulary: dict[str, Any], ends: dict[str, Any]) -> PretrainedConfig:
    match model:
        case PresetModel(name=name, changes=changes):
            return AutoConfig.for_model(**{**vocabulary, **SHAPES[name], **ends, **json.loads(changes)})
        case ConfigModel(model_type=model_type, config=text):
            return AutoConfig.for_model(model_type, **{**vocabulary, **ends, **json.loads(text)})
        case FolderModel(path=path):
            with tempfile.TemporaryDirectory(prefix="ticlm-config-") as folder:
                try:
                    Path(folder, "config.json").write_bytes(Store(path).read("config.json"))
                except FileNotFoundError:
                    raise InputError(f"model.path {path}: no config.json there, so no model folder") from None
                return AutoConfig.from_pretrained(folder)


def count_parameters(made: PretrainedConfig, objective: AnyObjective) -> int:
    """All parameters, embeddings included, tied ones once."""
    with torch.device("meta"):
        return sum(p.numel() for p in _from_config(made, objective).parameters())


def shapes(made: PretrainedConfig, objective: AnyObjective) -> dict[str, tuple[int, ...]]:
    """Of every weight by name."""
    with torch.device("meta"):
        return {name: tuple(value.shape) for name, value in _from_config(made, objective).state_dict().items()}


def flops_per_token(made: PretrainedConfig, parameters: int, length: int) -> tuple[int, int]:
    """Training FLOPs per token: 6N, and 6N + 12·layers·width·length with attention (PaLM, appendix B)."""
    layers = int(getattr(made, "num_hidden_layers", 0) or 0)
    width = int(getattr(made, "hidden_size", 0) or getattr(made, "d_model", 0) or 0)
    return 6 * parameters, 6 * parameters + 12 * layers * width * length


def _from_config(made: PretrainedConfig, objective: AnyObjective) -> PreTrainedModel:
    family = AutoModelForSeq2SeqLM if isinstance(objective, Seq2Seq) else AutoModelForCausalLM
    try:
        with _MAKING:
            return family.from_config(made, dtype=torch.float32, attn_implementation="sdpa")
    except (ValueError, TypeError, ZeroDivisionError) as error:
        raise InputError(f"model: {' '.join(str(error).split())[:300]}") from None


def scratch(made: PretrainedConfig, objective: AnyObjective, seed: int) -> nn.Module:
    """A module with random weights that depend on `seed` alone."""
    with _MAKING, torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        module: nn.Module = _from_config(made, objective)
        return module


def load(folder: Path, objective: AnyObjective | None = None) -> nn.Module:
    """A published (or any Hugging Face) folder as a module in float32 on the CPU, its stack of adapters rebuilt and
    named in `ticlm_adapters`. Without an objective, it is the one that a published folder names, or causal."""
    kind = objective.kind if objective is not None else _kind(folder)
    family = AutoModelForSeq2SeqLM if kind == Seq2Seq().kind else AutoModelForCausalLM
    try:
        how = {"dtype": torch.float32, "attn_implementation": "sdpa", "local_files_only": True}
        with _MAKING:
            module, found = family.from_pretrained(folder, output_loading_info=True, **how)
    except (OSError, ValueError, RuntimeError, SafetensorError) as error:
        if getattr(error, "errno", None) is not None or isinstance(error, torch.OutOfMemoryError):
            raise  # the disk's or the device's, not the folder's
        raise InputError(f"{folder}: no model could be loaded: {str(error).splitlines()[0]}") from None
    if found["missing_keys"]:
        raise InputError(f"{folder}: no model could be loaded: it has no weights {min(found['missing_keys'])}")
    stack = adapters(folder)
    if stack:
        from safetensors.torch import load_file

        for depth, adapter in enumerate(stack):
            extend(module, adapter, depth)
        missing = module.load_state_dict(load_file(folder / ADAPTER_WEIGHTS), strict=False)
        if missing.unexpected_keys:
            raise InputError(f"{folder}/{ADAPTER_WEIGHTS}: unknown weights {missing.unexpected_keys[0]}")
    module.ticlm_adapters = stack
    return module  # type: ignore[no-any-return]


def _kind(folder: Path) -> str:
    path = folder / OBJECTIVE
    return str(json.loads(path.read_text())["kind"]) if path.exists() else "causal"


def adapters(folder: Path) -> list[Adapter]:
    """Return the stack of adapters saved in a folder, bottom first. Raises InputError if a class is not found."""
    path = folder / ADAPTERS
    entries = json.loads(path.read_text()) if path.exists() else []
    return [_adapter_class(entry, path).model_validate(entry["settings"]) for entry in entries]


def _adapter_class(entry: Mapping[str, Any], path: Path) -> type[Adapter]:
    """Return the adapter class that an entry names: one that is imported already, else from the module it was saved in."""
    known = {kind.identity_name: kind for kind in _subclasses(Adapter)}
    if entry["type"] not in known:
        with suppress(ImportError):
            import_module(entry["module"])
        known = {kind.identity_name: kind for kind in _subclasses(Adapter)}
    if entry["type"] not in known:
        raise InputError(f"{path}: no adapter is called {entry['type']}; looked for it in {entry['module']}")
    return known[entry["type"]]


def _subclasses(kind: type[Adapter]) -> Iterator[type[Adapter]]:
    for sub in kind.__subclasses__():
        yield sub
        yield from _subclasses(sub)


def extend(module: nn.Module, adapter: Adapter, depth: int, seed: int = 0) -> None:
    """Freeze what is there and add an adapter on top, its random weights a function of `seed` and `depth` alone; raises
    where the adapter breaks the naming contract."""
    module.requires_grad_(False)
    before = {name for name, _ in module.named_parameters()}
    with _MAKING, torch.random.fork_rng(devices=[]):
        torch.manual_seed(int(keyed(seed, depth).integers(1 << 62)))
        adapter.add(module, depth)
    added = [name for name, _ in module.named_parameters() if name not in before]
    if not added or any(f"adapter_{depth}" not in name.split(".") for name in added):
        raise TypeError(f"{type(adapter).__name__} must add parameters named adapter_{depth}, got {added[:3]}")


def place(module: nn.Module, precision: Precision, workers: Workers) -> nn.Module:
    """The module on its device, sharded over the workers (FSDP2, a unit per block); alone in float32 it stays whole.

    Every rank brings the same whole module, so nothing needs to be sent; host memory holds it once per rank until then.
    """
    placed = _shard(module, precision, workers)
    return placed if isinstance(placed, FSDPModule) else placed.to(workers.device)


def _shard(module: nn.Module, precision: Precision, workers: Workers) -> nn.Module:
    if workers.world == 1 and precision.compute == "float32":
        return module
    policy = MixedPrecisionPolicy(
        param_dtype=getattr(torch, precision.compute), reduce_dtype=getattr(torch, precision.reduce)
    )
    mesh = dist.device_mesh.init_device_mesh(workers.device, (workers.world,))
    for block in _blocks(module):
        fully_shard(block, mesh=mesh, mp_policy=policy)
    fully_shard(module, mesh=mesh, mp_policy=policy)
    return module


def twin(module: nn.Module, objective: AnyObjective, precision: Precision, workers: Workers) -> nn.Module:
    """A second module with the weights of a placed one, sharded like it; no rank ever holds more than its shard."""
    with torch.device("meta"):
        copy = _from_config(module.config, objective)
        for depth, adapter in enumerate(getattr(module, "ticlm_adapters", [])):
            extend(copy, adapter, depth)
    made = _shard(copy, precision, workers).to_empty(device=workers.device)
    theirs = dict(module.named_parameters(remove_duplicate=False)) | dict(module.named_buffers(remove_duplicate=False))
    with torch.no_grad():
        for name, value in [*made.named_parameters(remove_duplicate=False), *made.named_buffers()]:
            value.copy_(theirs[name])
    return made


def _blocks(module: nn.Module) -> list[nn.Module]:
    """The repeated blocks: the members of every list of modules not inside another."""
    lists = [m for m in module.modules() if isinstance(m, nn.ModuleList)]
    inner = {id(sub) for outer in lists for sub in outer.modules() if sub is not outer}
    return [block for blocks in lists if id(blocks) not in inner for block in blocks]


def whole_state(module: nn.Module) -> dict[str, Any]:
    """All weights, unsharded, on rank 0's CPU; every rank must call."""
    return get_model_state_dict(module, options=StateDictOptions(full_state_dict=True, cpu_offload=True))


def publish(
    state: Mapping[str, torch.Tensor],
    made: PretrainedConfig,
    objective: AnyObjective,
    stack: list[Adapter],
    folder: Path,
) -> None:
    """Write a folder that `from_pretrained` loads: config, safetensors, the objective's kind, adapters beside them."""
    base = {name: value for name, value in state.items() if not _is_adapter(name)}
    with torch.device("meta"):
        module = _from_config(made, objective)
    module.load_state_dict(base, strict=False, assign=True)
    module.tie_weights()
    folder.mkdir(parents=True, exist_ok=True)
    with _disk_errors(folder):
        module.save_pretrained(folder)
    (folder / OBJECTIVE).write_text(json.dumps({"kind": objective.kind}))
    if stack:
        from safetensors.torch import save_file

        own = {name: value.contiguous() for name, value in state.items() if _is_adapter(name)}
        with _disk_errors(folder):
            save_file(own, folder / ADAPTER_WEIGHTS, metadata={"format": "pt"})
        entries = [
            {"type": a.identity_name, "module": type(a).__module__, "settings": a.model_dump(mode="json")} for a in stack
        ]
        (folder / ADAPTERS).write_text(json.dumps(entries, indent=1))


@contextmanager
def _disk_errors(folder: Path) -> Iterator[None]:
    """safetensors tells a full disk only in the text of an error of its own."""
    try:
        yield
    except SafetensorError as error:
        number = re.search(r"os error (\d+)", str(error))
        if number is None:
            raise
        raise OSError(int(number[1]), os.strerror(int(number[1])), str(folder)) from None


def _is_adapter(name: str) -> bool:
    return any(part.startswith("adapter_") and part[8:].isdigit() for part in name.split("."))
