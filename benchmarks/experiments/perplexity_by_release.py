"""Where the loss of a model by month puts its age: documentation of NumPy, the same pages in every release.

    python -m benchmarks.experiments.perplexity_by_release MODEL --index URL [--pages 8] [--chars 800]

URL is a package index with the JSON form of the simple API (PEP 691); sdists are read, nothing is installed or run.
For the first release of each minor version: mean over pages of nats per token and of bits per byte, of the first
characters of pages that all of these releases have. The published estimator takes the month with the lowest loss.
"""

from __future__ import annotations

import argparse
import io
import json
import math
import tarfile
import urllib.request
import zipfile
from collections.abc import Iterator
from typing import Any, NamedTuple
from urllib.parse import urljoin

import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

ACCEPT = {"Accept": "application/vnd.pypi.simple.v1+json"}
FOLDER, ENDING = "/doc/source/", ".rst"
CONTEXT = 2048


class ReleasePages(NamedTuple):
    """A release, its day, and its pages by path."""

    version: str
    day: str
    pages: dict[str, str]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model")
    parser.add_argument("--index", required=True)
    parser.add_argument("--pages", type=int, default=8)
    parser.add_argument("--chars", type=int, default=800)
    parser.add_argument("--first", default="1.13", help="the oldest minor version")
    asked = parser.parse_args()
    torch.set_num_threads(1)
    found = list(releases(asked.index.rstrip("/") + "/numpy/", number(asked.first)))
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


def number(version: str) -> tuple[int, ...]:
    return tuple(map(int, version.split(".")))


def releases(project: str, first: tuple[int, ...]) -> Iterator[ReleasePages]:
    """Yield the first release of each minor version that has an sdist, from the oldest on."""
    chosen: dict[tuple[int, ...], dict[str, Any]] = {}
    for file in json.loads(read(project, ACCEPT))["files"]:
        name, _, ending = file["filename"].removeprefix("numpy-").partition(".tar.gz")
        if ending == "" and file["filename"].endswith(".zip"):
            name = name.removesuffix(".zip")
        elif not file["filename"].endswith(".tar.gz"):
            continue
        if name.replace(".", "").isdigit() and number(name)[:2] >= first and not file.get("yanked"):
            known = chosen.get(number(name)[:2])
            if known is None or (number(name), file["filename"]) < (known["number"], known["filename"]):
                chosen[number(name)[:2]] = file | {"number": number(name), "version": name}
    for _, file in sorted(chosen.items()):
        data = read(urljoin(project, file["url"]))
        yield ReleasePages(file["version"], file["upload-time"][:10], dict(pages_of(file["filename"], data)))


def read(url: str, headers: dict[str, str] | None = None) -> bytes:
    with urllib.request.urlopen(urllib.request.Request(url, headers=headers or {}), timeout=60) as answer:
        found: bytes = answer.read()
    return found


def pages_of(name: str, data: bytes) -> Iterator[tuple[str, str]]:
    """Yield the path below the folder of documentation, and the text, of each page of an sdist."""
    if name.endswith(".zip"):
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            for path in archive.namelist():
                if is_page(path):
                    yield path.partition(FOLDER)[2], archive.read(path).decode("utf-8", "replace")
        return
    with tarfile.open(fileobj=io.BytesIO(data)) as tar:
        for member in tar:
            if member.isfile() and is_page(member.name) and (file := tar.extractfile(member)) is not None:
                yield member.name.partition(FOLDER)[2], file.read().decode("utf-8", "replace")


def is_page(path: str) -> bool:
    """Return whether a path is that of a page; notes of a release are written once, so they have no versions."""
    return FOLDER in path and path.endswith(ENDING) and "/release" not in path


@torch.inference_mode()
def losses(model: Any, tokenizer: Any, text: str) -> tuple[float, float]:
    """Return nats per token and bits per byte of a text behind the beginning of a document."""
    ids = [tokenizer.bos_token_id, *tokenizer(text, add_special_tokens=False)["input_ids"]][:CONTEXT]
    tokens = torch.tensor([ids])
    nats = model(tokens, labels=tokens).loss.item() * (len(ids) - 1)
    return nats / (len(ids) - 1), nats / math.log(2) / len(text.encode())


if __name__ == "__main__":
    main()
