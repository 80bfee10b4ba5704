"""Publishing an average of finished rounds: no step is trained, and no worker group is needed."""

from __future__ import annotations

from typing import Any

from ticlm.core import paths
from ticlm.core.integrity.records import Attempt, read_record
from ticlm.platform.models import averaging
from ticlm.platform.study.round import Round
from ticlm.platform.study.stored_rounds import published
from ticlm.platform.study.work import ChainWork
from ticlm.platform.train.maker import this_machine
from ticlm.platform.train.publish import target, tidy


def publish_average(work: ChainWork) -> None:
    """Publish the average that is the only round of `work`, unless it has a record: its model, then the record.

    Raises InputError if a checkpoint that it averages is damaged, and TakenOver if another writer holds the root now.
    """
    (spec,), (round_id,) = work.rounds, work.ids
    store, folder = work.store, paths.round_folder(round_id)
    if read_record(store, folder) is not None:
        return
    attempt = Attempt(store, folder)
    parts = [(published(store, work.needed[part.round], part.step), part.weight) for part in spec.average]
    with target(store, paths.model(attempt.folder, attempt.name)) as place:
        averaging.average(store, parts, place)
    newest = read_record(store, paths.round_folder(work.needed[spec.average[-1].round]))
    assert newest is not None and work.parent is not None
    attempt.publish(
        {
            "kind": "average",
            "parent": work.parent,
            **_parts_told(spec, work),
            "period": spec.period,
            "steps": 0,
            "tokens": 0,
            "parameters": newest.about["parameters"],
            "trained_parameters": 0,
            "loss": None,
            "measured": {"tokens": 0, "seconds": 0.0},
            "label": work.label,
            "made_by": {**this_machine(), "device": "cpu"},
        }
    )
    tidy(store, folder)


def _parts_told(spec: Round, work: ChainWork) -> dict[str, Any]:
    """Return the weights of what is averaged as a record tells them: by round, and inside a round by step."""
    if all(part.step is None for part in spec.average):
        return {"average": {work.needed[part.round]: part.weight for part in spec.average}}
    (made_from,) = {work.needed[part.round] for part in spec.average}
    steps = {"end" if part.step is None else str(part.step): part.weight for part in spec.average}
    return {"average": {made_from: 1.0}, "steps_averaged": steps}
