"""Building corpora. What follows from documents and recipe alone is tested on a plain loop in place of Ray's tasks; Ray
itself, a kill, and S3 have one test each."""

from __future__ import annotations

import gzip
import itertools
import json
import multiprocessing
import os
import random
import re
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from builds import hashes, started, without_ray
from paths import SHARED
from rich.console import Console
from tokenizers import Tokenizer, models, pre_tokenizers

from ticlm.core.corpus import Corpus, TokenizerInfo
from ticlm.core.errors import InputError, RunError
from ticlm.core.integrity.files import verify
from ticlm.core.lease import lease
from ticlm.core.seeds import random_numbers
from ticlm.core.settings import load, parse
from ticlm.core.store import Store
from ticlm.datasets.corpus import build, build_records, staging
from ticlm.datasets.corpus.ledger.counts import DocumentCounts
from ticlm.datasets.corpus.pack import TAIL
from ticlm.datasets.corpus.recipe import CorpusRecipe
from ticlm.datasets.corpus.shards import picked
from ticlm.datasets.corpus.show import overview
from ticlm.datasets.corpus.splits import SPLITS
from ticlm.datasets.corpus.tokenizers import END_OF_TEXT, StreamEncoder
from ticlm.datasets.io.apart import Apart
from ticlm.datasets.io.documents import Input
from ticlm.datasets.io.executor import LARGE_BYTES, chosen, large_corpus
from ticlm.datasets.io.in_process import ProcessExecutor
from ticlm.datasets.io.ray_map import RayExecutor

WORDS = [f"{a}{b}{c}" for a in "bdfgklmnprst" for b in "aeiou" for c in ("n", "r", "st", "lk")]
MONTHS = ("202301", "202302", "202303")


def _documents(month: str, count: int = 60, seed: int = 0) -> list[dict[str, Any]]:
    rng = random.Random(f"{month}/{seed}")
    return [
        {
            "url": f"https://example/{rng.randrange(400)}",
            "text": " ".join(rng.choices(WORDS, k=rng.randrange(3, 60))) + f" in {month}.",
            "timestamp": f"{month[:4]}-{month[4:]}-{rng.randrange(1, 29):02d}T12:00:00Z",
            "source": rng.choice(["North", "South"]),
        }
        for _ in range(count)
    ]


def _write(path: Path, documents: Sequence[Any]) -> None:
    data = "".join(json.dumps(document) + "\n" for document in documents).encode()
    path.write_bytes(gzip.compress(data) if path.suffix == ".gz" else data)


@pytest.fixture
def texts(tmp_path: Path) -> Path:
    folder = tmp_path / "texts"
    folder.mkdir()
    for month in MONTHS:
        _write(folder / f"{month}.jsonl.gz", _documents(month))
    return folder


def _recipe(texts: Path | str, **changes: Any) -> CorpusRecipe:
    settings = {
        "name": "toy",
        "version": 1,
        "documents": {"kind": "files", "paths": [str(texts)]},
        "periods": {"initial": 202301, "last": 202303},
        "splits": {"eval": 0.2, "tune": 0.1},
        "tokenizer": {"kind": "train", "vocab_size": 300},
        "length": 16,
        "by_source": True,
    }
    return parse(CorpusRecipe, settings | changes, "recipe")


def _sound(corpus: Corpus) -> None:
    """Files are what their records say, and every document that was read is somewhere."""
    for label in corpus.periods:
        assert verify(corpus.store, f"periods/{label}") == []
    tallies: dict[str, DocumentCounts] = {}
    for record in build_records.builds(corpus.store):
        assert record.read == sum(t.read for t in record.periods.values()) + sum(record.dropped.values())
        tallies |= record.periods
    for label, manifest in corpus.periods.items():
        dropped = sum(n for reason, n in manifest.dropped.items() if reason != TAIL)
        assert manifest.read == tallies[label].read == dropped + sum(s.documents for s in manifest.splits.values())
    assert corpus.store.folders("staging") == []


def _decoded(corpus: Corpus, period: str, split: Any) -> list[str]:
    reader = corpus.rows(period, split)
    rows = reader.take(np.arange(len(reader)))["tokens"]
    tokenizer = corpus.tokenizer()
    return [str(tokenizer.decode(row)) for row in rows]


