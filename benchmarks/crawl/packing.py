"""Benchmark from staged text to Parquet rows of tokens, against `tokenizers` alone on the same batches of texts.

    python -m benchmarks.crawl packing [--quick]

The other side only encodes, with one thread, and discards the result. Our side reads the staged documents, encodes,
writes streams, shuffles rows and writes shards and a record. The ratio cannot exceed 1, as both encode with the
library.
"""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from itertools import islice
from pathlib import Path
from typing import Any

from benchmarks.crawl import archives
from benchmarks.serving import serve
from benchmarks.sides import Side

from ticlm.core import paths
from ticlm.core.corpus import CorpusInfo, TokenizerInfo
from ticlm.core.settings import parse
from ticlm.core.store import Store
from ticlm.core.token_rows import Column, dtype_for
from ticlm.datasets.corpus import pack, shards, staging, tokenize
from ticlm.datasets.corpus.ledger.counts import DocumentCounts
from ticlm.datasets.corpus.pack import Bundle
from ticlm.datasets.corpus.parts import DocumentSpan, parts_of
from ticlm.datasets.corpus.recipe import CorpusRecipe
from ticlm.datasets.corpus.row_makers import PackedTokens
from ticlm.datasets.corpus.splits import HeldOut
from ticlm.datasets.corpus.tokenize import Sets
from ticlm.datasets.corpus.tokenizers import TrainedTokenizer

LENGTH, VOCAB, LEARNED_FROM = 2048, 50_000, 8 << 20
PERIOD = "202405"
OURS, ENCODED, PACKED, ALONE = "ours", "ours, tokenise", "ours, pack", "tokenizers alone"
PARTS = {OURS: "all", ENCODED: "tokenise", PACKED: "pack", ALONE: "alone"}


def compare(folder: Path, documents: int, runs: int) -> dict[str, float]:
    """Print both sides; return our seconds of CPU per million tokens."""
    prepare(folder, documents)
    with ExitStack() as stack:
        here = (sys.executable, "-m", "benchmarks.crawl.packing", folder)
        sides = {name: stack.enter_context(Side(name, here)) for name in PARTS}
        for number in range(runs + 1):
            for name, side in sides.items():
                side.time(part=PARTS[name], run=number)
        tokens = sides[ALONE].runs[0]["tokens"]
        if sides[OURS].runs[0]["tokens"] != tokens:
            raise SystemExit(f"ours made {sides[OURS].runs[0]['tokens']:,} tokens, tokenizers {tokens:,}")
        for side in sides.values():
            del side.runs[0]  # it warms up
        print(f"{documents:,} documents, {tokens:,} tokens; medians of {runs} runs")
        print(f"{'':30}{'tokens/s wall':>16}{'tokens/s CPU':>16}{'ours against it: wall':>24}{'CPU':>8}")
        for name, side in sides.items():
            wall, cpu = side.median("wall_s"), side.median("cpu_s")
            ratios = f"{wall / sides[OURS].median('wall_s'):>23.2f}x{cpu / sides[OURS].median('cpu_s'):>7.2f}x"
            print(f"{name:30}{tokens / wall:>16,.0f}{tokens / cpu:>16,.0f}{ratios}")
        return {"pack_s_per_m": sides[OURS].median("cpu_s") / tokens * 1e6}


def prepare(folder: Path, documents: int) -> None:
    """Stage documents of one month, and train a tokenizer on the first of them."""
    texts = list(islice(archives.texts(), documents))
    with (folder / "202405.jsonl").open("w") as file:
        for number, text in enumerate(texts):
            row = {"text": text, "url": f"https://x.example/{number}", "timestamp": PERIOD}
            file.write(json.dumps(row) + "\n")
    recipe, store = _recipe(folder), Store(str(folder / "store"))
    for entry in recipe.reader.inputs(recipe.periods):
        for piece in recipe.reader.pieces(entry):
            staging.scan(store, "scans", recipe, piece)
    learner = TrainedTokenizer(vocab_size=VOCAB, max_bytes=LEARNED_FROM)
    info = learner.train(texts, PERIOD, store)
    store.write("tokenizer.json", info.model_dump_json().encode())


