"""The answer of a report in a few sentences: which method does best, by how much, and at what cost.

Differences and their intervals are those of analysis/paired_bootstrap.py. A method wins only if the interval leaves out
zero; the others are said not to be told apart. Where no method is better on new text than the first model, never
updated, the answer is that, and the comparison between methods comes after it.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from ticlm.platform.analysis.metrics import quantity
from ticlm.platform.analysis.numbers import HEADINGS, count
from ticlm.platform.display.gaps import MethodDifference, Numbers
from ticlm.platform.display.rivals import listed, oracle_details, oracle_sentence, verdict, verdict_by_task
from ticlm.platform.display.words import PLACES, reference_name, tasks_of, title, unit
from ticlm.platform.results.study_result import StudyResult

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class Answer:
    """The answer about one study: one sentence, what qualifies it, and what the page folds away."""

    sentence: str
    more: str
    study: str = ""
    detail: str = ""
    """Sentences for the second look: with them, the charts would begin below the first screen."""

    @property
    def whole(self) -> str:
        """All sentences."""
        return " ".join(filter(None, (self.sentence, self.more, self.detail)))


def answers(results: Sequence[StudyResult], summary: pd.DataFrame, apart: pd.DataFrame) -> list[Answer]:
    """Return an answer for each study of a report that has an evaluation with periods."""
    tasks = tasks_of(results)
    found = []
    for study in results:
        own = summary[(summary["study"] == study.name) & (summary["task"] != "") & (summary["source"] == "")]
        if not len(own):
            continue
        every = [_numbers(study, task, own, apart) for task in own["task"].unique()]
        names = [title(numbers.task, tasks) for numbers in every]
        sentence, more, detail = _of(every[0], is_alone=len(results) == 1)
        where, overall = [study.name] if len(results) > 1 else [], verdict_by_task(every, names)
        if overall:
            sentence, more = overall, _joined(f"On {names[0]}: {sentence}", more)
        elif len(every) > 1:
            where.append(f"on {names[0]}")
        head = ", ".join(where)
        if len(results) == 1:
            head = f"{head[:1].upper()}{head[1:]}"
        alone = f"A{sentence[1:]}" if sentence.startswith("an ") else sentence
        found.append(Answer(f"{head}: {sentence}" if head else alone, more, study.name, detail))
    return found


def _numbers(study: StudyResult, task: str, summary: pd.DataFrame, apart: pd.DataFrame) -> Numbers:
    rows = summary[summary["task"] == task].set_index("method")
    mine = apart[(apart["study"] == study.name) & (apart["task"] == task) & (apart["source"] == "")]
    return Numbers(study, task, rows, mine, bool(rows["relative"].iloc[0]))


def with_sentences(answers: Sequence[Answer], further: Iterable[tuple[str, str]]) -> list[Answer]:
    """Return the answers with further sentences, (study, sentence), each after the answer about its study."""
    made = {answer.study: answer for answer in answers}
    for study, sentence in further:
        old = made.get(study, Answer("", "", study))
        more = {"more": f"{old.more} {sentence}".strip()} if old.sentence else {"sentence": sentence}
        made[study] = replace(old, **more)
    return list(made.values())


def _of(numbers: Numbers, is_alone: bool) -> tuple[str, str, str]:
    """Return the sentence, what qualifies it, and the details."""
    mean = next((mean for mean in HEADINGS if len(numbers.ranked(mean)) > 1), None)
    against, alone = verdict(numbers), numbers.runs
    if mean is not None:
        sentence, more, detail = _compared(numbers, mean)
    elif len(alone) == 1:
        best = str(alone.index[0])
        sentence, more = _alone(numbers, is_alone), oracle_sentence(numbers, best, "backward")
        detail = oracle_details(numbers, best)
    elif len(alone):
        sentence, more, detail = "No two methods can be compared yet, because cells are missing (see Notes).", "", ""
    else:
        return _only_oracles(numbers), "", ""
    if against is None:
        return sentence, more, detail
    detail = _joined(against.detail, detail)
    if against.paid and mean is not None:
        return sentence, _joined(against.sentence, more), detail
    return against.sentence, _joined(sentence, more), detail


def _joined(*sentences: str) -> str:
    return " ".join(filter(None, sentences))


def _compared(numbers: Numbers, mean: str) -> tuple[str, str, str]:
    """Compare the methods on the mean over past periods, or on the first mean that two of them have."""
    best, *others = numbers.ranked(mean)
    gaps = {other: numbers.gap(best, other, mean) for other in others}
    tied = [other for other in others if gaps[other].is_open]
    behind = [other for other in others if gaps[other].is_certain]
    where = f"{PLACES[mean]} ({HEADINGS[mean]})"
    if not tied:
        second = others[0]
        sentence = f"{best} {_superlative(numbers)} on {where}: {_lead(numbers, second, gaps[second])}"
        sentence += f"{numbers.price(best, second)}."
    else:
        second = tied[0]
        sentence = f"{best} cannot be told apart from {listed(tied)} on {where}: "
        sentence += f"{_lead(numbers, second, gaps[second])}{numbers.price(best, second)}"
        if behind:
            gap = gaps[behind[0]]
            sentence += f"; {behind[0]} is {numbers.text(gap.size)} worse {numbers.interval(gap)}"
            if len(behind) > 1:
                sentence += f", and {listed(behind[1:])} {'are' if len(behind) > 2 else 'is'} worse, too"
        sentence += "."
    more = _joined(
        _new_text(numbers, best, second, mean), oracle_sentence(numbers, best, mean), _left_out(numbers, mean)
    )
    caveat = _caveat(numbers) if gaps[second].is_known else ""
    return sentence, more, _joined(_forgotten(numbers, best, second), oracle_details(numbers, best), caveat)


def _lead(numbers: Numbers, second: str, gap: MethodDifference) -> str:
    """Say by how much the best method is better than the second: in plain words first, in nats in brackets."""
    if percent := numbers.perplexity(gap):
        return f"its perplexity is {percent} than that of {second} {numbers.in_brackets(gap)}"
    side = "better than" if numbers.relative else "above" if numbers.sign < 0 else "below"
    return f"{numbers.text(gap.size)} {numbers.whole_unit} {side} {second} {numbers.interval(gap)}".replace("  ", " ")


def _superlative(numbers: Numbers) -> str:
    if numbers.relative or quantity(numbers.study.metric(numbers.task)).is_log:
        return "is best"
    return f"has the {'highest' if numbers.sign < 0 else 'lowest'} {quantity(numbers.study.metric(numbers.task)).name}"


def _new_text(numbers: Numbers, best: str, second: str, mean: str) -> str:
    """Say how the first two compare on the newest text, which is what not forgetting may cost."""
    gap = numbers.gap(best, second, "in_distribution")
    if mean == "in_distribution" or math.isnan(gap.size):
        return ""
    if gap.is_open:
        return f"On new text (ID) {best} and {second} cannot be told apart {numbers.interval(gap)}."
    side = "better" if gap.size > 0 else "worse"
    measure = numbers.measure(gap)
    return f"On new text (ID) {best} is {measure} {side} than {second} {numbers.interval(gap)}."


def _forgotten(numbers: Numbers, best: str, second: str) -> str:
    """Say what the first two forgot against their own best; regret also counts what was never learned."""
    lost = [numbers.number(name, "forgetting") for name in (best, second)]
    if any(math.isnan(value) for value in lost):
        return ""
    scale = quantity(numbers.study.metric(numbers.task)).scale
    own, theirs = (numbers.text(scale * value) for value in lost)
    return f"Against its own best on each past period, {best} has lost {own} {numbers.unit}, {second} {theirs}."


def _left_out(numbers: Numbers, mean: str) -> str:
    """Name the methods that were not compared, because a cell of theirs is missing."""
    ranked = numbers.ranked(mean)
    lost = [str(name) for name in numbers.runs.index if name not in ranked]
    return f"Not compared, because cells are missing: {listed(lost)} (see Notes)." if lost else ""


def _caveat(numbers: Numbers) -> str:
    seeds = sorted({int(n) for n in numbers.runs["seeds"]})
    if seeds == [1]:
        return "Intervals are over the evaluated periods, not over seeds: each method was trained once."
    several = numbers.runs[numbers.runs["seeds"] > 1]
    models = sorted({int(n) for n in several["first_models"]})
    if models == [1]:
        return (
            "Intervals are over the evaluated periods, for means over seeds that share one first model: they say "
            "nothing of other first models."
        )
    of = f"{' or '.join(map(str, seeds))} seeds and {' or '.join(map(str, models))} first models"
    return f"Intervals are over the evaluated periods, for means over {of}."


def _alone(numbers: Numbers, is_alone: bool) -> str:
    """Speak of a study with one method; another study of the report may have one to compare it with."""
    rows = numbers.runs
    what, row = quantity(numbers.study.metric(numbers.task)), rows.iloc[0]
    shown = [
        f"{what.text(row[mean])} on {PLACES[mean]} ({short})"
        for mean, short in HEADINGS.items()
        if row[mean] == row[mean]
    ]
    of = f" against {reference_name(numbers.study)}" if numbers.relative else ""
    name = "regret" if numbers.relative else what.name
    held = unit(numbers.study.metric(numbers.task), numbers.relative)
    if not shown:
        return "There is nothing to compare yet, because cells are missing (see Notes)."
    told = f"{rows.index[0]}, {name}{of}: {', '.join(shown)}, in {held}"
    if any(row[f"{mean}_missing"] for mean in HEADINGS if row[mean] == row[mean]):
        told += ", as far as it has cells (see Notes)"
    return f"{told}; there is no other method to compare it with." if is_alone and not numbers.frozen else f"{told}."


def _only_oracles(numbers: Numbers) -> str:
    """Speak of a study that has no continual method."""
    models = len(str(numbers.rows["cutoffs"].iloc[0]).split())
    tokens = float(numbers.rows["tokens"].iloc[0])
    cost = f" for {count(tokens)} tokens in all" if math.isfinite(tokens) else ""
    made = f"{models} models from scratch{cost}" if models else "models from scratch"
    return f"an Oracle series alone, {made}; there is no continual method to compare it with."
