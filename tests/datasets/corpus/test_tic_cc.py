"""From web archives to held-out sets: months, splits, duplicates, subsets and contamination of whole builds."""

from __future__ import annotations

import contextlib
import gzip
import itertools
import json
import os
import random
import signal
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import web
from builds import hashes, started, without_ray
from paths import SHARED

from ticlm.core.corpus import Corpus
from ticlm.core.errors import InputError, RunError
from ticlm.core.integrity.files import verify
from ticlm.core.settings import load
from ticlm.datasets.corpus import build, build_records
from ticlm.datasets.corpus.pack import BEYOND, TAIL, TOKEN_REASONS
from ticlm.datasets.corpus.periods_build import PeriodsBuild
from ticlm.datasets.corpus.recipe import FOLDER, CorpusRecipe
from ticlm.datasets.corpus.splits import GlobalShards
from ticlm.datasets.dedup.settings import DUPLICATE

REAL = SHARED
WORDS = [f"{a}{b}{c}" for a in "bdfgklmnprst" for b in "aeiou" for c in ("n", "r", "st", "lk")]
HOSTS = ("en.wikipedia.org", "www.bbc.co.uk", "blog.example", "shop.example")
MONTHS = ("202301", "202302", "202303")


def sentence(rng: random.Random) -> str:
    return "The " + " ".join(rng.choices(WORDS, k=24)) + " and that is of use to all."


def texts(month: str) -> dict[str, str]:
    """Pages of a month by url. Some stand on every site in every month; some are the page before with a new end."""
    rng = random.Random(month)
    lasting = random.Random("lasting")
    found = {}
    for number in range(40):
        host = HOSTS[number % len(HOSTS)]
        paragraphs = [sentence(rng) for _ in range(5)]
        if number % 5 == 0:
            paragraphs = [sentence(lasting) for _ in range(5)]  # the same in every month
        if number % 7 == 0:
            paragraphs.append(sentence(random.Random("footer")))  # the same on several pages
        found[f"https://{host}/{month if number % 5 else ''}/{number}"] = "\n".join(paragraphs)
    return found


def archive(month: str, pages: dict[str, str], part: int = 0) -> tuple[str, bytes]:
    """A file of a crawl: its name, which holds the month, and its bytes."""
    date = f"{month[:4]}-{month[4:]}-15T12:00:00Z"
    records = [web.record("warcinfo", b"software: none\r\n", date=date)]
    for url, text in pages.items():
        plain = web.answer(text.encode(), Content_Type="text/plain; charset=utf-8")
        records.append(web.record("response", plain, url, date, Content_Type="application/http; msgtype=response"))
    return f"CC-MAIN-{month}15120000-{month}16120000-{part:05d}.warc.gz", web.gz(records)


def crawl(folder: Path, parts: int = 4) -> Path:
    """The pages of all months in files, as a crawl leaves them."""
    folder.mkdir()
    for month in MONTHS:
        pages = list(texts(month).items())
        for part in range(parts):
            name, data = archive(month, dict(pages[part::parts]), part)
            (folder / name).write_bytes(data)
    return folder


def recipe(paths: Any, *sets: str, name: str = "tic-cc") -> CorpusRecipe:
    """A packaged recipe at the size of a toy."""
    small = [
        f"documents.paths={json.dumps(paths)}",
        "documents.together=url",
        "periods={initial: 202301, last: 202303}",
        "splits={eval: 0.3, tune: 0.1}",
        "filters=[{kind: newlines}, {kind: word_count, min: 20}, {kind: stop_words}]",
        "tokenizer={kind: train, vocab_size: 300}",
        "length=16",
    ]
    return load(CorpusRecipe, name, FOLDER, [*small, *sets])


def sound(corpus: Corpus) -> None:
    """Every record read is kept or dropped for a reason, in the period, and step by step."""
    for record in build_records.builds(corpus.store):
        assert record.read == sum(t.read for t in record.periods.values()) + sum(record.dropped.values())
    for label, manifest in corpus.periods.items():
        assert verify(corpus.store, f"periods/{label}") == []
        kept = sum(manifest.splits[split].documents for split in ("train", "eval", "tune"))
        dropped = sum(count for reason, count in manifest.dropped.items() if reason not in TOKEN_REASONS)
        assert manifest.read == kept + dropped
        steps = manifest.accounting.steps
        assert steps[0].read == manifest.read and steps[-1].kept == kept
        assert all(before.kept == after.read for before, after in itertools.pairwise(steps))
    assert corpus.store.folders("staging") == []


