"""Requests to web servers: their options, the login of the hub and a proxy, and addresses that name fixed bytes."""

from __future__ import annotations

import re
from typing import Any
from urllib.parse import unquote, urlsplit

COMMIT = re.compile(r"/resolve/[0-9a-f]{40}/")


def is_http(uri: str) -> bool:
    return uri.startswith(("http://", "https://"))


def options(uri: str, stall_s: float, login: bool = True) -> dict[str, Any]:
    """Return fsspec's options for bytes as they are on the server, with a limit on silence, but not on the whole
    transfer. Without `login` they hold no token, whatever the address."""
    if not is_http(uri):
        return {}
    import aiohttp

    timeout = aiohttp.ClientTimeout(total=None, sock_connect=stall_s, sock_read=stall_s)
    return {
        "client_kwargs": {"timeout": timeout, "auto_decompress": False},
        "headers": {"Accept-Encoding": "identity", **(_login(uri) if login else {})},
        **proxy(uri),
    }


def is_of_hub(uri: str) -> bool:
    """Return whether an address is that of a file on the hub which huggingface_hub asks."""
    if "/resolve/" not in uri:  # nor need that library be imported
        return False
    from huggingface_hub import constants

    return uri.startswith(f"{constants.ENDPOINT}/")


def is_fixed(uri: str) -> bool:
    """Return whether an address names a commit, so that its bytes never change."""
    return is_of_hub(uri) and COMMIT.search(uri) is not None


def origin(uri: str) -> tuple[str, str]:
    """Return the scheme, and the host with its port."""
    parts = urlsplit(uri)
    return parts.scheme, parts.netloc.rpartition("@")[2].lower()


def proxy(uri: str) -> dict[str, Any]:
    """Return the options for the proxy that the environment names for a server (HTTPS_PROXY, NO_PROXY)."""
    # Not aiohttp's trust_env: that reads ~/.netrc as well, and refuses a request with a login in both.
    from urllib.request import getproxies, proxy_bypass

    import aiohttp

    parts = urlsplit(uri)
    named = getproxies().get(parts.scheme)
    if not named or proxy_bypass(parts.hostname or ""):
        return {}
    found = urlsplit(named if "://" in named else f"http://{named}")
    address = {"proxy": found._replace(netloc=found.netloc.rpartition("@")[2]).geturl()}
    if found.username is None:
        return address
    return {**address, "proxy_auth": aiohttp.BasicAuth(unquote(found.username), unquote(found.password or ""))}


def _login(uri: str) -> dict[str, str]:
    """Return the header that opens gated files of the hub for whoever is logged in there; nothing for other servers."""
    if not is_of_hub(uri):
        return {}
    from huggingface_hub import get_token

    token = get_token()
    return {"Authorization": f"Bearer {token}"} if token else {}
