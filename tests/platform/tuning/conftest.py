"""A root with eleven months of the toy corpus, and studies of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pytest
from searches import MONTHS, table_trials, write_study
from toys import build_toy_corpus


@pytest.fixture
def year(tmp_path: Path) -> Path:
    """A root with the toy corpus of eleven months: tuning may see ten of them."""
    build_toy_corpus(tmp_path / "root/corpora/toy@1", periods=MONTHS, rows=64)
    return tmp_path / "root"


@pytest.fixture
def study(tmp_path: Path) -> Callable[..., str]:
    """`study(**changes)` writes a study of the eleven months to a file, and gives its name."""
    return partial(write_study, tmp_path)


@pytest.fixture
def table(ray_local: None) -> Iterator[None]:
    """Trials take their scores from a table; everything else is Ray Tune's."""
    with table_trials():
        yield
