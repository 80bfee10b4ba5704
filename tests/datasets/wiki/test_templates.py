"""Templates of wikitext: what a reader sees of the common ones, and the counts of all others."""

from __future__ import annotations

from importlib.resources import files

import pytest

from ticlm.datasets.wiki import templates
from ticlm.datasets.wiki.templates import NAMELESS, OTHERS, TemplateCounts, most_frequent
from ticlm.datasets.wiki.wikitext import Unparsable, paragraphs

SEEN = [
    ("worth {{US$|1.5 billion}} today", "worth US$1.5 billion today"),
    ("or {{convert|5|%}} of it", "or 5 % of it"),
    ("after {{angbr|e}} and {{angbr|t}}.", "after ⟨e⟩ and ⟨t⟩."),
    ("is {{convert|1300|mi|km}} long", "is 1,300 miles long"),
    ("{{convert|1|mi|km}} and {{Convert|6|ft|2|in|m}}", "1 mile and 6 feet 2 inches"),
    ("{{convert|50|to|60|km/h|mph|abbr=on}}", "50 to 60 km/h"),
    ("a {{convert|5|mi|km|adj=on}} road, {{cvt|5|m}}", "a 5-mile road, 5 m"),
    ("{{convert|2|km|sp=us}}, {{convert|22|e6acre|km2}}", "2 kilometers, 22 million acres"),
    ("{{convert|-3.5|C|F}}", "-3.5 degrees Celsius"),
    ("{{convert|9|zorkmid}} {{convert|{{formatnum:1000}}|m}}", "9 zorkmid 1,000 metres"),
    ("{{lang|fr|''la ville''}} and {{lang-el|πόλις}} ({{transl|ar|ALA|al-lāh}})", "la ville and Greek: πόλις (al-lāh)"),
    ("{{lang-xyz|word}}", "word"),
    ("{{As of|2014|5}}, {{as of|2010|lc=y}}", "As of May 2014, as of 2010"),
    ("{{as of|2011|3|7|since=y|df=US}}", "Since March 7, 2011"),
    ("{{circa|1900|1910}}, {{c.|1400}}", "c. 1900 – c. 1910, c. 1400"),
    ("a&nbsp;b{{nbsp}}c{{snd}}d{{ndash}}e{{mdash}}f", "a b c – d–e—f"),
    ("{{frac|3}} {{frac|2|3}} {{frac|1|2|3}} {{sfrac|1|4}}", "1/3 2/3 1 2/3 1/4"),
    ("{{val|1.00794|(7)|u=kg}} {{val|5.2|0.1|e=6}} 2{{e|24}}", "1.00794(7) kg 5.2±0.1×10^6 2×10^24"),
    ("{{ordinal|1}} {{ordinal|12}} {{ordinal|23}}", "1st 12th 23rd"),
    ("{{nowrap|no ''break''}} {{abbr|Mr|Mister}} {{small|tiny}} x{{sup|2}} H{{sub|2}}O", "no break Mr tiny x2 H2O"),
    ("{{flag|Tennessee}} {{flagicon|USA}} {{flagcountry|Chad}}", "Tennessee Chad"),
    ("{{start date|2014|5|6}} {{birth date|1999|1|2|df=y}}", "May 6, 2014 2 January 1999"),
    ("{{dts|6 May 2014}} {{death date and age|2001|2|3|1920|1|1}}", "6 May 2014 February 3, 2001"),
    ("{{£|5}} {{€|6}} {{INR|7}}", "£5 €6 ₹7"),
    ("{{IPA|/a/}} {{IPAc-en|US|ˈ|b|iː|t}} {{IPA-de|ˈʃtat}} {{respell|FEE|bəs}}", "/a/ /ˈbiːt/ [ˈʃtat] FEE-bəs"),
    ("{{Nihongo|'''Aikido'''|合気道|Aikidō|lead=yes}} {{nihongo|it|合}}", "Aikido (合気道, Aikidō) it (合)"),
    ("{{chem|C|''n''|H|2}} {{formatnum:3003}} {{nts|1234.5}}", "CnH2 3,003 1,234.5"),
    ("{{Lang |fr| [[Paris|la {{nowrap|grande ville}}]] }}", "la grande ville"),
    ("{{template:nowrap|x}} {{NoWrap<!-- c -->|y}} {{no_bold|z}} {{nowrap|1=w}}", "x y w"),
    ("'''Aba''' ({{lang-ru|}}; born)", "Aba (born)"),
    ("say {{quote|One.|Somebody}} more", "say\nOne.\nmore"),
    ("{{'s}} {{-\"}} {{=}} {{!}} bar", "'s \" = | bar"),
    ("{{clear}}{{anchor|x}}{{use dmy dates|date=May 2014}}Text.", "Text."),
]  # fmt: skip


