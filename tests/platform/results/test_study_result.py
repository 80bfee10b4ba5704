from collections.abc import Callable
from pathlib import Path

import pytest

from ticlm.core.errors import InputError
from ticlm.core.store import Store
from ticlm.platform.tasks.cells.cell import Cell
from ticlm.platform.tasks.cells.files import read_cells, write_cells

WEIGHTS = "0123456789abcdef" * 4


def cell(evaluated: str = "201305", value: float = 2.5, **more: object) -> Cell:
    fields: dict[str, object] = {
        "weights": WEIGHTS,
        "task": "loss@1",
        "evaluated": evaluated,
        "metric": "nll",
        "value": value,
        "n": 16_777_216,
        "stderr": 0.001,
        "key": f"key-{evaluated}",
    }
    return Cell.model_validate(fields | more)


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path)


def test_cells_come_back_exactly_as_they_were_written(store: Store) -> None:
    cells = [cell("201312", 1 / 3), cell("201305", source="news", stderr=None, n=0), cell("201305")]
    cells += [cell("boolq", axis="part"), cell("201305", kind="cut", metric="too long"), cell(metric="too long")]
    write_cells(store, cells)
    assert sorted(read_cells(store, WEIGHTS), key=str) == sorted(cells, key=str)


def test_cells_of_other_checkpoints_are_kept_apart(store: Store) -> None:
    other = "f" * 64
    write_cells(store, [cell(), cell(weights=other, value=9.0)])
    assert [c.value for c in read_cells(store, WEIGHTS)] == [2.5]
    assert [c.value for c in read_cells(store, other)] == [9.0]
    assert store.folders("cells") == [WEIGHTS[:16], other[:16]]


def test_a_checkpoint_that_was_never_scored_has_no_cells(store: Store) -> None:
    assert read_cells(store, WEIGHTS) == []


def test_cells_grow_by_a_file_at_a_time_and_the_order_of_writing_does_not_show(tmp_path: Path) -> None:
    months = ["201305", "201312", "201403"]
    forth, back = Store(tmp_path / "forth"), Store(tmp_path / "back")
    for store, order in ((forth, months), (back, months[::-1])):
        for month in order:
            write_cells(store, [cell(month)])
    assert read_cells(forth, WEIGHTS) == read_cells(back, WEIGHTS)
    assert [c.evaluated for c in read_cells(forth, WEIGHTS)] == months


def test_the_first_of_two_writers_counts(store: Store) -> None:
    write_cells(store, [cell(value=2.5)])
    write_cells(store, [cell(value=2.5000001)])
    assert [c.value for c in read_cells(store, WEIGHTS)] == [2.5]


def test_a_cell_in_two_overlapping_files_is_read_once(store: Store) -> None:
    write_cells(store, [cell("201305", 1.0)])
    write_cells(store, [cell("201305", 2.0), cell("201312", 3.0)])
    values = [c.value for c in read_cells(store, WEIGHTS)]
    assert len(values) == 2 and values[1] == 3.0
    assert values == [c.value for c in read_cells(store, WEIGHTS)]


def _flip(data: bytes) -> bytes:
    return data[:60] + bytes([data[60] ^ 0xFF]) + data[61:]


@pytest.mark.parametrize("damage", [lambda data: data[:-9], lambda data: b"", lambda data: b"not parquet", _flip])
def test_a_damaged_file_is_an_error_that_names_it(store: Store, damage: Callable[[bytes], bytes]) -> None:
    write_cells(store, [cell("201305")])
    write_cells(store, [cell("201312")])
    path = f"cells/{WEIGHTS[:16]}/{store.files(f'cells/{WEIGHTS[:16]}')[0]}"
    store.write(path, damage(store.read(path)))
    with pytest.raises(InputError, match="is damaged") as error:
        read_cells(store, WEIGHTS)
    assert path in str(error.value) and "\n" not in str(error.value)


def test_a_file_of_another_checkpoint_is_not_taken_for_ours(store: Store) -> None:
    other = WEIGHTS[:16] + "0" * 48
    write_cells(store, [cell(weights=other)])
    with pytest.raises(InputError, match="other than 0123"):
        read_cells(store, WEIGHTS)


def test_a_value_that_is_not_a_number_is_refused() -> None:
    with pytest.raises(ValueError, match="finite"):
        cell(value=float("nan"))
