"""What a reader says of each question: which points of the rubric it fails."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

POINTS = {"g": "grammatical", "a": "answerable", "r": "right", "n": "news"}
"""The points of the rubric by their letters. `news`: of NEW, the text did not say so before; of EDITED, the fact that
is stated changed; of UNCHANGED, it is no fact of a day."""
Verdicts = dict[int, frozenset[str]]


def record(failures: Path, numbers: Sequence[int], out: Path) -> int:
    """Turn lines such as `12 ga` (number, letters of the failed points) into a line of JSON for each question; return
    how many fail. A question without a line passes.

    Raises ValueError for a number that no question has, a number twice, and a letter of no point.
    """
    said: Verdicts = {}
    for line in filter(None, (line.split("#")[0].strip() for line in failures.read_text("utf-8").splitlines())):
        number, letters = line.split()
        if int(number) in said or int(number) not in numbers or not set(letters) <= set(POINTS):
            raise ValueError(
                f"{failures}: {line!r}: must be a question's number, once, and letters of {''.join(POINTS)}"
            )
        said[int(number)] = frozenset(letters)
    rows = [
        {"n": n} | {name: letter not in said.get(n, ()) for letter, name in POINTS.items()} for n in sorted(numbers)
    ]
    out.write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")
    return len(said)


def read(path: Path) -> Verdicts:
    """Return the failed points of each question by a reader. Raises ValueError if one says nothing of a point."""
    found: Verdicts = {}
    for row in map(json.loads, path.read_text(encoding="utf-8").splitlines()):
        if missing := [name for name in POINTS.values() if not isinstance(row.get(name), bool)]:
            raise ValueError(f"{path}: question {row.get('n')}: {', '.join(missing)} must be true or false")
        found[row["n"]] = frozenset(letter for letter, name in POINTS.items() if not row[name])
    return found
