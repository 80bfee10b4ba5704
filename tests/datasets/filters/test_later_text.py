"""The filter of texts that are later than their date: what it drops, and the date that it gives."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from ticlm.core.fingerprint import fingerprint
from ticlm.datasets.filters.later_text import LaterThanItsDate
from ticlm.datasets.io.documents import Document
from ticlm.datasets.lint import linting


def document(text: str) -> Document:
    return Document(text, "a", datetime(2015, 6, 30, 13, tzinfo=UTC))


def test_a_text_that_is_as_old_as_its_date_passes_unchanged() -> None:
    given = document("We will finish it by 2020.")
    assert LaterThanItsDate()(given) is given and LaterThanItsDate(action="move")(given) is given


def test_drop_gives_the_rule_of_the_latest_sign_as_the_reason() -> None:
    given = document("The office was closed in May 2017. It was rebuilt on 12 Jan 2018.")
    assert LaterThanItsDate()(given) == "later than its date: date"


def test_move_gives_the_latest_date_that_was_found_and_nothing_else() -> None:
    given = document("The office was closed in May 2017. It was rebuilt on 12 Jan 2018.")
    moved = LaterThanItsDate(action="move")(given)
    assert isinstance(moved, Document) and moved.timestamp == datetime(2018, 1, 12, tzinfo=UTC)
    assert (moved.text, moved.id) == (given.text, given.id)
    assert LaterThanItsDate(action="move")(moved) is moved, "its new date fits"


def test_the_tables_are_part_of_its_identity(monkeypatch: pytest.MonkeyPatch) -> None:
    before = fingerprint(LaterThanItsDate().identity)
    assert before != fingerprint(LaterThanItsDate(action="move").identity)
    monkeypatch.setattr(linting, "tables_hash", lambda: "others")
    assert fingerprint(LaterThanItsDate().identity) != before
