"""The commands of the docs: each is understood as it is printed, and those that need no data are run."""

from __future__ import annotations

import gzip
import json
import os
import re
import shlex
import subprocess
import sys
from datetime import date
from pathlib import Path

import pytest
import typer
from paths import ROOT

from ticlm.core.periods import Calendar
from ticlm.datasets.synthetic.world import SyntheticWorld
from ticlm.platform.cli.main import app

PAGES: tuple[str, ...] = ("README.md", "examples/README.md", "k8s/README.md", "tune_spaces/README.md")
PAGES += ("benchmarks/README.md",)
PAGES += tuple(page.relative_to(ROOT).as_posix() for page in sorted((ROOT / "docs").rglob("*.md")))
ON_OTHER_DATA = {
    # the beginning of a command that wants a cluster, hours or files of the reader's; a test of what it does, on less
    "data build web": "tests/datasets/corpus/test_tic_cc.py",
    "data build tic-cc": "tests/datasets/corpus/test_tic_cc.py",
    "data build monthly": "tests/datasets/corpus/test_build.py",
    "data build fineweb": "tests/datasets/hub/test_recipes.py",
    "data build wikipedia-hub": "tests/datasets/hub/test_recipes.py",
    "data build peps": "tests/datasets/corpus/test_build.py",
    "data build benchmarks/experiments/ckl": "tests/platform/study/test_ckl.py",
    "run benchmarks/experiments/ckl": "tests/platform/study/test_ckl.py",
    "plan ckl-parameters": "tests/platform/study/test_ckl.py",
    "data build tic-wiki": "tests/datasets/evalsets/test_tic_wiki.py",
    "data build tic-stack": "tests/datasets/evalsets/test_tic_stackexchange.py",
    "data build tic-math": "tests/datasets/evalsets/test_tic_stackexchange.py",
    "convert": "tests/platform/cli/test_convert.py",
    "data build synthetic-probes": "tests/datasets/evalsets/test_synthetic_probes.py",
    "data build constructed-probes": "tests/datasets/evalsets/test_probe_construction.py",
    "data build evolvingqa-changes": "tests/datasets/evalsets/test_wiki_revisions.py",
    "data build evolvingqa-questions": "tests/datasets/evalsets/test_evolving_questions.py",
    "data build evolvingqa": "tests/datasets/examples/test_documents.py",
    "data build temporalwiki-diffs": "tests/datasets/evalsets/test_diffsets.py",
    "data build temporalwiki-probes": "tests/datasets/evalsets/test_temporalwiki_probes.py",
    "data build temporalwiki-tune": "tests/platform/tasks/test_light_tuning.py",
    "data build temporalwiki": "tests/datasets/examples/test_documents.py",
    "data build package-docs": "tests/datasets/packages/test_documents.py",
    "data build package-versions": "tests/datasets/evalsets/test_package_versions.py",
    "data build world-facts": "tests/datasets/evalsets/dated_facts/test_world_facts.py",
    "data build dated-facts": "tests/datasets/evalsets/dated_facts/test_from_wikidata.py",
    "data build benchmarks-": "tests/datasets/evalsets/test_probes_truth.py",
    "data build tic-codedocs": "tests/datasets/evalsets/test_tic_codedocs.py",
    "data show": "tests/datasets/corpus/test_show.py",
    "data lint": "tests/datasets/lint/test_corpora.py",
    "submit": "tests/platform/cluster/test_jobs.py",
    "chaos": "tests/platform/chaos/test_chaos.py",
    "tune": "tests/platform/tuning/test_search.py",
    "predict": "tests/platform/forecast/test_prediction.py",
    "init": "tests/platform/proposal/test_proposal.py",
    "run posts.yaml": "tests/platform/proposal/test_proposal.py",
    "run monthly": "tests/platform/cli/test_cli.py",
    "publish": "tests/platform/publish/test_publishing.py",
    "verify": "tests/platform/verify/test_verify.py",
    "report": "tests/platform/results/test_published_oracles.py",
    "eval": "tests/platform/eval/test_folder.py",
    "age": "tests/platform/cli/models/test_age.py",
    "plan": "tests/platform/study/test_plan.py",
    "run": "tests/platform/cli/test_cli.py",
}


def text_of(page: str) -> str:
    return (ROOT / page).read_text()


def blocks(text: str) -> list[str]:
    """Return the commands of a text's blocks of code, without comments; of a session, those after `$ `."""
    found = []
    for language, block in re.findall(r"^```(\w*)\n(.*?)^```", text, re.DOTALL | re.MULTILINE):
        lines = block.replace("\\\n", " ").splitlines() if language in ("", "bash", "sh") else []
        found += [line.removeprefix("$ ") for line in lines if line.startswith(("ticlm ", "$ ticlm "))]
    return found


def inline(text: str) -> list[str]:
    """Return the commands between backticks in a page's text that name all they need."""
    text = re.sub(r"```.*?```", "", text, flags=re.DOTALL)
    found = [" ".join(one.split()) for one in re.findall(r"`(ticlm [a-z][^`]*)`", text)]
    return [one for one in found if "…" not in one]


def arguments(line: str) -> list[str]:
    return shlex.split(line, comments=True)[1:]


