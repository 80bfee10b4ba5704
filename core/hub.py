"""Models on a hub by name: `ORG/NAME[@revision][:subfolder]` becomes a local folder, which all else works on.

A name is resolved to a commit. The files that a model needs are fetched into the cache of huggingface_hub, and a folder
of links to them is made in its cache of assets: it has the same files wherever it is made, while other programs fetch
others of the same commit, and a subfolder may lack the tokenizer that lies at the root.

HF_ENDPOINT, HF_HOME, HF_TOKEN and HF_HUB_OFFLINE count as that library's users know them. Of data sets
`ticlm.datasets.hub` knows.
"""

from __future__ import annotations

import os
import tempfile
import warnings
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import quote, unquote

from ticlm.core.errors import InputError, TiclmWarning, in_one_line, of_storage
from ticlm.core.reading.hub_names import COMMIT, Kind, OnlyPickles, check_code, chosen
from ticlm.core.reading.hub_names import HubName as HubName  # for callers too
from ticlm.core.reading.hub_names import parse as parse
from ticlm.core.reading.near import hint
from ticlm.core.remote.answers import Wait, answered

PATIENCE_S = 7.0
"""Seconds in which a hub must begin to answer; the library itself tries for five minutes."""
BRANCHES = 20
"""Branches at most that are searched for safetensors where a revision has only pickled weights."""
T = TypeVar("T")
_trusted: set[str] = set()
_files: dict[tuple[str, str], list[str]] = {}
"""(repository, commit) -> paths of its files, as the hub said in this process."""


@dataclass(frozen=True)
class HubFolder:
    """A model of the hub on this machine. The revision of `name` is a commit."""

    name: HubName
    folder: Path


class HubUnreachable(InputError):
    """The hub does not answer, or is not to be asked."""


def place(text: str, kind: Kind = "model") -> str:
    """Return where the files of a model lie: of a name on the hub its folder on this machine, which is fetched if it is
    not there. Any other text, and a folder of this name, is a path or URI already."""
    return text if _is_path(text) else str(fetched(text, kind).folder)


def pinned(text: str, kind: Kind = "model") -> str:
    """Return a name on the hub with its commit, once its files are on this machine; any other text as it is."""
    return text if _is_path(text) else str(fetched(text, kind).name)


def called(text: str, kind: Kind = "model") -> str:
    """Return what reports call a model: its name on the hub with the commit, or the last part of a path."""
    return Path(text).name if _is_path(text) else pinned(text, kind)


def shown(folder: str) -> str:
    """Return the name and the commit of a folder that `place` made; any other path or URI as it is."""
    name = _name_of(folder)
    return folder if name is None else str(name)


def trust(commit: str) -> None:
    """Let the code that a repository has at a commit run in this process, with the models that need it.

    Raises InputError for anything but a whole commit: a branch may have other code tomorrow.
    """
    if COMMIT.fullmatch(commit) is None:
        raise InputError(f"--trust-remote-code {commit}: give the commit whose code you have read, 40 hex digits")
    _trusted.add(commit)


def trusted(folder: str | os.PathLike[str]) -> bool:
    """Return whether the code in a folder may run: it was fetched at a commit that `trust` got in this process."""
    name = _name_of(folder) if _trusted else None
    return name is not None and name.revision in _trusted and Path(folder) == _folder("code", name)


def fetched(text: str, kind: Kind = "model") -> HubFolder:
    """Return the folder of a model of the hub on this machine, after fetching what is not there. The hub is not asked
    for a name with a commit whose folder is there.

    Raises InputError, in a line that says what to do, if the hub has no such model, or none that may be loaded.
    """
    name = parse(text)
    if name is None:
        raise InputError(f"{text}: no folder, and no name of a model on a hub: ORG/NAME[@REVISION][:SUBFOLDER]")
    if not name.is_commit:
        name = replace(name, revision=_resolved(name))
    if kind == "model" and name.revision in _trusted:
        kind = "code"
    folder = _folder(kind, name)
    if not folder.is_dir() or not all(link.exists() for link in folder.iterdir()):
        _link(folder, _fetch(text, name, kind))
    if _trusted and kind in ("model", "code"):
        check_code(text, name.revision, (folder / "config.json").read_bytes(), _trusted)
    return HubFolder(name, folder)


