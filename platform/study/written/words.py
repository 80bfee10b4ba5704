"""Words of a study's file that the file itself explains: names of methods, what methods share, `first` and `last`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import ValidationError

from ticlm.core.errors import TiclmError
from ticlm.core.periods import Calendar
from ticlm.core.reading import json_texts
from ticlm.core.reading.near import hint
from ticlm.core.settings import Settings, merged
from ticlm.methods.catalog import CATALOG
from ticlm.methods.method import Continual, OracleSeries

FIRST, LAST = "first", "last"
"""The first and the last period that a study sees, where it lists periods."""
OWN_KEYS = frozenset({"kind", "name", "base", "group"})
"""Keys that make a method the one it is, so that methods cannot share them."""


def whole_method(entry: Any) -> Any:
    """Return a method from `base: NAME` with changes, NAME being one of the catalogue, or from a whole method."""
    if not isinstance(entry, dict | Settings):
        raise ValueError(f"a method is a name of the catalogue, or a mapping of what it is made of, got {entry!r}")
    if isinstance(entry, Settings) or "base" not in entry:
        return entry
    name = entry["base"]
    if not isinstance(name, str) or name not in CATALOG:
        meant = hint(name, CATALOG) if isinstance(name, str) else ""
        raise ValueError(f"no method {name!r} in the catalogue{meant}; it has {', '.join(CATALOG)}")
    changes = {key: value for key, value in entry.items() if key != "base"}
    if not changes:
        return CATALOG[name]
    return merged(CATALOG[name].model_dump(), changes)


def written_out(data: Any) -> Any:
    """Return the data of a study with what `each_method` says in each method, a seed for each first model, and labels
    in place of `first` and `last`. Raises ValueError if `each_method` is no mapping, or has a key that no method
    shares."""
    if not isinstance(data, Mapping) or not isinstance(data.get("methods"), list | tuple):
        return data
    shared, seeds = _shared(data.get("each_method", {})), _seeds_of_first_models(data.get("initial"))
    methods = [_with_seeds(_with_shared(entry, shared), seeds) for entry in data["methods"]]
    return _with_labels({**data, "methods": methods})


def _seeds_of_first_models(initial: Any) -> tuple[int, ...]:
    """Return the seeds of methods that say none: one for each of several first models, else none."""
    seed = initial.get("seed") if isinstance(initial, Mapping) else getattr(initial, "seed", None)
    return tuple(range(len(seed))) if isinstance(seed, list | tuple) else ()


def _with_seeds(entry: Any, seeds: tuple[int, ...]) -> Any:
    """Return a method with these seeds, if there are any and it says none itself."""
    named = {"base": entry} if isinstance(entry, str) else entry
    return {"seeds": seeds, **named} if seeds and isinstance(named, dict) else entry


def _shared(written: Any) -> Mapping[str, Any]:
    """Return the settings that all methods share, which may be written as the JSON text that a Study holds."""
    allowed = [key for key in Continual.model_fields if key not in OWN_KEYS]
    try:
        shared = json_texts.read(written) if isinstance(written, str) else written
    except ValueError:
        shared = None
    if not isinstance(shared, Mapping):
        raise ValueError(f"each_method: must be a mapping of {', '.join(allowed)}, got {str(written)[:200]!r}")
    if unknown := next((key for key in shared if key not in allowed), None):
        raise ValueError(f"each_method.{unknown}: methods share {', '.join(allowed)} and nothing else")
    return shared


def _with_shared(entry: Any, shared: Mapping[str, Any]) -> Any:
    """Return a method with the settings that all methods share, as far as it does not say them itself."""
    if not shared:
        return entry
    named = {"base": entry} if isinstance(entry, str) else entry
    if not isinstance(named, dict) or _is_series(named):
        return entry
    return merged(shared, named)


def _is_series(entry: Mapping[str, Any]) -> bool:
    known = CATALOG.get(entry["base"]) if isinstance(entry.get("base"), str) else None
    return entry.get("kind") == "oracle" or (known is not None and known.is_series)


def _with_labels(data: dict[str, Any]) -> dict[str, Any]:
    """Return the data with labels in place of `first` and `last`, as far as it says them in Oracles or `evaluate`."""
    evaluate = data.get("evaluate")
    lists = [_cutoffs(entry) for entry in data["methods"]]
    chosen = [evaluate.get(key) for key in ("checkpoints", "periods")] if isinstance(evaluate, dict) else []
    if not any(_has_words(one) for one in (*lists, *chosen)) or not (ends := _ends(data)):
        return data
    methods = [
        _with_cutoffs(entry, _labelled(cutoffs, ends)) if _has_words(cutoffs) else entry
        for entry, cutoffs in zip(data["methods"], lists)
    ]
    if isinstance(evaluate, dict):
        listed = {key: _labelled(one, ends) for key, one in evaluate.items() if _has_words(one)}
        return {**data, "methods": methods, "evaluate": {**evaluate, **listed}}
    return {**data, "methods": methods}


def _cutoffs(entry: Any) -> Any:
    return entry.get("cutoffs") if isinstance(entry, dict) else getattr(entry, "cutoffs", None)


def _with_cutoffs(entry: Any, cutoffs: tuple[str, ...]) -> Any:
    if isinstance(entry, OracleSeries):
        return entry.model_copy(update={"cutoffs": cutoffs})
    return {**entry, "cutoffs": cutoffs}


def _has_words(chosen: Any) -> bool:
    return isinstance(chosen, list | tuple) and any(one in (FIRST, LAST) for one in chosen)


def _labelled(chosen: Sequence[Any], ends: Mapping[str, str]) -> tuple[Any, ...]:
    """Return a list of periods with labels for `first` and `last`. A word whose label is there already adds none: a
    study that has only one period so far is no mistake."""
    there = {str(one) for one in chosen if one not in ends}
    found: list[Any] = []
    for one in chosen:
        label = ends.get(one) if isinstance(one, str) else None
        if label is None:
            found.append(one)
        elif label not in there:
            there.add(label)
            found.append(label)
    return tuple(found)


def _ends(data: Mapping[str, Any]) -> dict[str, str]:
    """Return the first and the last period that the study sees; nothing if its calendar is wrong, which is told where
    the calendar itself is read."""
    try:
        calendar = Calendar.model_validate(data.get("periods"))
        labels = calendar.timeline().labels[: data.get("first_periods")]
        return {FIRST: labels[0], LAST: labels[-1]}
    except (ValidationError, TiclmError, ValueError, TypeError, IndexError):
        return {}
