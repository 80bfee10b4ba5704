"""Where a file is in a data set, and what may be read of it: what an Input says.

Its path is `PATH#CONFIG/SPLIT`, and under a cap `/PERIOD,…` behind that; then its stamp has `PERIOD:SIZE,…` behind that
of the file. An input keeps its periods. Those that come later make another one of the same file.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
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
    def of(entry: Input) -> PlaceInSet:
        file, _, rest = entry.path.rpartition("#")
        config, split, *capped = rest.split("/")
        budgets = [part.split(":") for part in entry.stamp.rpartition(" ")[2].split(",")] if capped else []
        return PlaceInSet(file, config, split, {label: int(size) for label, size in budgets})

    def named(self, kind: str) -> str:
        return {"config": self.config, "split": self.split, "file": self.file.rpartition("/")[2]}[kind]

    def record(self) -> dict[str, Any]:
        names_of = {kind: self.named(kind) for kind in NAMED}
        return {**names_of, "language": names.without_date(self.config)}


def entry(file: HubFile, budgets: Budgets) -> Input:
    """Return the input for a file: all of it, if it has no budgets."""
    path, stamp = f"{file.path}#{file.config}/{file.split}", file.stamp
    if budgets:
        path += "/" + ",".join(budgets)
        stamp += " " + ",".join(f"{label}:{size}" for label, size in budgets.items())
    return Input(path=path, size=file.size, stamp=stamp)


def entries(
    files: Iterable[HubFile], given: Mapping[HubFile, Budgets], before: Sequence[Input], made: Collection[str]
) -> Iterator[Input]:
    """Yield the inputs of files under a cap: those of builds `before`, in which periods that are `made` keep their
    budgets, and one for all other periods to which a file is `given`."""
    earlier: dict[tuple[str, str, str], list[PlaceInSet]] = {}
    for place in map(PlaceInSet.of, {one.path: one for one in before}.values()):  # as it was read last
        earlier.setdefault((place.file, place.config, place.split), []).append(place)
    for file in files:
        left = dict(given.get(file, {}))
        for place in earlier.get((file.path, file.config, file.split), ()):
            old = place.budgets.items()
            budgets = {label: size if label in made else left.pop(label, 0) for label, size in old}
            if any(size or label in made for label, size in budgets.items()):
                yield entry(file, budgets)
        if any(left.values()):
            yield entry(file, left)
