"""Dates in names, and what is refused in a line before anything is read."""

from __future__ import annotations

import gzip
import json
import re
from collections.abc import Iterator
from datetime import date
from pathlib import Path
from typing import Any

import hubserver
import hubsets
import pytest
from hubserver import HubServer

from ticlm.core.errors import InputError
from ticlm.core.periods import Calendar
from ticlm.core.settings import parse
from ticlm.datasets.hub.documents import HubDocuments
from ticlm.datasets.hub.names import days_of, without_date
from ticlm.datasets.io import dates, fetching
from ticlm.datasets.io.documents import Document
from ticlm.datasets.io.fetching import Patience

CRAWLS = re.findall(
    r"\S+",
    """
    2013-20 2013-48 2014-10 2014-15 2014-23 2014-35 2014-41 2014-42 2014-49 2014-52 2015-06 2015-11 2015-14 2015-18
    2015-22 2015-27 2015-32 2015-35 2015-40 2015-48 2016-07 2016-18 2016-22 2016-26 2016-30 2016-36 2016-40 2016-44
    2016-50 2017-04 2017-09 2017-13 2017-17 2017-22 2017-26 2017-30 2017-34 2017-39 2017-43 2017-47 2017-51 2018-05
    2018-09 2018-13 2018-17 2018-22 2018-26 2018-30 2018-34 2018-39 2018-43 2018-47 2018-51 2019-04 2019-09 2019-13
    2019-18 2019-22 2019-26 2019-30 2019-35 2019-39 2019-43 2019-47 2019-51 2020-05 2020-10 2020-16 2020-24 2020-29
    2020-34 2020-40 2020-45 2020-50 2021-04 2021-10 2021-17 2021-21 2021-25 2021-31 2021-39 2021-43 2021-49 2022-05
    2022-21 2022-27 2022-33 2022-40 2022-49 2023-06 2023-14 2023-23 2023-40 2023-50 2024-10 2024-18 2024-22 2024-26
    2024-30 2024-33 2024-38 2024-42 2024-46 2024-51 2025-05 2025-08 2025-13 2025-18 2025-21 2025-26
    """,
)
"""All crawls of Common Crawl from 2013-20 to 2025-26; the configs of FineWeb are among them."""


def test_every_crawl_has_its_month_and_a_newer_one_that_of_the_end_of_its_week() -> None:
    found = [days_of(f"CC-MAIN-{crawl}") for crawl in CRAWLS]
    assert len(CRAWLS) >= 104 and None not in found
    assert [one.start for one in found if one] == sorted(one.start for one in found if one)
    for crawl, days in zip(CRAWLS, found):
        assert days is not None and days.start.strftime("%Y%m") == dates.CRAWL_MONTHS[crawl]
    newer = {"2025-43": date(2025, 10, 1), "2026-01": date(2026, 1, 1), "2026-09": date(2026, 3, 1)}
    assert {name: days_of(f"CC-MAIN-{name}").start for name in newer} == newer  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("name", "start", "rest"),
    [
        ("CC-MAIN-2024-10", date(2024, 3, 1), ""),
        ("20231101.zh-min-nan", date(2023, 11, 1), "zh-min-nan"),
        ("2024_part_03.jsonl.gz", date(2024, 1, 1), "part_03.jsonl.gz"),
        ("2024-05.parquet", date(2024, 5, 1), "parquet"),
        ("dan_Latn", None, "dan_Latn"),
        ("000_00000.parquet", None, "000_00000.parquet"),
        ("sample-10BT", None, "sample-10BT"),
        ("CC-MAIN-2025-53", None, ""),
        ("CC-MAIN-0000-10", None, ""),
    ],
)
def test_a_name_tells_a_crawl_a_day_a_month_or_a_year(name: str, start: date | None, rest: str) -> None:
    days = days_of(name)
    assert (days.start if days else None) == start
    assert without_date(name) == rest


