"""The jobs of `ticlm submit`, as the dashboard of a cluster lists them. Ray is not loaded, which takes seconds."""

from __future__ import annotations

import json
import os
import urllib.request
from dataclasses import dataclass
from http.client import HTTPException
from pathlib import Path
from typing import Any

from ticlm.core.errors import in_one_line
from ticlm.core.remote.ray_start import TOKEN_FILE

ADDRESSES = ("RAY_API_SERVER_ADDRESS", "RAY_ADDRESS")
PATIENCE_S = 3.0


@dataclass(frozen=True)
class SubmittedJob:
    """A job of a cluster that a study was sent to."""

    id: str
    study: str
    command: str
    state: str
    message: str
    """The last line of what Ray says of its end, where it failed."""


def dashboard() -> str:
    """Return the address of the dashboard that the environment names; empty if it names none. RAY_ADDRESS may also name
    the head's own port, which lists no jobs."""
    return next((value for name in ADDRESSES if (value := os.environ.get(name, "")).startswith("http")), "")


def submitted_jobs(address: str, root: str) -> list[SubmittedJob]:
    """Return the jobs on a root, the newest first. Raises OSError or ValueError where no dashboard answers."""
    request = urllib.request.Request(f"{address.rstrip('/')}/api/jobs/", headers=_headers())
    try:
        with urllib.request.urlopen(request, timeout=PATIENCE_S) as answer:
            return _on_root(json.load(answer), root)
    except (HTTPException, LookupError, TypeError, AttributeError) as error:
        raise ValueError(f"no answer of a Ray dashboard ({in_one_line(error)})") from None


def _on_root(listed: list[dict[str, Any]], root: str) -> list[SubmittedJob]:
    found = [one for one in listed if (one.get("metadata") or {}).get("root") == root]
    found.sort(key=lambda one: one.get("start_time") or 0, reverse=True)
    return [
        SubmittedJob(
            id=one.get("submission_id") or "",
            study=one["metadata"].get("study", ""),
            command=one["metadata"].get("command", ""),
            state=str(one.get("status", "")).lower(),
            message=((one.get("message") or "").strip().splitlines() or [""])[-1] if one["status"] == "FAILED" else "",
        )
        for one in found
    ]


def _headers() -> dict[str, str]:
    """Return the header with Ray's token, if there is one."""
    token = os.environ.get("RAY_AUTH_TOKEN", "")
    place = Path(os.environ.get("RAY_AUTH_TOKEN_PATH") or TOKEN_FILE).expanduser()
    if not token and place.is_file():
        token = place.read_text().strip()
    return {"Authorization": f"Bearer {token}"} if token else {}
