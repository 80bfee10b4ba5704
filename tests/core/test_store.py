"""Roots on a disk and on S3: files, attempts, and records that are written last."""

from __future__ import annotations

import pickle
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import fsspec
import pytest

from ticlm.core.errors import InputError
from ticlm.core.integrity.files import verify
from ticlm.core.integrity.records import Attempt, read_record
from ticlm.core.paths import RECORD
from ticlm.core.store import Store

WRITERS = 8


def together(work: Any) -> list[Any]:
    """What `work(k)` returns for k in 0 … 7, all started at the same moment."""
    gate = threading.Barrier(WRITERS)

    def one(k: int) -> Any:
        gate.wait()
        return work(k)

    with ThreadPoolExecutor(WRITERS) as pool:
        return list(pool.map(one, range(WRITERS)))


# files


def test_files_are_written_read_listed_and_removed(store: Store) -> None:
    store.write("a/b/one", b"1")
    store.write("a/two", b"22")
    assert store.read("a/b/one") == b"1" and store.size("a/two") == 2
    assert store.walk() == ["a/b/one", "a/two"] and store.walk("a") == ["b/one", "two"]
    assert store.folders("a") == ["b"] and store.files("a") == ["two"] and store.folders() == ["a"]
    store.write("a/two", b"changed")
    assert store.read("a/two") == b"changed"
    store.remove("a")
    assert store.walk() == [] and not store.exists("a")


def test_what_is_not_there_is_empty_and_removing_it_is_no_error(store: Store) -> None:
    assert store.folders("nothing") == [] and store.files("nothing") == [] and store.walk("nothing") == []
    assert not store.exists("nothing")
    store.remove("nothing")
    with pytest.raises(FileNotFoundError):
        store.read("nothing")
    assert read_record(store, "nothing") is None


@pytest.mark.parametrize("path", ["", "a"])
def test_a_folder_is_taken_here_and_put_there(store: Store, tmp_path: Path, path: str) -> None:
    """The whole store too: a tokenizer lies at the top of its own."""
    (tmp_path / "mine/b").mkdir(parents=True)
    (tmp_path / "mine/b/c.txt").write_text("c")
    store.upload(tmp_path / "mine", path)
    assert store.walk(path) == ["b/c.txt"]
    with store.local(path) as folder:
        assert (folder / "b/c.txt").read_text() == "c"


def test_a_hash_is_that_of_the_content(store: Store) -> None:
    store.write("empty", b"")
    store.write("abc", b"abc")
    assert store.sha256("empty") == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
    assert store.sha256("abc") == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"


def test_a_folder_goes_up_and_comes_back(store: Store, tmp_path: Path) -> None:
    (tmp_path / "model/deep").mkdir(parents=True)
    (tmp_path / "model/config.json").write_text("{}")
    (tmp_path / "model/deep/weights").write_bytes(b"\x00\x01")
    store.upload(tmp_path / "model", "rounds/x/model")
    with store.local("rounds/x/model") as folder:
        assert sorted(str(p.relative_to(folder)) for p in folder.rglob("*") if p.is_file()) == [
            "config.json",
            "deep/weights",
        ]
        assert (folder / "deep/weights").read_bytes() == b"\x00\x01"
    assert folder.exists() is store.is_local  # a copy is deleted, the root itself is not
    assert store.exists("rounds/x/model/config.json")


def test_a_store_travels_to_another_process_and_has_children(store: Store) -> None:
    copy = pickle.loads(pickle.dumps(Store(store.uri("corpora/news"))))
    copy.write("corpus.json", b"{}")
    assert store.read("corpora/news/corpus.json") == b"{}"
    assert Store(store.uri("corpora/news")).read("corpus.json") == b"{}"


def test_listings_are_never_stale(store: Store) -> None:
    """Another process writes: a filesystem that remembers its listings would not see it."""
    data_source = fsspec.filesystem(store.fs.protocol[0], skip_instance_cache=True)
    store.write("a/one", b"1")
    assert store.files("a") == ["one"] and not store.exists("a/two")
    data_source.pipe_file(store.path("a/two"), b"2")
    assert store.files("a") == ["one", "two"] and store.exists("a/two") and store.walk() == ["a/one", "a/two"]


def test_many_files_are_read_in_order_and_those_that_are_not_there_are_none(store: Store) -> None:
    names = [f"many/{number:03d}" for number in range(90)]
    for name in names[::2]:
        store.write(name, name.encode())
    found = list(store.read_all([*names, "many/000/below"]))
    assert found[:90] == [name.encode() if number % 2 == 0 else None for number, name in enumerate(names)]
    assert found[90:] == [None]


def test_one_listing_tells_the_states_of_all_files_below_a_folder(store: Store) -> None:
    for name in ("cells/b/two", "cells/a/one", "cells/index", "other/file"):
        store.write(name, b"1")
    before = store.states("cells")
    assert list(before) == ["a/one", "b/two", "index"] and store.states("nothing") == {}
    store.write("cells/a/one", b"2")  # of the same size
    store.remove("cells/b")
    after = store.states("cells")
    assert list(after) == ["a/one", "index"]
    assert after["index"] == before["index"] and after["a/one"] != before["a/one"]


# create only if absent