def _is_path(text: str) -> bool:
    return parse(text) is None or Path(text).exists()


def _cached(name: HubName) -> Path:
    """Return the folder of a repository in the library's cache."""
    from huggingface_hub import constants

    return Path(constants.HF_HUB_CACHE, f"models--{name.repository.replace('/', '--')}")


def _folder(kind: Kind, name: HubName) -> Path:
    from huggingface_hub import constants

    return Path(constants.HF_ASSETS_CACHE, "ticlm", kind, quote(str(name), safe="@"))


def _name_of(folder: str | os.PathLike[str]) -> HubName | None:
    """Return the name of a folder of links, with its commit; None for any other folder."""
    path = Path(folder)
    name = parse(unquote(path.name)) if path.parts[-3:-2] == ("ticlm",) else None
    return name if name is not None and name.is_commit else None


def _link(folder: Path, files: dict[str, Path]) -> None:
    """Make a folder of links, which replaces one whose files were removed. It appears when it is whole."""
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        what = f"{folder.parent}: cannot be made: {error.strerror}"
        raise InputError(f"{what}; name a folder that you may write to by HF_ASSETS_CACHE") from None
    with tempfile.TemporaryDirectory(dir=folder.parent, prefix=".new-") as aside:
        new, old = Path(aside, "new"), Path(aside, "old")
        new.mkdir()
        for name, file in files.items():
            (new / name).symlink_to(file.absolute())
        with suppress(FileNotFoundError):
            folder.rename(old)
        with suppress(OSError):  # somebody made the same one meanwhile
            new.rename(folder)


@cache
def _resolved(name: HubName) -> str:
    """Return the commit that a revision is now, and remains for this process; the last one that was seen if the hub is
    out of reach."""
    from huggingface_hub import constants

    ref = _cached(name) / "refs" / (name.revision or "main")
    before = ref.read_text().strip() if ref.is_file() else ""
    try:
        commit = _asked(str(name), name)
    except HubUnreachable as error:
        if not before:
            raise
        if not constants.HF_HUB_OFFLINE:
            line = f"{error}; taken is commit {before[:12]}, the last one that was seen here"
            warnings.warn(line, TiclmWarning, stacklevel=2)
        return before
    if before not in ("", commit):
        line = f"{name} has moved since it was used here: from commit {before[:12]} to {commit[:12]}"
        warnings.warn(line, TiclmWarning, stacklevel=2)
    if before != commit:
        with suppress(OSError):  # the cache may be one that others fill
            ref.parent.mkdir(parents=True, exist_ok=True)
            ref.write_text(commit)
    return commit


def _asked(text: str, name: HubName) -> str:
    """Return the commit of a revision, after asking the hub for it and for the names of its files."""
    from huggingface_hub import HfApi

    revision = name.revision or None
    most = 2 * PATIENCE_S  # whoever waits has left before
    found = _heard(text, name, lambda _: HfApi().model_info(name.repository, revision=revision, timeout=most))
    _files[name.repository, str(found.sha)] = [one.rfilename for one in found.siblings or ()]
    return str(found.sha)


def _fetch(text: str, name: HubName, kind: Kind) -> dict[str, Path]:
    """Return the files to link, by their names, after fetching those that the library's cache lacks."""
    from huggingface_hub import hf_hub_download

    snapshot = _cached(name) / "snapshots" / name.revision
    try:
        if (name.repository, name.revision) not in _files:
            _asked(text, name)
        wanted = chosen(text, name.subfolder, kind, _files[name.repository, name.revision])
    except HubUnreachable as error:
        there = [file.relative_to(snapshot).as_posix() for file in snapshot.rglob("*") if file.is_file()]
        try:
            wanted = chosen(text, name.subfolder, kind, there)
        except InputError:
            raise error from None
    except OnlyPickles as error:
        branch: HubName | None = None
        with suppress(InputError):
            branch = _heard(text, name, lambda _: _with_safetensors(name))
        raise InputError(f"{error}; {f'name {branch}' if branch else 'save it as safetensors'}") from None

    def download(wait: Wait) -> None:
        for file in wanted:
            wait.begin(file)
            how: dict[str, Any] = {"revision": name.revision, "etag_timeout": PATIENCE_S, "tqdm_class": wait.bar}
            hf_hub_download(name.repository, file, **how)

    _heard(text, name, download)
    files = {Path(file).name: snapshot / file for file in wanted}
    return files


