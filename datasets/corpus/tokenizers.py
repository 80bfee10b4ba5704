"""Tokenizers: trained on the first period of a corpus, or published; and the encoding of texts."""

from __future__ import annotations

import hashlib
import json
import os
import posixpath
import shutil
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from ticlm.core import hub, paths
from ticlm.core.corpus import TokenizerInfo
from ticlm.core.errors import InputError
from ticlm.core.periods import Label
from ticlm.core.reading.in_root import InRoot
from ticlm.core.remote.credentials import without_credentials
from ticlm.core.settings import Settings, build_command
from ticlm.core.signals import Threads
from ticlm.core.store import Store
from ticlm.core.token_rows import Tokens, dtype_for
from ticlm.core.vocabulary import growth
from ticlm.datasets.corpus.row_makers import PAD
from ticlm.datasets.text.tokenizer_files import take_as_they_are

if TYPE_CHECKING:
    from tokenizers import Tokenizer

END_OF_TEXT = "<|endoftext|>"
BATCH_CHARS = 1 << 20  # encoded at once by all threads: bounds memory, as encodings take many times their text
LEAST_BATCH_CHARS = 1 << 16  # of a thread: below this, the start of a call would show
PARALLELISM = "TOKENIZERS_PARALLELISM"
"""The variable that the tokenizers library reads at each call: whether threads of its own may work."""
SMALLEST = 257  # every byte, and the end of text


class TrainedTokenizer(Settings):
    """A byte-level BPE, trained on the train texts of the first period of a corpus and on nothing later.

    It learns from at most `max_bytes` of text: the first ones in the shuffled order of the corpus.
    """

    kind: Literal["train"] = "train"
    vocab_size: int = Field(ge=SMALLEST)
    """Tokens of its vocabulary, at least 257: every byte, and the end of text."""
    max_bytes: int = Field(1 << 30, gt=0)
    """Bytes of text that it learns from at most: the first ones in the corpus's shuffled order."""

    def train(self, texts: Iterable[str], period: str, store: Store, special: tuple[str, ...] = ()) -> TokenizerInfo:
        """Train on `texts` (in any order), save the tokenizer to the store, and return its description.

        The tokens named in `special` come before all others.
        """
        from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

        texts = iter(texts)
        first = next(texts, None)
        if first is None:
            raise InputError(f"tokenizer: the first period, {period}, has no text in its train split to learn from")
        tokenizer = Tokenizer(models.BPE())
        tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
        tokenizer.decoder = decoders.ByteLevel()
        alphabet = pre_tokenizers.ByteLevel.alphabet()
        trainer = trainers.BpeTrainer(
            vocab_size=self.vocab_size,
            special_tokens=[*special, END_OF_TEXT],
            initial_alphabet=alphabet,
            show_progress=False,
        )
        with all_cores():
            tokenizer.train_from_iterator(upto(self.max_bytes, chain([first], texts)), trainer)
        data = tokenizer.to_str(pretty=False).encode()
        config = _CONFIG | ({"pad_token": PAD} if PAD in special else {})
        store.write(f"{paths.TOKENIZER}/tokenizer_config.json", json.dumps(config, indent=1).encode())
        store.write(paths.tokenizer_file(), data)
        return TokenizerInfo(
            name=f"byte-level BPE trained on {period}",
            vocab_size=tokenizer.get_vocab_size(),
            end_of_text=tokenizer.token_to_id(END_OF_TEXT),
            sha256=hashlib.sha256(data).hexdigest(),
        )


@contextmanager
def all_cores() -> Iterator[None]:
    """Let the tokenizers library use all cores in the block, and none but the caller's after it.

    Its threads stay, asleep. It warns of them in a forked process only where the variable is not set.
    """
    before = os.environ.get(PARALLELISM, "false")
    os.environ[PARALLELISM] = "true"
    try:
        yield
    finally:
        os.environ[PARALLELISM] = before


# What transformers needs beside tokenizer.json; written by hand, as importing transformers takes seconds.
_CONFIG = {
    "tokenizer_class": "PreTrainedTokenizerFast",
    "eos_token": END_OF_TEXT,
    "clean_up_tokenization_spaces": False,
    "model_max_length": 1_000_000_000,
}


