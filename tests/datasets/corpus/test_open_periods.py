"""Builds whose calendar or whose texts end inside a period: nothing is built half, and nothing of it is lost."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import Any

import pytest
import web
from builds import hashes
from months import built, months, recipe, texts_of, unreachable, write
from rich.console import Console

from ticlm.core.corpus import Corpus
from ticlm.core.errors import InputError, RunError
from ticlm.core.periods import Calendar
from ticlm.datasets.corpus import build, build_records, staging
from ticlm.datasets.corpus.show import overview
from ticlm.platform.run.check import check

QUARTERS = {"initial": "202301..202303", "step": "quarter"}
WEEKS = {"initial": "20230102..20230131", "step": "week"}


@pytest.mark.parametrize(
    ("calendar", "inside", "end", "open_one"),
    [
        (QUARTERS, "202305", "202309", "202304-202306 is open until 202306: its 90 documents wait"),
        (WEEKS, "20230210", "20230220", "20230208-20230214 is open until 20230214: its 7 documents wait"),
    ],
    ids=["quarters", "weeks"],
)
def test_a_period_that_goes_on_after_the_calendar_waits_and_is_then_built_whole(
    loop: None, tmp_path: Path, calendar: dict[str, Any], inside: str, end: str, open_one: str
) -> None:
    folder = months(tmp_path / "texts", "202301", "202309")
    whole, _ = built(folder, tmp_path / "whole", periods=calendar | {"last": end})
    cut, lines = built(folder, tmp_path / "grown", periods=calendar | {"last": inside})
    assert open_one.split()[0] not in cut.periods
    assert any(line.startswith(f"warning: {open_one}") for line in lines), lines
    grown, _ = built(folder, tmp_path / "grown", periods=calendar | {"last": end})
    assert hashes(grown) == hashes(whole)
    assert sum(m.read for m in grown.periods.values()) == sum(m.read for m in whole.periods.values())
    again = build_records.builds(grown.store)[1]
    assert again.late == {} and again.read == sum(t.read for t in again.periods.values()) + sum(again.dropped.values())


def test_months_that_come_one_by_one_give_the_quarters_of_a_build_of_all(loop: None, tmp_path: Path) -> None:
    whole, _ = built(
        months(tmp_path / "all", "202301", "202309"), tmp_path / "whole", periods=QUARTERS | {"last": "202309"}
    )
    folder = months(tmp_path / "texts", "202301", "202303")
    said = []
    for last in ("202303", "202304", "202305", "202306", "202307", "202308", "202309"):
        months(folder, last, last)
        grown, lines = built(folder, tmp_path / "grown", periods=QUARTERS | {"last": last})
        said.append(sum("is open until" in line for line in lines))
    assert said == [0, 1, 1, 0, 1, 1, 0]
    assert hashes(grown) == hashes(whole)


def test_a_build_of_nothing_but_an_open_period_is_refused_with_the_ends_that_are_allowed(
    loop: None, tmp_path: Path
) -> None:
    folder = months(tmp_path / "texts", "202304", "202305")
    with pytest.raises(InputError, match="60 in a period that is not over") as error:
        built(folder, tmp_path, periods=QUARTERS | {"last": "202305"})
    assert "202304-202306 is open until 202306" in str(error.value) and "\n" not in str(error.value)


def test_without_an_end_the_newest_period_waits_for_text_of_its_last_month(loop: None, tmp_path: Path) -> None:
    whole, _ = built(months(tmp_path / "all", "202301", "202306"), tmp_path / "whole", periods=QUARTERS)
    assert list(whole.periods) == ["202301-202303", "202304-202306"]
    folder = months(tmp_path / "texts", "202301", "202305")
    first, lines = built(folder, tmp_path / "grown", periods=QUARTERS)
    assert list(first.periods) == ["202301-202303"]
    assert any("202304-202306 is open until 202306: its 60 documents wait" in line for line in lines)
    _, lines = built(folder, tmp_path / "grown", periods=QUARTERS)
    assert lines == ["toy@1: nothing new"]
    grown, _ = built(months(folder, "202306", "202306"), tmp_path / "grown", periods=QUARTERS)
    assert hashes(grown) == hashes(whole)


def test_an_end_builds_the_newest_period_of_a_corpus_that_had_none(loop: None, tmp_path: Path) -> None:
    folder = months(tmp_path / "texts", "202301", "202305")
    built(folder, tmp_path, periods=QUARTERS)
    corpus, _ = built(folder, tmp_path, periods=QUARTERS | {"last": "202306"})
    assert list(corpus.periods) == ["202301-202303", "202304-202306"]


@pytest.fixture
def half_built(loop: None, tmp_path: Path) -> tuple[Path, Corpus]:
    """Texts up to September, and a corpus with half of the second quarter, as older releases left it: they placed every
    date before `last`, and their records said nothing of single inputs."""
    folder = months(tmp_path / "texts", "202301", "202305")
    corpus, _ = built(folder, tmp_path, periods=QUARTERS | {"last": "202306"})
    months(folder, "202306", "202309")
    inputs = [entry.model_dump() for entry in recipe(folder).reader.inputs(Calendar())]
    path = "builds/00000.json"
    later = ("accounts", "waiting", "broken", "sha256")
    kept = {k: v for k, v in corpus.store.read_json(path).items() if k not in later}
    beyond = [entry["path"] for entry in inputs[5:]]
    kept |= {"inputs": inputs, "last": "202305", "beyond": beyond, "read": 270, "dropped": {staging.OUTSIDE: 120}}
    corpus.store.write(path, json.dumps(kept).encode())
    return folder, corpus


def test_read_by_an_earlier_build_means_that_the_build_took_it(half_built: tuple[Path, Corpus], tmp_path: Path) -> None:
    folder, before = half_built
    assert before.periods["202304-202306"].read == 60
    corpus, lines = built(folder, tmp_path, periods=QUARTERS | {"last": "202309"})
    record = build_records.builds(corpus.store)[1]
    assert record.late == {"202304-202306": 30}, "June was never read"
    assert record.dropped[build_records.ALREADY_BUILT] == 30
    assert list(record.periods) == ["202307-202309"]
    assert any(line.startswith("warning: 30 documents were left out") for line in lines)


def test_a_corpus_says_which_of_its_periods_were_built_half(half_built: tuple[Path, Corpus], tmp_path: Path) -> None:
    folder, corpus = half_built
    assert build_records.half_built(corpus.store) == {"202304-202306": "202305"}
    (problem,) = check(corpus.store)[1]
    assert problem.endswith(
        "202304-202306: built up to 202305 by an older release, and lacks the rest; build a new version"
    )
    whole, _ = built(folder, tmp_path / "whole", periods=QUARTERS | {"last": "202306"})
    assert build_records.half_built(whole.store) == {}


@pytest.mark.parametrize("apart", [True, False])
def test_a_period_that_was_built_half_stays_so_when_it_is_built_again(
    half_built: tuple[Path, Corpus], tmp_path: Path, apart: bool
) -> None:
    """June is in files of its own that came later, or in files that the first build read up to May."""
    folder, corpus = half_built
    expected = hashes(corpus)
    if apart:
        path = "builds/00000.json"
        kept = corpus.store.read_json(path)
        corpus.store.write(path, json.dumps(kept | {"inputs": kept["inputs"][:5], "read": 150, "dropped": {}}).encode())
    for _ in range(2):
        corpus.store.remove("periods/202304-202306")
        corpus, lines = built(folder, tmp_path, periods=QUARTERS | {"last": "202306"})
        assert hashes(corpus) == expected
        assert any("202304-202306 was built up to 202305 by an older release" in line for line in lines), lines
        assert build_records.half_built(corpus.store) == {"202304-202306": "202305"}
    assert build_records.nowhere(build_records.builds(corpus.store))[build_records.ALREADY_BUILT] == 30


def test_a_document_that_came_late_is_not_called_read_when_its_file_is_read_again(loop: None, tmp_path: Path) -> None:
    folder = months(tmp_path / "texts", "202301", "202302")
    built(folder, tmp_path, periods={"initial": 202301, "last": 202302})
    write(folder / "late.jsonl", texts_of("202301", 7, seed=1) + texts_of("202303", 9))
    built(folder, tmp_path, periods={"initial": 202301, "last": 202302})
    corpus, _ = built(folder, tmp_path, periods={"initial": 202301, "last": 202303})
    records = build_records.builds(corpus.store)
    assert [record.late for record in records] == [{}, {"202301": 7}, {"202301": 7}]
    assert build_records.READ_BEFORE not in records[2].dropped


def test_a_file_that_grew_counts_only_what_is_new_as_left_out(loop: None, tmp_path: Path) -> None:
    folder = months(tmp_path / "texts", "202301", "202302")
    built(folder, tmp_path, periods={"initial": 202301, "last": 202302})
    write(folder / "202301.jsonl", [*texts_of("202301"), *texts_of("202301", 16, seed=1)])
    corpus, lines = built(folder, tmp_path, periods={"initial": 202301, "last": 202302})
    record = build_records.builds(corpus.store)[1]
    assert record.dropped == {build_records.READ_BEFORE: 30, build_records.ALREADY_BUILT: 16}
    assert any(line.startswith("warning: 16 documents were left out") for line in lines)


def test_a_file_that_was_only_copied_has_nothing_to_leave_out(loop: None, tmp_path: Path) -> None:
    folder = months(tmp_path / "texts", "202301", "202302")
    built(folder, tmp_path, periods={"initial": 202301, "last": 202302})
    (folder / "202301.jsonl").rename(tmp_path / "aside")
    (folder / "202301.jsonl").write_bytes((tmp_path / "aside").read_bytes())
    corpus, lines = built(folder, tmp_path, periods={"initial": 202301, "last": 202302})
    assert build_records.builds(corpus.store)[1].dropped == {build_records.READ_BEFORE: 30}
    assert not [line for line in lines if "left out" in line]


def test_a_file_that_was_written_anew_is_said_to_be_unknown(loop: None, tmp_path: Path) -> None:
    folder = months(tmp_path / "texts", "202301", "202302")
    built(folder, tmp_path, periods={"initial": 202301, "last": 202302})
    write(folder / "202301.jsonl", texts_of("202301", 33, seed=2))
    corpus, lines = built(folder, tmp_path, periods={"initial": 202301, "last": 202302})
    assert build_records.builds(corpus.store)[1].dropped == {build_records.REWRITTEN: 33}
    assert any("33 documents are in inputs that were changed" in line for line in lines)


def test_the_packaged_recipe_takes_a_month_at_a_time(loop: None, tmp_path: Path) -> None:
    from ticlm.core.settings import load

    folder = months(tmp_path / "texts", "201512", "201603")
    for last, periods in (("201603", 2), ("201604", 2), ("201605", 2), ("201606", 3)):
        months(folder, last, last)
        sets = [f"documents.paths=['{folder}']", f"periods.last={last}"]
        chosen = load(type(recipe(folder)), "monthly", "datasets/recipes", sets)
        assert len(build.build(chosen, str(tmp_path)).periods) == periods


def test_a_crawl_of_a_period_that_is_not_over_is_not_opened_and_said(loop: None, tmp_path: Path) -> None:
    folder = tmp_path / "crawl"
    folder.mkdir()
    for month in ("202301", "202304", "202305", "202307"):
        pages = [web.page(f"https://a.example/{month}/{n}", " ".join(map(str, range(40)))) for n in range(8)]
        (folder / f"CC-MAIN-{month}15120000-00000.warc.gz").write_bytes(web.gz(pages))
    documents = {"kind": "crawl", "paths": [str(folder)], "together": "url"}
    corpus, _ = built(folder, tmp_path, documents=documents, periods=QUARTERS | {"last": "202305"})
    assert build_records.builds(corpus.store)[0].unopened == {
        "of a period that is not over": 2,
        "of months outside the calendar": 1,
    }


def _shown(corpus: Corpus) -> str:
    console = Console(width=150, record=True, file=open(os.devnull, "w"))  # noqa: SIM115
    console.print(overview(corpus))
    return console.export_text()


def test_the_table_counts_what_is_in_no_period(loop: None, tmp_path: Path) -> None:
    folder = months(tmp_path / "texts", "202301", "202302")
    write(folder / "odd.jsonl", [dict(text, timestamp="soon") for text in texts_of("202301", 72)])
    calendar = {"initial": 202301, "last": 202301}
    corpus, _ = built(folder, tmp_path, periods=calendar, limits={"bad": 0.9})
    shown = _shown(corpus)
    assert re.search(r"no period +102 +102 +0", shown) and re.search(r"1 period +132 +102 +30", shown)
    assert "in no period: 30 outside the calendar, 72 unreadable date" in shown
    grown, _ = built(folder, tmp_path, periods=calendar | {"last": 202302}, limits={"bad": 0.9})
    assert "in no period: 72 unreadable date\n" in _shown(grown), "what was read twice counts once"


def test_a_month_without_text_is_mentioned(loop: None, tmp_path: Path) -> None:
    folder = months(tmp_path / "texts", "202301", "202306")
    for label in ("202302", "202304"):
        (folder / f"{label}.jsonl").unlink()
    _, lines = built(folder, tmp_path, periods={"initial": 202301, "last": 202306})
    assert "warning: no document is of 202302, 202304" in lines
    _, lines = built(months(folder, "202308", "202308"), tmp_path, periods={"initial": 202301, "last": 202312})
    assert "warning: no document is of 202307" in lines


def test_a_tokenizer_that_learns_from_little_says_so(loop: None, tmp_path: Path) -> None:
    folder = months(tmp_path / "texts", "202301", "202301", count=5)
    folder = months(folder, "202302", "202302", count=300)
    _, lines = built(folder, tmp_path, periods={"initial": 202301, "last": 202302})
    assert any(re.match(r"warning: the tokenizer learns 300 entries from [\d,]+ bytes", line) for line in lines)
    _, lines = built(folder, tmp_path / "more", periods={"initial": "202301..202302", "last": 202302})
    assert not any("the tokenizer learns" in line for line in lines)


def test_a_file_that_waits_and_cannot_be_read_for_a_while_keeps_its_period_open(loop: None, tmp_path: Path) -> None:
    whole, _ = built(months(tmp_path / "all", "202301", "202306"), tmp_path / "whole", periods=QUARTERS)
    folder, settings = months(tmp_path / "texts", "202301", "202305"), {"periods": QUARTERS, "limits": {"inputs": 0.5}}
    built(folder, tmp_path, **settings)
    write(folder / "empty.jsonl", [])
    with unreachable("202304.jsonl"):
        _, lines = built(folder, tmp_path, **settings)
        assert any("its documents still wait" in line and "202304.jsonl" in line for line in lines), lines
        months(folder, "202306", "202306")
        with pytest.raises(RunError, match=r"documents of 202304-202306 wait in \S+202304.jsonl, which cannot be read"):
            built(folder, tmp_path, **settings)
    assert hashes(built(folder, tmp_path, **settings)[0]) == hashes(whole)


def test_a_file_that_waits_and_has_grown_may_be_out_of_reach_for_a_while(loop: None, tmp_path: Path) -> None:
    folder, settings = months(tmp_path / "texts", "202301", "202303"), {"periods": QUARTERS, "limits": {"inputs": 0.5}}
    growing, april = folder / "growing.jsonl", texts_of("202304") + texts_of("202305")
    write(growing, april)
    write(folder / "other.jsonl", texts_of("202304", 5, seed=7))
    built(folder, tmp_path, **settings)
    write(growing, april + texts_of("202306", 10))
    (folder / "other.jsonl").touch()
    with unreachable("growing.jsonl"):
        _, lines = built(folder, tmp_path, **settings)
    assert any("its documents still wait" in line for line in lines), lines
    write(growing, april + texts_of("202306"))
    corpus, _ = built(folder, tmp_path, **settings)
    assert corpus.periods["202304-202306"].read == 95


def test_a_file_that_waits_and_is_gone_is_named(loop: None, tmp_path: Path) -> None:
    folder = months(tmp_path / "texts", "202301", "202305")
    built(folder, tmp_path, periods=QUARTERS)
    (folder / "202304.jsonl").unlink()
    months(folder, "202306", "202306")
    corpus, lines = built(folder, tmp_path, periods=QUARTERS)
    assert corpus.periods["202304-202306"].read == 60
    (line,) = [line for line in lines if "202304.jsonl is gone" in line]
    assert line.endswith("30 documents of 202304-202306 waited in it, and are not in the corpus")
