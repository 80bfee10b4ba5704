"""Oracles in the format that was published are predicted from those of other cutoffs."""

from pathlib import Path

import publishedfiles

from ticlm.platform.forecast import published
from ticlm.platform.forecast.leave_one_out import leave_one_out
from ticlm.platform.results import of_published as oracles
from ticlm.platform.results import published_files as files


def test_every_cutoff_is_left_out_once(tmp_path: Path) -> None:
    """The files are made from a formula with a ripple of 0.01 nats."""
    publishedfiles.write(tmp_path)
    (study,) = oracles.studies(files.read([str(tmp_path)]))[:1]
    found = published.oracles(study)
    assert len(found.runs) == 7
    assert sum(found.runs[0].facts.rounds[0].shares.values()) == 1
    errors = leave_one_out(found)
    assert errors.median < 0.02
    assert errors.median < leave_one_out(found, "mean of methods").median
