"""Docstrings: what a Python source file says of its module, classes and functions, read without importing it."""

from __future__ import annotations

import ast
import importlib.util
import inspect
import re
import warnings
from collections.abc import Iterator, Sequence

from ticlm.datasets.codedocs.rst import BrokenPage, DocPage
from ticlm.datasets.text.charset import decoded

MOST_BYTES = 8 << 20
ATTACHED = frozenset({"add_newdoc", "add_docstr", "add_docstr_all", "add_newdoc_for_scalar_type"})
"""Calls that give a docstring to what is written in C: NumPy's and PyTorch's."""
Function = ast.FunctionDef | ast.AsyncFunctionDef
NOT_PYTHON_3 = "not Python 3"


def docstring_pages(path: str, data: bytes) -> list[DocPage]:
    """A page for the module and for each public class, method and function with a docstring, in their order: the dotted
    name, then the signature and the docstring without its indentation. BrokenPage for what Python 3 cannot parse.

    Public is what has no name with one leading underscore, modules apart: many keep there what others show. A class has
    the signature of its `__init__`. What `add_newdoc` and the like document is a page, too, without a signature.
    """
    if len(data) > MOST_BYTES:
        raise BrokenPage("too large")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(_source(data))
    except (SyntaxError, ValueError, RecursionError, MemoryError):  # ValueError: a null character
        raise BrokenPage(NOT_PYTHON_3) from None
    module = _module(path)
    found = [(module, "", _docstring(tree)), *_members(module, tree.body)]
    found += reversed(list(_attached(module, tree)))  # a docstring is given once
    pages = {name: "\n\n".join(filter(None, (signature, text))) for name, signature, text in found if text}
    return [  # of several definitions the last
        DocPage(f"{path}#{name}", name, re.sub(r"\n{3,}", "\n\n", text)) for name, text in pages.items()
    ]


def _source(data: bytes) -> str:
    """The text as Python reads it (PEP 263), or whatever its bytes look like."""
    try:
        return importlib.util.decode_source(data)
    except (SyntaxError, UnicodeDecodeError):
        return decoded(data, None, html=False)


def _module(path: str) -> str:
    """`numpy.linalg` of `numpy/linalg/__init__.py`; folders that only hold packages are no part of it."""
    names = path.rsplit(".", 1)[0].split("/")
    if names[0] in ("src", "lib", "python") and len(names) > 1:
        del names[0]
    return ".".join(names[:-1] if names[-1] == "__init__" and len(names) > 1 else names)


def _members(above: str, body: Sequence[ast.stmt]) -> Iterator[tuple[str, str, str]]:
    """(dotted name, signature, docstring) of what is defined here, in branches as well."""
    for node in body:
        match node:
            case ast.ClassDef() if _public(node.name):
                name = f"{above}.{node.name}"
                yield name, f"class {name}{_built(node)}", _docstring(node)
                yield from _members(name, node.body)
            case ast.FunctionDef() | ast.AsyncFunctionDef() if _public(node.name):
                name = f"{above}.{node.name}"
                yield name, name if _is_property(node) else f"{name}{_signature(node, False)}", _docstring(node)
            case ast.If() | ast.Try() | ast.With() | ast.For() | ast.While():
                for branch in ("body", "handlers", "orelse", "finalbody"):
                    for inner in getattr(node, branch, []):
                        yield from _members(above, inner.body if isinstance(inner, ast.ExceptHandler) else [inner])


def _public(name: str) -> bool:
    return not name.startswith("_") or (name.startswith("__") and name.endswith("__"))


def _docstring(node: ast.Module | ast.ClassDef | Function) -> str:
    text = ast.get_docstring(node)
    return "" if text is None else text.strip()


def _signature(node: Function, bound: bool) -> str:
    """`(a, b=1) -> int`; of a `bound` one without its first argument."""
    arguments = node.args
    if bound and (first := arguments.posonlyargs or arguments.args):
        del first[0]
    returns = f" -> {ast.unparse(node.returns)}" if node.returns is not None and not bound else ""
    return f"({ast.unparse(arguments)}){returns}"


def _built(node: ast.ClassDef) -> str:
    inits = [one for one in node.body if isinstance(one, ast.FunctionDef) and one.name == "__init__"]
    return _signature(inits[-1], True) if inits else ""


def _is_property(node: Function) -> bool:
    return any("property" in ast.unparse(decorator) for decorator in node.decorator_list)


def _attached(module: str, tree: ast.Module) -> Iterator[tuple[str, str, str]]:
    """Docstrings that are given by calls: (name, "", docstring)."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and ast.unparse(node.func).rsplit(".", 1)[-1] in ATTACHED:
            yield from _given(module, node.args)


def _given(module: str, arguments: Sequence[ast.expr]) -> Iterator[tuple[str, str, str]]:
    """Of `(place, name, text)`, `(place, name, (attribute, text))`, `(object, text)` or `(name, text)`."""
    *names, last = arguments or [ast.Constant("")]
    several = last.elts if isinstance(last, ast.List) else [last]
    dotted = ".".join(_name(one) for one in names if not isinstance(one, ast.List))
    for one in several:
        attribute, text = "", one
        if isinstance(one, ast.Tuple) and len(one.elts) >= 2:
            attribute, text = f".{_name(one.elts[0])}", one.elts[1]
        written = inspect.cleandoc(_text(text)).strip()
        name = f"{dotted}{attribute}" if "." in dotted else f"{module}.{dotted}{attribute}"
        if dotted and written:
            yield name, "", written


def _name(node: ast.expr) -> str:
    return str(node.value) if isinstance(node, ast.Constant) else ast.unparse(node)


def _text(node: ast.expr) -> str:
    """A text that stands in the source; parts that are computed are left out, placeholders stay."""
    match node:
        case ast.Constant(value=str(text)):
            return text
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            return _text(left) + _text(right)
        case ast.BinOp(left=left, op=ast.Mod()):
            return _text(left)
        case ast.Call(func=ast.Attribute(value=value)):
            return _text(value)
    return ""