def test_rows_hold_every_text_of_their_split_and_nothing_else(texts: Path, loop: None, tmp_path: Path) -> None:
    corpus = build.build(_recipe(texts), str(tmp_path))
    _sound(corpus)
    assert list(corpus.periods) == list(MONTHS)
    recipe = _recipe(texts)
    for month in MONTHS:
        for split in SPLITS:
            mine = [d for d in _documents(month) if recipe.splits.of(d["url"]) == split]
            manifest = corpus.split(month, split)
            assert manifest.documents == len(mine)
            assert manifest.bytes == sum(len(d["text"].encode()) for d in mine)
            rows = _decoded(corpus, month, split)
            assert len(rows) == manifest.rows and manifest.tokens == 17 * len(rows)
            whole = END_OF_TEXT.join(["", *(d["text"] for d in mine), ""])
            pieces = {piece for row in rows for piece in row.split(END_OF_TEXT)}
            assert all(piece in whole for piece in pieces)
            assert len("".join(rows).replace(END_OF_TEXT, "")) > len(whole.replace(END_OF_TEXT, "")) - 17 * 2 * 20
        tails = corpus.periods[month].dropped[TAIL]
        assert 0 < tails < 17 * 5


def test_held_out_rows_hold_one_source_and_name_it(texts: Path, loop: None, tmp_path: Path) -> None:
    corpus = build.build(_recipe(texts), str(tmp_path))
    assert corpus.info.sources == ("North", "South")
    by_source = {
        s: END_OF_TEXT.join(d["text"] for d in _documents("202302") if d["source"] == s) for s in ("North", "South")
    }
    names = corpus.rows("202302", "eval").sources()
    rows = _decoded(corpus, "202302", "eval")
    assert names is not None and set(names) == {"North", "South"} and len(names) == len(rows)
    for name, row in zip(names, rows):
        assert all(piece in by_source[name] for piece in row.split(END_OF_TEXT))
    assert corpus.rows("202302", "train").sources() is None
    plain = build.build(_recipe(texts, by_source=False), str(tmp_path / "plain"))
    assert plain.rows("202302", "eval").sources() is None and plain.info.sources is None


