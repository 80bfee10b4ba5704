"""What tests share: a toy corpus and its study, a small Ray, an S3 that lives in this process, forks that train.

It also says which tests run one after the other in the same process when pytest-xdist runs several processes.
"""

from __future__ import annotations

import gc
import os
import pickle
import shutil
import signal
import struct
import subprocess
import sys
import time
import warnings
from collections.abc import Callable, Generator, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import cloudpickle
import groups
import hypothesis
import pytest
from ports import free_ports
from ranks import after_saves, train_rank
from reserved import SharedRay
from toys import build_toy_corpus, make_toy_study

from ticlm.core import signals
from ticlm.core.corpus import Corpus
from ticlm.core.store import Store
from ticlm.platform.study.settings import Study
from ticlm.platform.study.work import ChainWork

os.environ.setdefault("HF_HUB_OFFLINE", "1")  # a name that is no folder is not looked for outside

# before torch or numba is loaded: two test processes, Ray's workers and forks share two cores
for _name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS", "RAYON_NUM_THREADS"):
    os.environ.setdefault(_name, "1")

# Tests kill processes and cut no power. One on a toy corpus forces 40 files onto the disk, which takes 4 to 11 ms each.
vars(os)["fsync"] = lambda _: None

# a busy machine is no reason to fail; where CI is set, hypothesis is deterministic by itself
for _name, _examples in (("quick", 50), ("nightly", 200)):
    hypothesis.settings.register_profile(
        _name,
        deadline=None,
        max_examples=_examples,
        suppress_health_check=[hypothesis.HealthCheck.too_slow],
    )
hypothesis.settings.load_profile("quick")  # `--hypothesis-profile=nightly` replaces it


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--until", type=float, help="no nightly test begins after it, in seconds as of `date +%%s`")


def pytest_runtest_setup(item: pytest.Item) -> None:
    until = item.config.getoption("--until")
    if until and time.time() > until and item.get_closest_marker("nightly"):
        pytest.skip("no time left for this night's test (--until)")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if "hypothesis" in config.option.markexpr:  # `make nightly`
        # where CI is set, the same examples as by day: a number of its own is no more at night
        again = [item for item in items if _has_own_examples(item) and not item.get_closest_marker("nightly")]
        config.hook.pytest_deselected(items=again)
        items[:] = [item for item in items if item not in again]
    groups.arrange(config, items)


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Keep the collector of cycles away from what lasts as long as the process, all tests and modules: looking through
    their 840,000 objects again and again took a third of the time of small tests."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()
        gc.set_threshold(10_000, 10, 10)


def _has_own_examples(item: pytest.Item) -> bool:
    """Return whether a property states how many examples it is tried on, whatever the profile says."""
    own = getattr(getattr(item, "obj", None), "_hypothesis_internal_use_settings", None)
    return own is not None and own.max_examples != hypothesis.settings().max_examples


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    node.workerinput["groups"] = groups.file_for_groups()


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    return groups.scheduler(config, log)


@pytest.fixture(scope="session")
def s3_environment() -> Iterator[int]:
    """A port for the S3 of these tests, already in the environment, so that Ray's workers inherit it."""
    (port,) = free_ports(1)
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
def shared_ray(s3_environment: int) -> Iterator[SharedRay]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("OMP_NUM_THREADS", "1")
        shared = SharedRay()
        yield shared
        shared.stop()


@pytest.fixture
def ray_local(shared_ray: SharedRay) -> None:
    """A Ray of two free CPUs that tests share; another one if a test that failed left some of it reserved."""
    if not shared_ray.becomes_free():
        shared_ray.stop()
        shared_ray.start()


@pytest.fixture(autouse=True)
def nothing_ends() -> None:
    """A test that ends a command leaves its mark, and whoever waits for a bucket after it would wait no more."""
    signals.ENDING.clear()


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


@pytest.fixture(scope="session")
def toy_corpus() -> Callable[..., Corpus]:
    """`build_toy_corpus`, as a fixture because test modules do not import each other."""
    return build_toy_corpus


@pytest.fixture(scope="session")
def toy_study() -> Callable[..., Study]:
    """`make_toy_study`, as a fixture."""
    return make_toy_study


@pytest.fixture(scope="session")
def toy_template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A root that holds the toy corpus, to be copied and not changed."""
    root = tmp_path_factory.mktemp("template") / "root"
    build_toy_corpus(root / "corpora/toy@1")
    return root


@pytest.fixture
def toy_root(toy_template: Path, tmp_path: Path) -> Path:
    """A root that holds the toy corpus, and nothing else. Its files are copies, as tests damage them in place."""
    shutil.copytree(toy_template, tmp_path / "root")
    return tmp_path / "root"


@pytest.fixture(scope="session")
def forks(
    s3_environment: int, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Callable[..., list[tuple[int, Any]]]]:
    """`forks(*jobs, log=FILE, timeout_s=300)` runs functions without arguments side by side, each in a process of its
    own that has loaded everything already; says how each ended (exit code, or minus a signal) and what it returned."""
    script = Path(__file__).parent / "support/forks.py"
    tests = str(Path(__file__).parent)
    quiet = {
        "OMP_NUM_THREADS": "1",
        "OMP_WAIT_POLICY": "PASSIVE",
        "GLOO_SOCKET_IFNAME": "lo",
        "TRANSFORMERS_VERBOSITY": "error",
        "HF_HUB_DISABLE_PROGRESS_BARS": "1",
        "COLUMNS": "200",
    }
    log = tmp_path_factory.mktemp("forks") / "log"
    process = subprocess.Popen(
        [sys.executable, str(script)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=os.environ | quiet
    )
    assert process.stdin is not None and process.stdout is not None
    requests, answers = process.stdin, process.stdout

    def run(*jobs: Callable[[], Any], log: Path = log, timeout_s: float = 300) -> list[tuple[int, Any]]:
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
            patch.setattr(checkpoint.Writer, "save", after_saves(saves, stop))
            trainer.run_chain(work, Workers())

    return run


@pytest.fixture(scope="session")
def train_world(
    forks: Callable[..., list[tuple[int, Any]]], tmp_path_factory: pytest.TempPathFactory
) -> Callable[..., None]:
    """`train_world(work, world, saves=None)` runs a chain on that many gloo processes, to its end or until they are
    killed after so many mid-round checkpoints."""
    folder = tmp_path_factory.mktemp("worlds")

    def once(work: ChainWork, world: int, saves: int | None) -> tuple[list[int], str]:
        name = os.urandom(4).hex()
        jobs = [partial(train_rank, work, rank, world, f"{folder}/{name}", saves) for rank in range(world)]
        ended = [code for code, _ in forks(*jobs, log=folder / f"{name}.log")]
        log = (folder / f"{name}.log").read_text()
        return ended, log if len(log) < 6000 else f"{log[:3000]}\n[…]\n{log[-3000:]}"

    def train(work: ChainWork, world: int, saves: int | None = None) -> None:
        ended, log = once(work, world, saves)
        if -signal.SIGABRT in ended and saves is None:
            # Seen once in hundreds of runs on a busy machine: a rank is aborted inside a library, and its peers lose
            # their connection. What matters here is that the chain then goes on to the same bits, as after any fault.
            warnings.warn(f"a rank was aborted, so its chain is resumed; it had printed:\n{log}", stacklevel=2)
            ended, log = once(work, world, saves)
        assert ended == [9 if saves else 0] * world, log

    return train
