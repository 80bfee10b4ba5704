"""The probes released with CKL (Jang et al., 2022): CSV files of prompts, and JSON files of the answers that count.

    invariantLAMA.csv, trex_5000.csv     id,input,output
    updatedLAMA.csv                      unique_id,statement,new_answer            {id: [{"old": […], "new": […]}]}
    newLAMA.csv, newLAMA_easy….csv       unique_id,statement,answer,question       {id: […]}

`a;b` in a cell are two answers, of which the first is the one to train on. What scores count is the JSON file, where
there is one.
"""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from pydantic import Field

from ticlm.core.errors import InputError
from ticlm.core.examples import Example
from ticlm.core.mixture import Subset
from ticlm.core.settings import Settings
from ticlm.datasets.examples.placing import UnusableExample
from ticlm.datasets.io import csv_rows, listing
from ticlm.datasets.io.documents import Input, input_files
from ticlm.datasets.io.fetching import opened
from ticlm.datasets.io.listing import Patterns
from ticlm.datasets.io.records import BadRecord
from ticlm.datasets.lama.collecting import Collected
from ticlm.datasets.lama.schema import strings
from ticlm.datasets.lama.words import words

ID, PROMPT, ANSWER = ("unique_id", "id"), ("statement", "input"), ("new_answer", "answer", "output")
QUESTION = "question"
FORMS = (
    "id, input and output (InvariantLAMA), unique_id, statement and new_answer (UpdatedLAMA) or unique_id, statement, "
    "answer and question (NewLAMA)"
)
LACKING = "no entry in the answers file, so the answer of the row counts"
UNREADABLE = "an unreadable entry in the answers file, so the answer of the row counts"
OTHERS = "the answers file has other answers than the row"
ALONE = "an entry of the answers file that no row has"
TWICE = "an id that stands twice in the answers file, of which the last counts"
_SENTINEL = re.compile(r"<extra_id_\d+>")


class ReleasedFiles(Settings):
    """The files of one probe set of CKL."""

    rows: Patterns = Field(min_length=1)
    """CSV files of prompts: paths, globs or folders, local or remote."""
    answers: str | None = None
    """JSON file of the answers by id; without it, the answers of the CSV files count."""
    optional: bool = False
    """Leave the set out where its CSV files are absent. Sets that are optional come together: all of them or none."""

    @property
    def are_absent(self) -> bool:
        """Whether no CSV file is there."""
        return not any(listing.matches(pattern) for pattern in self.rows)

    def inputs(self, setting: str) -> list[Input]:
        """Return the files, the answers last. Raises InputError, which names the setting, for one that is not there."""
        found = input_files(self.rows, (".csv",), f"{setting}.rows")
        if self.answers is not None:
            found += input_files((self.answers,), (".json",), f"{setting}.answers")
        return found


@dataclass(frozen=True)
class _Columns:
    id: str
    prompt: str
    answer: str


@dataclass(frozen=True)
class _Answers:
    """The right answers of an id, and the answers that were right before."""

    right: tuple[str, ...]
    outdated: tuple[str, ...] = ()


def read(files: Sequence[str], subset: Subset, into: Collected) -> None:
    """Collect the probes of one set: of CSV files, and of a JSON file behind them, if there is one.

    A row whose id the JSON file lacks keeps its own answer, and so does a second row of an id whose answers are others;
    both are counted as remarks. Raises InputError for a file with other columns and for a JSON file of another form.
    """
    tables = [path for path in files if not path.endswith(".json")]
    named = {path: _columns_of(path) for path in tables}
    answers = [_AnswersFile.open(path) for path in files if path.endswith(".json")]
    known = answers[0] if answers else None
    for path in tables:
        for line, row in csv_rows.rows(path):
            remarks: list[str] = []
            name = f"{path.rsplit('/', 1)[-1]}:{line}"
            if into.add(subset, partial(_probe, row, named[path], known, name, remarks)):
                for remark in remarks:
                    into.remark(remark, subset)
    for remark, count in known.alone().items() if known else ():
        into.remark(remark, subset, count)


