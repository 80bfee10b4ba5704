"""Experiment on deduplicating newer text against older text: two corpora of one crawl, compared on text of neither.

    python -m benchmarks.experiments.windowed ROOT [--data ../shared/data]

The crawl holds dated posts and pages of another site that are crawled again whenever they change. One corpus is
deduplicated within every period, the other over windows of ten periods (TiC-LM, appendix D.7). The same study runs on
both, and their losses on the documentation of three releases of NumPy are compared, with the same tokenizer. All steps
continue where they were interrupted.
"""

from __future__ import annotations

import argparse
import gzip
import html
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd
from benchmarks.experiments.commands import ticlm

PERIODS = "{initial: 201305..201412, step: quarter, last: 202312}"
NGRAMS = "expected_ngrams: 4_000_000"  # filters of one size: in the first period both corpora are the same
VARIANTS = {"local": f"{{scope: period, {NGRAMS}}}", "windowed": f"{{scope: window, window: 10, {NGRAMS}}}"}
STUDY = """
name: posts-{variant}
corpus: posts-{variant}@1
periods: {periods}
model: {{kind: preset, name: tiny, changes: {{hidden_size: 128, num_attention_heads: 4, intermediate_size: 384}}}}
batch_rows: 8
length: 128
initial: {{budget: 716_800, schedule: {{kind: cosine, max_rate: 3e-3, end_rate: 3e-4, warmup_steps: 50}}}}
continual_tokens: {{per_period: 32_768}}
methods:
  - {{base: cyclic-cosine, seeds: {seeds}, schedule: &cyclic {{max_rate: 5e-4, end_rate: 3e-4, warmup_steps: 5}}}}
  - {{base: replay-half, seeds: {seeds}, schedule: *cyclic}}
evaluations:
  - {{kind: perplexity-on, name: numpy-docs, corpus: numpy@1, max_rows: 256}}
  - {{kind: perplexity, name: held-out, max_rows: 64}}
  - {{kind: perplexity, name: held-out-clean, split: eval.clean, max_rows: 64}}
reference: raw
evaluate: {{checkpoints: &some [201610-201612, 201910-201912, 202310-202312], periods: *some}}
resources: {{workers: 2, chains: 2}}
"""
NUMPY = """
name: numpy
version: 1
documents: {{kind: files, paths: [{folder}]}}
periods: {{only: [201706, 202006, 202306]}}
splits: {{eval: 0.5, tune: 0.02}}
filters: [{{kind: word_count, min: 20}}]
tokenizer: {{kind: pretrained, name: {tokenizer}, as_of: 201412}}
length: 128
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("root", type=Path)
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--seeds", type=int, default=2)
    options = parser.parse_args()
    root = options.root.resolve()
    crawl(options.data, root / "crawl")
    for variant, rule in VARIANTS.items():
        build(root, variant, rule)
    documentation(options.data, root)
    for variant in VARIANTS:
        path = root / f"posts-{variant}.yaml"
        seeds = list(range(1, options.seeds + 1))
        path.write_text(STUDY.format(variant=variant, periods=PERIODS, seeds=seeds))
        ticlm("run", path, root=root)
    compare(root)


def crawl(data: Path, folder: Path) -> None:
    """A WARC file for every month, with the posts of `monthly` and the pages of `recrawl` as HTML."""
    folder.mkdir(parents=True, exist_ok=True)
    months = sorted({path.name[:6] for path in data.glob("monthly/*.jsonl.gz")})
    for month in months:
        path = folder / f"CC-MAIN-{month}15000000-{month}16000000-00000.warc.gz"
        if not path.exists():
            documents = [*read(data / f"monthly/{month}.jsonl.gz"), *read(data / f"recrawl/{month}.jsonl.gz")]
            path.write_bytes(b"".join(record(document, month) for document in documents))


def read(path: Path) -> Iterator[dict[str, Any]]:
    if path.exists():
        with gzip.open(path, "rt") as lines:
            yield from map(json.loads, lines)


def record(document: dict[str, Any], month: str) -> bytes:
    body = "\n".join(f"<p>{html.escape(part)}</p>" for part in document["text"].split("\n") if part.strip())
    page = f"<html><body><main><article>\n{body}\n</article></main></body></html>"
    block = b"HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\n\r\n" + page.encode()
    head = (
        f"WARC/1.0\r\nWARC-Type: response\r\nWARC-Target-URI: {document['url']}\r\n"
        f"WARC-Date: {month[:4]}-{month[4:]}-15T00:00:00Z\r\nContent-Type: application/http; msgtype=response\r\n"
        f"Content-Length: {len(block)}\r\n\r\n"
    )
    return gzip.compress(head.encode() + block + b"\r\n\r\n", mtime=0)


def build(root: Path, variant: str, rule: str) -> None:
    changes = {
        "name": f"posts-{variant}",
        "documents": f"{{kind: crawl, paths: [{root / 'crawl'}], together: url}}",
        "periods": PERIODS,
        "splits": "{eval: 0.15, tune: 0.02}",
        "deduplicate": rule,
        "held_out": "{clean: true}",
        "tokenizer": "{kind: train, vocab_size: 2048}",
        "length": "128",
    }
    ticlm("data", "build", "tic-cc", *(f"--set={key}={value}" for key, value in changes.items()), root=root)


def documentation(data: Path, root: Path) -> None:
    """NumPy's documentation at three releases, cut with the tokenizer of the corpora."""
    folder = root / "numpy"
    folder.mkdir(exist_ok=True)
    for path in sorted(data.glob("codedocs_numpy/*.jsonl.gz")):
        month = path.name[:6]
        lines = [
            {"url": f"numpy/{page['title']}", "text": page["text"], "timestamp": month, "source": "numpy"}
            for page in read(path)
        ]
        (folder / f"{month}.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    recipe = root / "numpy.yaml"
    recipe.write_text(NUMPY.format(folder=folder, tokenizer=root / "corpora/posts-local@1/tokenizer"))
    ticlm("data", "build", recipe, root=root)


def compare(root: Path) -> None:
    """Tokens of both corpora, and the losses side by side, means over seeds."""
    from ticlm.core.corpus import Corpus

    for variant in VARIANTS:
        periods = Corpus.open(str(root / f"corpora/posts-{variant}@1")).periods.values()
        tokens = sum(period.splits["train"].tokens for period in periods)
        lost = [d for period in periods for d in period.accounting.deduplication if d.split == "train"]
        gone = sum(d.documents_dropped for d in lost)
        print(f"{variant}: {tokens:,} train tokens; {gone} of {sum(d.documents for d in lost)} documents repeat others")
    newest = {
        v: max(root.glob(f"reports/posts-{v}-*/summary.csv"), key=lambda file: file.stat().st_mtime) for v in VARIANTS
    }
    tables = {v: pd.read_csv(file, keep_default_na=False) for v, file in newest.items()}
    columns = ["backward", "in_distribution", "forward", "final"]
    for task in ("numpy-docs@", "held-out@"):
        print(f"\n{task[:-1]}: mean loss (nats), standard deviation over seeds of one first model")
        print(f"{'':28}" + "".join(f"{column:>24}" for column in columns))
        for variant, table in tables.items():
            rows = table[table["task"].str.startswith(task) & (table["source"] == "")]
            for _, row in rows.iterrows():
                cells = "".join(f"{cell(row, column):>24}" for column in columns)
                print(f"{variant + ' ' + row['method']:28}{cells}")


def cell(row: Any, column: str) -> str:
    value, std = (pd.to_numeric(row.get(name, ""), errors="coerce") for name in (column, f"{column}_std"))
    return "—" if pd.isna(value) else f"{value:.4f}" + ("" if pd.isna(std) else f" ({std:.4f})")


if __name__ == "__main__":
    main()