@pytest.mark.parametrize(("text", "seen"), SEEN)
def test_a_common_template_shows_its_words_and_numbers(text: str, seen: str) -> None:
    assert "\n".join(paragraphs(text, templates=TemplateCounts())) == seen


def test_what_is_not_expanded_is_counted_by_name_and_so_is_how_much_is() -> None:
    counts = TemplateCounts()
    text = "A{{stub}} {{Stub}} {{lang|fr}} {{#if:x|{{nowrap|y}}|z}} {{{{x}}|a}} {{nowrap|b}} {{infobox x|{{nowrap|c}}}}"
    assert paragraphs(text, templates=counts) == ["A b"]
    assert counts.expanded == 1
    assert counts.left == {"stub": 2, "lang": 1, "#if:": 1, NAMELESS: 1, "infobox x": 1}
    assert paragraphs("{{nowrap|x}} y", templates=None) == ["y"], "as before"


def test_a_record_has_the_most_frequent_names_and_the_count_of_the_rest(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(templates, "MOST_NAMES", 50)
    counts = TemplateCounts()
    paragraphs("".join(f"{{{{t{n:03}}}}}" * (2 if n == 40 else 1) for n in range(100)), templates=counts)
    assert len(counts.left) == 51 and sum(counts.left.values()) == 101
    step = counts.step()
    assert list(step.dropped)[:2] == ["t040", "t000"] and len(step.dropped) == templates.SHOWN_NAMES + 1
    assert step.read == sum(step.dropped.values()) == 101 and step.dropped[OTHERS] == 101 - 2 - 29
    assert most_frequent({"a": 1}) == {"a": 1}


def test_no_pattern_has_an_argument_twice_so_that_text_within_text_does_not_grow() -> None:
    import yaml

    table = yaml.safe_load(files("ticlm.datasets.wiki").joinpath("templates.yaml").read_text("utf-8"))
    for pattern in table["patterns"]:
        slots = templates._SLOT.findall(pattern)
        assert len(slots) == len(set(slots)), pattern
    names = [
        name
        for kind in ("patterns", "joined", "functions")
        for names in [*table[kind].values(), table["silent"]][: len(table[kind])]
        for name in templates._flat(names)
    ] + [*templates._flat(table["silent"])]
    assert len(names) == len(set(names)), sorted({name for name in names if names.count(name) > 1})
    assert all(name == " ".join(name.lower().split()) for name in names)


NESTED = [
    "{{nowrap|",
    "{{lang|fr|",
    "{{convert|1|",
    "{{quote|",
    "{{nihongo|a|",
    "{{frac|1|",
    "{{hlist|a|",
    "{{as of|",
    "{{ill|lt=",
]


@pytest.mark.parametrize("opening", NESTED)
@pytest.mark.parametrize("levels", [30, 99, 100, 3000])
def test_templates_within_templates_end_in_text_or_are_refused(opening: str, levels: int) -> None:
    try:
        found = paragraphs(opening * levels + "x" + "}}" * levels + "\nend", templates=TemplateCounts())
    except Unparsable:
        return
    assert found[-1:] == ["end"] and sum(map(len, found)) < 10_000 + 20 * levels


@pytest.mark.parametrize(
    "text",
    [
        "{{convert|" + "9" * 50_000 + "|m}}",
        "{{convert" + "|1|to" * 2_000 + "|2|m}}",
        "{{convert|6|ft" + "|2|in" * 2_000 + "}}",
        "{{hlist" + "|a" * 5_000 + "}}",
        "{{nowrap" + "".join(f"|a{n}=b" for n in range(2_000)) + "|x}}",
        "{{" + "n" * 100_000 + "|x}}",
        "{{nowrap|" * 2 + "x " * 50_000 + "}}" * 2,
        "{{as of|" + "1" * 50_000 + "}}",
        "{{ordinal|" + "²" * 10_000 + "}}",
        "{{formatnum:" + "1" * 50_000 + "}}",
        "{{start date|0|0|0}}{{start date|99999|1|1}}{{start date|²|1|1}}{{dts|" + "x|" * 2_000 + "}}",
        "{{val|1|2" + "|3" * 2_000 + "|u={{val|1|u=m}}}}",
        "{{{{nowrap|nowrap}}|x}}" * 500,
        "{{nowrap|x}}" * 2_000,
        "".join(f"{{{{t{n}}}}}" for n in range(2_000)),
    ],
    ids=range(15),
)
def test_hostile_arguments_end(text: str) -> None:
    counts = TemplateCounts()
    found = paragraphs(text + "\n\nend", templates=counts)
    assert found[-1] == "end" and len(counts.left) <= templates.MOST_NAMES + 1
    assert sum(map(len, found)) <= 3 * len(text) + 100
