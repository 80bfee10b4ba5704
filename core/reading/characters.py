"""Characters that Python holds and no file, tokenizer or terminal can take: halves of surrogate pairs.

Arguments of a command get them for bytes that are not UTF-8; JSON and YAML can write them as an escape.
"""

from __future__ import annotations


def unpaired(text: str) -> str:
    """Return the first half of a surrogate pair in a text, as `U+D800`; empty if there is none."""
    try:
        text.encode()
    except UnicodeEncodeError as error:
        return f"U+{ord(text[error.start]):04X}"
    return ""
