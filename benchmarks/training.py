"""Benchmark of training: tokens/s of a chain against a bare PyTorch loop and Hugging Face Trainer, with the same model,
batches and optimizer.

    python -m benchmarks.training [--quick]

Each side is a process of its own with one thread. The sides take turns, and medians are reported. All minimise
cross-entropy with z-loss. Our side reads shards, mixes replay, follows the schedule and publishes every round; the
others get prepared batches in memory. The time of a side is the time of its steps; the time that a chain spends between
rounds is reported separately, per month boundary.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import ExitStack
from typing import Any

import numpy as np
from benchmarks.sides import Side, report

ROWS, LENGTH, VOCAB = 16, 128, 1024
FISHER = 20
"""Batches of EWC's Fisher pass."""
PERIODS = ("202301", "202302", "202303", "202304")
SHAPE = {"hidden_size": 128, "num_attention_heads": 4, "intermediate_size": 384}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="a smoke run: few steps, one repetition")
    parser.add_argument("--side", choices=sorted(SIDES), help=argparse.SUPPRESS)
    parser.add_argument("--corpus", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.side:
        return serve(SIDES[options.side](options.corpus))
    steps, repeats = (10, 1) if options.quick else (60, 5)
    with tempfile.TemporaryDirectory() as folder:
        corpus = f"{folder}/toy@1"
        make_corpus(corpus, rows=steps * ROWS)
        me = [sys.executable, "-m", "benchmarks.training", "--corpus", corpus, "--side"]
        with ExitStack() as stack:
            ours, loop, trainer = (stack.enter_context(Side(name, [*me, name])) for name in SIDES)
            for number in range(repeats + 1):  # the first run of each warms up
                for side in (ours, loop, trainer):
                    side.time(steps=steps, number=number)
            for side in (ours, loop, trainer):
                del side.runs[0]
            tokens = steps * (len(PERIODS) - 1) * ROWS * LENGTH
            report(tokens, "tokens", ours, {"bare PyTorch loop": loop, "Hugging Face Trainer": trainer})
        print(f"month boundary inside a chain: {ours.median('boundary_s'):.3f} s (publish, hash, record, next round)")


def serve(run: Callable[[int, int], dict[str, float]]) -> None:
    answers, sys.stdout = sys.stdout, sys.stderr
    for line in sys.stdin:
        request = json.loads(line)
        print(json.dumps(run(request["steps"], request["number"])), file=answers, flush=True)


def chain_side(
    corpus: str, method: str = "replay-half", compiled: bool = False
) -> Callable[[int, int], dict[str, float]]:
    """The rounds of a method in this process, from shards to published models."""
    import torch

    from ticlm.platform.models.sharding import Workers
    from ticlm.platform.study import plan, settings
    from ticlm.platform.study.work import work_of
    from ticlm.platform.train.trainer import run_chain

    torch.set_num_threads(1)

    def run(steps: int, number: int) -> dict[str, float]:
        with tempfile.TemporaryDirectory() as root:
            made = plan.make(_study(settings, corpus, steps, number, method, compiled), root)
            marks: list[tuple[float, float]] = []

            def mark(event: Any) -> None:
                if event["finished"]:
                    marks.append((time.perf_counter(), time.process_time()))

            (chain,) = made.chains
            run_chain(work_of(made, chain), Workers(), mark)
            seconds = [record(root, made.ids[key]).about["measured"]["seconds"] for key in chain.keys[1:]]
            wall = sum(seconds)
            boundary = (marks[-1][0] - marks[0][0] - wall) / len(seconds)
            # CPU time also holds the boundaries and the reader's thread
            return {"wall_s": wall, "cpu_s": marks[-1][1] - marks[0][1], "boundary_s": boundary}

    def record(root: str, round_id: str) -> Any:
        from ticlm.core.integrity.records import read_record
        from ticlm.core.paths import round_folder
        from ticlm.core.store import Store

        found = read_record(Store(root), round_folder(round_id))
        assert found is not None
        return found

    return run


def loop_side(corpus: str) -> Callable[[int, int], dict[str, float]]:
    """Train with a hand-written loop: forward, loss, backward, clip, AdamW."""
    import torch

    torch.set_num_threads(1)
    batches = [torch.from_numpy(b.astype(np.int64)) for b in _batches(corpus)]

    def run(steps: int, number: int) -> dict[str, float]:
        module = _module(number)
        optimizer = torch.optim.AdamW(module.parameters(), 1e-3, (0.9, 0.95), 1e-8, 0.033, fused=True)
        began = time.perf_counter(), time.process_time()
        for step in range(steps * (len(PERIODS) - 1)):
            tokens = batches[step % len(batches)]
            loss = _loss(module(input_ids=tokens[:, :-1]).logits, tokens[:, 1:])
            loss.backward()
            torch.nn.utils.clip_grad_norm_(module.parameters(), 1.0)
            optimizer.step()
            optimizer.zero_grad(set_to_none=True)
            loss.item()
        return _since(began)

    return run


def trainer_side(corpus: str) -> Callable[[int, int], dict[str, float]]:
    """Hugging Face Trainer with its own cosine schedule and clipping."""
    import torch
    from transformers import Trainer, TrainerCallback, TrainingArguments

    torch.set_num_threads(1)
    rows = np.concatenate(_batches(corpus)).astype(np.int64)
    items = [{"input_ids": torch.from_numpy(r[:-1]), "labels": torch.from_numpy(r[1:])} for r in rows]

    class Clock(TrainerCallback):  # type: ignore[misc]
        began = (0.0, 0.0)

        def on_train_begin(self, *_: Any, **__: Any) -> None:
            self.began = time.perf_counter(), time.process_time()

    def run(steps: int, number: int) -> dict[str, float]:
        clock = Clock()
        arguments = TrainingArguments(
            output_dir=tempfile.gettempdir(),
            max_steps=steps * (len(PERIODS) - 1),
            per_device_train_batch_size=ROWS,
            learning_rate=1e-3,
            adam_beta2=0.95,
            weight_decay=0.033,
            max_grad_norm=1.0,
            lr_scheduler_type="cosine",
            report_to=[],
            save_strategy="no",
            logging_strategy="no",
            disable_tqdm=True,
            use_cpu=True,
        )
        Trainer(
            _module(number),
            arguments,
            train_dataset=items,
            callbacks=[clock],
            compute_loss_func=lambda outputs, labels, **_: _loss(outputs.logits, labels),
        ).train()
        return _since(clock.began)

    return run


SIDES: dict[str, Callable[[str], Callable[[int, int], dict[str, float]]]] = {
    "chain": chain_side,
    "loop": loop_side,
    "trainer": trainer_side,
}


def _loss(logits: Any, labels: Any) -> Any:
    import torch

    logits = logits.float()
    z_loss = torch.logsumexp(logits, -1).square().mean()
    return torch.nn.functional.cross_entropy(logits.flatten(0, 1), labels.flatten()) + 1e-4 * z_loss


def _since(began: tuple[float, float]) -> dict[str, float]:
    return {"wall_s": time.perf_counter() - began[0], "cpu_s": time.process_time() - began[1]}


def _module(seed: int) -> Any:
    from ticlm.methods.objectives import Causal
    from ticlm.platform.models import build
    from ticlm.platform.models.settings import PresetModel

    made = build.config(PresetModel(name="tiny", changes=json.dumps(SHAPE)), VOCAB, 0)
    return build.scratch(made, Causal(), seed).train()


def _study(study: Any, corpus: str, steps: int, seed: int, method: str, compiled: bool = False) -> Any:
    budget = steps * ROWS * LENGTH
    schedule = {"kind": "cosine", "max_rate": 1e-3, "end_rate": 1e-4, "warmup_steps": 2}
    change: dict[str, Any] = {"base": method, "seeds": [seed], "schedule": {"max_rate": 1e-3, "warmup_steps": 2}}
    if method == "ewc":
        change["penalties"] = [{"kind": "ewc", "batches": FISHER}]
    return study.Study(
        name="benchmark",
        corpus=corpus,
        periods={"initial": PERIODS[0], "step": "month", "last": PERIODS[-1]},
        model={"kind": "preset", "name": "tiny", "changes": SHAPE},
        batch_rows=ROWS,
        length=LENGTH,
        initial={"budget": ROWS * LENGTH * 4, "schedule": schedule, "seed": seed},
        continual_tokens={"per_period": budget},
        methods=[change],
        resources={"trainer": "process", "compile": compiled},
    )


def make_corpus(folder: str, rows: int) -> None:
    """A corpus of invented tokens: speed does not depend on what they are."""
    from benchmarks import corpora

    periods = {label: corpora.tokens(rows, LENGTH + 1, VOCAB, seed) for seed, label in enumerate(PERIODS)}
    corpora.publish(folder, periods, VOCAB)


def _batches(corpus: str) -> list[Any]:
    from ticlm.core.corpus import Corpus

    reader = Corpus.open(corpus).rows(PERIODS[1], "train")
    return [block["tokens"] for block in reader.all(ROWS) if len(block["tokens"]) == ROWS]


if __name__ == "__main__":
    main()
