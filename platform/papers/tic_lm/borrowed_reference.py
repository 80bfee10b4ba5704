"""The reference model of regret, where a report chooses it; and names of tasks, so that studies share columns."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, TypeVar

from ticlm.core.errors import InputError
from ticlm.platform.results.of_published import LAST, NO_LAST, ORACLE, SEED
from ticlm.platform.results.study_result import StudyResult, TaskMetric

if TYPE_CHECKING:
    import pandas as pd

T = TypeVar("T")


def renamed(
    results: Sequence[StudyResult], names: Sequence[str], others: Sequence[StudyResult] = ()
) -> tuple[StudyResult, ...]:
    """Return the studies with tasks renamed by `TASK=NAME` or `TASK:SOURCE=NAME`, so that they share a column with the
    tasks of that name in these studies and in `others`.

    Raises InputError if no study has such a task, if two tasks of one study would have one name, or if the column has
    another metric.
    """
    for name in names:
        old, _, new = name.partition("=")
        task, _, source = old.partition(":")
        have = [(study.cells["task"] == task) & (study.cells["source"] == source) for study in results]
        if not new or not any(mine.any() for mine in have):
            pairs = sorted({pair for study in results for pair in zip(study.cells["task"], study.cells["source"])})
            known = ", ".join(f"{task}:{source}" if source else task for task, source in pairs)
            raise InputError(f"--as {name}: expected TASK=NAME or TASK:SOURCE=NAME, with one of {known or 'no task'}")
        _check_metric(
            name, [study.metric(task) for study, mine in zip(results, have) if mine.any()], new, results, others
        )
        results = [
            _renamed(study, mine, task, source, new) if mine.any() else study for study, mine in zip(results, have)
        ]
    return tuple(results)


def relative_to(study: StudyResult, cutoff: str) -> StudyResult:
    """Return the study with its Oracle of this cutoff as the reference; `raw`: with none. A line in `external_inputs`
    says so.

    A study without Oracles is returned as it is. Raises InputError, with the cutoffs that there are, if no Oracle of
    this cutoff was scored.
    """
    oracles = [method for method in study.methods if method.is_oracle]
    if not oracles:
        return study
    if cutoff == "raw":
        return _noting(study, None, "values are raw (--reference raw)")
    cells = study.cells[study.cells["value"].notna()]
    for oracle in oracles:
        mine = cells[(cells["method"] == oracle.name) & (cells["trained"] == cutoff)]
        if len(mine):
            reference = (oracle.name, int(min(mine["seed"])), cutoff)
            usual = study.reference[2] if study.reference else LAST if study.name.startswith("published-") else ""
            instead = f", not to {usual}" if usual not in ("", cutoff) else ""
            return _noting(study, reference, f"regret is relative to the Oracle {cutoff} (--reference){instead}")
    scored = cells[cells["method"].isin([oracle.name for oracle in oracles])]
    known = sorted(set(scored["trained"]), key=study.timeline.index)
    raise InputError(
        f"--reference {cutoff}: {study.name} has no Oracle of this cutoff; give raw or one of {', '.join(known) or '–'}"
    )


def _noting(study: StudyResult, reference: tuple[str, int, str] | None, text: str) -> StudyResult:
    return dataclasses.replace(
        study,
        reference=reference,
        is_raw=reference is None,
        missing=tuple(line for line in study.missing if not line.startswith(NO_LAST)),
        external_inputs=(*study.external_inputs, f"{study.name}: {text}"),
    )


def with_published_reference(study: StudyResult, oracles: Sequence[StudyResult]) -> StudyResult:
    """Return the study with the reference of the published Oracles of its size as its own, if it has none and does not
    ask for raw values.

    Only tasks that both have, with one metric and with periods in common, become relative. Tasks that were scored on
    other texts, or tokenized with another tokenizer, should not share a name. A line in `external_inputs` says which
    reference was taken, or why none was.
    """
    import pandas as pd

    if study.reference is not None or study.is_raw or not oracles:
        return study
    sized = [one for one in oracles if one.parameters == study.parameters]
    if not sized:
        sizes = ", ".join(f"{one.parameters:,}" for one in oracles)
        return _saying(study, f"its {study.parameters:,} parameters are those of no published Oracle ({sizes})")
    theirs = sized[0]
    if theirs.reference is None:
        why = "is shown raw" if theirs.is_raw else f"has no Oracle {LAST}"
        return _saying(study, f"{theirs.name} {why}")
    cutoff = theirs.reference[2]
    shared = _shared(study, theirs, cutoff)
    if not shared:
        return _saying(study, f"it shares no task with {theirs.name} that has the same metric and any period in common")
    name = f"{ORACLE} of {theirs.name}"
    borrowed = theirs.cells[(theirs.cells["trained"] == cutoff) & theirs.cells["task"].isin(shared)]
    text = f"regret is relative to the {name} ({cutoff}), which saw what its own timeline holds, in {', '.join(shared)}"
    return dataclasses.replace(
        study,
        cells=pd.concat([study.cells, borrowed.assign(method=name)], ignore_index=True),
        reference=(name, SEED, cutoff),
        external_inputs=(*study.external_inputs, f"{study.name}: {text}"),
    )


def _shared(study: StudyResult, theirs: StudyResult, cutoff: str) -> list[str]:
    """Return the tasks on which the published Oracle of this cutoff and the study were both scored, by one metric, in
    at least one common period."""
    of: list[dict[str, set[str]]] = []
    for cells in (study.cells, theirs.cells[theirs.cells["trained"] == cutoff]):
        whole = cells[cells["source"] == ""]
        whole = whole[[not math.isnan(value) for value in whole["value"]]]
        of.append({str(task): set(labels) for task, labels in whole.groupby("task", sort=False)["evaluated"]})
    mine, known = of
    return [task for task in mine if mine[task] & known.get(task, set()) and study.metric(task) == theirs.metric(task)]


def _saying(study: StudyResult, why: str) -> StudyResult:
    line = f"{study.name}: values are raw, not relative to a published Oracle: {why}"
    return dataclasses.replace(study, external_inputs=(*study.external_inputs, line))


def _check_metric(
    name: str, own: Sequence[TaskMetric], new: str, results: Sequence[StudyResult], others: Sequence[StudyResult]
) -> None:
    there = [study.metric(new) for study in (*results, *others) if (study.cells["task"] == new).any()]
    if len(found := dict.fromkeys([*own, *there])) > 1:
        metrics = " and ".join(metric.name for metric in found)
        raise InputError(f"--as {name}: {metrics} cannot share a column")


def _renamed(study: StudyResult, mine: pd.Series, task: str, source: str, new: str) -> StudyResult:
    if (study.cells["task"] == new).any():
        raise InputError(f"--as {task}={new}: study {study.name} has a task {new} already")
    cells = study.cells.assign(
        task=study.cells["task"].where(~mine, new), source=study.cells["source"].where(~mine, "")
    )
    return dataclasses.replace(
        study,
        cells=cells,
        metrics={**study.metrics, new: study.metric(task)},
        evaluated_by_task=_copied(study.evaluated_by_task, task, new),
        predictions=study.predictions if source else _with_task(study.predictions, task, new),
        asked=study.asked if source else _copied(study.asked, task, new),
        prompts=study.prompts if source else _copied(study.prompts, task, new),
        questions=study.questions if source else _with_task(study.questions, task, new),
        facts=study.facts if source else _with_task(study.facts, task, new),
        tables=study.tables if source else tuple(one.with_task(task, new) for one in study.tables),
        splits=study.splits if source else _copied(study.splits, task, new),  # a split is of all sources
    )


def _with_task(frame: pd.DataFrame | None, task: str, new: str) -> pd.DataFrame | None:
    """Return a frame with a task under its new name."""
    return None if frame is None else frame.assign(task=frame["task"].where(frame["task"] != task, new))


def _copied(held: Mapping[str, T], task: str, new: str) -> dict[str, T]:
    return {**held, **({new: held[task]} if task in held else {})}
