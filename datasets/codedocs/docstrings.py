"""Docstrings of a Python source file: of its module, classes and functions, read without importing it."""

from __future__ import annotations

import ast
import importlib.util
import inspect
import re
import warnings
from collections.abc import Iterator, Sequence

from ticlm.datasets.codedocs.rst import BrokenPage, DocPage
from ticlm.datasets.text.charset import decoded

MOST_BYTES = 8 << 20  # of a module; its syntax tree takes many times as much memory
ATTACHED = frozenset({"add_newdoc", "add_docstr", "add_docstr_all", "add_newdoc_for_scalar_type"})
"""Calls with which NumPy and PyTorch give docstrings to objects that are written in C."""
Function = ast.FunctionDef | ast.AsyncFunctionDef
NOT_PYTHON_3 = "not Python 3"


def docstring_pages(path: str, data: bytes) -> list[DocPage]:
    """Return a page for the module and for each public class, method and function with a docstring, in their order.

    The title is the dotted name; the text is the signature and the docstring without its indentation. A name with one
    leading underscore is not public, except for modules, because many projects define in `_module.py` what others show.
    A class has the signature of its `__init__`. Objects that `add_newdoc` and similar calls document are pages without
    a signature. Raises BrokenPage if Python 3 cannot parse the file.
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
    entries = [(module, "", _docstring(tree)), *_members(module, tree.body)]
    if any(name.encode() in data for name in ATTACHED):  # a look at each call of a module is half of its time
        entries += reversed(list(_attached(module, tree)))  # the first call that gives a docstring counts
    pages = {name: "\n\n".join(filter(None, (signature, text))) for name, signature, text in entries if text}
    return [  # the last of several definitions counts
        DocPage(f"{path}#{name}", name, re.sub(r"\n{3,}", "\n\n", text)) for name, text in pages.items()
    ]


def _source(data: bytes) -> str:
    """Return the text as Python decodes it (PEP 263), else with a guessed encoding."""
    try:
        return importlib.util.decode_source(data)
    except (SyntaxError, UnicodeError, LookupError):  # LookupError: a coding that is not of texts, as rot13
        return decoded(data, None, html=False)


def _module(path: str) -> str:
    """Return the module of a path: `numpy.linalg` for `numpy/linalg/__init__.py`, without folders such as `src`."""
    names = path.rsplit(".", 1)[0].split("/")
    if names[0] in ("src", "lib", "python") and len(names) > 1:
        del names[0]
    return ".".join(names[:-1] if names[-1] == "__init__" and len(names) > 1 else names)


def _members(above: str, body: Sequence[ast.stmt]) -> Iterator[tuple[str, str, str]]:
    """Yield (dotted name, signature, docstring) for each definition in a body, including those in branches."""
    for node in body:
        match node:
            case ast.ClassDef() if _public(node.name):
                name = f"{above}.{node.name}"
                yield name, f"class {name}{_init_signature(node)}", _docstring(node)
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
    """Return a signature such as `(a, b=1) -> int`; without the first argument and the return type if `bound`."""
    arguments = node.args
    if bound and (first := arguments.posonlyargs or arguments.args):
        del first[0]
    returns = f" -> {ast.unparse(node.returns)}" if node.returns is not None and not bound else ""
    return f"({ast.unparse(arguments)}){returns}"


def _init_signature(node: ast.ClassDef) -> str:
    inits = [child for child in node.body if isinstance(child, ast.FunctionDef) and child.name == "__init__"]
    return _signature(inits[-1], True) if inits else ""


def _is_property(node: Function) -> bool:
    return any("property" in ast.unparse(decorator) for decorator in node.decorator_list)


def _attached(module: str, tree: ast.Module) -> Iterator[tuple[str, str, str]]:
    """Yield (name, "", docstring) for the docstrings that are given by calls."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and ast.unparse(node.func).rsplit(".", 1)[-1] in ATTACHED:
            yield from _from_call(module, node.args)


def _from_call(module: str, arguments: Sequence[ast.expr]) -> Iterator[tuple[str, str, str]]:
    """Yield (name, "", docstring) from the arguments of a call.

    The arguments are `(module, name, text)`, `(module, name, (attribute, text))`, `(object, text)` or `(name, text)`.
    """
    *names, last = arguments or [ast.Constant("")]
    entries = last.elts if isinstance(last, ast.List) else [last]
    dotted = ".".join(_name(name) for name in names if not isinstance(name, ast.List))
    for entry in entries:
        attribute, text = "", entry
        if isinstance(entry, ast.Tuple) and len(entry.elts) >= 2:
            attribute, text = f".{_name(entry.elts[0])}", entry.elts[1]
        docstring = inspect.cleandoc(_text(text)).strip()
        name = f"{dotted}{attribute}" if "." in dotted else f"{module}.{dotted}{attribute}"
        if dotted and docstring:
            yield name, "", docstring


def _name(node: ast.expr) -> str:
    return str(node.value) if isinstance(node, ast.Constant) else ast.unparse(node)


def _text(node: ast.expr) -> str:
    """Return the text of an expression; computed parts are left out, placeholders stay."""
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
