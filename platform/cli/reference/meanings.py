"""The meaning of each key of settings: the docstring under its field."""

from __future__ import annotations

import ast
import inspect
import sys
from functools import cache

from pydantic import BaseModel


@cache
def meanings(kind: type[BaseModel]) -> dict[str, str]:
    """Return the docstring under each field of a class of settings, also under those that it inherits, by field. A
    field without one is left out; `kind` is explained by the docstring of the class.

    pydantic would read them too (`use_attribute_docstrings`), but for every class whenever it is imported.
    """
    found: dict[str, str] = {}
    for base in reversed(kind.__mro__):
        if issubclass(base, BaseModel) and base is not BaseModel:
            found |= _documented(base.__module__).get(base.__qualname__, {})
    return {name: " ".join(found[name].split()) for name in kind.model_fields if name in found}


def summary(kind: type) -> str:
    """Return the first paragraph of a class's docstring, in one line."""
    return " ".join((inspect.getdoc(kind) or "").partition("\n\n")[0].split())


def whole(kind: type) -> str:
    """Return a class's docstring with one line for each paragraph."""
    return "\n\n".join(" ".join(part.split()) for part in (inspect.getdoc(kind) or "").split("\n\n"))


@cache
def _documented(module: str) -> dict[str, dict[str, str]]:
    """Return the docstrings under the fields of every class of a module, by class and field."""
    try:
        tree = ast.parse(inspect.getsource(sys.modules[module]))
    except (OSError, KeyError):  # typed into an interpreter
        return {}
    classes = [node for node in tree.body if isinstance(node, ast.ClassDef)]
    return {node.name: _under_fields(node) for node in classes}


def _under_fields(node: ast.ClassDef) -> dict[str, str]:
    found = {}
    for field, text in zip(node.body, node.body[1:]):
        match field, text:
            case ast.AnnAssign(target=ast.Name(id=name)), ast.Expr(value=ast.Constant(value=str(said))):
                found[name] = said
    return found
