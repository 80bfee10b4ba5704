"""Evaluation files in the format published with TiC-LM, read value by value; what is left out is counted.

    …/1b_8x_cutoff201501/ppl_evals/*.jsonl              a line for each held-out set: loss, val_data, creation_time …
    …/1b_8x_cutoff201501/downstream_evals/*.json        {"creation_date": …, "eval_metrics": {"icl": {label: value}}}

A file that is cut off or no JSON is an error; a line, a label or a value that cannot be understood is counted.
"""

from __future__ import annotations

import codecs
import json
import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any

from ticlm.platform.census import Step
from ticlm.platform.errors import InputError
from ticlm.platform.periods import TIC_CC_MONTHS
from ticlm.platform.publishedvalues import STATIC, PublishedValue, Unusable, downstream, held_out

RUN = re.compile(r"(?:^|/)(\d+b)((?:_[^/]*)?)_cutoff_?(\d{6})(?=/)")
"""The folder of a run: size, budget and cutoff."""
STEPS = FILES, LINES, LABELS = ("files", "lines of ppl_evals", "labels of downstream_evals")


@dataclass(frozen=True)
class Published:
    """Values in the order of their places, each once; and files, lines and labels: read = kept + dropped by reason."""

    values: tuple[PublishedValue, ...]
    steps: tuple[Step, ...]


def read(paths: Sequence[str]) -> Published:
    """All evaluation files below local folders or URIs; of a value that stands there twice, the newer one.

    Raises InputError naming a path that has none, a file that is cut off, and two budgets of one size, whose runs would
    pass for one series.
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
    """The newest of several copies; none where two are equally new and differ."""
    newest = max(one.created for one in same)
    last = [one for one in same if one.created == newest]
    return last[:1] if len({one.value for one in last}) == 1 else []


def _files(path: str, read: Counter[str], dropped: defaultdict[str, Counter[str]]) -> Iterator[tuple[str, bytes]]:
    """Name and content of every evaluation file below a path, in the order of their names."""
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
    """Why a file is no evaluation of a run; empty where it is one."""
    path = PurePosixPath(name)
    if (path.parent.name, path.suffix) not in (("ppl_evals", ".jsonl"), ("downstream_evals", ".json")):
        return "not an evaluation file"
    if not RUN.search(name):
        return "not in the folder of a run, such as 1b_8x_cutoff201501"
    return "" if _run(name)[1] in TIC_CC_MONTHS else "a cutoff that is no month of TiC-CC"


def _run(name: str) -> tuple[str, str]:
    """Size and cutoff of the run whose folder a file lies in."""
    size, _, cutoff = RUN.findall(name)[-1]
    return size, cutoff


def _check_budget(name: str, known: dict[str, str]) -> None:
    """Keep the budget that a folder's name says for its size; InputError where another one was read before."""
    size, budget, _ = RUN.findall(name)[-1]
    if known.setdefault(size, budget) != budget:
        raise InputError(
            f"--import {name}: a run {size}{budget}, beside runs {size}{known[size]}; give the folders of one budget"
        )


class _Object(dict[str, Any]):
    """A JSON object that keeps what stands under one name twice."""

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
