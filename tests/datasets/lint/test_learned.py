"""The rules that compare the texts of a corpus: what is learned, from how much, and what is left alone."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date, timedelta

from ticlm.datasets.lint.copies import LineCopies
from ticlm.datasets.lint.finding import LintText
from ticlm.datasets.lint.learned import RULES
from ticlm.datasets.lint.linting import lint
from ticlm.datasets.lint.rare_names import RareNames
from ticlm.datasets.lint.series import NumberSeries

START = date(2014, 1, 15)


def text(words: str, months: int, url: str = "", source: str = "news") -> LintText:
    day = START + timedelta(days=30 * months)
    return LintText(words, day, f"{day:%Y%m}", url, source)


def releases(odd: int | None = None) -> list[LintText]:
    """Texts of four years that name the version of their month; `odd` names that of thirty months later."""
    return [
        text(f"Zig Core 1.{month + 30 if month == odd else month} was fast, and Zig Core 1.{month} too.", month)
        for month in range(48)
    ]


def found(signs: NumberSeries, texts: list[LintText]) -> list[int]:
    for at, one in enumerate(texts):
        signs.add(at, one)
    return [at for at, _ in signs.findings()]


def test_a_version_that_nobody_names_for_a_year_is_a_sign() -> None:
    assert found(NumberSeries(), releases()) == []
    assert found(NumberSeries(), releases(odd=10)) == [10]


def test_a_short_series_and_one_without_order_teach_nothing() -> None:
    assert found(NumberSeries(), releases(odd=10)[8:14]) == []
    noise = [text(f"It took table 3.{(month * 37) % 48} and Zig 2.{(month * 29) % 48}.", month) for month in range(48)]
    assert found(NumberSeries(), noise) == []


def test_an_issue_of_a_repository_that_is_not_there_yet_is_a_sign() -> None:
    link = "Fixed in https://github.com/a/b/pull/{}."
    texts = [text(link.format(100 * month + more), month) for month in range(48) for more in (1, 2, 3)]
    texts[15] = text(link.format(4000), 5)
    assert found(NumberSeries(), texts) == [15]


def test_two_coined_names_of_later_texts_are_a_sign_and_one_is_not() -> None:
    for early, flagged in (("The FooBar and the BazQux came.", [2]), ("The FooBar came, in Boston.", [])):
        texts = [text("Nothing new here.", month) for month in range(24)]
        texts += [text("The FooBar, the BazQux and Boston.", month) for month in range(24, 48)]
        texts[2] = text(early, 2)
        names = RareNames()
        for at, one in enumerate(texts):
            names.add(at, one)
        assert [at for at, _ in names.findings()] == flagged


def test_names_teach_nothing_where_the_source_begins_later_or_is_not_known() -> None:
    for source in ("other", ""):
        texts = [text("Nothing new here.", month, source="") for month in range(24)]
        texts[2] = text("The FooBar and the BazQux came.", 2, source="")
        texts += [text("The FooBar and the BazQux.", month, source=source) for month in range(24, 48)]
        names = RareNames()
        for at, one in enumerate(texts):
            names.add(at, one)
        assert list(names.findings()) == []


LINES = [
    f"This is the long line number {number} of a text that was written with some care, they say." for number in range(9)
]


def copies(*texts: LintText) -> list[int]:
    lines = LineCopies()
    for at, one in enumerate(texts):
        lines.add(at, one)
    return [at for at, _ in lines.findings({})]


def test_a_copy_is_a_sign_only_if_the_earlier_text_says_that_it_is_later() -> None:
    later = START + timedelta(days=30 * 24)
    dated = [*LINES, f"The meeting of {later:%B %d, %Y} will be at noon, in the large hall, as the council said."]
    plain, told = "\n".join(LINES), "\n".join(dated)
    assert copies(text(plain, 0, "a"), text(plain, 24, "b")) == [], "posted again years later"
    assert copies(text(told, 0, "a"), text(told, 24, "b")) == [0]
    assert copies(text(told, 0, "a"), text(told, 24, "a")) == [], "the same page, crawled again"
    assert copies(text(told, 0, "a"), text("\n".join(LINES[:2]), 24, "b")) == [], "not much of it"


def test_the_report_counts_texts_by_period_and_rule_and_is_the_same_twice() -> None:
    texts = [*releases(odd=10), text("It was closed on 12 Jan 2018, and it was March 2018 then.", 0, "u", "other")]

    def again() -> Iterator[LintText]:
        yield from texts

    report = lint("toy", again(), examples=1)
    assert report == lint("toy", texts, examples=1) and report.rules
    first = texts[0].period
    assert report.summary()[first] == {"texts": 2, "flagged": 1, "by_rule": {"date": 1, "month": 1}}
    assert report.summary()[texts[10].period]["by_rule"] == {"series": 1}
    assert report.total.flagged == 2 and report.total.texts == 49
    assert [one.rule for one in report.examples] == ["date", "month", "series"]
    assert "series" in RULES and "12 Jan 2018" in report.examples[0].around
