"""Our side of a benchmark: it answers requests, one line of JSON each, with the result of the work and its time."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from typing import Any

Answer = dict[str, Any]


def serve(prepare: Callable[[Answer], Callable[[], Answer]]) -> None:
    """Answer requests until the input ends. `prepare` turns a request into work; only the work is timed."""
    for line in sys.stdin:
        work = prepare(json.loads(line))
        wall, cpu = time.perf_counter(), time.process_time()
        answer = work()
        answer |= {"wall_s": time.perf_counter() - wall, "cpu_s": time.process_time() - cpu}
        print(json.dumps(answer), flush=True)
