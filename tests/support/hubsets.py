"""Small data sets for a hub on loopback, with the schemas of dated sets of the real one; all text is made here."""

from __future__ import annotations

import gzip
import io
import json
import random
import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from hubserver import Files
from tokenizers import Tokenizer

from ticlm.core.corpus import Corpus
from ticlm.core.paths import TOKENIZER

WORDS = [f"{a}{b}{c}" for a in "bdfgklmnprst" for b in "aeiou" for c in ("n", "r", "st", "lk")]


def text(name: str, words: int = 60) -> str:
    """Return words of a seed, with a mark before each ten by which the document is known again in rows of tokens."""
    ten = " ".join(random.Random(name).choices(WORDS, k=10))
    return " ".join([f"[{name}] {ten}"] * -(-words // 10))


def parquet(rows: Sequence[Mapping[str, Any]], group: int | None = None, statistics: bool = False) -> bytes:
    """Return a Parquet file without compression, so that bytes can be counted; of row groups of so many rows."""
    sink, table = io.BytesIO(), pa.Table.from_pylist(list(rows))
    pq.write_table(table, sink, group, compression="none", use_dictionary=False, write_statistics=statistics)
    return sink.getvalue()


def json_lines(rows: Sequence[Mapping[str, Any]]) -> bytes:
    return gzip.compress("".join(json.dumps(row) + "\n" for row in rows).encode(), mtime=0)


def card(configs: Mapping[str, Any]) -> bytes:
    """Return a card that lists configs, each with the pattern of its files, or one for each split."""
    lines = ["---", "configs:"]
    for name, pattern in configs.items():
        splits = pattern if isinstance(pattern, Mapping) else {"train": pattern}
        lines += [f'- config_name: "{name}"', "  data_files:"]
        lines += [f'  - {{split: "{split}", path: "{path}"}}' for split, path in splits.items()]
    return "\n".join([*lines, "---", "# A set"]).encode()


def fineweb(
    crawls: Sequence[str], files: int = 2, groups: int = 4, rows: int = 10, words: int = 200, edu: bool = False
) -> Files:
    """Return the files of FineWeb: a config and a folder for each crawl, and the default config of all of them."""
    found: Files = {"README.md": card({"default": "data/*/*", **{crawl: f"data/{crawl}/*" for crawl in crawls}})}
    for crawl in crawls:
        for file in range(files):
            made = []
            for row in range(groups * rows):
                name = f"{crawl} {file} {row}"
                about: dict[str, Any] = {"text": text(name, words), "id": f"<urn:uuid:{name}>", "dump": crawl}
                about |= {
                    "url": f"u/{name}",
                    "file_path": "s3://x",
                    "language": "en",
                    "language_score": 0.9,
                    "token_count": 99,
                }
                about |= {"score": 3.1, "int_score": 3} if edu else {"date": "2024-02-20T22:52:17Z"}
                made.append(about)
            found[f"data/{crawl}/000_{file:05d}.parquet"] = parquet(made, rows)
    return found


def fineweb2(languages: Sequence[str], months: Sequence[str], rows: int = 12, statistics: bool = True) -> Files:
    """Return the files of FineWeb-2: a config for each language, dates in a column, in each row group those of a
    month."""
    found: Files = {
        "README.md": card({one: {"train": f"data/{one}/train/*", "test": f"data/{one}/test/*"} for one in languages})
    }
    for language in languages:
        for split in ("train", "test"):
            made = []
            for month in months:
                for row in range(rows):
                    name = f"{language} {split} {month} {row}"
                    made.append(
                        {"text": text(name, 200), "id": name, "dump": "CC-MAIN-2024-10", "url": f"u/{name}"}
                        | {"date": f"{month}-{row + 1:02d}T00:00:00Z", "language": language[:3]}
                    )
            found[f"data/{language}/{split}/000_00000.parquet"] = parquet(made, rows, statistics)
    return found


def wikipedia(configs: Sequence[str], rows: int = 8) -> Files:
    found: Files = {"README.md": card({one: f"{one}/train-*" for one in configs})}
    for config in configs:
        made = [
            {"id": str(row), "url": f"https://wiki/{config}/{row}", "title": "T", "text": text(f"{config} {row}")}
            for row in range(rows)
        ]
        found[f"{config}/train-00000-of-00001.parquet"] = parquet(made)
    return found


def ccnews(years: Sequence[int], rows: int = 24) -> Files:
    """Return the files of CCNews: a packed file of JSON lines for each part of a year, with dates in the rows; the last
    row of each is of the year before."""
    found: Files = {"README.md": card({"default": "*.jsonl.gz"} | {str(year): f"{year}_*.jsonl.gz" for year in years})}
    for year in years:
        for part in range(2):
            made = [
                {"plain_text": text(f"{year} {part} {row}"), "title": "T", "requested_url": f"u/{year}/{part}/{row}"}
                | {"published_date": f"{year - (row == rows - 1)}-{row % 12 + 1:02d}-03", "sitename": "site"}
                | {"language": "en"}
                for row in range(rows)
            ]
            found[f"{year}_part_{part:02d}.jsonl.gz"] = json_lines(made)
    return found


def ppl(years: Sequence[int], rows: int = 12) -> Files:
    """Return the files of TheFinAI/ppl: a split for each year, with a day for each article."""
    found: Files = {"README.md": card({"default": {f"{year % 100:02d}": f"data/{year % 100:02d}-*" for year in years}})}
    for year in years:
        made = [
            {
                "text": text(f"{year} {row}"),
                "pub_date": f"{year}-{row % 12 + 1:02d}-03T00:00:00Z",
                "url": f"u/{year}/{row}",
            }
            for row in range(rows)
        ]
        found[f"data/{year % 100:02d}-00000-of-00001.parquet"] = parquet(made)
    return found


def marks(corpus: Corpus) -> dict[str, set[str]]:
    """The documents of each period whose beginning is in the corpus's rows."""
    tokenizer = Tokenizer.from_str(corpus.store.read(f"{TOKENIZER}/tokenizer.json").decode())
    found = {}
    for label in corpus.periods:
        rows = corpus.rows(label, "train")
        texts = [tokenizer.decode(list(row)) for row in rows.take(np.arange(len(rows)))["tokens"]]
        found[label] = {mark for text in texts for mark in re.findall(r"\[([^][]+)\]", text)}
    return found
