"""The error of a step whose loss or gradient is not a number."""

from __future__ import annotations

import json

from ticlm.core import paths
from ticlm.core.errors import Diverged
from ticlm.core.integrity.records import Attempt
from ticlm.platform.study.work import ChainWork
from ticlm.platform.train.loader import LoaderSpec, RankReader
from ticlm.platform.train.step import StepResult


def diverged(work: ChainWork, number: int, step: int, result: StepResult, attempt: Attempt, writes: bool) -> Diverged:
    """Return the error of a step (from 0) of round `number` of a chain, whose result is not finite. It names the step
    and its rows; all of them are written to the attempt, if this worker `writes`."""
    period, store = work.rounds[number].period, work.store
    rows = RankReader(LoaderSpec(work.rounds, work.corpora, last_visible_period=work.last_visible_period))
    found = rows.rows(number, step)
    path = paths.not_a_number(attempt.path)
    if writes:
        named = {str(source): positions for source, positions in found.items()}
        store.write(path, json.dumps({"period": period, "step": step, "rows": named}).encode())
    few = [f"{source} row {position}" for source, positions in found.items() for position in positions]
    return Diverged(
        f"period {period}, step {step}: loss {result.loss}, gradient norm {result.gradient_norm}; the last good "
        f"checkpoint is kept; lower the learning rate, or look at the step's rows: {', '.join(few[:4])}"
        f"{f' and {len(few) - 4} more' if len(few) > 4 else ''} (all in {store.uri(path)})"
    )
