"""The Oracle series published with TiC-LM as studies of their own, to compare other studies with."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from itertools import accumulate, groupby
from typing import TYPE_CHECKING

from ticlm.core.accounting import Step
from ticlm.core.errors import InputError
from ticlm.core.periods import TIC_CC_MONTHS, Calendar, span
from ticlm.platform.results.published_files import Published
from ticlm.platform.results.published_labels import STATIC, PublishedValue
from ticlm.platform.results.study_result import (
    COLUMNS,
    RATE_COLUMNS,
    STATIC_COLUMNS,
    MethodResult,
    StudyResult,
    TaskMetric,
)

if TYPE_CHECKING:
    import pandas as pd

CUTOFFS = ("201305", "201501", "201701", "201901", "202101", "202301", "202407")
LAST = CUTOFFS[-1]
CHECKPOINTS = (*(min(months) for _, months in groupby(TIC_CC_MONTHS[2:], lambda month: month[:4])), LAST)
"""The checkpoints TiC-LM evaluates: of each year from 2014 on the first month with a crawl, and the last month."""
PARAMETERS = {"1b": 1_439_893_504, "3b": 2_796_096_000}
"""Parameters with all embeddings and gains. For 1b the published count leaves out the gains of the q/k norm."""
INITIAL_TOKENS = CONTINUAL_TOKENS = 111_837_286_400
"""Nominal tokens of the first round, and of all continual rounds, of the runs by which the Oracles of both model sizes
are sized."""
CORE_TASKS = 22
ORACLE, SEED = "oracle", 0
NO_LAST = f"the Oracle {LAST}"
ACCURACY = TaskMetric("accuracy", higher_is_better=True)
ORDER = ("tic-cc", "tic-cc-wiki", "tic-cc-news", "tic-wiki-diff", "tic-wiki-unchanged", "stackexchange", "codedocs")


def studies(published: Published) -> tuple[StudyResult, ...]:
    """Return a study `published-1b` (and so on) for each size, with one Oracle series and the twelve checkpoints of
    TiC-LM.

    Regret is relative to the last Oracle of the same size; if that was not published, values stay raw (see
    `borrowed_reference.relative_to`). An Oracle of the series that has no values is missing, and no older one takes its
    place. Raises InputError if none of the values that were read can be used.
    """
    if not published.values:
        lost = "; ".join(_left_out(published.steps)) or "no label and no line in its files"
        raise InputError(f"--import: no published value can be used: {lost}")
    found = [
        _study(size, [value for value in published.values if value.size == size])
        for size in sorted({value.size for value in published.values})
    ]
    return _with_counts(found[0], published), *found[1:]


def _with_counts(study: StudyResult, published: Published) -> StudyResult:
    """Return the study with a line about what was read, and lines about what was left out: warnings first, then one for
    each reason."""
    kept = "; ".join(f"{step.name}: {step.kept:,} of {step.read:,}" for step in published.steps)
    external_inputs = (*study.external_inputs, f"imported: {kept}")
    missing = (*published.warnings, *_left_out(published.steps), *study.missing)
    return dataclasses.replace(study, external_inputs=external_inputs, missing=missing)


def _left_out(steps: Sequence[Step]) -> list[str]:
    return [
        f"{step.name}: {count:,} of {step.read:,} left out, {reason}"
        for step in steps
        for reason, count in step.dropped.items()
    ]


def _study(size: str, values: Sequence[PublishedValue]) -> StudyResult:
    import pandas as pd

    name, missing = f"published-{size}", []
    parameters = PARAMETERS.get(size, int(size[:-1]) * 10**9)
    cutoffs = sorted({*CUTOFFS, *(one.cutoff for one in values)})
    dated = sorted((one for one in values if one.task != STATIC), key=_order)
    has_last = any(one.cutoff == LAST for one in dated)
    if dated and not has_last:
        newest = max(one.cutoff for one in dated)
        missing.append(
            f"{NO_LAST} of {size} is not there: values are raw; --reference {newest} takes the newest that is"
        )
    static, without_mean = _static(values)
    own = {
        task: tuple(sorted({one.evaluated for one in dated if one.task == task}, key=span))
        for task in dict.fromkeys(one.task for one in dated)
    }
    months = own.get("tic-cc", CHECKPOINTS)
    return StudyResult(
        name=name,
        parameters=parameters,
        timeline=Calendar(only="tic-cc").timeline(),
        methods=(MethodResult(ORACLE, "reference", (SEED,), is_oracle=True),),
        checkpoints=CHECKPOINTS,
        evaluated=months,
        cells=pd.DataFrame([_cell(name, one) for one in dated], columns=list(COLUMNS)),
        costs=_costs(cutoffs, parameters),
        rates=pd.DataFrame(columns=list(RATE_COLUMNS)),
        reference=(ORACLE, SEED, LAST) if has_last else None,
        target_tokens=INITIAL_TOKENS + CONTINUAL_TOKENS,
        external_inputs=(f"{name}: values as published with TiC-LM",),
        missing=(*missing, *without_mean),
        metrics={one.task: ACCURACY for one in dated if one.metric == ACCURACY.name},
        evaluated_by_task={task: periods for task, periods in own.items() if periods != months},
        static=static,
    )


def _order(one: PublishedValue) -> tuple[int, str]:
    """Return a sort key: tasks in the order of the paper's tables, TiC-CC first; sites and libraries by name."""
    family = one.task if one.task in ORDER else one.task.partition("-")[0]
    return ORDER.index(family), one.task