def _recipe(folder: Path) -> CorpusRecipe:
    about = {
        "name": "benchmark",
        "version": "1",
        "documents": {"kind": "files", "paths": str(folder / "202405.jsonl")},
        "splits": {"eval": 0, "tune": 0},
        "tokenizer": {"kind": "train", "vocab_size": VOCAB},
        "length": LENGTH,
    }
    return parse(CorpusRecipe, about, "benchmark")


def _side(folder: Path) -> Callable[[dict[str, Any]], Callable[[], dict[str, Any]]]:
    store = Store(str(folder / "store"))
    scans = [staging.Scan.model_validate(store.read_json(f"scans/{name}")) for name in store.files("scans")
             if name.endswith(".json")]  # fmt: skip
    parts = parts_of([PERIOD], [group for scan in scans for group in scan.groups])[PERIOD]
    tokenizer = TokenizerInfo.model_validate(store.read_json("tokenizer.json"))
    alone = _alone(store, parts)  # one tokenizer for all runs, as ours: it remembers words

    def prepare(request: dict[str, Any]) -> Callable[[], dict[str, Any]]:
        out = f"{request['part']}-{request['run']}"
        shutil.rmtree(folder / "store" / f"{request['part']}-{request['run'] - 1}", ignore_errors=True)
        shutil.rmtree(folder / "store" / "periods", ignore_errors=True)
        if request["part"] == "alone":
            return alone
        if request["part"] == "pack":
            made = _tokenised(store, out, tokenizer, parts)
            return lambda: _packed(folder, store, out, tokenizer, len(parts), made)
        if request["part"] == "tokenise":
            return lambda: {"tokens": _tokenised(store, out, tokenizer, parts)}
        return lambda: _packed(folder, store, out, tokenizer, len(parts), _tokenised(store, out, tokenizer, parts))

    return prepare


def _tokenised(store: Store, folder: str, info: TokenizerInfo, parts: Sequence[DocumentSpan]) -> int:
    """Tokenise all parts, and return the number of tokens."""
    for part in parts:
        tokenize.tokenise(store, folder, Sets(), info, 1, part)
    made = (stream for stream, _ in tokenize.streams(store, folder, PERIOD, len(parts)))
    return sum(section.tokens for stream in made for section in stream.sections)


def _packed(folder: Path, store: Store, out: str, info: TokenizerInfo, parts: int, tokens: int) -> dict[str, Any]:
    recipe = _recipe(folder)
    column = Column(name="tokens", length=LENGTH + 1, dtype=dtype_for(info.vocab_size))
    corpus = CorpusInfo(
        name="benchmark",
        version="1",
        columns=(column,),
        calendar=recipe.calendar,
        tokenizer=info,
        recipe="benchmark",
    )
    period = recipe.calendar.period(PERIOD)
    bundle = Bundle(period=period, attempt="benchmark", parts=parts, tally=DocumentCounts())
    ranges = pack.plan(store, out, corpus, 0, HeldOut(), PackedTokens(), bundle)
    written = [shards.write(store, out, corpus, 0, PackedTokens(), some) for some in ranges]
    pack.publish(store, out, HeldOut(), (bundle, written))
    return {"tokens": tokens}


def _alone(store: Store, parts: Sequence[DocumentSpan]) -> Callable[[], dict[str, Any]]:
    from tokenizers import Tokenizer

    from ticlm.datasets.corpus.tokenizers import batches

    tokenizer = Tokenizer.from_str(store.read(paths.tokenizer_file()).decode())
    tokenizer.encode_special_tokens = True
    packs = [b for part in parts for b in batches(list(tokenize.texts_of(store, "", Sets(), [part], "train")))]

    def work() -> dict[str, Any]:
        return {"tokens": sum(len(one) + 1 for one in _encoded(tokenizer, packs))}

    return work


def _encoded(tokenizer: Any, batches: Sequence[list[str]]) -> Iterator[Any]:
    for batch in batches:
        yield from tokenizer.encode_batch_fast(batch, add_special_tokens=False)


if __name__ == "__main__":
    serve(_side(Path(sys.argv[1])))
