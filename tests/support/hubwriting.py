"""A hub of `hubserver` that can be written to: what huggingface_hub asks to make repositories, commits and branches.

Large files go the way of LFS. What was written is read back as from any hub here; a listing has the hashes of the real
one: git's own of a small file, the SHA-256 of a large one. Whoever writes needs the token.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Literal, cast
from urllib.parse import parse_qs, unquote, urlsplit

import pytest
from hubserver import Files, Handler, HubServer, Repository, hub, use

LARGE = (".safetensors", ".parquet", ".bin", ".zst", ".arrow")
LARGE_BYTES = 10 << 20
ATTRIBUTES = {".gitattributes": b"*.safetensors filter=lfs diff=lfs merge=lfs -text\n"}
Moment = Literal["before", "after"]
Hook = Callable[[int, Moment], None]


class Cut(Exception):
    """Raised by a hook: the connection ends without an answer."""


@dataclass
class Writing:
    """What a hub that is written to keeps. `hook` is called with the number of each request and whether its work is
    still to be done or has been; `received` counts the bytes of files. `commits` are (repository, branch, message)."""

    objects: dict[str, bytes] = field(default_factory=dict)
    received: int = 0
    number: int = 0
    hook: Hook = lambda number, moment: None
    commits: list[tuple[str, str, str]] = field(default_factory=list)
    parents: dict[str, str] = field(default_factory=dict)
    owners: tuple[str, ...] = ("lab",)


def is_large(path: str, data_size: int) -> bool:
    return data_size > 0 and (path.endswith(LARGE) or data_size > LARGE_BYTES)


def blob(data: bytes) -> str:
    return hashlib.sha1(b"blob %d\0" % len(data) + data).hexdigest()


def sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


class WritingHandler(Handler):
    writing: ClassVar[Writing]
    disable_nagle_algorithm = True  # an answer is two writes, and the second one would wait 40 ms

    def handle_one_request(self) -> None:
        try:
            super().handle_one_request()
        except (Cut, BrokenPipeError, ConnectionResetError):
            self.close_connection = True

    def do_HEAD(self) -> None:
        self._counted(super().do_HEAD)

    def do_GET(self) -> None:
        self._counted(self._get)

    def do_POST(self) -> None:
        self._counted(self._post)

    def do_PUT(self) -> None:
        self._counted(self._put)

    def do_DELETE(self) -> None:
        self._counted(self._delete)

    def _counted(self, work: Callable[[], None]) -> None:
        """Do the work of a request, with the hook before it and, before the answer leaves, after it."""
        self.writing.number += 1
        number = self.writing.number
        if self.command not in ("GET", "HEAD"):
            self.server.requests.append(f"{self.command} {unquote(self.path)}")
        self.writing.hook(number, "before")
        self._held = lambda: self.writing.hook(number, "after")
        work()

    def end_headers(self) -> None:
        held, self._held = self._held, lambda: None
        held()
        super().end_headers()

    _held: Callable[[], None] = staticmethod(lambda: None)

    def _parts(self) -> list[str]:
        return [unquote(part) for part in urlsplit(self.path).path.strip("/").split("/")]

    def _body(self) -> bytes:
        size = int(self.headers["Content-Length"] or 0)
        found = self.rfile.read(size)
        if len(found) < size:
            raise Cut  # whoever sends it was killed
        return found

    def _knows(self) -> bool:
        if self.headers.get("Authorization") == f"Bearer {self.server.token}":
            return True
        self._refuse(401, "", "Invalid credentials in Authorization header")
        return False

    def _get(self) -> None:
        query = parse_qs(urlsplit(self.path).query)
        if self._parts() != ["api", "models"]:
            super().do_GET()
            return
        begin = f"{query['author'][0]}/{query['search'][0]}"
        found = [
            {"id": name, "siblings": [{"rfilename": path} for path in one.commits[one.refs["main"]]]}
            for name, one in sorted(self.server.repositories.items())
            if name.startswith(begin)
        ]
        self._json(found)

    def _post(self) -> None:
        parts, body = self._parts(), self._body()
        if self.server.status:
            self._refuse(self.server.status, "", "not now")
        elif parts == ["api", "validate-yaml"]:
            bad = "license: [" in json.loads(body)["content"]
            self._json({"errors": [{"message": "no YAML"}] if bad else [], "warnings": []}, 400 if bad else 200)
        elif parts[4:5] != ["paths-info"] and not self._knows():
            pass
        elif parts == ["api", "repos", "create"]:
            self._create(json.loads(body))
        elif parts[-4:] == ["info", "lfs", "objects", "batch"]:
            self._batch(json.loads(body))
        elif (found := self._of(parts)) is None:
            self._refuse(404, "RepoNotFound", "no such repository")
        elif parts[4] == "preupload":
            self._preupload(found, parts[5], json.loads(body))
        elif parts[4] == "paths-info":
            self._paths_info(found, parts[5], body.decode())
        elif parts[4] == "branch":
            self._branch(found, parts[5], json.loads(body or b"{}"))
        elif parts[4] == "commit":
            self._commit(found, "/".join(parts[2:4]), parts[5], body)

    def _of(self, parts: list[str]) -> Repository | None:
        return self.server.repositories.get("/".join(parts[2:4]))

    def _create(self, asked: dict[str, Any]) -> None:
        name = f"{asked['organization']}/{asked['name']}"
        if asked["organization"] not in self.writing.owners:
            self._refuse(403, "", "You don't have the rights to create a model under this namespace")
            return
        exists = name in self.server.repositories
        if not exists:
            self.server.repository(name).push(dict(ATTRIBUTES))
        self._json({"url": f"{self.server.url}/{name}"}, 409 if exists else 200)

    def _preupload(self, found: Repository, revision: str, asked: dict[str, Any]) -> None:
        if revision not in found.refs:
            self._refuse(404, "RevisionNotFound", "no such revision")
            return
        there = found.commits[found.refs[revision]]
        files = []
        for one in asked["files"]:
            path, data = one["path"], there.get(one["path"])
            mode = "lfs" if is_large(path, one["size"]) else "regular"
            oid = None if data is None else sha256(data) if is_large(path, len(data)) else blob(data)
            files.append({"path": path, "uploadMode": mode, "shouldIgnore": False, "oid": oid})
        self._json({"files": files})

    def _batch(self, asked: dict[str, Any]) -> None:
        objects = []
        for one in asked["objects"]:
            upload = {"upload": {"href": f"{self.server.url}/objects/{one['oid']}"}}
            objects.append(one if one["oid"] in self.writing.objects else one | {"actions": upload})
        self._json({"transfer": "basic", "objects": objects})

    def _put(self) -> None:
        data, oid = self._body(), self._parts()[1]
        self.writing.received += len(data)
        if sha256(data) != oid:
            self._refuse(400, "", "other bytes")
            return
        self.writing.objects[oid] = data
        self._json({})

    def _commit(self, found: Repository, name: str, branch: str, body: bytes) -> None:
        lines = [json.loads(line) for line in body.splitlines()]
        header = lines[0]["value"]
        if branch not in found.refs:
            self._refuse(404, "RevisionNotFound", "no such branch")
            return
        if header.get("parentCommit") not in (None, found.refs[branch]):
            self._refuse(412, "", "A commit has happened since. Please refresh and try again.")
            return
        files: Files = dict(found.commits[found.refs[branch]])
        for line in lines[1:]:
            path = line["value"]["path"]
            if line["key"] == "deletedFile":
                del files[path]
            elif line["key"] == "lfsFile":
                files[path] = self.writing.objects[line["value"]["oid"]]
            else:
                files[path] = base64.b64decode(line["value"]["content"])
                self.writing.received += len(files[path])
        self.writing.commits.append((name, branch, header["summary"]))
        number = f"{name} {len(found.commits)} {found.refs[branch]}"
        commit = hashlib.sha1(number.encode()).hexdigest()
        self.writing.parents[commit] = found.refs[branch]
        found.commits[commit], found.refs[branch] = files, commit
        self._json({"success": True, "commitOid": commit, "commitUrl": f"{self.server.url}/{name}/commit/{commit}"})

    def _paths_info(self, found: Repository, commit: str, body: str) -> None:
        """Tell of one folder which commit changed it last."""
        (folder,) = parse_qs(body)["paths"]

        def there(one: str) -> Files:
            return {path: data for path, data in found.commits[one].items() if path.startswith(f"{folder}/")}

        while there(commit) == there(self.writing.parents[commit]):
            commit = self.writing.parents[commit]
        last = {"id": commit, "title": "", "date": "2024-01-01T00:00:00.000Z"}
        self._json([{"type": "directory", "oid": "0" * 40, "path": folder, "size": 0, "lastCommit": last}])

    def _branch(self, found: Repository, branch: str, asked: dict[str, str]) -> None:
        begin = asked.get("startingPoint", "main")
        commit = found.refs.get(begin, begin)
        if branch in found.refs:
            self._refuse(409, "", "Reference already exists")
        elif commit not in found.commits:
            self._refuse(404, "RevisionNotFound", "no such revision")
        else:
            found.refs[branch] = commit
            self._json({})

    def _delete(self) -> None:
        found, branch = self._of(self._parts()), self._parts()[5]
        if not self._knows():
            return
        if found is None or found.refs.pop(branch, None) is None:
            self._refuse(404, "RevisionNotFound", "no such branch")
        else:
            self._json({})

    def _json(self, value: object, status: int = 200) -> None:
        data = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)
        self.server.sent += len(data)

    def _tree(self, files: Files, folder: str) -> None:
        """List a folder, as `hubserver` does, with the hashes of a real hub, in pages."""
        kept, self._json = self._json, lambda value, status=200: listed.extend(cast(list[Any], value))  # type: ignore[method-assign]
        listed: list[dict[str, Any]] = []
        super()._tree(files, folder)
        self._json = kept  # type: ignore[method-assign]
        for one in listed:
            data = files.get(one["path"])
            if data is None:
                continue
            one["oid"] = blob(data)
            if is_large(one["path"], len(data)):
                one["lfs"] = {"oid": sha256(data), "size": len(data), "pointerSize": 134}
        self._json(listed)


def arm(writing: Writing, hook: Hook) -> None:
    """Count requests from one on, and have each of them tell a hook."""
    writing.number, writing.hook, writing.received = 0, hook, 0
    writing.commits.clear()


@contextmanager
def writable(cache: Path, patch: pytest.MonkeyPatch) -> Iterator[tuple[HubServer, Writing]]:
    """Serve an empty hub that this process asks and may write to, in the block."""
    kept = Writing()
    handler = cast(type[Handler], type("Kept", (WritingHandler,), {"writing": kept}))
    with hub(handler) as server:
        use(server, cache, patch)
        patch.setenv("HF_TOKEN", server.token)
        patch.setattr("huggingface_hub.constants.HF_HUB_DISABLE_XET", True)  # its protocol is not served here
        yield server, kept