class PretrainedTokenizer(Settings):
    """A published tokenizer: the name or folder of a Hugging Face tokenizer. It comes from outside the timeline, so
    `as_of` must be the last period whose text it may have seen."""

    kind: Literal["pretrained"] = "pretrained"
    name: Annotated[str, InRoot(paths.CORPORA, versioned=True)]
    """Folder of a Hugging Face tokenizer, or its name on the hub, `ORG/NAME[@REVISION][:SUBFOLDER]`; NAME@VERSION takes
    that of a corpus in the root."""
    as_of: Label
    """The last period whose text it may have seen; it comes from outside the timeline."""

    @property
    def identity(self) -> PretrainedTokenizer:
        """Return the settings that determine the tokens. That of a corpus in the root has the name by which recipes
        knew it when they spelled the path, so that corpora from then are found again."""
        known = InRoot(paths.CORPORA, versioned=True).named(self.name)
        return self if known is None else self.model_copy(update={"name": f"runs/{paths.corpus(known)}/tokenizer"})

    def save(self, store: Store) -> TokenizerInfo:
        """Save the tokenizer to the store of a corpus, with the record of its new tokens if it grew, and return its
        description.

        Raises InputError if it cannot be loaded, or has no end-of-text token.
        """
        with self._place(store) as name, tempfile.TemporaryDirectory(prefix="ticlm-") as folder:
            tokenizer = self._load(name)
            if tokenizer.eos_token_id is None:
                raise InputError(f"tokenizer.name: {self.name} has no end-of-text (eos) token")
            tokenizer.save_pretrained(folder)
            if not Path(folder, "tokenizer.json").is_file():
                raise InputError(f"tokenizer.name: {self.name} has no fast version (tokenizer.json)")
            take_as_they_are(Path(name), Path(folder), tokenizer)
            if Path(name, growth.FILE).is_file():
                shutil.copy(Path(name, growth.FILE), folder)
            store.upload(Path(folder), paths.TOKENIZER)
            digest = hashlib.sha256(Path(folder, "tokenizer.json").read_bytes()).hexdigest()
        return TokenizerInfo(
            name=without_credentials(hub.pinned(self.name, "tokenizer")),
            vocab_size=max(tokenizer.get_vocab().values()) + 1,
            end_of_text=tokenizer.eos_token_id,
            sha256=digest,
            as_of=self.as_of,
        )

    @contextmanager
    def _place(self, store: Store) -> Iterator[str]:
        """Give the name or folder that transformers takes; of a corpus in the root, its tokenizer's folder."""
        known = InRoot(paths.CORPORA, versioned=True).named(self.name)
        if known is None:
            try:
                place = hub.place(self.name, "tokenizer")
            except InputError as error:
                raise InputError(f"tokenizer.name: {error}") from None
            yield place
            return
        corpus = Store(posixpath.join(posixpath.dirname(store.root), known))
        if not corpus.exists(paths.tokenizer_file()):
            raise InputError(
                f"tokenizer.name: {self.name}: no corpus with a tokenizer at {corpus.root}; build it with: "
                f"{build_command(known)}"
            )
        with corpus.local(paths.TOKENIZER) as folder:
            yield str(folder)

    def _load(self, name: str) -> Any:
        from transformers import AutoTokenizer

        try:
            return AutoTokenizer.from_pretrained(name, trust_remote_code=False)
        except Exception as error:  # transformers raises many kinds, from its own and from the hub's libraries
            reason = " ".join(str(error).split())[:200] or type(error).__name__
            raise InputError(f"tokenizer.name: {self.name} cannot be loaded: {reason}") from None


def padding(store: Store) -> int | None:
    """Return the id of the padding token of the tokenizer in the store's tokenizer folder; None if it has none."""
    token = store.read_json(f"{paths.TOKENIZER}/tokenizer_config.json").get("pad_token")
    name = token["content"] if isinstance(token, dict) else token
    added = store.read_json(paths.tokenizer_file()).get("added_tokens", [])
    return next((int(entry["id"]) for entry in added if entry["content"] == name), None)


