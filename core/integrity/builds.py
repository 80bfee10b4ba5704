"""Records of the builds of a corpus or of a set of examples, as far as they say which periods there must be."""

from __future__ import annotations

from collections.abc import Collection

from ticlm.core import paths
from ticlm.core.errors import InputError
from ticlm.core.integrity import own_hash, remedies
from ticlm.core.periods import span
from ticlm.core.settings import build_command
from ticlm.core.store import Store


def require(store: Store, have: Collection[str], last_visible_period: str | None) -> None:
    """Raise InputError if a build of a set of examples made a period that the store lacks, and that is not later than
    `last_visible_period`; or if the record of a build is damaged."""
    end = None if last_visible_period is None else span(last_visible_period)[1]
    for name in store.files(paths.BUILDS):
        for label, line in lost(store, name, have, remedies.set_described(store.uri())).items():
            if end is None or span(label)[1] <= end:
                raise InputError(line)


def lost(store: Store, name: str, have: Collection[str], remedy: str) -> dict[str, str]:
    """Return a line for each period that the build with the record `name` made and that the store lacks; `have` are
    the periods that it has. Raises InputError, which ends with the `remedy`, if the record is damaged."""
    path = f"{paths.BUILDS}/{name}"
    periods = own_hash.read(store.read(path), store.uri(path), remedy).get("periods")
    if not isinstance(periods, list | dict):
        raise InputError(f"{store.uri(path)} is damaged (it names no periods); {remedy}")
    told = f"no record, though {path} names it; append it again with {build_command(store.uri())}"
    return {label: f"{store.uri(paths.period(label))}: {told}" for label in map(str, periods) if label not in have}
