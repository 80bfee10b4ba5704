"""Wikitext: what a reader sees of a page, and nothing of how it was written."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ticlm.datasets.wiki.wikitext import COSTLY, FAILED, Unparsable, paragraphs

PAGE = """{{Infobox country
| name = Aba
| area = {{convert|5|km2}}
}}
[[File:Aba.svg|thumb|The [[flag]] of Aba]]
'''Aba''' ({{IPA|ˈaba}}; born&nbsp;1901) is a [[Country#Kinds|country]] in [[Europe]].<ref>{{c|x}}</ref><ref name=b />
It is ''small'' &amp; old.<!-- true --> See [http://aba.ab its site] [http://aba.ab/2].

== History ==
* First [[item]]
# '''Second''' item
; Term : what it means
{| class="wikitable"
! A !! B
|-
| 1 || 2
|}
A [[:Category:Lands|list]] and [[wikt:land]].<br />After a break. H<sub>2</sub>O, <math>x^2</math>.
<gallery>
File:A.jpg|A picture
</gallery>
__NOTOC__
[[Category:Countries]]
[[fr:Aba]]
"""


def test_only_what_a_reader_sees_is_left() -> None:
    assert paragraphs(PAGE) == [
        "Aba (born 1901) is a country in Europe.",
        "It is small & old. See its site.",
        "First item",
        "Second item",
        "Term what it means",
        "A list and wikt:land.",
        "After a break. H2O,.",
    ]


def test_items_of_lists_can_be_left_out() -> None:
    assert paragraphs("Text.\n* item\n# item\n: indented\nMore.", lists=False) == ["Text.", "More."]


def test_namespaces_have_names_of_their_own_in_every_language() -> None:
    text = "Eins [[Datei:A.png|mini|Bild]] zwei [[Kategorie:Land]]"
    assert paragraphs(text, hidden=("datei", "kategorie")) == ["Eins zwei"]
    assert "Bild" in paragraphs(text)[0]


@pytest.mark.parametrize(
    ("text", "seen"),
    [
        ("A town ({{x}}; {{y}}, {{z}}) here", "A town here"),
        ("A town ({{x}}, 5 km {{y}}) here", "A town (5 km) here"),
        ("It is {{x}} , and {{y}}.", "It is, and."),
        ("{{unclosed\nText.", "Text."),
        ("{| class=x\n| never closed\nText", "Text"),
        ("|} left over\nText.", "Text."),
        ("'''''Both''''' ''one", "Both one"),
        ("x&#xD800;&#173; &copy; &lt;b&gt; &unknown;", "x © <b> &unknown;"),
        ("<nowiki>[[no link]]</nowiki>", "no link"),
        ("[[#Section]] and [[Page#Part]] and [[A|]]", "Section and Page and"),
        ("http://bare.example is bare", "http://bare.example is bare"),
        ("<poem>one\ntwo</poem>", "one\ntwo"),
        ("{{{1|default}}} text", "text"),
        ("!Kung people live.", "!Kung people live."),
        ("Text.\n\n'''!!!''' is a band.\n\nMore.", "Text.\n!!! is a band.\nMore."),
        ("{{table}}\n! A !! B\n|-\n| 1 || 2\nText", "Text"),
        ("{| class=x\n!A\n!B\n\nText", "Text"),
        ("<nowiki>{{x}}</nowiki> shows braces.", "{{x}} shows braces."),
        ("<nowiki>|</nowiki> is a bar, &#123;&#123; are braces.", "| is a bar, {{ are braces."),
        ("see [[{{x}}]] now. More text.", "see now. More text."),
        ("[[AT&amp;T]] and [[A {{x}}B|]].", "AT&T and."),
    ],
)
def test_odd_markup_leaves_no_trace(text: str, seen: str) -> None:
    assert "\n".join(paragraphs(text)) == seen


def test_a_page_of_markup_alone_has_no_paragraphs() -> None:
    assert paragraphs("{{stub}}\n[[Category:X]]\n== See also ==\n") == []


def test_what_the_parser_does_not_get_through_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    import mwparserfromhell

    def fail(*_: object, **__: object) -> None:
        raise RecursionError("too deep")

    monkeypatch.setattr(mwparserfromhell, "parse", fail)  # no page is known that still breaks it
    with pytest.raises(Unparsable, match=FAILED):
        paragraphs("text")


@given(
    st.lists(st.sampled_from(["{{", "}}", "[[", "]]", "{|", "|}", "|", "''", "<ref>", "</ref>", "\n", "* ", "word "]))
)
def test_any_markup_gives_lines_without_blank_ends(parts: list[str]) -> None:
    for line in paragraphs("".join(parts)):
        assert line and line == line.strip() and "\n" not in line
        assert "{{" not in line and "[[" not in line and "''" not in line


@pytest.mark.parametrize(
    "opening",
    ["[http://a ", "<!--", "<ref>", "{|", "{|\n", "{{a|", "{{{a|", "[[a|", "<b ", '<b a="', '<ref name="a" ', "<pre>"],
)
def test_openings_that_never_close_are_refused_before_the_parser_takes_hours(opening: str) -> None:
    with pytest.raises(Unparsable, match=COSTLY):
        paragraphs(opening * 100_000)


def test_closings_that_come_too_early_or_too_late_do_not_count() -> None:
    for text in ("</ref>" * 50_000 + "<ref>" * 50_000, "<td " * 50_000 + "</ref>" * 50_000, "{{a|" * 50_000 + "}}" * 9):
        with pytest.raises(Unparsable, match=COSTLY):
            paragraphs(text)


def test_a_large_page_with_some_markup_left_open_is_read() -> None:
    """As people leave it: a paragraph's tag in every line, a table, a reference."""
    lines = [f"<p>Line {n} of the [[list]], ''with'' a <ref>note {n}</ref>.{{{{clear}}}}" for n in range(200)]
    found = paragraphs("\n".join([*lines, "An <ref>open note", "and <!-- an open remark"]))
    assert len(found) == 202 and found[7].endswith("Line 7 of the list, with a.")


@pytest.mark.parametrize("text", [",", ", ", " ,", "\u200b", "(", "( ", "(,", ") ", ". ", "() "])
def test_marks_without_end_take_no_longer_than_their_number(text: str) -> None:
    assert len(paragraphs("a" + text * 100_000 + "b")) == 1
