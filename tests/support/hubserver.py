"""A hub of models on this machine, for tests: what huggingface_hub asks to read, and ways to misbehave."""

from __future__ import annotations

import hashlib
import json
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

Files = dict[str, bytes]


def sha1(data: bytes) -> str:
    return hashlib.sha1(data).hexdigest()


def commit_of(files: Files) -> str:
    """Return the commit that files have here: a hash of them."""
    parts = [f"{name}\0{hashlib.sha1(data).hexdigest()}" for name, data in sorted(files.items())]
    return hashlib.sha1("\n".join(parts).encode()).hexdigest()


@dataclass
class Repository:
    """Commits with their files, and the commits of branches, tags and requests (`refs/pr/1`)."""

    commits: dict[str, Files] = field(default_factory=dict)
    refs: dict[str, str] = field(default_factory=dict)
    gated: bool = False

    def push(self, files: Files, *refs: str) -> str:
        """Move refs (main, if none is named) to a commit with these files. Returns it."""
        commit = commit_of(files)
        self.commits[commit] = files
        self.refs |= dict.fromkeys(refs or ("main",), commit)
        return commit


class HubServer(ThreadingHTTPServer):
    """Answers like a hub, and counts. `delay_s` is waited before each answer, `cut_at` bytes of a file are sent before
    its connection is cut, `token` opens what is gated, and `status` is answered to everything if it is not 0. The next
    `faults` requests are answered 503. `data_sent` counts the bytes of files alone. With a `storage`, files are not
    sent: who asks for one is led to the address of the storage that has the SHA-1 of the file in its place."""

    daemon_threads = True
    repositories: dict[str, Repository]
    requests: list[str]
    sent: int
    delay_s: float
    cut_at: int | None
    cuts: int
    token: str
    status: int
    faults: int
    data_sent: int
    storage: str

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"

    def repository(self, name: str) -> Repository:
        """Return a repository, which is made if it is new."""
        return self.repositories.setdefault(name, Repository())


class Handler(BaseHTTPRequestHandler):
    server: HubServer
    protocol_version = "HTTP/1.1"

    def do_HEAD(self) -> None:
        self._answer(body=False)

    def do_GET(self) -> None:
        self._answer(body=True)

    def _answer(self, body: bool) -> None:
        path = [unquote(part) for part in urlsplit(self.path).path.strip("/").split("/")]
        self.server.requests.append(f"{self.command} {unquote(self.path)}")
        time.sleep(self.server.delay_s)
        with suppress(BrokenPipeError, ConnectionResetError):
            if self.server.status or self.server.faults:
                self.server.faults = max(0, self.server.faults - 1)
                self._refuse(self.server.status or 503, "", "not now")
            elif path[:2] in (["api", "models"], ["api", "datasets"]):
                self._api("/".join(path[2:4]), path[4:])
            elif path[:1] == ["datasets"] and path[3:4] == ["resolve"]:
                self._file("/".join(path[1:3]), path[4:], body)
            elif path[2:3] == ["resolve"]:
                self._file("/".join(path[:2]), path[3:], body)
            else:
                self._refuse(404, "", "nothing here")

    def _api(self, name: str, rest: list[str]) -> None:
        found = self.server.repositories.get(name)
        if found is None:
            self._refuse(401, "RepoNotFound", "no such repository")
        elif rest == ["auth-check"]:
            if found.gated and self.headers.get("Authorization") != f"Bearer {self.server.token}":
                self._refuse(403, "GatedRepo", "accept the terms first")
            else:
                self._json({})
        elif rest == ["refs"]:
            named = {True: "branches", False: "pullRequests"}
            refs: dict[str, list[dict[str, str]]] = {kind: [] for kind in (*named.values(), "tags", "converts")}
            for ref, commit in found.refs.items():
                whole = ref if ref.startswith("refs/") else f"refs/heads/{ref}"
                refs[named[whole != ref]].append({"name": ref, "ref": whole, "targetCommit": commit})
            self._json(refs)
        else:
            revision = "/".join(rest[1:]) if rest[:1] in (["revision"], ["tree"]) else "main"
            folder = ""
            if rest[:1] == ["tree"] and revision not in found.refs:
                revision, _, folder = revision.partition("/")
            commit = found.refs.get(revision, revision)
            if commit not in found.commits:
                self._refuse(404, "RevisionNotFound", "no such revision")
                return
            files = found.commits[commit]
            if rest[:1] == ["tree"]:
                self._tree(files, folder)
                return
            about = {"id": name, "sha": commit, "gated": "auto" if found.gated else False}
            self._json({**about, "siblings": [{"rfilename": one} for one in files]})

    def _tree(self, files: Files, folder: str) -> None:
        recursive = "recursive=true" in self.path.lower()
        below = f"{folder}/" if folder else ""
        found = {one: data for one, data in files.items() if one.startswith(below)}
        if folder and not found:
            self._refuse(404, "EntryNotFound", "no such folder")
            return
        above = {one.rpartition("/")[0] for one in found} - {folder, ""}
        above |= {"/".join(one.split("/")[:depth]) for one in above for depth in range(1, one.count("/") + 1)}
        listed: list[dict[str, object]] = [
            {"type": "directory", "oid": "0" * 40, "path": one, "size": 0}
            for one in sorted(above)
            if one.startswith(below)
        ]
        for one, data in found.items():
            listed.append({"type": "file", "oid": hashlib.sha1(data).hexdigest(), "path": one, "size": len(data)})
        self._json([one for one in listed if recursive or "/" not in str(one["path"])[len(below) :]])

    def _file(self, name: str, rest: list[str], body: bool) -> None:
        found = self.server.repositories.get(name)
        if found is None:
            self._refuse(401, "RepoNotFound", "no such repository")
            return
        if found.gated and self.headers.get("Authorization") != f"Bearer {self.server.token}":
            self._refuse(403, "GatedRepo", "accept the terms first")
            return
        commit = found.refs.get(rest[0], rest[0])
        data = found.commits.get(commit, {}).get("/".join(rest[1:]))
        if data is None:
            self._refuse(404, "EntryNotFound", "no such file")
            return
        if self.server.storage:
            self.send_response(302)
            self.send_header("Location", self.server.storage.format(sha1(data)))
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
        asked = self.headers.get("Range")
        first, _, last = (asked or "bytes=0-").removeprefix("bytes=").partition("-")
        begin, end = int(first), min(int(last or len(data)) + 1, len(data))
        part = data[begin:end]
        self.send_response(206 if asked else 200)
        self.send_header("X-Repo-Commit", commit)
        self.send_header("ETag", f'"{hashlib.sha1(data).hexdigest()}"')
        self.send_header("Accept-Ranges", "bytes")
        self.send_header("Content-Length", str(len(part)))
        if asked:
            self.send_header("Content-Range", f"bytes {begin}-{end - 1}/{len(data)}")
        self.end_headers()
        if not body:
            return
        if self.server.cut_at is not None and self.server.cuts:
            part, self.close_connection = part[: self.server.cut_at], True
            self.server.cuts -= 1
        self.wfile.write(part)
        self.server.sent += len(part)
        self.server.data_sent += len(part)

    def _json(self, value: object) -> None:
        data = json.dumps(value).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)
        self.server.sent += len(data)

    def _refuse(self, status: int, code: str, why: str) -> None:
        self.send_response(status)
        for name, value in (("X-Error-Code", code), ("X-Error-Message", why), ("Content-Length", "0")):
            if value:
                self.send_header(name, value)
        self.end_headers()

    def log_message(self, *_: object) -> None:
        pass


