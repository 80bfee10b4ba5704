"""How fast this machine trains and scores a model, from a few real steps; and how many bytes a token has."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from dataclasses import dataclass
from tempfile import TemporaryDirectory
from typing import Any

from ticlm.core import paths
from ticlm.core.store import Store
from ticlm.datasets.corpus.tokenizers import TrainedTokenizer
from ticlm.methods.objectives import Causal
from ticlm.platform.models.settings import Model

MEASURE_S = 0.5
"""Seconds of each measurement, after a first step that is not counted."""
SAMPLE_BYTES = 1 << 19
"""Bytes of text that a tokenizer is learnt from here: a second's work, and 2 % from what a whole corpus gives."""


@dataclass(frozen=True)
class Pace:
    """Seconds of a step on one core: a fixed part, and one that grows with the parameters times the rows."""

    training: tuple[float, float]
    scoring: tuple[float, float]

    def training_s(self, parameters: int, rows: int) -> float:
        return self.training[0] + self.training[1] * parameters * rows

    def scoring_s(self, parameters: int, rows: int) -> float:
        return self.scoring[0] + self.scoring[1] * parameters * rows

    @staticmethod
    def through(points: Sequence[tuple[int, int, float, float]]) -> Pace:
        """Return the pace that goes through two measurements: (parameters, rows, seconds of training, of scoring)."""
        (small, rows, *fast), (large, _, *slow) = points
        slopes = [max(0.0, (two - one) / (large - small) / rows) for one, two in zip(fast, slow)]
        fixed = [max(0.0, one - slope * small * rows) for one, slope in zip(fast, slopes)]
        return Pace((fixed[0], slopes[0]), (fixed[1], slopes[1]))


def cores() -> int:
    """Return how many CPUs this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def memory() -> int:
    """Return the bytes of memory where models are trained: of the GPU, if there is one, or of the machine."""
    import torch

    if torch.cuda.is_available():
        return int(torch.cuda.mem_get_info()[1])
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def step_seconds(model: Model, vocab_size: int, batch_rows: int, length: int) -> tuple[float, float]:
    """Return the seconds of a training step and of scoring as many rows, on random tokens, with one thread as workers
    have."""
    import torch

    from ticlm.platform.models import build

    where = "cuda" if torch.cuda.is_available() else "cpu"
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        module = build.scratch(build.config(model, vocab_size), Causal(), 0)
        module.to(where)
        optimizer = torch.optim.AdamW(module.parameters(), lr=0.0)
        rows = torch.randint(vocab_size, (batch_rows, length), device=where)

        def train() -> None:
            loss = module(input_ids=rows, labels=rows).loss
            loss.backward()
            optimizer.step()
            optimizer.zero_grad()
            loss.item()

        def score() -> None:
            with torch.no_grad():
                module(input_ids=rows, labels=rows).loss.item()

        return _seconds(train), _seconds(score)
    finally:
        torch.set_num_threads(threads)


def _seconds(step: Any) -> float:
    """Return the seconds of a step, as a mean over about MEASURE_S."""
    step()
    began, count = time.perf_counter(), 0
    while (passed := time.perf_counter() - began) < MEASURE_S or count < 2:
        step()
        count += 1
    return passed / count


def bytes_per_token(texts: Sequence[str], vocab_size: int) -> float:
    """Return the bytes of text in a token of a byte-level BPE of this size, learnt from these texts, as builds do."""
    from tokenizers import Tokenizer

    with TemporaryDirectory(prefix="ticlm-init-") as folder:
        store = Store(folder)
        TrainedTokenizer(vocab_size=vocab_size, max_bytes=SAMPLE_BYTES).train(texts, "", store)
        tokenizer = Tokenizer.from_str(store.read(paths.tokenizer_file()).decode())
    size = sum(len(text.encode()) for text in texts[:200])
    return size / max(1, sum(len(one.ids) for one in tokenizer.encode_batch(list(texts[:200]))))