def _columns_of(path: str) -> _Columns:
    """Return the names of the columns of a file. Raises InputError if it has others than CKL's files have."""
    try:
        names = csv_rows.columns(path)
    except (OSError, csv.Error) as error:
        raise InputError(f"{path} cannot be read: {error}") from None
    found = [next((name for name in wanted if name in names), None) for wanted in (ID, PROMPT, ANSWER)]
    if None in found:
        has = csv_rows.listed(names)
        raise InputError(f"{path}: its columns are {has}; files of CKL's probes have {FORMS}")
    return _Columns(*(name or "" for name in found))


def _probe(
    row: Mapping[str, str] | BadRecord,
    columns: _Columns,
    known: _AnswersFile | None,
    name: str,
    remarks: list[str],
) -> Example:
    """Return the probe of a row, and append what is odd about it to `remarks`; `name` is its id if it has none. Raises
    UnusableExample."""
    if isinstance(row, BadRecord):
        raise UnusableExample(row.reason)
    given = row[columns.id].strip()
    own = strings([_SENTINEL.sub(" ", part).strip() for part in row[columns.answer].split(";")], "answers")
    answers = _Answers(tuple(own))
    if known is not None:
        answers = known.of(given, answers, remarks)
    return Example(
        id=given or name,
        text=row[columns.prompt].strip(),
        answer=answers.right[0] if answers.right else None,
        aliases=answers.right[1:],
        question=row.get(QUESTION, "").strip() or None,
        outdated=answers.outdated,
    )


class _AnswersFile:
    """The answers of one JSON file by id, and which ids were asked for."""

    def __init__(self, entries: Mapping[str, object], twice: int) -> None:
        self._entries, self._twice = entries, twice
        self._seen: set[str] = set()

    @staticmethod
    def open(path: str) -> _AnswersFile:
        """Return the answers of a file. Raises InputError if it is no JSON object."""
        count = 0

        def entries(pairs: list[tuple[str, object]]) -> dict[str, object]:
            nonlocal count
            found = dict(pairs)
            count += len(pairs) - len(found)
            return found

        try:
            with opened(path) as raw:
                data = json.loads(raw.read(), object_pairs_hook=entries)
        except OSError as error:
            raise InputError(f"{path} cannot be read: {error.strerror or error}") from None
        except (ValueError, RecursionError) as error:
            raise InputError(f"{path} is no JSON: {' '.join(str(error).split())}") from None
        if not isinstance(data, dict):
            raise InputError(f'{path}: expected answers by id, {{"ID": ["an answer"]}}, found a {type(data).__name__}')
        return _AnswersFile(data, count)

    def of(self, name: str, own: _Answers, remarks: list[str]) -> _Answers:
        """Return the answers that count for a row with this id, whose `own` answers lead if they are among them."""
        again = name in self._seen
        self._seen.add(name)
        if name not in self._entries:
            remarks.append(LACKING)
            return own
        try:
            found = _read(self._entries[name])
        except UnusableExample:
            remarks.append(UNREADABLE)
            return own
        spelled = {tuple(words(answer)): answer for answer in reversed(found.right)}
        shared = [spelled[key] for answer in own.right if (key := tuple(words(answer))) in spelled]
        if found.right and own.right and not shared:
            remarks.append(OTHERS)
            return own if again else found
        if not found.right:
            return _Answers(own.right, found.outdated)
        return _Answers(tuple(dict.fromkeys((*shared, *found.right))), found.outdated)

    def alone(self) -> dict[str, int]:
        """Return how many ids no row has, and how many stand twice in the file, where there are any."""
        counts = {ALONE: len(self._entries.keys() - self._seen), TWICE: self._twice}
        return {what: count for what, count in counts.items() if count}


def _read(entry: object) -> _Answers:
    """Return the answers of `["a", "b"]` or `[{"old": ["a"], "new": ["b"]}]`. Raises UnusableExample."""
    listed = entry if isinstance(entry, list) else [entry]
    pairs = [item for item in listed if isinstance(item, dict)]
    if not pairs:
        return _Answers(tuple(strings(listed, "answers")))
    if len(pairs) < len(listed) or not all(pair.keys() & {"old", "new"} for pair in pairs):
        raise UnusableExample("unreadable answers")
    old, new = ([text for pair in pairs for text in strings(pair.get(key), "answers")] for key in ("old", "new"))
    return _Answers(tuple(dict.fromkeys(new)), tuple(dict.fromkeys(old)))
