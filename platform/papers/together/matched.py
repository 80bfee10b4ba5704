"""How a model does where two benchmarks ask for the same fact.

Two examples ask for the same fact if subject and relation are the same: the ids where both have them, else the labels.
Their objects may differ, as they change with time.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np

from ticlm.platform.analysis.agreement import agreement
from ticlm.platform.analysis.answers import LOSS, TOKENS, numbers
from ticlm.platform.analysis.metrics import is_loss
from ticlm.platform.analysis.probe_scores import PER_PROBE
from ticlm.platform.results.study_result import MethodResult, StudyResult, TaskMetric
from ticlm.platform.tasks.base import whole_task

if TYPE_CHECKING:
    import pandas as pd

COLUMNS = (
    *("study", "method", "trained", "task_a", "label_a", "metric_a", "task_b", "label_b", "metric_b"),
    *("facts", "score_a", "score_b", "both", "agreement", "low", "high", "kind", "seeds"),
)
KEYS = (("subject_id", "relation_id"), ("subject_id", "relation"), ("subject", "relation_id"), ("subject", "relation"))
"""By what facts are matched: an id where both sides have one, else a label."""


@dataclass(frozen=True)
class FactReader:
    """The facts and predictions of one study."""

    study: StudyResult

    @cached_property
    def asked(self) -> dict[tuple[str, str], pd.DataFrame]:
        """The facts by task, and by label for tasks whose labels are no periods (empty for the others)."""
        frame = self.study.facts
        if frame is None or not len(frame):
            return {}
        dated = set(self.study.cells["task"].map(whole_task))
        names = frame["label"].where(~frame["task"].isin(dated), "")
        return {(str(a), str(b)): held for (a, b), held in frame.groupby([frame["task"], names], sort=False)}

    @cached_property
    def predictions(self) -> dict[tuple[str, str, str, str], pd.DataFrame]:
        """The predictions at the ends of rounds, by task, label, method and trained period."""
        frame = self.study.predictions
        if frame is None or not len(frame) or not self.asked:
            return {}
        whole = {task: whole_task(str(task)) for task in frame["task"].unique()}
        tasks = {task for task, _ in self.asked}
        mine = frame[frame["step"].isna() & frame["task"].isin([one for one in whole if whole[one] in tasks])]
        groups = mine.assign(task=mine["task"].map(whole)).groupby(["task", "label", "method", "trained"], sort=False)
        return {(str(a), str(b), str(c), str(d)): held for (a, b, c, d), held in groups}

    def links(self, a: tuple[str, str], b: tuple[str, str]) -> pd.DataFrame:
        """Return which examples of two tasks at their labels ask for the same facts (`same_facts`)."""
        if (a, b) not in self._links:
            frame = self.study.facts
            assert frame is not None
            self._links[a, b] = same_facts(*(frame[(frame["task"] == t) & (frame["label"] == at)] for t, at in (a, b)))
        return self._links[a, b]

    @cached_property
    def _links(self) -> dict[tuple[tuple[str, str], tuple[str, str]], pd.DataFrame]:
        return {}

    def metric(self, task: str) -> TaskMetric:
        """Return the metric by which a task is compared."""
        return next((one for name, one in self.study.metrics.items() if whole_task(name) == task), TaskMetric())

    def is_scored(self, task: str) -> bool:
        """Return whether single facts have a score in the metric of a task."""
        return is_loss(self.metric(task).name) or self.metric(task).name in PER_PROBE

    def labels(self, one: tuple[str, str], method: MethodResult) -> dict[str, str]:
        """Return trained period -> the label at which a checkpoint was last asked: its own period where it was asked
        about that, else the last one."""
        found: dict[str, list[str]] = {}
        for (task, label, name, trained), held in self.predictions.items():
            mine = task == one[0] and name == method.name and one[1] in ("", label)
            if mine and set(method.seeds) <= set(held["seed"]):
                found.setdefault(trained, []).append(label)
        return {trained: trained if trained in held else max(held, key=self._place) for trained, held in found.items()}

    def last(self, found: Sequence[str]) -> str:
        """Return the last of some periods."""
        return max(found, key=self._place)

    def scores(self, task: str, label: str, method: str, trained: str) -> pd.DataFrame:
        """Return columns score and weight by the ids of examples, the means over the seeds: the loss of the object with
        its tokens, or a share with 1."""
        held, metric = self.predictions[task, label, method, trained], self.metric(task).name
        if is_loss(metric):
            known = held.assign(score=numbers(held, LOSS), weight=numbers(held, TOKENS))
        else:
            known = held.assign(score=held[PER_PROBE[metric]], weight=1.0)
        return known.dropna(subset=["score", "weight"]).groupby("id", sort=False)[["score", "weight"]].mean()

    def _place(self, label: str) -> tuple[int, str]:
        order = self.study.timeline.labels
        return (order.index(label) if label in order else -1), label


def matched(study: StudyResult) -> list[dict[str, Any]]:
    """Return rows of COLUMNS: each method on each two tasks that ask for some of the same facts, at the last checkpoint
    at which both were asked.

    `facts` are pairs of a subject and a relation; where a task has several examples of one, their mean counts.
    `score_a` and `score_b` are shares of right answers or perplexities, over these facts alone, and `both` is the share
    of facts that are right in both (NaN with a perplexity). `agreement` and its interval are those of `agreement.py`.
    Two tasks that ask the same examples are not compared.
    """
    reader = FactReader(study)
    found = []
    for a, b in combinations([one for one in reader.asked if reader.is_scored(one[0])], 2):
        if set(reader.asked[a]["asked"]) & set(reader.asked[b]["asked"]):
            continue
        for method in study.methods:
            first, second = reader.labels(a, method), reader.labels(b, method)
            common = [trained for trained in first if trained in second]
            if common:
                trained = reader.last(common)
                place = {"study": study.name, "method": method.name, "trained": trained, "seeds": len(method.seeds)}
                found += [place | one for one in _at(reader, (a[0], first[trained]), (b[0], second[trained]), place)]
    return found


def same_facts(ours: pd.DataFrame, theirs: pd.DataFrame) -> pd.DataFrame:
    """Return the columns id_a, id_b and fact: every two examples of two frames of facts that ask for the same one.

    `fact` numbers the facts by subject and relation as the first frame names them.
    """
    import pandas as pd

    a, b = (one.drop_duplicates("id") for one in (ours, theirs))
    fact = a.groupby([a["subject_id"].where(a["subject_id"] != "", a["subject"]), _relation(a)], sort=False).ngroup()
    a = a.assign(fact=fact)
    merged = []
    for subject, relation in KEYS:
        known = (one[(one[subject] != "") & (one[relation] != "")] for one in (a, b))  # else all unknown ones match
        both = next(known).merge(next(known), on=[subject, relation], suffixes=("_a", "_b"))
        for label in ("subject", "relation"):
            if label in (subject, relation):  # a label counts only where one side has no id
                both = both[(both[f"{label}_id_a"] == "") | (both[f"{label}_id_b"] == "")]
        merged.append(both[["id_a", "id_b", "fact"]])
    return pd.concat(merged, ignore_index=True).drop_duplicates()


def _relation(frame: pd.DataFrame) -> pd.Series:
    return frame["relation_id"].where(frame["relation_id"] != "", frame["relation"])


def _at(reader: FactReader, a: tuple[str, str], b: tuple[str, str], place: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the row of two tasks at their labels; none if they share no scored fact."""
    links = reader.links(a, b)
    held = [reader.scores(*one, place["method"], place["trained"]) for one in (a, b)]
    links = links[links["id_a"].isin(held[0].index) & links["id_b"].isin(held[1].index)]
    if not len(links):
        return
    logs = [is_loss(reader.metric(task).name) for task, _ in (a, b)]
    sums = [
        links.drop_duplicates(["fact", side]).join(of, on=side).groupby("fact")[["score", "weight"]].sum()
        for side, of in zip(("id_a", "id_b"), held)
    ]
    x, y = (one["score"].to_numpy(float) / one["weight"].to_numpy(float) for one in sums)
    means = [
        math.exp(one["score"].sum() / one["weight"].sum()) if is_loss else float(np.mean(values))
        for one, is_loss, values in zip(sums, logs, (x, y))
    ]
    value, low, high, kind = agreement(-x if logs[0] else x, -y if logs[1] else y, any(logs))
    row = {f"{name}_{side}": text for side, one in zip("ab", (a, b)) for name, text in zip(("task", "label"), one)}
    row |= {f"metric_{side}": reader.metric(task).name for side, (task, _) in zip("ab", (a, b))}
    scores = {"score_a": means[0], "score_b": means[1], "both": math.nan if any(logs) else float(np.mean(x * y))}
    yield row | scores | {"facts": len(x), "agreement": value, "low": low, "high": high, "kind": kind}
