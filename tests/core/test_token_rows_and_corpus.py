"""The token-shard format: what goes in comes out, by position, whatever the grouping; damage is named."""

from __future__ import annotations

import hashlib
import io
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ticlm.core import token_rows
from ticlm.core.corpus import FORMAT, INFO, Corpus, SplitManifest
from ticlm.core.errors import InputError
from ticlm.core.integrity.own_hash import with_hash
from ticlm.core.paths import RECORD
from ticlm.core.store import Store
from ticlm.core.token_rows import ROW_GROUP, Column, RowReader, ShardFile, Tokens, dtype_for, to_parquet

COLUMNS = (Column(name="tokens", length=5),)


def numbered(rows: int, columns: Sequence[Column] = COLUMNS, first: int = 0) -> dict[str, Tokens]:
    """Rows whose every token tells its row, place and column."""
    return {
        column.name: (np.arange(first, first + rows)[:, None] * 10 + np.arange(column.length) + 7 * number) % 60_000
        for number, column in enumerate(columns)
    }


def reader(
    folder: Path, sizes: Sequence[int], columns: Sequence[Column] = COLUMNS, keep: int = 2
) -> tuple[RowReader, dict[str, Tokens]]:
    """A reader of files of the given sizes, and all their rows."""
    parts, first = [], 0
    for number, size in enumerate(sizes):
        part = numbered(size, columns, first)
        Store(folder).write(f"part-{number}.parquet", to_parquet(part, columns))
        parts.append(part)
        first += size
    whole = {c.name: np.concatenate([part[c.name] for part in parts]) for c in columns}
    names = [f"part-{n}.parquet" for n in range(len(sizes))]
    return opened(Store(folder), dict(zip(names, sizes)), columns, keep=keep), whole


def opened(
    store: Store,
    rows: Mapping[str, int],
    columns: Sequence[Column] = COLUMNS,
    vocab_size: int = 1 << 32,
    page_checksums: bool = False,
    keep: int = 2,
) -> RowReader:
    """A reader of files by their number of rows, as a record of what they hold now would state them."""
    files = [ShardFile(path=p, rows=n, bytes=store.size(p), sha256=store.sha256(p)) for p, n in rows.items()]
    return RowReader(store, files, columns, vocab_size, page_checksums, "build it again", keep)


def assert_rows(got: dict[str, Tokens], expected: dict[str, Tokens]) -> None:
    assert list(got) == list(expected)
    for name, values in expected.items():
        np.testing.assert_array_equal(got[name], values)


# round trip


@pytest.mark.parametrize("sizes", [[1], [ROW_GROUP], [ROW_GROUP + 1], [3, 2 * ROW_GROUP + 5, 1]])
def test_rows_come_back_in_order(tmp_path: Path, sizes: list[int]) -> None:
    rows, whole = reader(tmp_path, sizes)
    assert len(rows) == sum(sizes)
    assert_rows(rows.take(np.arange(len(rows))), whole)
    blocks = list(rows.all(100))
    assert [len(block["tokens"]) for block in blocks[:-1]] == [100] * (len(blocks) - 1)
    assert_rows({"tokens": np.concatenate([block["tokens"] for block in blocks])}, whole)


def test_groups_end_where_files_do(tmp_path: Path) -> None:
    rows, whole = reader(tmp_path, [3, ROW_GROUP + 5])
    assert rows.starts.tolist() == [0, 3, 3 + ROW_GROUP, 8 + ROW_GROUP]
    assert_rows(rows.group(1), {"tokens": whole["tokens"][3 : 3 + ROW_GROUP]})


