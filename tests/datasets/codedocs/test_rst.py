"""reStructuredText to plain text: what a reader of the built page would read, and nothing that only Sphinx does."""

from __future__ import annotations

import textwrap

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ticlm.datasets.codedocs.rst import COSTLY, BrokenPage, rst_page


def text(source: str, version: str = "1.2") -> str:
    return rst_page("a.rst", textwrap.dedent(source), version).text


def test_the_title_is_the_first_heading_or_the_files_name() -> None:
    page = rst_page("user/guide.rst", "A *guide*\n=========\n\nWords.\n\nMore\n----\n\nOther words.\n")
    assert (page.title, page.text) == ("A guide", "Words.\n\nMore\n\nOther words.")
    assert rst_page("user/guide.rst.txt", "Words.").title == "guide"


def test_a_role_shows_its_text() -> None:
    assert text(
        ":func:`numpy.zeros` and :func:`~numpy.ma.zeros`, :ref:`this <label>`, :new-role:`that`, `default`, :pep:`8`"
    ) == ("numpy.zeros and zeros, this, that, default, PEP 8")
    assert text(r"a formula, :math:`\alpha + 1`") == r"a formula, \alpha + 1"


def test_a_reference_that_leads_to_another_file_shows_its_words() -> None:
    assert text("See `the manual`_, it_ and [1]_.\n\n.. [1] A footnote.") == (
        "See the manual, it and [1].\n\n[1] A footnote."
    )


@pytest.mark.parametrize(
    ("source", "shown"),
    [
        (".. function:: add(a, b=2)\n\n   Add *two*.\n", "add(a, b=2)\n\nAdd two."),
        (".. c:function:: int f(int a, \\\n                    int b)\n\n   In C.\n", "int f(int a, int b)\n\nIn C."),
        (".. note:: Take care.\n", "Note: Take care."),
        (".. seealso::\n\n   :func:`add`\n", "See also:\n\nadd"),
        (".. versionadded:: 1.1\n", "New in version 1.1."),
        (".. versionchanged:: 1.1\n   Faster.\n", "Changed in version 1.1: Faster."),
        (".. deprecated:: 1.1 Use ``b``.\n", "Deprecated since version 1.1: Use b."),
        (".. code-block:: python\n   :emphasize-lines: 2\n\n   x = [1,\n        2]\n", "x = [1,\n     2]"),
        (".. math:: e = 1\n   :label: one\n", "e = 1"),
        (".. only:: html\n\n   Shown.\n", "Shown."),
        (".. autosummary::\n   :toctree: generated/\n\n   add\n   sub\n", "add\nsub"),
        (".. automodule:: a.b\n   :members:\n", "a.b"),
        (".. never-heard-of:: An argument\n   :option: x\n\n   With *content*.\n", "An argument\n\nWith content."),
        (".. figure:: a.png\n   :scale: 50\n\n   What it shows.\n", "What it shows."),
    ],
)
def test_a_directive_shows_what_its_page_would(source: str, shown: str) -> None:
    assert text(source) == shown


@pytest.mark.parametrize(
    "source",
    [
        ".. toctree::\n   :maxdepth: 2\n\n   user/guide\n",
        ".. include:: /etc/passwd\n",
        ".. literalinclude:: /etc/passwd\n",
        ".. raw:: html\n\n   <b>no</b>\n",
        ".. currentmodule:: numpy\n",
        ".. index:: single: word\n",
        ".. a comment\n",
        ".. _label:\n",
        ".. image:: a.png\n",
    ],
)
def test_what_a_reader_never_sees_is_left_out_and_no_file_is_opened(source: str) -> None:
    assert text(f"Before.\n\n{source}\nAfter.\n") == "Before.\n\nAfter."


def test_a_table_does_not_fetch_a_file() -> None:
    assert "root:" not in text(".. csv-table::\n   :file: /etc/passwd\n")