@contextmanager
def hub(handler: type[Handler] = Handler) -> Iterator[HubServer]:
    """Serve an empty hub on a port of its own in the block; another handler may answer more."""
    server = HubServer(("127.0.0.1", 0), handler)
    server.repositories, server.requests, server.sent, server.delay_s = {}, [], 0, 0.0
    server.cut_at, server.cuts, server.token, server.status = None, 0, "hf_open", 0
    server.faults, server.data_sent, server.storage = 0, 0, ""
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def files_in(folder: Path, below: str = "") -> Files:
    """Return the files of a folder, as if they lay in a folder `below` of a repository."""
    prefix = f"{below}/" if below else ""
    found = (file for file in sorted(folder.rglob("*")) if file.is_file())
    return {f"{prefix}{file.relative_to(folder).as_posix()}": file.read_bytes() for file in found}


def use(server: HubServer, cache: Path, patch: pytest.MonkeyPatch) -> None:
    """Let this process ask a hub, with an empty cache and no memory; the library reads its variables once."""
    from huggingface_hub import constants

    from ticlm.core import hub as names

    patch.setattr(constants, "ENDPOINT", server.url)
    patch.setattr(
        constants, "HUGGINGFACE_CO_URL_TEMPLATE", f"{server.url}/{{repo_id}}/resolve/{{revision}}/{{filename}}"
    )
    patch.setattr(constants, "HF_HUB_CACHE", str(cache / "hub"))
    patch.setattr(constants, "HF_ASSETS_CACHE", str(cache / "assets"))
    patch.setattr(constants, "HF_HUB_OFFLINE", False)
    patch.delenv("HF_TOKEN", raising=False)
    if "datasets" in sys.modules:  # has read them too
        patch.setattr("datasets.config.HF_ENDPOINT", server.url)
    patch.setenv("HF_ENDPOINT", server.url)
    forget()
    patch.setattr(names, "_trusted", set())


def forget() -> None:
    """Forget what this process was told of branches, as a new one has not been told."""
    from ticlm.core import hub as names
    from ticlm.datasets.hub import repository

    names._resolved.cache_clear()
    names._files.clear()
    for one in (repository.commit_of, repository.files_at):
        one.cache_clear()


@contextmanager
def served(cache: Path, patch: pytest.MonkeyPatch) -> Iterator[HubServer]:
    """Serve an empty hub that this process asks, in the block."""
    with hub() as server:
        use(server, cache, patch)
        yield server
