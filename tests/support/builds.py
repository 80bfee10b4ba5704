"""Builds in tests: in this process without Ray, or in one that can be killed; and what came of them."""

from __future__ import annotations

import contextlib
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
import signals

from ticlm.core.corpus import Corpus
from ticlm.datasets.corpus.recipe import CorpusRecipe
from ticlm.datasets.evalsets import recipe as benchmark
from ticlm.datasets.io import executor
from ticlm.datasets.io.in_process import ProcessExecutor

BUILDER = """
import sys
from ticlm.datasets.corpus import build
from ticlm.datasets.corpus.recipe import CorpusRecipe
recipe = CorpusRecipe.model_validate_json(sys.argv[1])
if recipe.executor == "ray":
    import ray
    ray.init(address="local", num_cpus=2, include_dashboard=False, log_to_driver=False, _temp_dir=sys.argv[3])
build.build(recipe, sys.argv[2], lambda line: print(line, flush=True))
print("ray was imported" if "ray" in sys.modules else "ray was not imported")
"""


def without_ray(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have builds work in this process, also where a Ray is connected; those of examples begin with the last item, as
    the order of work must not count."""
    monkeypatch.setattr(executor, "chosen", lambda *_: "process")
    monkeypatch.setattr(benchmark, "executing", lambda *_: contextlib.nullcontext(Backwards()))


class Backwards(ProcessExecutor):
    """Works in this process, on the last item first."""

    def each(self, function: Callable[[Any], Any], items: Sequence[Any], *limits: Any, **named: Any) -> Iterator[Any]:
        return super().each(function, items[::-1], *limits, **named)


@contextlib.contextmanager
def started(recipe: CorpusRecipe, root: str | Path) -> Iterator[subprocess.Popen[str]]:
    """A build in a process of its own, which prints its progress; with `executor: ray`, it has a Ray of its own."""
    with tempfile.TemporaryDirectory(prefix="ray", dir="/tmp", ignore_cleanup_errors=True) as folder:
        command = [sys.executable, "-c", BUILDER, recipe.model_dump_json(), str(root), folder]
        with signals.started(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
            yield process


def hashes(corpus: Corpus) -> dict[str, list[str]]:
    """Of every shard and of the tokenizer."""
    found = {
        f"{label}/{split}": [file.sha256 for file in shards.files]
        for label, manifest in corpus.periods.items()
        for split, shards in manifest.splits.items()
    }
    return found | {"tokenizer": [corpus.info.tokenizer.sha256]}
