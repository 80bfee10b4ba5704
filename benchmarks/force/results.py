"""What a study gives, and whether two roots have the same of it."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from pathlib import Path

from ticlm.core.integrity.records import read_record
from ticlm.core.store import Store
from ticlm.platform.study.identity import weights_of
from ticlm.platform.tasks.cells.files import read_cells


def results(root: Path) -> dict[str, str]:
    """Return a value for everything that a study gives: files of weights and sampled rows by place, cells, tables."""
    found, store = {}, Store(str(root))
    for file in sorted(root.glob("rounds/**/*")):
        if file.suffix in (".safetensors", ".parquet"):
            found[place(file.relative_to(root).as_posix())] = hashlib.sha256(file.read_bytes()).hexdigest()
    for file in sorted(root.glob("rounds/**/record.json")):
        record = read_record(store, file.parent.relative_to(root).as_posix())
        if record is not None and "model/config.json" in {entry.path for entry in record.files}:
            for cell in read_cells(store, weights_of(record)):
                found[f"cell {record.about['period']} {cell.key} {cell.place}"] = repr(cell.value)
    for file in sorted(root.glob("reports/*/*.csv")):
        found[file.name] = re.sub(r"\b20\d\d-\d\d-\d\dT[\d:]+Z?", "", file.read_text())
    return found


def place(file: str) -> str:
    """Return a file's path in its root without the name of an attempt, which is another one in each run."""
    return re.sub(r"/\d{8}T\d{6}-[0-9a-f]+", "", file)


def compared(peace: Path, root: Path) -> list[str]:
    """Return what differs between two roots, by place."""
    one, other = results(peace), results(root)
    return sorted(key for key in one.keys() | other.keys() if one.get(key) != other.get(key))


def told(differ: Sequence[str]) -> str:
    return f"{len(differ)} results differ, such as {differ[0]}"
