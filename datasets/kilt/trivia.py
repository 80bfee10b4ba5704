"""TriviaQA's questions by their ids, which KILT's files have without them.

The files are those of TriviaQA, unfiltered: the release's JSON (`{"Data": [{"QuestionId": …, "Question": …}, …]}`), or
the rows of `unfiltered.nocontext` (`question_id`, `question`), as JSON lines or Parquet.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from functools import lru_cache

from ticlm.datasets.io import listing, records
from ticlm.datasets.io.fetching import opened
from ticlm.platform.core.errors import InputError

SUFFIXES = (".json", *records.SUFFIXES)
KEYS = (("QuestionId", "Question"), ("question_id", "question"))


@lru_cache(maxsize=1)  # a worker reads many pieces of one corpus, and lists the files for the first of them
def questions_of(patterns: tuple[str, ...], setting: str) -> dict[str, str]:
    """Return the questions in the files of these patterns by id. Raises InputError for a file that has none."""
    return questions_in(listing.files(patterns, SUFFIXES, setting), setting)


def questions_in(files: Sequence[listing.ListedFile], setting: str) -> dict[str, str]:
    """Return the questions in these files by id. Raises InputError for a file that has none."""
    found: dict[str, str] = {}
    for path, _, _ in files:
        before = len(found)
        for record in _rows(path):
            for name, text in KEYS:
                if isinstance(record.get(name), str) and isinstance(record.get(text), str):
                    found[record[name]] = record[text]
        if len(found) == before:
            raise InputError(
                f"{setting}: {path} has no TriviaQA question; rows need QuestionId and Question, or "
                "question_id and question"
            )
    return found


def _rows(path: str) -> Iterator[records.Record]:
    if not path.endswith(".json"):
        yield from (row for _, row in records.records(path, 0, None, ()) if not isinstance(row, records.Unusable))
        return
    with opened(path) as raw:
        try:
            whole = json.load(raw)
        except ValueError as error:
            raise InputError(f"{path} is no JSON: {error}") from None
    data = whole.get("Data") if isinstance(whole, dict) else whole
    yield from (row for row in data or () if isinstance(row, dict))