def rows(corpus: Corpus, period: str, split: str) -> list[str]:
    reader = corpus.rows(period, split)
    tokenizer = corpus.tokenizer()
    return [str(tokenizer.decode(row)) for row in reader.take(np.arange(len(reader)))["tokens"]]


def test_months_come_back_as_they_went_in(loop: None, tmp_path: Path) -> None:
    corpus = build.build(recipe(str(crawl(tmp_path / "crawl")), "deduplicate=null", "held_out={}"), str(tmp_path))
    sound(corpus)
    assert list(corpus.periods) == list(MONTHS)
    for month, manifest in corpus.periods.items():
        assert manifest.read == 40 + 4 and manifest.dropped["record of type warcinfo"] == 4
        size = sum(len(text.encode()) for text in texts(month).values())
        assert sum(split.bytes for split in manifest.splits.values()) == size


def test_a_month_is_that_of_the_file_and_not_of_the_page(loop: None, tmp_path: Path) -> None:
    (tmp_path / "crawl").mkdir()
    _, data = archive("202302", texts("202302"))
    for name in (archive("202301", {})[0], archive("202312", {})[0]):
        (tmp_path / "crawl" / name).write_bytes(data)
    by_file = recipe(str(tmp_path / "crawl"), "deduplicate=null", "held_out={}")
    corpus = build.build(by_file, str(tmp_path / "a"))
    assert list(corpus.periods) == ["202301"] and corpus.periods["202301"].read == 41
    (record,) = build_records.builds(corpus.store)
    assert len(record.inputs) == 1, "a file of a month outside the calendar was read"
    assert record.unopened == {"of months outside the calendar": 1}
    by_record = recipe(str(tmp_path / "crawl"), "deduplicate=null", "held_out={}", "documents.dated=record")
    assert list(build.build(by_record, str(tmp_path / "b")).periods) == ["202302"]


