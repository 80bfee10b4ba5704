"""Rounds as they lie in a root: finished models, attempts, mid-round checkpoints, models published inside a round."""

from __future__ import annotations

from collections.abc import Iterator

from ticlm.core import paths
from ticlm.core.integrity.files import check_once
from ticlm.core.integrity.records import Record, read_record
from ticlm.core.store import Store


def published(store: Store, round_id: str, step: int | None = None) -> str:
    """Return the path of a finished round's model folder, once its files are found to be those of the record; with a
    `step`, that of the model which it published after that step, before its end.

    Raises FileNotFoundError if there is no record, and InputError if a file is damaged.
    """
    folder = paths.round_folder(round_id)
    if step is not None:
        folder = paths.mid_round_model(folder, step)
    record = read_record(store, folder)
    if record is None:
        raise FileNotFoundError(f"round {round_id[:12]} has no {'record' if step is None else f'model of step {step}'}")
    model = paths.model(folder, record.attempt)
    check_model(store.uri(model))
    return model


def check_model(folder: str) -> None:
    """Compare the files of a published model folder (path or URI) with its record, once per process. A folder that no
    record names is not checked. Raises InputError for a file that differs."""
    place, *names = folder.rsplit("/", 3)
    if len(names) != 3 or names[2] != paths.MODEL:
        return
    store, (work, attempt, _) = Store(place), names
    record = read_record(store, work)
    if record is None or record.attempt != attempt:
        return
    files = [
        file.model_copy(update={"path": f"{paths.attempt(work, attempt)}/{file.path}"})
        for file in record.files
        if file.path.startswith(f"{paths.MODEL}/")
    ]
    whole = place.removesuffix(f"/{paths.INSIDE}") if place.endswith(f"/{paths.INSIDE}") else f"{place}/{work}"
    check_once(store, files, "model file", f"remove {whole} to train this round again")


def attempts(store: Store, folder: str) -> list[str]:
    """Return the names of all attempts at the round in `folder`, finished or not, sorted."""
    return [name for name in store.folders(folder) if name != paths.INSIDE]


def mid_round_checkpoints(store: Store, folder: str) -> list[tuple[int, str]]:
    """Return (step, path) of the mid-round checkpoints of all attempts at a round, newest first, whole or not."""
    places = [paths.mid_round_checkpoints(paths.attempt(folder, name)) for name in attempts(store, folder)]
    return sorted(((int(step), f"{place}/{step}") for place in places for step in store.folders(place)), reverse=True)


def mid_round_models(store: Store, folder: str) -> dict[int, Record]:
    """Return the records of the models published inside the round in `folder`, by step, in order."""
    found = ((step, read_record(store, path)) for step, path in _mid_round_folders(store, folder))
    return {step: record for step, record in found if record is not None}


def leftovers(store: Store, folder: str) -> list[str]:
    """Return the paths below a finished round's folder that no record names: attempts that were interrupted, mid-round
    checkpoints, and models inside the round that were not published to the end. Empty if the round is not finished."""
    record = read_record(store, folder)
    if record is None:
        return []
    found = [paths.attempt(folder, name) for name in attempts(store, folder) if name != record.attempt]
    steps = paths.mid_round_checkpoints(paths.attempt(folder, record.attempt))
    if store.folders(steps):
        found.append(steps)
    for _, path in _mid_round_folders(store, folder):
        kept = read_record(store, path)
        found += [f"{path}/{n}" for n in store.folders(path) if kept is None or n != kept.attempt]
    return found


def _mid_round_folders(store: Store, folder: str) -> Iterator[tuple[int, str]]:
    for name in store.folders(paths.mid_round_models(folder)):
        yield int(name), paths.mid_round_model(folder, int(name))
