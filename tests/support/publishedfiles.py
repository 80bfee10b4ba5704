"""Evaluation files in the format published with TiC-LM, made from a formula, in folders named as in the release."""

import json
import math
import random
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import calendars


def labels(text: str) -> list[str]:
    return text.split()


TWELVE, CUTOFFS = list(calendars.CHECKPOINTS), list(calendars.CUTOFFS)
DUMPS = labels(
    "20140801 20150112 20150805 20160204 20160801 20170101 20170701 20180101 "
    "20180901 20190120 20200101 20200920 20201220 20210701 20220101 20220501 20240401"
)
NUMPY, PYTORCH = labels(calendars.NUMPY), labels(calendars.PYTORCH)
SITES = {"stackoverflow": 22, "math": 23, "english": 14, "electronics": 21, "worldbuilding": 15, "apple": 9}
SITES |= {"gaming": 9, "codereview": 7}
TEXTS = {"monthly": "tic-cc", "cc_v4_rw_v2_wikipedia": "tic-cc-wiki", "cc_v4_rw_v2_news": "tic-cc-news"}
ACCURACY, GOLD = "InContextLearningMultipleChoiceAccuracy", "InContextLearningGoldPerplexityMetric"
Span = tuple[str, str]
Losses = dict[str, dict[str, dict[Span, float]]]
"""task -> cutoff -> (first, last month) -> log-perplexity"""


# the formula, and files of it


def loss(task: str, cutoff: str, span: Span) -> float:
    """A log-perplexity: the task's own level, more the farther the month lies after the cutoff, and some ripple."""
    apart = (months(span[1]) - months(cutoff)) / 12
    ripple = 0.01 * math.sin(7 * months(cutoff) + 3 * months(span[0]) + len(task))
    return 1.2 + 0.05 * len(task) + 0.03 * max(apart, 0) + 0.004 * max(-apart, 0) + ripple


def months(label: str) -> int:
    return 12 * int(label[:4]) + int(label[4:6])


def frames(site: str) -> list[Span]:
    """Consecutive windows of half a year, as many as the site has."""
    starts = [f"{2012 + i // 2}{'01' if i % 2 == 0 else '07'}" for i in range(SITES[site])]
    return [(start, f"{start[:4]}{int(start[4:]) + 5:02d}") for start in starts]


def spans() -> dict[str, list[Span]]:
    """Evaluated spans of every task."""
    found = {task: [(m, m) for m in ("201305", *TWELVE)] for task in TEXTS.values()}
    found |= {f"tic-wiki-{kind}": [(new[:6], new[:6]) for new in DUMPS[1:]] for kind in ("diff", "unchanged")}
    found |= {f"stackexchange-{site}": frames(site) for site in SITES}
    return found | {"codedocs-numpy": [(m, m) for m in NUMPY], "codedocs-pytorch": [(m, m) for m in PYTORCH]}


def losses() -> Losses:
    return {task: {c: {s: loss(task, c, s) for s in of} for c in CUTOFFS} for task, of in spans().items()}


def lines(cutoff: str) -> list[dict[str, Any]]:
    """One line for each held-out set, in no order, months in `val_data` alone."""
    found = [
        {
            "loss": loss(task, cutoff, (month, month)),
            "tokens": 16_777_216,
            "loss_tokens_lower_95": 1.0,
            "val_data": [f"s3://bucket/data/{text}/{month}/global_shard_10_of_10/00000001.tar"],
            "creation_time": "2024_11_05-10_00_00",
        }
        for text, task in TEXTS.items()
        for month in ("201305", *TWELVE)
    ]
    random.Random(cutoff).shuffle(found)
    return found


def downstream(cutoff: str, core: str) -> dict[str, dict[str, float]]:
    """Labels and values of each file: perplexities, and accuracies beside StackOverflow's."""
    wiki = {
        f"wiki_{kind}_{new}_{old}": math.exp(loss(f"tic-wiki-{kind}", cutoff, (new[:6], new[:6])))
        for kind in ("diff", "unchanged")
        for old, new in pairwise(DUMPS)
    }
    docs = {f"numpy_{m}": math.exp(loss("codedocs-numpy", cutoff, (m, m))) for m in NUMPY}
    docs |= {f"pytorch_{m}": math.exp(loss("codedocs-pytorch", cutoff, (m, m))) for m in PYTORCH}
    sites: dict[str, float] = {}
    for site in SITES:
        for span in frames(site):
            label = f"{site}_{span[0]}01_{span[1]}30"
            value = math.exp(loss(f"stackexchange-{site}", cutoff, span))
            if site == "stackoverflow":
                sites |= {f"{label}_{GOLD}": value, f"{label}_{ACCURACY}": 0.7}
            else:
                sites[f"{label}_ppl"] = value
    found = {"stackexchange": sites, "tic_wiki": wiki, "codedocs": docs}
    return found | ({"core": {f"task_{i}": 0.25 + i / 100 for i in range(22)}} if cutoff == core else {})


def run(root: Path, cutoff: str, size: str = "1b") -> Path:
    """The folder of a run, as it was released: each size names it in its own way."""
    name = f"oracle_{size}_8x_cutoff{cutoff}" if size == "1b" else f"{size}_oracle_cutoff_{cutoff}"
    return root / f"oracles_{size}_220b" / name


def write(root: Path, size: str = "1b", cutoffs: Sequence[str] = CUTOFFS, core: str = "202407") -> Path:
    """Files of runs with these cutoffs; the run `core` has accuracies of CORE too."""
    for cutoff in cutoffs:
        folder = run(root, cutoff, size)
        for part in ("ppl_evals", "downstream_evals"):
            (folder / part).mkdir(parents=True)
        text = "".join(json.dumps(line) + "\n" for line in lines(cutoff))
        (folder / "ppl_evals/aggregated_ppl_evals.jsonl").write_text(text)
        for name, values in downstream(cutoff, core).items():
            whole = {"name": name, "model": "m", "creation_date": "2024_11_06-10_00_00"}
            data = whole | {"eval_metrics": {"icl": values}}
            (folder / f"downstream_evals/{name}.json").write_text(json.dumps(data))
    return root
