"""Benchmark of document log-likelihood (rolling) and of questions with two choices against lm-evaluation-harness, with
the same weights, tokens, windows and prefix.

    python benchmarks/rivals.py lm-eval
    python -m benchmarks.evaluation [documents choices] [--quick] [--threads 2]
    python -m benchmarks.evaluation documents --model FOLDER --tokens 8000 --text FOLDER

Numbers must agree for each document and each choice. The rival runs at the best of the batch sizes that are tried, our
side at its default.
"""

from __future__ import annotations

import argparse
import gzip
import json
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from benchmarks.rivals import python
from benchmarks.sides import Side, report

TEXT = Path(__file__).resolve().parents[2] / "shared" / "data" / "monthly"


@dataclass(frozen=True)
class Case:
    name: str
    layers: int
    width: int
    vocab: int
    window: int
    tokens: int
    """Documents are taken until they hold so many."""
    prefix: int = 0
    """The token before each document."""


CASES = (
    Case("tutorial model: 2 x 128, vocabulary 4,096, windows of 256", 2, 128, 4096, 256, 100_000),
    Case("papers' vocabulary: 4 x 256, vocabulary 50,432, windows of 1,024", 4, 256, 50_432, 1024, 25_000),
)
QUICK = (Case("smoke: 2 x 64, vocabulary 1,024, windows of 128", 2, 64, 1024, 128, 20_000),)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("asked", nargs="*", metavar="|".join(QUESTIONS), help="both by default")
    parser.add_argument("--quick", action="store_true", help="a smoke run of half a minute")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--text", type=Path, default=TEXT, help="folder of *.jsonl.gz with a `text` field")
    parser.add_argument("--model", type=Path, help="a model folder, in place of models of random weights")
    parser.add_argument("--tokens", type=int, default=8000, help="with --model: tokens that are scored")
    parser.add_argument("--side", type=Path, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.side:
        ours(arguments.side, arguments.threads)
        return
    if arguments.model:
        with tempfile.TemporaryDirectory() as folder:
            case = prepared(arguments.model, Path(folder), arguments.text, arguments.tokens)
            compare(case, Path(folder), "documents", arguments.threads, arguments.runs)
        return
    for case in QUICK if arguments.quick else CASES:
        with tempfile.TemporaryDirectory() as folder:
            prepare(case, Path(folder), arguments.text)
            for asked in arguments.asked or QUESTIONS:
                runs = 2 if arguments.quick else arguments.runs
                compare(case, Path(folder), asked, arguments.threads, runs)


def compare(case: Case, folder: Path, asked: str, threads: int, runs: int) -> None:
    job = QUESTIONS[asked](json.loads((folder / "documents.json").read_text()), case)
    (folder / "job.json").write_text(json.dumps(job))
    tokens: list[int] = job["tokens"]
    us = (sys.executable, "-m", "benchmarks.evaluation", "--side", folder, "--threads", threads)
    them = (python("lm-eval"), Path(__file__).with_name("evaluation_rival.py"), folder, threads)
    with Side("ours", us, threads) as mine, Side("lm-eval", them, threads) as rival:
        print(f"\n{case.name}; {len(tokens)} {asked}, {sum(tokens):,} tokens, {threads} thread(s), {runs} runs each")
        batch = best_batch(rival, requests=max(4, len(tokens) // 4))
        mine.ask()
        for _ in range(runs):
            rival.time(batch=batch, requests=len(tokens))
            mine.time()
        theirs, values = np.array(rival.runs[-1]["values"]), np.array(mine.runs[-1]["values"])
        np.testing.assert_allclose(values, theirs, rtol=1e-4, atol=1e-3)
        print(f"largest difference: {np.abs(values - theirs).max():.1e} in {np.abs(theirs).max():,.0f} nats")
        report(sum(tokens), "tokens", mine, {f"lm-eval, its best batch ({batch})": rival})


def best_batch(rival: Side, requests: int) -> int:
    """The batch size at which the rival is quickest, by the better of two runs each; tried until it gets far slower."""
    rival.ask(batch=1, requests=requests)
    took: dict[int, float] = {}
    for batch in (1, 2, 4, 8, 16, 32):
        took[batch] = min(rival.ask(batch=batch, requests=requests)["cpu_s"] for _ in range(2))
        if took[batch] > 1.5 * min(took.values()):
            break
    print("lm-eval by batch size, CPU s: " + ", ".join(f"{batch}: {s:.2f}" for batch, s in took.items()))
    return min(took, key=lambda batch: took[batch])


def ours(folder: Path, threads: int) -> None:
    import torch
    from transformers import AutoModelForCausalLM

    from ticlm.platform.eval.likelihood import rolling
    from ticlm.platform.eval.shared_context import Branches, branch_scores

    torch.set_num_threads(threads)
    job = json.loads((folder / "job.json").read_text())
    model = AutoModelForCausalLM.from_pretrained(folder / "model", dtype=torch.float32, trust_remote_code=False)
    for _ in sys.stdin:
        wall, cpu = time.perf_counter(), time.process_time()
        if "documents" in job:
            values = rolling(model, job["documents"], job["window"], job["prefix"])
        else:
            asked = [Branches(np.array(q["context"]), [np.array(c) for c in q["choices"]]) for q in job["questions"]]
            scores = branch_scores(model, asked)
            values = [-float(one.losses.sum(dtype=np.float64)) for several in scores for one in several]
        answer = {"wall_s": time.perf_counter() - wall, "cpu_s": time.process_time() - cpu, "values": values}
        print(json.dumps(answer), flush=True)


def prepare(case: Case, folder: Path, text: Path) -> None:
    """Put a tokenizer trained on the text, a model of random weights and the documents as tokens into `folder`."""
    import torch
    from tokenizers import ByteLevelBPETokenizer
    from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast
    from transformers.utils import logging

    logging.disable_progress_bar()
    bpe = ByteLevelBPETokenizer()
    bpe.train_from_iterator(texts(text), vocab_size=case.vocab, special_tokens=["<|endoftext|>"], show_progress=False)
    (folder / "model").mkdir()
    PreTrainedTokenizerFast(tokenizer_object=bpe._tokenizer, eos_token="<|endoftext|>").save_pretrained(
        folder / "model"
    )
    torch.manual_seed(0)
    config = LlamaConfig(
        vocab_size=case.vocab,
        hidden_size=case.width,
        intermediate_size=case.width * 3,
        num_hidden_layers=case.layers,
        num_attention_heads=case.width // 32,
        max_position_embeddings=2 * case.window,
    )
    LlamaForCausalLM(config).save_pretrained(folder / "model")
    encoded: list[list[int]] = []
    for document in texts(text, every=7):
        encoded.append(bpe.encode(document).ids)
        if sum(map(len, encoded)) >= case.tokens:
            break
    (folder / "documents.json").write_text(json.dumps(encoded))


def prepared(model: Path, folder: Path, text: Path, tokens: int) -> Case:
    """Put a model and the documents as its tokens into `folder`; return the case, with the model's own window."""
    from transformers import AutoConfig, AutoTokenizer

    (folder / "model").symlink_to(model.resolve())
    tokenizer = AutoTokenizer.from_pretrained(folder / "model", trust_remote_code=False)
    encoded: list[list[int]] = []
    for document in texts(text):
        encoded.append(tokenizer(document, add_special_tokens=False)["input_ids"])
        if sum(map(len, encoded)) >= tokens:
            break
    (folder / "documents.json").write_text(json.dumps(encoded))
    before = [token for token in (tokenizer.bos_token_id, tokenizer.eos_token_id) if token is not None]
    config = AutoConfig.from_pretrained(folder / "model", trust_remote_code=False)
    window, vocabulary = int(config.max_position_embeddings), int(config.vocab_size)
    shape = (int(config.num_hidden_layers), int(config.hidden_size), vocabulary, window, tokens)
    return Case(f"{model.name}: {shape[0]} x {shape[1]}, vocabulary {vocabulary:,}", *shape, prefix=before[0])


def documents(tokens: list[list[int]], case: Case) -> dict[str, Any]:
    lengths = [len(document) for document in tokens]
    return {"documents": tokens, "window": case.window, "prefix": case.prefix, "tokens": lengths}


def choices(tokens: list[list[int]], case: Case) -> dict[str, Any]:
    """Questions with two choices cut from the documents, about as long as those of TiC-StackE: a question of some 300
    tokens, answers of some 150, lognormal; all of it within the window. `tokens` are those of each choice with its
    context, which is what a rival reads."""
    random = np.random.default_rng(0)
    text = [token for document in tokens for token in document]
    questions: list[dict[str, Any]] = []
    while text:
        lengths = np.maximum(1, random.lognormal(np.log([280, 130, 130]) - 0.2, 0.7)).astype(int)
        lengths = np.minimum(lengths, [case.window // 2, case.window // 2, case.window // 2])
        parts, text = np.split(text[: lengths.sum()], np.cumsum(lengths)[:-1]), text[lengths.sum() :]
        if all(len(part) for part in parts):
            context, *several = (part.tolist() for part in parts)
            questions.append({"context": context, "choices": several})
    read = [len(q["context"]) + len(choice) for q in questions for choice in q["choices"]]
    return {"questions": questions, "window": case.window, "prefix": 0, "tokens": read}


QUESTIONS = {"documents": documents, "choices": choices}


def texts(folder: Path, every: int = 1) -> Iterator[str]:
    """Every so many-th document of a folder, or invented ones of like lengths where there is no such folder."""
    files = sorted(folder.glob("*.jsonl.gz"))
    return islice(_read(files) if files else _invented(), 0, None, every)


def _read(files: list[Path]) -> Iterator[str]:
    for file in files:
        with gzip.open(file, "rt") as lines:
            for line in lines:
                yield json.loads(line)["text"]


def _invented() -> Iterator[str]:
    random = np.random.default_rng(0)
    letters = np.array(list("etaoinshrdlu"))
    words = ["".join(random.choice(letters, random.integers(2, 9))) for _ in range(20_000)]
    for length in random.lognormal(6.3, 1.1, 3_000).astype(int):
        yield " ".join(words[min(rank, len(words)) - 1] for rank in random.zipf(1.3, max(1, length)))


if __name__ == "__main__":
    main()
