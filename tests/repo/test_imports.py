"""Who may import whom: read from the sources, so that a wrong import fails before it runs."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest
from paths import ROOT

ROOMS = ("core", "platform", "methods", "datasets", "tune_spaces")

LAYERS = (
    "core",
    "methods",
    "tune_spaces",
    "datasets.io datasets.text datasets.llm",
    "datasets.web datasets.hub datasets.examples datasets.codedocs datasets.synthetic datasets.dedup datasets.pairs "
    "datasets.lint",
    "datasets.filters datasets.news datasets.wiki datasets.stackexchange datasets.lama datasets.probes datasets.kilt "
    "datasets.packages",
    "datasets.generation datasets.retrieval",
    "datasets.corpus datasets.wikidata",
    "datasets.evalsets",
    "platform.tasks platform.models",
    "platform.study",
    "platform.eval platform.train",
    "platform.results platform.cluster",
    "platform.analysis platform.run",
    "platform.chaos platform.display platform.forecast",
    "platform.papers platform.tuning",
    "platform.report platform.proposal",
    "platform.publish",
    "platform.verify",
    "platform.cli platform.notebook",
)
"""The packages from the ground up. One imports those of lower floors, never those of its own or a higher one."""

FLOORS = {package: floor for floor, packages in enumerate(LAYERS) for package in packages.split()}

RAY_LIBRARIES = {
    "ray.train": {
        *("ticlm.platform.cluster.group", "ticlm.platform.cluster.slot_worker", "ticlm.platform.cluster.slot_jobs"),
        "ticlm.platform.cluster.ray_internals",
    },
    "ray.tune": {"ticlm.platform.tuning.ray_tune", "ticlm.platform.tuning.callbacks", "ticlm.tune_spaces"},
    "ray.data": {"ticlm.platform.train.loader", "ticlm.datasets.io.ray_map"},
}

NO_RAY = ("ticlm.methods", "ticlm.platform.models", "ticlm.platform.study", "ticlm.platform.tasks")
"""Training knows Ray in its loader alone."""

READ_METHODS = (
    "ticlm.platform.results.of_plan",
    "ticlm.platform.cli.reference",
    "ticlm.platform.study",
    "ticlm.platform.tasks",
    "ticlm.platform.models",
    "ticlm.platform.tuning",
    "ticlm.platform.publish",
)
"""Packages to which a method is a value with fields; to all others it is a seam."""

LIGHT_TO_IMPORT = tuple(
    f"ticlm.{name}"
    for name in (
        *("core.settings", "core.store", "core.corpus", "core.examples"),
        *("core.lease", "methods.catalog", "methods.objectives", "tune_spaces.space"),
        *("datasets.corpus.build", "datasets.evalsets.recipe"),
        *("platform.tasks.union", "platform.models.settings"),
        *("platform.study.settings", "platform.study.tree", "platform.study.plan", "platform.study.work"),
        *("platform.eval.cells", "platform.eval.fanout", "platform.tasks.cells.kept", "platform.train.loader"),
        *("platform.results.of_plan", "platform.results.study_result", "platform.cluster.slots"),
        *(
            "platform.cluster.job",
            "platform.cluster.jobs",
            "platform.report.write",
            "platform.run.driver",
            "platform.run.cleanup",
        ),
        *("platform.tuning.search", "platform.tuning.selection", "platform.tuning.outcome", "platform.cli.main"),
    )
)
HEAVY = ("torch", "ray", "transformers", "datasets", "spacy", "quickjs")


@dataclass(frozen=True)
class Import:
    """`by` imports `name`, a module; `for_types`: only under TYPE_CHECKING."""

    by: str
    name: str
    for_types: bool


def modules() -> dict[str, Path]:
    return {
        ".".join(("ticlm", *path.relative_to(ROOT).with_suffix("").parts)).removesuffix(".__init__"): path
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


@cache
def imports() -> list[Import]:
    """Return all imports, read when the first test asks: every process that collects tests loads this module."""
    return [found for by, path in MODULES.items() for found in imports_of(by, path.read_text())]


@cache
def ours() -> list[Import]:
    """Return the imports of this package."""
    return [found for found in imports() if found.name.split(".")[0] == "ticlm"]


def room(module: str) -> str:
    return module.split(".")[1] if "." in module else ""


def within(name: str, package: str) -> bool:
    return name == package or name.startswith(f"{package}.")


def within_any(name: str, packages: Iterable[str]) -> bool:
    return any(within(name, package) for package in packages)


def shown(found: list[Import]) -> list[str]:
    return sorted({f"{i.by} imports {i.name}" for i in found})


def package(module: str) -> str:
    """Return the package of a module: `platform.study`, `datasets.io`, …; the other rooms are one package each."""
    parts = module.removeprefix("ticlm.").split(".")
    if parts[0] in ("core", "methods", "tune_spaces"):
        return parts[0]
    return "platform.cli" if parts[1:] == ["__main__"] else ".".join(parts[:2])


def may_import(by: str, name: str) -> bool:
    """Whether a module of the package `by` may import one of the package `name`."""
    if by == name or name == "core":
        return True
    if by.startswith(("methods", "tune_spaces", "datasets")):
        sciences = name.split(".")[0] == by.split(".")[0] or (by, name) == ("tune_spaces", "methods")
        return sciences and FLOORS[name] < FLOORS[by]
    return FLOORS[name] < FLOORS[by]


def test_the_sources_were_found_and_read() -> None:
    """The other tests would pass on an empty list."""
    assert {package(module) for module in MODULES if module.count(".") > 1} == set(FLOORS)
    assert Import("ticlm.platform.cluster.group", "ray.train", False) in imports()
    assert Import("ticlm.platform.study.settings", "ticlm.methods.method", False) in imports()
    assert Import("ticlm.methods.optimizers", "torch", True) in imports()


def test_a_reach_for_ray_by_name_is_an_import_too() -> None:
    source = "def f():\n    import ray\n    from ray import tune\n    return ray.data.range(3)\n"
    assert {i.name for i in imports_of("here", source)} == {"ray", "ray.tune", "ray.data"}


def test_every_module_of_ours_that_is_imported_exists() -> None:
    assert shown([i for i in ours() if i.name not in MODULES and i.name != "ticlm"]) == []


def test_no_package_imports_one_of_its_own_floor_or_above() -> None:
    """Imports under TYPE_CHECKING count: they hide a circle, they do not remove it."""
    assert shown([i for i in ours() if i.name != "ticlm" and not may_import(package(i.by), package(i.name))]) == []


def test_the_platform_is_known_to_no_other_room() -> None:
    theirs = [i for i in ours() if room(i.by) != "platform" and room(i.name) == "platform"]
    assert shown(theirs) == []


def test_few_packages_read_what_a_method_is_made_of() -> None:
    """The others take its parts through the seams, so that a new method is not their business."""
    seams = ("ticlm.methods.seams", "ticlm.methods.timeline", "ticlm.methods.objectives")
    readers = [i for i in ours() if room(i.by) == "platform" and room(i.name) == "methods" and i.name not in seams]
    assert shown([i for i in readers if not within_any(i.by, READ_METHODS)]) == []


@pytest.mark.parametrize("library", RAY_LIBRARIES)
def test_each_library_of_ray_stands_in_its_place(library: str) -> None:
    users = [i for i in imports() if within(i.name, library)]
    assert shown([i for i in users if not within_any(i.by, RAY_LIBRARIES[library])]) == []


def test_the_science_and_a_round_of_training_know_no_ray() -> None:
    training = [i for i in imports() if within(i.by, "ticlm.platform.train") and i.by != "ticlm.platform.train.loader"]
    without = [i for i in imports() if within_any(i.by, NO_RAY)] + training
    assert shown([i for i in without if within(i.name, "ray")]) == []


@pytest.mark.parametrize("face", [path for path in MODULES.values() if path.name == "__init__.py"], ids=str)
def test_the_face_of_a_package_is_a_docstring_of_a_few_lines(face: Path) -> None:
    """What lives here, how the parts fit, where to start; no re-exports."""
    tree = ast.parse(face.read_text())
    assert len(tree.body) == 1 and ast.get_docstring(tree), f"{face}: a docstring, and nothing else"
    assert 5 <= len((ast.get_docstring(tree) or "").splitlines()) <= 10


def test_no_folder_is_a_heap_and_no_file_or_function_holds_two_ideas() -> None:
    sources = [*MODULES.values(), *(ROOT / "benchmarks").rglob("*.py")]
    folders = Counter(path.parent for path in sources if path.name != "__init__.py")
    assert {str(folder): files for folder, files in folders.items() if files > 20} == {}
    assert {str(path): lines for path in sources if (lines := path.read_text().count("\n")) > 300} == {}
    # no tree is kept: the collector would walk through a million nodes again and again
    long = [
        f"{path}: {node.name}"
        for path in sources
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and _lines(node) > 60
    ]
    assert long == []


def _lines(node: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    assert node.end_lineno is not None
    return node.end_lineno - node.lineno + 1


def test_our_folders_are_always_imported_as_ticlm() -> None:
    """From the root `import methods.replay` works too, and makes a second copy of every class."""
    bare = {module.removeprefix("ticlm.") for module in MODULES} | {"methods", "tune_spaces"}
    tests = [i for path in sorted((ROOT / "tests").rglob("*.py")) for i in imports_of(path.stem, path.read_text())]
    assert shown([i for i in (*imports(), *tests) if i.name in bare]) == []


def test_there_are_no_circles() -> None:
    """Not even through imports inside functions: those hide a circle, they do not remove it."""
    graph = {module: {i.name for i in ours() if i.by == module} for module in MODULES}
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
