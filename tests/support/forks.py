"""A process that has loaded what training needs and forks itself for every job, so that a start costs no seconds.

Run as a script by the fixture `forks`. It reads groups of jobs from its input (each pickled functions without
arguments, which run side by side), and answers how each ended: (exit code, or minus the signal that ended it; what the
function returned). A job's printed lines go to a file that its group names.
"""

from __future__ import annotations

import gc
import os
import pickle
import signal
import struct
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, BinaryIO

LOADED = (
    "torch.distributed.fsdp",
    "torch.distributed.checkpoint.state_dict",
    "transformers.models.olmo2.modeling_olmo2",
    "transformers.models.t5.modeling_t5",
    "transformers.generation",
    "pandas",
    "rich.progress",
    "ticlm.platform.train.trainer",
    "ticlm.platform.run.driver",
    "ticlm.platform.eval.cells",
    "ticlm.platform.report.write",
    "ticlm.platform.cli.main",
)


def main() -> None:
    # a library that prints must not get between the answers
    requests, answers = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    vars(os)["fsync"] = lambda _: None  # as in conftest.py
    sys.path.append(str(Path(__file__).parents[2]))  # adapters saved with the module of a test are found again
    for name in LOADED:
        import_module(name)
    gc.freeze()  # or each fork would look through all that was imported, and so copy it
    while (group := receive(requests)) is not None:
        jobs, log, timeout_s = group
        send(answers, _run(jobs, log, timeout_s))


def _run(jobs: Sequence[Callable[[], Any]], log: str, timeout_s: float) -> list[tuple[int, Any]]:
    with tempfile.TemporaryDirectory(prefix="forks-") as folder:
        pids = [_fork(job, f"{folder}/{number}", log) for number, job in enumerate(jobs)]
        codes: dict[int, int] = {}
        deadline = time.monotonic() + timeout_s
        while len(codes) < len(pids):
            for pid in pids:
                if pid not in codes and (ended := os.waitpid(pid, os.WNOHANG))[0]:
                    codes[pid] = os.waitstatus_to_exitcode(ended[1])
            if time.monotonic() > deadline:
                for pid in pids:
                    if pid not in codes:
                        os.kill(pid, signal.SIGKILL)
                deadline = float("inf")
            time.sleep(0.005)
        found = [Path(folder, str(number)) for number in range(len(pids))]
        return [(codes[pid], pickle.loads(f.read_bytes()) if f.exists() else None) for pid, f in zip(pids, found)]


def _fork(job: Callable[[], Any], result: str, log: str) -> int:
    pid = os.fork()
    if pid:
        return pid
    code = 1
    try:
        output = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        os.dup2(output, 1)
        os.dup2(output, 2)
        value = job()
        Path(result).write_bytes(pickle.dumps(value))
        code = 0
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else 0 if end.code is None else 1
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def send(pipe: BinaryIO, value: object) -> None:
    data = pickle.dumps(value)
    pipe.write(struct.pack("<Q", len(data)) + data)
    pipe.flush()


def receive(pipe: BinaryIO) -> Any:
    """The next value, or None where the other side has gone."""
    head = pipe.read(8)
    return pickle.loads(pipe.read(*struct.unpack("<Q", head))) if len(head) == 8 else None


if __name__ == "__main__":
    main()
