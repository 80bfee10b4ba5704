"""CSV by columns: the same bytes as pandas writes row by row, whatever the columns hold."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from ticlm.platform.report import csv_file
from ticlm.platform.report.csv_file import FORMULA, write_csv

TEXTS = ("", "a", "=1", "+x,y", 'q"q', "two\nlines", "\rback", "x\ry", "-5", "@", "\tt", " ", "é漢", "'x", "a,b", "nan")
MIXED: tuple[Any, ...] = (1, 2.5, "=x", None, True, float("nan"), np.float64(0.1), 1 / 3, {"a": 1}, "a\nb")


def simple(frame: pd.DataFrame, path: Path) -> bytes:
    """A call of Python for every text, then pandas."""

    def inert(value: object) -> object:
        return f"'{value}" if isinstance(value, str) and FORMULA.match(value) else value

    safe = frame.rename(columns=inert)
    for place, kind in enumerate(map(str, frame.dtypes)):
        if kind in ("object", "str", "string", "category"):
            safe.isetitem(place, list(frame.iloc[:, place].map(inert)))
    safe.to_csv(path, index=False, float_format="%.9g", lineterminator="\n")
    return path.read_bytes()


def any_frame(seed: int) -> pd.DataFrame:
    """Some columns of every type that reports have, with holes, in any order."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(0, 40))

    def some(values: Any) -> list[Any]:
        return [None if rng.random() < 0.2 else value for value in values]

    def texts() -> list[str]:
        return [TEXTS[i] for i in rng.integers(0, len(TEXTS), n)]

    numbers = rng.normal(size=n) * 10.0 ** rng.integers(-12, 20, n)
    numbers[:1] = (np.inf, -np.inf, -0.0, np.nan)[seed % 4]
    columns: dict[str, Any] = {
        "=text": texts(),
        "str, holes": pd.Series(some(texts()), dtype="str"),
        "string": pd.Series(some(texts()), dtype="string"),
        "category": pd.Categorical(some(texts())),
        "objects": pd.Series(some(texts()), dtype=object),
        "mixed": pd.Series([MIXED[i] for i in rng.integers(0, len(MIXED), n)], dtype=object),
        "numbers as objects": pd.Series(some(numbers), dtype=object),
        "float": numbers,
        "float32": numbers.astype(np.float32),
        "Float64": pd.array(some(numbers.tolist()), dtype="Float64"),
        "int": rng.integers(-9, 9, n),
        "Int64": pd.array(some(rng.integers(-9, 9, n).tolist()), dtype="Int64"),
        "bool": rng.random(n) < 0.5,
        "boolean": pd.array(some((rng.random(n) < 0.5).tolist()), dtype="boolean"),
        "none": [None] * n,
        "category of numbers": pd.Categorical(some((rng.integers(0, 3, n) / 3).tolist())),
    }
    names = [list(columns)[i] for i in rng.permutation(len(columns))[: rng.integers(1, len(columns) + 1)]]
    frame = pd.DataFrame({name: columns[name] for name in names})
    return (frame, frame.iloc[::-1], pd.concat([frame, frame], ignore_index=True))[seed % 3]


def test_the_bytes_are_those_of_pandas(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(csv_file, "ROWS", 7)  # so that small frames are written in several parts, too
    for seed in range(60):
        frame = any_frame(seed)
        write_csv(frame, tmp_path / "by-columns.csv")
        assert (tmp_path / "by-columns.csv").read_bytes() == simple(frame, tmp_path / "simple.csv"), (
            seed,
            frame.dtypes,
        )