def ids_of(store: Store, tokens: Sequence[str], name: str) -> tuple[int, ...]:
    """Return the ids of special tokens of the tokenizer in the store's tokenizer folder. Raises InputError, which calls
    the tokenizer by its `name`, if it lacks one."""
    if not tokens:
        return ()
    added = store.read_json(paths.tokenizer_file()).get("added_tokens", [])
    known = {entry["content"]: int(entry["id"]) for entry in added}
    missing = [token for token in tokens if token not in known]
    if missing:
        raise InputError(
            f"tokenizer: {name} lacks {missing[0]}{f' and {len(missing) - 1} more' if missing[1:] else ''}, "
            f"special tokens that these rows need"
        )
    return tuple(known[token] for token in tokens)


def upto(size: int, texts: Iterable[str]) -> Iterator[str]:
    """Yield texts until they have this many bytes."""
    for text in texts:
        yield text
        size -= len(text.encode())
        if size <= 0:
            return


class StreamEncoder:
    """Encodes texts, each followed by the end-of-text token, which no text can forge: a text that spells
    `<|endoftext|>` gets the tokens of its letters. Where the tokenizer knows no other way to write it (`</s>` in a
    Unigram model, which has it among its pieces), the text loses it.

    `threads` batches are encoded at a time. The tokens are the same for any number.
    """

    def __init__(self, store: Store, info: TokenizerInfo, threads: int = 1) -> None:
        # The library's own threads live on, and a fork among them is not safe; threads of ours end with each call. The
        # library lets go of Python's lock: of 8.6 s of encoding 25 MB, 0.2 are lists and arrays, which need it.
        os.environ.setdefault(PARALLELISM, "false")
        from tokenizers import Tokenizer

        self._tokenizer: Tokenizer = Tokenizer.from_str(store.read(paths.tokenizer_file()).decode())
        self._tokenizer.encode_special_tokens = True
        self._tokenizer.no_truncation()
        self._tokenizer.no_padding()
        self.end_of_text, self._threads = info.end_of_text, threads
        self.dtype = np.dtype(dtype_for(info.vocab_size))

    def encode(self, texts: Sequence[str]) -> tuple[list[Tokens], NDArray[np.int64]]:
        """Return the tokens in blocks of several texts, and int64[texts], the number of tokens of each with its end."""
        if self._threads == 1:
            found = list(map(self._block, batches(texts)))
        else:
            size = max(LEAST_BATCH_CHARS, BATCH_CHARS // self._threads)
            with Threads(self._threads) as threads:
                found = list(threads.map(self._block, batches(texts, size)))
        blocks = [block for block, _ in found]
        return blocks, np.array([length for _, lengths in found for length in lengths], np.int64)

    def _block(self, batch: Sequence[str]) -> tuple[Tokens, list[int]]:
        """Return the tokens of a batch of texts, and how many each text has with its end."""
        parts: list[int] = []
        lengths: list[int] = []
        for encoded in self._tokenizer.encode_batch_fast(batch, add_special_tokens=False):
            ids = self._without_end(encoded.ids)
            parts += ids
            parts.append(self.end_of_text)
            lengths.append(len(ids) + 1)
        return np.array(parts, self.dtype), lengths

    def ids(self, texts: Sequence[str]) -> list[list[int]]:
        """Return the token ids of each text, without an end."""
        found = (self._tokenizer.encode_batch_fast(batch, add_special_tokens=False) for batch in batches(texts))
        return [self._without_end(encoded.ids) for batch in found for encoded in batch]

    def _without_end(self, ids: list[int]) -> list[int]:
        return [token for token in ids if token != self.end_of_text] if self.end_of_text in ids else ids


def batches(texts: Iterable[str], chars: int | None = None) -> Iterator[list[str]]:
    """Yield texts in batches of about `chars` characters, by default BATCH_CHARS."""
    chars = chars or BATCH_CHARS
    batch: list[str] = []
    size = 0
    for text in texts:
        batch.append(text)
        size += len(text)
        if size >= chars:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch
