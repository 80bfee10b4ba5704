"""What failed: the last line of a chain or an evaluation that a run could not finish, kept until it is done."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress

from pydantic import ValidationError

from ticlm.core import paths
from ticlm.core.errors import Stopped, TakenOver, in_one_line
from ticlm.core.fingerprint import fingerprint
from ticlm.core.settings import Settings
from ticlm.core.store import Store
from ticlm.platform.study.chains import Chain
from ticlm.platform.study.plan import Plan

EVALUATION = "evaluation"


class Failure(Settings):
    """A piece of work of a study that ended badly."""

    study: str
    work: str
    """The chain, as a plan names it, or `evaluation`."""
    line: str
    """What was wrong, in one line."""
    at: float
    """Seconds since 1970."""
    round: str = ""
    """Id of the chain's first round without a record; empty for an evaluation."""


def keep_chain(plan: Plan, chain: Chain, error: Exception) -> None:
    """Keep what ended a chain. Its finished rounds are read before."""
    left = next((key for key in chain.keys if not plan.done(key)), None)
    if left is not None:
        _keep(plan, plan.label(chain), error, plan.ids[left])


def clear_chain(plan: Plan, chain: Chain) -> None:
    """Forget what ended a chain before, as it is done now."""
    _clear(plan, (plan.ids[key] for key in chain.keys))


def keep_evaluation(plan: Plan, error: Exception) -> None:
    """Keep what ended the scoring of checkpoints."""
    _keep(plan, EVALUATION, error)


@contextmanager
def of_evaluation(plan: Plan) -> Iterator[None]:
    """Keep what ends the block, which scores all that is left of a study; forget it where the block ends well."""
    try:
        yield
    except Exception as error:
        keep_evaluation(plan, error)
        raise
    _clear(plan, [_evaluation(plan)])


def kept_failures(store: Store) -> list[Failure]:
    """Return what failed on a root and was not done since, the newest first."""
    found = []
    for data in store.read_all([f"{paths.FAILURES}/{name}" for name in store.files(paths.FAILURES)]):
        with suppress(ValidationError):  # being written, on a bucket; nothing but a status depends on it
            found += [] if data is None else [Failure.model_validate_json(data)]
    return sorted(found, key=lambda one: -one.at)


def _keep(plan: Plan, work: str, error: Exception, round_id: str = "") -> None:
    if isinstance(error, Stopped | TakenOver):
        return
    made = Failure(study=plan.study.name, work=work, line=in_one_line(error), at=time.time(), round=round_id)
    # The error itself is what must be told: where the storage fails, it fails here too.
    with suppress(Exception):
        assert plan.store is not None
        plan.store.write(paths.failure(round_id or _evaluation(plan)), made.model_dump_json().encode())


def _clear(plan: Plan, which: Iterable[str]) -> None:
    assert plan.store is not None
    if kept := set(plan.store.files(paths.FAILURES)):
        for path in map(paths.failure, which):
            if path.rpartition("/")[2] in kept:
                plan.store.remove(path)


def _evaluation(plan: Plan) -> str:
    return fingerprint((EVALUATION, plan.study.name))
