"""Folders of dated texts by month, and recipes that build them: what tests of calendars and lost periods share."""

from __future__ import annotations

import gzip
import json
import random
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import date, timedelta
from pathlib import Path
from typing import Any
from unittest.mock import patch

from ticlm.core.corpus import Corpus
from ticlm.core.periods import span
from ticlm.core.settings import parse
from ticlm.datasets.corpus import build, staging
from ticlm.datasets.corpus.periods_build import PeriodsBuild
from ticlm.datasets.corpus.recipe import CorpusRecipe
from ticlm.datasets.io.documents import Bad, Document, Piece, Skipped
from ticlm.datasets.io.fetching import Unreachable
from ticlm.datasets.io.file_documents import FileDocuments

WORDS = [f"{a}{b}{c}" for a in "bdfgklmnprst" for b in "aeiou" for c in ("n", "r", "st", "lk")]


def texts_of(label: str, count: int = 30, seed: int = 0) -> list[dict[str, Any]]:
    """Documents of a month or another span, whose days follow one another evenly over it."""
    rng = random.Random(f"{label}/{seed}")
    start, end = span(label)
    days = (end - start).days
    return [
        {
            "url": f"https://{label}.example/{seed}/{number}",
            "text": " ".join(rng.choices(WORDS, k=rng.randrange(8, 60))) + f" in {label}.",
            "timestamp": (start + timedelta(days=number * days // count)).isoformat(),
            "source": rng.choice(["North", "South"]),
        }
        for number in range(count)
    ]


def write(path: Path, documents: Sequence[Any]) -> Path:
    """Write documents as JSON lines, packed if the name ends in `.gz`."""
    path.parent.mkdir(parents=True, exist_ok=True)
    data = "".join(json.dumps(document) + "\n" for document in documents).encode()
    path.write_bytes(gzip.compress(data, mtime=0) if path.suffix == ".gz" else data)
    return path


def months(folder: Path, first: str, last: str, count: int = 30) -> Path:
    """Fill a folder with a file for each month."""
    day, end = span(first)[0], span(last)[1]
    while day < end:
        write(folder / f"{day:%Y%m}.jsonl", texts_of(f"{day:%Y%m}", count))
        day = (date(day.year, day.month, 1) + timedelta(days=32)).replace(day=1)
    return folder


def recipe(folder: Path, **changes: Any) -> CorpusRecipe:
    settings = {
        "name": "toy",
        "version": 1,
        "documents": {"kind": "files", "paths": [str(folder)]},
        "splits": {"eval": 0.2, "tune": 0.1},
        "tokenizer": {"kind": "train", "vocab_size": 300},
        "length": 16,
    }
    return parse(CorpusRecipe, settings | changes, "recipe")


def built(folder: Path, root: Path, **changes: Any) -> tuple[Corpus, list[str]]:
    """Build the folder, and return the corpus and the lines of progress."""
    lines: list[str] = []
    return build.build(recipe(folder, **changes), str(root), lines.append), lines


@contextmanager
def unreachable(name: str) -> Iterator[None]:
    """Let no build read the files of this name, for the time of the block, as if their server were down."""
    read = FileDocuments.read

    def failing(self: FileDocuments, piece: Piece) -> Iterator[Document | Bad | Skipped]:
        if name in piece.input.path:
            raise Unreachable(f"{piece.input.path}: the server is down")
        yield from read(self, piece)

    staging.end_reading()  # the process that reads is forked anew
    with patch.object(FileDocuments, "read", failing):
        yield
    staging.end_reading()


class Interrupted(Exception):
    """A build stopped after it had read all its inputs."""


def interrupted(folder: Path, root: Path, **changes: Any) -> None:
    """Begin to build the folder, and stop when everything is read and planned."""
    with patch.object(PeriodsBuild, "build", side_effect=Interrupted):
        try:
            built(folder, root, **changes)
        except Interrupted:
            return
    raise AssertionError("the build did not begin to build periods")
