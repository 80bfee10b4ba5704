"""The Dockerfile, as far as it can be checked without an engine: what it copies, what it pins, the wheel it builds."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
import zipfile
from importlib.metadata import version
from pathlib import Path

import pytest
from manifests import K8S, cluster
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version
from paths import ROOT

FILE = K8S / "image/Dockerfile"
FOLDERS = ("core", "platform", "methods", "datasets", "tune_spaces")


def instructions(text: str) -> list[tuple[str, list[str]]]:
    """(INSTRUCTION, words) of a Dockerfile, lines joined and comments left out."""
    lines = [line for line in text.splitlines() if line.strip() and not line.lstrip().startswith("#")]
    joined = "\n".join(lines).replace("\\\n", " ")
    return [(word, shlex.split(rest)) for word, _, rest in (line.partition(" ") for line in joined.splitlines())]


def written() -> list[tuple[str, list[str]]]:
    return instructions(FILE.read_text())


def copied() -> list[str]:
    """What is taken from the checkout: by COPY, or mounted for one RUN."""
    found = []
    for word, words in written():
        if word == "COPY":
            found += [w for w in words[:-1] if not w.startswith("--")]
        if word == "RUN":
            mounts = [dict(f.partition("=")[::2] for f in w[8:].split(",")) for w in words if w.startswith("--mount=")]
            found += [mount["source"] for mount in mounts if "from" not in mount]
    return found


def test_everything_that_is_copied_is_there_and_is_sent_to_the_builder() -> None:
    rules = (K8S / "image/Dockerfile.dockerignore").read_text().split("\n")
    sent = {rule[1:] for rule in rules if rule.startswith("!")}
    assert "*" in rules and set(copied()) == sent
    assert [name for name in sent if not (ROOT / name).exists()] == []
    assert {*FOLDERS, "src", "pyproject.toml", "k8s/image"} <= sent


def test_what_pyproject_names_is_copied_too() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert project["readme"] in copied()
    needed = {Requirement(one) for one in project["dependencies"]}
    assert re.findall(r"--extra (\w+)", (ROOT / "Makefile").read_text()) == ["all"]
    extras = [extra for one in project["optional-dependencies"]["all"] for extra in Requirement(one).extras]
    needed |= {Requirement(one) for extra in extras for one in project["optional-dependencies"][extra]}
    assert {canonicalize_name(one.name) for one in needed} <= pinned("requirements.txt").keys()


def test_the_base_is_one_image_of_the_pinned_ray_which_whoever_builds_names_by_its_digest() -> None:
    (ray,) = re.findall(r"^ray==(.+)$", (ROOT / "constraints.txt").read_text(), re.MULTILINE)
    assert ["BASE"] in [words for word, words in written() if word == "ARG"], "a tag may become another image"
    for text in (FILE.read_text(), (K8S / "README.md").read_text()):
        assert f"rayproject/ray@$(docker buildx imagetools inspect rayproject/ray:{ray}-py311-gpu" in text
    assert [words for word, words in written() if word == "FROM"] == [["${BASE}", "AS", "wheel"], ["${BASE}"]]


def pinned(name: str) -> dict[str, tuple[str, list[str]]]:
    """Return the packages of a file of requirements, each with its version and its hashes."""
    text = (K8S / "image" / name).read_text().replace("\\\n", " ")
    lines = [line.split() for line in text.splitlines() if line.strip()]
    return {
        canonicalize_name(words[0].split("==")[0]): (words[0].split("==")[1], [w for w in words if "--hash" in w])
        for words in lines
    }


def test_pip_takes_files_of_known_hashes_alone_in_the_versions_of_the_constraints() -> None:
    fetched = [words for word, words in written() if word == "RUN" and "pip" in words and "--no-index" not in words]
    assert all(
        {"--require-hashes"} & {*words} or {"--no-deps", "--no-build-isolation"} <= {*words} for words in fetched
    )
    everywhere = dict(re.findall(r"^([\w.-]+)==(.+)$", (ROOT / "constraints.txt").read_text(), re.MULTILINE))
    everywhere = {canonicalize_name(name): version for name, version in everywhere.items()}
    for name in ("requirements.txt", "build-requirements.txt"):
        for package, (release, hashes) in pinned(name).items():
            assert hashes and everywhere.get(package, release) == release, package


def test_the_image_runs_as_the_user_of_the_manifests_and_keeps_no_cache() -> None:
    from manifests import build, kustomize

    user = [words for word, words in written() if word == "USER"][-1]
    assert user == ["1000:100"]
    assert all("--no-cache-dir" in words for word, words in written() if word == "RUN" and "pip" in words)
    if kustomize() is not None:
        pod = cluster(build(K8S / "overlays/raycluster"))["headGroupSpec"]["template"]["spec"]["securityContext"]
        assert [f"{pod['runAsUser']}:{pod['runAsGroup']}"] == user
    last = [word for word, _ in written()]
    assert "ADD" not in last and last.count("COPY") == sum(
        1 for word, _ in written()[: last.index("RUN")] if word == "COPY"
    ), "the second stage copies nothing: a wheel would stay in a layer"


@pytest.mark.slow
def test_the_wheel_of_the_first_stage_has_the_files_of_the_five_folders(tmp_path: Path) -> None:
    if Version(version("setuptools")) < Version("77"):
        pytest.skip("what builds wheels is older than pyproject.toml asks for")
    checkout, wheels = tmp_path / "checkout", tmp_path / "wheels"
    checkout.mkdir()
    for name in (n for word, words in written() if word == "COPY" for n in words[:-1] if not n.startswith("--")):
        if (ROOT / name).is_dir():
            unwanted = shutil.ignore_patterns("__pycache__", "*.egg-info")
            shutil.copytree(ROOT / name, checkout / name, symlinks=True, ignore=unwanted)
        else:
            shutil.copy(ROOT / name, checkout)
    command = next(words for word, words in written() if word == "RUN" and words[:2] == ["pip", "wheel"])
    changed = [str(wheels) if word == "/tmp/wheels" else word for word in command[1:]]
    # what builds wheels is here already; nothing is fetched
    run = [sys.executable, "-m", "pip", *changed, "--no-index"]
    done = subprocess.run(run, cwd=checkout, capture_output=True, text=True, env={**os.environ, "PIP_NO_INPUT": "1"})
    assert done.returncode == 0, done.stdout + done.stderr
    (wheel,) = wheels.glob("ticlm-*.whl")
    inside = set(zipfile.ZipFile(wheel).namelist())
    wanted = {
        f"ticlm/{path.relative_to(checkout)}"
        for folder in FOLDERS
        for path in (checkout / folder).rglob("*")
        if path.suffix in (".py", ".yaml", ".html", ".css", ".js")
    }
    assert len(wanted) > 100 and wanted - inside == set()
    assert {"ticlm/__init__.py", "ticlm/py.typed"} <= inside
