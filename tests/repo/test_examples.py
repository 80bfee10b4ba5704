"""Every example does what its name says, in a folder of its own, with the commands that a reader would type."""

from __future__ import annotations

import csv
import dataclasses
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from paths import ROOT
from report_kinds import MONTHS, made_up
from speakers import speaker

from ticlm.core.corpus import Corpus
from ticlm.platform.report.report import Report
from ticlm.platform.report.request import ReportRequest
from ticlm.platform.report.write import as_markdown, write
from ticlm.platform.study.settings import load
from ticlm.platform.study.tree import rounds

EXAMPLES = sorted(path.name for path in (ROOT / "examples").iterdir() if path.is_dir() and path.name != "__pycache__")
SMALL = (
    *("periods.last=202303", "initial.budget=30720", "continual_tokens.per_period=30720", "resources.workers=1"),
    *("resources.trainer=process", "resources.carrier=process", "resources.device=cpu"),
)


def run(name: str, folder: Path, *arguments: str, minutes: int = 5, model: Path | None = None) -> str:
    """Run an example in a copy of its folder, where `model` is its `models/smollm2`; return what it prints."""
    here = shutil.copytree(
        ROOT / "examples" / name, folder / name, ignore=shutil.ignore_patterns("__pycache__", "runs", "models")
    )
    if model is not None:
        (here / "models").mkdir()
        (here / "models/smollm2").symlink_to(model)
    env = os.environ | {
        "TICLM_ROOT": str(folder / "root"),
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
    }
    done = subprocess.run(
        ["bash", str(here / "run.sh"), *arguments], env=env, capture_output=True, text=True, timeout=60 * minutes
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout


def test_the_table_of_examples_names_them_all() -> None:
    text = (ROOT / "examples/README.md").read_text()
    assert EXAMPLES and all(f"[{name}]({name})" in text for name in EXAMPLES)


@pytest.mark.slow
def test_a_folder_of_posts_becomes_a_corpus(tmp_path: Path) -> None:
    printed = run("corpus_from_a_folder_of_posts", tmp_path)
    assert "30 read = 30 kept + 0 dropped" in printed
    corpus = Corpus.open(str(tmp_path / "root/corpora/posts@1"))
    assert list(corpus.periods) == ["202401", "202402", "202403"]
    assert all(corpus.split(label, split).rows for label in corpus.periods for split in ("train", "eval"))


@pytest.mark.slow
def test_a_published_model_is_scored_on_every_month(tmp_path: Path) -> None:
    speaker(tmp_path / "model")
    printed = run("published_model_scored_by_month", tmp_path, str(tmp_path / "model"))
    assert all(f"valley@1  {month}" in printed for month in (202401, 202402, 202403))


def test_studies_of_examples_are_planned_as_they_stand(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT / "examples/replay_of_the_newest_months")
    newest = rounds(load("study.yaml"))
    labels = {run.method.name: [len(newest.rounds[key].sources) for key in run.rounds.values()] for run in newest.runs}
    assert labels["replay-newest"] == [1, 2, *[3] * 10] and labels["replay-equal"] == list(range(1, 13))
    table = rounds(load(str(ROOT / "examples/table_2_on_a_laptop/study.yaml")))
    assert len(table.runs) == 10 and len(table.rounds) == 103


def test_a_fifth_paper_needs_a_class_and_a_line_of_yaml(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Its table, its chart and its number are on the page, in the terminal, as CSV and in the headline table."""
    monkeypatch.chdir(ROOT / "examples/a_table_and_a_chart_of_your_own")
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.delitem(sys.modules, "staleness", raising=False)
    tables = load("study.yaml").tables
    labels = MONTHS.timeline().labels
    shown = dataclasses.replace(made_up("demo", MONTHS, cutoffs=(0, 5, 11)), tables=tables)
    report = Report([shown], request=ReportRequest())
    written = {path.name for path in write(report, tmp_path / "page")}
    assert {"staleness.csv", "benchmarks_overview.csv", "staleness-demo-what-staleness-costs.png"} <= written
    html = (tmp_path / "page/index.html").read_text()
    assert '<section id="staleness">' in html and 'id="staleness-charts"' in html
    printed = as_markdown(report)
    assert "What staleness costs" in printed and "Staleness one period ↓" in printed
    (table,) = (section.tables[0] for section in report.sections if section.id == "staleness")
    assert table.columns == tuple(map(str, range(1, len(labels))))
    assert not [path for path in (ROOT / "platform").rglob("*.py") if "staleness:" in path.read_text()]


@pytest.mark.nightly
@pytest.mark.slow
@pytest.mark.parametrize(("name", "oracle"), [("replay_of_the_newest_months", 2), ("table_2_on_a_laptop", 9)])
def test_a_study_of_an_example_runs_to_its_page(name: str, oracle: int, tmp_path: Path) -> None:
    sets = [word for one in (*SMALL, f"methods.{oracle}.cutoffs=[202301, 202303]") for word in ("--set", one)]
    printed = run(name, tmp_path, *sets)
    assert "Bwd." in printed
    assert list((tmp_path / "root/reports").glob("*/index.html"))


@pytest.fixture(scope="module")
def dated(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Path]:
    """What the example about a model's age prints, and its root, where the model lies as a folder."""
    folder = tmp_path_factory.mktemp("dated")
    return run("how_old_is_this_model", folder, minutes=20), folder / "root"


@pytest.mark.nightly
@pytest.mark.slow
@pytest.mark.timeout(1300)
def test_a_real_model_of_known_age_is_dated(dated: tuple[str, Path]) -> None:
    """SmolLM2-135M, whose package is of February 2025: no later month, and less than eight years wide."""
    printed, root = dated
    row = next(iter(csv.DictReader((root / "age.csv").open())))
    low, high = (int(row[end][:4]) * 12 + int(row[end][5:]) for end in ("low", "high"))
    assert row["is_known"] == "True" and row["high"] <= "2025-02" and high - low <= 96, row
    assert row["verdict"] in " ".join(printed.split())


SMALLER = {
    # what the example reads, less of it
    "docs": "documents: {packages: [click, mcp, openai]}\nperiods: {last: 202504}\n",
    "samples": "documents: {documents: 6, tokens: 31}\nsplits: {eval: 0.9}\nlength: 32\n",
    "facts": "examples: {packages: [mcp, openai], periods: {initial: 202501, last: 202504}}\n",
}


@pytest.mark.nightly
@pytest.mark.slow
@pytest.mark.timeout(1300)
def test_a_real_model_is_kept_up_to_date(dated: tuple[str, Path], tmp_path: Path) -> None:
    """SmolLM2-135M over two months of three packages, two steps each: what was gained and lost is on the page.

    A round of one method takes 15 s of a core and writes 540 MB, so only one method of each kind is trained: all
    weights, an average, an adapter, and the control.
    """
    methods = {
        "replay-half": "replay-half",
        "replay-half+ema": "{base: replay-half, name: replay-half+ema, deploy: {kind: ema, beta: 0.5}}",
        "old-text-only": "{base: cyclic-cosine, name: old-text-only, replay: {kind: first}}",
        "lora": "{base: lora, adapter: {rank: 8, per: run}, schedule: {max_rate: 1e-3}}",
    }
    for part, less in SMALLER.items():
        (tmp_path / f"{part}.yaml").write_text(f"extends: keep-smollm2-{part}\nname: few-{part}\n{less}")
    evaluations = [
        "{kind: perplexity, max_rows: 2, keeps_losses: true}",
        "{kind: perplexity-on, name: own-samples, corpus: few-samples, keeps_losses: true}",
        "{kind: dated-facts, name: facts, examples: few-facts}",
    ]
    sets = (
        *("corpus=few-docs", f"recipe={tmp_path / 'docs.yaml'}", "first_periods=3", "continual_tokens={steps: 2}"),
        f"recipes=[{tmp_path / 'samples.yaml'}, {tmp_path / 'facts.yaml'}]",
        *(
            "batch_rows=1",
            f"methods=[{', '.join(methods.values())}]",
            "resources={trainer: process, carrier: process, device: cpu}",
            "evaluate={checkpoints: [201001-202502, 202504]}",
        ),
        f"evaluations=[{', '.join(evaluations)}]",
    )
    words = (word for one in sets for word in ("--set", one))
    run("keep_a_model_up_to_date", tmp_path, *words, minutes=18, model=dated[1] / "smollm2")
    (kept,) = (tmp_path / "root/reports").glob("*/kept.csv")
    rows = list(csv.DictReader(kept.open()))
    assert {row["method"] for row in rows} == {*methods}
    measures = {"new", "since base", "old", "general"}
    assert all(measures <= {row["measure"] for row in rows if row["method"] == method} for method in methods)
    new = {row["method"]: float(row["value"]) for row in rows if row["measure"] == "new"}
    assert new["replay-half"] < 0, "on new text, even two steps are better than none"
    assert "What was gained, and what was lost" in (kept.parent / "index.html").read_text()