@pytest.mark.parametrize(
    ("name", "start", "end", "rest"),
    [
        ("data-20240101-20240131", date(2024, 1, 1), date(2024, 2, 1), "data"),
        ("en.2024-01-05_2024-01-09", date(2024, 1, 5), date(2024, 1, 10), "en"),
        ("202311-202402.en", date(2023, 11, 1), date(2024, 3, 1), "en"),
        ("2019-2021.jsonl", date(2019, 1, 1), date(2022, 1, 1), "jsonl"),
        ("20240131_of_20240101", date(2024, 1, 31), date(2024, 2, 1), "of"),
        ("202402-20240230", date(2024, 2, 1), date(2024, 3, 1), "202402"),
    ],
)
def test_two_dates_in_a_name_tell_the_days_from_one_to_the_other(name: str, start: date, end: date, rest: str) -> None:
    assert (days_of(name), without_date(name)) == ((start, end), rest)


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[HubServer]:
    monkeypatch.setattr(fetching, "PATIENCE", Patience(tries=2, first_s=0.001, most_s=0.002))
    monkeypatch.setattr("huggingface_hub.utils._http.time.sleep", lambda _: None)
    with hubserver.served(tmp_path / "cache", monkeypatch) as server:
        server.repository("org/web").push(hubsets.fineweb(("CC-MAIN-2024-10", "CC-MAIN-2024-18"), files=1))
        yield server


def documents(**settings: Any) -> HubDocuments:
    about = {"kind": "hub", "path": "org/web", "fields": {"timestamp": "hub.config"}, **settings}
    return parse(HubDocuments, about, "documents")


COLUMN = {"timestamp": "date"}
CRAWL = "CC-MAIN-2024-10"


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        (
            {"configs": "CC-MAIN-2026-*"},
            "documents.configs: no config of org/web matches CC-MAIN-2026-*; there are default, CC-MAIN-2024-10, "
            "CC-MAIN-2024-18",
        ),
        (
            {},
            "documents: config default of org/web has no date in its name; leave it out, or set documents.dates: "
            "{default: YYYYMM}",
        ),
        ({"name": CRAWL, "split": "test"}, f"documents.split: org/web ({CRAWL}) has no split test; there are train"),
        (
            {"path": "org/nothing"},
            "http://HUB has no such data set, or a private one: see HF_TOKEN",
        ),
        ({"name": CRAWL, "revision": "v2"}, "documents.revision: org/web has no revision v2"),
        (
            {"name": CRAWL, "per_period": {"tokens": 30}},
            "documents.per_period: {tokens: 30} leaves no file as much as a row; the first row of "
            "hf://datasets/org/web/data/CC-MAIN-2024-10/000_00000.parquet has 1,299 bytes",
        ),
        (
            {"configs": "CC-MAIN*", "dates": {"CC-MAIN-2024-18": "202403"}, "per_period": {"documents": 1}},
            "documents.per_period: {documents: 1} is below one row: 2 configs share it in 202403",
        ),
        (
            {"name": CRAWL, "fields": COLUMN, "per_period": {"tokens": 3000}},
            "documents.per_period: dates in a column need periods.initial and periods.last, or only",
        ),
        (
            {"name": CRAWL, "fields": {"timestamp": "hub.config", "text": "body"}},
            "none of its first 40 rows has text in 'body', which documents.fields.text names; its columns are text, id",
        ),
    ],
)
def test_what_cannot_be_is_refused_in_a_line(settings: dict[str, Any], said: str, server: HubServer) -> None:
    with pytest.raises(InputError) as refused:
        reader = documents(**settings)
        reader.check(reader.inputs(Calendar()))
    told = str(refused.value).replace(server.url, "http://HUB")
    assert said in told and "\n" not in told


