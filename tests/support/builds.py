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

from ticlm.datasets.corpus import build
from ticlm.datasets.corpus.recipe import CorpusRecipe
from ticlm.datasets.evalsets import recipe as benchmark
from ticlm.datasets.examples import context, proper_nouns
from ticlm.platform.core.corpus import Corpus

BUILDER = """
import sys, ray
from ticlm.datasets import corpus
from ticlm.datasets.corpus.recipe import Recipe
ray.init(address="local", num_cpus=2, include_dashboard=False, log_to_driver=False, _temp_dir=sys.argv[3])
corpus.build(Recipe.model_validate_json(sys.argv[1]), sys.argv[2], lambda line: print(line, flush=True))
"""


def without_ray(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have builds do their work items one after the other in this process; those of examples last first, as their
    order must not count."""
    monkeypatch.setattr(build, "each", lambda function, items, *_: map(function, items))
    monkeypatch.setattr(build, "running_ray", contextlib.nullcontext)
    monkeypatch.setattr(context, "each", lambda function, items, *_: map(function, reversed(items)))
    monkeypatch.setattr(benchmark, "running_ray", contextlib.nullcontext)
    monkeypatch.setattr(benchmark, "taggers", lambda of: contextlib.nullcontext(InThisProcess(proper_nouns.Tagger(of))))


class InThisProcess:
    """Does as Actors do, without any."""

    def __init__(self, worker: Callable[[Any], Any]) -> None:
        self._worker = worker

    def map(self, items: Sequence[Any]) -> Iterator[Any]:
        return map(self._worker, items)


@contextlib.contextmanager
def started(recipe: CorpusRecipe, root: str | Path) -> Iterator[subprocess.Popen[str]]:
    """A build in a process and a Ray of its own, which prints its progress line by line."""
    with tempfile.TemporaryDirectory(prefix="ray", dir="/tmp", ignore_cleanup_errors=True) as folder:
        command = [sys.executable, "-c", BUILDER, recipe.model_dump_json(), str(root), folder]
        yield subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)


def hashes(corpus: Corpus) -> dict[str, list[str]]:
    """Of every shard and of the tokenizer."""
    found = {
        f"{label}/{split}": [file.sha256 for file in shards.files]
        for label, manifest in corpus.periods.items()
        for split, shards in manifest.splits.items()
    }
    return found | {"tokenizer": [corpus.info.tokenizer.sha256]}
