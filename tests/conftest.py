"""What tests share: a toy corpus and its study, a small Ray, an S3 that lives in this process, forks that train."""

from __future__ import annotations

import hashlib
import json
import logging
import os
import pickle
import shutil
import socket
import struct
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import hypothesis
import numpy as np
import pytest
from numpy.typing import NDArray

from ticlm.platform.core.corpus import INFO, Corpus, CorpusInfo, PeriodManifest, ShardFile, SplitManifest, TokenizerInfo
from ticlm.platform.core.mixture import Split
from ticlm.platform.core.periods import Calendar
from ticlm.platform.core.settings import parse
from ticlm.platform.core.store import Attempt, Store
from ticlm.platform.core.token_rows import Column, to_parquet
from ticlm.platform.study.settings import Study
from ticlm.platform.study.work import ChainWork

SPLITS: tuple[Split, ...] = ("train", "eval", "tune")

# a busy machine is no reason to fail; where CI is set, hypothesis is deterministic by itself
hypothesis.settings.register_profile("busy", deadline=None, suppress_health_check=[hypothesis.HealthCheck.too_slow])
hypothesis.settings.load_profile("busy")


@pytest.fixture(scope="session")
def s3_environment() -> Iterator[int]:
    """A port for the S3 of these tests, already in the environment, so that Ray's workers inherit it."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = int(probe.getsockname()[1])
    values = {
        "AWS_ENDPOINT_URL": f"http://127.0.0.1:{port}",
        "AWS_ACCESS_KEY_ID": "test",
        "AWS_SECRET_ACCESS_KEY": "test",
        "AWS_DEFAULT_REGION": "us-east-1",
    }
    with pytest.MonkeyPatch.context() as patch:
        for name, value in values.items():
            patch.setenv(name, value)
        yield port


@pytest.fixture(scope="session")
def ray_local(s3_environment: int) -> Iterator[None]:
    """A Ray of two CPUs for the whole session, in a folder of its own with a short name (sockets live in it)."""
    import ray

    folder = tempfile.mkdtemp(prefix="ray", dir="/tmp")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("OMP_NUM_THREADS", "1")
        ray.init(
            address="local",
            num_cpus=2,
            include_dashboard=False,
            log_to_driver=False,
            logging_level=logging.ERROR,
            _temp_dir=folder,
        )
        yield
        ray.shutdown()
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="session")
def s3_server(s3_environment: int) -> Iterator[None]:
    from moto.server import ThreadedMotoServer

    server = ThreadedMotoServer("127.0.0.1", s3_environment, verbose=False)
    server.start()
    yield
    server.stop()


@pytest.fixture
def s3_bucket(s3_server: None) -> str:
    """URI of an empty bucket."""
    import boto3

    name = f"bucket-{os.urandom(4).hex()}"
    boto3.client("s3", endpoint_url=os.environ["AWS_ENDPOINT_URL"]).create_bucket(Bucket=name)
    return f"s3://{name}"


@pytest.fixture(params=["local", "s3"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Store:
    """An empty root on each kind of filesystem: every test here holds on both."""
    return Store(tmp_path / "root" if request.param == "local" else f"{request.getfixturevalue('s3_bucket')}/root")


@pytest.fixture
def loop(monkeypatch: pytest.MonkeyPatch) -> None:
    """Builds of corpora without Ray."""
    from builds import without_ray

    without_ray(monkeypatch)


PERIODS = ("202301", "202302", "202303", "202304")


def build_toy_corpus(
    folder: Path | str,
    periods: Sequence[str] = PERIODS,
    rows: int = 96,
    held_out: int = 16,
    length: int = 16,
    vocab_size: int = 64,
    name: str = "toy",
    changed: Mapping[tuple[str, str], int] | None = None,
    inputs: int = 0,
) -> Corpus:
    """A corpus of random walks over `vocab_size` tokens, each period with longer steps than the one before.

    Every split of every period has its own rows; `changed={("202302", "train"): 1}` gives one split others. Building
    into a folder that has a corpus adds the periods that it lacks. With `inputs`, rows are pairs for an
    encoder-decoder: columns `inputs` (of that length) and `targets` (of `length`), both ending in some padding (0).
    """
    store, calendar = Store(str(folder)), Calendar(initial=periods[0], step="month")
    columns: tuple[Column, ...] = (Column(name="tokens", length=length + 1),)
    if inputs:
        columns = (Column(name="inputs", length=inputs), Column(name="targets", length=length))
    sha256 = _write_toy_tokenizer(store, vocab_size)
    tokenizer = TokenizerInfo(name="toy", vocab_size=vocab_size, end_of_text=vocab_size - 1, sha256=sha256)
    info = CorpusInfo(name=name, version="1", columns=columns, calendar=calendar, tokenizer=tokenizer, recipe="toy")
    store.create(INFO, json.dumps(info.model_dump(mode="json")).encode())
    for number, label in enumerate(periods):
        if store.exists(f"periods/{label}/record.json"):
            continue
        attempt = Attempt(store, f"periods/{label}")
        splits: dict[Split, SplitManifest] = {}
        for split, count in zip(SPLITS, (rows, held_out, held_out)):
            variant = (changed or {}).get((label, split), 0)
            draw = np.random.default_rng([number, SPLITS.index(split), variant])
            tokens = (draw.integers(0, 4 + number, (count, length + 1)).cumsum(1) + number) % vocab_size
            data = to_parquet({c.name: _padded(tokens, c, draw) if inputs else tokens for c in columns}, columns)
            path = f"{split}/part-00000.parquet"
            store.write(f"{attempt.path}/{path}", data)
            file = ShardFile(path=path, rows=count, bytes=len(data), sha256=hashlib.sha256(data).hexdigest())
            splits[split] = SplitManifest(
                files=(file,), rows=count, tokens=count * length, documents=count, bytes=count * length
            )
        attempt.publish(PeriodManifest(period=calendar.period(label), splits=splits).model_dump(mode="json"))
    return Corpus.open(str(folder))


def _padded(tokens: NDArray[np.int64], column: Column, draw: np.random.Generator) -> NDArray[np.int64]:
    ends = draw.integers(column.length // 2, column.length + 1, (len(tokens), 1))
    shown = np.maximum(np.resize(tokens, (len(tokens), column.length)), 1)
    return np.where(np.arange(column.length) < ends, shown, 0)


def _write_toy_tokenizer(store: Store, vocab_size: int) -> str:
    from tokenizers import Tokenizer, models, pre_tokenizers

    words = {f"w{i}": i for i in range(vocab_size - 1)} | {"<|endoftext|>": vocab_size - 1}
    tokenizer = Tokenizer(models.WordLevel(words, unk_token="w0"))
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    store.write("tokenizer/tokenizer.json", tokenizer.to_str().encode())
    settings = {"tokenizer_class": "PreTrainedTokenizerFast", "eos_token": "<|endoftext|>", "unk_token": "w0"}
    store.write("tokenizer/tokenizer_config.json", json.dumps(settings).encode())
    return store.sha256("tokenizer/tokenizer.json")


@pytest.fixture(scope="session")
def toy_corpus() -> Callable[..., Corpus]:
    """`build_toy_corpus`, as a fixture because test modules do not import each other."""
    return build_toy_corpus


TOY_STUDY: dict[str, Any] = {
    "name": "toy",
    "corpus": "toy",
    "periods": {"initial": PERIODS[0], "step": "month", "last": PERIODS[-1]},
    "model": {"name": "tiny", "changes": {"hidden_size": 16, "intermediate_size": 32, "num_hidden_layers": 1}},
    "batch_rows": 4,
    "length": 16,
    "initial": {"budget": {"steps": 6}, "schedule": {"kind": "cosine", "max_rate": 1e-2, "warmup_steps": 2}},
    "continual_tokens": {"per_period": 4 * 4 * 16},
    "methods": [
        {"base": "cyclic-cosine", "schedule": {"max_rate": 5e-3, "warmup_steps": 1}},
        {"base": "replay-half", "schedule": {"max_rate": 5e-3, "warmup_steps": 1}},
        {"base": "oracle", "cutoffs": [PERIODS[0], PERIODS[2]]},
    ],
    "resources": {"trainer": "process", "device": "cpu", "chains": 1},
}


def make_toy_study(**changes: Any) -> Study:
    """A study of the toy corpus at `corpora/toy@1` of a root: seconds of training. `changes` replace top-level keys."""
    return parse(Study, TOY_STUDY | changes, "toy study")


@pytest.fixture(scope="session")
def toy_study() -> Callable[..., Study]:
    """`make_toy_study`, as a fixture."""
    return make_toy_study


@pytest.fixture
def toy_root(tmp_path: Path) -> Path:
    """A root that holds the toy corpus, and nothing else."""
    build_toy_corpus(tmp_path / "root/corpora/toy@1")
    return tmp_path / "root"


@pytest.fixture(scope="session")
def forks(
    s3_environment: int, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Callable[..., list[tuple[int, Any]]]]:
    """`forks(*jobs, log=FILE, timeout_s=60)` runs functions without arguments side by side, each in a process of its
    own that has loaded everything already; says how each ended (exit code, or minus a signal) and what it returned."""
    import cloudpickle

    script = Path(__file__).parent / "support/forks.py"
    tests = str(Path(__file__).parent)
    quiet = {
        "OMP_NUM_THREADS": "1",
        "OMP_WAIT_POLICY": "PASSIVE",
        "GLOO_SOCKET_IFNAME": "lo",
        "TRANSFORMERS_VERBOSITY": "error",
        "HF_HUB_DISABLE_PROGRESS_BARS": "1",
        "MPLBACKEND": "agg",
        "COLUMNS": "200",
    }
    log = tmp_path_factory.mktemp("forks") / "log"
    process = subprocess.Popen(
        [sys.executable, str(script)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=os.environ | quiet
    )
    assert process.stdin is not None and process.stdout is not None
    requests, answers = process.stdin, process.stdout

    def run(*jobs: Callable[[], Any], log: Path = log, timeout_s: float = 60) -> list[tuple[int, Any]]:
        for module in list(sys.modules.values()):
            if str(getattr(module, "__file__", None) or "").startswith(tests):
                cloudpickle.register_pickle_by_value(module)
        data = cloudpickle.dumps((jobs, str(log), timeout_s))
        requests.write(struct.pack("<Q", len(data)) + data)
        requests.flush()
        (size,) = struct.unpack("<Q", answers.read(8))
        found = pickle.loads(answers.read(size))
        return list(found)

    yield run
    process.kill()  # it holds nothing; its own end would take seconds
    process.wait(10)


def _after_saves(saves: int, then: Callable[[Any], None]) -> Callable[..., None]:
    """`Writer.save` that calls `then(workers)` once so many mid-round checkpoints are whole."""
    from ticlm.platform.train.checkpoint import Writer

    real, left = Writer.save, saves

    def save(self: Writer, *args: Any) -> None:
        nonlocal left
        real(self, *args)
        left -= 1
        if not left:
            self.wait()
            then(self.workers)

    return save


class Stopped(Exception):
    """Stands for a kill where the process must live on."""


@pytest.fixture(scope="session")
def run_until() -> Callable[[ChainWork, int], None]:
    """`run_until(work, saves)` runs a chain in this process until so many mid-round checkpoints are whole."""

    def stop(workers: Any) -> None:
        raise Stopped

    def run(work: ChainWork, saves: int) -> None:
        from ticlm.platform.models.sharding import Workers
        from ticlm.platform.train import checkpoint, trainer

        with pytest.MonkeyPatch.context() as patch, pytest.raises(Stopped):
            patch.setattr(checkpoint.Writer, "save", _after_saves(saves, stop))
            trainer.run_chain(work, Workers())

    return run


def _train_rank(work: ChainWork, rank: int, world: int, meeting: str, saves: int | None) -> None:
    """One rank of a world; after `saves` mid-round checkpoints it is gone without a word."""
    import torch.distributed as dist

    from ticlm.platform.models.sharding import Workers, local_group
    from ticlm.platform.train import checkpoint, trainer

    def die(workers: Workers) -> None:
        workers.barrier()
        os._exit(9)

    if saves is not None:
        checkpoint.Writer.save = _after_saves(saves, die)  # type: ignore[method-assign]
    if world == 1:
        with local_group(work.rounds[0].recipe.precision, "cpu"):
            trainer.run_chain(work, Workers())
        return
    dist.init_process_group("gloo", init_method=f"file://{meeting}", rank=rank, world_size=world)
    trainer.run_chain(work, Workers(rank, world))
    dist.barrier()
    dist.destroy_process_group()


@pytest.fixture(scope="session")
def train_world(
    forks: Callable[..., list[tuple[int, Any]]], tmp_path_factory: pytest.TempPathFactory
) -> Callable[..., None]:
    """`train_world(work, world, saves=None)` runs a chain on that many gloo processes, to its end or until they are
    killed after so many mid-round checkpoints."""
    folder = tmp_path_factory.mktemp("worlds")

    def train(work: ChainWork, world: int, saves: int | None = None) -> None:
        name = os.urandom(4).hex()
        jobs = [partial(_train_rank, work, rank, world, f"{folder}/{name}", saves) for rank in range(world)]
        ended = [code for code, _ in forks(*jobs, log=folder / f"{name}.log")]
        assert ended == [9 if saves else 0] * world, (folder / f"{name}.log").read_text()[-3000:]

    return train