def _cell(study: str, one: PublishedValue) -> dict[str, object]:
    where = {"study": study, "method": ORACLE, "seed": SEED, "trained": one.cutoff, "evaluated": one.evaluated}
    what = {"task": one.task, "source": "", "metric": one.metric, "value": one.value, "n": one.n, "stderr": None}
    return where | what | {"key": "/".join(one.place)}


def _costs(cutoffs: Sequence[str], parameters: int) -> pd.DataFrame:
    """Return the costs of an Oracle series: each model takes as many tokens as a continual run has taken by its cutoff
    (TiC-LM, section 3), and the costs of a series add up."""
    import pandas as pd

    last = len(TIC_CC_MONTHS) - 1
    each = [INITIAL_TOKENS + CONTINUAL_TOKENS * TIC_CC_MONTHS.index(cutoff) // last for cutoff in cutoffs]
    tokens = list(accumulate(each))
    spent = {"tokens": tokens, "flops": [6.0 * parameters * count for count in tokens]}
    spent |= {f"executed_{what}": counts for what, counts in spent.items()}
    return pd.DataFrame({"method": ORACLE, "seed": SEED, "trained": list(cutoffs), **spent})


def _static(values: Sequence[PublishedValue]) -> tuple[pd.DataFrame, list[str]]:
    """Return the accuracies of CORE with their plain mean, as the paper takes it, and lines about missing tasks."""
    import pandas as pd

    parts: dict[str, list[PublishedValue]] = {}
    for one in values:
        if one.task == STATIC:
            parts.setdefault(one.cutoff, []).append(one)
    rows, missing = [], []
    for cutoff, scores in parts.items():
        rows += [(ORACLE, SEED, cutoff, "core@1", one.source, "accuracy", one.value, one.n, None) for one in scores]
        if len(scores) == CORE_TASKS:
            mean = sum(one.value for one in scores) / CORE_TASKS
            rows.append((ORACLE, SEED, cutoff, "core@1", "", "core", mean, CORE_TASKS, None))
        else:
            missing.append(f"CORE of the Oracle {cutoff}: {len(scores)} tasks, not {CORE_TASKS}, so no mean")
    return pd.DataFrame(rows, columns=list(STATIC_COLUMNS)), missing
