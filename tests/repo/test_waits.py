"""Waits without a limit stand in one file: nothing else wakes a main thread whose signal came a moment too early."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest
from paths import ROOT

SIGNALS = ROOT / "core/signals.py"
SOURCES = sorted(
    path for room in ("core", "platform", "datasets", "methods", "tune_spaces") for path in (ROOT / room).rglob("*.py")
)
POOLS = {"ThreadPoolExecutor", "ProcessPoolExecutor", "Pool", "as_completed"}
"""Of `concurrent.futures` and `multiprocessing`: the ends of their blocks, and their results, wait without a limit."""
WHOLE = {"join", "result", "exception", "get", "wait", "acquire", "communicate", "recv", "recv_bytes", "pause"}
"""Methods that wait without a limit if they are called without arguments."""
TIMED = {"run", "call", "check_call", "check_output", "communicate", "put"}
"""Functions of `subprocess`, and methods, that wait without a limit if they are given no `timeout`."""
ALLOWED = {
    ("datasets/io/apart.py", "pipe.recv_bytes()"): "`wait` has said that the pipe has something or is closed",
    ("datasets/io/apart.py", "theirs.recv()"): "in a process of its own, which SIGTERM ends as it does any program",
    ("datasets/io/sevenzip.py", "self._queue.put(item)"): "puts back what it took, when nobody else puts any more",
    ("datasets/llm/asking.py", "future.exception()"): "all futures are done",
    ("datasets/llm/ray_chat.py", "self._idle.put(copy)"): "the queue has no limit",
    ("datasets/llm/ray_chat.py", "self._idle.put(make.remote(model))"): "the queue has no limit",
    ("datasets/llm/asking.py", "state.outcome.exception()"): "of a call that has ended",
    ("platform/cluster/jobs.py", "asyncio.run(_tail(client, name, shown))"): "a task in it wakes it twice a second",
    ("core/remote/patient.py", "error.last_attempt.exception()"): "of a call that has ended",
    ("core/remote/patient.py", "state.outcome.exception()"): "of a call that has ended",
    ("core/remote/patient.py", "_LIMIT.get()"): "a ContextVar",
    ("platform/publish/publishing.py", "place.put(one.label, folder, f'Vintage {one.label}')"): "sends files",
    ("platform/train/checkpoint.py", "self.wait()"): "a method of its own, which uses `result_of`",
    ("platform/train/trainer.py", "self.writer.wait()"): "a method of its own, which uses `result_of`",
}
"""Places and why they may. `ray.get`, `ray.wait` and Ray's generators look for signals themselves: a test in
tests/platform/cluster/test_ray_internals.py says so."""


def waits(source: str) -> Iterator[str]:
    """Yield the names and calls of a module that may wait without a limit."""
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.ImportFrom(names=names):
                yield from (name.name for name in names if name.name in POOLS)
            case ast.Attribute(attr=attr) if attr in POOLS:
                yield ast.unparse(node)
            case ast.Call(func=ast.Name(id="wait"), args=args, keywords=keywords):
                limits = [*args[1:2], *(word.value for word in keywords if word.arg == "timeout")]
                if not limits or any(isinstance(limit, ast.Constant) and limit.value is None for limit in limits):
                    yield ast.unparse(node)
            case ast.Call(func=ast.Attribute(attr=attr, value=of), args=args, keywords=keywords):
                timed = any(word.arg == "timeout" and ast.unparse(word.value) != "None" for word in keywords)
                whole = (attr in WHOLE and not args and not timed) or ast.unparse(node.func) == "asyncio.run"
                of_processes = attr in TIMED and (attr in ("communicate", "put") or ast.unparse(of) == "subprocess")
                if whole or (of_processes and not timed and not ast.unparse(node).startswith("ray.put(")):
                    yield ast.unparse(node)


@pytest.mark.parametrize(
    "source",
    [
        "thread.join()",
        "future.result()",
        "future.exception()",
        "items.get()",
        "items.get(timeout=None)",
        "items.put(1)",
        "process.wait()",
        "lock.acquire()",
        "process.communicate('text')",
        "wait(futures)",
        "wait(futures, None, return_when=FIRST_COMPLETED)",
        "wait(futures, timeout=None)",
        "subprocess.run(['git'], check=True)",
        "from concurrent.futures import ThreadPoolExecutor",
        "concurrent.futures.as_completed(work)",
        "multiprocessing.Pool()",
        "asyncio.run(work())",
    ],
)
def test_a_wait_without_a_limit_is_recognised(source: str) -> None:
    assert list(waits(source))


@pytest.mark.parametrize(
    "source",
    [
        "thread.join(1)",
        "''.join(words)",
        "found.get('key')",
        "future.result(timeout=1)",
        "wait([pipe], LOOK_S)",
        "subprocess.run(['git'], timeout=10)",
        "from concurrent.futures import Future",
    ],
)
def test_a_wait_with_a_limit_is_none(source: str) -> None:
    assert not list(waits(source))


def test_only_one_file_waits_without_a_limit() -> None:
    found = {(place(path), wait) for path in SOURCES if path != SIGNALS for wait in waits(path.read_text())}
    assert sorted(found - set(ALLOWED)) == [], "use core/signals.py, or say here why it may"
    assert sorted(set(ALLOWED) - found) == [], "these are gone: drop their lines"


def place(path: Path) -> str:
    return str(path.relative_to(ROOT))
