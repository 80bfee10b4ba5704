"""Evaluations published with TiC-LM as runs: every Oracle of the series is one, with equal shares of all its months."""

from __future__ import annotations

import numpy as np

from ticlm.platform.analysis.matrix import period, views
from ticlm.platform.analysis.transfer import TransferRule
from ticlm.platform.forecast.features import RoundFacts, RunFacts
from ticlm.platform.forecast.finished import Finished
from ticlm.platform.forecast.law import TrainedRun
from ticlm.platform.results.study_result import StudyResult


def oracles(result: StudyResult) -> Finished:
    """Return the Oracles of a published study that have values of its first task that is a log-loss.

    An Oracle takes equal numbers of tokens from all months up to its cutoff, so its facts follow from that cutoff. Its
    rates are not published; they are the same for all of a size. Values are raw: the reference of regret would be one
    of the runs that are left out. All evaluated months count, as App. B.4 of TiC-LM divides them for one checkpoint.
    """
    view = next((view for view in views(result) if not (view.source or view.metric.higher_is_better)), None)
    if view is None:
        return Finished((result.name,), ())
    labels = result.timeline.labels
    costs = result.costs.drop_duplicates("trained").sort_values("tokens")
    tokens = dict(zip(costs["trained"], np.diff(costs["tokens"].to_numpy(), prepend=0).tolist()))
    evaluated = [period(result.timeline, label) for label in view.evaluated]
    runs = []
    for series in (one for one in view.methods if one.method.is_oracle):
        for cutoff, values in zip(series.labels, series.values[0]):
            if np.isnan(values).all():
                continue
            seen = labels[: labels.index(cutoff) + 1]
            made = RoundFacts(cutoff, dict.fromkeys(seen, 1 / len(seen)), int(tokens[cutoff]), 0.0, from_scratch=True)
            cells = TransferRule().cells([period(result.timeline, cutoff)], evaluated)
            facts = RunFacts(f"{series.method.name} {cutoff}", (made,))
            runs.append(TrainedRun(facts, (cutoff,), view.evaluated, values[None], cells))
    return Finished((result.name,), tuple(runs))
