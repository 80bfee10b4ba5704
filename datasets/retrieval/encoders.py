"""DPR: a BERT for questions and one for passages, whose vectors have a large dot product where the passage answers."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from functools import cached_property, lru_cache
from pathlib import Path
from textwrap import shorten
from typing import TYPE_CHECKING, Any, Literal

from pydantic import Field

from ticlm.core import hub
from ticlm.core.errors import InputError
from ticlm.core.extras import Extra
from ticlm.core.periods import Label
from ticlm.core.settings import Settings
from ticlm.datasets.examples.context import BuildContext
from ticlm.datasets.io.in_process import ProcessExecutor
from ticlm.datasets.retrieval.index import DenseSearch, EncodedShards
from ticlm.datasets.retrieval.passages import Passages

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

Side = Literal["question", "context"]
FILES = (
    "config.json",
    "*.safetensors",
    "pytorch_model*.bin",
    "vocab.txt",
    "tokenizer*.json",
    "special_tokens_map.json",
)
"""Files of an encoder that decide its vectors."""


class DprEncoders(Settings):
    """Dense passage retrieval (Karpukhin et al., 2020): it finds the passages whose vectors have the largest dot
    product with the vector of the question.

    A folder is read as it is; a name that is no folder, `ORG/NAME[@REVISION][:SUBFOLDER]`, is fetched from the hub.
    Vectors are made once per passage, in float32, and stay beside the set.
    """

    kind: Literal["dpr"] = "dpr"
    question: str = "facebook/dpr-question_encoder-single-nq-base"
    """Folder or hub name of the encoder of questions."""
    context: str = "facebook/dpr-ctx_encoder-single-nq-base"
    """Folder or hub name of the encoder of passages."""
    as_of: Label
    """The last period whose text the encoders may have seen; they come from outside the timeline."""
    question_tokens: int = Field(200, gt=2)
    """Tokens of a question that are read at most."""
    context_tokens: int = Field(256, gt=4)
    """Tokens of a passage and its title that are read at most; passages that are cut are counted."""
    batch_rows: int = Field(64, gt=0)
    """Texts that are encoded at once."""
    device: Literal["auto", "cpu", "cuda"] = "auto"
    """Where texts are encoded; `auto` takes a GPU if there is one, in the process that builds."""
    lists: int = Field(0, ge=0)
    """Lists of an inverted file (IVF) in each shard of 16,384 passages, for an approximate search; 0 searches all."""
    probes: int = Field(16, gt=0)
    """Lists that are searched for a question, the nearest first."""

    def extras(self) -> tuple[Extra, ...]:
        return (Extra("retrieval", ("faiss",)),)

    @cached_property
    def _digests(self) -> dict[str, str]:
        return {
            "question": _digest(_folder(self.question, "question")),
            "context": _digest(_folder(self.context, "context")),
        }

    @property
    def identity(self) -> DprEncoders:
        """Return what decides what is found: hashes of the encoders' files in place of their names."""
        return self.model_copy(
            update=self._digests | {"batch_rows": 64, "device": "auto", "probes": self.probes if self.lists else 16}
        )

    @property
    def external_inputs(self) -> str:
        """Return a line that names the encoders, which come from outside the timeline."""
        question, context = (hub.called(name, "encoder") for name in (self.question, self.context))
        return f"passages found by {question} and {context}, as of {self.as_of}"

    def opened(self, context: BuildContext, passages: Passages) -> DenseSearch:
        """Return a search in these passages, after passages without vectors have been encoded, shard by shard."""
        shards = EncodedShards(passages, self, self.lists)
        # a GPU is in the process that builds; tasks on Ray would have none
        here = ProcessExecutor() if self._on_gpu else None
        context.steps.append(shards.encode(context, here))
        return DenseSearch(shards, self, self.probes, context.folder)

    def encoded(
        self, side: Side, titles: Sequence[str] | None, texts: Sequence[str]
    ) -> tuple[NDArray[np.float32], int]:
        """Return float32[texts, dims], the vector of each text, and how many texts were cut. With titles, a text is
        read behind its title."""
        limit = self.question_tokens if side == "question" else self.context_tokens
        encoder = _loaded(
            self.question if side == "question" else self.context, side, "cuda" if self._on_gpu else "cpu"
        )
        return encoder.encode(titles, texts, limit, self.batch_rows)

    @property
    def _on_gpu(self) -> bool:
        if self.device == "auto":
            import torch

            return torch.cuda.is_available()
        return self.device == "cuda"


