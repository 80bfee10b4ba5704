"""New rows of a model's embeddings, for the new tokens of a tokenizer that grew."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import torch
from torch import Tensor, nn

from ticlm.core.errors import InputError
from ticlm.core.store import Store
from ticlm.core.vocabulary import growth
from ticlm.core.vocabulary.growth import Growth
from ticlm.methods.objectives import AnyObjective
from ticlm.platform.models import folders
from ticlm.platform.models.build import MAKING

if TYPE_CHECKING:
    from transformers import PreTrainedModel

NewRows = Literal["parts", "mean", "random"]


def load(folder: Path, objective: AnyObjective, rows: NewRows | None, tokenizer: str, seed: int) -> nn.Module:
    """Load a model folder as `folders.load` does; with `rows`, grown for the tokenizer in the folder or URI
    `tokenizer`."""
    module = folders.load(folder, objective)
    if rows is not None:
        record = growth.read(Store(tokenizer), "")
        assert record is not None, "plans refuse to grow a model for a tokenizer that did not grow"
        grow(module, record, rows, seed)
    return module


def grow(module: PreTrainedModel, record: Growth, rows: NewRows, seed: int) -> None:
    """Give a module a row for each new token in its input embeddings, and in its output layer if that is another one.

    `rows` says which: the mean of the rows of the token's `parts`, the `mean` of all rows of the base, or `random`
    ones, normal with the mean and the standard deviation of each column of the base's (drawn with `seed`). All old rows
    and all other weights stay as they are, bit for bit. Rows that the model had beyond its tokenizer, as padding, are
    taken first. Raises InputError if the model has fewer rows than the base has tokens.
    """
    have = len(next(_tables(module)))
    if have < record.base_size:
        raise InputError(f"model.grow: the model has {have:,} embeddings, its tokenizer {record.base_size:,} tokens")
    if have < record.size:
        with MAKING, torch.random.fork_rng(devices=[]):  # it draws the new rows, which are all replaced below
            module.resize_token_embeddings(record.size, mean_resizing=False)
    with torch.no_grad():
        for number, table in enumerate(_tables(module)):
            old = table[: record.base_size].clone()
            table[record.base_size : record.size] = _new(old, record, rows, seed + number)


def _tables(module: PreTrainedModel) -> Iterator[Tensor]:
    """Yield the weights with a row for each token, each once: tied ones are one tensor."""
    seen: set[int] = set()
    output: nn.Module | None = module.get_output_embeddings()
    for layer in (module.get_input_embeddings(), output):
        for name in ("weight", "bias"):
            table = getattr(layer, name, None)
            if isinstance(table, Tensor) and table.data_ptr() not in seen:
                seen.add(table.data_ptr())
                yield table


def _new(old: Tensor, record: Growth, rows: NewRows, seed: int) -> Tensor:
    """Return the new rows [new, …] of a table, given its old ones [base_size, …]."""
    if rows == "parts":
        return torch.stack([old[list(parts)].mean(0) for parts in record.parts])
    mean = old.mean(0, keepdim=True).expand(record.new, *old.shape[1:])
    if rows == "mean":
        return mean
    noise = torch.randn(mean.shape, generator=torch.Generator().manual_seed(seed))
    return mean + noise * old.std(0, keepdim=True)
