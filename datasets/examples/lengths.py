"""Lengths: how long the query and the answers of a question may be."""

from __future__ import annotations

import hashlib
import os
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import Field

from ticlm.platform.core.errors import InputError
from ticlm.platform.core.settings import Settings

if TYPE_CHECKING:
    from tokenizers import Tokenizer


class Lengths(Settings):
    """A query of more than `query` is not asked; answers are cut so that with it they have at most `whole`.

    They count characters, or tokens of a `tokenizer`: a `tokenizer.json` or the folder of one. Models with other
    tokenizers are asked the same. (Released with TiC-LM: 1300 and 1900 tokens of GPT-NeoX.)
    """

    query: int | None = Field(None, gt=0)
    whole: int | None = Field(None, gt=0)
    tokenizer: str | None = None

    @property
    def identity(self) -> Settings:
        """The tokenizer by what its file holds."""
        if self.tokenizer is None:
            return self
        return self.model_copy(update={"tokenizer": hashlib.sha256(_file(self.tokenizer).read_bytes()).hexdigest()})

    def cut(self, query: str, answers: tuple[str, ...]) -> tuple[str, ...] | None:
        """The answers, as long as they may be; None where nothing may stand after the query, or the query is too
        long itself."""
        if self.query is None and self.whole is None:
            return answers
        length = len(self._ends(query))
        if self.query is not None and length > self.query:
            return None
        if self.whole is None:
            return answers
        if length >= self.whole:
            return None
        return tuple(_first(answer, self._ends(answer), self.whole - length) for answer in answers)

    def _ends(self, text: str) -> range | list[int]:
        """Where each unit of a text ends."""
        if self.tokenizer is None:
            return range(1, len(text) + 1)
        encoding = _loaded(self.tokenizer).encode(text, add_special_tokens=False)
        return [end for _, end in encoding.offsets]


def _first(text: str, ends: range | list[int], count: int) -> str:
    return text if len(ends) <= count else text[: ends[count - 1]].rstrip()


def _file(path: str) -> Path:
    place = Path(path).expanduser()
    file = place / "tokenizer.json" if place.is_dir() else place
    if not file.is_file():
        raise InputError(f"lengths.tokenizer: {path} is neither a tokenizer.json nor a folder with one")
    return file


@cache
def _loaded(path: str) -> Tokenizer:
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")  # tasks run side by side already
    from tokenizers import Tokenizer

    try:
        tokenizer = Tokenizer.from_file(str(_file(path)))
    except InputError:
        raise
    except Exception as error:  # what the library raises has no type of its own
        raise InputError(f"lengths.tokenizer: {path} is no tokenizer: {' '.join(str(error).split())[:200]}") from None
    tokenizer.no_truncation()
    tokenizer.no_padding()
    return tokenizer
