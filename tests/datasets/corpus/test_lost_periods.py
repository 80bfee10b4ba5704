"""Periods that were built and are not there any more are built again, to the same bytes, or the build says why not."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from builds import hashes
from months import built, interrupted, months, recipe, texts_of, unreachable, write
from rich.console import Console

from ticlm.core.corpus import Corpus
from ticlm.core.errors import InputError, RunError
from ticlm.core.store import Store
from ticlm.datasets.corpus import build_records
from ticlm.datasets.corpus.ledger.history import BuildHistory
from ticlm.datasets.corpus.show import overview
from ticlm.datasets.io.documents import Input
from ticlm.platform.run.check import check

CALENDAR = {"initial": "202301", "last": "202304"}
WINDOW = {"scope": "window", "window": 3, "expected_ngrams": 100_000}


def _months(folder: Path) -> Path:
    """Four months, with texts that stand in every month, so that a window of deduplication drops some."""
    months(folder, "202301", "202304")
    for month in range(1, 5):
        path = folder / f"20230{month}.jsonl"
        lasting = [
            dict(document, timestamp=f"2023-0{month}-03", url=f"{document['url']}/{month}")
            for document in texts_of("202212", 6)
        ]
        write(path, [*map(json.loads, path.read_text().splitlines()), *lasting])
    return folder


@pytest.mark.parametrize(
    ("deduplicate", "lost", "how"),
    [
        (None, ("202301",), "folder"),
        (None, ("202302", "202304"), "record"),
        (WINDOW, ("202301",), "folder"),
        (WINDOW, ("202303",), "record"),
        (WINDOW, ("202302", "202304"), "folder"),
        (WINDOW, ("202301", "202302", "202303", "202304"), "folder"),
    ],
)
def test_a_lost_period_is_built_again_and_the_others_stay(
    loop: None, tmp_path: Path, deduplicate: dict[str, Any] | None, lost: tuple[str, ...], how: str
) -> None:
    folder = _months(tmp_path / "texts")
    corpus, _ = built(folder, tmp_path, periods=CALENDAR, deduplicate=deduplicate)
    expected, filters = hashes(corpus), corpus.store.folders("dedup/train/0")
    for label in lost:
        corpus.store.remove(f"periods/{label}" + ("/record.json" if how == "record" else ""))
    before = {path: path.stat().st_mtime_ns for path in tmp_path.glob("corpora/*/periods/*/record.json")}
    again, _ = built(folder, tmp_path, periods=CALENDAR, deduplicate=deduplicate)
    assert hashes(again) == expected
    assert {path: path.stat().st_mtime_ns for path in before} == before
    record = build_records.builds(again.store)[1]
    assert tuple(record.periods) == lost and record.late == {}
    assert again.store.folders("dedup/train/0") == filters
    assert built(folder, tmp_path, periods=CALENDAR, deduplicate=deduplicate)[1] == ["toy@1: nothing new"]


@pytest.mark.parametrize("damage", ["shard", "record"])
def test_a_damaged_period_is_built_again_as_its_message_says(loop: None, tmp_path: Path, damage: str) -> None:
    folder = _months(tmp_path / "texts")
    corpus, _ = built(folder, tmp_path, periods=CALENDAR)
    expected, uri = hashes(corpus), corpus.store.uri()
    file = Path(uri, corpus.files("202302", "train")[0] if damage == "shard" else "periods/202302/record.json")
    data = bytearray(file.read_bytes())
    data[data.index(b"\x28\xb5\x2f\xfd") + 20 if damage == "shard" else 60] ^= 1  # in the first page's zstd frame
    file.write_bytes(data)
    with pytest.raises(InputError, match=r"; remove \S+ and append it again with ticlm data build RECIPE$") as caught:
        list(Corpus.open(uri).rows("202302", "train").all(64))
    removed = str(caught.value).split("; remove ")[1].split(" ")[0]
    Store(removed).remove("")
    assert removed == f"{uri}/periods/202302"
    again, _ = built(folder, tmp_path, periods=CALENDAR)
    assert hashes(again) == expected
    assert sum(len(block["tokens"]) for block in again.rows("202302", "train").all(64)) > 0


@pytest.mark.parametrize("name", ["corpus.json", "builds/00000.json"])
def test_a_corpus_whose_description_is_damaged_is_built_again(loop: None, tmp_path: Path, name: str) -> None:
    folder = _months(tmp_path / "texts")
    corpus, _ = built(folder, tmp_path, periods=CALENDAR)
    expected, uri, file = hashes(corpus), corpus.store.uri(), Path(corpus.store.path(name))
    file.write_text(file.read_text().replace("toy" if name == "corpus.json" else "202302", "tox", 1))
    remedy = f"restore it from a copy, or remove {uri} and build it again with ticlm data build RECIPE"
    said = rf"^{file} is damaged \(its own hash differs\); {remedy}$"
    with pytest.raises(InputError, match=said):
        built(folder, tmp_path, periods=CALENDAR)
    assert any(re.search(said, line) for line in check(corpus.store)[1])
    Store(uri).remove("")
    assert hashes(built(folder, tmp_path, periods=CALENDAR)[0]) == expected


def test_the_record_of_a_filter_that_is_damaged_asks_for_a_new_version(loop: None, tmp_path: Path) -> None:
    """Without its record an older filter would be taken, or none: what repeats would stay in."""
    folder, window = _months(tmp_path / "texts"), WINDOW | {"window": 10}
    corpus, _ = built(folder, tmp_path, periods=CALENDAR | {"last": "202303"}, deduplicate=window)
    record = max(Path(corpus.store.uri()).glob("dedup/train/*/*/record.json"))
    record.write_bytes(record.read_bytes().replace(b'"probes": ', b'"probes": 1', 1))
    with pytest.raises(InputError, match=f"^{record} is damaged .*; build a new version of the corpus$"):
        built(folder, tmp_path, periods=CALENDAR, deduplicate=window)


def test_new_months_join_a_window_that_was_built_again(loop: None, tmp_path: Path) -> None:
    folder = _months(tmp_path / "texts")
    window = WINDOW | {"window": 10}
    whole, _ = built(folder, tmp_path / "whole", periods=CALENDAR, deduplicate=window)
    corpus, _ = built(folder, tmp_path, periods=CALENDAR | {"last": "202303"}, deduplicate=window)
    corpus.store.remove("periods/202302")
    assert hashes(built(folder, tmp_path, periods=CALENDAR, deduplicate=window)[0]) == hashes(whole)


def test_what_came_late_stays_out_of_a_period_that_is_built_again(loop: None, tmp_path: Path) -> None:
    folder = _months(tmp_path / "texts")
    corpus, _ = built(folder, tmp_path, periods=CALENDAR)
    expected = hashes(corpus)
    write(folder / "late.jsonl", texts_of("202302", 7, seed=1))
    built(folder, tmp_path, periods=CALENDAR)
    corpus.store.remove("periods/202302")
    (folder / "202303.jsonl").touch()  # is read again beside it
    assert hashes(built(folder, tmp_path, periods=CALENDAR)[0]) == expected


@pytest.mark.parametrize(("deduplicate", "second"), [(None, "202302"), (WINDOW, "202302"), (WINDOW, "202303")])
def test_a_period_is_built_again_as_often_as_it_is_lost(
    loop: None, tmp_path: Path, deduplicate: dict[str, Any] | None, second: str
) -> None:
    folder = _months(tmp_path / "texts")
    corpus, _ = built(folder, tmp_path, periods=CALENDAR, deduplicate=deduplicate)
    expected = hashes(corpus)
    write(folder / "late.jsonl", texts_of("202302", 7, seed=1))
    for label in ("202302", second, "202302"):
        corpus.store.remove(f"periods/{label}")
        write(folder / "202304.jsonl", [*texts_of("202304"), *texts_of("202302", 5, seed=2)])  # holds some of it now
        assert hashes(built(folder, tmp_path, periods=CALENDAR, deduplicate=deduplicate)[0]) == expected


def test_a_build_that_was_interrupted_is_finished_under_the_calendar_that_it_began_with(
    loop: None, tmp_path: Path
) -> None:
    folder = _months(tmp_path / "texts")
    corpus, _ = built(folder, tmp_path, periods=CALENDAR)
    expected = hashes(corpus)
    write(folder / "late.jsonl", texts_of("202304", 7, seed=1))
    corpus.store.remove("periods/202304")
    interrupted(folder, tmp_path, periods=CALENDAR)
    for again in (CALENDAR | {"last": "202303"}, CALENDAR):
        corpus, _ = built(folder, tmp_path, periods=again)
        assert hashes(corpus) == expected and corpus.periods["202304"].read == 36
        assert build_records.builds(corpus.store)[1].late == {"202304": 7}
        corpus.store.remove("periods/202304")
    assert hashes(built(folder, tmp_path, periods=CALENDAR)[0]) == expected


def test_a_build_that_was_interrupted_needs_no_input_any_more(loop: None, tmp_path: Path) -> None:
    folder = _months(tmp_path / "texts")
    corpus, _ = built(folder, tmp_path, periods=CALENDAR)
    expected = hashes(corpus)
    corpus.store.remove("periods/202302")
    interrupted(folder, tmp_path, periods=CALENDAR)
    (folder / "202302.jsonl").unlink()
    assert hashes(built(folder, tmp_path, periods=CALENDAR)[0]) == expected


def test_no_period_is_built_before_one_of_its_window_that_is_lost_and_out_of_reach(loop: None, tmp_path: Path) -> None:
    """The texts of November stand in both months of the second window."""
    calendar, window = {"initial": "202212", "last": "202303"}, WINDOW | {"window": 2}
    folder = months(tmp_path / "texts", "202212", "202303")
    for month in (2, 3):
        path = folder / f"20230{month}.jsonl"
        lasting = [dict(one, timestamp=f"2023-0{month}-04", url=f"{one['url']}/{month}") for one in texts_of("202211")]
        write(path, [*map(json.loads, path.read_text().splitlines()), *lasting])
    (folder / "202302.jsonl").rename(tmp_path / "aside")
    corpus, _ = built(folder, tmp_path, periods=calendar, deduplicate=window)
    expected = hashes(corpus)
    corpus.store.remove("periods/202303")
    (tmp_path / "aside").rename(folder / "202302.jsonl")
    corpus, _ = built(folder, tmp_path, periods=calendar | {"last": "202302"}, deduplicate=window)
    assert build_records.builds(corpus.store)[1].dropped == {build_records.AFTER_LATER: 60}
    assert hashes(built(folder, tmp_path, periods=calendar, deduplicate=window)[0]) == expected


def test_an_input_that_cannot_be_read_now_is_not_said_to_have_changed(loop: None, tmp_path: Path) -> None:
    folder, settings = _months(tmp_path / "texts"), {"periods": CALENDAR, "limits": {"inputs": 0.6}}
    write(folder / "beside.jsonl", texts_of("202302", 5, seed=4))
    corpus, _ = built(folder, tmp_path, **settings)
    expected = hashes(corpus)
    corpus.store.remove("periods/202302")
    with (
        unreachable("202302.jsonl"),
        pytest.raises(RunError, match=r"202302 is built again, and needs .* server is down"),
    ):
        built(folder, tmp_path, **settings)
    assert hashes(built(folder, tmp_path, **settings)[0]) == expected


def test_an_input_that_could_not_be_read_once_is_followed_again_after_it_was_read(loop: None, tmp_path: Path) -> None:
    folder, settings = _months(tmp_path / "texts"), {"limits": {"inputs": 0.6}}
    built(folder, tmp_path, periods=CALENDAR, **settings)
    (folder / "202302.jsonl").touch()
    write(folder / "more.jsonl", texts_of("202304", 3, seed=9))
    with unreachable("202302.jsonl"):
        corpus, _ = built(folder, tmp_path, periods=CALENDAR, **settings)
    corpus.store.remove("periods/202302")
    built(folder, tmp_path, periods=CALENDAR, **settings)
    documents = [*map(json.loads, (folder / "202302.jsonl").read_text().splitlines()), *texts_of("202305", 20)]
    write(folder / "202302.jsonl", documents)
    corpus, _ = built(folder, tmp_path, periods=CALENDAR | {"last": "202305"}, **settings)
    assert corpus.periods["202305"].read == 20


def test_a_period_whose_inputs_changed_is_not_built_into_something_else(loop: None, tmp_path: Path) -> None:
    folder = _months(tmp_path / "texts")
    corpus, _ = built(folder, tmp_path, periods=CALENDAR)
    expected = hashes(corpus)
    corpus.store.remove("periods/202302")
    old = (folder / "202302.jsonl").read_bytes()
    write(folder / "202302.jsonl", texts_of("202302", 36, seed=3))
    with pytest.raises(InputError, match=r"202302 is lost and cannot be built again: .*202302.jsonl .*has changed"):
        built(folder, tmp_path, periods=CALENDAR)
    (folder / "202302.jsonl").unlink()
    with pytest.raises(InputError, match=r"202302 is lost and cannot be built again: .*202302.jsonl .*is gone"):
        built(folder, tmp_path, periods=CALENDAR)
    (folder / "202302.jsonl").write_bytes(old)
    assert hashes(built(folder, tmp_path, periods=CALENDAR)[0]) == expected


def test_records_of_older_builds_are_enough_to_build_a_period_again(loop: None, tmp_path: Path) -> None:
    folder = _months(tmp_path / "texts")
    corpus, _ = built(folder, tmp_path, periods=CALENDAR)
    expected, path = hashes(corpus), "builds/00000.json"
    later = ("accounts", "waiting", "broken", "sha256")
    kept = {k: v for k, v in corpus.store.read_json(path).items() if k not in later}
    corpus.store.write(path, json.dumps(kept).encode())
    corpus.store.remove("periods/202303")
    assert hashes(built(folder, tmp_path, periods=CALENDAR)[0]) == expected


def test_a_lost_period_after_the_end_of_the_calendar_is_said(loop: None, tmp_path: Path) -> None:
    folder = _months(tmp_path / "texts")
    corpus, _ = built(folder, tmp_path, periods=CALENDAR)
    corpus.store.remove("periods/202304")
    _, lines = built(folder, tmp_path, periods=CALENDAR | {"last": "202303"})
    assert any("202304 was built and is not there" in line and "periods.last" in line for line in lines)


def test_the_overview_does_not_count_periods_that_are_not_there(loop: None, tmp_path: Path) -> None:
    folder = _months(tmp_path / "texts")
    corpus, _ = built(folder, tmp_path, periods=CALENDAR)
    corpus.store.remove("periods/202302")
    console = Console(width=150, record=True, file=open(os.devnull, "w"))  # noqa: SIM115
    console.print(overview(Corpus.open(corpus.store.uri())))
    shown = console.export_text()
    assert "202302 was built and is not there" in shown
    assert "144 in 4 periods" not in shown


def test_a_lost_period_is_built_again_of_an_input_that_could_not_be_read_later(loop: None, tmp_path: Path) -> None:
    folder = _months(tmp_path / "texts")
    corpus, _ = built(folder, tmp_path, periods=CALENDAR)
    expected, first = hashes(corpus), corpus.store.read_json("builds/00000.json")
    (path,) = (entry["path"] for entry in first["inputs"] if "202302" in entry["path"])
    nothing: dict[str, Any] = {"inputs": [], "read": 0, "periods": {}, "dropped": {}, "accounts": {}, "sha256": None}
    later = first | nothing | {"number": 1, "unread": {path: "the process died"}}
    corpus.store.write("builds/00001.json", json.dumps(later).encode())
    corpus.store.remove("periods/202302")
    assert hashes(built(folder, tmp_path, periods=CALENDAR)[0]) == expected


def test_a_build_that_is_refused_keeps_the_filters_of_a_window(loop: None, tmp_path: Path) -> None:
    folder, window = _months(tmp_path / "texts"), WINDOW | {"window": 10}
    corpus, _ = built(folder, tmp_path, periods=CALENDAR, deduplicate=window)
    lost, aside = Path(corpus.store.uri(), "periods/202304"), tmp_path / "aside"
    lost.rename(aside)
    write(folder / "202302.jsonl", texts_of("202302", 36, seed=3))
    with pytest.raises(InputError, match=r"202304 is lost and cannot be built again"):
        built(folder, tmp_path, periods=CALENDAR, deduplicate=window)
    aside.rename(lost)
    months(folder, "202305", "202305")
    grown, _ = built(folder, tmp_path, periods=CALENDAR | {"last": "202305"}, deduplicate=window)
    assert list(grown.periods)[-1] == "202305"


def test_the_inputs_of_a_period_are_listed_once(loop: None, tmp_path: Path) -> None:
    folder = _months(tmp_path / "texts")
    corpus, _ = built(folder, tmp_path, periods=CALENDAR)
    history = BuildHistory.of(corpus.store, recipe(folder, periods=CALENDAR))
    listed = 0

    class Inputs(tuple[Input, ...]):
        def __iter__(self) -> Iterator[Input]:
            nonlocal listed
            listed += 1
            return super().__iter__()

    record = history.records[0].model_copy(update={"inputs": Inputs(history.records[0].inputs)})
    counted = BuildHistory(history.recipe, [record], history.built)
    assert record.periods and all(counted.entries(label) for label in record.periods for _ in range(9))
    assert 0 < listed <= len(record.periods)
