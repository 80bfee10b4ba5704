"""Charsets: the text behind a page's bytes, whatever it says about its encoding."""

from __future__ import annotations

import codecs
import re

BOMS = ((codecs.BOM_UTF8, "utf-8"), (codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be"))
META_BYTES = 1024
"""A declaration within a page stands in its first 1,024 bytes (HTML standard, 4.2.5.4)."""


def decoded(data: bytes, declared: str | None, html: bool) -> str:
    """The text, without a byte-order mark, null characters and surrogates; what cannot be decoded is U+FFFD.

    Its encoding is, in this order, what a byte-order mark says, what was `declared` (names as browsers understand
    them), what an HTML page itself declares, what its bytes look like. Pages that say UTF-8 and are not are common: a
    declaration of UTF-8 is believed if most of what is not ASCII is UTF-8, so that a page that was cut within a
    character stays what it is.
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
    """Python's name for an encoding under any label that browsers know; None for all others, UTF-7 among them."""
    from resiliparse.parse.encoding import map_encoding_to_html5

    if not label:
        return None
    name: str | None = map_encoding_to_html5(label.strip(" \"'"), fallback_utf8=False)
    return None if name is None else _WIDER.get(name, name)


def _meta(data: bytes) -> str | None:
    """What the page's own <meta> declares; one that can be read as ASCII cannot be UTF-16."""
    found = re.search(rb"""<meta[^>]+?charset\s*=\s*["']?\s*([A-Za-z0-9_:.+-]+)""", data[:META_BYTES], re.IGNORECASE)
    name = _known(found[1].decode("ascii")) if found else None
    return "utf-8" if name is not None and name.startswith("utf-16") else name


def _seen(data: bytes) -> str:
    """What the bytes look like; Windows-1252 where that would be UTF-8, which they are not."""
    from resiliparse.parse.encoding import detect_encoding

    name = _known(detect_encoding(data)) or "cp1252"
    return "cp1252" if name in ("utf-8", "ascii") else name


_WIDER = {"gbk": "gb18030", "shift_jis": "cp932", "euc_kr": "cp949", "big5": "big5hkscs", "iso8859-11": "cp874"}
"""Supersets that browsers use under these names (Encoding standard, section 4.2)."""