def _with_safetensors(name: HubName) -> HubName | None:
    """Return the name of a model at a branch or a request that has weights as safetensors; None if none is found."""
    from huggingface_hub import HfApi

    found = HfApi().list_repo_refs(name.repository, include_pull_requests=True)
    for one in [*found.branches, *(found.pull_requests or ())][:BRANCHES]:
        other = replace(name, revision=one.name if one.ref.startswith("refs/heads/") else one.ref)
        info = HfApi().model_info(name.repository, revision=other.revision, timeout=PATIENCE_S)
        with suppress(InputError):
            chosen("", name.subfolder, "model", [file.rfilename for file in info.siblings or ()])
            return other
    return None


def _heard(text: str, name: HubName, work: Callable[[Wait], T]) -> T:
    """Return what some requests return. Raises InputError for what goes wrong, and soon if the hub does not answer."""
    from huggingface_hub import utils

    utils.logging.set_verbosity_error()  # what it tries again, in many lines
    wait = Wait()
    try:
        return answered(work, wait, PATIENCE_S)
    except InputError:
        raise
    except Exception as error:
        if of_storage(error) is not None:
            raise
        raise _fault(text, name, wait, error) from None


def _fault(text: str, name: HubName, wait: Wait, error: Exception) -> InputError:
    """Return the line for what went wrong between this machine and the hub, and what to do."""
    from huggingface_hub import constants, errors

    hub = constants.ENDPOINT
    if isinstance(error, errors.LocalEntryNotFoundError) and isinstance(error.__cause__, Exception):
        return _fault(text, name, wait, error.__cause__)
    if isinstance(error, errors.OfflineModeIsEnabled):
        cache = constants.HF_HUB_CACHE
        return HubUnreachable(f"{text}: not whole in {cache}, and HF_HUB_OFFLINE is set; fetch it once without that")
    if isinstance(error, errors.GatedRepoError):
        page = f"{hub}/{name.repository}"
        return InputError(f"{text}: gated; accept its terms at {page}, then log in: hf auth login, or HF_TOKEN=…")
    if isinstance(error, errors.RepositoryNotFoundError):
        return InputError(f"{text}: no folder here, and {hub} has no such repository, or a private one: see HF_TOKEN")
    if isinstance(error, errors.RevisionNotFoundError):
        return InputError(f"{text}: no revision {name.revision} of {name.repository}{_near(name)}")
    status = error.response.status_code if isinstance(error, errors.HfHubHTTPError) else 0
    if 400 <= status < 500 and status != 429:
        return InputError(f"{text}: {hub} refuses it: {in_one_line(error)}")
    if wait.since is None:
        why = in_one_line(error)
        return InputError(f"{text}: {wait.file} broke off: {why}; the same command goes on from where it stopped")
    if not isinstance(error, OSError | errors.HTTPError):
        return InputError(f"{text}: {hub} does not give it: {in_one_line(error)}")
    why = f"no answer in {PATIENCE_S:g} s" if isinstance(error, TimeoutError) else in_one_line(error)
    why = f"it answers {status}" if status else why
    return HubUnreachable(
        f"{text}: no folder here, and the hub {hub} cannot be reached ({why}); name a mirror by HF_ENDPOINT, or fetch "
        "it elsewhere and name its folder"
    )


def _near(name: HubName) -> str:
    """Return the words that name a revision close to one that is not there."""
    from huggingface_hub import HfApi

    with suppress(InputError):
        refs = _heard(str(name), name, lambda _: HfApi().list_repo_refs(name.repository))
        return hint(name.revision, [one.name for one in (*refs.branches, *refs.tags)])
    return ""
