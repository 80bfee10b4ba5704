"""What a root says of the studies that were run on it."""

from __future__ import annotations

from pathlib import Path

import pytest

from ticlm.core import paths
from ticlm.core.errors import TiclmWarning
from ticlm.core.store import Store
from ticlm.platform.results.begun import begun_studies, note_begun
from ticlm.platform.results.setup import StudyRequest, identity_of
from ticlm.platform.study.settings import load


def test_a_damaged_file_is_named_and_once_it_is_removed_the_next_run_writes_it_again(tmp_path: Path) -> None:
    store, study, asked = Store(str(tmp_path)), load("demo"), StudyRequest("demo")
    note_begun(store, study, asked)
    (found,) = begun_studies(store)
    assert found.name == "demo" and found.study() == study
    place = tmp_path / paths.begun("demo", identity_of(study))
    place.write_bytes(place.read_bytes()[:-3])
    with pytest.warns(TiclmWarning, match="is damaged; remove it: the next run of the study writes it again"):
        assert begun_studies(store) == []
    place.unlink()
    note_begun(store, study, asked)
    assert [one.study() for one in begun_studies(store)] == [study]


def test_of_each_name_the_newest_run_is_told(tmp_path: Path) -> None:
    store = Store(str(tmp_path))
    for sets in ((), ("batch_rows=8",)):
        note_begun(store, load("demo", sets), StudyRequest("demo", sets))
    (found,) = begun_studies(store)
    assert len(store.files(paths.BEGUN)) == 2 and found.sets == ("batch_rows=8",)
