"""Decoding: the text of a page, whatever the page says about its encoding."""

from __future__ import annotations

import codecs
import re

BOMS = ((codecs.BOM_UTF8, "utf-8"), (codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be"))
META_BYTES = 1024
"""A page declares its encoding in its first 1,024 bytes (HTML standard, 4.2.5.4)."""


def decoded(data: bytes, declared: str | None, html: bool) -> str:
    """Return the text of some bytes, without byte-order mark, null characters and surrogates; undecodable bytes become
    U+FFFD.

    The encoding is the first of: the byte-order mark, the `declared` one (by a name that browsers know), the encoding
    that an HTML page itself declares, and the encoding that the bytes look like. Many pages declare UTF-8 and are not:
    that is believed if most of the bytes beyond ASCII are UTF-8, so that a page that was cut within a character stays
    UTF-8.
    """
    for mark, marked in BOMS:
        if data.startswith(mark):
            return _text(data[len(mark) :], marked)
    name = _known(declared) or (_meta(data) if html else None)
    if name is None or name == "utf-8":
        text = data.decode("utf-8", "replace")
        damaged = text.count("�")
        if 2 * damaged <= len(text) - len(text.encode("ascii", "ignore")):
            return text.replace("\0", "")
        name = _seen(data)
    return _text(data, name)


def _text(data: bytes, name: str) -> str:
    return data.decode(name, "replace").replace("\0", "")


def _known(label: str | None) -> str | None:
    """Return Python's name of an encoding with a label that browsers know; None for others, such as UTF-7."""
    from resiliparse.parse.encoding import map_encoding_to_html5

    if not label:
        return None
    name: str | None = map_encoding_to_html5(label.strip(" \"'"), fallback_utf8=False)
    return None if name is None else _WIDER.get(name, name)


def _meta(data: bytes) -> str | None:
    """Return the encoding that the page's <meta> declares. As it could be read as ASCII, it is not UTF-16."""
    found = re.search(rb"""<meta[^>]+?charset\s*=\s*["']?\s*([A-Za-z0-9_:.+-]+)""", data[:META_BYTES], re.IGNORECASE)
    name = _known(found[1].decode("ascii")) if found else None
    return "utf-8" if name is not None and name.startswith("utf-16") else name


def _seen(data: bytes) -> str:
    """Return the encoding that the bytes look like; Windows-1252 instead of UTF-8, which they are not."""
    from resiliparse.parse.encoding import detect_encoding

    name = _known(detect_encoding(data)) or "cp1252"
    return "cp1252" if name in ("utf-8", "ascii") else name


_WIDER = {"gbk": "gb18030", "shift_jis": "cp932", "euc_kr": "cp949", "big5": "big5hkscs", "iso8859-11": "cp874"}
"""Supersets of these encodings, which browsers use instead (Encoding standard, section 4.2)."""
