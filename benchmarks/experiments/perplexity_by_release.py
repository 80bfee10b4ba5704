"""Where the loss of a model by month puts its age: documentation of NumPy, the same pages in every release.

    python -m benchmarks.experiments.perplexity_by_release MODEL [--index URL] [--pages 8] [--chars 800]

Sdists are read from the package index that pip is configured with, or from URL; nothing is installed or run.
For the first release of each minor version: mean over pages of nats per token and of bits per byte, of the first
characters of pages that all of these releases have. The published estimator takes the month with the lowest loss.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Iterator
from typing import Any, NamedTuple

import torch
from packaging.version import Version
from transformers import AutoModelForCausalLM, AutoTokenizer

from ticlm.datasets.codedocs.archives import files
from ticlm.datasets.codedocs.releases import Index, Sdist

FOLDER, ENDING = "doc/source/", ".rst"
CONTEXT = 2048


class ReleasePages(NamedTuple):
    """A release, its day, and its pages by path."""

    version: str
    day: str
    pages: dict[str, str]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model")
    parser.add_argument("--index", default="")
    parser.add_argument("--pages", type=int, default=8)
    parser.add_argument("--chars", type=int, default=800)
    parser.add_argument("--first", default="1.13", help="the oldest minor version")
    asked = parser.parse_args()
    torch.set_num_threads(1)
    found = list(releases(asked.index, asked.first))
    common = set.intersection(*(set(one.pages) for one in found))
    every = sorted(page for page in common if all(len(one.pages[page]) >= asked.chars for one in found))
    pages = every[:: max(1, len(every) // asked.pages)][: asked.pages]
    print(f"{len(found)} releases, {len(every)} pages in all of them, asked: {', '.join(pages)}", flush=True)
    tokenizer = AutoTokenizer.from_pretrained(asked.model, trust_remote_code=False)
    model = AutoModelForCausalLM.from_pretrained(asked.model, dtype=torch.float32, trust_remote_code=False).eval()
    table = []
    for one in found:
        scores = [losses(model, tokenizer, one.pages[page][: asked.chars]) for page in pages]
        nats, bits = (sum(column) / len(column) for column in zip(*scores))
        table.append((one, nats, bits))
        print(f"{one.version:>8} {one.day} {nats:8.4f} nats per token {bits:8.4f} bits per byte", flush=True)
    for at, name in ((1, "nats per token"), (2, "bits per byte")):
        best = min(table, key=lambda row: row[at])[0]
        print(f"lowest {name}: {best.version}, {best.day}")


def releases(index: str, first: str) -> Iterator[ReleasePages]:
    """Yield the first release of each minor version that has an sdist, from the oldest on."""
    chosen: dict[tuple[int, ...], tuple[Version, Sdist]] = {}
    for version, sdist in Index(index, "numpy").sdists():
        if version >= Version(first) and not version.is_prerelease:
            chosen.setdefault(version.release[:2], (version, sdist))
    for version, sdist in chosen.values():
        found = files(sdist.url, lambda path: "" if is_page(path) else "no page", sdist.sha256)
        pages = {
            path.partition(FOLDER)[2]: data.decode(errors="replace") for path, data in found if isinstance(data, bytes)
        }
        yield ReleasePages(str(version), f"{sdist.uploaded}", pages)


def is_page(path: str) -> bool:
    """Return whether a path is that of a page; notes of a release are written once, so they have no versions."""
    return path.startswith(FOLDER) and path.endswith(ENDING) and "/release" not in path


@torch.inference_mode()
def losses(model: Any, tokenizer: Any, text: str) -> tuple[float, float]:
    """Return nats per token and bits per byte of a text behind the beginning of a document."""
    ids = [tokenizer.bos_token_id, *tokenizer(text, add_special_tokens=False)["input_ids"]][:CONTEXT]
    tokens = torch.tensor([ids])
    nats = model(tokens, labels=tokens).loss.item() * (len(ids) - 1)
    return nats / (len(ids) - 1), nats / math.log(2) / len(text.encode())


if __name__ == "__main__":
    main()
