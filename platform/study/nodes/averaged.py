"""Models inside rounds that averages are made of: which ones a round publishes, and whether they are there."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from ticlm.core import paths
from ticlm.core.errors import InputError
from ticlm.core.integrity.records import read_records
from ticlm.core.store import Store
from ticlm.platform.study.round import Round
from ticlm.platform.study.tree import Tree


def averaged_steps(rounds: Mapping[str, Round]) -> dict[str, set[int]]:
    """Return the steps before its end whose models are averaged, by the key of the round that has them."""
    found: dict[str, set[int]] = {}
    for spec in rounds.values():
        for part in spec.average:
            if part.step is not None:
                found.setdefault(part.round, set()).add(part.step)
    return found


def check(tree: Tree, ids: Mapping[str, str], done: Collection[str], store: Store) -> None:
    """Raise InputError if an average is left to make of models inside a round that was trained without them.

    `ids` are the rounds' ids, by key; `done` are the keys of the rounds that have a record.
    """
    left = {key: spec for key, spec in tree.rounds.items() if spec.average and key not in done}
    wanted = [
        (key, paths.mid_round_model(paths.round_folder(ids[key]), step))
        for key, steps in averaged_steps(left).items()
        if key in done
        for step in sorted(steps)
    ]
    records = read_records(store, [folder for _, folder in wanted])
    lacking = list(dict.fromkeys(key for (key, _), record in zip(wanted, records) if record is None))
    if lacking:
        average = next(key for key, spec in left.items() if spec.parent == lacking[0])
        count = "a round that was" if len(lacking) == 1 else f"{len(lacking)} rounds that were"
        raise InputError(
            f"methods.{tree.users[average][0].method.name}.deploy averages models inside {count} trained without "
            f"publishing them, at period {tree.rounds[lacking[0]].period} first: take another root, or remove "
            f"{store.uri(paths.round_folder(ids[lacking[0]]))} to train that round again"
        )