def test_what_exists_is_not_created_again(store: Store) -> None:
    assert store.create("a/one", b"first")
    assert not store.create("a/one", b"second")
    assert store.read("a/one") == b"first" and store.files("a") == ["one"]


def test_of_eight_that_create_at_once_one_wins_and_its_bytes_stand(store: Store) -> None:
    for number in range(5):
        path = f"races/{number}"
        won = together(lambda k, path=path: Store(store.root).create(path, bytes([k]) * 4096))
        assert won.count(True) == 1
        assert store.read(path) == bytes([won.index(True)]) * 4096
    assert len(store.walk("races")) == 5


def test_a_reader_sees_the_old_bytes_or_the_new_ones(tmp_path: Path) -> None:
    store, done = Store(tmp_path), threading.Event()
    store.write("file", b"a" * 100_000)

    def write() -> None:
        for letter in b"bcdefghij" * 5:
            store.write("file", bytes([letter]) * 100_000)
        done.set()

    writer = threading.Thread(target=write)
    writer.start()
    while not done.is_set():
        seen = store.read("file")
        assert len(seen) == 100_000 and len(set(seen)) == 1
    writer.join()


def test_a_file_that_is_being_written_is_not_listed(tmp_path: Path) -> None:
    store = Store(tmp_path)
    store.write("a/one", b"1")
    (tmp_path / "a/.writing-x").write_bytes(b"half")
    assert store.files("a") == ["one"]


# attempts and records


def publish(store: Store, folder: str, content: bytes, about: dict[str, Any] | None = None) -> Attempt:
    attempt = Attempt(store, folder)
    store.write(f"{attempt.path}/weights", content)
    store.write(f"{attempt.path}/deep/config", b"{}")
    attempt.publish(about or {})
    return attempt


def test_a_record_names_every_file_of_its_attempt(store: Store) -> None:
    attempt = publish(store, "rounds/x", b"abc", {"loss": 2.5, "steps": [1, 2]})
    record = read_record(store, "rounds/x")
    assert record is not None and record.attempt == attempt.name and record.about == {"loss": 2.5, "steps": [1, 2]}
    assert [(f.path, f.size) for f in record.files] == [("deep/config", 2), ("weights", 3)]
    assert record.file("weights").sha256 == store.sha256(f"{attempt.path}/weights")
    assert verify(store, "rounds/x") == []


def test_a_record_may_name_only_some_files(store: Store) -> None:
    attempt = Attempt(store, "cells/y", "mine")
    store.write(f"{attempt.path}/kept", b"1")
    store.write(f"{attempt.path}/scratch", b"2")
    assert [f.path for f in attempt.publish({}, ["kept"]).files] == ["kept"]


def test_work_without_a_record_never_happened(store: Store) -> None:
    store.write("rounds/x/attempt/weights", b"abc")
    assert read_record(store, "rounds/x") is None
    assert verify(store, "rounds/x") == ["rounds/x: no record"]


def test_of_eight_rival_attempts_one_record_stands_and_all_are_told_which(store: Store) -> None:
    def work(k: int) -> tuple[str, str]:
        mine = Store(store.root)
        attempt = Attempt(mine, "rounds/x")
        mine.write(f"{attempt.path}/weights", bytes([k]))
        return attempt.name, attempt.publish({"k": k}).attempt

    results = together(work)
    standing = read_record(store, "rounds/x")
    assert standing is not None and len({name for name, _ in results}) == WRITERS
    assert {told for _, told in results} == {standing.attempt}
    assert store.read(f"rounds/x/{standing.attempt}/weights") == bytes([standing.about["k"]])
    assert verify(store, "rounds/x") == []


def test_a_changed_a_shortened_and_a_lost_file_are_each_found(store: Store) -> None:
    attempt = publish(store, "rounds/x", b"abc")
    weights = f"{attempt.path}/weights"
    store.write(weights, b"abd")
    assert verify(store, "rounds/x") == [f"{weights}: its hash differs from the record's"]
    store.write(weights, b"ab")
    assert verify(store, "rounds/x") == [f"{weights}: 2 bytes, the record says 3"]
    store.remove(weights)
    store.remove(f"{attempt.path}/deep/config")
    assert verify(store, "rounds/x") == [f"{attempt.path}/deep/config: missing", f"{weights}: missing"]


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b'{"format": 1}', b"\xff"])
def test_a_damaged_record_is_named_in_one_line(store: Store, content: bytes) -> None:
    store.write(f"rounds/x/{RECORD}", content)
    with pytest.raises(InputError) as caught:
        read_record(store, "rounds/x")
    assert f"rounds/x/{RECORD} is damaged" in str(caught.value) and "\n" not in str(caught.value)


# roots that cannot be used


def test_an_unknown_protocol_is_refused() -> None:
    with pytest.raises(InputError, match="root nonsense://x: "):
        Store("nonsense://x")


def test_a_root_inside_a_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError) as caught:
        Store(tmp_path / "file/root").check_writable()
    assert "is not writable" in str(caught.value) and "\n" not in str(caught.value)


def test_checking_that_a_root_is_writable_leaves_nothing_behind(store: Store) -> None:
    store.check_writable()
    assert store.walk() == []


def test_a_bucket_that_is_not_there_is_refused(s3_server: None) -> None:
    with pytest.raises(InputError, match="is not writable"):
        Store("s3://no-such-bucket/root").check_writable()
