"""Models inside rounds that averages are made of: which ones a round publishes, and whether they are there."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from ticlm.core import paths
from ticlm.core.errors import InputError
from ticlm.core.integrity.records import read_records
from ticlm.platform.study.round import Round

if TYPE_CHECKING:
    from ticlm.platform.study.plan import Plan


def averaged_steps(rounds: Mapping[str, Round]) -> dict[str, set[int]]:
    """Return the steps before its end whose models are averaged, by the key of the round that has them."""
    found: dict[str, set[int]] = {}
    for spec in rounds.values():
        for part in spec.average:
            if part.step is not None:
                found.setdefault(part.round, set()).add(part.step)
    return found


def published_steps(plan: Plan, keys: Iterable[str]) -> dict[str, tuple[int, ...]]:
    """Return the steps after which each of these rounds publishes a model before its end, in order: those that
    `evaluate.inside` asks for, and those that are averaged."""
    averaged = averaged_steps(plan.tree.rounds)
    return {key: tuple(sorted({*plan.mid_round_steps(key), *averaged.get(key, ())})) for key in keys}


def check(plan: Plan) -> None:
    """Raise InputError if an average is left to make of models inside a round that was trained without them."""
    assert plan.store is not None
    left = {key: spec for key, spec in plan.tree.rounds.items() if spec.average and not plan.done(key)}
    wanted = [
        (key, step, paths.mid_round_model(paths.round_folder(plan.ids[key]), step))
        for key, steps in averaged_steps(left).items()
        if plan.done(key)
        for step in sorted(steps)
    ]
    records = read_records(plan.store, [folder for *_, folder in wanted])
    lacking = list(dict.fromkeys(key for (key, *_), record in zip(wanted, records) if record is None))
    if lacking:
        average = next(key for key, spec in left.items() if spec.parent == lacking[0])
        folder = plan.store.uri(paths.round_folder(plan.ids[lacking[0]]))
        count = "a round that was" if len(lacking) == 1 else f"{len(lacking)} rounds that were"
        raise InputError(
            f"methods.{plan.tree.users[average][0].method.name}.deploy averages models inside {count} trained without "
            f"publishing them, at period {plan.tree.rounds[lacking[0]].period} first: take another root, or remove "
            f"{folder} to train that round again"
        )