@given(data=st.data())
def test_any_rows_come_back_in_the_order_asked_for(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    rows, whole = _shared_reader(tmp_path_factory)
    wanted = np.array(data.draw(st.lists(st.integers(0, len(rows) - 1), max_size=40)), dtype=np.int64)
    assert_rows(rows.take(wanted), {"tokens": whole["tokens"][wanted]})


_made: list[tuple[RowReader, dict[str, Tokens]]] = []


def _shared_reader(factory: pytest.TempPathFactory) -> tuple[RowReader, dict[str, Tokens]]:
    if not _made:
        _made.append(reader(factory.mktemp("shards"), [3, 2 * ROW_GROUP + 5, 1, ROW_GROUP]))
    return _made[0]


@pytest.mark.parametrize("keep", [1, 2, 10])
def test_how_many_groups_are_kept_does_not_matter(tmp_path: Path, keep: int) -> None:
    rows, whole = reader(tmp_path, [ROW_GROUP * 3], keep=keep)
    jumps = np.array([0, 300, 5, 200, 299, 1, 383, 0])
    for _ in range(2):
        assert_rows(rows.take(jumps), {"tokens": whole["tokens"][jumps]})


def test_large_vocabularies_need_four_bytes(tmp_path: Path) -> None:
    columns = (Column(name="tokens", length=3, dtype="uint32"),)
    values = np.array([[0, 70_000, 2**32 - 1], [1, 65_535, 65_536]])
    Store(tmp_path).write("a", to_parquet({"tokens": values}, columns))
    got = opened(Store(tmp_path), {"a": 2}, columns).take(np.array([1, 0]))["tokens"]
    assert got.dtype == np.uint32 and got.tolist() == values[::-1].tolist()
    assert dtype_for(65_536) == "uint16" and dtype_for(65_537) == "uint32"


@pytest.mark.parametrize(("dtype", "token"), [("uint16", 65_536), ("uint16", -1), ("uint32", 2**32)])
def test_a_token_that_does_not_fit_is_refused(dtype: Literal["uint16", "uint32"], token: int) -> None:
    with pytest.raises(ValueError, match=f"tokens has tokens .* too wide for {dtype}"):
        to_parquet({"tokens": np.array([[0, token]])}, (Column(name="tokens", length=2, dtype=dtype),))


def test_a_corpus_may_have_two_columns_of_different_widths(tmp_path: Path) -> None:
    columns = (Column(name="inputs", length=4), Column(name="targets", length=2, dtype="uint32"))
    rows, whole = reader(tmp_path, [ROW_GROUP + 3], columns)
    wanted = np.array([130, 0, 128])
    assert_rows(rows.take(wanted), {name: values[wanted] for name, values in whole.items()})


@pytest.mark.parametrize("shape", [(3, 4), (3, 6), (15,)])
def test_rows_of_another_length_are_refused(shape: tuple[int, ...]) -> None:
    with pytest.raises(ValueError, match=r"column tokens must be \[rows, 5\]"):
        to_parquet({"tokens": np.zeros(shape, np.int64)}, COLUMNS)


def test_equal_rows_make_equal_bytes_and_hashes() -> None:
    wide = to_parquet(numbered(300), COLUMNS)
    assert to_parquet({"tokens": numbered(300)["tokens"].astype(">i4")}, COLUMNS) == wide
    assert to_parquet(numbered(301), COLUMNS) != wide


def test_a_column_is_fixed_width_bytes_in_small_groups() -> None:
    """List columns would read twenty times slower."""
    file = pq.ParquetFile(pa.BufferReader(to_parquet(numbered(300), COLUMNS)))
    assert file.schema_arrow.field("tokens").type == pa.binary(10)
    assert [file.metadata.row_group(g).num_rows for g in range(3)] == [128, 128, 44]
    first = file.read().column("tokens")[1].as_py()
    assert first == np.array([10, 11, 12, 13, 14], "<u2").tobytes()


def test_rows_are_read_from_where_a_slice_begins() -> None:
    """Arrow slices share their buffer: rows 40 to 49 begin 400 bytes into it."""
    table = pq.read_table(pa.BufferReader(to_parquet(numbered(100), COLUMNS)))
    for sliced in (table.slice(40, 10), pa.concat_tables([table.slice(40, 4), table.slice(44, 6)])):
        got = token_rows._tokens(sliced.column("tokens"), COLUMNS[0])
        np.testing.assert_array_equal(got, numbered(10, first=40)["tokens"])


# sources


def test_the_source_of_every_row_is_kept(tmp_path: Path) -> None:
    store = Store(tmp_path)
    store.write("a", to_parquet(numbered(2), COLUMNS, ["wiki", "news"]))
    store.write("b", to_parquet(numbered(1), COLUMNS, ["wiki"]))
    rows = opened(store, {"a": 2, "b": 1})
    assert rows.sources() == ["wiki", "news", "wiki"]
    assert_rows(rows.take(np.array([1])), {"tokens": numbered(2)["tokens"][1:]})


def test_a_split_without_sources_says_so(tmp_path: Path) -> None:
    assert reader(tmp_path, [3])[0].sources() is None


# damage


@dataclass
class Shard:
    """A file of 300 rows of two sources, and what its record says of it."""

    store: Store
    page_checksums: bool

    def __post_init__(self) -> None:
        draw = np.random.default_rng(0)
        tokens, sources = draw.integers(0, 9999, (300, 5)), draw.choice(["wiki", "news"], 300)
        self.bytes = to_parquet({"tokens": tokens}, COLUMNS, sources.tolist(), self.page_checksums)
        self.entry = ShardFile(
            path="part", rows=300, bytes=len(self.bytes), sha256=hashlib.sha256(self.bytes).hexdigest()
        )

    def read(self) -> tuple[list[list[int]], list[str] | None]:
        rows = RowReader(self.store, [self.entry], COLUMNS, 9999, self.page_checksums, "build it again")
        return rows.take(np.arange(300))["tokens"].tolist(), rows.sources()


@pytest.mark.parametrize("page_checksums", [False, True])
@pytest.mark.parametrize("damage", ["missing", "empty", "cut", "scrambled"])
def test_a_damaged_shard_is_named_in_one_line(tmp_path: Path, damage: str, page_checksums: bool) -> None:
    shard = Shard(Store(tmp_path), page_checksums)
    whole = shard.bytes
    if damage != "missing":
        scrambled = bytearray(whole)
        scrambled[4:400] = bytes(396)
        damaged = {"empty": b"", "cut": whole[: len(whole) // 2], "scrambled": bytes(scrambled)}[damage]
        shard.store.write("part", damaged)
    with pytest.raises(InputError) as caught:
        shard.read()
    message = str(caught.value)
    assert message.startswith(f"shard {tmp_path}/part: ") and "\n" not in message
    assert message.endswith("; build it again")


@pytest.mark.parametrize("page_checksums", [False, True])
@pytest.mark.parametrize("flips", [150, pytest.param(5000, marks=pytest.mark.nightly)])
def test_no_flipped_bit_changes_a_row_in_silence(tmp_path: Path, page_checksums: bool, flips: int) -> None:
    shard = Shard(Store(tmp_path), page_checksums)
    (tmp_path / "part").write_bytes(shard.bytes)
    sound, found = shard.read(), Counter[bool]()
    every = np.arange(len(shard.bytes) * 8)
    for bit in np.random.default_rng(1).choice(every, flips, replace=False):
        damaged = bytearray(shard.bytes)
        damaged[bit // 8] ^= 1 << (bit % 8)
        (tmp_path / "part").write_bytes(damaged)
        try:
            assert shard.read() == sound, bit
        except InputError as error:
            assert str(error).startswith(f"shard {tmp_path}/part: ") and "\n" not in str(error)
            found[True] += 1
    assert found[True] > 0.9 * flips


def test_a_page_that_is_damaged_after_the_first_look_is_found(tmp_path: Path) -> None:
    """Shards are mapped into memory: what is read later comes from the disk as it is then."""
    shard = Shard(Store(tmp_path), True)
    (tmp_path / "part").write_bytes(shard.bytes)
    rows = RowReader(shard.store, [shard.entry], COLUMNS, 9999, True, "build it again", keep=1)
    rows.group(0)
    page = pq.ParquetFile(pa.BufferReader(shard.bytes)).metadata.row_group(1).column(0)
    with (tmp_path / "part").open("r+b") as file:
        file.seek(page.data_page_offset + 60)
        file.write(b"\xff\xff")
    with pytest.raises(InputError, match="CRC"):
        rows.take(np.arange(300))


def test_a_shard_is_hashed_once_per_process_and_again_when_it_is_written_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shard, hashed, sha256 = Shard(Store(tmp_path), False), list[str](), Store.sha256

    def counted(self: Store, path: str) -> str:
        hashed.append(path)
        return sha256(self, path)

    monkeypatch.setattr(Store, "sha256", counted)
    for _ in range(2):
        shard.store.write("part", shard.bytes)
        for _ in range(3):
            shard.read()
    assert len(hashed) == 2


@pytest.mark.parametrize("vocab_size", [9, 10])
def test_a_token_beyond_the_vocabulary_is_named_with_its_shard(tmp_path: Path, vocab_size: int) -> None:
    store = Store(tmp_path)
    store.write("part", to_parquet({"tokens": np.arange(10).reshape(2, 5)}, COLUMNS))
    rows = opened(store, {"part": 2}, vocab_size=vocab_size)
    if vocab_size == 10:
        assert rows.take(np.arange(2))["tokens"].max() == 9
        return
    with pytest.raises(InputError, match=rf"shard {tmp_path}/part: .* token 9 .* vocabulary has 9: 0 to 8"):
        rows.take(np.arange(2))


def test_a_new_corpus_has_page_checksums_and_an_old_one_keeps_its_bytes(
    tmp_path: Path, toy_corpus: Callable[..., Corpus]
) -> None:
    """The ids of rounds come from these bytes."""
    old = toy_corpus(tmp_path)
    assert not old.info.page_checksums and old.info.model_copy(update={"format": FORMAT}).page_checksums
    data = to_parquet(numbered(300), COLUMNS)
    sink = io.BytesIO()
    how = {"row_group_size": ROW_GROUP, "compression": "zstd", "compression_level": 1, "use_dictionary": False}
    pq.write_table(pq.read_table(pa.BufferReader(data)), sink, **how)
    assert sink.getvalue() == data != to_parquet(numbered(300), COLUMNS, page_checksums=True)


def test_a_folder_without_a_corpus_is_answered_with_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"no corpus there .* ticlm data build"):
        Corpus.open(str(tmp_path))


@pytest.mark.parametrize("content", [b"{", b"[]", b"{}", b'{"format": 1, "name": 3}'])
def test_a_damaged_corpus_is_named_in_one_line(tmp_path: Path, content: bytes) -> None:
    Store(tmp_path).write(INFO, content)
    with pytest.raises(InputError) as caught:
        Corpus.open(str(tmp_path))
    assert INFO in str(caught.value) and "\n" not in str(caught.value)
    assert f"; restore it from a copy, or remove {tmp_path} and build it again with ticlm data build" in str(
        caught.value
    )


def test_a_corpus_of_another_release_is_not_called_damaged(tmp_path: Path) -> None:
    Store(tmp_path).write(INFO, with_hash({"format": 9, "name": "later"}))
    with pytest.raises(InputError, match=rf"{INFO}: ") as caught:
        Corpus.open(str(tmp_path))
    assert "damaged" not in str(caught.value)


# a corpus


def test_a_corpus_lists_its_finished_periods_oldest_first(tmp_path: Path, toy_corpus: Callable[..., Corpus]) -> None:
    corpus = toy_corpus(tmp_path, ["202211", "202212", "202301"])
    assert list(corpus.periods) == ["202211", "202212", "202301"]
    (tmp_path / "periods/202212" / RECORD).unlink()
    assert list(Corpus.open(str(tmp_path)).periods) == ["202211", "202301"]


def test_a_period_that_was_never_built_is_answered_with_those_that_were(
    tmp_path: Path, toy_corpus: Callable[..., Corpus]
) -> None:
    corpus = toy_corpus(tmp_path)
    with pytest.raises(InputError, match=r"toy@1 has no period 202305; it has 202301 … 202304 \(4\)"):
        corpus.split("202305", "train")


def test_a_corpus_reads_its_rows_and_its_tokenizer(tmp_path: Path, toy_corpus: Callable[..., Corpus]) -> None:
    corpus = toy_corpus(tmp_path, rows=200)
    rows = corpus.rows("202302", "train")
    assert len(rows) == corpus.split("202302", "train").rows == 200
    assert rows.take(np.array([199]))["tokens"].max() < 64
    assert corpus.tokenizer()("w3 w5")["input_ids"] == [3, 5]


def manifest(*hashes: str, **changes: Any) -> SplitManifest:
    files = tuple(ShardFile(path=f"part-{n}", rows=1, bytes=1, sha256=sha256) for n, sha256 in enumerate(hashes))
    return SplitManifest(files=files, rows=len(files), tokens=9, documents=9, bytes=9).model_copy(update=changes)


def test_the_identity_of_a_split_is_the_content_and_order_of_its_files() -> None:
    one = manifest("a", "b")
    renamed = tuple(file.model_copy(update={"path": "elsewhere", "bytes": 2}) for file in one.files)
    assert manifest("a", "b", files=renamed, documents=3).sha256 == one.sha256
    assert len({one.sha256, manifest("b", "a").sha256, manifest("a").sha256, manifest("ab").sha256}) == 4
