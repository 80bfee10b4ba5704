"""Reading evaluation files in the format published with TiC-LM; values that are left out are counted.

    oracles_1b_220b/oracle_1b_8x_cutoff201501/ppl_evals/*.jsonl      a line for each held-out set: loss, val_data, …
    oracles_3b_220b/3b_oracle_cutoff_201501/downstream_evals/*.json  {"eval_metrics": {"icl": {label: value}}, …}

Of the folders above these two, only the name of the run counts: `oracle_1b_8x_cutoff201501`, `3b_oracle_cutoff_201501`
or `1b_8x_cutoff201501`. A file that is truncated or no JSON is an error; a line, a label or a value that cannot be
understood is counted, and a warning says so where that is half of them or more.
"""

from __future__ import annotations

import codecs
import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import Any

from ticlm.core.accounting import Step
from ticlm.core.errors import InputError
from ticlm.core.periods import TIC_CC_MONTHS
from ticlm.core.reading import json_texts
from ticlm.platform.results.published_labels import STATIC, PublishedValue, Unusable, downstream, held_out

RUN = re.compile(r"(?:^|/)(?:oracle_)?(\d+b)(?:_oracle)?((?:_[^/]*)?)_cutoff_?(\d{6})(?=/)")
"""Matches the folder of a run; groups: size, budget and cutoff."""
STEPS = FILES, LINES, LABELS = ("files", "lines of ppl_evals", "labels of downstream_evals")
NAMES = "oracle_1b_8x_cutoff201501 or 3b_oracle_cutoff_201501"


@dataclass(frozen=True)
class Published:
    """The values, each once and ordered by `place`; and the counts of files, lines and labels (read = kept + dropped by
    reason)."""

    values: tuple[PublishedValue, ...]
    steps: tuple[Step, ...]
    warnings: tuple[str, ...] = ()
    """A line for each given folder of which half of the files, lines or labels, or more, was not understood."""


@dataclass
class Counts:
    """What was read of each step below one given path, and what was dropped by reason, with the first example."""

    path: str
    read: Counter[str] = field(default_factory=Counter)
    dropped: defaultdict[str, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))
    first: dict[str, str] = field(default_factory=dict)
    """Step -> the first file or label that was dropped, and why."""

    def drop(self, step: str, reason: str, example: str) -> None:
        """Count one file, line or label of a step as not understood."""
        self.dropped[step][reason] += 1
        self.first.setdefault(step, f"{example}: {reason}")

    def warnings(self) -> Iterator[str]:
        """Yield a line for each step of which half or more was not understood."""
        for step in STEPS:
            lost = self.dropped[step].total()
            if lost and 2 * lost >= self.read[step]:
                yield (
                    f"--import {self.path}: {lost:,} of {self.read[step]:,} {step} were not understood, "
                    f"for example {self.first[step]}"
                )


def read(paths: Sequence[str]) -> Published:
    """Read all evaluation files below local folders or URIs. If a value stands there twice, the newer one counts.

    Raises InputError, naming the path, if a folder has no such file, if a file is truncated, or if there are two
    budgets of one size, whose runs would look like one series.
    """
    every = [Counts(path) for path in paths]
    budgets: dict[str, str] = {}
    found: dict[tuple[str, ...], list[PublishedValue]] = defaultdict(list)
    for counts in every:
        for name, data in _files(counts):
            _check_budget(name, budgets)
            kind, parts = (LINES, _lines(name, data)) if name.endswith(".jsonl") else (LABELS, _labels(name, data))
            for example, one in parts:
                counts.read[kind] += 1
                if isinstance(one, Unusable):
                    counts.drop(kind, str(one), example)
                else:
                    found[kind, *one.place].append(one)
    warnings = tuple(line for counts in every for line in counts.warnings())
    copies: defaultdict[str, Counter[str]] = defaultdict(Counter)
    values = []
    for (kind, *_), same in found.items():
        kept = _newest(same)
        values += kept
        if len(same) > len(kept):
            copies[kind]["an older copy" if kept else "copies that contradict each other"] += len(same) - len(kept)
    steps = []
    for name in STEPS:
        dropped = sum((counts.dropped[name] for counts in every), copies[name])
        steps.append(Step(name=name, read=sum(c.read[name] for c in every), dropped=dict(sorted(dropped.items()))))
    return Published(tuple(sorted(values, key=lambda one: one.place)), tuple(steps), warnings)


def _newest(same: Sequence[PublishedValue]) -> list[PublishedValue]:
    """Return the newest of several copies; nothing if two are equally new and differ."""
    newest = max(one.created for one in same)
    last = [one for one in same if one.created == newest]
    return last[:1] if len({one.value for one in last}) == 1 else []


def _files(counts: Counts) -> Iterator[tuple[str, bytes]]:
    """Yield the name and content of every evaluation file below a path, in the order of the names."""
    import fsspec

    path = counts.path
    try:
        files, root = fsspec.url_to_fs(path)
        names: list[str] = sorted(files.find(root))
    except (OSError, ValueError, ImportError) as error:
        raise InputError(f"--import {path}: cannot be read: {error}") from None
    for name in names:
        counts.read[FILES] += 1
        if reason := _not_ours(name):
            counts.drop(FILES, reason, name)
            continue
        try:
            yield name, files.cat_file(name)
        except OSError as error:
            raise InputError(f"--import {name}: cannot be read: {error}") from None
    if counts.read[FILES] == counts.dropped[FILES].total():
        example = f"; there is {counts.first[FILES]}" if names else ""
        raise InputError(
            f"--import {path}: no published evaluation there; expected folders such as {NAMES} with "
            f"ppl_evals/*.jsonl and downstream_evals/*.json{example}"
        )


def _not_ours(name: str) -> str:
    """Return why a file is no evaluation of a run; empty if it is one."""
    path = PurePosixPath(name)
    if (path.parent.name, path.suffix) not in (("ppl_evals", ".jsonl"), ("downstream_evals", ".json")):
        return "not an evaluation file"
    if not RUN.search(name):
        return f"not in the folder of a run, such as {NAMES}"
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


def _lines(name: str, data: bytes) -> Iterator[tuple[str, PublishedValue | Unusable]]:
    """Yield the place of each line of a file with its value, or with the reason why it has none."""
    for number, line in enumerate(data.removeprefix(codecs.BOM_UTF8).split(b"\n"), 1):
        if line.strip():
            place = f"line {number} of {name}"
            try:
                yield place, held_out(*_run(name), json_texts.read(line))
            except Unusable as reason:
                yield place, reason
            except ValueError:
                yield place, Unusable("not JSON")


def _labels(name: str, data: bytes) -> Iterator[tuple[str, PublishedValue | Unusable]]:
    """Yield each label of a file with its value, or with the reason why it has none."""
    try:
        whole = json_texts.read(data.decode("utf-8-sig"), _Object)
        labels, created = whole["eval_metrics"]["icl"], str(whole.get("creation_date", ""))
        pairs = labels.pairs
    except ValueError as error:
        raise InputError(f"--import {name}: cut off, or no JSON: {error}") from None
    except (KeyError, TypeError, AttributeError):
        raise InputError(f"--import {name}: expected eval_metrics.icl with a value for each label") from None
    static = PurePosixPath(name).stem == STATIC
    for label, value in pairs:
        try:
            yield f"{label} of {name}", downstream(*_run(name), label, value, created, static)
        except Unusable as reason:
            yield f"{label} of {name}", reason
