"""Ids know a class by a name of its own, and not by where it is defined: a file that moves orphans nobody's work."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from enum import Enum
from importlib import import_module
from pathlib import Path

import pytest
from paths import ROOT

from ticlm.core import fingerprint
from ticlm.core.extensions import subclasses
from ticlm.core.settings import Settings
from ticlm.platform.run import driver
from ticlm.platform.study import plan
from ticlm.platform.study.settings import Study

FOLDERS = ("core", "platform", "methods", "datasets", "tune_spaces")


def import_everything() -> None:
    for folder in FOLDERS:
        for file in sorted((ROOT / folder).rglob("*.py")):
            if file.name not in ("__init__.py", "__main__.py"):
                import_module(".".join(("ticlm", *file.relative_to(ROOT).with_suffix("").parts)))


def ours(kind: type) -> list[type]:
    found: set[type] = {*subclasses(kind)}
    return [sub for sub in found if sub.__module__.startswith("ticlm.")]


def test_no_two_classes_share_a_name_in_ids() -> None:
    import_everything()
    names = [kind.identity_name for kind in ours(Settings)]  # type: ignore[attr-defined]
    names += [kind.__name__ for kind in ours(Enum)]
    assert len(names) > 100
    assert {name: count for name, count in Counter(names).items() if count > 1} == {}


def test_where_a_class_is_defined_changes_no_id(
    toy_root: Path, toy_study: Callable[..., Study], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A finished root has nothing left to do after every file has moved."""
    study = toy_study(resources={"trainer": "process", "device": "cpu"})
    driver.train(plan.make(study, str(toy_root)))
    before = plan.make(study, str(toy_root))
    assert before.ids.keys() == before.records.keys()
    for kind in ours(Settings):
        monkeypatch.setattr(kind, "__module__", f"moved.{kind.__module__}")
    fingerprint._layout.cache_clear()
    after = plan.make(study, str(toy_root))
    assert after.ids == before.ids and after.records.keys() == before.records.keys()
