"""Upkeep of a root: lists what no study uses."""

from __future__ import annotations

from collections.abc import Sequence

from ticlm.core import paths
from ticlm.core.errors import InputError
from ticlm.core.store import Store
from ticlm.platform.study.identity import weights_of
from ticlm.platform.study.needs import missing_periods, users
from ticlm.platform.study.plan import Plan
from ticlm.platform.study.stored_rounds import leftovers
from ticlm.platform.study.work import published_steps


def unused(store: Store, plans: Sequence[Plan]) -> list[tuple[str, int]]:
    """Return (path, bytes) of the rounds, models inside rounds, cells, predictions and leftovers that no plan uses.

    Raises InputError if a plan lacks data, or has open shares: then the ids of its rounds, and so what it uses, are not
    known.
    """
    for plan in plans:
        if missing := missing_periods(plan):
            raise InputError(
                f"what study {plan.study.name} uses is not known: corpus {plan.study.corpus} has no period {missing[0]}"
            )
        if plan.open_rounds:
            raise InputError(
                f"what study {plan.study.name} uses is not known: the shares of {len(plan.open_rounds)} of its rounds "
                "are open until losses are measured; when ticlm train has measured them, the same command cleans"
            )
    kept = {paths.round_folder(round_id) for round_id in users(plans)}
    records = [record for plan in plans for record in (*plan.records.values(), *plan.mid_round_records.values())]
    weights = [weights_of(record) for record in records]
    cells = {of(one) for one in weights for of in (paths.cells, paths.predictions)}
    wanted = {
        paths.mid_round_model(paths.round_folder(plan.ids[key]), step)
        for plan in plans
        for key, steps in published_steps(plan, plan.ids).items()
        for step in steps
    }
    rounds = [paths.round_at(name) for name in store.folders(paths.ROUNDS)]
    found = [path for path in rounds if path not in kept]
    found += [path for kind in (paths.CELLS, paths.PREDICTIONS) for path in _below(store, kind) if path not in cells]
    found += _below(store, paths.RAY)
    for path in rounds:
        if path in kept:
            left = leftovers(store, path)  # such as of a kill between the record and the tidying up
            published = _below(store, paths.mid_round_models(path))
            found += [*left, *(place for place in published if place not in wanted and place not in left)]
    return [(path, sum(store.size(f"{path}/{file}") for file in store.walk(path))) for path in found]


def _below(store: Store, folder: str) -> list[str]:
    return [f"{folder}/{name}" for name in store.folders(folder)]
