"""Which tests one process runs when pytest-xdist runs several: all of the shared Ray, and those of each other module.

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

FIRST = (
    "ray",
    "tests/platform/chaos/test_chaos.py",
    "tests/repo/test_examples.py",
    "tests/repo/test_docs_commands.py",
    "tests/methods/test_catalog.py",
    "tests/platform/train/test_elastic.py",
    "tests/platform/cluster/test_jobs.py",
    "tests/platform/tuning/test_real_search.py",
    "tests/platform/train/test_kills.py",
    "tests/platform/train/test_worlds.py",
)
"""Groups that take longest. They start first, so that no process ends the run alone with one of them."""
APART = ("tests/repo/test_docs_commands.py", "tests/platform/train/test_elastic.py")
"""Modules whose nightly tests take minutes each and share no fixture: each of these tests is a group of its own."""

PLANS = tuple(f"tests/platform/study/test_{name}.py" for name in ("settings", "costs", "plan"))
"""Modules that share the plans of packaged studies (`plans.py`)."""


def of(item: pytest.Item) -> str:
    """Return the name of a test's group. A test with a Ray of its own goes with its module, not with the shared Ray."""
    if "ray_local" in getattr(item, "fixturenames", ()):
        return "ray"
    module = item.nodeid.partition("::")[0]
    if module in PLANS:
        return "plans"
    return item.nodeid if module in APART and item.get_closest_marker("nightly") else module


def arrange(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Sort the tests by their groups, the longest first. In a process of pytest-xdist, write the groups to its file."""
    groups = {item: of(item) for item in items}
    places = {name: place for place, name in enumerate(FIRST)}
    order = {name: place for place, name in enumerate(dict.fromkeys(groups.values()))}
    items.sort(key=lambda item: (places.get(groups[item].partition("::")[0], len(FIRST)), order[groups[item]]))
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