@pytest.mark.parametrize("page", PAGES)
def test_every_command_of_a_page_is_understood(page: str) -> None:
    text = text_of(page)
    for line in [*blocks(text), *inline(text)]:
        command, rest = typer.main.get_command(app), arguments(line)
        while hasattr(command, "commands") and rest and rest[0] in command.commands:
            command, rest = command.commands[rest[0]], rest[1:]
        if rest in (["--help"], ["--version"], ["--install-completion"]) or (not rest and line in inline(text)):
            continue  # a command that is only named
        try:
            command.make_context("ticlm", list(rest), resilient_parsing=False)
        except Exception as error:
            pytest.fail(f"{page}: {line}: {getattr(error, 'message', error)}")


def test_the_pages_hold_commands() -> None:
    assert len(blocks(text_of("docs/manual.md"))) >= 10 and len(blocks(text_of("docs/first-hour.md"))) >= 7
    assert sum(len(inline(text_of(page))) for page in PAGES) > 30


def test_every_command_is_run_here_or_on_other_data() -> None:
    here = {*blocks(text_of("docs/manual.md")), *blocks(text_of("docs/first-hour.md"))}
    others = [" ".join(arguments(line)) for page in PAGES for line in blocks(text_of(page)) if line not in here]
    assert not [line for line in others if not line.startswith(tuple(ON_OTHER_DATA))]
    assert not [test for test in ON_OTHER_DATA.values() if not (ROOT / test).exists()]


def run(line: str, folder: Path) -> str:
    """Run a command as a reader would in `folder`; return what it printed."""
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    environment = {name: value for name, value in os.environ.items() if name != "TICLM_ROOT"} | {"PATH": path}
    done = subprocess.run(
        ["ticlm", *arguments(line)], cwd=folder, env=environment, capture_output=True, text=True, timeout=1100
    )
    assert done.returncode == 0, f"{line}: {done.stderr[-2000:] or done.stdout[-2000:]}"
    return done.stdout


SMALLER = {
    # of what a page or the demo says, less, where the amount proves nothing. `make demo` trains all of the demo, on
    # Ray; here no Ray trains, as each of its processes loads torch anew, for six seconds of a core.
    "first-hour.md": {
        "extends: demo               #": "resources: {trainer: process}\nextends: demo               #",
        "--minutes 10": "--minutes 2.9",  # from three on, `init` writes a study for Ray
        "budget: 307_200": "budget: 30_720",
        "per_period: 20_480": "per_period: 5_120",
        "last: 201706": "last: 201703",
        "@201706": "@201703",
        "201707": "201704",
    },
    "demo.yaml": {
        "409_600": "40_960",
        "111_616": "5_120",
        "[202301, 202303, 202306, 202309, 202312]": "[202301, 202312]",
        "max_rows: 128": "max_rows: 16",
        "resources: {": "resources: {trainer: process, ",
    },
}


def smaller(file: Path) -> str:
    """Return the file's text with the amounts of `SMALLER`."""
    text = file.read_text()
    for amount, less in SMALLER[file.name].items():
        assert amount in text, f"{file} does not say {amount}"
        text = text.replace(amount, less)
    return text


def posts(folder: Path) -> None:
    """Write dated posts of an invented world, a file for each month from January 2016 to June 2017."""
    world = SyntheticWorld(epoch=date(2016, 1, 1), initial_documents=60, documents_per_month=60)
    folder.mkdir()
    for period in Calendar(initial="201601", last="201706").timeline().periods:
        with gzip.open(folder / f"{period.label}.jsonl.gz", "wb") as file:
            for one in world.documents(period):
                post = {"url": one.id, "text": one.text, "timestamp": one.timestamp.date().isoformat()}
                file.write(json.dumps(post).encode() + b"\n")


@pytest.mark.nightly
@pytest.mark.slow
@pytest.mark.timeout(2400)
def test_the_first_hour_goes_as_it_is_written(tmp_path: Path) -> None:
    """On four periods of seven, and smaller budgets."""
    text = smaller(ROOT / "docs/first-hour.md")
    files = dict(re.findall(r"```(?:yaml|python)\n# ([\w.]+\.(?:yaml|py))\n(.*?)```", text, re.DOTALL))
    assert set(files) == {"news.recipe.yaml", "news.yaml", "mine.yaml", "recent.py"}
    for name, content in files.items():
        (tmp_path / name).write_text(content)
    posts(tmp_path / "posts")
    printed = {line: run(line, tmp_path) for line in blocks(text)}
    assert "Bwd." in printed["ticlm run news.yaml"] and "recent" in printed["ticlm run mine.yaml"]
    assert all(list((tmp_path / "runs/reports").glob(f"{name}*/index.html")) for name in ("news", "mine"))
    assert "201704" in printed["ticlm update news.yaml posts/201704.jsonl.gz"]
    assert "last: 201704}" in (tmp_path / "news.recipe.yaml").read_text()


@pytest.mark.nightly
@pytest.mark.slow
@pytest.mark.timeout(2400)
def test_the_commands_of_the_manual_run_in_their_order(tmp_path: Path) -> None:
    """On a demo of a tenth of the tokens and two Oracles, whose file lies where the commands are given."""
    (tmp_path / "demo.yaml").write_text(smaller(ROOT / "platform/studies/demo.yaml"))
    posts(tmp_path / "posts")
    lines = [re.sub(r"(?<=[ '])demo\b", "demo.yaml", line) for line in blocks(text_of("docs/manual.md"))]
    rest = [line for line in lines if arguments(line)[0] not in ("plan", "run", "chaos")]
    first = next(line for line in lines if line.startswith("ticlm run demo.yaml --set"))
    for line in [first, *rest, "ticlm plan demo.yaml"]:
        printed = run(line, tmp_path)
        assert printed.strip()
    assert "left to do: 0 rounds" in printed
