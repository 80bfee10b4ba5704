"""The examples of the docs run as they stand, in a folder of the user's own."""

from __future__ import annotations

import dataclasses
import re
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml
from paths import ROOT
from report_kinds import MONTHS, made_up

from ticlm.core.corpus import Corpus
from ticlm.core.mixture import Source
from ticlm.core.periods import Calendar
from ticlm.core.settings import parse
from ticlm.datasets.corpus.recipe import CorpusRecipe
from ticlm.datasets.io.documents import Document
from ticlm.platform.report.report import Report
from ticlm.platform.report.request import ReportRequest
from ticlm.platform.report.write import write
from ticlm.platform.study.settings import Study, load


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The current folder, with the three files of Python of docs/extending.md in it."""
    text = (ROOT / "docs/extending.md").read_text()
    files = dict(re.findall(r"```python\n# (\w+\.py)\n(.*?)```", text, re.DOTALL))
    assert set(files) == {"recent.py", "changelog.py", "worst_row.py"}
    for name, source in files.items():
        (tmp_path / name).write_text(source)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    yield tmp_path
    for name in files:
        sys.modules.pop(name.removesuffix(".py"), None)


def _setting(key: str) -> Any:
    """Return what the YAML block of docs/extending.md that gives this key gives it."""
    blocks = re.findall(r"```yaml\n(.*?)```", (ROOT / "docs/extending.md").read_text(), re.DOTALL)
    return next(found[key] for block in blocks if key in (found := yaml.safe_load(block)))


def test_the_example_of_a_method_shares_a_budget_among_the_newest_periods(
    folder: Path, toy_study: Callable[..., Study]
) -> None:
    (method,) = toy_study(methods=_setting("methods")).methods
    seen = [Source(corpus="c@1", period=label) for label in ("202301", "202302", "202303")]
    mixture = method.replay.mixture(seen, 101)  # type: ignore[union-attr]
    assert [(share.source.period, share.tokens) for share in mixture.shares] == [("202302", 51), ("202303", 50)]


def test_the_example_of_a_data_source_yields_dated_documents(folder: Path) -> None:
    (folder / "CHANGES.txt").write_text("2023-05-01 Fixed it.\n")
    recipe = {"name": "changes", "version": 1, "tokenizer": {"kind": "train", "vocab_size": 300}, "length": 8}
    reader = parse(CorpusRecipe, recipe | {"documents": _setting("documents")}, "README").reader
    (entry,) = reader.inputs(Calendar())
    (document,) = (one for piece in reader.pieces(entry) for one in reader.read(piece))
    assert isinstance(document, Document)
    assert (document.text, document.id, document.timestamp.isoformat()) == (
        "Fixed it.",
        "changelog#0",
        "2023-05-01T00:00:00+00:00",
    )


def test_the_example_of_a_task_measures_the_worst_row(
    folder: Path, toy_corpus: Callable[..., Corpus], toy_study: Callable[..., Study]
) -> None:
    class Lengths:
        """Every token costs what it is."""

        def rows(self, rows: Mapping[str, Any]) -> tuple[Any, Any]:
            labels = rows["tokens"][:, 1:].astype(float)
            return labels.sum(1), np.full(len(labels), labels.shape[1])

    corpus = toy_corpus(folder / "toy@1")
    period = next(iter(corpus.periods))
    task = toy_study(evaluations=_setting("evaluations")).evaluations[1]
    (found,) = task.measure(Lengths(), corpus, period, rows=3)  # type: ignore[arg-type]
    tokens = next(corpus.rows(period, "eval").all(10**6))["tokens"]
    assert found.value == tokens[:, 1:].mean(1).max()
    assert found.n == len(tokens)


def test_the_chart_of_contributing_is_in_the_report(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = (ROOT / "CONTRIBUTING.md").read_text()
    (source,) = re.findall(r"```python\n# seen\.py\n(.*?)```", text, re.DOTALL)
    (changes,) = re.findall(r"```yaml\n# seen\.yaml\n(.*?)```", text, re.DOTALL)
    (tmp_path / "seen.py").write_text(source)
    (tmp_path / "seen.yaml").write_text(changes)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.delitem(sys.modules, "seen", raising=False)
    study = dataclasses.replace(made_up("demo", MONTHS), tables=load("seen.yaml").tables)
    written = {path.name for path in write(Report([study], request=ReportRequest()), tmp_path / "page")}
    assert "seen-demo-tokens-by-period.svg" in written
    assert '<section id="seen"' in (tmp_path / "page/index.html").read_text()


PAGES: tuple[str, ...] = ("README.md", "CONTRIBUTING.md", "SECURITY.md", "examples/README.md", "benchmarks/README.md")
PAGES += tuple(page.relative_to(ROOT).as_posix() for page in sorted((ROOT / "docs").rglob("*.md")))
TOPS = "core|platform|methods|datasets|docs|tests|examples|benchmarks|k8s|tune_spaces"


def paths(page: str) -> set[str]:
    """Return the paths of the project that a page names in its text."""
    return set(re.findall(rf"`((?:{TOPS})/[\w/.-]+)`", (ROOT / page).read_text()))


@pytest.mark.parametrize("page", PAGES)
def test_every_path_that_a_page_names_exists(page: str) -> None:
    assert not [name for name in sorted(paths(page)) if not (ROOT / name).exists()]


def test_the_pages_name_paths() -> None:
    assert sum(len(paths(page)) for page in PAGES) > 40
