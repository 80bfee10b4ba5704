"""The files of leases in a root: who holds it, and whether a later writer has taken it over."""

from __future__ import annotations

import re
from contextlib import suppress
from typing import Protocol

from pydantic import BaseModel, ConfigDict, ValidationError

from ticlm.core import paths
from ticlm.core.errors import TakenOver

NAME = re.compile(r"\d{8,}\.json")


class Files(Protocol):
    """The part of a `Store` that leases need; `Store` itself needs this module."""

    root: str

    def files(self, path: str = "") -> list[str]:
        """Return the names of the files directly below `path`."""
        ...

    def read(self, path: str) -> bytes:
        """Return the bytes of a file."""
        ...


class Holder(BaseModel):
    """The writer that holds a lease, as the lease's file describes it."""

    model_config = ConfigDict(frozen=True, extra="ignore", allow_inf_nan=False)  # earlier versions said more

    purpose: str
    pid: int
    host: str
    since: str
    beat: float
    """When its heart last beat, by its own clock."""
    released: bool
    token: str = ""
    """Random, so that no two leases are the same. Leases of earlier versions have none."""

    def __str__(self) -> str:
        return f"{self.purpose} (process {self.pid} on {self.host}, since {self.since})"


def parse(data: bytes) -> Holder | None:
    """Return the holder that a lease's file describes, or None if the file is damaged."""
    try:
        return Holder.model_validate_json(data)
    except ValidationError:
        return None


def numbers(store: Files) -> list[int]:
    """Return the numbers of the leases of a root, in ascending order. Files with other names are no leases."""
    return sorted(int(name.removesuffix(".json")) for name in store.files(paths.LEASES) if NAME.fullmatch(name))


def check(store: Files, number: int) -> None:
    """Raise TakenOver if a later writer than the one with this lease has taken the root over."""
    last = max(numbers(store), default=number)
    if last > number:
        raise taken_over(store, last)


def taken_over(store: Files, number: int) -> TakenOver:
    """Return the error of a writer whose root now belongs to the lease with this number."""
    successor: Holder | None = None
    with suppress(Exception):
        successor = parse(store.read(paths.lease(number)))
    return TakenOver(
        f"root {store.root} was taken over by {successor or 'another writer'} while this process stood still; what it "
        "had finished is kept; run the same command again when the other one is done"
    )
