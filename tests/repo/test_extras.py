"""Packages of third parties: in the base, or in an extra that is asked for before the package is imported."""

from __future__ import annotations

import ast
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from importlib.metadata import PackageNotFoundError, packages_distributions, requires
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from paths import ROOT

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
FOLDERS = ("core", "platform", "methods", "datasets", "tune_spaces")
OF_BASE = {
    "aiohttp": "ray",
    "annotated_types": "pydantic",
    "huggingface_hub": "transformers",
    "packaging": "transformers",
    "pydantic_core": "pydantic",
    "requests": "ray",
    "regex": "transformers",
    "tqdm": "transformers",
}
"""Modules that come with a package of the base, which needs them itself."""
OF_EXTRAS = {"llvmlite": "numba", "cryptography": "model_signing"}
"""The same of a package of an extra."""
NO_REQUIREMENT = {"pip": "looked for, and done without"}
USES = ("s3", "gcs")
"""Extras that no module imports: fsspec does, and its own error says which package is missing."""


def needed(names: list[str]) -> set[str]:
    """Return the names of the packages in some requirements."""
    return {canonicalize_name(Requirement(one).name) for one in names}


BASE = needed(PROJECT["dependencies"])
EXTRAS = {name: needed(which) for name, which in PROJECT["optional-dependencies"].items()}
OF_USE = {name: which for name, which in EXTRAS.items() if name not in ("all", "bench", "dev", "docs")}


@cache
def sources() -> dict[Path, ast.Module]:
    """Return the syntax trees of all modules, read when the first test asks."""
    return {path: ast.parse(path.read_text()) for folder in FOLDERS for path in sorted((ROOT / folder).rglob("*.py"))}


known = cache(packages_distributions)


def packages_of(module: str) -> set[str]:
    """Return the packages that bring a module."""
    return {canonicalize_name(name) for name in known().get(module, [])}


def imported() -> dict[str, set[str]]:
    """Return the modules of third parties by the file that imports them, types alone included."""
    found: dict[str, set[str]] = {}
    for path, tree in sources().items():
        for node in ast.walk(tree):
            names = [one.name for one in node.names] if isinstance(node, ast.Import) else []
            names += [node.module] if isinstance(node, ast.ImportFrom) and node.module and not node.level else []
            for top in {name.partition(".")[0] for name in names} - sys.stdlib_module_names - {"ticlm", "__future__"}:
                found.setdefault(top, set()).add(str(path.relative_to(ROOT)))
    return found


ASKS = ("Extra", "missing", "require")


def asked() -> Iterator[tuple[str, str]]:
    """Yield (extra, module) of each `Extra(name, modules)` and `require(owner, name, *modules)` in the sources."""
    for tree in sources().values():
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ASKS:
                named = node.args if node.func.id == "Extra" else node.args[1:]
                if named and isinstance(name := named[0], ast.Constant):  # not the `require` of run/driver.py
                    constants = [
                        one for module in named[1:] for one in ast.walk(module) if isinstance(one, ast.Constant)
                    ]
                    yield from ((str(name.value), str(one.value)) for one in constants)


def test_the_base_has_at_most_twenty_packages_and_no_package_of_an_extra() -> None:
    assert len(BASE) == len(PROJECT["dependencies"]) <= 20
    assert [name for name, which in OF_USE.items() if which & BASE] == []
    assert {extra for one in PROJECT["optional-dependencies"]["all"] for extra in Requirement(one).extras} == set(
        OF_USE
    )


def test_each_package_that_is_imported_is_in_the_base_or_its_extra_is_asked_for() -> None:
    guards = set(asked())
    for extra, module in guards:
        where = packages_of(module) & OF_USE[extra]
        assert where or module in ("fasttext",), f"the extra {extra} does not bring {module}"
    for module, files in imported().items():
        module = OF_EXTRAS.get(module, module)
        named = packages_of(module) or {canonicalize_name(module)}
        if named & BASE or OF_BASE.get(module) in BASE or module in NO_REQUIREMENT:
            continue
        assert [extra for extra, guarded in guards if guarded == module], f"{module} of {sorted(files)}: no extra"


def test_each_extra_is_asked_for_somewhere_and_each_of_its_packages_is_used() -> None:
    modules = {module for _, module in asked()} | {*imported()}  # some are found, and another package imports them
    used = {name for module in modules for name in packages_of(module)}
    assert set(OF_USE) - {extra for extra, _ in asked()} == set(USES)
    assert {name for extra, which in OF_USE.items() if extra not in USES for name in which} - used == set()


def with_needs(requirements: list[str]) -> set[str]:
    """Return the packages of some requirements, and all that these need in turn."""
    todo, seen = [Requirement(one) for one in requirements], set[tuple[str, str]]()
    while todo:
        one = todo.pop()
        key = canonicalize_name(one.name), str(sorted(one.extras))
        if key in seen:
            continue
        seen.add(key)
        with suppress(PackageNotFoundError):
            needs = map(Requirement, requires(one.name) or [])
            todo += [
                need
                for need in needs
                if need.marker is None or any(need.marker.evaluate({"extra": extra}) for extra in ("", *one.extras))
            ]
    return {name for name, _ in seen}


HIDE = """
import sys
from importlib.machinery import PathFinder
found = PathFinder.find_spec
def visible(name, *rest):
    spec = found(name, *rest)
    return None if name.partition(".")[0] in {names!r} and "/ray/" not in str(spec and spec.origin) else spec
PathFinder.find_spec = staticmethod(visible)
"""


def in_the_base(code: str, cwd: Path) -> str:
    """Return what code prints in a process that finds the base and what that needs, copies within Ray's folder
    included, and nothing else."""
    there = with_needs(PROJECT["dependencies"]) | {"ticlm"}
    names = {module for module in known() if not packages_of(module) & there}
    text = HIDE.format(names=names) + code
    done = subprocess.run([sys.executable, "-c", text], cwd=cwd, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_what_the_base_is_for_is_imported_without_any_extra(tmp_path: Path) -> None:
    """Building without deduplication, training, scoring, planning and reporting."""
    modules = [
        *("datasets.corpus.build", "datasets.evalsets.recipe", "platform.cli.main", "platform.cli.study"),
        *("platform.run.driver", "platform.train.trainer", "platform.report.write", "platform.tuning.ray_tune"),
    ]
    code = "".join(f"import ticlm.{name}\n" for name in modules) + "print('imported')"
    assert in_the_base(code, tmp_path) == "imported\n"


COMMANDS = {
    "data build web --set documents.paths=x.warc": "documents: kind crawl needs fastwarc: pip install 'ticlm[web]'",
    "data build constructed-probes": "examples: kind probe-construction needs bm25s: pip install 'ticlm[retrieval]'",
    "tune joint demo --search optuna": "--search optuna needs optuna: pip install 'ticlm[search]'",
    "predict demo": "predict needs SciPy: pip install 'ticlm[stats]'",
}


def test_a_command_that_needs_an_extra_says_so_in_one_line(tmp_path: Path) -> None:
    code = f"""
import os
from ticlm.platform.cli.main import main
os.dup2(1, 2)
for command in {[*COMMANDS]!r}:
    sys.argv = ["ticlm", *command.split(), "--root", "runs"]
    try: main()
    except SystemExit as end: print(end.code, flush=True)
"""
    printed = in_the_base(code, tmp_path).splitlines()
    assert printed == [line for said in COMMANDS.values() for line in (f"ticlm: {said}", "2")]
