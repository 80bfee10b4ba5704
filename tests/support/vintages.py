"""Toy vintages: folders with the files that a published model has, a few kB each."""

from __future__ import annotations

import json
import random
import shutil
from collections.abc import Sequence
from pathlib import Path

from ticlm.platform.publish.places.place import Place

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


def main_of(folder: Path, labels: Sequence[str]) -> Path:
    """Return a folder with what stands at main when a vintage is the newest: its files, and vintages.json."""
    main = folder.parent / f"main-{folder.name}"
    shutil.copytree(folder, main, dirs_exist_ok=True)
    (main / "vintages.json").write_text(json.dumps({"vintages": list(labels)}))
    return main


def publish(place: Place, parent: Path, labels: Sequence[str] = LABELS) -> int:
    """Publish vintages, and main whenever one is the newest; return the bytes that were sent."""
    sent = 0
    for label in labels:
        sent += place.put(label, parent / label, f"Vintage {label}").bytes
        if place.labels()[-1] == label:
            sent += place.put_main(parent / f"main-{label}", f"Newest: {label}").bytes
    return sent


def made(parent: Path, labels: Sequence[str] = LABELS) -> None:
    """Write the folders that `publish` reads."""
    for at, label in enumerate(labels, 1):
        main_of(vintage(parent, label), labels[:at])