def test_the_bytes_do_not_depend_on_how_the_work_is_cut(
    loop: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = build.build(recipe(str(crawl(tmp_path / "crawl"))), str(tmp_path / "a"))
    sound(one)
    monkeypatch.setattr("ticlm.datasets.corpus.staging.RUN_BYTES", 5000)
    monkeypatch.setattr("ticlm.datasets.corpus.sorted_runs.GROUP_BYTES", 900)
    monkeypatch.setattr("ticlm.datasets.corpus.parts.PART_BYTES", 4000)
    monkeypatch.setattr("ticlm.datasets.corpus.merge.FAN_IN", 3)
    other = build.build(recipe(str(crawl(tmp_path / "other", parts=7))), str(tmp_path / "b"))
    sound(other)
    assert hashes(other) == hashes(one)
    assert one.periods["202301"].accounting.deduplication == other.periods["202301"].accounting.deduplication


def test_within_a_month_pages_of_other_months_stay_and_in_a_window_they_go(loop: None, tmp_path: Path) -> None:
    folder = str(crawl(tmp_path / "crawl"))
    window = "deduplicate={scope: window, window: 2, expected_ngrams: 100000}"
    local = build.build(recipe(folder), str(tmp_path))
    windowed = build.build(recipe(folder, window, "name=windowed"), str(tmp_path))
    for corpus in (local, windowed):
        sound(corpus)
    assert hashes(local)["202301/train"] == hashes(windowed)["202301/train"]
    assert local.info.tokenizer == windowed.info.tokenizer
    lasting = {month: [c.periods[month].dropped.get(DUPLICATE, 0) for c in (local, windowed)] for month in MONTHS}
    assert lasting["202301"] == [0, 0]
    assert lasting["202302"] == [0, 8], "the pages that stand in every month are in the window"
    assert lasting["202303"] == [0, 0], "the window began anew"


def test_a_window_goes_on_over_builds(loop: None, tmp_path: Path) -> None:
    folder = str(crawl(tmp_path / "crawl"))
    window = "deduplicate={scope: window, window: 10, expected_ngrams: 100000}"
    whole = build.build(recipe(folder, window), str(tmp_path / "whole"))
    for last in ("202301", "202302", "202303"):
        grown = build.build(
            recipe(folder, window, f"periods={{initial: 202301, last: {last}}}"), str(tmp_path / "grown")
        )
        assert grown.store.folders("dedup/train/0") == [last]
    assert hashes(grown) == hashes(whole)
    assert whole.periods["202303"].dropped[DUPLICATE] == 8


def test_a_window_never_looks_back_from_a_later_month(loop: None, tmp_path: Path) -> None:
    folder = crawl(tmp_path / "crawl")
    february = [path for path in folder.iterdir() if "-202302" in path.name]
    (tmp_path / "aside").mkdir()
    for path in february:
        path.rename(tmp_path / "aside" / path.name)
    window = "deduplicate={scope: window, window: 10, expected_ngrams: 100000}"
    build.build(recipe(str(folder), window), str(tmp_path))
    for path in (tmp_path / "aside").iterdir():
        path.rename(folder / path.name)
    corpus = build.build(recipe(str(folder), window), str(tmp_path))
    assert list(corpus.periods) == ["202301", "202303"]
    assert build_records.builds(corpus.store)[1].dropped == {build_records.AFTER_LATER: 44}


def test_a_lost_filter_of_a_window_stops_the_build(loop: None, tmp_path: Path) -> None:
    folder = str(crawl(tmp_path / "crawl"))
    window = "deduplicate={scope: window, window: 10, expected_ngrams: 100000}"
    corpus = build.build(recipe(folder, window, "periods={initial: 202301, last: 202302}"), str(tmp_path))
    corpus.store.remove("dedup")
    with pytest.raises(RunError, match="no filter, though periods of this window are built"):
        build.build(recipe(folder, window), str(tmp_path))


def test_a_filter_that_an_abandoned_attempt_left_is_not_used(
    loop: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = crawl(tmp_path / "crawl")
    window = "deduplicate={scope: window, window: 10, expected_ngrams: 100000}"
    with monkeypatch.context() as patch, pytest.raises(Stopped):
        patch.setattr(PeriodsBuild, "_info", stop)
        build.build(recipe(str(folder), window), str(tmp_path / "root"))
    for path in folder.glob("*-202301*"):
        path.unlink()
    later = recipe(str(folder), window, "periods={initial: 202302, last: 202303}")
    corpus = build.build(later, str(tmp_path / "root"))
    assert hashes(corpus) == hashes(build.build(later, str(tmp_path / "clean")))


def test_a_filter_that_holds_more_than_it_was_sized_for_stops_the_build(loop: None, tmp_path: Path) -> None:
    folder = str(crawl(tmp_path / "crawl"))
    with pytest.raises(RunError, match=r"expected_ngrams: with \w+ of 20230\d the filter holds more than the 900 n-g"):
        build.build(recipe(folder, "deduplicate={scope: window, expected_ngrams: 900}"), str(tmp_path))


def test_the_filters_of_a_window_are_sized_for_the_shares_of_the_splits(loop: None, tmp_path: Path) -> None:
    folder = str(crawl(tmp_path / "crawl"))
    window = "deduplicate={scope: window, expected_ngrams: 100000}"
    corpus = build.build(recipe(folder, window, "splits={eval: 0.2, tune: 0.05}"), str(tmp_path))
    for manifest in corpus.periods.values():
        sizes = {d.split: d.filter_bytes for d in manifest.accounting.deduplication}
        assert sizes["eval"] / sizes["train"] == pytest.approx(2 * 0.2 / 0.75, rel=0.01)
        assert sizes["tune"] / sizes["train"] == pytest.approx(2 * 0.05 / 0.75, rel=0.01)


class Stopped(BaseException):
    """A kill, without a kill."""


def stop(*_: Any) -> None:
    raise Stopped


def test_a_build_that_was_stopped_while_it_tidied_up_is_done(
    loop: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    chosen = recipe(str(crawl(tmp_path / "crawl")))
    with monkeypatch.context() as patch, pytest.raises(Stopped):
        patch.setattr(build._Build, "_tidy", stop)
        build.build(chosen, str(tmp_path))
    corpus = build.build(chosen, str(tmp_path))
    sound(corpus)
    assert len(build_records.builds(corpus.store)) == 1


def test_a_first_period_without_train_text_can_be_helped_by_more_files(loop: None, tmp_path: Path) -> None:
    folder = crawl(tmp_path / "crawl")
    january = {path: path.read_bytes() for path in folder.glob("*-202301*")}
    for path in january:
        path.write_bytes(archive("202301", {})[1])
    with pytest.raises(InputError, match="no text in its train split"):
        build.build(recipe(str(folder)), str(tmp_path))
    for path, data in january.items():
        path.write_bytes(data)
    sound(build.build(recipe(str(folder)), str(tmp_path)))


def test_repeated_paragraphs_go_from_pages_that_stay(loop: None, tmp_path: Path) -> None:
    corpus = build.build(recipe(str(crawl(tmp_path / "crawl"))), str(tmp_path))
    (train,) = [d for d in corpus.periods["202301"].accounting.deduplication if d.split == "train"]
    footers = " ".join(rows(corpus, "202301", "train")).count(sentence(random.Random("footer"))[:60])
    assert train.documents_dropped == 0 and train.paragraphs_dropped == train.documents_edited > 0
    assert footers <= 1, "only the first page keeps the footer that several have"
    assert train.measured_rate == pytest.approx(train.expected_rate, abs=0.005)


def test_held_out_sets_are_whole_rows_of_their_hosts(loop: None, tmp_path: Path) -> None:
    corpus = build.build(recipe(str(crawl(tmp_path / "crawl"))), str(tmp_path))
    manifest = corpus.periods["202302"]
    expected = {"train"} | {f"{split}{part}{clean}" for split in ("eval", "tune") for part in ("", ".wiki", ".news")
                            for clean in ("", ".clean")}  # fmt: skip
    assert set(manifest.splits) == expected
    chosen = recipe("x")
    mine = [u for u in texts("202302") if chosen.splits.of(u) == "eval" and "wikipedia" in u]
    assert manifest.splits["eval.wiki"].documents == len(mine) > 0
    assert manifest.splits["eval.wiki"].documents < manifest.splits["eval"].documents
    wiki = " ".join(rows(corpus, "202302", "eval.wiki"))
    other = [t for u, t in texts("202302").items() if "wikipedia" not in u and u not in mine]
    assert not any(text.split("\n")[0][:40] in wiki for text in other)
    assert set(manifest.accounting.subsets) == {"", "news", "wiki"}
    assert sum(manifest.accounting.subsets.values()) == manifest.accounting.tokens
    hosts = {host.name for host in manifest.accounting.hosts}
    assert hosts == {"en.wikipedia.org", "bbc.co.uk", "blog.example", "shop.example"}


def test_a_held_out_set_has_at_most_its_rows_and_says_what_it_left(loop: None, tmp_path: Path) -> None:
    folder = str(crawl(tmp_path / "crawl"))
    whole = build.build(recipe(folder, "held_out={}"), str(tmp_path / "a"))
    some = build.build(recipe(folder, "held_out={rows: 5}"), str(tmp_path / "b"))
    for month in MONTHS:
        assert some.split(month, "eval").rows == 5 and some.split(month, "train") == whole.split(month, "train")
        left = sum(whole.split(month, name).rows - some.split(month, name).rows for name in ("eval", "tune"))
        assert some.periods[month].dropped[BEYOND] == left * 17
        assert some.periods[month].dropped[TAIL] == whole.periods[month].dropped[TAIL]
        assert set(rows(some, month, "eval")) <= set(rows(whole, month, "eval"))


def test_a_clean_set_holds_nothing_that_was_trained_on(loop: None, tmp_path: Path) -> None:
    (tmp_path / "crawl").mkdir()
    chosen = recipe("x")
    pages = texts("202301")
    train = [u for u in pages if chosen.splits.of(u) == "train"]
    held_out = [u for u in pages if chosen.splits.of(u) == "eval"]
    pages[held_out[0]] = pages[train[0]]  # a whole page
    pages[held_out[1]] += "\n" + pages[train[1]].split("\n")[0]  # a paragraph
    name, data = archive("202301", pages)
    (tmp_path / "crawl" / name).write_bytes(data)
    corpus = build.build(recipe(str(tmp_path / "crawl")), str(tmp_path))
    sound(corpus)
    (overlap,) = [o for o in corpus.periods["202301"].accounting.overlap if o.split == "eval"]
    assert overlap.documents == len(held_out) and overlap.documents_dropped == 1
    splits = corpus.periods["202301"].splits
    assert splits["eval.clean"].documents == len(held_out) - 1
    before, after = (" ".join(rows(corpus, "202301", split)) for split in ("eval", "eval.clean"))
    leaked = pages[train[1]].split("\n")[0][:30]
    assert leaked in before and leaked not in after


def test_global_shards_put_files_as_a_whole_into_one_split(loop: None, tmp_path: Path) -> None:
    folder = crawl(tmp_path / "crawl", parts=20)
    shards = "splits={global_shards: 5, train: 1, eval: 5, tune: 2}"
    corpus = build.build(
        recipe(str(folder), shards, "documents.together=file", "deduplicate=null", "held_out={}"), str(tmp_path)
    )
    sound(corpus)
    (record,) = build_records.builds(corpus.store)
    splits = GlobalShards(global_shards=5, train=1, eval=5, tune=2)
    used = {path.name: splits.of(path.name.removesuffix(".warc.gz")) for path in folder.iterdir()}
    assert {Path(entry.path).name for entry in record.inputs} == {name for name, split in used.items() if split}
    assert record.unopened == {"of global shards that are not used": list(used.values()).count(None)}
    for month in MONTHS:
        for split in ("train", "eval", "tune"):
            files = [name for name, found in used.items() if found == split and month in name]
            assert corpus.split(month, split).documents == 2 * len(files)


def test_the_papers_months_shards_and_windows() -> None:
    tic_cc = load(CorpusRecipe, "tic-cc", FOLDER, ["documents.paths=x"])
    assert len(tic_cc.periods.timeline()) == 114
    windowed = load(CorpusRecipe, "tic-cc-windowed", FOLDER, ["documents.paths=x"])
    assert windowed.deduplicate is not None
    windows = Counter(windowed.deduplicate.window_of(windowed.position(m)) for m in windowed.periods.timeline().labels)
    assert sorted(windows.values()) == [4, *[10] * 11]
    firsts = [m for m in windowed.periods.timeline().labels if windowed.position(m) % 10 == 0]
    expected = "201305 201501 201602 201702 201712 201810 201908 202006 202104 202205 202303 202404"
    assert " ".join(firsts) == expected
    names = [f"CC-MAIN-20240517233122-20240518023122-{n:05d}" for n in range(90_000)]
    counts = Counter(tic_cc.splits.of(name) for name in names)
    assert all(abs(counts[split] - 9000) < 400 for split in ("train", "eval", "tune"))
    assert tic_cc.held_out.rows == 8192 and tic_cc.held_out.rows * tic_cc.length == 16_777_216


def test_lineage_names_inputs_settings_and_code(loop: None, tmp_path: Path) -> None:
    chosen = recipe(str(crawl(tmp_path / "crawl")))
    corpus = build.build(chosen, str(tmp_path))
    lineage = corpus.periods["202302"].lineage
    assert [Path(path).name for path in lineage.inputs] == sorted(archive("202302", {}, part)[0] for part in range(4))
    assert CorpusRecipe.model_validate_json(lineage.recipe) == chosen
    assert {"ticlm", "fastwarc", "resiliparse", "tokenizers", "ticlm.datasets"} <= set(lineage.code)


def test_a_filter_that_would_be_too_large_is_refused_before_anything_is_judged(loop: None, tmp_path: Path) -> None:
    folder = str(crawl(tmp_path / "crawl"))
    with pytest.raises(
        RunError, match=r"filter_bytes: train of 20230\d needs a filter of [\d,]+ bytes for [\d,]+ n-grams"
    ):
        build.build(recipe(folder, "limits={filter_bytes: 100}"), str(tmp_path))
    assert build.build(recipe(folder, "limits={filter_bytes: 100000}"), str(tmp_path)).periods


@pytest.mark.parametrize(
    "sets, message",
    [
        (["held_out.subsets=[clean]"], "none may be clean"),
        (["held_out.subsets=[wkii]"], "documents.subsets has wiki, news, not wkii"),
        (["deduplicate=null"], "held_out.clean needs deduplicate"),
        (["deduplicate={scope: window}"], "expected_ngrams is required"),
        (["splits={global_shards: 3}"], "three shards of 1 to 3"),
        (["documents={kind: crawl}"], "give paths"),
        (["filters=[refinedwebs]"], "filters"),
        (["deduplicate.threshold=1.5"], "less than or equal to 1"),
    ],
)
def test_what_cannot_be_is_refused_in_one_line(sets: list[str], message: str) -> None:
    with pytest.raises(InputError, match=message) as error:
        recipe("x", *sets)
    assert "\n" not in str(error.value)


def test_files_that_cannot_be_read_are_left_and_tried_again(
    loop: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = crawl(tmp_path / "crawl")
    whole = build.build(recipe(str(folder)), str(tmp_path / "disk"))
    files = {path.name: path.read_bytes() for path in folder.iterdir()}
    with web.served(files) as site, impatient(monkeypatch):
        listed = tmp_path / "paths.gz"
        listed.write_bytes(gzip.compress("\n".join(sorted(files)).encode()))
        remote = recipe([], f"documents.lists=[{listed}]", f"documents.base={site.url}/")
        lost = sorted(files)[5]
        data = site.files.pop(lost)
        with pytest.raises(RunError, match=r"1 of 12 inputs could not be read.*404.*run it again to go on"):
            build.build(remote, str(tmp_path / "web"))
        site.files[lost] = data
        site.requests.clear()
        site.faults += ["503", "close", "short", "503"]
        corpus = build.build(remote, str(tmp_path / "web"))
        assert len(site.gets()) <= 6, "files that were read are read again"
    sound(corpus)
    assert hashes(corpus) == hashes(whole)


def test_a_few_files_that_cannot_be_read_are_counted_where_that_is_allowed(
    loop: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = crawl(tmp_path / "crawl")
    files = {path.name: path.read_bytes() for path in folder.iterdir()}
    lost = sorted(files)[5]
    lines: list[str] = []
    with web.served({name: data for name, data in files.items() if name != lost}) as site, impatient(monkeypatch):
        listed = tmp_path / "paths"
        listed.write_text("\n".join(sorted(files)))
        remote = recipe([], f"documents.lists=[{listed}]", f"documents.base={site.url}/", "limits.inputs=0.1")
        corpus = build.build(remote, str(tmp_path), lines.append)
    sound(corpus)
    (record,) = build_records.builds(corpus.store)
    assert list(record.unread) == [f"{site.url}/{lost}"] and len(record.inputs) == 11
    assert any(line.startswith("warning: left out, as it cannot be read") and lost in line for line in lines)
    build.build(remote, str(tmp_path), lines.append)
    assert lines[-1] == "tic-cc@1: nothing new", "what was given up is tried again"


@contextlib.contextmanager
def impatient(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    from ticlm.datasets.io import fetching

    monkeypatch.setattr(fetching, "PATIENCE", fetching.Patience(tries=6, first_s=0.01, most_s=0.02))
    yield


@pytest.mark.slow
@pytest.mark.parametrize(
    ("executor", "longest"),
    [("process", 0.5), pytest.param("ray", 2.5, marks=(pytest.mark.ray, pytest.mark.nightly))],
)
def test_a_build_killed_at_random_moments_gives_the_shards_of_a_quiet_one(
    executor: str, longest: float, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    """Half of the files come from a server that fails now and then, half from a disk."""
    if executor == "ray":
        request.getfixturevalue("ray_local")
    folder = crawl(tmp_path / "crawl", parts=6)
    files = {path.name: path.read_bytes() for path in sorted(folder.iterdir())}
    rng = random.Random(20240517)
    with web.served(files) as site:
        for name in list(files)[::2]:
            (folder / name).unlink()
        listed = tmp_path / "warc.paths.gz"
        listed.write_bytes(gzip.compress("\n".join(list(files)[::2]).encode()))
        chosen = recipe(
            str(folder), f"documents.lists=[{listed}]", f"documents.base={site.url}/", f"executor={executor}"
        )
        killed = 0
        for _ in range(3):
            site.faults += rng.choices(["503", "close", "ok", "ok"], k=3)
            killed += _killed(chosen, tmp_path / "killed", rng.uniform(0.0, longest))
        corpus = build.build(chosen, str(tmp_path / "killed"))
        site.faults.clear()
        sound(corpus)
        assert killed >= 2, "the builds were over before they could be killed"
        without_ray(monkeypatch)
        assert hashes(corpus) == hashes(build.build(chosen, str(tmp_path / "quiet")))


def _killed(chosen: CorpusRecipe, root: Path, after_s: float) -> bool:
    """Whether a build was killed, so long after it said its first word."""
    with started(chosen, root) as process:
        assert process.stdout is not None
        process.stdout.readline()
        time.sleep(after_s)
        os.kill(process.pid, signal.SIGKILL)
        return process.wait() == -signal.SIGKILL


# --- real files


@pytest.mark.skipif(not REAL.exists(), reason="needs the real data")
def test_every_record_of_real_archives_is_accounted_for(loop: None, tmp_path: Path) -> None:
    import warcio

    chosen = load(
        CorpusRecipe,
        "web",
        FOLDER,
        [
            f"documents.paths=[{REAL}/warc/dolma/*.warc.gz, {REAL}/warc/commoncrawl-whirlwind/cc-whirlwind.warc.gz]",
            "splits={eval: 0.3, tune: 0.1}",
            "tokenizer.vocab_size=500",
            "periods={initial: 202404}",
        ],
    )
    corpus = build.build(chosen, str(tmp_path))
    sound(corpus)
    records = 0
    for path in (*REAL.glob("warc/dolma/*.warc.gz"), REAL / "warc/commoncrawl-whirlwind/cc-whirlwind.warc.gz"):
        with path.open("rb") as file:
            records += sum(1 for _ in warcio.ArchiveIterator(file))
    assert sum(record.read for record in build_records.builds(corpus.store)) == records
    assert sum(corpus.periods["202404"].splits[s].documents for s in ("train", "eval", "tune")) >= 15
    assert corpus.periods["202405"].dropped["not in en"] == 1, "the page is Aragonese"


def posts(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in gzip.decompress(path.read_bytes()).splitlines()] if path.exists() else []


@pytest.mark.slow
@pytest.mark.skipif(not REAL.exists(), reason="needs the real data")
def test_real_posts_come_back_in_their_months_and_recrawled_pages_go_in_a_window(loop: None, tmp_path: Path) -> None:
    folder = tmp_path / "crawl"
    folder.mkdir()
    months = [f"{year}{month:02d}" for year in (2014, 2015) for month in range(1, 11)]  # two windows
    went_in: dict[str, list[int]] = {}
    for month in months:
        for source in ("monthly", "recrawl"):
            path = REAL / source / f"{month}.jsonl.gz"
            pages = {document["url"]: document["text"] for document in posts(path)}
            sizes = [len(text.replace("\0", "").encode()) for text in pages.values()]
            went_in.setdefault(month, []).extend(sizes)
            name, data = archive(month, pages, 0 if source == "monthly" else 1)
            (folder / name).write_bytes(data)
    small = [f"periods={{only: [{', '.join(months)}]}}", "filters=[]", "length=64", "tokenizer.vocab_size=500"]
    plain = build.build(recipe(str(folder), *small, "deduplicate=null", "held_out={}"), str(tmp_path / "plain"))
    for month in months:
        kept = plain.periods[month].splits.values()
        assert (sum(s.documents for s in kept), sum(s.bytes for s in kept)) == (
            len(went_in[month]),
            sum(went_in[month]),
        )
    local = build.build(recipe(str(folder), *small), str(tmp_path / "local"))
    window = "deduplicate={scope: window, expected_ngrams: 3000000}"
    windowed = build.build(recipe(str(folder), *small, window), str(tmp_path / "windowed"))
    again = 0
    for window_months in (months[:10], months[10:]):
        urls = [d["url"] for month in window_months for d in posts(REAL / f"recrawl/{month}.jsonl.gz")]
        again += len(urls) - len(set(urls))
    gone = [sum(m.dropped.get(DUPLICATE, 0) for m in c.periods.values()) for c in (local, windowed)]
    assert again > 20
    assert gone[0] <= 8, "a month has a few posts that appeared on two sites, and two schedules that are nearly alike"
    assert 0.7 * again <= gone[1] - gone[0] <= again + 2, "some pages changed by more than a fifth"
