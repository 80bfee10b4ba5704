"""Vintages on a hub, in three layouts. Each is published by one commit that compares and swaps."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import TypeVar

from ticlm.core.errors import RunError
from ticlm.platform.publish.places import place
from ticlm.platform.publish.places.hub_repository import ATTRIBUTES, MAIN, HubRepository, RemoteFile, lacking
from ticlm.platform.publish.places.place import INPUTS, Sent

STAGING = "publishing-"
"""How branches begin on which a commit is made before its vintage has a branch. None of them reads as a label."""
BATCH_FILES = 64
"""Files of one commit of inputs: hubs ask for fewer than 100. What a kill costs are the small ones among them."""
T = TypeVar("T")


class HubPlace:
    """What the layouts share: `main`, the inputs, and that a rival makes a call look at the hub once more."""

    def __init__(self, repository: str, private: bool = False) -> None:
        self.repository = HubRepository(repository, private=private)
        self.inputs = HubRepository(f"{repository}-{INPUTS}", "dataset", private)

    @property
    def name(self) -> str:
        return f"hf:{self.repository.name}"

    def address(self, label: str) -> str:
        raise NotImplementedError

    def labels(self) -> list[str]:
        raise NotImplementedError

    def put(self, label: str, folder: Path, message: str) -> Sent:
        place.check_label(label)
        wanted = _files_of(folder)
        return _twice(lambda: self._put(label, wanted, message))

    def _put(self, label: str, wanted: Mapping[str, Path], message: str) -> Sent:
        raise NotImplementedError

    def _found(self, label: str) -> tuple[HubRepository, str, str]:
        """Return the repository of a vintage, the commit that holds it, and its folder there ("": the root)."""
        raise NotImplementedError

    def index(self) -> bytes | None:
        head = (self.repository.heads() or {}).get(MAIN)
        if head is None or place.INDEX not in self.repository.listed(head):
            return None
        return self.repository.read(head, place.INDEX).read_bytes()

    def revision(self, label: str) -> str:
        return self._found(label)[1]

    def put_main(self, folder: Path, message: str) -> Sent:
        wanted = place.above(folder)
        return _twice(lambda: self._put_main(wanted, message))

    def _put_main(self, wanted: Mapping[str, Path], message: str) -> Sent:
        head = self.repository.made()[MAIN]
        missing = lacking(self.repository.listed(head), wanted)
        return Sent(self.repository.commit(MAIN, head, missing, message), _size(missing))

    def put_inputs(self, files: Iterable[tuple[str, Path]], message: str) -> Sent:
        wanted = place.inputs_of(files)
        return _twice(lambda: self._put_inputs(wanted, message))

    def _put_inputs(self, wanted: Mapping[str, Path], message: str) -> Sent:
        head = self.inputs.made()[MAIN]
        missing, sent = iter(lacking(self.inputs.listed(head), wanted).items()), 0
        while batch := dict(islice(missing, BATCH_FILES)):
            head = self.inputs.commit(MAIN, head, batch, message)
            sent += _size(batch)
        return Sent(head, sent)

    @contextmanager
    def get(self, label: str) -> Iterator[Path]:
        repository, commit, below = self._found(label)
        begin = f"{below}/" if below else ""
        paths = _below(repository.listed(commit), below)
        folder = repository.fetched(commit, [f"{begin}{path}" for path in paths])
        # Links to these files alone: other programs may have fetched more of the same commit into the cache.
        with tempfile.TemporaryDirectory(prefix="ticlm-") as links:
            for path in paths:
                link = Path(links, path)
                link.parent.mkdir(parents=True, exist_ok=True)
                link.symlink_to((folder / begin / path).resolve())
            yield Path(links)

    def files(self, label: str) -> dict[str, str]:
        repository, commit, below = self._found(label)
        found = {}
        for path, file in sorted(_below(repository.listed(commit), below).items()):
            whole = f"{below}/{path}" if below else path
            # A listing has git's own hash of a small file: its bytes are fetched.
            found[path] = file.sha256 or place.sha256_of(repository.read(commit, whole))
        return found


class ByBranches(HubPlace):
    """Vintages as branches of one repository; `main` has the newest one and what stands above them.

    A commit needs a branch, and a branch with the name of the label would be half a vintage until its commit is made;
    a commit on `main` would show an older vintage there, or one that vintages.json does not name yet. So the commit is
    made on a branch `publishing-LABEL`, and the branch LABEL then begins at it: one request, which fails if there is
    one already. A kill leaves at most that other branch, on which the next run goes on, whatever it holds.
    """

    def address(self, label: str) -> str:
        return f"{self.repository.name}@{label}"

    def labels(self) -> list[str]:
        return place.in_order(self.repository.heads() or ())

    def _put(self, label: str, wanted: Mapping[str, Path], message: str) -> Sent:
        heads, staging = self.repository.made(), f"{STAGING}{label}"
        if label in heads:
            _compare(self.address(label), self.repository.listed(heads[label]), wanted)
            if staging in heads:
                self.repository.drop_branch(staging)
            return Sent(heads[label], 0)
        if staging not in heads:
            # From `main`, which has most of the files that vintages share, such as the tokenizer: these are not sent.
            self.repository.branch(staging, heads[MAIN])
        parent = heads.get(staging, heads[MAIN])
        there = self.repository.listed(parent)
        missing = lacking(there, wanted)
        commit = self.repository.commit(staging, parent, missing, message, there.keys() - wanted.keys())
        if commit != parent and not _same(self.repository.listed(commit), wanted):
            raise RunError(f"{self.address(label)}: the hub does not hold what was sent; run the same command again")
        self.repository.branch(label, commit)
        self.repository.drop_branch(staging)
        return Sent(commit, _size(missing))

    def put_main(self, folder: Path, message: str) -> Sent:
        wanted = _files_of(folder)
        return _twice(lambda: self._put_main(wanted, message))

    def _put_main(self, wanted: Mapping[str, Path], message: str) -> Sent:
        heads = self.repository.made()
        there = self.repository.listed(heads[MAIN])
        missing = lacking(there, wanted)
        commit = self.repository.commit(MAIN, heads[MAIN], missing, message, there.keys() - wanted.keys())
        newest = place.in_order(heads)[-1:]
        # The hub has the weights of a vintage already, and asks for no large file twice.
        held = self.repository.listed(heads[newest[0]]) if newest and missing else {}
        return Sent(commit, _size(lacking({path: file for path, file in held.items() if file.sha256}, missing)))

    def _found(self, label: str) -> tuple[HubRepository, str, str]:
        heads = self.repository.heads() or {}
        if label not in heads:
            raise place.no_vintage(self.address(label), place.in_order(heads))
        return self.repository, heads[label], ""


class ByFolders(HubPlace):
    """Vintages as folders of `main` of one repository. The commit that adds the folder is all that is done."""

    def address(self, label: str) -> str:
        return f"{self.repository.name}:{label}"

    def labels(self) -> list[str]:
        heads = self.repository.heads()
        return [] if heads is None else place.in_order(_tops(self.repository.listed(heads[MAIN])))

    def _put(self, label: str, wanted: Mapping[str, Path], message: str) -> Sent:
        head = self.repository.made()[MAIN]
        return _put_once(self.repository, head, label, wanted, message, self.address(label))

    def _found(self, label: str) -> tuple[HubRepository, str, str]:
        heads = self.repository.heads()
        if heads is None or label not in _tops(self.repository.listed(heads[MAIN])):
            raise place.no_vintage(self.address(label), self.labels())
        return self.repository, heads[MAIN], label


class ByRepositories(HubPlace):
    """Vintages as repositories ORG/NAME-LABEL. One that has no files yet is none: a run was killed after making it."""

    def address(self, label: str) -> str:
        return f"{self.repository.name}-{label}"

    def labels(self) -> list[str]:
        begin = f"{self.repository.name}-"
        return place.in_order(one.removeprefix(begin) for one in self.repository.siblings() if one.startswith(begin))

    def _of(self, label: str) -> HubRepository:
        return HubRepository(self.address(label), private=self.repository.private)

    def _put(self, label: str, wanted: Mapping[str, Path], message: str) -> Sent:
        repository = self._of(label)
        return _put_once(repository, repository.made()[MAIN], "", wanted, message, self.address(label))

    def _found(self, label: str) -> tuple[HubRepository, str, str]:
        repository = self._of(label)
        heads = repository.heads()
        if heads is None or not repository.listed(heads[MAIN]):
            raise place.no_vintage(self.address(label), self.labels())
        return repository, heads[MAIN], ""


def _put_once(
    repository: HubRepository, head: str, below: str, wanted: Mapping[str, Path], message: str, address: str
) -> Sent:
    """Add the files of a vintage to a folder of `main` ("": its root) by one commit, unless they are there."""
    there = _below(repository.listed(head), below)
    if there:
        _compare(address, there, wanted)
        # Later commits add other folders: whoever records where this vintage is finds the same commit each time.
        return Sent(repository.changed(head, below) if below else head, 0)
    files = {f"{below}/{path}" if below else path: file for path, file in wanted.items()}
    return Sent(repository.commit(MAIN, head, files, message), _size(files))


def _files_of(folder: Path) -> dict[str, Path]:
    """Return the files of a local folder that may be a clone of a repository, without what is the hub's own."""
    return {path: file for path, file in place.files_of(folder).items() if path != ATTRIBUTES}


def _twice(work: Callable[[], T]) -> T:
    """Return what some requests return; if a rival came between them, look at what is there now and try once more."""
    try:
        return work()
    except place.Rivalled:
        return work()


def _below(files: Mapping[str, RemoteFile], folder: str) -> dict[str, RemoteFile]:
    """Return the files in a folder of a commit, by their paths in it."""
    begin = f"{folder}/" if folder else ""
    return {path.removeprefix(begin): file for path, file in files.items() if path.startswith(begin)}


def _tops(files: Iterable[str]) -> set[str]:
    return {path.partition("/")[0] for path in files if "/" in path}


def _same(there: Mapping[str, RemoteFile], wanted: Mapping[str, Path]) -> bool:
    return there.keys() == wanted.keys() and all(there[path].holds(file) for path, file in wanted.items())


def _compare(address: str, there: Mapping[str, RemoteFile], wanted: Mapping[str, Path]) -> None:
    place.refuse_change(
        address, wanted, {path: path in wanted and file.holds(wanted[path]) for path, file in there.items()}
    )


def _size(files: Mapping[str, Path]) -> int:
    """Return the bytes of some local files."""
    return sum(file.stat().st_size for file in files.values())
