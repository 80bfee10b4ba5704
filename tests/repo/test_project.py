"""The files by which a project is released and joined: they name what is there, and one version."""

from __future__ import annotations

import re
import subprocess
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from paths import ROOT

from ticlm import __version__

WORKFLOWS = sorted((ROOT / ".github/workflows").glob("*.yml"))
FORMS = sorted((ROOT / ".github/ISSUE_TEMPLATE").glob("*.yml"))
TARGETS = re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(), re.MULTILINE)


def read(path: Path) -> Any:
    return yaml.safe_load(path.read_text())


def steps(workflow: Any) -> Iterator[dict[str, Any]]:
    for job in workflow["jobs"].values():
        yield from job["steps"]


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_a_workflow_runs_what_the_checkout_has_and_may_not_write(path: Path) -> None:
    workflow = read(path)
    assert set(workflow[True]) <= {"pull_request", "push"} and workflow["permissions"]["contents"] == "read"
    runs = [step["run"].split() for step in steps(workflow) if "run" in step]
    assert runs, "it runs nothing"
    for command, argument, *_ in runs:
        assert command in ("make", "bash")
        assert argument in TARGETS if command == "make" else (ROOT / argument).is_file()
    assert all(re.fullmatch(r"actions/[a-z-]+@v\d+", step["uses"]) for step in steps(workflow) if "uses" in step)


def test_every_python_that_is_supported_is_tried() -> None:
    tried = read(ROOT / ".github/workflows/ci.yml")["jobs"]["quick"]["strategy"]["matrix"]["python"]
    needed = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["requires-python"]
    assert needed == f">={tried[0]}" and f"{tried[0]} to {tried[-1]}" in (ROOT / "Makefile").read_text()


@pytest.mark.parametrize("path", [path for path in FORMS if path.name != "config.yml"], ids=lambda path: path.stem)
def test_a_form_for_issues_has_what_forms_need(path: Path) -> None:
    form = read(path)
    assert form["name"] and form["description"]
    fields = [field for field in form["body"] if field["type"] != "markdown"]
    assert len({field["id"] for field in fields}) == len(fields)
    assert all(field["attributes"]["label"] for field in fields)


def test_owners_and_hooks_name_what_is_there() -> None:
    owners = (ROOT / ".github/CODEOWNERS").read_text().splitlines()
    places = [line.split()[0] for line in owners if line and not line.startswith("#")]
    assert [place for place in places if place != "*" and not (ROOT / place.strip("/")).is_dir()] == []
    (repo,) = read(ROOT / ".pre-commit-config.yaml")["repos"]
    tools = {hook["entry"].split()[0] for hook in repo["hooks"]} - {"bash"}
    assert repo["repo"] == "local" and tools == {".venv/bin/ruff", ".venv/bin/mypy"}


def test_git_keeps_them() -> None:
    names = [".editorconfig", ".pre-commit-config.yaml", "RELEASE.md", ".github/CODEOWNERS"]
    names += [str(path.relative_to(ROOT)) for path in (*WORKFLOWS, *FORMS)]
    done = subprocess.run(["git", "ls-files", *names], cwd=ROOT, capture_output=True, text=True)
    if done.returncode:
        pytest.skip("not a git checkout")
    assert set(done.stdout.split()) == set(names)


def test_one_version_stands_everywhere() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    citation = read(ROOT / "CITATION.cff")
    released = re.findall(r"^## (\d+\.\d+\.\d+), (\S+)$", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
    assert project == __version__ == citation["version"]
    assert released[0] == (project, str(citation["date-released"]))
    images = [path.read_text() for path in (ROOT / "k8s").rglob("*") if path.is_file()]
    tags = re.findall(r"/ticlm:(\d[\w.]*)|/ticlm, newTag: ([\w.]+)", "\n".join(images))
    assert len(tags) >= 6 and {one or other for one, other in tags} == {project}
