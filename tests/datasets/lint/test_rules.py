"""The rules that read one text: each by hand, with the traps that look like it."""

from __future__ import annotations

from datetime import date

import pytest

from ticlm.datasets.lint.names import AnswerSince, DatedName, KnownNames
from ticlm.datasets.lint.rules import RULES, findings

DAY = date(2015, 6, 30)


def rules_of(text: str, day: date = DAY) -> list[str]:
    return sorted({one.rule for one in findings(text, day)})


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("On March 14, 2019, the team moved the site.", "date"),
        ("It was closed on 12 Jan 2018 for good.", "date"),
        ("The figures were lowered (2019-03-14).", "date"),
        ("They signed it on 3/14/2019 in Rome.", "date"),
        ("The office was closed in May 2017.", "month"),
        ("The library was rewritten in 2018 and renamed.", "year"),
        ("See https://example.org/2018/05/12/old-post/ for more.", "url"),
        ("![](https://example.org/wp-content/uploads/2018/05/a.png)", "url"),
        ("© 2012-2018 Example Inc.", "copyright"),
        ("Last updated: August 2, 2015", "stamp"),
        ("UPDATE August 2015: this tool is gone.", "stamp"),
        ("By March 2018 it had grown.", "month"),
        ("as in arXiv:1905.01234", "arxiv"),
        ("It was CVE-2019-12345 again.", "cve"),
        ("See RFC 9110, section 5.", "number"),
        ("as PEP 695 has it", "number"),
        ("Executive Order 14028 asks for it.", "number"),
        ("Public Law 117-58 pays for it.", "number"),
        ("Memorandum M-23-22 has details.", "number"),
        ("We tested it with Rust 1.45 on a laptop.", "version"),
        ("It runs on Ubuntu 20.04 LTS.", "version"),
        ("The bug is in Python 3.11, too.", "version"),
        ("President Emmanuel Macron visited the site.", "office"),
        ("CEO Satya Nadella said so.", ""),  # he was chief executive by then
        ("People compared it with ChatGPT at once.", "name"),
        ("a page on X (formerly Twitter)", "name"),
        ("Do Not Sell My Personal Information", "boilerplate"),
        ('<meta name="generator" content="WordPress 6.2">', "version"),
    ],
)
def test_each_rule_finds_its_sign(text: str, rule: str) -> None:
    assert rules_of(text) == ([rule] if rule else [])
    assert not rule or rule in RULES


@pytest.mark.parametrize(
    "text",
    [
        "We will finish it by 2020.",
        "It is planned for March 2018.",
        "The roadmap names 2017, 2018 and 2019.",
        "The contract runs until December 31, 2018.",
        "Emissions are expected to fall by half in 2030.",
        "Smith et al. (forthcoming, 2016) show this.",
        "Join us at the conference on October 5, 2015!",
        "RustConf, September 9-10, 2016",
        "See https://example.org/2018/schedule for the event.",
        "a meetup: https://meetup.example/events/2016-03-12-rust",
        "The radio is at 2030 MHz, for $2025 each.",
        "It sold 2,030 copies, 2018 people came, and port 2049 is open.",
        "RFC 2027 and issue 2045 were merged.",
        "Copyright 2009-2015 Example Inc.",
        "Last updated: July 2, 2015",  # another time zone, or dated a bit early
        "The next Rust 1.4 will be released in October.",
        "Rust 1.0 and Python 3.4 are out.",
        "arXiv:1406.01234, CVE-2015-1234, RFC 7230, PEP 484",
        "Former President Obama spoke, and so did President Obama.",
        "Prime Minister May be late.",
        "GPT-40 and OpenAIR are other names.",
        "In 2014 they said that 2015 was good.",
    ],
)
def test_what_looks_like_a_sign_and_is_none_stays(text: str) -> None:
    assert rules_of(text) == []


def test_a_date_of_the_day_itself_is_no_sign_and_depends_on_the_day() -> None:
    text = "On March 14, 2019, the team moved the site."
    assert rules_of(text, date(2019, 3, 14)) == []
    assert rules_of(text, date(2019, 1, 1)) == ["date"]
    assert [one.earliest for one in findings(text, DAY)] == [date(2019, 3, 14)]


def test_a_finding_says_where_it_is() -> None:
    text = "Some words. It was closed on 12 Jan 2018 for good."
    (found,) = findings(text, DAY)
    assert text[found.start : found.end] == found.matched == "12 Jan 2018"


def test_a_number_in_an_order_is_dated_by_the_entry_below_it() -> None:
    assert [one.earliest for one in findings("PEP 700", DAY)] == [date(2022, 5, 16)]  # PEP 695, less thirty days
    assert rules_of("PEP 470") == [] and rules_of("RFC 7525") == []


def test_names_and_answers_of_the_user_are_found_too() -> None:
    known = KnownNames(
        names=(DatedName("Zorblax", date(2018, 1, 1)),),
        answers=(AnswerSince("Atlantis", "Jane Doe", date(2017, 1, 1)),),
    )
    assert [one.rule for one in findings("The Zorblax was new.", DAY, known)] == ["name"]
    told = "The mayor of Atlantis is Jane Doe. She is new."
    assert [(one.rule, one.earliest) for one in findings(told, DAY, known)] == [("answer", date(2017, 1, 1))]
    assert findings("Atlantis is far. Jane Doe lives elsewhere.", DAY, known) == ()
    assert findings(told, date(2017, 1, 1), known) == ()


def test_a_name_in_another_script_and_one_that_begins_with_a_sign_are_found() -> None:
    known = KnownNames(names=(DatedName("東京ドーム", date(2018, 1, 1)), DatedName("#Zorblax", date(2018, 1, 1))))
    assert [one.matched for one in findings("Das 東京ドーム und #Zorblax.", DAY, known)] == ["東京ドーム", "#Zorblax"]


def test_a_text_without_a_year_is_read_quickly_and_an_empty_one_is_read() -> None:
    assert findings("", DAY) == () and findings("\ud800 half of a pair, 2019-03-14 it was lowered", DAY) != ()
