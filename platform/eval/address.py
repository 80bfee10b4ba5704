"""Addresses of models: `STUDY/METHOD@PERIOD#SEED` names a finished round of a study by what a reader knows of it.

Period and seed may be left out: the newest finished period, and the only seed. A method or a period with `*`, `?` or
`[…]` is a pattern (fnmatch), which names all rounds that fit.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase

from ticlm.core.errors import InputError
from ticlm.core.reading.near import hint

FORM = re.compile(r"(?P<study>.+)/(?P<method>[^/@#]+)(@(?P<period>[^/@#]+))?(#(?P<seed>[^/@#]+))?")
NAMED = 6
"""How many periods of a run are listed one by one."""


@dataclass(frozen=True)
class Address:
    """The parts of an address. `study` is a packaged name, a file or a URI."""

    study: str
    method: str
    period: str | None = None
    seed: int | None = None

    @property
    def is_pattern(self) -> bool:
        """Whether it may name several rounds."""
        return bool(re.search(r"[*?[]", self.method + (self.period or "")))


@dataclass(frozen=True)
class FinishedRun:
    """The finished rounds of a method under one seed: their keys by trained period, oldest first."""

    method: str
    seed: int
    rounds: Mapping[str, str]


def parse(text: str) -> Address | None:
    """Return the address that a text is, or None if it has no study and no method."""
    found = FORM.fullmatch(text)
    if found is None:
        return None
    seed = found["seed"]
    if seed is not None and not re.fullmatch(r"-?\d+", seed):
        raise InputError(f"{text}: a seed is a number, got {seed!r}; expected STUDY/METHOD@PERIOD#SEED")
    return Address(found["study"], found["method"], found["period"], None if seed is None else int(seed))


def choose(address: Address, runs: Sequence[FinishedRun], planned: Mapping[str, Sequence[str]]) -> str:
    """Return the key of the round that an address names.

    `runs` are those of the study, in its order; `planned` has the periods of each of its methods, done or not. Raises
    InputError, with all that is finished, if there is no such round, or if a seed has to be named.
    """
    name, study = address.method, address.study
    own = [run for run in runs if run.method == name and address.seed in (None, run.seed)]
    if name not in planned:
        raise InputError(f"{study} has no method {name}{hint(name, planned)}; {describe(study, runs)}")
    if not own:
        seeds = ", ".join(str(run.seed) for run in runs if run.method == name)
        raise InputError(f"{study}/{name} has no seed {address.seed}; its seeds: {seeds}")
    if len(own) > 1:
        raise InputError(f"{study}/{name} has seeds {', '.join(str(run.seed) for run in own)}: add #{own[0].seed}")
    rounds, period = own[0].rounds, address.period
    if period is None and rounds:
        return list(rounds.values())[-1]
    if period is not None and period in rounds:
        return rounds[period]
    if period is None or period in planned[name]:
        what = f"{study}/{name}" if period is None else f"{study}/{name}@{period}"
        raise InputError(f"{what} is not trained yet; {describe(study, runs)}")
    raise InputError(f"{study}/{name} has no checkpoint of {period}; {describe(study, runs)}")


def fitting(
    address: Address, runs: Sequence[FinishedRun], planned: Mapping[str, Sequence[str]]
) -> tuple[list[tuple[FinishedRun, str]], int]:
    """Return the (run, trained period) of each finished round that a pattern fits, and how many rounds that it fits are
    not trained yet. A pattern without a period fits the newest finished one of each run.

    Arguments are as for `choose`. Raises InputError, with the methods or periods that there are, if nothing fits, or if
    nothing that fits is trained.
    """
    study, found, waiting = address.study, list[tuple[FinishedRun, str]](), 0
    own = [run for run in runs if fnmatchcase(run.method, address.method)]
    if not own:
        there = f"its methods are {', '.join(planned)}"
        raise InputError(f"{study} has no method {address.method}{_meant(address.method, planned)}; {there}")
    if not (seeded := [run for run in own if address.seed in (None, run.seed)]):
        seeds = ", ".join(dict.fromkeys(str(run.seed) for run in own))
        raise InputError(f"{study}/{address.method} has no seed {address.seed}; its seeds: {seeds}")
    for run in seeded:
        if address.period is None:
            found += [(run, label) for label in list(run.rounds)[-1:]]
            waiting += not run.rounds
            continue
        fits = [label for label in planned[run.method] if fnmatchcase(label, address.period)]
        found += [(run, label) for label in fits if label in run.rounds]
        waiting += sum(label not in run.rounds for label in fits)
    if not found and not waiting:
        assert address.period is not None
        labels = list(dict.fromkeys(label for run in seeded for label in planned[run.method]))
        there = f"its periods are {_listed(labels)}"
        what = f"{study}/{address.method}"
        raise InputError(f"{what} has no checkpoint of {address.period}{_meant(address.period, labels)}; {there}")
    if not found:
        what = f"{study}/{address.method}" + (f"@{address.period}" if address.period else "")
        raise InputError(f"{what}: none of what fits is trained yet; {describe(study, runs)}")
    return found, waiting


def _meant(pattern: str, known: Sequence[str] | Mapping[str, object]) -> str:
    return hint(re.sub(r"[*?]", "", pattern), known)


def _listed(labels: Sequence[str]) -> str:
    return ", ".join(labels) if len(labels) <= NAMED else f"{labels[0]} … {labels[-1]}, {len(labels)} periods"


def describe(study: str, runs: Sequence[FinishedRun]) -> str:
    """Return a list of the finished rounds, by method and period, as part of a line."""
    many = {run.method for run in runs if [other.method for other in runs].count(run.method) > 1}
    shown = []
    for run in runs:
        if run.rounds:
            seed = f"#{run.seed}" if run.method in many else ""
            shown.append(f"{study}/{run.method}{seed} ({_listed(list(run.rounds))})")
    return f"finished are {'; '.join(shown)}" if shown else "nothing of this study is finished"
