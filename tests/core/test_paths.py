"""The layout of a root: spelled in one place, and the same on disk as ever."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from paths import ROOT

from ticlm.core import paths
from ticlm.core.integrity.records import Attempt
from ticlm.core.reading.in_root import InRoot
from ticlm.core.store import Store
from ticlm.platform.study.stored_rounds import attempts, leftovers, mid_round_checkpoints, mid_round_models

ID, WEIGHTS = "0123456789abcdef" * 4, "fedcba9876543210" * 4
FOLDERS = "rounds|cells|leases|corpora|examples|reports|tuning|tensorboard|periods|steps|inside"
SPELLED = re.compile(rf"(^|/)({FOLDERS})/|/(model|files|metrics\.json|record\.json|no-number\.json)$|^record\.json$")
LISTED = re.compile(rf"\b(folders|files|walk|local|child|uri)\(f?[\"']({FOLDERS}|ray|tokenizer)[\"'/]")
NOT_OURS = {"datasets/codedocs/pages.py": ["examples/*"]}
"""Folders of others that are called as ours."""
CUT = re.compile(r"\b(\w*id|\w*ids\[[^]]*\]|weights|weights_of\([^)]*\))\[:\d+\](?!\W*(\}| has))")


def test_a_corpus_is_named_by_the_last_part_of_its_path() -> None:
    assert paths.corpus_id("s3://bucket/corpora/news@2/") == "news@2"
    assert paths.corpus_id("news") == paths.corpus_id("./elsewhere/news@1") == "news@1"


class WithoutDocstrings(ast.NodeTransformer):
    def visit_Expr(self, node: ast.Expr) -> ast.Expr:
        return ast.Expr(ast.Constant(...)) if isinstance(node.value, ast.Constant) else node


def texts(tree: ast.AST) -> Iterator[str]:
    """Return all strings of a module; the values in an f-string count as an ellipsis."""
    parts = {id(part) for node in ast.walk(tree) if isinstance(node, ast.JoinedStr) for part in node.values}
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            yield "".join(str(part.value) if isinstance(part, ast.Constant) else "…" for part in node.values)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in parts:
            yield node.value


def spelled(source: str) -> list[str]:
    """Return what a module says of the layout by itself; its docstrings may."""
    code = WithoutDocstrings().visit(ast.parse(source))
    found = [text for text in texts(code) if SPELLED.search(text) and " " not in text]
    return found + [match.group() for pattern in (LISTED, CUT) for match in pattern.finditer(ast.unparse(code))]


def test_no_other_module_spells_the_layout() -> None:
    files = [file for top in ("platform", "datasets", "methods") for file in (ROOT / top).rglob("*.py")]
    files = [file for file in files if file.name != "paths.py"]
    assert len(files) > 200
    assert {str(file.relative_to(ROOT)): found for file in files if (found := spelled(file.read_text()))} == NOT_OURS


@pytest.mark.parametrize(
    "line",
    [
        'read(f"rounds/{id}")',
        'path = f"{folder}/{name}/steps/{step:08d}"',
        'path = f"{attempt}/model"',
        'store.folders("rounds")',
        "name = plan.ids[key][:32]",
        "name = weights_of(record)[:16]",
        'path = folder + "/record.json"',
    ],
)
def test_a_module_that_spells_it_would_be_found(line: str) -> None:
    assert spelled(line)


@pytest.mark.parametrize(
    ("path", "on_disk"),
    [
        (paths.round_folder(ID), "rounds/0123456789abcdef0123456789abcdef"),
        (paths.model("rounds/r", "a"), "rounds/r/a/model"),
        (paths.metrics("rounds/r/a"), "rounds/r/a/metrics.json"),
        (paths.mid_round_checkpoint("rounds/r/a", 12), "rounds/r/a/steps/00000012"),
        (paths.mid_round_model("rounds/r", 12), "rounds/r/inside/00000012"),
        (paths.record("rounds/r"), "rounds/r/record.json"),
        (paths.cells_file(WEIGHTS, ID), "cells/fedcba9876543210/0123456789abcdef0123456789abcdef.parquet"),
        (paths.corpus("toy"), "corpora/toy@1"),
        (paths.corpus("toy@2"), "corpora/toy@2"),
        (paths.examples("docs"), "examples/docs@1"),
        (paths.period("202301"), "periods/202301"),
        (paths.report(["a", "b"], "0123456789"), "reports/a+b-01234567"),
        (paths.report(["a" * 90, "b" * 90], "0123456789"), f"reports/{'a' * 90}+1-more-01234567"),
        (paths.search("study", "space", ID), "tuning/study-space-01234567"),
        (paths.lease(3), "leases/00000003.json"),
        (paths.tensorboard("ewc: 202302 … 202312", ID), "tensorboard/ewc-202302-202312-01234567"),
        (paths.tensorboard("../a/b (seed 1)", ID), "tensorboard/a-b-seed-1-01234567"),
    ],
)
def test_what_is_on_disk_stays_where_it_is(path: str, on_disk: str) -> None:
    assert path == on_disk


def test_a_round_knows_its_attempts_from_what_it_published_inside(tmp_path: Path) -> None:
    store = Store(tmp_path)
    killed, last = (Attempt(store, "rounds/r", name) for name in ("a", "b"))
    store.write(f"{paths.mid_round_checkpoint(killed.path, 2)}/files/part", b"x")
    whole, half = (Attempt(store, paths.mid_round_model("rounds/r", step), "a") for step in (1, 3))
    for attempt in (whole, half, Attempt(store, whole.folder, "rival")):
        store.write(f"{attempt.path}/model/weights", b"x")
    whole.publish({"step": 1})
    assert attempts(store, "rounds/r") == ["a"] and list(mid_round_models(store, "rounds/r")) == [1]
    assert mid_round_checkpoints(store, "rounds/r") == [(2, "rounds/r/a/steps/00000002")]
    assert leftovers(store, "rounds/r") == []  # it may still be resumed
    store.write(f"{last.path}/model/weights", b"x")
    last.publish({})
    assert leftovers(store, "rounds/r") == ["rounds/r/a", f"{whole.folder}/rival", half.path]


def test_a_folder_of_that_name_makes_no_path_of_a_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "posts").mkdir()
    monkeypatch.chdir(tmp_path)
    assert InRoot(paths.CORPORA).named("posts") == "posts@1"
    assert InRoot(paths.CORPORA).named("./posts") is None
