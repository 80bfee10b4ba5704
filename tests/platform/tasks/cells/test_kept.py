"""The cells of many checkpoints: from an index where it holds, else from their files, always the same."""

from __future__ import annotations

import hashlib
import os
import warnings
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest

from ticlm.core.errors import InputError, TiclmWarning
from ticlm.core.store import Store
from ticlm.platform.tasks.cells import kept
from ticlm.platform.tasks.cells.cell import Cell
from ticlm.platform.tasks.cells.files import labelled, read_by_key, read_cells, write_cells
from ticlm.platform.tasks.cells.index import check_indexes
from ticlm.platform.tasks.cells.kept import KeptCells, renew_index

WEIGHTS = [hashlib.sha256(bytes([number])).hexdigest() for number in range(6)]
LABELS = ("202301", "202302", "202303")


def cells_of(weights: str, labels: tuple[str, ...] = LABELS, value: float = 1.0) -> list[Cell]:
    """Two numbers and one count at each label; two labels have the same data, and so one key."""
    titles: list[tuple[Any, str]] = [("value", "nll"), ("value", "exact-match"), ("left out", "no answer")]
    return [
        Cell(
            weights=weights,
            task="toy@1",
            evaluated=label,
            kind=kind,
            metric=metric,
            value=value + number,
            n=number,
            stderr=None if number else 0.5,
            key=f"{weights[:4]} {min(label, '202302')}",
        )
        for label in labels
        for number, (kind, metric) in enumerate(titles)
    ]


@pytest.fixture
def root(store: Store, monkeypatch: pytest.MonkeyPatch) -> Store:
    """Six checkpoints; the first has two files, which overlap. An index is worth it from two files on."""
    monkeypatch.setattr(kept, "FEWEST", 2)
    for weights in WEIGHTS:
        write_cells(store, cells_of(weights))
    write_cells(store, cells_of(WEIGHTS[0], (*LABELS[:2], "202304"), value=7.0))
    return store


def rows(store: Store, columns: list[str] | None = None) -> list[Any]:
    found: list[Any] = []
    for weights, cells in zip(WEIGHTS, KeptCells(store, columns).each(WEIGHTS)):
        if columns:
            found.append(sorted(set(cells.keys)))
            continue
        by_key = read_by_key(store, weights)
        assert {key: cells.cells(places) for key, places in cells.rows.items()} == by_key
        for key, mine in by_key.items():
            for label in (*LABELS, "202309"):
                assert cells.labelled_cells(label, key) == labelled(label, mine)
        found.append([cell.model_dump() for cell in read_cells(store, weights)])
    return found


def indexes(store: Store) -> list[str]:
    return store.files("cells")


def test_an_index_gives_the_cells_of_the_files(root: Store) -> None:
    from_files, keys = rows(root), rows(root, ["key"])
    renew_index(root)
    (name,) = indexes(root)
    assert KeptCells(root).outside == 0
    assert rows(root) == from_files and rows(root, ["key"]) == keys
    renew_index(root)
    assert indexes(root) == [name], "it lacks nothing, so it stays"


def test_an_index_opens_no_file_of_its_own_and_every_other_one(root: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    renew_index(root)
    write_cells(root, cells_of(WEIGHTS[1], ("202305",)))
    opened: list[str] = []
    read_all = Store.read_all

    def noted(store: Store, paths: Iterable[str]) -> Iterator[bytes | None]:
        asked = list(paths)
        opened.extend(asked)
        return read_all(store, asked)

    monkeypatch.setattr(Store, "read_all", noted)
    list(KeptCells(root).each(WEIGHTS))
    assert [path.split("/")[1] for path in opened] == [WEIGHTS[1][:16]]
    assert rows(root)[1][-1]["evaluated"] == "202305"


def test_what_is_written_removed_or_changed_after_an_index_counts(root: Store) -> None:
    renew_index(root)
    (name,) = root.files(f"cells/{WEIGHTS[2][:16]}")
    root.remove(f"cells/{WEIGHTS[2][:16]}/{name}")
    (name,) = root.files(f"cells/{WEIGHTS[3][:16]}")
    path = f"cells/{WEIGHTS[3][:16]}/{name}"
    root.write(path, root.read(path)[:-9])
    assert next(KeptCells(root).each([WEIGHTS[2]])).keys == []
    for columns in (None, ["key"]):
        with pytest.raises(InputError, match=rf"{name} is damaged \(.*\); remove it to score its cells again"):
            list(KeptCells(root, columns).each(WEIGHTS))
    root.remove(path)
    write_cells(root, cells_of(WEIGHTS[3], value=9.0))
    assert [row["value"] for row in rows(root)[3] if row["metric"] == "nll"] == [9.0] * 3


@pytest.mark.parametrize(
    "damage",
    [
        lambda data: data[: len(data) // 2],
        lambda data: b"",
        lambda data: data[:40] + bytes([data[40] ^ 1]) + data[41:],
        lambda data: data.replace(b"202301", b"202309"),
    ],
)
def test_an_index_that_was_edited_or_torn_costs_one_line_and_no_cell(
    root: Store, damage: Callable[[bytes], bytes]
) -> None:
    from_files = rows(root)
    renew_index(root)
    (name,) = indexes(root)
    root.write(f"cells/{name}", damage(root.read(f"cells/{name}")))
    with pytest.warns(TiclmWarning, match=f"{name} is damaged .*its hash .*; ticlm eval writes another") as told:
        found = KeptCells(root)
    assert len(told) == 1 and "\n" not in str(told[0].message)
    assert found.outside == len(WEIGHTS) + 1
    assert [name in line for line in check_indexes(root)] == [True]
    with warnings.catch_warnings(action="ignore"):
        assert rows(root) == from_files
        renew_index(root)
    (other,) = indexes(root)
    assert other > name and check_indexes(root) == []
    assert rows(root) == from_files


def test_cells_of_another_checkpoint_in_a_folder_are_named_with_an_index_and_without(root: Store) -> None:
    other = WEIGHTS[4][:16] + "f" * 48
    write_cells(root, cells_of(other))
    for _ in range(2):
        with pytest.raises(InputError, match=f"holds cells of a checkpoint other than {WEIGHTS[4]}"):
            list(KeptCells(root, ["key"]).each(WEIGHTS))
        renew_index(root)


def test_a_copied_root_is_read_from_its_files_until_it_has_an_index_of_its_own(tmp_path: Path) -> None:
    """Its files have other times: what the index says of them is not believed."""
    import shutil

    store = Store(tmp_path / "one")
    for weights in WEIGHTS:
        write_cells(store, cells_of(weights))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(kept, "FEWEST", 2)
        renew_index(store)
        shutil.copytree(tmp_path / "one", tmp_path / "two", copy_function=shutil.copyfile)
        for file in (tmp_path / "two").rglob("*.parquet"):
            os.utime(file, (1, 1))
        copy = Store(tmp_path / "two")
        assert KeptCells(store).outside == 0 and KeptCells(copy).outside == len(WEIGHTS)
        assert rows(copy) == rows(store)
        renew_index(copy)
        assert KeptCells(copy).outside == 0 and len(indexes(copy)) == 1
