"""A finished root for every test that damages one."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from ticlm.platform.run import check


@pytest.fixture
def root(template: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of the root that the module's `template` made once; checks of it do not wait long for a second look."""
    monkeypatch.setattr(check, "PAUSES_S", (0.01,))
    shutil.copytree(template, tmp_path / "root")
    return tmp_path / "root"
