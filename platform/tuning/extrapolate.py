"""Forecasts of trials' scores on all periods of a study, from the periods that tuning sees.

A law (`platform/forecast/law.py`) is fitted to the cells of the trials on the first periods. The rounds of later
periods are known from settings alone, as every plan is: their rates, and the shares of their tokens. A trial's forecast
is its own means on the first periods, plus the change that the law expects from these means to the means over all
periods. Nothing of a later period is read. How hard later periods are is not known, and the same for all trials: so
forecasts can be compared with each other, and not with later measurements.
"""

from __future__ import annotations

from ticlm.core.errors import InputError
from ticlm.core.extras import require
from ticlm.methods.method import Continual
from ticlm.platform.analysis import conventions
from ticlm.platform.analysis.matrix import period
from ticlm.platform.analysis.transfer import means
from ticlm.platform.forecast import features
from ticlm.platform.forecast.finished import LEAST, finished
from ticlm.platform.forecast.law import Law, TrainedRun
from ticlm.platform.results import of_plan as collect
from ticlm.platform.study import plan, tree
from ticlm.platform.study.settings import Study
from ticlm.platform.tuning.search import Tuning
from ticlm.platform.tuning.selection import PeriodScores

OPTION = "--choose-by predicted"


def check(wanted: Tuning) -> None:
    """Raise InputError if a search cannot choose by forecasts, before anything is trained."""
    if wanted.search.choose_by != "predicted":
        return
    require(OPTION, "stats", "scipy")
    if wanted.trials < LEAST:
        raise InputError(
            f"{OPTION}: a prediction needs {LEAST} trials or more, and this search has {wanted.trials}: "
            "give more values, or leave the option out"
        )
    if wanted.search.reference != "raw":
        raise InputError(f"{OPTION}: predictions are losses, so --reference must be raw, got {wanted.search.reference}")
    facts = _facts(wanted.whole([wanted.base]))[wanted.base.name]
    if facts.beyond:
        raise InputError(
            f"{OPTION}: the law of prediction does not know {', '.join(facts.beyond)} of {wanted.base.name}: "
            "leave the option out"
        )


def forecasts(wanted: Tuning, methods: list[Continual], seen: plan.Plan) -> dict[str, PeriodScores]:
    """Return the forecast of the scores on all periods, by trial, for trials that are trained and scored on all periods
    that tuning sees. Raises InputError if there are too few."""
    if len(methods) < LEAST:
        raise InputError(
            f"{OPTION}: a prediction needs {LEAST} trials that end, and {len(methods)} did; without the option, the "
            "same search chooses by their scores and trains none of them again"
        )
    found = finished(seen, collect.study_result(seen), once=False).require(OPTION)
    law, whole = found.law(), wanted.whole(methods)
    facts = _facts(whole)
    scores: dict[str, PeriodScores] = {}
    for run in found.runs:
        name = run.facts.method
        own, before = found.observed(run), _means(law, run, run.facts)
        after = _means(law, _on_all_periods(whole, run), facts[name])
        scores[name] = PeriodScores(*(o + a - b for o, a, b in zip(own, after, before)))
    return scores


def _facts(study: Study) -> dict[str, features.RunFacts]:
    """Return the facts of a study's methods from its settings alone."""
    try:
        return features.by_method(tree.rounds(study))
    except InputError as error:
        raise InputError(f"{OPTION}: later rounds must be known without the rows of their periods: {error}") from None


def _means(law: Law, run: TrainedRun, facts: features.RunFacts) -> tuple[float, float, float]:
    found = means(law.values(facts, run.checkpoints, run.evaluated), run.cells)
    return found.backward, found.in_distribution, found.forward


def _on_all_periods(study: Study, run: TrainedRun) -> TrainedRun:
    """Return a run as if it had the checkpoints and cells of all periods of the study."""
    labels = study.timeline.labels
    chosen = study.evaluate.checkpoints, study.evaluate.periods
    trained, evaluated = (labels if one == "all" else tuple(la for la in labels if la in one) for one in chosen)
    axes = [[period(study.timeline, label) for label in axis] for axis in (trained, evaluated)]
    cells = conventions.named().default.cells(*axes)
    return TrainedRun(run.facts, trained, evaluated, run.values, cells)