class Encoder:
    """A loaded encoder with its tokenizer."""

    def __init__(self, folder: Path, side: Side, device: str) -> None:
        import torch
        from transformers import AutoTokenizer, DPRContextEncoder, DPRQuestionEncoder

        kind = DPRQuestionEncoder if side == "question" else DPRContextEncoder
        setting = f"examples.retriever.{side}"
        try:
            self.model, found = kind.from_pretrained(
                folder,
                local_files_only=True,
                trust_remote_code=False,
                dtype=torch.float32,
                output_loading_info=True,
            )
            self.tokenizer: Any = AutoTokenizer.from_pretrained(folder, local_files_only=True, trust_remote_code=False)
        except Exception as error:  # transformers raises many kinds
            reason = shorten(str(error), 200, placeholder=" …") or type(error).__name__
            raise InputError(f"{setting}: {folder} holds no encoder of DPR: {reason}") from None
        if not self.tokenizer.is_fast:
            raise InputError(f"{setting}: the tokenizer of {folder} has no fast version (tokenizer.json)")
        if found["missing_keys"]:
            lacking = min(found["missing_keys"])
            raise InputError(f"{setting}: {folder} holds no {kind.__name__}: it has no weights {lacking}")
        self.model, self.device, self.setting = self.model.eval().to(device), device, setting

    def encode(
        self, titles: Sequence[str] | None, texts: Sequence[str], limit: int, batch_rows: int
    ) -> tuple[NDArray[np.float32], int]:
        """Return float32[texts, dims] and how many texts were cut to `limit` tokens. Texts of like length are encoded
        together, so that little is padding."""
        import numpy as np
        import torch

        if limit > self.model.config.max_position_embeddings:
            most = self.model.config.max_position_embeddings
            raise InputError(f"{self.setting}_tokens must be at most {most} for this encoder, got {limit}")
        pair = [list(texts)] if titles is None else [list(titles), list(texts)]
        found = self.tokenizer(*pair, truncation=True, max_length=limit)
        cut = sum(bool(one.overflowing) for one in found.encodings)
        lengths = [len(ids) for ids in found["input_ids"]]
        order = sorted(range(len(texts)), key=lengths.__getitem__)
        vectors: NDArray[np.float32] | None = None
        for begin in range(0, len(order), batch_rows):
            rows = order[begin : begin + batch_rows]
            batch = self.tokenizer.pad(
                {name: [values[row] for row in rows] for name, values in found.items()}, return_tensors="pt"
            )
            with torch.inference_mode():
                output = self.model(**batch.to(self.device)).pooler_output.float().cpu().numpy()
            if vectors is None:
                vectors = np.empty((len(texts), output.shape[1]), np.float32)
            vectors[rows] = output
        return np.empty((0, self.width), np.float32) if vectors is None else vectors, cut

    @property
    def width(self) -> int:
        """Return the number of dimensions of a vector."""
        return int(self.model.config.projection_dim or self.model.config.hidden_size)


@lru_cache(maxsize=2)  # one of questions, one of passages
def _loaded(name: str, side: Side, device: str) -> Encoder:
    return Encoder(_folder(name, side), side, device)


def _folder(name: str, side: Side) -> Path:
    """Return the folder of an encoder, which is fetched if it is the name of one on the hub."""
    folder = Path(name).expanduser()
    if folder.is_dir():
        return folder
    try:
        return hub.fetched(name, "encoder").folder
    except InputError as error:
        raise InputError(f"examples.retriever.{side}: {error}") from None


def _digest(folder: Path) -> str:
    """Return a hash of the files of an encoder that decide its vectors."""
    digest = hashlib.sha256()
    for file in sorted({path for pattern in FILES for path in folder.glob(pattern) if path.is_file()}):
        with file.open("rb") as opened:
            digest.update(file.name.encode() + b"\0" + hashlib.file_digest(opened, "sha256").digest())
    return digest.hexdigest()