def test_blocks_keep_their_shape() -> None:
    source = """
        * one
        * two
          goes on

          >>> 1 + 1
          2

        3. third
        4. fourth

        term : kind
            What it
            means.

        :field: its body

        ====  =====
        name  value
        ====  =====
        a     1
        ====  =====

        | a line
        | another
    """
    assert text(source) == (
        "- one\n- two goes on\n\n  >>> 1 + 1\n  2\n\n3. third\n4. fourth\n\nterm : kind\n    What it means.\n\n"
        "field: its body\n\nname | value\na | 1\n\na line\nanother"
    )


def test_the_version_stands_where_the_page_asks_for_it() -> None:
    assert text("This is |version|.", "1.13.0") == "This is 1.13.0."


@pytest.mark.parametrize("end", ["It ends like this::\n", "..", ".. note::", "- a list\n\n  with more", "  indented"])
def test_the_version_stands_however_a_page_ends_or_begins(end: str) -> None:
    page = rst_page("a.rst", f"Title\n=====\n\nThis is |version|.\n\n{end}", "1.13.0")
    assert page.title == "Title" and page.text.startswith("This is 1.13.0.") and "replace" not in page.text
    begun = rst_page("a.rst", f"{end}\n\nThis is |release|.\n", "1.13.0").text
    plain = rst_page("a.rst", f"{end}\n\nThis is 1.13.0.\n", "1.13.0").text
    assert begun == plain and "1.13.0" in plain


def test_a_version_of_the_pages_own_stands() -> None:
    own = "*beta*\n\n.. |version| replace:: mine\n\n|version| of |release|"
    assert text(own, "1.13.0") == "beta\n\nmine of 1.13.0"


def test_broken_markup_stays_as_it_is_written_and_says_nothing_of_errors() -> None:
    shown = text("Title\n===\n\nAn *open word, a ``literal, `and more.\n\n    too deep\n  not deep\n")
    assert "open word" in shown and "too deep" in shown and "not deep" in shown
    assert "System Message" not in shown and "Unexpected" not in shown


def test_docutils_is_as_it_was_afterwards() -> None:
    from docutils.parsers.rst import directives, roles

    before = (directives.directive, roles.role)
    text(".. never-heard-of:: x\n\n:role:`x`")
    assert (directives.directive, roles.role) == before


@given(st.lists(st.lists(st.sampled_from(["abc", "def", "ghi", "12"]), min_size=1), min_size=1))
def test_no_word_of_plain_paragraphs_is_lost(paragraphs: list[list[str]]) -> None:
    lines = ["x " + " ".join(words) for words in paragraphs]  # a number alone could begin a list
    assert text("\n\n".join(lines)) == "\n\n".join(lines)


@pytest.mark.parametrize(
    "markup",
    [
        "**a ",
        "*a ",
        "``a ",
        "`a ",
        "|a ",
        "_`a ",
        '"**a ',
        ":r:`a ",
        "*a*b ",
        "a_ ",
        "|a| ",
        "[#a]_ ",
        "`a`_ ",
        "aa",
        "+-",
    ],
)
def test_markup_that_would_take_the_parser_hours_is_refused(markup: str) -> None:
    with pytest.raises(BrokenPage, match=COSTLY):
        rst_page("a", markup * 100_000)


@pytest.mark.parametrize("wide, text", [(10, "x"), (2, "x" * 300_000)])
def test_substitutions_within_substitutions_are_bounded(wide: int, text: str) -> None:
    """Eleven levels of ten would be ten thousand million."""
    levels = [f".. |a{n}| replace:: {f'|a{n - 1}| ' * wide}" for n in range(1, 12)]
    bomb = "\n".join([f".. |a0| replace:: {' '.join(text[at : at + 99] for at in range(0, len(text), 99))}", *levels])
    with pytest.raises(BrokenPage, match=COSTLY):
        rst_page("a", f"{bomb}\n\n|a11|\n")


def test_substitutions_of_a_page_are_made_also_within_others_and_a_circle_is_left() -> None:
    page = ".. |a| replace:: one\n.. |b| replace:: |a| two\n.. |c| replace:: |c| x\n\nIt is |B| and |a|.\n\nA |c|.\n"
    assert "It is one two and one.\n\nA |c|." in rst_page("a", page).text
    assert len(rst_page("a", ".. |a| replace:: b\n\n" + "|a| and\n\n" * 1000).text.split()) == 2000
