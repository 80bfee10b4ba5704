"""What runs on a root, how far each study is, and what failed: read from the root alone, without Ray."""

from __future__ import annotations

import calendar
import time
from collections.abc import Sequence
from dataclasses import dataclass

from ticlm.core import paths
from ticlm.core.errors import InputError
from ticlm.core.lease import RootWriter, writer
from ticlm.core.reading import own_faults
from ticlm.core.store import Store
from ticlm.platform.analysis import conventions
from ticlm.platform.report.live_page import PAGE, HowFar, how_far
from ticlm.platform.report.request import ReportRequest
from ticlm.platform.results.begun import begun_studies
from ticlm.platform.results.setup import identity_of
from ticlm.platform.run.failures import EVALUATION, Failure, kept_failures
from ticlm.platform.study import plan as plans
from ticlm.platform.study.plan import Plan
from ticlm.platform.study.settings import Study, load

ROOMS = (paths.CORPORA, paths.EXAMPLES, paths.ROUNDS, paths.CELLS, paths.BEGUN)


@dataclass(frozen=True)
class StudyStatus:
    """How far a study is on a root."""

    name: str
    named: str
    """The study as it was typed."""
    began: float
    """When its newest run began, in seconds since 1970; 0 if that is not known."""
    problem: str = ""
    """Why no more is known of it: one line."""
    far: HowFar | None = None
    tokens_left: int = 0
    """Tokens of the rounds that are left."""
    tokens_per_s: float | None = None
    """Of the run that goes on, all chains together; of a single round where none of its rounds is done yet, or nothing
    runs; None before any round is done."""
    page: str = ""
    """Where its page is; empty if there is none."""
    failures: tuple[Failure, ...] = ()

    @property
    def seconds_left(self) -> float | None:
        """How long the rounds that are left will take; None if nothing tells it."""
        return self.tokens_left / self.tokens_per_s if self.tokens_per_s else None


@dataclass(frozen=True)
class RootStatus:
    """A root and its studies. `writer`: who writes to it, or did so last; None if nobody ever did."""

    root: str
    writer: RootWriter | None
    studies: tuple[StudyStatus, ...]


def root_status(root: str, named: Sequence[str] = ()) -> RootStatus:
    """Return the status of a root: of these studies, else of all that were run on it. Nothing is written.

    Raises InputError if there is no root, or if a study that is named is none.
    """
    store = Store(root)
    held, failures = writer(store), kept_failures(store)
    if held is None and not any(store.folders(room) or store.files(room) for room in ROOMS):
        if not store.exists():
            raise InputError(f"root {root}: there is nothing")
        if store.folders() or store.files():
            raise InputError(f"{root} is no root: it holds none of {', '.join(ROOMS)}")
    asked = [(name, load(name, root=store)) for name in named]
    begun = begun_studies(store)
    found = []
    for name, study in asked:
        since = next((one.began for one in begun if one.name == study.name), 0.0)
        found.append(_status(store, study, StudyStatus(study.name, name, since), held, failures))
    for one in () if named else begun:
        known = StudyStatus(one.name, one.named, one.began)
        try:
            found.append(_status(store, one.study(), known, held, failures))
        except InputError as error:  # such as a class of the user's own that is not here
            found.append(StudyStatus(one.name, one.named, one.began, problem=str(error)))
    return RootStatus(root, held, tuple(found))


def is_running(held: RootWriter | None, study: str) -> bool:
    """Return whether the writer of a root lives and works for a study."""
    return held is not None and held.state == "lives" and study in held.holder.purpose.split()[1:]


def _status(
    store: Store, study: Study, known: StudyStatus, held: RootWriter | None, failures: Sequence[Failure]
) -> StudyStatus:
    with own_faults.faults_as(InputError):
        made = plans.make(study, store)
    far = how_far(made)
    folder = ReportRequest().place([study.name], [identity_of(made.study)], conventions.named())
    has_page = store.exists(f"{folder}/{PAGE}")
    ids = {made.ids[key] for key in made.ids if not made.done(key)}
    left = sum(spec.tokens for key, spec in made.tree.rounds.items() if not made.done(key))
    return StudyStatus(
        known.name,
        known.named,
        known.began,
        far=far,
        tokens_left=left,
        tokens_per_s=_rate(made, known.began if is_running(held, study.name) else None),
        page=f"{store.uri(folder)}/{PAGE}" if has_page else "",
        failures=tuple(
            one
            for one in failures
            if one.study == study.name and (one.round in ids or (one.work == EVALUATION and far.cells_done < far.cells))
        ),
    )


def _rate(made: Plan, began: float | None) -> float | None:
    """Return the tokens per second of the rounds that were finished since then, all together; else of a round."""
    done = {key: _seconds(record.created) for key, record in made.records.items()}
    since = {key: at for key, at in done.items() if began is not None and at > began}
    if began is not None and since:
        return sum(made.tree.rounds[key].tokens for key in since) / max(1.0, max(since.values()) - began)
    return made.tokens_per_s


def _seconds(created: str) -> float:
    return calendar.timegm(time.strptime(created, "%Y-%m-%dT%H:%M:%SZ"))