def test_a_gated_data_set_is_opened_by_a_token_that_is_nowhere_recorded(
    server: HubServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.repository("org/web").gated = True
    reader = documents(name=CRAWL)
    with pytest.raises(InputError) as refused:
        reader.inputs(Calendar())
    page = f"{server.url}/datasets/org/web"
    assert str(refused.value) == (
        f"documents.path: org/web: gated; accept its terms at {page}, then log in: hf auth login, or HF_TOKEN=…"
    )
    assert len([one for one in server.requests if "auth-check" in one]) == 1  # a refusal is final
    monkeypatch.setenv("HF_TOKEN", server.token)
    hubserver.forget()
    (entry,) = reader.inputs(Calendar())
    found = list(reader.read(reader.pieces(entry)[0]))
    assert len(found) == 40 and isinstance(found[0], Document)
    assert server.token not in entry.model_dump_json() + str(found)


def test_tables_json_and_folders_of_keys_of_the_hub_are_read_without_a_card(server: HubServer) -> None:
    row = {"text": "Some words.", "url": "u"}
    server.repository("org/mixed").push(
        {
            "data/year=2024/month=05/a.csv": b"text,url\nSome words.,u\n",
            "data/year=2024/month=06/a.json.gz": gzip.compress(json.dumps([row]).encode()),
            "data/year=2024/month=07/a.parquet": hubsets.parquet([row]),
            "data/about.pdf": b"%PDF",
        }
    )
    reader = documents(path="org/mixed", fields={"timestamp": "year-month"})
    found = [one for entry in reader.inputs(Calendar()) for one in reader.read(reader.pieces(entry)[0])]
    assert [one.timestamp.month for one in found if isinstance(one, Document)] == [5, 6, 7]


def test_a_hub_that_is_out_of_reach_is_told_in_a_line(server: HubServer) -> None:
    server.status = 503
    said = (
        r"^documents\.path: org/web: http://[^ ]* does not answer: HTTP status 503; name a mirror by HF_ENDPOINT, or a "
    )
    with pytest.raises(InputError, match=said):
        documents(name=CRAWL).inputs(Calendar())


def test_a_name_that_spans_periods_needs_a_column_and_a_setting_may_give_a_date(server: HubServer) -> None:
    server.repository("org/news").push(hubsets.ccnews((2022,)))
    by_file = documents(path="org/news", name="2022", fields={"timestamp": "hub.file", "text": "plain_text"})
    with pytest.raises(InputError, match=r"file 2022_part_00.jsonl.gz of org/news tells no day of one period"):
        by_file.inputs(Calendar())
    assert len(by_file.inputs(Calendar(initial="202201..202212"))) == 2
    dated = documents(name="default", dates={"default": "202405"})
    (entry, *_) = dated.inputs(Calendar())
    first = next(one for one in dated.read(dated.pieces(entry)[0]) if isinstance(one, Document))
    assert first.timestamp.date() == date(2024, 5, 1)


@pytest.mark.parametrize(
    ("config", "calendar", "days"),
    [
        ("2024", {"initial": "202312", "last": "202401"}, "2024-01-01 to 2024-12-31"),
        ("2024", {"initial": "202412", "last": "202501"}, "2024-01-01 to 2024-12-31"),
        ("2024", {"initial": "202403", "last": "202403"}, "2024-01-01 to 2024-12-31"),
        ("2024", {"only": ("202401",)}, "2024-01-01 to 2024-12-31"),
        ("202401-202403", {"initial": "202312", "last": "202401"}, "2024-01-01 to 2024-03-31"),
        ("CC-MAIN-2024-10", {"initial": "20240226..20240303", "step": "week", "last": "20240303"}, "2024-03-01 to"),
        ("dated", {"initial": "202312", "last": "202401"}, "2024-01-01 to 2024-02-29"),
    ],
)
def test_a_name_whose_days_go_on_behind_the_calendar_is_refused_and_one_outside_of_it_left_out(
    server: HubServer, config: str, calendar: dict[str, Any], days: str
) -> None:
    server.repository("org/web").push(hubsets.fineweb((config, "CC-MAIN-2016-30"), files=1))
    reader = documents(configs=[config], dates={"dated": "202401-202402"})
    with pytest.raises(InputError, match=f"config {config} of org/web tells no day of one period: its days are {days}"):
        reader.inputs(Calendar(**calendar))
    assert documents(name="CC-MAIN-2016-30").inputs(Calendar(**calendar)) == []
    assert reader.inputs(Calendar(initial="202501", last="202502")) == []
    assert len(reader.inputs(Calendar(initial="202401..202412"))) == 1


@pytest.mark.parametrize(
    "settings",
    [
        {"name": "a", "configs": "b"},
        {"fields": {"timestamp": "hub.day"}},
        {"per_period": {"tokens": 1, "bytes": 4}},
        {"per_period": {}},
        {"within": "file"},
        {"dates": {"a": "May"}},
    ],
)
def test_settings_that_contradict_are_refused(settings: dict[str, Any]) -> None:
    with pytest.raises(InputError):
        documents(**settings)


def test_the_cap_and_its_seed_are_part_of_the_identity_and_what_moves_is_not() -> None:
    capped = documents(per_period={"tokens": 5})
    assert capped.identity == documents(per_period={"tokens": 5}, revision="x", configs="y").identity
    assert capped.identity != documents(per_period={"tokens": 6}).identity
    assert capped.identity != documents(per_period={"tokens": 5}, seed=1).identity
    assert documents(seed=1).identity == documents().fields.identity
