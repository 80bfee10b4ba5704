"""The contract of every method of the catalogue: its budget, the same bits after a stop and on any number of workers.

A method of each class of state is trained for every change, the others of the catalogue nightly.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Any

import pytest

from ticlm.core.integrity.records import read_record
from ticlm.core.paths import round_folder
from ticlm.core.store import Store
from ticlm.methods.catalog import CATALOG
from ticlm.methods.method import Continual, OracleSeries
from ticlm.platform.study import plan
from ticlm.platform.study.identity import weights_of
from ticlm.platform.study.plan import Plan
from ticlm.platform.study.settings import Study
from ticlm.platform.study.work import work_of

Forks = Callable[..., list[tuple[int, Any]]]
pytestmark = pytest.mark.slow

PERIODS = ("202301", "202302", "202303", "202304")
STEPS, BATCH, LENGTH = 5, 6, 16


def entry(method: Continual | OracleSeries) -> dict[str, Any]:
    """A catalogue line with a toy's learning rates and sizes."""
    if isinstance(method, OracleSeries):
        return {"base": method.name, "cutoffs": [PERIODS[0], PERIODS[2]]}
    schedule: dict[str, Any] = {"max_rate": 2e-3, "warmup_steps": 1}
    schedule |= {"cooldown_steps": 2} if hasattr(method.schedule, "cooldown_steps") else {}
    schedule |= {"rewarm_steps": 1} if hasattr(method.schedule, "rewarm_steps") else {}
    changes: dict[str, Any] = {"base": method.name, "schedule": schedule}
    if method.name.startswith("replay-exp"):
        changes["replay"] = {"group": 1}  # or it would be 1/2 on so few periods
    if hasattr(method.schedule, "warmup_share"):
        changes["schedule"] = {"max_rate": 2e-3}
    if method.name == "k-adapter":
        changes["adapter"] = {"layers": [0, 1]}
    if method.name.endswith("recadam"):
        changes["optimizer"] = {"gamma": 50.0, "t0": 3, "k": 1.0}  # or it would hold still in so short a round
    if method.name == "mer":
        changes["optimizer"] = {"every": 2}
    if method.penalties:
        (penalty,) = method.penalties
        small = {"weight": 300.0, "batches": 3} if penalty.reads.__qualname__.startswith("EWC") else {}
        changes["penalties"] = [penalty.model_dump() | small]
    return changes


# those with a frozen encoder are trained, on a T5, in tests/platform/train/test_adapted_rounds.py; those whose rounds
# are planned one by one in tests/platform/run/test_adaptive.py
WHOLE = [method for method in CATALOG.values() if getattr(method, "adaptive", None) is None]
METHODS = [entry(method) for method in WHOLE if getattr(method, "freeze", None) is None]
METHODS += [{**entry(CATALOG["replay-half"]), "name": "buffered", "replay": {"buffer_tokens": 20 * LENGTH}}]
METHODS += [{**entry(CATALOG["cyclic-cosine"]), "name": "adafactor", "optimizer": {"kind": "adafactor"}}]
METHODS += [
    {  # everything at once
        **entry(CATALOG["lwf-per-token"]),
        "name": "all-together",
        "replay": {"kind": "equal"},
        "schedule": {"kind": "rsqrt", "max_rate": 1e-3, "warmup_steps": 1, "cooldown_steps": 1},
        "optimizer": {"kind": "schedule-free"},
        "penalties": [{"kind": "lwf"}, {"kind": "ewc", "weight": 300.0, "batches": 3, "z_loss": False}],
    }
]
NAMES = [str(method.get("name", method["base"])) for method in METHODS]
BY_STATE = (
    "cyclic-cosine",  # moments of AdamW
    "schedule-free",  # a second copy of the weights
    "adafactor",  # means over whole weights
    "recadam",  # a copy of the weights at the start, that no checkpoint holds
    "muon",  # momentum of whole matrices, and moments of the rest
    "mer",  # a copy of the weights after a group of steps, and where in a group it is
    "replay-half",  # a mixture without state of its own
    "replay-self",  # rows that the model itself wrote
    "buffered",  # what was thrown away
    "trunk-leaf",  # a round beside its trunk
    "ewc",  # an anchor and its Fisher information
    "lwf-per-token",  # a teacher
    "joint",  # one round from the start
    "oracle",  # from scratch at each cutoff
    "all-together",
)


