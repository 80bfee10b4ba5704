"""The toy corpus and the study of it: random walks over 64 tokens, and a model of 16 dimensions."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from ticlm.core.corpus import INFO, Corpus, CorpusInfo, PeriodManifest, SplitManifest, TokenizerInfo
from ticlm.core.integrity.own_hash import with_hash
from ticlm.core.integrity.records import Attempt
from ticlm.core.mixture import Split
from ticlm.core.periods import Calendar
from ticlm.core.settings import parse
from ticlm.core.store import Store
from ticlm.core.token_rows import Column, ShardFile, to_parquet
from ticlm.platform.study.settings import Study

SPLITS: tuple[Split, ...] = ("train", "eval", "tune")
PERIODS = ("202301", "202302", "202303", "202304")


def build_toy_corpus(
    folder: Path | str,
    periods: Sequence[str] = PERIODS,
    rows: int = 96,
    held_out: int = 16,
    length: int = 16,
    vocab_size: int = 64,
    name: str = "toy",
    changed: Mapping[tuple[str, str], int] | None = None,
    inputs: int = 0,
    sources: Sequence[str] | None = None,
    step: Literal["month", "quarter"] = "month",
) -> Corpus:
    """A corpus of random walks over `vocab_size` tokens, each period with longer steps than the one before.

    Every split of every period has its own rows; `changed={("202302", "train"): 1}` gives one split others. Building
    into a folder that has a corpus adds the periods that it lacks. With `inputs`, rows are pairs for an
    encoder-decoder: columns `inputs` (of that length) and `targets` (of `length`), both ending in some padding (0).
    `sources` are those of the rows of every eval split.
    """
    store, calendar = Store(str(folder)), Calendar(initial=periods[0], step=step)
    columns: tuple[Column, ...] = (Column(name="tokens", length=length + 1),)
    if inputs:
        columns = (Column(name="inputs", length=inputs), Column(name="targets", length=length))
    sha256 = _write_toy_tokenizer(store, vocab_size)
    tokenizer = TokenizerInfo(name="toy", vocab_size=vocab_size, end_of_text=vocab_size - 1, sha256=sha256)
    info = CorpusInfo(name=name, version="1", columns=columns, calendar=calendar, tokenizer=tokenizer, recipe="toy")
    store.create(INFO, with_hash(info.model_dump(mode="json")))
    for number, label in enumerate(periods):
        if store.exists(f"periods/{label}/record.json"):
            continue
        attempt = Attempt(store, f"periods/{label}")
        splits: dict[Split, SplitManifest] = {}
        for split, count in zip(SPLITS, (rows, held_out, held_out)):
            variant = (changed or {}).get((label, split), 0)
            draw = np.random.default_rng([number, SPLITS.index(split), variant])
            tokens = (draw.integers(0, 4 + number, (count, length + 1)).cumsum(1) + number) % vocab_size
            values = {c.name: _padded(tokens, c, draw) if inputs else tokens for c in columns}
            data = to_parquet(values, columns, sources if split == "eval" else None)
            path = f"{split}/part-00000.parquet"
            store.write(f"{attempt.path}/{path}", data)
            file = ShardFile(path=path, rows=count, bytes=len(data), sha256=hashlib.sha256(data).hexdigest())
            splits[split] = SplitManifest(
                files=(file,), rows=count, tokens=count * length, documents=count, bytes=count * length
            )
        attempt.publish(PeriodManifest(period=calendar.period(label), splits=splits).model_dump(mode="json"))
    return Corpus.open(str(folder))


def _padded(tokens: NDArray[np.int64], column: Column, draw: np.random.Generator) -> NDArray[np.int64]:
    ends = draw.integers(column.length // 2, column.length + 1, (len(tokens), 1))
    shown = np.maximum(np.resize(tokens, (len(tokens), column.length)), 1)
    return np.where(np.arange(column.length) < ends, shown, 0)


def _write_toy_tokenizer(store: Store, vocab_size: int) -> str:
    from tokenizers import Tokenizer, models, pre_tokenizers

    words = {f"w{i}": i for i in range(vocab_size - 1)} | {"<|endoftext|>": vocab_size - 1}
    tokenizer = Tokenizer(models.WordLevel(words, unk_token="w0"))
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    store.write("tokenizer/tokenizer.json", tokenizer.to_str().encode())
    settings = {"tokenizer_class": "PreTrainedTokenizerFast", "eos_token": "<|endoftext|>", "unk_token": "w0"}
    store.write("tokenizer/tokenizer_config.json", json.dumps(settings).encode())
    return store.sha256("tokenizer/tokenizer.json")


TOY_STUDY: dict[str, Any] = {
    "name": "toy",
    "corpus": "toy",
    "periods": {"initial": PERIODS[0], "step": "month", "last": PERIODS[-1]},
    "model": {"name": "tiny", "changes": {"hidden_size": 16, "intermediate_size": 32, "num_hidden_layers": 1}},
    "batch_rows": 4,
    "length": 16,
    "initial": {"budget": {"steps": 6}, "schedule": {"kind": "cosine", "max_rate": 1e-2, "warmup_steps": 2}},
    "continual_tokens": {"per_period": 4 * 4 * 16},
    "methods": [
        {"base": "cyclic-cosine", "schedule": {"max_rate": 5e-3, "warmup_steps": 1}},
        {"base": "replay-half", "schedule": {"max_rate": 5e-3, "warmup_steps": 1}},
        {"base": "oracle", "cutoffs": [PERIODS[0], PERIODS[2]]},
    ],
    "resources": {"trainer": "process", "device": "cpu", "chains": 1},
}


def make_toy_study(**changes: Any) -> Study:
    """A study of the toy corpus at `corpora/toy@1` of a root: seconds of training. `changes` replace top-level keys."""
    return parse(Study, TOY_STUDY | changes, "toy study")
