"""Reading released OpenLM checkpoints: `epoch_N.pt`, with `params.txt` and a model's JSON file beside it.

Nothing in a checkpoint is run: torch unpickles tensors, plain values and numpy's numbers, and refuses all else. Weights
stay on the disk until they are used.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from pickle import UnpicklingError
from typing import Any

import torch
from torch import Tensor

from ticlm.core.errors import InputError

HEADS = {"open_lm_1b": 16, "open_lm_1b_swiglutorch": 16, "open_lm_3b": 32, "open_lm_3b_swiglutorch": 32}
"""Attention heads of OpenLM's models by the name of their JSON file; weights do not tell the number."""
KNOWN = {
    "model_norm": ("gain_only_lp_layer_norm", "gain_only_layer_norm"),
    "positional_embedding_type": ("rotary",),
    "ffn_type": ("swiglu", "swiglu_torch"),
}
"""Settings of OpenLM that change what its weights mean, and their values in the released models."""
CONTEXT, THETA = 2048, 10_000.0  # of all released models; a context is read from the files beside, if one names it


@dataclass(frozen=True)
class Shape:
    """The shape of an OpenLM model."""

    layers: int
    width: int
    inner: int
    vocabulary: int
    heads: int
    qk_norm: bool
    context: int = CONTEXT

    def weights(self) -> dict[str, tuple[int, ...]]:
        """Return the shape of every weight by OpenLM's name."""
        width = self.width
        found: dict[str, tuple[int, ...]] = {"tok_embeddings.weight": (self.vocabulary, width)}
        for layer in (f"layers.{number}" for number in range(self.layers)):
            found[f"{layer}.attention.in_proj.weight"] = (3 * width, width)
            found[f"{layer}.attention.out_proj.weight"] = (width, width)
            found[f"{layer}.feed_forward.w12.weight"] = (2 * self.inner, width)
            found[f"{layer}.feed_forward.w3.weight"] = (width, self.inner)
            norms = ("attention_norm", "ffn_norm", *(("attention.q_norm", "attention.k_norm") if self.qk_norm else ()))
            found |= {f"{layer}.{norm}.weight": (width,) for norm in norms}
        return found | {"norm.weight": (width,), "output.weight": (self.vocabulary, width)}


@dataclass(frozen=True)
class Checkpoint:
    """Weights by OpenLM's names, on the disk, and facts `about` the file: epoch, step, samples_seen, name."""

    path: Path
    shape: Shape
    weights: Mapping[str, Tensor]
    about: Mapping[str, int | str]


