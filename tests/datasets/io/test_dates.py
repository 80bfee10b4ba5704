"""Dates of documents: what a value is read as by default and by a stated format, and what has to be stated."""

from __future__ import annotations

import time
from datetime import UTC, date, datetime
from typing import Any

import pytest

from ticlm.core.errors import InputError
from ticlm.core.fingerprint import fingerprint
from ticlm.core.periods import TIC_CC_MONTHS
from ticlm.core.settings import parse
from ticlm.datasets.corpus.recipe import CorpusRecipe
from ticlm.datasets.io.dates import CRAWL_MONTHS, NUMBER, moment, parser
from ticlm.datasets.io.documents import Bad, Document, Fields

MARCH = datetime(2024, 3, 1, tzinfo=UTC)
SECONDS = 1_709_251_200
"""1 March 2024 since 1970."""


@pytest.mark.parametrize("value", [20240301, 202403, 2024, 2024.0, 20240301.0, 0, -1, 99_999_999])
def test_a_number_that_may_be_a_date_is_not_read_as_seconds(value: float) -> None:
    with pytest.raises(ValueError, match=r"set fields\.timestamp_format"):
        moment(value)
    outcome = Fields().document({"text": "Hi", "timestamp": value}, "f:1")
    assert outcome == Bad(NUMBER, "f:1")


@pytest.mark.parametrize("value", [100_000_000, SECONDS, float(SECONDS), -200_000_000, "0100000000"])
def test_a_number_that_is_no_date_is_read_as_seconds(value: float) -> None:
    assert moment(value) == datetime.fromtimestamp(float(value), UTC)


@pytest.mark.parametrize(
    ("form", "value"),
    [
        ("iso", "2024-03-01"),
        ("iso", 20240301),
        ("iso", "202403"),
        ("iso", date(2024, 3, 1)),
        ("s", SECONDS),
        ("s", str(SECONDS)),
        ("ms", SECONDS * 1000),
        ("ms", f"{SECONDS}000"),
        ("ms", SECONDS * 1000.0),
        ("us", SECONDS * 10**6),
        ("ns", SECONDS * 10**9),
        ("rfc2822", "Fri, 01 Mar 2024 01:00:00 +0100"),
        ("rfc2822", "Fri, 01 Mar 2024 00:00:00 GMT"),
        ("rfc2822", "1 Mar 2024 00:00:00 -0000"),
        ("crawl", "CC-MAIN-2024-10"),
        ("crawl", "s3://commoncrawl/crawl-data/CC-MAIN-2024-10/segments/1/warc/x.warc.gz"),
        ("%Y%m%d", 20240301),
        ("%Y%m%d", 20240301.0),
        ("%Y%m%d", "20240301"),
        ("%Y%m%d%H%M%S", 20240301000000),
        ("%d/%m/%Y", "01/03/2024"),
        ("%m/%d/%Y", " 03/01/2024 "),
        ("%B %d, %Y", "March 1, 2024"),
        ("%Y-%m-%d %H:%M:%S %Z", "2024-03-01 00:00:00 UTC"),
        ("%Y-%m-%dT%H:%M%z", "2024-03-01T02:00+0200"),
        ("%Y/%m", "2024/03"),
    ],
)
def test_a_stated_format_is_read(form: str, value: object) -> None:
    fields = parse(Fields, {"timestamp_format": form}, "here")
    assert parser(form)(value) == MARCH
    assert fields.document({"text": "Hi", "timestamp": value}, "f") == Document("Hi", _named("Hi"), MARCH)


def _named(text: str) -> str:
    found = Fields().document({"text": text, "timestamp": "2024-03"}, "")
    assert isinstance(found, Document)
    return found.id


def test_a_year_by_itself_is_its_first_of_january() -> None:
    assert parser("%Y")(2018) == parser("%Y")("2018") == parser("%Y")(2018.0) == datetime(2018, 1, 1, tzinfo=UTC)


