"""What the lines and labels of published evaluation files mean: a task, a period, a metric and a value."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import Any

from ticlm.core.periods import span

HELD_OUT = re.compile(r"/(monthly|cc_v4_rw_v2_wikipedia|cc_v4_rw_v2_news)/(\d{6})/global_shard_10_of_10/")
TEXTS = {"monthly": "tic-cc", "cc_v4_rw_v2_wikipedia": "tic-cc-wiki", "cc_v4_rw_v2_news": "tic-cc-news"}
METRIC = r"(?:_(?P<metric>[A-Z]\w*))?"
WIKI = re.compile(rf"wiki_(?P<kind>diff|unchanged)_(?P<end>\d{{8}})_(?P<before>\d{{8}}){METRIC}")
DOCS = re.compile(rf"(?P<kind>numpy|pytorch)_(?P<end>\d{{6}}){METRIC}")
SITE = re.compile(rf"(?P<kind>[\w.-]+?)_(?P<start>\d{{6}}|\d{{8}})[-_](?P<end>\d{{6}}|\d{{8}})(?:_ppl)?{METRIC}")
PERPLEXITIES = ("LanguageNounPerplexity", "PerplexityIgnoringPad", "InContextLearningGoldPerplexityMetric")
ACCURACY = "InContextLearningMultipleChoiceAccuracy"
BY_ACCURACY = "-accuracy"
"""Suffix of the name of a task that holds the accuracies of a task of perplexities."""
STATIC = "core"
"""Task of the accuracies in `core.json`, which have no period."""


class Unusable(ValueError):
    """The reason why a line or a label is left out."""


@dataclass(frozen=True)
class PublishedValue:
    """One number of one model: a log-perplexity (`nll`) or an `accuracy`."""

    size: str
    cutoff: str
    task: str
    evaluated: str
    """`201501`, or `201412-201506` for an evaluation of several months; empty for a static task."""
    source: str
    """The part of a static task; empty for other tasks."""
    metric: str
    value: float
    n: int
    created: str
    """Time of its creation as the file gives it; later times sort later."""

    @property
    def place(self) -> tuple[str, ...]:
        """What is measured, without the value."""
        return self.size, self.cutoff, self.task, self.evaluated, self.source, self.metric


def held_out(size: str, cutoff: str, line: Any) -> PublishedValue:
    """Return the value in a line about a held-out set of TiC-CC. Raises Unusable if there is none."""
    paths = line.get("val_data") if isinstance(line, dict) else None
    if not isinstance(paths, list) or len(paths) != 1 or not (found := HELD_OUT.search(str(paths[0]))):
        raise Unusable("its val_data is not one held-out set of TiC-CC")
    value, n = _number(line.get("loss"), 0.0, math.inf), line.get("tokens")
    count = n if isinstance(n, int) and 0 <= n < 2**63 else 0
    created = str(line.get("creation_time", ""))
    return PublishedValue(size, cutoff, TEXTS[found[1]], _month(found[2]), "", "nll", value, count, created)


def downstream(size: str, cutoff: str, label: str, value: Any, created: str, static: bool) -> PublishedValue:
    """Return the value of a label of a downstream evaluation; `static`: the label names a part of CORE. Raises Unusable
    if it cannot be understood."""
    task, evaluated, metric = (STATIC, "", "accuracy") if static else _meaning(label)
    number = _number(value, 0.0, 1.0) if metric == "accuracy" else math.log(_number(value, 1.0, math.inf))
    return PublishedValue(size, cutoff, task, evaluated, label * static, metric, number, 0, created)


def _meaning(label: str) -> tuple[str, str, str]:
    """Return the task, the evaluated period and the metric that a label names."""
    for family, pattern in (("tic-wiki", WIKI), ("codedocs", DOCS), ("stackexchange", SITE)):
        if found := pattern.fullmatch(label):
            of = found.groupdict()
            if of["metric"] not in (None, ACCURACY, *PERPLEXITIES):
                raise Unusable("an unknown metric")
            is_accuracy = of["metric"] == ACCURACY
            first, last = _month(of.get("start") or of["end"]), _month(of["end"])
            if last < first or of["end"] <= of.get("before", ""):
                raise Unusable("dates out of order")
            evaluated = first if first == last else f"{first}-{last}"
            if is_accuracy:  # a task has one metric
                return f"{family}-{of['kind']}{BY_ACCURACY}", evaluated, "accuracy"
            return f"{family}-{of['kind']}", evaluated, "nll"
    raise Unusable("an unknown label")


def _month(text: str) -> str:
    """Return the month YYYYMM of a date YYYYMM or YYYYMMDD, because evaluations are identified by month."""
    try:
        span(text)
    except ValueError:
        raise Unusable("a date that does not exist") from None
    return text[:6]


def _number(value: Any, low: float, high: float) -> float:
    """Return a finite number in [low, high]. Raises Unusable for anything else."""
    try:
        number = math.nan if isinstance(value, bool) or not isinstance(value, int | float) else float(value)
    except OverflowError:  # an integer of hundreds of digits
        number = math.nan
    if not math.isfinite(number):
        raise Unusable("no number")
    if not low <= number <= high:
        raise Unusable(f"a number outside {low:g} … {high:g}")
    return number
