"""From a model folder to the answerer that suits its architecture."""

from __future__ import annotations

from pathlib import Path
from typing import overload

from ticlm.core.errors import InputError
from ticlm.core.store import Store
from ticlm.methods.objectives import AnyObjective, Causal, Seq2Seq
from ticlm.platform.eval.causal import CausalCheckpoint
from ticlm.platform.eval.loaded_model import rounded
from ticlm.platform.eval.seq2seq import Seq2SeqCheckpoint
from ticlm.platform.tasks.cells.cell import Compute

Checkpoint = CausalCheckpoint | Seq2SeqCheckpoint


@overload
def load_checkpoint(
    folder: Path, objective: Causal, device: str = "cpu", compute: Compute = "float32"
) -> CausalCheckpoint: ...
@overload
def load_checkpoint(
    folder: Path, objective: Seq2Seq, device: str = "cpu", compute: Compute = "float32"
) -> Seq2SeqCheckpoint: ...
@overload
def load_checkpoint(
    folder: Path, objective: AnyObjective | None = None, device: str = "cpu", compute: Compute = "float32"
) -> Checkpoint: ...
def load_checkpoint(
    folder: Path, objective: AnyObjective | None = None, device: str = "cpu", compute: Compute = "float32"
) -> Checkpoint:
    """Load a published (or any Hugging Face) model folder as an answerer, by the folder's own architecture.

    Without an objective, it is the one that the folder was published with, else the one that suits its architecture.
    With `compute: bfloat16`, its parameters are rounded to that type; `tf32` is for the caller to switch on, by
    `loaded_model.computing`. Raises InputError if the objective is not one for this architecture.
    """
    from ticlm.platform.models import folder_files, folders

    module = rounded(folders.load(folder), compute).to(device).eval()
    own = objective or folder_files.objective(Store(folder))
    pairs = bool(getattr(module.config, "is_encoder_decoder", False))
    if own.encoder_decoder != pairs:
        name = getattr(own, "kind", own.identity_name)
        raise InputError(f"objective: {name}, but {folder} is {'an' if pairs else 'no'} encoder-decoder")
    return (Seq2SeqCheckpoint if pairs else CausalCheckpoint)(folder, own, module)
