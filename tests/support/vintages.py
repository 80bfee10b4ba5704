"""Toy vintages: folders with the files that a published model has, a few kB each."""

from __future__ import annotations

import json
import random
from pathlib import Path

LABELS = tuple(f"2024{month:02d}" for month in range(1, 13))


def vintage(parent: Path, label: str, seed: str = "") -> Path:
    """Return a folder with a vintage; its weights, card and certificate are those of the label and the seed."""
    folder = parent / f"{label}{seed}"
    (folder / "certificate").mkdir(parents=True, exist_ok=True)
    weights = random.Random(f"{label}{seed}").randbytes(3000)
    files = {
        "model.safetensors": weights,
        "config.json": json.dumps({"model_type": "llama"}).encode(),
        "tokenizer.json": b'{"version": "1.0", "model": {}}' + b" " * 400,
        "README.md": f"---\nlibrary_name: transformers\n---\n# {label}\n".encode(),
        "certificate/inputs.json": json.dumps({"cutoff": label, "seed": seed}).encode(),
    }
    for name, data in files.items():
        (folder / name).write_bytes(data)
    return folder


def main_of(folder: Path, labels: list[str]) -> Path:
    """Write vintages.json into the folder of the newest vintage, which so becomes what stands at main."""
    (folder / "vintages.json").write_text(json.dumps({"vintages": labels}))
    return folder
