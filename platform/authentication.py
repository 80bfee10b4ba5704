"""Ray's token: whoever has one shows it. Ray's own clients do so only where they are told to."""

from __future__ import annotations

import os
from pathlib import Path

PLACES = "RAY_AUTH_TOKEN, the file that RAY_AUTH_TOKEN_PATH names, and ~/.ray/auth_token"


def show_token() -> bool:
    """Have Ray's clients in this process show the token, where there is one and nothing else is said; whether this has
    just been decided here."""
    if "RAY_AUTH_MODE" in os.environ or not _has_token():
        return False
    os.environ["RAY_AUTH_MODE"] = "token"
    return True


def _has_token() -> bool:
    named = "RAY_AUTH_TOKEN" in os.environ or "RAY_AUTH_TOKEN_PATH" in os.environ
    return named or Path("~/.ray/auth_token").expanduser().is_file()