def read(path: Path, heads: int | None = None) -> Checkpoint:
    """Open a checkpoint. `heads` is needed if no file beside it names the model.

    Raises InputError if the file is damaged, is of another kind, or holds a model that is not OpenLM's.
    """
    saved = _unpickled(path)
    state = saved.get("state_dict", saved)
    if not isinstance(state, Mapping) or not state or not all(isinstance(v, Tensor) for v in state.values()):
        raise InputError(f"{path}: no checkpoint of OpenLM: it has no state_dict of tensors")
    weights = {_name(str(key)): value for key, value in state.items()}
    rotary = [weights.pop(name) for name in list(weights) if name.endswith("inv_freq")]
    settings = _settings(path)
    shape = _shape(path, weights, settings, heads)
    _check(path, weights, shape)
    for frequencies in rotary:
        _check_rotary(path, frequencies, shape.width // shape.heads)
    kept = {key: saved[key] for key in ("name", "epoch", "step", "samples_seen") if key in saved}
    return Checkpoint(path, shape, weights, {k: v for k, v in kept.items() if isinstance(v, int | str)})


def cutoff(path: Path) -> str | None:
    """Return the month up to which a checkpoint was trained, as its path tells (`…cutoff201501/…`, `…/201501/…`)."""
    for part in reversed(path.absolute().parts[:-1]):
        if found := re.search(r"cutoff_?(\d{6})(?!\d)", part) or re.fullmatch(r"(\d{6})", part):
            return found[1]
    return None


def _unpickled(path: Path) -> Mapping[str, Any]:
    try:
        with torch.serialization.safe_globals(_numbers()):
            saved = torch.load(path, map_location="cpu", weights_only=True, mmap=True)
    except FileNotFoundError:
        raise InputError(f"{path}: no such file") from None
    except UnpicklingError as error:
        what = re.search(r"(?:GLOBAL |class )'?([\w.]+)", str(error))
        raise InputError(
            f"{path}: refused: its pickle asks for {what[1] if what else 'more than weights'}, which may run code"
        ) from None
    except (RuntimeError, EOFError, ValueError, KeyError, OSError) as error:
        said = str(error).partition("\n")[0][:200]
        why = "it is no zip archive, as torch.save writes" if said.startswith("mmap can only") else said
        raise InputError(f"{path}: not a checkpoint of torch, or cut off: {why}") from None
    if not isinstance(saved, Mapping):
        raise InputError(f"{path}: no checkpoint of OpenLM: it has no state_dict of tensors")
    return saved


def _numbers() -> list[Any]:
    """Return what numpy's numbers are pickled with: evaluation metrics may contain some."""
    import numpy as np
    from numpy._core.multiarray import scalar

    kinds = [type(np.dtype(kind)) for kind in (np.float32, np.float64, np.int32, np.int64, np.bool_)]
    return [np.dtype, *kinds, scalar, (scalar, "numpy.core.multiarray.scalar")]


def _name(key: str) -> str:
    """Return a weight's name without the prefixes of DistributedDataParallel, FSDP and torch.compile."""
    dropped = ("module", "_orig_mod", "_fsdp_wrapped_module")
    return ".".join(part for part in key.split(".") if part not in dropped)


def _settings(path: Path) -> dict[str, Any]:
    """Return OpenLM's settings from params.txt and the model's JSON file, whose word counts more. `model` is the name
    of the latter."""
    folders = (path.parent, path.parent.parent)
    settings: dict[str, Any] = {}
    for file in (folder / "params.txt" for folder in folders):
        if file.is_file():
            pairs = (line.partition(":") for line in file.read_text(errors="replace").splitlines())
            settings = {key.strip(): value.strip() for key, _, value in pairs}
            break
    model = Path(str(settings.get("model", ""))).name.removesuffix(".json")
    settings["model"] = model
    for file in (folder / f"{model}.json" for folder in folders if model):
        if file.is_file():
            try:
                return settings | dict(json.loads(file.read_text())) | {"model": model}
            except (ValueError, TypeError):
                raise InputError(f"{file}: not a JSON object") from None
    return settings


def _shape(path: Path, weights: Mapping[str, Tensor], settings: Mapping[str, Any], heads: int | None) -> Shape:
    for key, known in KNOWN.items():
        if str(settings.get(key, known[0])) not in known:
            raise InputError(f"{path}: {key} {settings[key]} cannot be converted, only {' or '.join(known)}")
    sizes = {}
    for name in ("tok_embeddings.weight", "layers.0.feed_forward.w3.weight"):
        if name not in weights or weights[name].ndim != 2:
            raise InputError(f"{path}: no weights of OpenLM: {name} is missing; the first is {min(weights)}")
        sizes[name] = tuple(weights[name].shape)
    vocabulary, width = sizes["tok_embeddings.weight"]
    own = settings.get("n_heads", HEADS.get(settings["model"]))
    if heads is None and own is None:
        told = f"model {settings['model']} in params.txt is none of" if settings["model"] else "no params.txt names"
        raise InputError(f"{path}: {told} {', '.join(HEADS)}: say how many attention heads it has, with --heads")
    count = _whole(path, "n_heads", own if heads is None else heads)
    if count < 1 or width % (2 * count):
        raise InputError(f"{path}: {count} heads do not divide a width of {width} into even parts")
    context = CONTEXT
    with suppress(ValueError, TypeError):  # params.txt says None where the model's JSON file says it
        context = int(settings.get("seq_len", CONTEXT))
    layers = 1 + max(int(name.split(".")[1]) for name in weights if re.match(r"layers\.\d+\.", name))
    if layers > len(weights):
        raise InputError(f"{path}: its layers are numbered up to {layers - 1}, and it has {len(weights)} weights")
    return Shape(
        layers=layers,
        width=width,
        inner=sizes["layers.0.feed_forward.w3.weight"][1],
        vocabulary=vocabulary,
        heads=count,
        qk_norm=any(".q_norm." in name or ".k_norm." in name for name in weights),
        context=context,
    )


def _whole(path: Path, key: str, value: object) -> int:
    """Return a setting of OpenLM that has to be a whole number."""
    try:
        return int(str(value))
    except ValueError:
        raise InputError(f"{path}: {key} must be a whole number, got {value!r}") from None


def _check(path: Path, weights: Mapping[str, Tensor], shape: Shape) -> None:
    wanted = shape.weights()
    if lost := sorted(wanted.keys() - weights.keys()):
        raise InputError(f"{path}: {len(lost)} weights are missing, the first is {lost[0]}")
    if more := sorted(weights.keys() - wanted.keys()):
        raise InputError(f"{path}: {len(more)} weights are not of OpenLM's architecture, the first is {more[0]}")
    for name, size in wanted.items():
        if tuple(weights[name].shape) != size:
            raise InputError(f"{path}: {name} has shape {list(weights[name].shape)}, expected {list(size)}")
        held = weights[name]
        if not held.is_floating_point() or held.layout != torch.strided or held.is_meta:
            kind = " ".join(map(str, (held.dtype, held.layout, held.device.type)))
            raise InputError(f"{path}: {name} is no tensor of real numbers that can be read ({kind})")


def _check_rotary(path: Path, frequencies: Tensor, size: int) -> None:
    expected = THETA ** -(torch.arange(0, size, 2).float() / size)
    # One percent: they may have been saved in bfloat16, which keeps two to three digits.
    if frequencies.shape != expected.shape or not torch.allclose(frequencies.float(), expected, rtol=1e-2):
        raise InputError(f"{path}: its rotary frequencies are not those of {size} per head and theta {THETA:,.0f}")
