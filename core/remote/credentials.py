"""Credentials in URLs: what may be shown, recorded and hashed of an address, and what opens it.

A name and password before the host, and the parameters of a signed query, are no part of what an address names: they
change while the file stays, and whoever reads a record must not learn them.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

WEB = ("http", "https", "ftp", "ftps", "webdav", "webdavs", "dav", "davs", "ws", "wss")
"""Schemes whose user may be a token without a password. Elsewhere a lone `NAME@` names something: the container of
abfs://CONTAINER@ACCOUNT, the account of sftp://NAME@HOST."""
SECRET = re.compile(
    r"x-(?:amz|goog|oss|cos|obs|tos)-.*|awsaccesskeyid|ossaccesskeyid|googleaccessid|key-pair-id|sig|signature|sas|"
    r"credential|(?:(?:access|auth|hf|id|job|oauth|private|refresh|security)[-_]?)?token|api[-_]?key|jwt|bearer|"
    r"auth|authorization|passwd|password|pwd|(?:client_)?secret"
)
"""Parameters of a query, in lower case, that are credentials wherever they stand: those by which object stores sign a
URL, tokens, keys and passwords."""
SIGNED = re.compile(r"expires|policy|s[eprtvs]|srt|spr|sip|sdd|sk[estv]|skoid|sktid|saoid|suoid|scid")
"""Parameters that say what a signature covers and until when (S3 version 2, CloudFront, Azure). They are left out
beside one of the above alone: without a signature, `st=` may name data."""
_WORD = re.compile(r'[^\s"<>]+')
_USER = re.compile(r"://([^/?#]*)@")
_QUERY = re.compile(r"\?([^?#]*)")
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*$")
_SCHEME_LONG = 20
_GOOGLE_KEY = re.compile(r"(?i:key)=AIza[\w-]{30,}")
_AFTER = ":;,.)]}'"
"""What a sentence may put right behind a URL."""


class MaskedUrl(str):
    """The URL of something that can be read, as it may be shown, recorded and hashed: without its credentials.

    `whole` is the URL that opens it. It travels with a copy to other processes, and into no text that is made of this
    one.
    """

    whole: str

    def __new__(cls, text: str) -> MaskedUrl:
        made = str.__new__(cls, without_credentials(text))
        made.whole = whole(text)
        return made


def address(text: str) -> str:
    """Return a path or URI that may be shown: itself if it holds no credentials, else a MaskedUrl."""
    return MaskedUrl(text) if without_credentials(text) != text else text


def whole(text: str) -> str:
    """Return what opens a path or URI: of a MaskedUrl, the URL with its credentials."""
    return text.whole if isinstance(text, MaskedUrl) else text


def without_credentials(text: str) -> str:
    """Return a text with the names, passwords and signatures in its URLs left out, and nothing else changed."""
    if "://" not in text:
        return str(text)
    return _WORD.sub(_cleaned, text)  # word by word, so that the time grows with the length of the text alone


def plain_without_credentials(value: Any) -> Any:
    """Return a value of JSON's types with `without_credentials` applied to each text in it, keys included."""
    if isinstance(value, str):
        return without_credentials(value)
    if isinstance(value, Mapping):
        return {plain_without_credentials(key): plain_without_credentials(item) for key, item in value.items()}
    return [plain_without_credentials(item) for item in value] if isinstance(value, list | tuple) else value


def json_without_credentials(text: str) -> str:
    """Return a JSON text without credentials; byte for byte the same if it holds none."""
    if "://" not in text:
        return text
    held = json.loads(text)
    kept = plain_without_credentials(held)
    return text if kept == held else json.dumps(kept, ensure_ascii=False, separators=(",", ":"))


def _cleaned(word: re.Match[str]) -> str:
    before, sign, after = word[0].partition("://")
    return _USER.sub(_nameless, before + sign + _QUERY.sub(_unsigned, after)) if sign else word[0]


def _nameless(found: re.Match[str]) -> str:
    at = found.start()
    scheme = _SCHEME.search(found.string[max(0, at - _SCHEME_LONG) : at])
    if scheme is None:
        return found[0]
    known = scheme[0].lower().rpartition("+")[2] in WEB
    return "://" if known or ":" in found[1] else found[0]


def _unsigned(found: re.Match[str]) -> str:
    query = found[1].rstrip(_AFTER)
    every = [(part, part.partition("=")[0].lower().removeprefix("amp;")) for part in query.split("&")]
    secret = {part for part, name in every if SECRET.fullmatch(name) or _GOOGLE_KEY.match(part)}
    if not secret:
        return found[0]
    kept = "&".join(part for part, name in every if part not in secret and not SIGNED.fullmatch(name))
    return ("?" if kept else "") + kept + found[1][len(query) :]