OTHERS = [name for name in NAMES if name not in BY_STATE]


def cases(trained: str, names: Sequence[str], *marks: Any) -> list[Any]:
    """Return a test's parameters for these methods in the roots of the fixture `trained`."""
    return [pytest.param(trained, name, id=f"{trained}-{name}", marks=marks) for name in names]


EACH = [*cases("by_state", BY_STATE), *cases("catalogue", OTHERS, pytest.mark.nightly)]
"""One method of each class of state, and nightly every other method."""
each_method = pytest.mark.parametrize(("trained", "name"), EACH)


def run_all(study: Study, root: Path, rank: int, world: int, meeting: str, stop: bool) -> None:
    """One rank that trains every chain of the study; with `stop`, each only until its second mid-round checkpoint."""
    import torch.distributed as dist

    from ticlm.platform.models.sharding import Workers
    from ticlm.platform.train import checkpoint, trainer
    from ticlm.platform.train.average import publish_average
    from ticlm.platform.train.sample import publish_sample

    class Stopped(Exception):
        pass

    real, left = checkpoint.Writer.save, 0

    def save(self: checkpoint.Writer, *args: Any) -> None:
        nonlocal left
        real(self, *args)
        left -= 1
        if left == 0:
            self.wait()
            raise Stopped

    vars(checkpoint)["Writer"].save = save
    if world > 1:
        dist.init_process_group("gloo", init_method=f"file://{meeting}", rank=rank, world_size=world)
    made = plan.make(study, str(root))
    for found in made.chains:
        made.read_records([need for key in found.keys for need in made.tree.rounds[key].needs])
        work = work_of(made, found)
        if not work.rounds[0].is_trained:
            if rank == 0:
                (publish_average if work.rounds[0].sample is None else publish_sample)(work)
            Workers(rank, world).barrier()
            continue
        left = 2 if stop else 0
        try:
            trainer.run_chain(work, Workers(rank, world))
        except Stopped:
            trainer.run_chain(work, Workers(rank, world))
    if world > 1:
        dist.destroy_process_group()


WORLDS = {"one": 1, "stopped": 1, "two": 2, "four": 4}
"""Workers of each root: one; one that is stopped in a round of each chain; several."""


@dataclass(frozen=True)
class Roots:
    """Where methods are trained, each root when it is first asked for."""

    study: Study
    folder: Path
    forks: Forks
    compared: tuple[str, ...]
    """Methods that are trained in the roots other than `one`."""

    def train(self, name: str) -> None:
        """Train the study's methods in the root `name`, but for `one` only those that are compared."""
        methods = tuple(m for m in self.study.methods if name == "one" or m.name in self.compared)
        study, world = self.study.model_copy(update={"methods": methods}), WORLDS[name]
        meeting, log, stop = self.folder / f"{name}.meeting", self.folder / f"{name}.log", name == "stopped"
        meeting.unlink(missing_ok=True)  # or gloo would look for this group where an earlier one listened
        jobs = [partial(run_all, study, self.folder / name, rank, world, str(meeting), stop) for rank in range(world)]
        ended = [code for code, _ in self.forks(*jobs, log=log, timeout_s=1000)]
        assert ended == [0] * world, log.read_text()[-3000:]

    def plan(self, name: str) -> Plan:
        return planned(self, name)


@cache
def planned(roots: Roots, name: str) -> Plan:
    """Return the plan of a root where nothing is left to train, made once: reading the records takes a second."""
    roots.train(name)
    return plan.make(roots.study, str(roots.folder / name))


@pytest.fixture(scope="module")
def untrained(
    tmp_path_factory: pytest.TempPathFactory,
    toy_corpus: Callable[..., Any],
    toy_study: Callable[..., Study],
    forks: Forks,
) -> Callable[..., Roots]:
    """`untrained(methods, compared)` says where methods are to be trained. All share a folder, so that a round of two
    studies is trained once."""
    folder = tmp_path_factory.mktemp("methods")
    toy_corpus(folder / "toy@1")

    def make(methods: list[dict[str, Any]], compared: Sequence[str]) -> Roots:
        study = toy_study(
            corpus=f"{folder}/toy@1",
            methods=methods,
            batch_rows=BATCH,
            initial={
                "budget": {"steps": STEPS},
                "schedule": {"kind": "cosine", "max_rate": 5e-3, "warmup_steps": 1},
            },
            continual_tokens={"per_period": STEPS * BATCH * LENGTH},
            loss={"clip_norm": 0.8},
            resources={"trainer": "process", "device": "cpu", "cadence": {"steps": 2}, "micro_batch_rows": 2},
        )
        return Roots(study, folder, forks, tuple(compared))

    return make