def test_bytes_do_not_depend_on_how_the_work_is_cut(
    texts: Path, loop: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = hashes(build.build(_recipe(texts), str(tmp_path / "a")))
    other = tmp_path / "other"
    other.mkdir()
    everything = [d for month in reversed(MONTHS) for d in _documents(month)]
    random.Random(1).shuffle(everything)
    for number in range(5):
        _write(other / f"{number}.jsonl", everything[number::5])
    monkeypatch.setattr(staging, "RUN_BYTES", 2000)
    monkeypatch.setattr("ticlm.datasets.corpus.sorted_runs.GROUP_BYTES", 300)
    monkeypatch.setattr("ticlm.datasets.corpus.parts.PART_BYTES", 1500)
    corpus = build.build(_recipe(other), str(tmp_path / "b"))
    _sound(corpus)
    assert hashes(corpus) == expected


def test_another_seed_gives_other_rows_of_the_same_texts(texts: Path, loop: None, tmp_path: Path) -> None:
    one = build.build(_recipe(texts), str(tmp_path / "a"))
    two = build.build(_recipe(texts, seed=1), str(tmp_path / "b"))
    assert one.info.tokenizer == two.info.tokenizer
    assert one.split("202301", "train").documents == two.split("202301", "train").documents
    assert hashes(one)["202301/train"] != hashes(two)["202301/train"]


def test_rows_of_one_document_are_spread_over_the_shards() -> None:
    rows = np.arange(1000, dtype=np.uint16).repeat(2).reshape(1000, 2)
    blocks = [rows[:300], rows[300:301], rows[301:]]
    shards = [picked(blocks, 1000, 4, 5, low, min(low + 128, 1000)) for low in range(0, 1000, 128)]
    assert [len(values) for values, _ in shards] == [128] * 7 + [104]
    found = np.concatenate([values.view(np.uint16) for values, _ in shards])
    assert np.array_equal(found[:, 0], np.concatenate([which for _, which in shards]))
    assert sorted(found[:, 0]) == list(range(1000))
    assert all(
        np.abs(np.corrcoef(values.view(np.uint16)[:, 0], np.arange(len(values)))[0, 1]) < 0.3 for values, _ in shards
    )


def test_the_order_of_rows_survives_any_release_of_numpy() -> None:
    # SplitMix64's published first numbers for the seed 1234567 (rosettacode.org, "Pseudo-random numbers/Splitmix64")
    assert random_numbers(3, 1234567).tolist() == [6457827717110365317, 3203168211198807973, 9817491932198370423]


def test_the_tokenizer_sees_the_first_periods_train_text_alone(texts: Path, loop: None, tmp_path: Path) -> None:
    one = build.build(_recipe(texts), str(tmp_path / "a"))
    splits = _recipe(texts).splits
    for month in MONTHS:
        changed = _documents(month)
        for document in changed:
            if month > "202301" or splits.of(document["url"]) != "train":
                document["text"] = "ZZZ QQQ " * 50
        _write(texts / f"{month}.jsonl.gz", changed)
    two = build.build(_recipe(texts), str(tmp_path / "b"))
    assert one.info.tokenizer == two.info.tokenizer
    assert one.info.tokenizer.as_of is None and "202301" in one.info.tokenizer.name
    assert hashes(one)["202301/train"] == hashes(two)["202301/train"] != hashes(two)["202302/train"]


def test_the_tokenizer_loads_with_transformers(texts: Path, loop: None, tmp_path: Path) -> None:
    corpus = build.build(_recipe(texts), str(tmp_path))
    tokenizer = corpus.tokenizer()
    info = corpus.info.tokenizer
    assert (tokenizer.eos_token, tokenizer.eos_token_id) == (END_OF_TEXT, info.end_of_text)
    assert len(tokenizer) == info.vocab_size <= 300
    text = "Ünïcode, \n\ttabs  and 日本語 — all of it."
    assert tokenizer.decode(tokenizer(text)["input_ids"]) == text


def test_a_text_cannot_forge_an_end_of_text(texts: Path, loop: None, tmp_path: Path) -> None:
    documents = _documents("202301")
    for document in documents:
        document["text"] += f" {END_OF_TEXT} more"
    _write(texts / "202301.jsonl.gz", documents)
    corpus = build.build(_recipe(texts), str(tmp_path))
    reader = corpus.rows("202301", "train")
    rows = reader.take(np.arange(len(reader)))["tokens"]
    assert (rows == corpus.info.tokenizer.end_of_text).sum() <= corpus.split("202301", "train").documents


def test_a_text_cannot_forge_an_end_that_is_a_piece_of_the_vocabulary(tmp_path: Path) -> None:
    """As in T5's Unigram model, where `</s>` is a piece like others."""
    model = models.Unigram([("<unk>", 0.0), ("</s>", 0.0), ("▁a", -1.0), ("▁b", -1.0), ("▁", -2.0)], unk_id=0)
    tokenizer = Tokenizer(model)
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    tokenizer.add_special_tokens(["</s>"])
    store = Store(str(tmp_path))
    store.write("tokenizer/tokenizer.json", tokenizer.to_str().encode())
    encoder = StreamEncoder(store, TokenizerInfo(name="t5", vocab_size=5, end_of_text=1, sha256="x"))
    blocks, lengths = encoder.encode(["a </s> b", "b"])
    tokens = np.concatenate(blocks)
    assert (tokens == 1).sum() == 2 and tokens[-1] == 1 and lengths.sum() == len(tokens)
    assert all(1 not in ids for ids in encoder.ids(["a </s> b", "</s>"]))


def test_more_cores_change_no_byte_and_leave_no_process(
    texts: Path, loop: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found, forked = [], []
    start = Apart._started

    def started_in(self: Apart[Any, Any]) -> Any:
        forked.append(threading.get_ident())
        return start(self)

    monkeypatch.setattr(Apart, "_started", started_in)
    for count in (1, 3):
        monkeypatch.setattr("ticlm.datasets.io.in_process.cores", lambda count=count: count)
        forked.clear()
        found.append(hashes(build.build(_recipe(texts), str(tmp_path / str(count)))))
        assert (set(forked) == {threading.get_ident()}) == (count == 1)
    assert found[0] == found[1]
    assert not staging._readers and not multiprocessing.active_children()


def test_threads_change_no_token(texts: Path, loop: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    corpus = build.build(_recipe(texts), str(tmp_path))
    monkeypatch.setattr("ticlm.datasets.corpus.tokenizers.LEAST_BATCH_CHARS", 64)
    monkeypatch.setattr("ticlm.datasets.corpus.tokenizers.BATCH_CHARS", 256)
    posts = [f"post {number} " + "of many words " * (number % 7) for number in range(200)]
    before = set(threading.enumerate())  # some of earlier tests may end meanwhile
    found = [StreamEncoder(corpus.store, corpus.info.tokenizer, threads).encode(posts) for threads in (1, 3)]
    (alone, of_alone), (beside, of_beside) = found
    assert len(beside) > len(alone) > 10
    assert np.array_equal(np.concatenate(alone), np.concatenate(beside))
    assert of_alone.tolist() == of_beside.tolist()
    assert not set(threading.enumerate()) - before and os.environ["TOKENIZERS_PARALLELISM"] == "false"


def test_a_published_tokenizer_is_declared_as_from_outside(texts: Path, loop: None, tmp_path: Path) -> None:
    own = build.build(_recipe(texts), str(tmp_path / "a"))
    folder = own.store.path("tokenizer")
    published = {"kind": "pretrained", "name": folder, "as_of": 202212}
    corpus = build.build(_recipe(texts, tokenizer=published), str(tmp_path / "b"))
    assert corpus.info.tokenizer.as_of == "202212"
    assert hashes(corpus) == hashes(own), "a folder's tokenizer is taken as it is, byte for byte"
    config = json.loads(own.store.read("tokenizer/tokenizer_config.json"))
    own.store.write("tokenizer/tokenizer_config.json", json.dumps(config | {"eos_token": None}).encode())
    with pytest.raises(InputError, match="has no end-of-text"):
        build.build(_recipe(texts, tokenizer=published), str(tmp_path / "c"))
    with pytest.raises(InputError, match="cannot be loaded") as error:
        build.build(_recipe(texts, tokenizer=published | {"name": str(tmp_path)}), str(tmp_path / "c"))
    assert "\n" not in str(error.value)


def test_nothing_new_means_nothing_is_read(texts: Path, loop: None, tmp_path: Path, monkeypatch: Any) -> None:
    first = hashes(build.build(_recipe(texts), str(tmp_path)))
    monkeypatch.setattr(build, "executing", lambda *_: pytest.fail("work was begun"))
    lines: list[str] = []
    assert hashes(build.build(_recipe(texts), str(tmp_path), lines.append)) == first
    assert lines == ["toy@1: nothing new"]


def test_a_new_month_is_added_and_the_others_stay(texts: Path, loop: None, tmp_path: Path) -> None:
    whole = hashes(build.build(_recipe(texts), str(tmp_path / "whole")))
    late = texts / "202303.jsonl.gz"
    late.rename(tmp_path / late.name)
    root = str(tmp_path / "grown")
    build.build(_recipe(texts, periods={"initial": 202301, "last": 202302}), root)
    before = {path: Path(path).stat().st_mtime_ns for path in map(str, (tmp_path / "grown").rglob("periods/*/*"))}
    (tmp_path / late.name).rename(late)
    corpus = build.build(_recipe(texts), root)
    _sound(corpus)
    assert hashes(corpus) == whole
    assert {path: Path(path).stat().st_mtime_ns for path in before} == before
    assert [len(record.inputs) for record in build_records.builds(corpus.store)] == [2, 1]


def test_a_month_that_was_there_before_the_calendar_reached_it_is_added(
    texts: Path, loop: None, tmp_path: Path
) -> None:
    (texts / "202302.jsonl.gz").unlink()
    _write(texts / "202303.jsonl.gz", _documents("202302") + _documents("202303"))
    whole = hashes(build.build(_recipe(texts), str(tmp_path / "whole")))
    corpus = build.build(_recipe(texts, periods={"initial": 202301, "last": 202302}), str(tmp_path / "grown"))
    assert build_records.builds(corpus.store)[0].dropped == {staging.OUTSIDE: 60}
    corpus = build.build(_recipe(texts), str(tmp_path / "grown"))
    _sound(corpus)
    assert hashes(corpus) == whole
    assert build_records.builds(corpus.store)[1].dropped == {build_records.READ_BEFORE: 60}


def test_documents_that_come_too_late_are_counted_and_warned_about(texts: Path, loop: None, tmp_path: Path) -> None:
    build.build(_recipe(texts, periods={"initial": 202302, "last": 202302}), str(tmp_path))
    before = hashes(Corpus.open(str(tmp_path / "corpora/toy@1")))
    _write(texts / "more.jsonl", _documents("202302", 7, seed=1) + _documents("202303", 5, seed=1))
    lines: list[str] = []
    corpus = build.build(_recipe(texts, periods={"initial": 202302, "last": 202303}), str(tmp_path), lines.append)
    _sound(corpus)
    assert {k: v for k, v in hashes(corpus).items() if "202303" not in k} == before
    record = build_records.builds(corpus.store)[1]
    assert record.late == {"202302": 7} and record.dropped[build_records.ALREADY_BUILT] == 7
    assert any(line.startswith("warning: 7 documents were left out") for line in lines)


def test_a_corpus_grows_forwards_from_its_first_period(texts: Path, loop: None, tmp_path: Path) -> None:
    (texts / "202301.jsonl.gz").rename(tmp_path / "202301.jsonl.gz")
    calendar = {"initial": None, "last": None}
    build.build(_recipe(texts, periods=calendar), str(tmp_path))
    (tmp_path / "202301.jsonl.gz").rename(texts / "202301.jsonl.gz")
    corpus = build.build(_recipe(texts, periods=calendar), str(tmp_path))
    _sound(corpus)
    assert list(corpus.periods) == ["202302", "202303"]
    assert build_records.builds(corpus.store)[1].dropped == {build_records.BEFORE_FIRST: 60}


def test_other_settings_need_another_version(texts: Path, loop: None, tmp_path: Path) -> None:
    build.build(_recipe(texts), str(tmp_path))
    with pytest.raises(InputError, match="give the changed recipe another version than 1"):
        build.build(_recipe(texts, length=32), str(tmp_path))
    assert build.build(_recipe(texts, length=32, version=2), str(tmp_path)).info.columns[0].length == 33


def test_bad_documents_are_skipped_and_counted_until_they_are_too_many(texts: Path, loop: None, tmp_path: Path) -> None:
    documents: list[Any] = _documents("202302", 96)
    documents[40:40] = [
        {"text": "no date"},
        {"text": "", "timestamp": "2023-02-01"},
        5,
        {"text": "odd", "timestamp": "May"},
    ]
    _write(texts / "202302.jsonl.gz", documents)
    with pytest.raises(InputError, match="4 of 220 documents are bad") as error:
        build.build(_recipe(texts), str(tmp_path))
    assert "1.82%), limits.bad allows 1.00%; most are 'without date' (1), the first at" in str(error.value)
    assert str(error.value).endswith("202302.jsonl.gz:41")
    corpus = build.build(_recipe(texts, limits={"bad": 0.02}), str(tmp_path))
    _sound(corpus)
    assert corpus.periods["202302"].dropped["without text"] == 1
    assert build_records.builds(corpus.store)[0].dropped == {
        "not a JSON object": 1,
        "unreadable date": 1,
        "without date": 1,
    }


def test_a_date_at_the_end_of_time_is_outside_the_calendar(texts: Path, loop: None, tmp_path: Path) -> None:
    _write(texts / "odd.jsonl", [{"url": "u", "text": "Late.", "timestamp": "9999-12-31", "source": "North"}])
    corpus = build.build(_recipe(texts, periods={"initial": 202301}), str(tmp_path))
    (record,) = build_records.builds(corpus.store)
    assert record.dropped == {"outside the calendar": 1}


def test_a_broken_file_gives_what_it_can_and_is_named(texts: Path, loop: None, tmp_path: Path) -> None:
    path = texts / "202303.jsonl.gz"
    path.write_bytes(path.read_bytes()[:-300])
    lines: list[str] = []
    corpus = build.build(_recipe(texts, limits={"inputs": 0.4}), str(tmp_path), lines.append)
    _sound(corpus)
    assert 0 < corpus.periods["202303"].read < 60
    assert any(re.fullmatch(rf"warning: damaged: {path}:\d+: broken file; .* lost.*", line) for line in lines)


def test_a_damaged_row_group_is_named_with_its_rows_and_the_others_are_built(
    texts: Path, loop: None, tmp_path: Path
) -> None:
    path = texts / "202303.parquet"
    pq.write_table(pa.Table.from_pylist(_documents("202303", seed=1)), path, row_group_size=20, use_dictionary=False)
    (texts / "202303.jsonl.gz").unlink()
    column = pq.ParquetFile(path).metadata.row_group(1).column(1)
    data = bytearray(path.read_bytes())
    data[column.data_page_offset : column.data_page_offset + column.total_compressed_size] = bytes(
        column.total_compressed_size
    )
    path.write_bytes(data)
    lines: list[str] = []
    corpus = build.build(_recipe(texts, limits={"inputs": 0.5}), str(tmp_path), lines.append)
    _sound(corpus)
    assert corpus.periods["202303"].read == 40
    (line,) = (line for line in lines if "damaged" in line)
    assert line.startswith(f"warning: damaged: {path}:21-40: broken row group; ") and line.endswith(" bytes are lost")


def test_filters_drop_with_a_reason(texts: Path, loop: None, tmp_path: Path) -> None:
    corpus = build.build(_recipe(texts, filters=[{"kind": "min_chars", "chars": 100}]), str(tmp_path))
    _sound(corpus)
    short = sum(len(d["text"]) < 100 for d in _documents("202301"))
    assert corpus.periods["202301"].dropped["shorter than 100 characters"] == short > 0


def test_the_record_counts_what_was_masked_by_kind(texts: Path, loop: None, tmp_path: Path) -> None:
    """Every fifth document of a month has an address, and every tenth a second one and a number."""
    for month in MONTHS:
        found = [
            one | {"text": one["text"] + " a@example.org" * (at % 5 == 0) + " b@example.org 8.8.8.8" * (at % 10 == 0)}
            for at, one in enumerate(_documents(month))
        ]
        _write(texts / f"{month}.jsonl.gz", found)
    filters = [{"kind": "newlines"}, {"kind": "personal-data"}]
    corpus = build.build(_recipe(texts, filters=filters, splits={"eval": 0.2, "tune": 0.1}), str(tmp_path))
    count = len(_documents("202301"))
    step = next(one for one in corpus.periods["202301"].accounting.steps if one.name == "personal-data")
    assert step.masked == {"email": count // 5 + count // 10, "ip": count // 10} and step.edited == count // 5
    rows = corpus.rows("202301", "train")
    text = "".join(corpus.tokenizer().batch_decode(rows.take(np.arange(rows.starts[-1]))["tokens"]))
    assert "[email]" in text and "[ip]" in text and "example.org" not in text


@pytest.mark.parametrize(
    "changes, message",
    [
        (
            {"periods": {"initial": 201001, "last": 201002}},
            "no document belongs to any period; 180 were read: 180 outside",
        ),
        ({"splits": {"eval": 0.999999, "tune": 0}}, "the first period, 202301, has no text in its train split"),
        (
            {"filters": [{"kind": "min_chars", "chars": 9999}]},
            "the first period, 202301, has no text in its train split",
        ),
    ],
)
def test_a_corpus_of_nothing_is_refused(texts: Path, loop: None, tmp_path: Path, changes: Any, message: str) -> None:
    with pytest.raises(InputError, match=re.escape(message)):
        build.build(_recipe(texts, **changes), str(tmp_path))


def test_a_root_that_cannot_be_written_is_refused(texts: Path, loop: None, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="is not writable"):
        build.build(_recipe(texts), str(tmp_path / "file"))


def test_two_builders_of_one_corpus_do_not_meet(texts: Path, loop: None, tmp_path: Path) -> None:
    with lease(Store(tmp_path / "corpora/toy@1"), "data build toy@1"), pytest.raises(RunError, match="is in use"):
        build.build(_recipe(texts), str(tmp_path))


class _Stopped(BaseException):
    pass


def _stopping_after(count: int) -> Callable[..., Iterator[Any]]:
    left = itertools.count(count, -1)

    def each(
        _: ProcessExecutor, function: Callable[[Any], Any], items: Sequence[Any], *_limits: Any, **_more: Any
    ) -> Iterator[Any]:
        for item in items:
            if next(left) == 0:
                raise _Stopped
            yield function(item)

    return each


def test_a_build_interrupted_after_any_step_goes_on_to_the_same_bytes(
    texts: Path, loop: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = hashes(build.build(_recipe(texts), str(tmp_path / "whole")))
    steps = 3 + 1 + 1 + 3 + 3 + 9 + 3  # files, their index, the tokenizer, parts, plans, shards, periods
    for count in range(steps):
        root = str(tmp_path / str(count))
        monkeypatch.setattr(ProcessExecutor, "each", _stopping_after(count))
        with pytest.raises(_Stopped):
            build.build(_recipe(texts), root)
        monkeypatch.setattr(ProcessExecutor, "each", _stopping_after(steps - min(count, 3)))
        corpus = build.build(_recipe(texts), root)
        _sound(corpus)
        assert hashes(corpus) == expected, count


def test_an_interrupted_build_is_finished_before_newer_files_are_read(
    texts: Path, loop: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = hashes(build.build(_recipe(texts), str(tmp_path / "whole")))
    with monkeypatch.context() as patch, pytest.raises(_Stopped):
        patch.setattr(ProcessExecutor, "each", _stopping_after(8))
        build.build(_recipe(texts), str(tmp_path / "cut"))
    (texts / "202301.jsonl.gz").unlink()
    _write(texts / "more.jsonl", _documents("202302", 7, seed=1))
    corpus = build.build(_recipe(texts), str(tmp_path / "cut"))
    _sound(corpus)
    assert hashes(corpus) == expected
    assert [record.dropped for record in build_records.builds(corpus.store)] == [{}, {build_records.ALREADY_BUILT: 7}]


def test_the_overview_shows_what_was_kept_and_what_was_not(texts: Path, loop: None, tmp_path: Path) -> None:
    corpus = build.build(_recipe(texts, periods={"initial": 202301, "last": 202302}), str(tmp_path))
    console = Console(width=150, record=True, file=open(os.devnull, "w"))  # noqa: SIM115
    console.print(overview(corpus))
    shown = console.export_text()
    for part in ("toy@1", "202302", "2 periods", "60 outside the calendar", "trained on 202301", "North, South"):
        assert part in shown


def _files(corpus: Corpus) -> dict[str, bytes]:
    """Everything below a corpus, without what every attempt has of its own: its name, when it was made, and the
    hash of its record, which ends it."""
    own = re.compile(
        rb"\d{8}T\d{6}-[0-9a-f]{8}|\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ|(?<=\n \"sha256\": \")[0-9a-f]{64}(?=\"\n}$)"
    )
    paths = [path for path in Path(corpus.store.root).rglob("*") if path.is_file() and "leases" not in path.parts]
    below = {str(path.relative_to(corpus.store.root)).encode(): path for path in paths}
    return {own.sub(b"-", name).decode(): own.sub(b"-", path.read_bytes()) for name, path in below.items()}


@pytest.mark.ray
def test_both_executors_leave_the_same_files(texts: Path, tmp_path: Path, ray_local: None) -> None:
    changes: dict[str, Any] = {"by_source": False, "held_out": {"clean": True}}
    changes |= {"deduplicate": {"scope": "window", "expected_ngrams": 100_000}}
    changes |= {"filters": [{"kind": "min_chars", "chars": 60}]}
    on_ray, here = (
        build.build(_recipe(texts, executor=executor, **changes), str(tmp_path / executor))
        for executor in ("ray", "process")
    )
    assert _files(on_ray) == _files(here)
    assert len(_files(here)) > 3 * 3 + 3


def test_auto_takes_ray_for_much_for_what_is_not_known_and_where_it_is_there(monkeypatch: pytest.MonkeyPatch) -> None:
    connected = False
    monkeypatch.setitem(sys.modules, "ray", SimpleNamespace(is_initialized=lambda: connected))
    monkeypatch.delenv("RAY_ADDRESS", raising=False)
    small, large, unknown = (Input(path=str(size), size=size, stamp="") for size in (9, LARGE_BYTES - 9, 0))
    assert chosen("auto", []) == chosen("auto", [small, small]) == chosen("process", [large, small]) == "process"
    assert chosen("auto", [small, unknown]) == chosen("auto", [large, small]) == chosen("ray", [small]) == "ray"
    assert chosen("auto", [large, unknown], None) == "process", "where Ray never pays"
    borders = []
    for count in (2, 4):
        monkeypatch.setattr("ticlm.datasets.io.executor.cores", lambda count=count: count)
        borders.append(large_corpus())
    assert borders == [None, 256 << 20]
    with monkeypatch.context() as patch:
        patch.setenv("RAY_ADDRESS", "10.0.0.1:6379")
        assert chosen("auto", [small]) == "ray"
    connected = True
    assert (chosen("auto", [small]), chosen("process", [small])) == ("ray", "process")


@pytest.mark.ray
def test_errors_in_tasks_are_one_line(tmp_path: Path, ray_local: None) -> None:
    def fail(item: int) -> int:
        raise OSError(28, "No space left on device") if item else InputError("wrong")

    for executor in (RayExecutor(), ProcessExecutor()):
        with pytest.raises(InputError, match=r"^wrong$"):
            list(executor.each(fail, [0]))
        with pytest.raises(RunError, match="No space left on device; run it again to go on"):
            list(executor.each(fail, [1]))
        with pytest.raises(RunError, match="needs 1,152,921,504,606,846,976 bytes of memory; th"):
            list(executor.each(abs, [1], memory=1 << 60))


@pytest.mark.ray
def test_work_of_which_processes_die_ends_with_a_line(
    ray_local: None, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("ticlm.datasets.io.ray_map.RETRIES", 1)
    told = r"^the build stopped: a process died 2 times of the same work \([^\n]+ run it again to go on, [^\n]+$"
    with pytest.raises(RunError, match=told):
        list(RayExecutor().each(os._exit, [1]))
    with RayExecutor().workers(lambda: os._exit, (), most=1) as workers, pytest.raises(RunError, match=told):
        list(workers.map([1]))
    assert "Traceback" not in capfd.readouterr().err


@pytest.mark.ray
def test_a_corpus_can_be_read_from_and_written_to_s3(
    texts: Path, tmp_path: Path, s3_bucket: str, ray_local: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    Store(s3_bucket).upload(texts, "texts")
    corpus = build.build(_recipe(f"{s3_bucket}/texts/*.jsonl.gz"), s3_bucket)
    _sound(corpus)
    assert corpus.store.root == f"{s3_bucket}/corpora/toy@1"
    lines: list[str] = []
    build.build(_recipe(f"{s3_bucket}/texts/*.jsonl.gz"), s3_bucket, lines.append)
    assert lines == ["toy@1: nothing new"]
    without_ray(monkeypatch)
    assert hashes(corpus) == hashes(build.build(_recipe(texts), str(tmp_path / "local")))
    with pytest.raises(InputError, match="matches no file"):
        build.build(_recipe(f"{s3_bucket}/none/*.jsonl", version=2), s3_bucket)


def _killed(recipe: CorpusRecipe, root: Path) -> None:
    """Kill a build of its own process before it has tokenised anything."""
    with started(recipe, root) as process:
        assert process.stdout is not None
        for line in process.stdout:
            if line.startswith("tokenising"):
                os.kill(process.pid, signal.SIGKILL)
                break
        assert process.wait() == -signal.SIGKILL


@pytest.mark.slow
def test_a_killed_build_of_one_process_goes_on_and_never_imports_ray(texts: Path, tmp_path: Path) -> None:
    recipe, root = _recipe(texts), tmp_path / "killed"
    _killed(recipe, root)
    with started(recipe, root) as process:
        lines = process.communicate()[0].splitlines()
    assert (lines[0], lines[-1]) == ("tokenising 3 periods", "ray was not imported"), "what was read is there"
    corpus = Corpus.open(str(root / "corpora/toy@1"))
    _sound(corpus)
    assert hashes(corpus) == hashes(build.build(_recipe(texts, executor="process"), str(tmp_path / "whole")))


@pytest.mark.ray
@pytest.mark.nightly
def test_a_killed_build_on_ray_goes_on_to_the_same_bytes(texts: Path, tmp_path: Path, ray_local: None) -> None:
    recipe, root = _recipe(texts, executor="ray"), tmp_path / "killed"
    _killed(recipe, root)
    corpus = build.build(recipe, str(root))
    _sound(corpus)
    assert hashes(corpus) == hashes(build.build(_recipe(texts, executor="process"), str(tmp_path / "whole")))


def test_real_posts_of_eleven_years_build_into_quarters(loop: None, tmp_path: Path) -> None:
    folder = SHARED / "monthly"
    if not folder.is_dir():
        pytest.skip("no ../shared/data")
    sets = [f"documents.paths=['{folder.resolve()}/2013*.jsonl.gz', '{folder.resolve()}/20160*.gz']"]
    corpus = build.build(load(CorpusRecipe, "monthly", "datasets/recipes", sets), str(tmp_path))
    _sound(corpus)
    assert list(corpus.periods) == ["201305-201512", "201601-201603", "201604-201606", "201607-201609"]
    assert sum(m.read for m in corpus.periods.values()) == build_records.builds(corpus.store)[0].read


def test_a_period_says_when_its_newest_text_is_from_and_how_it_was_dated(tmp_path: Path) -> None:
    """What certificates of models state: of each source the newest document that was not left out."""
    rows = [
        {
            "text": "one two three " * 30,
            "url": f"{source}/{day}",
            "timestamp": f"2023-01-{day:02d}T10:00:00",
            "source": source,
        }
        for source, days in (("blog", (3, 9)), ("news", (28, 2)))
        for day in days
    ]
    (tmp_path / "posts.jsonl").write_text("\n".join(map(json.dumps, rows)))
    recipe = CorpusRecipe.model_validate(
        {
            "name": "dated",
            "version": "1",
            "documents": {"kind": "files", "paths": [str(tmp_path / "posts.jsonl")]},
            "periods": {"initial": "202301", "step": "month", "last": "202301"},
            "tokenizer": {"kind": "train", "vocab_size": 300},
            "length": 8,
        }
    )
    manifest = build.build(recipe, str(tmp_path / "root")).periods["202301"]
    assert {source: when.isoformat()[:10] for source, when in manifest.newest.items()} == {
        "blog": "2023-01-09",
        "news": "2023-01-28",
    }
    assert manifest.lineage.dating == "the field timestamp of each record, which nothing else confirms"
