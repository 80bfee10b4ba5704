"""The top-level folders must not shadow `platform` (standard library) or `datasets` (Hugging Face)."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from importlib.resources import files
from itertools import chain
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from paths import ROOT

import ticlm

FOLDERS = ("core", "platform", "methods", "datasets", "tune_spaces")


def in_a_new_process(code: str) -> str:
    """What `code` prints, run from the repository's root, where the folders could shadow their namesakes."""
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


@pytest.mark.parametrize("folder", FOLDERS)
def test_a_top_level_folder_is_not_a_package(folder: str) -> None:
    assert not (ROOT / folder / "__init__.py").exists()
    assert not (ROOT / "tests" / folder / "__init__.py").exists()
    assert not (ROOT / "tests" / "__init__.py").exists()


@pytest.mark.parametrize("folder", FOLDERS)
def test_the_link_in_src_is_relative_and_leads_to_the_folder(folder: str) -> None:
    link = ROOT / "src" / "ticlm" / folder
    assert link.is_symlink(), "enable core.symlinks and check out again"
    assert link.readlink() == Path("../..") / folder
    assert link.is_dir(), f"{folder}/ is missing: git keeps no empty folder"


def test_each_page_of_the_documentation_comes_with_the_package() -> None:
    """By a link of its own: a link to docs/ would make a package of the scripts there."""
    linked = {path.name: path for path in (ROOT / "src/ticlm/docs").iterdir()}
    pages = {path.name: Path("../../../docs") / path.name for path in (ROOT / "docs").glob("*.md")}
    pages |= {"results": Path("../../../docs/results"), "README.md": Path("../../../README.md")}
    assert {name: link.readlink() for name, link in linked.items()} == pages
    assert not list((ROOT / "docs/results").glob("*.py"))


def test_the_package_that_is_imported_is_this_checkout() -> None:
    assert Path(ticlm.__file__).resolve() == ROOT / "src" / "ticlm" / "__init__.py"
    assert (ROOT / "src" / "ticlm" / "py.typed").is_file()


def test_the_standard_library_and_hugging_face_win_from_the_root() -> None:
    code = (
        "import platform, datasets; platform.system(); datasets.Dataset;"
        "import ticlm.platform.cli.main, ticlm.datasets.corpus.build;"
        "print(platform.__file__, datasets.__file__, ticlm.datasets.corpus.build.__file__, sep='\\n')"
    )
    stdlib, hugging_face, ours = map(Path, in_a_new_process(code).splitlines())
    assert stdlib.parent != ROOT and hugging_face.parent.parent != ROOT
    assert ours == ROOT / "src/ticlm/datasets/corpus/build.py"


def test_no_file_that_git_would_keep_is_ignored() -> None:
    """A line such as `datasets/` in .gitignore would drop the code from a Ray upload, which honours it."""
    paths = [str(p.relative_to(ROOT)) for f in FOLDERS for p in (ROOT / f).rglob("*") if p.suffix in (".py", ".yaml")]
    done = subprocess.run(["git", "check-ignore", *paths], cwd=ROOT, capture_output=True, text=True)
    if done.returncode > 1:
        pytest.skip("not a git checkout")
    assert done.stdout == ""


def test_files_that_users_name_come_with_the_package() -> None:
    assert files("ticlm.platform").joinpath("studies/demo.yaml").is_file()
    assert files("ticlm.datasets").joinpath("recipes/synthetic.yaml").is_file()


def test_every_requirement_is_pinned_at_a_version_it_allows() -> None:
    """Extras included; without local versions, so that wheels for CPU and for CUDA both match."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    every = map(Requirement, [*project["dependencies"], *chain(*project["optional-dependencies"].values())])
    wanted = [one for one in every if one.name != project["name"]]  # `all` names the other extras
    lines = (ROOT / "constraints.txt").read_text().splitlines()
    assert [line for line in lines if not re.fullmatch(r"[\w.-]+==[\w.]+", line)] == []
    pins: dict[str, str] = {canonicalize_name(name): version for name, version in (x.split("==") for x in lines)}
    for requirement in wanted:
        pin = pins.get(canonicalize_name(requirement.name))
        assert pin and requirement.specifier.contains(pin, prereleases=True), f"{requirement} is pinned at {pin}"
    assert pins["torch"] == "2.13.0" and pins["ray"] == "2.60.0"


def test_help_is_cheap() -> None:
    """typer and rich, not torch, ray or transformers; test_imports.py says the same of the modules behind it."""
    code = (
        "import sys\n"
        "from ticlm.platform.cli.main import main\n"
        "sys.argv = ['ticlm', '--help']\n"
        "try: main()\n"
        "except SystemExit: pass\n"
        "print([m for m in ('torch', 'ray', 'transformers', 'datasets', 'pandas', 'pyarrow') if m in sys.modules])"
    )
    assert in_a_new_process(code).splitlines()[-1] == "[]"
