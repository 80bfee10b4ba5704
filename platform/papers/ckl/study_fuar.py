"""The FUARs that studies ask for (`settings.py`), as the frames of a report."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ticlm.platform.analysis.probe_scores import ProbeScores, ScoreReader
from ticlm.platform.papers.ckl.fuar import Phase, Question, Ratio, Task, fuar, sets_of
from ticlm.platform.papers.ckl.resampling import Interval, interval
from ticlm.platform.papers.ckl.settings import FuarRequest
from ticlm.platform.results.study_result import MethodResult, StudyResult

if TYPE_CHECKING:
    import pandas as pd

COLUMNS = (
    *("study", "fuar", "method", "seeds", "first_models", "rate", "base", "base_round", "trained", "metric", "average"),
    *("value", "std", "low", "high", "no_gain", "interval", "numerator", "denominator", "n", "reason"),
)
SCORE_COLUMNS = ("study", "fuar", "method", "trained", "role", "score", "n", "before", "score_before", "score_after")
NO_GAIN, MISSING = "no gain", "missing: "


@dataclass(frozen=True)
class FuarTables:
    """The FUARs of the studies of a report."""

    rows: pd.DataFrame
    """COLUMNS, a row per study, FUAR, continual method and checkpoint.

    `value` is NaN if nothing was gained (`reason`: `no gain`) or a score is missing (`reason` says which). It is taken
    over the means of the seeds; `std` is the deviation of the values of single seeds. `low` to `high` is the interval
    of 95 %, made as `interval` says (resampling.py). If it reaches `no gain`, `high` is NaN; `no_gain` is the share of
    resamples without gain. `rate` is the highest learning rate after the base. `base_round` holds the ids of the rounds
    of the base checkpoint, one for each seed that has its own.
    """
    scores: pd.DataFrame
    """SCORE_COLUMNS, a row for each probe set that a row of `rows` reads: its score at the checkpoint `before`, and at
    the checkpoint `trained`. The role is `forgotten`, `updated` or `new`."""


def fuar_tables(wanted: Sequence[tuple[StudyResult, FuarRequest]]) -> FuarTables:
    """Return the FUARs that studies ask for, from pairs of a study and a FUAR of it."""
    import pandas as pd

    rows: list[dict[str, Any]] = []
    scores: list[dict[str, Any]] = []
    for study, asked in wanted:
        reader = ScoreReader(study, asked.metric)
        for method in study.methods:
            for question in () if method.is_oracle else questions(reader, asked, method.name, method.seeds):
                rows.append(_row(reader, asked, method, question))
                scores += _scores(reader, asked, method, question)
    return FuarTables(pd.DataFrame(rows, columns=list(COLUMNS)), pd.DataFrame(scores, columns=list(SCORE_COLUMNS)))


def questions(
    reader: ScoreReader, asked: FuarRequest, method: str, seeds: Sequence[int], per_probe: bool = True
) -> list[Question]:
    """Return what equation 1 is taken over, one question for each checkpoint that a FUAR is asked of."""
    labels = reader.labels(method, seeds[0])
    base = labels[0] if asked.base == "first" and labels else asked.base
    later = labels[labels.index(base) + 1 :] if base in labels else labels

    def task(names: Sequence[str], upto: Sequence[str] = (), only: str = "") -> Task:
        found = dict.fromkeys(one for name in names for one in reader.find(name, upto))
        wanted = [one for one in found if not only or one.period == only]
        return tuple(reader.scores(one, method, seeds, per_probe) for one in wanted)

    if asked.chain == "end":
        last = labels[-1] if labels else ""
        phases = (Phase(base, task(asked.invariant)), *(Phase(p.period, task(p.scores)) for p in asked.phases))
        return [Question(phases, last, task(asked.updated), task(asked.new), asked.average)]
    found = []
    for place, last in enumerate(later):
        seen = later[: place + 1]
        kept = Phase(base, task(asked.invariant, labels[: labels.index(last) + 1]))
        if asked.chain == "so-far":
            found.append(Question((kept,), last, task(asked.updated, seen), task(asked.new, seen), asked.average))
        else:
            learned = (*asked.updated, *asked.new)
            earlier = (Phase(label, task(learned, [label], only=label)) for label in seen[:-1])
            updated, new = (task(names, [last], only=last) for names in (asked.updated, asked.new))
            found.append(Question((kept, *earlier), last, updated, new, asked.average))
    return found


def last_fuar(study: StudyResult, asked: FuarRequest, method: str, seed: int) -> float:
    """Return the FUAR of one run at its last checkpoint; NaN if it has none, infinite if nothing was gained."""
    found = questions(ScoreReader(study, asked.metric), asked, method, (seed,), per_probe=False)
    return _ratio(found[-1]).value if found else math.nan


def _row(reader: ScoreReader, asked: FuarRequest, method: MethodResult, question: Question) -> dict[str, Any]:
    study, base = reader.study, question.phases[0].checkpoint
    found, around = _ratio(question), Interval()
    if not found.missing:
        around = interval(question)
    sets = sets_of([*(phase.forgotten for phase in question.defined), question.updated, question.new])
    ids = [] if study.setup is None else [study.setup.round_of(method.name, seed, base) for seed in method.seeds]
    return {
        "study": study.name,
        "fuar": asked.name,
        "method": method.name,
        "seeds": len(method.seeds),
        "first_models": method.first_models,
        "rate": reader.peak_rate(method.name, base),
        "base": base,
        "base_round": " ".join(dict.fromkeys(filter(None, ids))),
        "trained": question.last,
        "metric": asked.metric,
        "average": asked.average,
        "value": _known(found.value),
        "std": _deviation(reader, asked, method, question.last),
        "low": _known(around.low),
        "high": _known(around.high),
        "no_gain": around.no_gain,
        "interval": around.kind,
        "numerator": found.numerator,
        "denominator": found.denominator,
        "n": sum(scores.n for scores in sets),
        "reason": _reason(question, found),
    }


def _ratio(question: Question) -> Ratio:
    """Return the FUAR of a question, without a value if it asks of nothing that was gained."""
    if question.updated or question.new:
        return fuar(question)
    return Ratio(math.nan, math.nan, math.nan)


def _reason(question: Question, found: Ratio) -> str:
    if found.missing:
        return MISSING + ", ".join(found.missing)
    if not question.updated and not question.new:
        return f"no probes of what {question.last} updates or adds"
    return NO_GAIN if found.is_no_gain else ""


def _deviation(reader: ScoreReader, asked: FuarRequest, method: MethodResult, last: str) -> float:
    """Return the deviation of the FUARs of single seeds; NaN if there is one seed, or if a seed has no value."""
    if len(method.seeds) < 2:
        return math.nan
    values = []
    for seed in method.seeds:
        asked_of = questions(reader, asked, method.name, (seed,), per_probe=False)
        values += [_ratio(one).value for one in asked_of if one.last == last]
    return float(np.std(values, ddof=1)) if len(values) > 1 and np.isfinite(values).all() else math.nan


def _scores(
    reader: ScoreReader, asked: FuarRequest, method: MethodResult, question: Question
) -> Iterator[dict[str, Any]]:
    where = {"study": reader.study.name, "fuar": asked.name, "method": method.name, "trained": question.last}
    for phase in question.defined:
        for role, task in (("forgotten", phase.forgotten), ("updated", question.updated), ("new", question.new)):
            for one in task:
                values = {"score_before": _of(one, phase.checkpoint), "score_after": _of(one, question.last)}
                yield where | {"role": role, "score": one.name, "n": one.n, "before": phase.checkpoint} | values


def _of(scores: ProbeScores, checkpoint: str) -> float:
    return scores.values.get(checkpoint, math.nan)


def _known(value: float) -> float:
    return value if math.isfinite(value) else math.nan
