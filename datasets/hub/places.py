"""Where a file is in a data set, and what may be read of it: what the path of an Input says."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from ticlm.datasets.hub import names
from ticlm.datasets.hub.repository import HubFile
from ticlm.datasets.hub.share import Budgets
from ticlm.datasets.io.documents import Input

NAMED = ("config", "split", "file")
"""What has a name that rows may take a date from."""


class PlaceInSet(NamedTuple):
    """A file, its config and split, and the budgets of its periods; none, if all of it is read."""

    file: str
    config: str
    split: str
    budgets: Mapping[str, int] = {}

    @staticmethod
    def of(path: str) -> PlaceInSet:
        file, _, rest = path.rpartition("#")
        config, split, *share = rest.split("/")
        budgets = [part.split(":") for part in share[0].split(",")] if share else []
        return PlaceInSet(file, config, split, {label: int(size) for label, size in budgets})

    def named(self, kind: str) -> str:
        return {"config": self.config, "split": self.split, "file": self.file.rpartition("/")[2]}[kind]

    def record(self) -> dict[str, Any]:
        names_of = {kind: self.named(kind) for kind in NAMED}
        return {**names_of, "language": names.without_date(self.config)}


def entry(file: HubFile, budgets: Budgets) -> Input:
    """Return the input for a file: `PATH#CONFIG/SPLIT`, and under a cap `/PERIOD:SIZE,…` behind that."""
    share = ("/" + ",".join(f"{label}:{size}" for label, size in budgets.items())) if budgets else ""
    return Input(path=f"{file.path}#{file.config}/{file.split}{share}", size=file.size, stamp=file.stamp)