@pytest.fixture(scope="module")
def by_state(untrained: Callable[..., Roots]) -> Roots:
    return untrained([m for m, name in zip(METHODS, NAMES) if name in BY_STATE], BY_STATE)


@pytest.fixture(scope="module")
def catalogue(untrained: Callable[..., Roots]) -> Roots:
    """All methods on one worker; stopped and on two only those that `by_state` lacks."""
    return untrained(METHODS, OTHERS)


@pytest.fixture
def roots(request: pytest.FixtureRequest, trained: str) -> Roots:
    """Those of the fixture that the test's parameter names."""
    found: Roots = request.getfixturevalue("by_state" if trained == "on_four" else trained)
    return found


@each_method
def test_a_method_spends_its_budget_to_the_row(roots: Roots, name: str) -> None:
    made = roots.plan("one")
    (run,) = [run for run in made.tree.runs if run.method.name == name]
    for label, key in ((label, key) for label, keys in run.work.items() for key in keys):
        spec, record = made.tree.rounds[key], made.records[key]
        if not spec.is_trained:
            assert record.about["tokens"] == spec.budget == 0 and record.about["period"] == label
            continue
        metrics = Store(roots.folder / "one").read_json(f"{round_folder(made.ids[key])}/{record.attempt}/metrics.json")
        assert len(metrics["loss"]) == spec.steps == record.about["steps"]
        assert sum(spec.draws().values()) == spec.steps * BATCH
        assert spec.tokens <= spec.budget < spec.tokens + BATCH * LENGTH
        assert record.about["period"] == label
    continual = [sum(made.tree.rounds[key].tokens for key in keys) for keys in list(run.work.values())[1:]]
    if name == "joint":
        assert continual == [3 * STEPS * BATCH * LENGTH]
    elif name == "oracle":
        assert continual == [STEPS * BATCH * LENGTH * 3]  # the initial budget and two periods'
    else:
        times = {"mix-review": 5, "ckl-mix-review": 5, "mix-review-1-1": 2}.get(name, 1)  # old rows come on top
        assert continual == [times * STEPS * BATCH * LENGTH] * 3


@each_method
def test_a_stopped_method_ends_with_the_same_bits(roots: Roots, name: str) -> None:
    """Stopped in the middle of a round of each of its chains, and started again."""
    one, again = roots.plan("one"), roots.plan("stopped")
    (run,) = [run for run in one.tree.runs if run.method.name == name]
    for key in run.rounds.values():
        assert weights_of(one.records[key]) == weights_of(again.records[key])
    measured = [record.about for record in again.records.values()]
    assert any(about["measured"]["tokens"] < about["tokens"] for about in measured), "none was resumed in mid-round"


@pytest.mark.parametrize(("trained", "name"), [*EACH, *cases("on_four", BY_STATE, pytest.mark.nightly)])
def test_workers_change_no_bit_of_a_method(roots: Roots, trained: str, name: str) -> None:
    """At the demo's rates, some steps clipped. Of three micro-batches, one of four workers computes none."""
    one, many = roots.plan("one"), roots.plan("four" if trained == "on_four" else "two")
    (run,) = [run for run in one.tree.runs if run.method.name == name]
    for label, key in run.rounds.items():
        assert weights_of(one.records[key]) == weights_of(many.records[key]), label


@pytest.mark.parametrize("trained", ["by_state", pytest.param("catalogue", marks=pytest.mark.nightly)])
def test_every_method_trains_a_model_of_its_own(roots: Roots) -> None:
    """Where two end with the same weights, one of them is not there at all."""
    made = roots.plan("one")
    last = {
        run.method.name: weights_of(made.records[list(run.rounds.values())[-1]])
        for run in made.tree.runs
        if run.method.name != "oracle"
    }
    assert len(last) == len(roots.study.methods) - 1
    for name, weights in last.items():
        assert [other for other in last if last[other] == weights] == [name]
    records = [read_record(Store(roots.folder / "one"), round_folder(i)) for i in made.ids.values()]
    assert all(record is not None for record in records)
