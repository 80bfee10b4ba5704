"""Corpora of invented tokens for benchmarks."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping

import numpy as np

from ticlm.core.corpus import INFO, CorpusInfo, PeriodManifest, SplitManifest, TokenizerInfo
from ticlm.core.integrity.records import Attempt
from ticlm.core.periods import Calendar
from ticlm.core.store import Store
from ticlm.core.token_rows import Column, ShardFile, Tokens, to_parquet

FILE_ROWS = 2048


def tokens(rows: int, length: int, vocab: int, seed: int) -> Tokens:
    """[rows, length] tokens by Zipf's law, so that they compress about as text does."""
    ranks = np.exp(np.random.default_rng(seed).random((rows, length), np.float32) * np.log(vocab))
    ids: Tokens = (ranks - 1).astype(np.uint16)
    return ids


def publish(uri: str, periods: Mapping[str, Tokens], vocab: int, tune: int = 0) -> None:
    """A corpus of the given rows of each month: the last `tune` of them are its tune split; its eval split is empty."""
    store = Store(uri)
    calendar = Calendar(initial=next(iter(periods)), step="month")
    columns = (Column(name="tokens", length=next(iter(periods.values())).shape[1]),)
    tokenizer = TokenizerInfo(name="none", vocab_size=vocab, end_of_text=0, sha256=_tokenizer(store, vocab))
    name, version = uri.rsplit("/", 1)[-1].split("@")
    info = CorpusInfo(
        name=name, version=version, columns=columns, calendar=calendar, tokenizer=tokenizer, recipe="none"
    )
    store.create(INFO, json.dumps(info.model_dump(mode="json")).encode())
    nothing = SplitManifest(files=(), rows=0, tokens=0, documents=0, bytes=0)
    for label, rows in periods.items():
        attempt = Attempt(store, f"periods/{label}")
        parts = {"train": rows[: len(rows) - tune], "tune": rows[len(rows) - tune :]}
        splits = {name: _split(store, attempt, name, part, columns) for name, part in parts.items() if len(part)}
        manifest = PeriodManifest(period=calendar.period(label), splits={"eval": nothing, "tune": nothing} | splits)
        attempt.publish(manifest.model_dump(mode="json"))


def _tokenizer(store: Store, vocab: int) -> str:
    """Write a tokenizer whose words are numbers; return its hash."""
    from tokenizers import Tokenizer, models

    words = {str(i): i for i in range(vocab)}
    store.write("tokenizer/tokenizer.json", Tokenizer(models.WordLevel(words, unk_token="0")).to_str().encode())
    store.write("tokenizer/tokenizer_config.json", b'{"tokenizer_class": "PreTrainedTokenizerFast"}')
    return store.sha256("tokenizer/tokenizer.json")


def _split(store: Store, attempt: Attempt, name: str, rows: Tokens, columns: tuple[Column, ...]) -> SplitManifest:
    files = []
    for number, start in enumerate(range(0, len(rows), FILE_ROWS)):
        part = rows[start : start + FILE_ROWS]
        content, path = to_parquet({"tokens": part}, columns), f"{name}/part-{number:05}.parquet"
        store.write(f"{attempt.path}/{path}", content)
        digest = hashlib.sha256(content).hexdigest()
        files.append(ShardFile(path=path, rows=len(part), bytes=len(content), sha256=digest))
    return SplitManifest(files=tuple(files), rows=len(rows), tokens=rows.size, documents=len(rows), bytes=rows.size)
