"""The side of peft and Hugging Face Trainer in frozen.py; it runs in the environment of the rival `peft`."""

import json
import resource
import sys
import tempfile
import time
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import torch
from peft import PeftModel
from torch.utils.data import SequentialSampler
from transformers import AutoModelForCausalLM, Trainer, TrainerCallback, TrainingArguments


class Clock(TrainerCallback):  # type: ignore[misc]
    """Seconds of each step: from the end of the one before it, or from the beginning, to its own end."""

    def __init__(self) -> None:
        self.marks: list[tuple[float, float]] = []

    def on_step_begin(self, *_: Any, **__: Any) -> None:
        if not self.marks:
            self.marks.append((time.perf_counter(), time.process_time()))

    def on_step_end(self, *_: Any, **__: Any) -> None:
        self.marks.append((time.perf_counter(), time.process_time()))

    def median(self, which: int) -> float:
        return median(after[which] - before[which] for before, after in zip(self.marks, self.marks[1:]))


class InOrder(Trainer):  # type: ignore[misc]
    """Trainer on rows in their order, which keeps the loss of each step."""

    losses: list[float]

    def _get_train_sampler(self, dataset: Any = None) -> SequentialSampler:
        return SequentialSampler(dataset if dataset is not None else self.train_dataset)

    def compute_loss(self, *arguments: Any, **named: Any) -> Any:
        loss = super().compute_loss(*arguments, **named)
        self.losses.append(loss.item())  # our side reads each step's loss, too
        return loss


def main(folder: Path, asked: str) -> None:
    answers, sys.stdout = sys.stdout, sys.stderr
    torch.set_num_threads(1)
    job = json.loads((folder / "job.json").read_text())
    how = {"dtype": torch.float32, "attn_implementation": "sdpa"}
    model = AutoModelForCausalLM.from_pretrained(folder / "model", trust_remote_code=False, **how)
    model.config.use_cache = False
    if asked == "lora":
        model = PeftModel.from_pretrained(model, folder / "peft" / "0", is_trainable=True, trust_remote_code=False)
    else:
        model.requires_grad_(False)
        for trained in (*model.model.layers[-job["last"] :], model.model.norm):
            trained.requires_grad_(True)
    rows = torch.from_numpy(np.load(folder / "rows.npy"))
    items = [{"input_ids": row[:-1], "labels": row[1:], "shift_labels": row[1:]} for row in rows]
    for line in sys.stdin:
        request = json.loads(line)
        print(json.dumps(run(model, items, job, request["turn"], request["steps"])), file=answers, flush=True)


def run(model: Any, items: list[Any], job: dict[str, Any], turn: int, steps: int) -> dict[str, Any]:
    size = steps * job["rows"]
    arguments = TrainingArguments(
        output_dir=tempfile.gettempdir(),
        max_steps=steps,
        per_device_train_batch_size=job["rows"],
        learning_rate=job["rate"],
        adam_beta2=0.95,
        weight_decay=0.0,
        max_grad_norm=1.0,
        lr_scheduler_type="constant",
        remove_unused_columns=False,
        report_to=[],
        save_strategy="no",
        logging_strategy="no",
        disable_tqdm=True,
        use_cpu=True,
    )
    clock = Clock()
    trainer = InOrder(model, arguments, train_dataset=items[turn * size : (turn + 1) * size], callbacks=[clock])
    trainer.losses = []
    trainer.train()
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return {"wall_s": clock.median(0), "cpu_s": clock.median(1), "losses": trainer.losses, "peak_mb": peak}


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
