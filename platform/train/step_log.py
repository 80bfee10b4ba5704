"""A log of the rows that each worker really trained on, step by step, to check a run against its order of rows.

It is off unless the environment names a folder. Each worker appends lines of JSON to a file of its own there; a line
that a kill has cut off is the last one of its file.
"""

from __future__ import annotations

import hashlib
import json
import os
import time
import uuid
from collections.abc import Iterator, Mapping
from pathlib import Path

import numpy as np

from ticlm.core.token_rows import Tokens
from ticlm.platform.models.sharding import Workers

VARIABLE = "TICLM_STEP_LOG"


class StepLog:
    """The log of one worker in one start of a chain."""

    def __init__(self, folder: str, workers: Workers) -> None:
        self.start = workers.agree(uuid.uuid4().hex)
        self.rank, self.world = workers.rank, workers.world
        Path(folder).mkdir(parents=True, exist_ok=True)
        self._path = Path(folder, f"{self.start}-{self.rank}.jsonl")

    def add(self, round_id: str, step: int, columns: Mapping[str, Tokens]) -> None:
        """Log that this worker has taken a step (from 0) of a round with these rows."""
        rows = np.concatenate([values.view(np.uint8).reshape(len(values), -1) for values in columns.values()], 1)
        digests = [hashlib.blake2b(row.tobytes(), digest_size=8).hexdigest() for row in rows]
        line = {"start": self.start, "time": time.time(), "round": round_id, "step": step, "rank": self.rank}
        with self._path.open("a") as file:
            file.write(json.dumps(line | {"world": self.world, "rows": digests}) + "\n")


def step_log(workers: Workers) -> StepLog | None:
    """Return a log for this worker if the environment asks for one. Every rank must call it."""
    folder = os.environ.get(VARIABLE)
    return StepLog(folder, workers) if folder else None


def read(folder: Path) -> Iterator[dict[str, object]]:
    """Yield the lines of all workers' logs in a folder, except lines that a kill has cut off."""
    for file in sorted(folder.glob("*.jsonl")):
        for line in file.read_text().splitlines():
            try:
                yield json.loads(line)
            except ValueError:
                continue
