"""What is loaded from a folder or a hub is data: no call of transformers may run code that lies there, unless the user
named the commit of a hub whose code it is."""

from __future__ import annotations

import ast
from collections.abc import Iterator

import pytest
from paths import ROOT

ROOMS = ("core", "platform", "datasets", "methods", "tune_spaces", "benchmarks", "examples")
LOADERS = ("from_pretrained", "from_config")


def loads(tree: ast.Module) -> Iterator[ast.Call]:
    """The calls of a module that load what a folder or a configuration describes: methods of the Auto classes and of
    models, and `pipeline` where the module imports it from transformers."""
    shortcuts = {
        name.asname or name.name
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] == "transformers"
        for name in node.names
        if name.name == "pipeline"
    }
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call):
            continue
        called = node.func
        if isinstance(called, ast.Attribute):
            # build.from_config is our own, which says it to transformers
            own = isinstance(called.value, ast.Name) and called.value.id == "build"
            library = isinstance(called.value, ast.Name) and called.value.id == "transformers"
            if (called.attr in LOADERS and not own) or (called.attr == "pipeline" and library):
                yield node
        elif isinstance(called, ast.Name) and called.id in shortcuts:
            yield node


def refuses_code(call: ast.Call) -> bool:
    said = [word.value for word in call.keywords if word.arg == "trust_remote_code"]
    return len(said) == 1 and ast.unparse(said[0]) in ("False", f"hub.trusted({ast.unparse(call.args[0])})")


def test_every_call_that_loads_a_folder_refuses_its_code() -> None:
    found = {
        f"{path.relative_to(ROOT)}:{call.lineno}": refuses_code(call)
        for room in ROOMS
        for path in sorted((ROOT / room).rglob("*.py"))
        for call in loads(ast.parse(path.read_text()))
    }
    assert len(found) >= 10, "the calls are looked for in the wrong way"
    assert [place for place, refused in found.items() if not refused] == []


@pytest.mark.parametrize(
    "line",
    [
        "AutoModel.from_pretrained(folder)",
        "AutoModel.from_pretrained(folder, trust_remote_code=True)",
        "AutoModel.from_pretrained(folder, trust_remote_code=trusted)",
        "AutoModel.from_pretrained(folder, trust_remote_code=hub.trusted(other))",
        "AutoConfig.from_config(made, **how)",
        "transformers.pipeline('text-generation', folder)",
        "from transformers import pipeline as made\nmade('text-generation')",
    ],
)
def test_a_call_that_does_not_refuse_is_seen(line: str) -> None:
    assert [refuses_code(call) for call in loads(ast.parse(line))] == [False]


def test_pipelines_of_other_libraries_are_left_alone() -> None:
    assert list(loads(ast.parse("from spacy import pipeline\npipeline('It is.')\nbuild.from_config(made)"))) == []


def test_models_come_from_the_hub_through_one_file() -> None:
    """The others read data sets, log in, and publish: they load nothing that has code."""
    found = {
        str(path.relative_to(ROOT))
        for room in ROOMS
        for path in (ROOT / room).rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        if (isinstance(node, ast.ImportFrom) and (node.module or "").startswith("huggingface_hub"))
        or (isinstance(node, ast.Import) and any(one.name.startswith("huggingface_hub") for one in node.names))
    }
    publishing = {f"platform/publish/places/{name}.py" for name in ("hub_faults", "hub_repository")}
    assert found == {"core/hub.py", "datasets/hub/repository.py", "datasets/io/http_requests.py"} | publishing