@pytest.mark.parametrize("form", ["iso", "s", "ms", "us", "ns", "rfc2822", "crawl", "%Y%m%d"])
@pytest.mark.parametrize(
    "value", ["soon", "", True, {}, float("nan"), 1e300, 10**40, "9" * 5000, "CC-MAIN-2024-60", "\0"]
)
def test_a_value_of_another_format_is_unreadable(form: str, value: object) -> None:
    with pytest.raises(ValueError):
        parser(form)(value)


@pytest.mark.parametrize("form", ["seconds", "", "YYYY-MM-DD", "%m%d", "%H:%M", "%Y%Q", "%Y-%d"])
def test_a_format_that_gives_no_date_is_refused(form: str) -> None:
    with pytest.raises(InputError, match=r"timestamp_format: .*iso, s, ms, us, ns, rfc2822, crawl or a pattern"):
        parse(Fields, {"timestamp_format": form}, "here")


def _recipe(form: str, step: str) -> CorpusRecipe:
    settings: dict[str, Any] = {
        "name": "toy",
        "version": 1,
        "documents": {"kind": "files", "paths": ["x"], "fields": {"timestamp_format": form}},
        "periods": {"initial": "20180101..20181231" if step == "week" else "201801..201812", "step": step},
        "tokenizer": {"kind": "train", "vocab_size": 300},
        "length": 16,
    }
    return parse(CorpusRecipe, settings, "recipe")


@pytest.mark.parametrize(
    ("form", "step"), [("%Y", "month"), ("%Y", "quarter"), ("%Y", "week"), ("%Y%m", "week"), ("crawl", "week")]
)
def test_a_date_coarser_than_the_calendar_is_refused_as_it_could_let_in_the_future(form: str, step: str) -> None:
    with pytest.raises(InputError, match=f"timestamp_format {form} says no (month|day).*periods.step {step}"):
        _recipe(form, step)


@pytest.mark.parametrize(
    ("form", "step"), [("%Y", "year"), ("%Y%m", "month"), ("crawl", "quarter"), ("%d.%m.%y", "week")]
)
def test_a_date_as_fine_as_the_calendar_is_taken(form: str, step: str) -> None:
    assert _recipe(form, step).periods.step == step


def test_a_crawl_lies_in_the_month_in_which_it_ended() -> None:
    """The months of the table are months of TiC-CC (which has both months of a crawl that began in another)."""
    known = [month for month in CRAWL_MONTHS.values() if month <= TIC_CC_MONTHS[-1]]
    assert set(known) <= set(TIC_CC_MONTHS)
    first = {month: TIC_CC_MONTHS[at + 1] for at, month in enumerate(TIC_CC_MONTHS[:-1]) if month not in known}
    assert all(after in known for after in first.values())
    assert list(CRAWL_MONTHS.values()) == sorted(CRAWL_MONTHS.values())
    assert list(CRAWL_MONTHS) == sorted(CRAWL_MONTHS)
    assert (CRAWL_MONTHS["2013-20"], CRAWL_MONTHS["2023-23"], CRAWL_MONTHS["2024-30"]) == ("201305", "202306", "202407")


def test_without_a_format_the_identity_is_what_it_was() -> None:
    old = fingerprint(Fields().identity)
    assert old == "9cad33509f8c2ab179375f55b7155ad5969f4f4ce703e651096e631e6ff542dc"
    assert fingerprint(Fields(timestamp_format="s").identity) != old


def test_a_zone_by_name_is_that_of_no_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    read = parser("%Y-%m-%d %H:%M:%S %Z")
    monkeypatch.setenv("TZ", "EST5EDT")
    time.tzset()
    try:
        for zone in ("UTC", "GMT", "Z", "+0000"):
            assert read(f"2024-03-01 00:00:00 {zone}") == MARCH
        assert read("2024-03-01 01:00:00 +0100") == MARCH
        with pytest.raises(ValueError, match="does not match"):
            read("2024-03-01 00:00:00 EST")  # five hours away from UTC
    finally:
        monkeypatch.undo()
        time.tzset()
