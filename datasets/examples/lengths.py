"""Limits on the length of the query and the answers of a question."""

from __future__ import annotations

import hashlib
import os
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import Field

from ticlm.core.errors import InputError
from ticlm.core.settings import Settings

if TYPE_CHECKING:
    from tokenizers import Tokenizer


class Lengths(Settings):
    """The longest query, and the longest query with its answer.

    A question whose query is longer than `query` is left out. Answers are cut so that query and answer together have at
    most the length `whole`. Lengths are in characters, or in tokens of `tokenizer`: a `tokenizer.json` or its folder.
    Models with other tokenizers get the same questions. (TiC-LM's released code: 1300 and 1900 tokens of GPT-NeoX.)
    """

    query: int | None = Field(None, gt=0)
    """Longest query; longer ones are left out. By default there is no limit."""
    whole: int | None = Field(None, gt=0)
    """Longest query with its answer; answers are cut to fit. By default there is no limit."""
    tokenizer: str | None = None
    """A `tokenizer.json`, or its folder, in whose tokens lengths are counted; by default in characters."""

    @property
    def identity(self) -> Settings:
        """These settings with the tokenizer's path replaced by the hash of its file."""
        if self.tokenizer is None:
            return self
        return self.model_copy(update={"tokenizer": hashlib.sha256(_file(self.tokenizer).read_bytes()).hexdigest()})

    def cut(self, query: str, answers: tuple[str, ...]) -> tuple[str, ...] | None:
        """Return the answers, cut to the length that is left; None if the query is too long or leaves no room."""
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
        """Return the position at which each unit (character or token) of a text ends."""
        if self.tokenizer is None:
            return range(1, len(text) + 1)
        encoding = _loaded(self.tokenizer).encode(text, add_special_tokens=False)
        return [end for _, end in encoding.offsets]


def _first(text: str, ends: range | list[int], count: int) -> str:
    return text if len(ends) <= count else text[: ends[count - 1]].rstrip()


def _file(path: str) -> Path:
    local = Path(path).expanduser()
    file = local / "tokenizer.json" if local.is_dir() else local
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
