"""A trained study whose checkpoints were asked for dated changes, made up: each prefers what it has read."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping

import numpy as np
import pandas as pd
from report_kinds import MONTHS, made_up

from ticlm.core.periods import Calendar
from ticlm.platform.analysis.age.changes import month_number, month_text
from ticlm.platform.results.dated_changes import COLUMNS
from ticlm.platform.results.kept_answers import prediction_frame
from ticlm.platform.results.study_result import StudyResult
from ticlm.platform.tasks.base import Prediction

TASK = "facts@1"


def dated_study(
    leaks: Mapping[tuple[str, str], str] | None = None,
    facts: int = 60,
    calendar: Calendar = MONTHS,
    name: str = "dated",
    seed: int = 0,
) -> StudyResult:
    """A study of a year with two methods and an Oracle series. Each fact changes about once in ten months of 2022 to
    2024. `leaks`: (method, trained period) -> the month, YYYY-MM, up to which that checkpoint has read in truth."""
    found = made_up(name, calendar, cutoffs=(0, 5, 11))
    rng = np.random.default_rng(seed)
    asked, month = [], []
    for fact in range(facts):
        at = month_number("202206") + int(rng.integers(0, 9))
        for turn in range(9):
            if at < month_number("202501"):
                about = (TASK, f"{fact}-{turn}", f"F{fact}", month_text(at), "mayor", f"town {fact}", "The mayor is")
                asked.append((*about, f"n{turn}", f"n{turn + 1}"))
                month.append(at)
            at += 4 + int(rng.integers(0, 13))
    answers, is_famous = [], rng.random(len(asked)) < 0.1
    for row in found.costs.to_dict("records"):
        method, trained = str(row["method"]), str(row["trained"])
        read = month_number((leaks or {}).get((method, trained), f"{trained[:4]}-{trained[4:6]}"))
        own = np.random.default_rng((seed, int(trained[:6]), len(method)))
        noise, is_read = own.random(len(asked)), np.array(month) <= read
        prefers = np.where(is_read, noise < 0.85, (noise < 0.02) | is_famous)
        numbers = ({"logp": 1.0 * new, "logp-outdated": 0.5, "prior": 0.0, "prior-outdated": 0.0} for new in prefers)
        kept = [Prediction(one[1], "", 0.0, 0.0, numbers=of) for one, of in zip(asked, numbers)]
        answers.append(({"method": method, "seed": 1, "trained": trained, "task": TASK, "label": "changes"}, kept))
    return dataclasses.replace(
        found, dated_changes=pd.DataFrame(asked, columns=list(COLUMNS)), predictions=prediction_frame(answers)
    )
