"""Steps and rows counted in logs: what was done again, doubled or lost, on logs written by hand."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ticlm.platform.chaos.accounting import Accounts, accounts, compare_rows, standstill
from ticlm.platform.models.sharding import Workers
from ticlm.platform.train import step_log


def start(name: str, steps: range, *, world: int = 1, at: float = 0.0, first: int = 0) -> Iterator[dict[str, Any]]:
    """Lines of one start: two rows a step, dealt out to the workers, one second a step."""
    for step in steps:
        rows = [f"row {2 * (step + first)}", f"row {2 * (step + first) + 1}"]
        for rank in range(world):
            yield {
                **{"start": name, "time": at + step, "round": "r", "step": step},
                **{"rank": rank, "world": world, "rows": rows[rank::world]},
            }


PEACE = accounts(start("a", range(6)))


def test_an_undisturbed_run_takes_every_step_once() -> None:
    assert (len(PEACE.rows), PEACE.taken, PEACE.again) == (6, 6, 0)
    assert compare_rows(PEACE, PEACE).__dict__ == {"total": 12, "doubled": 0, "lost": 0}


def test_steps_after_the_last_checkpoint_are_done_again_and_count_once() -> None:
    """Killed after step 4, it goes on from a checkpoint after step 2, on two workers."""
    disturbed = accounts([*start("a", range(5)), *start("b", range(2, 6), world=2, at=100)])
    assert (disturbed.taken, disturbed.again) == (9, 3)
    assert compare_rows(PEACE, disturbed).__dict__ == {"total": 12, "doubled": 0, "lost": 0}


def test_a_step_that_a_worker_did_not_end_does_not_count() -> None:
    cut = [line for line in start("a", range(6), world=2) if not (line["step"] == 5 and line["rank"] == 1)]
    assert accounts(cut).taken == 5
    assert compare_rows(PEACE, accounts(cut)).lost == 2


@pytest.mark.parametrize(
    ("lines", "doubled", "lost"),
    [
        ([*start("a", range(3)), *start("b", range(4, 6), at=100)], 0, 2),
        ([*start("a", range(3)), *start("b", range(3, 6), at=100, first=-1)], 6, 6),
        ([*start("a", range(7))], 2, 0),
    ],
    ids=["a step left out", "each step has the rows of the one before", "a step too many"],
)
def test_doubled_and_lost_rows_are_found(lines: list[dict[str, Any]], doubled: int, lost: int) -> None:
    found = compare_rows(PEACE, accounts(lines))
    assert (found.doubled, found.lost) == (doubled, lost)


def test_a_standstill_ends_with_the_next_step() -> None:
    assert standstill(2.5, PEACE.times) == 0.5
    assert standstill(5.0, PEACE.times) is None


def test_the_log_of_real_workers_tells_their_rows_and_survives_a_cut_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert step_log.step_log(Workers()) is None, "it is off unless the environment asks for it"
    monkeypatch.setenv(step_log.VARIABLE, str(tmp_path))
    log = step_log.step_log(Workers())
    assert log is not None
    tokens = np.arange(8, dtype=np.uint16).reshape(2, 4)
    log.add("r", 0, {"tokens": tokens})
    log.add("r", 1, {"tokens": tokens[::-1].copy()})
    (file,) = tmp_path.iterdir()
    file.write_text(file.read_text() + '{"start": "cu')
    found: Accounts = accounts(step_log.read(tmp_path))
    first, second = found.rows["r", 0], found.rows["r", 1]
    assert found.taken == 2 and first == second and first.total() == len(first) == 2
