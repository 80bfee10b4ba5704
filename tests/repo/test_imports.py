"""Who may import whom (DESIGN, section 1): read from the sources, so that a wrong import fails before it runs."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from paths import ROOT

ROOMS = ("platform", "methods", "datasets", "tune_spaces")

LIGHT = {
    f"ticlm.platform.{name}"
    for name in ("errors", "settings", "periods", "mixture", "census", "store", "lease", "rows", "shards", "examples")
}
"""What the science and the world may know of the machine."""

READ_METHODS = {f"ticlm.platform.{name}" for name in ("study", "rounds", "tasks", "outcome", "search")}
"""Modules to which a method is a value with a name and fields; to all others it is a seam."""

READ_DATASETS = {"ticlm.platform.cli.main"}
"""What builds or scores a data set."""

RAY_LIBRARIES = {
    "ray.train": {"ticlm.platform.cluster.ray_train"},
    "ray.tune": {"ticlm.platform.tuning.ray_tune", "ticlm.tune_spaces"},
    "ray.data": {"ticlm.platform.train.loader", "ticlm.datasets.io.ray_map"},
}

NO_RAY = {
    f"ticlm.platform.{name}" for name in ("chain", "round", "step", "checkpoint", "model", "plan", "order", "rounds")
}

LIGHT_TO_IMPORT = (
    *sorted(LIGHT),
    *(f"ticlm.platform.{name}" for name in ("cli", "study", "rounds", "plan", "planview", "work", "upkeep")),
    *(f"ticlm.platform.{name}" for name in ("evaluation", "outcome", "report", "driver", "cluster", "ingest")),
    *(f"ticlm.platform.{name}" for name in ("search", "selection", "trialtable", "tuning", "choice", "jobs", "lease")),
    *("ticlm.methods.catalog", "ticlm.datasets.corpus.build", "ticlm.tune_spaces.space"),
)
HEAVY = ("torch", "ray", "transformers", "datasets", "spacy", "matplotlib")


@dataclass(frozen=True)
class Import:
    """`by` imports `name`, a module; `for_types`: only under TYPE_CHECKING."""

    by: str
    name: str
    for_types: bool


def modules() -> dict[str, Path]:
    return {
        ".".join(("ticlm", *path.relative_to(ROOT).with_suffix("").parts)): path
        for room in ROOMS
        for path in sorted((ROOT / room).rglob("*.py"))
    }


MODULES = modules()


def imports_of(by: str, source: str) -> Iterator[Import]:
    """Everything `source` imports, at the top or inside functions, and the parts of `ray` it reaches for by name."""

    def visit(node: ast.AST, for_types: bool) -> Iterator[Import]:
        match node:
            case ast.If(test=ast.Name(id="TYPE_CHECKING")):
                for statement in node.body:
                    yield from visit(statement, True)
                for statement in node.orelse:
                    yield from visit(statement, for_types)
                return
            case ast.Import():
                for alias in node.names:
                    yield Import(by, alias.name, for_types)
            case ast.ImportFrom():
                assert node.level == 0 and node.module is not None, f"{by}: imports are written in full"
                for alias in node.names:
                    whole = f"{node.module}.{alias.name}"
                    is_module = whole in MODULES or whole in RAY_LIBRARIES or node.module == "ticlm"
                    yield Import(by, whole if is_module else node.module, for_types)
            case ast.Attribute(value=ast.Name(id="ray")) if f"ray.{node.attr}" in RAY_LIBRARIES:
                yield Import(by, f"ray.{node.attr}", for_types)
        for child in ast.iter_child_nodes(node):
            yield from visit(child, for_types)

    yield from visit(ast.parse(source), False)


IMPORTS = [found for by, path in MODULES.items() for found in imports_of(by, path.read_text())]
OURS = [found for found in IMPORTS if found.name.split(".")[0] == "ticlm"]


def room(module: str) -> str:
    return module.split(".")[1] if "." in module else ""


def within(name: str, package: str) -> bool:
    return name == package or name.startswith(f"{package}.")


def shown(found: list[Import]) -> list[str]:
    return sorted({f"{i.by} imports {i.name}" for i in found})


def test_the_sources_were_found_and_read() -> None:
    """The other tests would pass on an empty list."""
    assert {room(module) for module in MODULES} >= set(ROOMS)
    assert Import("ticlm.platform.cluster.ray_train", "ray.train", False) in IMPORTS
    assert Import("ticlm.platform.study.settings", "ticlm.methods.method", False) in IMPORTS
    assert Import("ticlm.methods.optimizers", "torch", True) in IMPORTS


def test_a_reach_for_ray_by_name_is_an_import_too() -> None:
    source = "def f():\n    import ray\n    from ray import tune\n    return ray.data.range(3)\n"
    assert {i.name for i in imports_of("here", source)} == {"ray", "ray.tune", "ray.data"}


def test_every_module_of_ours_that_is_imported_exists() -> None:
    assert shown([i for i in OURS if i.name not in MODULES and i.name != "ticlm"]) == []


def test_methods_know_only_the_light_modules_of_the_platform() -> None:
    theirs = [i for i in OURS if room(i.by) == "methods" and room(i.name) != "methods"]
    assert shown([i for i in theirs if i.name not in LIGHT]) == []


def test_datasets_know_only_the_light_modules_of_the_platform() -> None:
    theirs = [i for i in OURS if room(i.by) == "datasets" and room(i.name) != "datasets"]
    assert shown([i for i in theirs if i.name not in LIGHT]) == []


def test_spaces_know_methods_and_the_light_modules_of_the_platform() -> None:
    theirs = [i for i in OURS if room(i.by) == "tune_spaces" and room(i.name) not in ("tune_spaces", "methods")]
    assert shown([i for i in theirs if i.name not in LIGHT]) == []


def test_light_modules_know_only_each_other() -> None:
    assert shown([i for i in OURS if i.by in LIGHT and i.name not in LIGHT]) == []


def test_few_modules_read_what_a_method_is_made_of() -> None:
    """The others take its parts through the seams, so that a new method is not their business."""
    readers = [i for i in OURS if room(i.by) == "platform" and room(i.name) == "methods" and not i.for_types]
    assert shown([i for i in readers if i.name != "ticlm.methods.seams" and i.by not in READ_METHODS]) == []


def test_the_platform_reaches_for_datasets_only_where_they_are_built_or_scored() -> None:
    readers = [i for i in OURS if room(i.by) == "platform" and room(i.name) == "datasets"]
    assert shown([i for i in readers if i.by not in READ_DATASETS]) == []


@pytest.mark.parametrize("library", RAY_LIBRARIES)
def test_each_library_of_ray_stands_in_its_place(library: str) -> None:
    places = RAY_LIBRARIES[library]
    users = [i for i in IMPORTS if within(i.name, library)]
    assert shown([i for i in users if not any(within(i.by, place) for place in places)]) == []


def test_the_science_and_a_round_of_training_know_no_ray() -> None:
    without = [i for i in IMPORTS if room(i.by) == "methods" or i.by in NO_RAY]
    assert shown([i for i in without if within(i.name, "ray")]) == []


def test_our_folders_are_always_imported_as_ticlm() -> None:
    """From the root `import methods.replay` works too, and makes a second copy of every class."""
    bare = {module.removeprefix("ticlm.") for module in MODULES} | {"methods", "tune_spaces"}
    tests = [i for path in sorted((ROOT / "tests").glob("*.py")) for i in imports_of(path.stem, path.read_text())]
    assert shown([i for i in (*IMPORTS, *tests) if i.name in bare]) == []


def test_there_are_no_circles() -> None:
    """Not even through imports inside functions: those hide a circle, they do not remove it."""
    graph = {module: {i.name for i in OURS if i.by == module and not i.for_types} for module in MODULES}
    left = dict(graph)
    while ends := [module for module, names in left.items() if not names & left.keys()]:
        for module in ends:
            del left[module]
    assert sorted(left) == []


def test_importing_is_cheap() -> None:
    code = (
        "import importlib, sys\n"
        f"for module in {LIGHT_TO_IMPORT!r}:\n"
        "    importlib.import_module(module)\n"
        f"    heavy = [name for name in {HEAVY!r} if name in sys.modules]\n"
        "    if heavy:\n"
        "        sys.exit(f'{module} loads {heavy}')\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
