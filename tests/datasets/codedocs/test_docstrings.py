"""Docstrings, read off the source."""

from __future__ import annotations

import textwrap

import pytest

from ticlm.datasets.codedocs.docstrings import docstring_pages
from ticlm.datasets.codedocs.rst import BrokenPage


def pages(source: str | bytes, path: str = "toy/sums.py") -> dict[str, str]:
    data = textwrap.dedent(source).encode() if isinstance(source, str) else source
    return {page.title: page.text for page in docstring_pages(path, data)}


def test_a_page_is_the_signature_and_the_docstring_without_its_indentation() -> None:
    found = pages('''
        """Sums."""

        def add(a, b: int = 2, *rest, out=None) -> int:
            """Add.

            Parameters
            ----------
            a : int
                One of them.
            """

        class Box(list):
            """A box."""

            def __init__(self, size=3):
                pass

            @property
            def size(self):
                """How large."""

            async def grow(self, by):
                """Make it larger."""
    ''')
    assert found == {
        "toy.sums": "Sums.",
        "toy.sums.add": "toy.sums.add(a, b: int=2, *rest, out=None) -> int\n\n"
        "Add.\n\nParameters\n----------\na : int\n    One of them.",
        "toy.sums.Box": "class toy.sums.Box(size=3)\n\nA box.",
        "toy.sums.Box.size": "toy.sums.Box.size\n\nHow large.",
        "toy.sums.Box.grow": "toy.sums.Box.grow(self, by)\n\nMake it larger.",
    }


def test_private_names_and_those_without_docstring_have_no_page() -> None:
    found = pages('''
        def _hidden():
            """No."""
        def silent():
            pass
        class _Hidden:
            """No."""
            def shown(self):
                """No."""
        class Shown:
            def __add__(self, other):
                """Yes."""
    ''')
    assert list(found) == ["toy.sums.Shown.__add__"]


def test_definitions_in_branches_count_and_of_several_the_last() -> None:
    found = pages('''
        try:
            def f():
                """First."""
        except ImportError:
            def f():
                """Second."""
        if True:
            class C:
                """In a branch."""
    ''')
    assert found == {"toy.sums.f": "toy.sums.f()\n\nSecond.", "toy.sums.C": "class toy.sums.C\n\nIn a branch."}


def test_docstrings_that_calls_attach_are_pages() -> None:
    found = pages('''
        add_newdoc('numpy.core.multiarray', 'zeros', """
            zeros(shape)

            Return zeros.
            """)
        add_newdoc('numpy.core.multiarray', 'ndarray', ('dot', """Multiply."""))
        add_newdoc('numpy.core.multiarray', 'dtype', [('kind', "A letter."), ('num', "A number.")])
        add_docstr(torch.abs, r"""abs(input) {out}""".format(**common) + "\\nMore.")
        add_docstr_all('abs_', "In place.")
        add_newdoc('place', 'computed', template)
    ''')
    assert found == {
        "numpy.core.multiarray.zeros": "zeros(shape)\n\nReturn zeros.",
        "numpy.core.multiarray.ndarray.dot": "Multiply.",
        "numpy.core.multiarray.dtype.kind": "A letter.",
        "numpy.core.multiarray.dtype.num": "A number.",
        "torch.abs": "abs(input) {out}\nMore.",
        "toy.sums.abs_": "In place.",
    }


@pytest.mark.parametrize(
    ("path", "module"),
    [
        ("toy/__init__.py", "toy"),
        ("toy/linalg/__init__.py", "toy.linalg"),
        ("src/toy/sums.py", "toy.sums"),
        ("sums.py", "sums"),
    ],
)
def test_a_module_is_named_by_where_it_lies(path: str, module: str) -> None:
    assert list(pages('"""Doc."""', path)) == [module]


@pytest.mark.parametrize("source", [b"print 'two'\n", b"def f(:\n", b"x = 1\0", b"(" * 5000])
def test_what_python_3_cannot_parse_is_said(source: bytes) -> None:
    with pytest.raises(BrokenPage, match="not Python 3"):
        pages(source)


def test_a_source_is_decoded_as_python_does_or_by_what_it_looks_like() -> None:
    assert pages('# -*- coding: latin-1 -*-\n"""Grüße."""\n'.encode("latin-1")) == {"toy.sums": "Grüße."}
    assert pages('"""Grüße aus Köln, schöne Straße."""\n'.encode("cp1252")) == {
        "toy.sums": "Grüße aus Köln, schöne Straße."
    }
    assert pages('\ufeff"""Grüße."""\r\n'.encode()) == {"toy.sums": "Grüße."}


def test_a_bad_escape_is_no_warning() -> None:
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert pages(b'"""A \\d digit."""') == {"toy.sums": "A \\d digit."}


@pytest.mark.parametrize("coding", ["rot13", "base64", "undefined", "no-such-coding", "hex", "idna"])
def test_a_coding_that_is_none_of_texts_is_guessed(coding: str) -> None:
    assert pages(f'# -*- coding: {coding} -*-\n"""Sums."""\n') == {"toy.sums": "Sums."}
