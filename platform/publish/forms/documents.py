"""JSON documents: their bytes, which depend on the content alone, and the schemas that describe them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from importlib.resources import files
from typing import Any

from ticlm.core.errors import InputError
from ticlm.core.reading import json_texts

SCHEMAS = "schemas"


def to_bytes(document: Mapping[str, Any]) -> bytes:
    """Return the document as JSON in UTF-8: keys sorted, two spaces deep, a newline at the end.

    Equal documents have equal bytes, whatever the order of their keys. Raises ValueError for NaN and infinities, which
    JSON does not have.
    """
    return (json.dumps(document, sort_keys=True, indent=2, ensure_ascii=False, allow_nan=False) + "\n").encode()


def read_object(data: bytes, where: str) -> dict[str, Any]:
    """Return the JSON object in the file `where`. Raises InputError if the bytes are no JSON, or no object."""
    try:
        return json_texts.read_object(data)
    except ValueError as error:  # of JSON, or of UTF-8
        raise InputError(f"{where} is no JSON document: {error}") from None


def schema(name: str) -> dict[str, Any]:
    """Return the packaged JSON schema (draft 2020-12) `name`, such as "statement-v1". Raises InputError if there is
    none."""
    folder = files("ticlm.platform.publish.forms").joinpath(SCHEMAS)
    try:
        data = folder.joinpath(f"{name}.json").read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        have = sorted(entry.name.removesuffix(".json") for entry in folder.iterdir() if entry.name.endswith(".json"))
        raise InputError(f"there is no schema {name}; there are {', '.join(have)}") from None
    return json_texts.read_object(data)
