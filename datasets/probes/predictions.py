"""Predictions of the initial model: candidates go out as JSON lines, and predictions come back as JSON lines."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

from ticlm.core.errors import InputError
from ticlm.datasets.io import listing, records
from ticlm.datasets.probes.candidates import Candidate

SETTING = "examples.predictions"


def exported(candidates: Sequence[Candidate], period: str) -> bytes:
    """Return candidates as JSON lines, which `examples: {kind: files}` reads as questions of a period."""
    lines = [
        {"id": one.id, "text": one.cloze, "question": one.question, "answer": one.answer, "timestamp": period}
        for one in candidates
    ]
    return "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines).encode()


def read(patterns: Sequence[str]) -> dict[str, str]:
    """Return the predictions by id, from lines `{"id": …, "prediction": …}`, or from the Parquet files in which a root
    keeps the answers of its checkpoints (`text`); other fields are not looked at.

    Raises InputError for a line without the two, and for an id that has two predictions.
    """
    found: dict[str, str] = {}
    for path in (entry.path for entry in listing.files(patterns, records.SUFFIXES, SETTING)):
        for number, record in records.records(path, 0, None, ()):
            where = f"{SETTING}: {path}:{number}"
            if isinstance(record, records.BadRecord):
                raise InputError(f"{where} cannot be read: {record.reason}")
            name, prediction = record.get("id"), record.get("prediction", record.get("text"))
            if not isinstance(name, str) or not isinstance(prediction, str):
                raise InputError(f"{where} has to have an id and a prediction, both texts; it has {_keys(record)}")
            if found.setdefault(name, prediction) != prediction:
                raise InputError(f"{where}: {name} has two predictions, {found[name]!r:.60} and {prediction!r:.60}")
    return found


def of(candidates: Sequence[Candidate], predictions: Mapping[str, str]) -> list[str]:
    """Return the prediction for each candidate. Raises InputError if one has none."""
    lacking = [one.id for one in candidates if one.id not in predictions]
    if lacking:
        raise InputError(
            f"{SETTING}: {len(lacking):,} of {len(candidates):,} candidates have no prediction, such as {lacking[0]}; "
            f"score all lines of the candidates' files with the initial model"
        )
    return [predictions[one.id] for one in candidates]


def _keys(record: Mapping[str, object]) -> str:
    return ", ".join(map(str, record)) or "nothing"
