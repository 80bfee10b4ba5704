"""What is not public API of Ray stands in one file, so that a new Ray is tried by the tests of that file."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

import pytest
from paths import ROOT

INTERNALS = ROOT / "platform/cluster/ray_internals.py"
SOURCES = sorted(
    path for room in ("core", "platform", "datasets", "methods", "tune_spaces") for path in (ROOT / room).rglob("*.py")
)
PRIVATE_MODULES = re.compile(r"ray(\.\w+)*\.(_\w+|impl)\b")
HIDDEN_ATTRIBUTES = ("health_check_failure", "get_reserved_resources", "abort", "current_actor")
"""Of Ray's objects, without an underscore, but not documented either."""
DOCUMENTED_VARIABLES = {
    "RAY_TMPDIR",
    *("RAY_ADDRESS", "RAY_API_SERVER_ADDRESS"),
    *("RAY_AUTH_MODE", "RAY_AUTH_TOKEN", "RAY_AUTH_TOKEN_PATH"),
}


def internals(source: str) -> Iterator[str]:
    """Yield what a module takes from Ray that is not public: modules, attributes, undocumented variables."""
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Import(names=names):
                yield from (name.name for name in names if PRIVATE_MODULES.fullmatch(name.name))
            case ast.ImportFrom(module=str(module), names=names) if module.split(".")[0] == "ray":
                whole = [f"{module}.{name.name}" for name in names]
                yield from (name for name in whole if PRIVATE_MODULES.match(name))
            case ast.Attribute(value=ast.Name(id="ray_internals")):
                continue
            case ast.Attribute(attr=attr) if attr in HIDDEN_ATTRIBUTES:
                yield attr
            case ast.Attribute() if PRIVATE_MODULES.fullmatch(ast.unparse(node)):
                yield ast.unparse(node)
            case ast.Constant(value=str(text)):
                variables = set(re.findall(r"\b(?:RAY|TUNE)_[A-Z_]+\b", text))
                yield from sorted(variables - DOCUMENTED_VARIABLES)
                yield from re.findall(r"\bray\.(?:dashboard|_private)[\w.]*", text)


@pytest.mark.parametrize(
    "source",
    [
        "import ray\nray._private.state.state.get_draining_nodes()",
        "from ray._private import state",
        "import ray._raylet",
        "from ray.train.v2._internal.execution import callback",
        "from ray.tune.impl import tuner_internal",
        "os.environ['RAY_TRAIN_METRICS_ENABLED'] = '0'",
        "ray.get(controller.abort.remote())",
        "logging.getLogger('ray._private.worker')",
    ],
)
def test_what_is_not_public_is_recognised(source: str) -> None:
    assert list(internals(source))


def test_only_one_file_uses_what_is_not_public_of_ray() -> None:
    assert list(internals(INTERNALS.read_text())), "nothing is found even there"
    others = [path for path in SOURCES if path != INTERNALS]
    assert {str(path): found for path in others if (found := sorted(set(internals(path.read_text()))))} == {}
