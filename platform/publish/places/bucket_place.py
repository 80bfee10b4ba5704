"""Vintages in a bucket, or on any filesystem of fsspec that is no disk: each a folder, and a record that it is whole.

    LABEL/…                             the files of a vintage
    published/LABEL/begun.json          their hashes, created only if absent before the first file is sent
    published/LABEL/whole.json          the same, created when all are there: only then the vintage is published
    published/LABEL/sent/NUMBER.json    path -> hash and state (size and tag) of files that were sent
    published/inputs/sent/NUMBER.json   the same of the files below inputs/

A bucket renames nothing, so the files lie where they stay, and the record comes last. Two runs with other files cannot
mix them: the one whose `begun.json` is there first sends its own, the other one is refused. `vintages.json` is no such
record, as it is written anew for each vintage and a bucket cannot compare and swap it.
"""

from __future__ import annotations

import json
import uuid
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path

from ticlm.core.errors import InputError, RunError, TiclmError, in_one_line
from ticlm.core.signals import Threads
from ticlm.core.store import READERS, SMALL, Store
from ticlm.platform.publish.places import place
from ticlm.platform.publish.places.place import INPUTS, Sent

RECORDS = "published"
BATCH_FILES, BATCH_BYTES = 256, 1 << 30
"""Files and bytes after which a record says what was sent: what a kill costs at most, besides one larger file."""
SIGNATURES = ".sig"
LAST = "config.json"
"""The file of a vintage that is sent last: without it no library takes the folder for a model."""
LIBRARIES = ("botocore", "aiohttp", "gcsfs", "google", "adlfs", "azure")
"""Libraries whose errors say that a bucket does not answer, or refuses."""


