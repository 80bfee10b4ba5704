"""Which tests one process runs when pytest-xdist runs several: all of Ray's, and those of each other module.

pytest-xdist has `--dist loadgroup` for this, but 3.8.0 writes the groups into a private attribute that pytest 9.2 does
not read, so that every test is on its own. Here the processes that collect write the groups to a file, and the
scheduler of the process that distributes reads them.
"""

from __future__ import annotations

import json
import os
import tempfile
from functools import cached_property
from pathlib import Path
from typing import Any

import pytest

FIRST = ("ray", "tests/platform/train/test_kills.py", "tests/platform/train/test_worlds.py")
"""Groups that take longest. They start first, so that no process ends the run alone with one of them."""


def of(item: pytest.Item) -> str:
    """Return the name of a test's group."""
    return "ray" if item.get_closest_marker("ray") else item.nodeid.partition("::")[0]


def arrange(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Sort the tests by their groups, the longest first. In a process of pytest-xdist, write the groups to its file."""
    groups = {item: of(item) for item in items}
    order = {group: place for place, group in enumerate(dict.fromkeys((*FIRST, *groups.values())))}
    items.sort(key=lambda item: order[groups[item]])
    if hasattr(config, "workerinput"):
        file = Path(config.workerinput["groups"])
        own = file.with_suffix(f".{os.getpid()}")
        own.write_text(json.dumps({item.nodeid: group for item, group in groups.items()}))
        own.replace(file)


def file_for_groups() -> str:
    """Return the name of the file that this process's workers write the groups to."""
    return f"{tempfile.gettempdir()}/ticlm-test-groups-{os.getpid()}.json"


def scheduler(config: pytest.Config, log: Any) -> Any:
    """Return a scheduler of pytest-xdist that gives each group to one process."""
    from xdist.scheduler import LoadScopeScheduling

    class ByGroup(LoadScopeScheduling):  # type: ignore[misc, unused-ignore]
        @cached_property
        def groups(self) -> dict[str, str]:
            file = Path(file_for_groups())
            found: dict[str, str] = json.loads(file.read_text())
            file.unlink()
            return found

        def _split_scope(self, nodeid: str) -> str:
            return self.groups[nodeid]

    return ByGroup(config, log)
