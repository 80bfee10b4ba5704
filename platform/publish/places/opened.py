"""The place that a user names: `ORG/NAME` on a hub, a folder, or the URI of a bucket."""

from __future__ import annotations

from pathlib import Path

from ticlm.core import hub
from ticlm.core.errors import InputError
from ticlm.core.store import Store
from ticlm.platform.publish.places.bucket_place import BucketPlace
from ticlm.platform.publish.places.folder_place import FolderPlace
from ticlm.platform.publish.places.hub_place import ByBranches, ByFolders, ByRepositories
from ticlm.platform.publish.places.place import Layout, Place

HUBS = {"branches": ByBranches, "folders": ByFolders, "repositories": ByRepositories}


def place_of(to: str, layout: Layout = "branches", private: bool = False) -> Place:
    """Return the place with a name; nothing is asked or made yet. `ORG/NAME` is a hub's unless there is a folder of
    this name, as where models are read: write `./out/vintages` for a folder that is not there yet.

    `layout` and `private` are a hub's; repositories that exist stay as open as they are. Raises InputError if `to` is
    no place, or if a layout is asked of a folder or bucket, whose vintages are always folders.
    """
    name = hub.parse(to)
    if name is not None and not Path(to).exists():
        if name.revision or name.subfolder:
            raise InputError(f"{to}: publish to a whole repository: {name.repository}")
        if layout not in HUBS:
            raise InputError(f"layout must be one of {', '.join(HUBS)}, got {layout}")
        return HUBS[layout](name.repository, private)
    if layout == "repositories":
        raise InputError(f"{to}: layout {layout} is for a hub; in a folder or bucket each vintage is a folder")
    if not to.strip():
        raise InputError("the place to publish to is empty; it is ORG/NAME, a folder or a URI")
    store = Store(to)
    return FolderPlace(to, Path(store.path())) if store.is_local else BucketPlace(store)