class BucketPlace:
    """A root on a filesystem that may rename nothing, with a folder for each vintage."""

    def __init__(self, store: Store) -> None:
        self.store, self.name = store, store.root

    def address(self, label: str) -> str:
        return f"{self.name}/{label}"

    def labels(self) -> list[str]:
        with self._heard():
            found = (path.split("/") for path in self.store.walk(RECORDS))
            return place.in_order(parts[0] for parts in found if parts[1:] == ["whole.json"])

    def index(self) -> bytes | None:
        with self._heard():
            return next(self.store.read_all([place.INDEX]))

    def revision(self, label: str) -> str:
        return ""

    def put(self, label: str, folder: Path, message: str) -> Sent:
        place.check_label(label)
        wanted = place.files_of(folder)
        digests = {path: place.sha256_of(file) for path, file in wanted.items()}
        record = json.dumps(digests, indent=1).encode()
        records = f"{RECORDS}/{label}"
        with self._heard():
            whole = self._hashes(label)
            if whole is not None:
                same = {path: digests.get(path) == digest for path, digest in whole.items()}
                place.refuse_change(self.address(label), digests, same)
            # A signature is another one each time that it is made, so a run that was killed has begun with another.
            begun = {path: digest for path, digest in digests.items() if not path.endswith(SIGNATURES)}
            if whole is None and not self.store.create(f"{records}/begun.json", json.dumps(begun, indent=1).encode()):
                raise self._begun(label, begun)
            # Of a whole vintage too: what somebody removed since is sent again.
            sent = self._send(label, wanted, digests, records)
            if not self.store.create(f"{records}/whole.json", record):
                raise place.Rivalled(f"{self.address(label)}: changed while it was published; run it again")
        return Sent("", sent)

    def _hashes(self, label: str) -> dict[str, str] | None:
        """Return the hashes of the files of a vintage, as its record has them; None if it is not published."""
        (data,) = self.store.read_all([f"{RECORDS}/{label}/whole.json"])
        return None if data is None else dict(json.loads(data))

    def _begun(self, label: str, digests: Mapping[str, str]) -> InputError:
        theirs = self.store.read_json(f"{RECORDS}/{label}/begun.json")
        path = min(path for path in {*theirs, *digests} if theirs.get(path) != digests.get(path))
        where = f"{self.address(label)} and {self.name}/{RECORDS}/{label}"
        return InputError(
            f"{self.address(label)}: begun with other files ({path} differs) and not whole: another run sends them "
            f"now, or one was broken off; if none runs, remove {where}, then run the same command again"
        )

    def put_main(self, folder: Path, message: str) -> Sent:
        sent = 0
        with self._heard():
            for name, file in place.above(folder).items():
                data = file.read_bytes()
                if next(self.store.read_all([name])) != data:
                    self.store.write(name, data)
                    sent += len(data)
        return Sent("", sent)

    def put_inputs(self, files: Iterable[tuple[str, Path]], message: str) -> Sent:
        wanted = place.inputs_of(files)
        digests = {path: place.sha256_of(file) for path, file in wanted.items()}
        with self._heard():
            return Sent("", self._send(INPUTS, wanted, digests, f"{RECORDS}/{INPUTS}"))

    def _send(self, below: str, wanted: Mapping[str, Path], digests: Mapping[str, str], records: str) -> int:
        """Send the files that are not there; return their bytes.

        A bucket does not tell the SHA-256 of a file. So a record keeps it, with the state that the file had then: one
        listing shows whether that is still the state.
        """
        known = set[tuple[str, str, str]]()  # of all records: a rival with the same files has written some, too
        names = self.store.files(f"{records}/sent")
        for data in self.store.read_all(f"{records}/sent/{name}" for name in names):
            known |= {(path, *one) for path, one in json.loads(data or b"{}").items()}
        states = self.store.states(below)
        lacking = [path for path in wanted if (path, digests[path], states.get(path, "")) not in known]
        sizes = {path: wanted[path].stat().st_size for path in lacking}
        for batch in _batches(sizes):
            small = [path for path in batch if sizes[path] <= SMALL]
            with Threads(READERS) as pool:
                deque(pool.map(lambda path: self._send_one(wanted[path], f"{below}/{path}"), small), maxlen=0)
            for path in batch:
                if sizes[path] > SMALL:
                    self._send_one(wanted[path], f"{below}/{path}")
            states = self.store.states(below)
            for path in batch:
                if states.get(path, "").partition(" ")[0] != str(sizes[path]):
                    raise RunError(f"{self.name}/{below}/{path}: not there as it was sent; run the same command again")
            sent = {path: [digests[path], states[path]] for path in batch}
            self.store.write(f"{records}/sent/{uuid.uuid4().hex}.json", json.dumps(sent).encode())
        return sum(sizes.values())

    def _send_one(self, file: Path, path: str) -> None:
        self.store.fs.put_file(str(file), self.store.path(path))

    @contextmanager
    def get(self, label: str) -> Iterator[Path]:
        with ExitStack() as copy:
            with self._heard():
                if self._hashes(label) is None:
                    raise place.no_vintage(self.address(label), self.labels())
                folder = copy.enter_context(self.store.local(label))
            yield folder

    def files(self, label: str) -> dict[str, str]:
        with self._heard():
            if self._hashes(label) is None:
                raise place.no_vintage(self.address(label), self.labels())
            # Of the bytes that are there, not of the record: this is asked to compare the two.
            return {path: self.store.sha256(f"{label}/{path}") for path in self.store.walk(label)}

    @contextmanager
    def _heard(self) -> Iterator[None]:
        """Raise InputError, in one line, for what the bucket says in the block."""
        try:
            yield
        except TiclmError:
            raise
        except Exception as error:
            if not isinstance(error, OSError) and type(error).__module__.partition(".")[0] not in LIBRARIES:
                raise
            what = f"{self.name}: {in_one_line(error)}"
            raise InputError(f"{what}; check its name, the credentials and the endpoint") from None


def _batches(sizes: Mapping[str, int]) -> Iterator[list[str]]:
    """Yield the paths of files, with their sizes in bytes, in batches; LAST is one of its own, at the end."""
    batch: list[str] = []
    for path in (path for path in sizes if path != LAST):
        batch.append(path)
        if len(batch) == BATCH_FILES or sum(sizes[one] for one in batch) >= BATCH_BYTES:
            yield batch
            batch = []
    yield from ([batch] if batch else [])
    yield from ([[LAST]] if LAST in sizes else [])
