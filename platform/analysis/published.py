"""Reading evaluation files in the format published with TiC-LM; values that are left out are counted.

    …/1b_8x_cutoff201501/ppl_evals/*.jsonl              a line for each held-out set: loss, val_data, creation_time …
    …/1b_8x_cutoff201501/downstream_evals/*.json        {"creation_date": …, "eval_metrics": {"icl": {label: value}}}

A file that is truncated or no JSON is an error; a line, a label or a value that cannot be understood is counted.
"""

from __future__ import annotations

import codecs
import json
import math
import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any

from ticlm.platform.core.accounting import Step
from ticlm.platform.core.errors import InputError
from ticlm.platform.core.periods import TIC_CC_MONTHS, span

RUN = re.compile(r"(?:^|/)(\d+b)((?:_[^/]*)?)_cutoff_?(\d{6})(?=/)")
"""Matches the folder of a run; groups: size, budget and cutoff."""
STEPS = FILES, LINES, LABELS = ("files", "lines of ppl_evals", "labels of downstream_evals")


@dataclass(frozen=True)
class Published:
    """The values, each once and ordered by `place`; and the counts of files, lines and labels (read = kept + dropped by
    reason)."""

    values: tuple[PublishedValue, ...]
    steps: tuple[Step, ...]


def read(paths: Sequence[str]) -> Published:
    """Read all evaluation files below local folders or URIs. If a value stands there twice, the newer one counts.

    Raises InputError, naming the path, if a folder has no such file, if a file is truncated, or if there are two
    budgets of one size, whose runs would look like one series.
    """
    read, dropped = Counter[str](), defaultdict[str, Counter[str]](Counter)
    budgets: dict[str, str] = {}
    found: dict[tuple[str, ...], list[PublishedValue]] = defaultdict(list)
    for path in paths:
        for name, data in _files(path, read, dropped):
            _check_budget(name, budgets)
            kind = LINES if name.endswith(".jsonl") else LABELS
            for one in _lines(name, data) if name.endswith(".jsonl") else _labels(name, data):
                read[kind] += 1
                if isinstance(one, Unusable):
                    dropped[kind][str(one)] += 1
                else:
                    found[kind, *one.place].append(one)
    values = []
    for (kind, *_), same in found.items():
        kept = _newest(same)
        values += kept
        if len(same) > len(kept):
            dropped[kind]["an older copy" if kept else "copies that contradict each other"] += len(same) - len(kept)
    steps = [Step(name=name, read=read[name], dropped=dict(sorted(dropped[name].items()))) for name in STEPS]
    return Published(tuple(sorted(values, key=lambda one: one.place)), tuple(steps))


def _newest(same: Sequence[PublishedValue]) -> list[PublishedValue]:
    """Return the newest of several copies; nothing if two are equally new and differ."""
    newest = max(one.created for one in same)
    last = [one for one in same if one.created == newest]
    return last[:1] if len({one.value for one in last}) == 1 else []


def _files(path: str, read: Counter[str], dropped: defaultdict[str, Counter[str]]) -> Iterator[tuple[str, bytes]]:
    """Yield the name and content of every evaluation file below a path, in the order of the names."""
    import fsspec

    try:
        files, root = fsspec.url_to_fs(path)
        names: list[str] = sorted(files.find(root))
    except (OSError, ValueError, ImportError) as error:
        raise InputError(f"--import {path}: cannot be read: {error}") from None
    some = False
    for name in names:
        read[FILES] += 1
        if reason := _not_ours(name):
            dropped[FILES][reason] += 1
            continue
        some = True
        try:
            yield name, files.cat_file(name)
        except OSError as error:
            raise InputError(f"--import {name}: cannot be read: {error}") from None
    if not some:
        raise InputError(
            f"--import {path}: no published evaluation there; expected folders such as 1b_8x_cutoff201501 with "
            "ppl_evals/*.jsonl and downstream_evals/*.json"
        )


def _not_ours(name: str) -> str:
    """Return why a file is no evaluation of a run; empty if it is one."""
    path = PurePosixPath(name)
    if (path.parent.name, path.suffix) not in (("ppl_evals", ".jsonl"), ("downstream_evals", ".json")):
        return "not an evaluation file"
    if not RUN.search(name):
        return "not in the folder of a run, such as 1b_8x_cutoff201501"
    return "" if _run(name)[1] in TIC_CC_MONTHS else "a cutoff that is no month of TiC-CC"


def _run(name: str) -> tuple[str, str]:
    """Return the size and cutoff of the run in whose folder a file lies."""
    size, _, cutoff = RUN.findall(name)[-1]
    return size, cutoff


def _check_budget(name: str, known: dict[str, str]) -> None:
    """Note the budget in a folder's name for its size. Raises InputError if an earlier folder has another one."""
    size, budget, _ = RUN.findall(name)[-1]
    if known.setdefault(size, budget) != budget:
        raise InputError(
            f"--import {name}: a run {size}{budget}, beside runs {size}{known[size]}; give the folders of one budget"
        )


class _Object(dict[str, Any]):
    """A JSON object that keeps all its pairs, also those that share a name."""

    def __init__(self, pairs: list[tuple[str, Any]]) -> None:
        super().__init__(pairs)
        self.pairs = pairs


def _lines(name: str, data: bytes) -> Iterator[PublishedValue | Unusable]:
    for line in data.removeprefix(codecs.BOM_UTF8).split(b"\n"):
        if line.strip():
            try:
                yield held_out(*_run(name), json.loads(line))
            except Unusable as reason:
                yield reason
            except ValueError:
                yield Unusable("not JSON")


def _labels(name: str, data: bytes) -> Iterator[PublishedValue | Unusable]:
    try:
        whole = json.loads(data.decode("utf-8-sig"), object_pairs_hook=_Object)
        labels, created = whole["eval_metrics"]["icl"], str(whole.get("creation_date", ""))
        pairs = labels.pairs
    except ValueError as error:
        raise InputError(f"--import {name}: cut off, or no JSON: {error}") from None
    except (KeyError, TypeError, AttributeError):
        raise InputError(f"--import {name}: expected eval_metrics.icl with a value for each label") from None
    static = PurePosixPath(name).stem == STATIC
    for label, value in pairs:
        try:
            yield downstream(*_run(name), label, value, created, static)
        except Unusable as reason:
            yield reason


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
