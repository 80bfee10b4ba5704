"""One repository of a hub: which commits and files it has, and the one request by which it changes."""

from __future__ import annotations

import glob
import hashlib
import sys
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypeVar

from ticlm.core.errors import InputError
from ticlm.core.remote.answers import Wait, answered
from ticlm.platform.publish.places.hub_faults import heard
from ticlm.platform.publish.places.place import sha256_of

MAIN = "main"
PATIENCE_S = 20.0
"""Seconds in which a hub must begin to answer. The library itself waits without end, which only uploads need."""
ATTRIBUTES = ".gitattributes"
"""The file that a hub puts into each repository by itself, and changes as it sees fit."""
T = TypeVar("T")


@dataclass(frozen=True)
class RemoteFile:
    """A file as the listing of a commit tells it: its size in bytes and one of two hashes."""

    size: int
    sha256: str
    """SHA-256 (hex) of a large file; "" of a file that git holds itself."""
    blob: str
    """Git's hash (SHA-1, hex) of a file that git holds itself."""

    def holds(self, file: Path) -> bool:
        """Return whether a local file is the same."""
        if file.stat().st_size != self.size:
            return False
        return sha256_of(file) == self.sha256 if self.sha256 else blob_hash(file.read_bytes()) == self.blob


def lacking(there: Mapping[str, RemoteFile], wanted: Mapping[str, Path]) -> dict[str, Path]:
    """Return those local files that are not among some files of a hub, or differ from them."""
    return {path: file for path, file in wanted.items() if path not in there or not there[path].holds(file)}


def blob_hash(data: bytes) -> str:
    """Return the SHA-1 (hex) that git gives a file: of its size and its bytes."""
    return hashlib.sha1(b"blob %d\0" % len(data) + data).hexdigest()


@dataclass(frozen=True)
class HubRepository:
    """A repository by its name `ORG/NAME`. All methods raise a TiclmError, in one line, for what goes wrong; Rivalled
    if the repository is not what was read a moment before."""

    name: str
    kind: Literal["model", "dataset"] = "model"
    private: bool = False

    def heads(self) -> dict[str, str] | None:
        """Return the commit of each branch, by its name; None if there is no such repository."""
        from huggingface_hub import errors

        def asked(_: Wait) -> dict[str, str] | None:
            try:
                refs = self._api().list_repo_refs(self.name, repo_type=self.kind)
            except errors.GatedRepoError:
                raise
            except errors.RepositoryNotFoundError:
                return None
            return {one.name: one.target_commit for one in refs.branches}

        found = self._asked(asked)
        if found is not None and MAIN not in found:
            raise InputError(f"{self.name}: has no branch {MAIN}; hubs make one with the repository")
        return found

    def made(self) -> dict[str, str]:
        """Return the commit of each branch, after making the repository if there is none."""
        found = self.heads()
        if found is None:
            how = {"repo_type": self.kind, "private": self.private or None, "exist_ok": True}
            self._asked(lambda _: self._api().create_repo(self.name, **how))
            found = self.heads()
        if found is None:
            raise InputError(f"{self.name}: was made just now, but your token may not read it; take one that may")
        return found

    def listed(self, commit: str) -> dict[str, RemoteFile]:
        """Return the files of a commit by their paths, without ATTRIBUTES."""

        def asked(wait: Wait) -> dict[str, RemoteFile]:
            found = {}
            for one in self._api().list_repo_tree(self.name, recursive=True, revision=commit, repo_type=self.kind):
                wait.begin(one.path)  # the next page
                if hasattr(one, "blob_id"):  # no folder
                    found[one.path] = RemoteFile(one.size, one.lfs.sha256 if one.lfs else "", one.blob_id)
            found.pop(ATTRIBUTES, None)
            return found

        return self._asked(asked)

    def changed(self, commit: str, folder: str) -> str:
        """Return the last commit, up to this one, that changed a folder."""

        def asked(_: Wait) -> str:
            how = {"revision": commit, "repo_type": self.kind, "expand": True}
            (found,) = self._api().get_paths_info(self.name, [folder], **how)
            return str(found.last_commit.oid)

        return self._asked(asked)

    def branch(self, name: str, commit: str) -> None:
        """Make a branch at a commit. Raises Rivalled if there is one of this name."""
        self._asked(lambda _: self._api().create_branch(self.name, branch=name, revision=commit, repo_type=self.kind))

    def drop_branch(self, name: str) -> None:
        """Remove a branch, unless somebody else did."""
        from huggingface_hub import errors

        def asked(_: Wait) -> None:
            try:
                self._api().delete_branch(self.name, branch=name, repo_type=self.kind)
            except errors.HfHubHTTPError as error:
                if error.response.status_code != 404:
                    raise

        self._asked(asked)

    def commit(
        self, branch: str, parent: str, files: Mapping[str, Path], message: str, without: Collection[str] = ()
    ) -> str:
        """Add files to a branch, and remove the paths `without`, by one commit. Returns it, or `parent` if
        there is nothing to do.

        The commit is made only if the branch still is at `parent`; else Rivalled is raised. Files that a hub holds as
        large ones are sent before, and not again after a kill.
        """
        from huggingface_hub import CommitOperationAdd, CommitOperationDelete

        if not files and not without:
            return parent
        changes: list[Any] = [CommitOperationDelete(path, is_folder=False) for path in sorted(without)]
        how: dict[str, Any] = {"commit_message": message, "revision": branch, "parent_commit": parent}
        with heard(self.name):
            changes += [CommitOperationAdd(path, str(file)) for path, file in files.items()]
            made = self._api().create_commit(self.name, changes, repo_type=self.kind, **how)
        return str(made.oid)

    def fetched(self, commit: str, paths: Collection[str]) -> Path:
        """Return a folder of the library's cache with some files of a commit, and maybe others."""
        from huggingface_hub import snapshot_download

        self._api()
        wanted = [glob.escape(path) for path in paths]
        with heard(self.name):
            return Path(snapshot_download(self.name, revision=commit, repo_type=self.kind, allow_patterns=wanted))

    def read(self, commit: str, path: str) -> Path:
        """Return a file of the library's cache that holds one file of a commit."""
        from huggingface_hub import hf_hub_download

        with heard(self.name):
            return Path(hf_hub_download(self.name, path, revision=commit, repo_type=self.kind))

    def siblings(self) -> list[str]:
        """Return the names of repositories of the same owner that begin as this one and have files of their own."""

        def asked(wait: Wait) -> list[str]:
            owner, _, name = self.name.partition("/")
            found = []
            for one in self._api().list_models(author=owner, search=name, full=True):
                wait.begin(one.id)
                if {file.rfilename for file in one.siblings or ()} - {ATTRIBUTES}:
                    found.append(str(one.id))
            return found

        return self._asked(asked)

    @staticmethod
    def _api() -> Any:
        from huggingface_hub import HfApi, constants, utils

        utils.logging.set_verbosity_error()  # what it tries again, in many lines
        if constants.HF_HUB_DISABLE_PROGRESS_BARS is None and not sys.stderr.isatty():
            utils.disable_progress_bars()  # which are many lines too, in a log
        return HfApi()

    def _asked(self, work: Callable[[Wait], T]) -> T:
        with heard(self.name):
            return answered(work, Wait(), PATIENCE_S)
