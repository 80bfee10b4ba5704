"""A chat model in a folder: a transformers model that runs in this process, or in several of Ray."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

from pydantic import Field

from ticlm.core import hub
from ticlm.core.errors import InputError
from ticlm.core.periods import Label
from ticlm.core.settings import Settings
from ticlm.datasets.llm import decoding
from ticlm.datasets.llm.chat import ChatClient, Message, Replies


class LocalChat(Settings):
    """A model of transformers that generates text, in a folder or on the hub: an encoder–decoder (T5, Marian) or a
    decoder.

    A decoder gets the tokenizer's chat template if it has one. All others get the texts of the messages, one after the
    other; an encoder–decoder is not told who says them. At temperature 0 a reply is greedy, or found by beam search;
    else it is drawn from the 50 likeliest tokens at that temperature. Penalties, top-p and whatever else the folder's
    generation_config.json asks for do not count. No code of the folder is run.
    """

    kind: Literal["local"] = "local"
    folder: str = Field(min_length=1)
    """Folder with the model and its tokenizer, as `save_pretrained` writes them, or its name on the hub,
    `ORG/NAME[@REVISION][:SUBFOLDER]`."""
    as_of: Label
    """The last period whose text the model may have seen; it comes from outside the timeline."""
    max_tokens: int = Field(128, gt=0)
    """Largest number of tokens of a reply."""
    beams: int = Field(1, ge=1)
    """Beams of the search, at temperature 0."""
    workers: int = Field(0, ge=0)
    """Copies of the model, each in an actor of Ray; 0 runs it in this process. All of them work only if as many
    requests are on their way at the same time (`limits.at_once`)."""

    def without_meaning(self) -> frozenset[str]:
        """Leave out the number of copies, which changes no reply."""
        return frozenset({"workers"})

    @cached_property
    def _place(self) -> Path:
        try:
            return Path(hub.place(self.folder)).expanduser()
        except InputError as error:
            raise InputError(f"chat.folder: {error}") from None

    @cached_property
    def _digest(self) -> str:
        folder = self._place
        if not (folder / "config.json").is_file():
            raise InputError(f"chat.folder: {self.folder} has no config.json; name a folder of transformers")
        digest = hashlib.sha256()
        for file in sorted(path for path in folder.rglob("*") if path.is_file()):
            with file.open("rb") as opened:
                hashed = hashlib.file_digest(opened, "sha256").digest()
            digest.update(file.relative_to(folder).as_posix().encode() + b"\0" + hashed)
        return digest.hexdigest()

    @cached_property
    def _overruled(self) -> bool:
        return decoding.asks_otherwise(self._place)

    @property
    def identity(self) -> LocalChat:
        """Return what decides the replies: the hash of the files in place of the folder's path."""
        # older releases followed such a folder, so what they made of it is another set
        return self.model_copy(update={"folder": self._digest + (" without its decoding" if self._overruled else "")})

    @property
    def model(self) -> str:
        """Return the hash of the folder's files."""
        return f"sha256:{self._digest}"

    @property
    def parameters(self) -> Mapping[str, Any]:
        """Return the largest number of tokens of a reply, the number of beams, and whether the folder would have its
        model decode in another way."""
        said = {"folders_decoding": "left out"} if self._overruled else {}
        return {"max_tokens": self.max_tokens, "beams": self.beams, **said}

    @property
    def external_inputs(self) -> str:
        """Return a line that names the model, which comes from outside the timeline."""
        return f"replies of the model {hub.called(self.folder)}, as of {self.as_of}"

    def open(self) -> ChatClient:
        """Load the model. Raises InputError if transformers cannot, or if it generates nothing; copies of it in actors
        raise that when they are asked."""
        if self.workers:
            from ticlm.datasets.llm.ray_chat import RayClient

            return RayClient(self.model_copy(update={"workers": 0}), self.workers)
        from transformers import AutoConfig, AutoModelForCausalLM, AutoModelForSeq2SeqLM, AutoTokenizer

        folder = str(self._place)
        try:
            config = AutoConfig.from_pretrained(folder, local_files_only=True, trust_remote_code=False)
            two_parts = bool(config.is_encoder_decoder)
            loader = AutoModelForSeq2SeqLM if two_parts else AutoModelForCausalLM
            model = loader.from_pretrained(folder, local_files_only=True, trust_remote_code=False).eval()
            tokenizer = AutoTokenizer.from_pretrained(folder, local_files_only=True, trust_remote_code=False)
            return LocalClient(model, tokenizer, two_parts, self.max_tokens, self.beams)
        except Exception as error:  # of damaged files, transformers raises all kinds
            reason = " ".join(str(error).split())[:200] or type(error).__name__
            raise InputError(f"chat.folder: {self.folder} holds no model that generates text: {reason}") from None


class LocalClient:
    """A loaded model, which answers one request at a time: padding would change its numbers."""

    def __init__(self, model: Any, tokenizer: Any, two_parts: bool, max_tokens: int, beams: int) -> None:
        self._model, self._tokenizer, self._two_parts = model, tokenizer, two_parts
        self._max_tokens, self._beams = max_tokens, beams
        self._lock = threading.Lock()
        self._tokens = decoding.token_ids(model)
        # `generate` takes what a config leaves open from the model's own
        model.generation_config = type(model.generation_config)(**self._tokens)

    def complete(self, messages: Sequence[Message], temperature: float, seed: int, n: int) -> Replies:
        """Return `n` replies: the best ones of a beam search at temperature 0, else samples drawn with the seed."""
        import torch

        if temperature == 0 and n > self._beams:
            raise InputError(f"chat.beams: {n} replies at temperature 0 need {n} beams or more, got {self._beams}")
        how = decoding.config(self._tokens, self._padding(), temperature, self._beams, n, self._max_tokens)
        with self._lock, torch.inference_mode(), torch.random.fork_rng():
            torch.manual_seed(seed)
            inputs = self._inputs(messages)
            read = int(inputs["input_ids"].shape[1])
            output = self._model.generate(**inputs, generation_config=how)
        new = [row if self._two_parts else row[read:] for row in output]
        texts = tuple(str(self._tokenizer.decode(row, skip_special_tokens=True)).strip() for row in new)
        return Replies(texts, read, sum(int(row.shape[0]) for row in new), raw={"decoding": how.to_diff_dict()})

    def _inputs(self, messages: Sequence[Message]) -> Mapping[str, Any]:
        if not self._two_parts and getattr(self._tokenizer, "chat_template", None):
            shown = [{"role": message.role, "content": message.content} for message in messages]
            text = self._tokenizer.apply_chat_template(shown, tokenize=False, add_generation_prompt=True)
            return dict(self._tokenizer(text, return_tensors="pt", add_special_tokens=False))
        text = "\n\n".join(message.content for message in messages)
        found = dict(self._tokenizer(text, return_tensors="pt"))
        return {name: found[name] for name in ("input_ids", "attention_mask") if name in found}

    def _padding(self) -> int:
        pad, end = self._tokenizer.pad_token_id, self._tokenizer.eos_token_id
        return int(pad if pad is not None else end if end is not None else 0)
