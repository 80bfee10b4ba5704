"""Documents that a causal model writes by itself: a sample of what it learned, where its own text is not at hand."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterator
from datetime import datetime, time
from functools import cache
from pathlib import Path
from typing import Any, Literal

from pydantic import Field

from ticlm.core import hub
from ticlm.core.errors import InputError, in_one_line
from ticlm.core.fingerprint import fingerprint, hash64
from ticlm.core.periods import Calendar, Label, span
from ticlm.core.reading import json_texts
from ticlm.core.settings import Settings
from ticlm.datasets.io.apart import reached
from ticlm.datasets.io.documents import Document, Documents, Input, Piece, Skipped

WINDOWS = ("max_position_embeddings", "n_positions", "n_ctx")
"""Keys of config.json that say how many tokens a model reads at most."""
READ = (".bin", ".jinja", ".json", ".model", ".safetensors", ".txt")
"""Suffixes of files that a model's texts depend on; a README is none."""


class ModelSamples(Documents):
    """Texts that a model writes after an end of text, drawn token by token from its own distribution.

    They stand in for a text that nobody outside has: the one that a published model was trained on. A later checkpoint
    that is scored on them loses, per token, roughly its divergence from the model, KL(model ‖ checkpoint): 0 for the
    model itself. It is rough because texts are cut, and packed one behind the other. They can also be replayed, as an
    old corpus. The same texts are drawn again on one machine; on another, sums may round otherwise, and a text then
    goes on in another way. Special tokens are left out of the texts.
    """

    kind: Literal["samples"] = "samples"
    model: str
    """Folder of the model, or its name on the hub, `ORG/NAME[@REVISION][:SUBFOLDER]`."""
    as_of: Label
    """The last period whose text the model may have seen; all of its texts are of the first day of that period."""
    documents: int = Field(256, gt=0)
    """How many texts it writes."""
    tokens: int = Field(512, gt=0)
    """Tokens of a text at most; it is cut there."""
    temperature: float = Field(1.0, gt=0)
    """What logits are divided by; below 1, likely tokens become likelier."""
    top_p: float = Field(1.0, gt=0, le=1)
    """Draw from the likeliest tokens only, as few as have this probability together."""
    seed: int = 0
    """Seed of the texts."""
    at_once: int = Field(32, gt=0)
    """Texts that are written at once; another number draws other texts."""

    @property
    def dating(self) -> str:
        return "the period in which the sampled model is said to end"

    @property
    def identity(self) -> Settings:
        """Return what determines the texts beside the model: not where it lies. The hash of its files is in the stamps
        of the inputs."""
        return self.model_copy(update={"model": ""})

    def inputs(self, calendar: Calendar) -> list[Input]:
        """Return an input for each batch of texts. Raises InputError if there is no such model, or if texts are longer
        than its window."""
        window = _window(self._folder)
        if window and self.tokens >= window:
            raise InputError(
                f"documents.tokens must be below the model's window of {window:,} tokens, got {self.tokens:,}"
            )
        stamp = fingerprint((_digest(self._folder), self.identity))[:32]
        count = math.ceil(self.documents / self.at_once)
        return [Input(path=f"samples/{at:05d}-of-{count:05d}", size=0, stamp=stamp) for at in range(count)]

    def read(self, piece: Piece) -> Iterator[Document | Skipped]:
        """Yield the texts of a batch, and a Skipped for each that is empty."""
        batch = int(piece.input.path.removeprefix("samples/").partition("-")[0])
        first = batch * self.at_once
        count = min(self.at_once, self.documents - first)
        when = datetime.combine(span(self.as_of)[0], time())
        for number, text in enumerate(self._written(batch, count), first):
            name = f"samples/{self.seed}/{number}"
            # Where a model ends at once, nothing is wrong with the data: many models do in a tenth of their texts.
            yield Document(text, name, when) if text.strip() else Skipped("without text", when)

    @property
    def _folder(self) -> Path:
        try:
            return Path(hub.place(self.model)).expanduser()
        except InputError as error:
            raise InputError(f"documents.model: {error}") from None

    def _written(self, batch: int, count: int) -> list[str]:
        """Return `count` texts of a batch."""
        import torch
        from transformers import GenerationConfig, StoppingCriteriaList

        model, tokenizer = _loaded(str(self._folder))
        end = tokenizer.eos_token_id
        how = GenerationConfig(
            do_sample=True,
            temperature=self.temperature,
            top_p=self.top_p,
            top_k=0,
            max_new_tokens=self.tokens,
            eos_token_id=end,
            pad_token_id=end,
        )
        start = torch.full((count, 1), end, dtype=torch.int64)
        threads = torch.get_num_threads()
        # Sums depend on the number of threads, and batches are written side by side in processes of their own.
        torch.set_num_threads(1)
        try:
            with torch.inference_mode(), torch.random.fork_rng(devices=[]):
                torch.manual_seed(hash64(f"{self.seed} {batch}") >> 1)
                going = StoppingCriteriaList([_told])
                mask = torch.ones_like(start)
                rows = model.generate(start, attention_mask=mask, generation_config=how, stopping_criteria=going)
        finally:
            torch.set_num_threads(threads)
        return [str(text) for text in tokenizer.batch_decode(rows[:, 1:], skip_special_tokens=True)]


def _told(tokens: Any, scores: Any, **_: Any) -> Any:
    """Say after each token that the work goes on, as `limits.record_cpu_s` is meant for one step; stop nothing."""
    import torch

    reached(f"token {tokens.shape[1] - 1} of a batch")
    return torch.zeros(len(tokens), dtype=torch.bool, device=tokens.device)


def _window(folder: Path) -> int | None:
    """Return the tokens that a model reads at most, by its config.json; None if it does not say."""
    file = folder / "config.json"
    if not file.is_file():
        raise InputError(f"documents.model: {folder} has no config.json; name a folder of transformers")
    found = json_texts.read_object(file.read_bytes())
    return next((int(found[name]) for name in WINDOWS if isinstance(found.get(name), int)), None)


@cache
def _digest(folder: Path) -> str:
    """Return a hash of the files of a model's folder that its texts depend on: weights, configuration, tokenizer."""
    found = hashlib.sha256()
    for file in sorted(folder.iterdir()):
        if file.is_file() and file.suffix in READ:
            with file.open("rb") as opened:
                found.update(file.name.encode() + b"\0" + hashlib.file_digest(opened, "sha256").digest())
    return found.hexdigest()


@cache
def _loaded(folder: str) -> tuple[Any, Any]:
    """Return a causal model and its tokenizer. Raises InputError if the folder has none, or no end of text."""
    from transformers import AutoModelForCausalLM, AutoTokenizer

    try:
        model = AutoModelForCausalLM.from_pretrained(
            folder, dtype="float32", local_files_only=True, trust_remote_code=False
        ).eval()
        tokenizer = AutoTokenizer.from_pretrained(folder, local_files_only=True, trust_remote_code=False)
    except Exception as error:  # of damaged files, transformers raises all kinds
        if isinstance(error, MemoryError) or "annot allocate memory" in str(error):
            raise MemoryError from None
        raise InputError(f"documents.model: {folder} holds no causal model: {in_one_line(error)}") from None
    if tokenizer.eos_token_id is None:
        raise InputError(f"documents.model: the tokenizer of {folder} has no end-of-text (eos) token")
    model.generation_config = type(model.generation_config)()  # what the folder asks for does not count
    return model, tokenizer
