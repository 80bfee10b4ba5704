"""Benchmark of evaluation: cells (checkpoint × period × task) per second, and how often a checkpoint is loaded.

    python -m benchmarks.roots.cells [--quick] [--threads 1] [--ray]

Our side loads a checkpoint once for all its cells. The other side is the same code with a load for every task and
period, as if evaluations were separate jobs. Both must give the same numbers. With --ray, one and two evaluators are
timed too.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from itertools import islice
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks.evaluation import CASES, QUICK, TEXT, prepare, texts

from ticlm.core.examples import INFO, Example, Examples, ExamplesInfo, PeriodExamples, publish
from ticlm.core.fingerprint import fingerprint
from ticlm.core.periods import Calendar
from ticlm.core.store import Store
from ticlm.methods.objectives import Causal
from ticlm.platform.eval import fanout
from ticlm.platform.eval.cells import CheckpointWork, TaskCells
from ticlm.platform.models import folders
from ticlm.platform.tasks.cells.files import read_cells
from ticlm.platform.tasks.cells.key import cell_key
from ticlm.platform.tasks.documents import DocumentPerplexity
from ticlm.platform.tasks.questions import MultipleChoice

WORDS = 120
"""Of a text, so that a cell is as small as one of many periods may be."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="a smoke run of half a minute")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--checkpoints", type=int, default=3)
    parser.add_argument("--periods", type=int, default=12)
    parser.add_argument("--examples", type=int, default=20, help="of each period and task")
    parser.add_argument("--text", type=Path, default=TEXT, help="folder of *.jsonl.gz with a `text` field")
    parser.add_argument("--ray", action="store_true")
    arguments = parser.parse_args()
    case = (QUICK if arguments.quick else CASES)[0]
    with tempfile.TemporaryDirectory() as folder:
        prepare(case, Path(folder), arguments.text)
        examples = write_examples(Path(folder), arguments.text, arguments.periods, arguments.examples)
        units = [_unit(Path(folder), number, examples, arguments.threads) for number in range(arguments.checkpoints)]
        print(f"{case.name}; {len(units)} checkpoints, {arguments.periods} periods, {len(units[0].jobs)} tasks")
        compare(units, 1 if arguments.quick else arguments.runs, arguments.ray)


def compare(units: Sequence[CheckpointWork], runs: int, on_ray: bool) -> None:
    apart = [alone for unit in units for alone in split(unit)]
    sides: dict[str, Callable[[], None]] = {
        "a load per checkpoint": lambda: fanout.here(units, lambda: None),
        "a load per cell": lambda: fanout.here(apart, lambda: None),
    }
    took: dict[str, list[float]] = {name: [] for name in sides}
    for _ in range(runs):
        values = []
        for name, side in sides.items():
            with fresh(units[0].root), counted() as loads:
                began = time.process_time()
                side()
                took[name].append(time.process_time() - began)
                values.append([cell.value for unit in units for cell in read_cells(Store(unit.root), unit.weights)])
            expected = len(units) if side is sides["a load per checkpoint"] else len(apart)
            assert len(loads) == expected, f"{name}: {len(loads)} loads, expected {expected}"
        assert values[0] == values[1], "both sides must come to the same numbers"
    describe(took, len(apart), "CPU")
    print(f"model loads: {len(units)} = checkpoints; on the other side {len(apart)} = cells")
    if on_ray:
        _on_ray(units, runs, len(apart))


def _on_ray(units: Sequence[CheckpointWork], runs: int, cells: int) -> None:
    import ray

    ray.init(include_dashboard=False, log_to_driver=False, logging_level="ERROR")
    took: dict[str, list[float]] = {}
    for _ in range(runs):
        for count in (1, 2):
            took.setdefault(f"Ray, {count} evaluator(s), first cell to last", []).append(_span_on_ray(units, count))
    describe(took, cells - 1, "wall")
    ray.shutdown()


def _span_on_ray(units: Sequence[CheckpointWork], count: int) -> float:
    moments: list[float] = []
    with fresh(units[0].root):
        fanout.on_ray(units, count, None, lambda: moments.append(time.perf_counter()))
    return moments[-1] - moments[0]


def describe(took: dict[str, list[float]], cells: int, clock: str) -> None:
    base = median(next(iter(took.values())))
    for name, seconds in took.items():
        print(
            f"{name}: {cells / median(seconds):.1f} cells/s ({clock}), {median(seconds) / base:.2f} × the first's time"
        )


def split(unit: CheckpointWork) -> Iterator[CheckpointWork]:
    for job in unit.jobs:
        for cell in job.cells:
            yield replace(unit, jobs=(replace(job, cells=(cell,)),))


@contextmanager
def fresh(root: str) -> Iterator[None]:
    """No cell is known before, nor after."""
    yield
    Store(root).remove("cells")


@contextmanager
def counted() -> Iterator[list[Path]]:
    """The folders that are loaded meanwhile, in this process."""
    loads: list[Path] = []
    load = folders.load

    def counting(folder: Path, *rest: Any) -> Any:
        loads.append(folder)
        return load(folder, *rest)

    vars(folders)["load"] = counting
    try:
        yield loads
    finally:
        vars(folders)["load"] = load


def write_examples(root: Path, text: Path, periods: int, count: int) -> Examples:
    """A set with so many texts and questions in each of so many months."""
    store = Store(root / "examples/cells@1")
    info = ExamplesInfo(name="cells", version="1", recipe="benchmark")
    store.create(INFO, json.dumps(info.model_dump(mode="json")).encode())
    calendar = Calendar(initial="202001", step="month")
    source = (" ".join(one.split()[:WORDS]) for one in texts(text))
    for number in range(periods):
        label = f"{2020 + number // 12}{number % 12 + 1:02d}"
        notes = [Example(id=str(i), text=one) for i, one in enumerate(islice(source, count))]
        questions = [_question(note) for note in notes]
        publish(
            store, PeriodExamples(period=calendar.period(label), subsets={}), {"texts": notes, "questions": questions}
        )
    return Examples.open(store.root)


def _question(note: Example) -> Example:
    """A text's end, among three orders of its words."""
    words = note.text.split()
    asked, end = " ".join(words[:-6]), words[-6:]
    choices = tuple(" ".join([*end[turn:], *end[:turn]]) or "?" for turn in range(3))
    return Example(id=note.id, text=asked, answer=choices[0], choices=choices)


def _unit(folder: Path, number: int, examples: Examples, threads: int) -> CheckpointWork:
    weights = fingerprint(("checkpoint", number))
    tasks = (
        DocumentPerplexity(name="reading", examples="cells@1", split="texts"),
        MultipleChoice(name="asking", examples="cells@1", split="questions"),
    )
    jobs = tuple(
        TaskCells(
            task,
            examples.store.root,
            tuple(
                (label, cell_key(weights, task, label, manifest.subsets[task.split].sha256, Causal()))
                for label, manifest in examples.periods.items()
            ),
        )
        for task in tasks
    )
    return CheckpointWork(
        str(folder), weights, str(folder / "model"), Causal(), jobs, rows=64, threads=threads, device="cpu"
    )


if __name__ == "__main__":
    main()
