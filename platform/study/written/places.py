"""Where a corpus or a set of examples lies that a study names."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from ticlm.core import paths
from ticlm.core.store import Store


def uri_of(name: str, store: Store | None, folder: Callable[[str], str] = paths.corpus) -> str | None:
    """Return the path or URI of a corpus (or of a set of examples, if `folder` is `paths.examples`).

    A path or a URI stands for itself; any other name is that of a folder in the root. None if there is no root.
    """
    if "://" in name or name.startswith((".", "/", "~")):
        return str(Path(name).expanduser()) if "://" not in name else name
    if store is None:
        return None
    return f"{store.root}/{folder(name)}"
