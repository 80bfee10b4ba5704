"""What models say: the texts of checkpoints after the same prompt or question, by period and method, side by side."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self

from pydantic import Field

from ticlm.core.errors import InputError
from ticlm.core.periods import Label, span
from ticlm.core.quantities import one_line
from ticlm.core.reading.near import hint
from ticlm.datasets.text.matching import normalised
from ticlm.platform.analysis.probe_scores import bare
from ticlm.platform.display.parts import Part, Section, Tables, joined
from ticlm.platform.display.text_tables import TextCell, TextLine, TextTable
from ticlm.platform.display.words import period
from ticlm.platform.results.study_result import StudyResult, as_frame
from ticlm.platform.tasks.base import Task, whole_task
from ticlm.platform.tasks.generated import OUTDATED_EXACT

if TYPE_CHECKING:
    import pandas as pd

    from ticlm.platform.tasks.shown_prompts import ShownPrompt

TITLE = "What the models say"
COLUMNS = ("study", "task", "method", "seed", "trained", "label", "prompt", "text", "answer", "verdict")
"""Columns of the file of texts. `answer` is right at the end of the trained period, to a probe in the probe's own;
`verdict` is empty where none is known."""
LONGEST = 240
"""Characters of a text in a table; the file beside the page has all of them."""
SIDE_BY_SIDE = 3
"""Most methods that stand beside one another; more are below one another, each with its periods."""
AT_ONCE = 4
"""Periods that are shown at once by default: a table of twelve for each prompt would make the page a third longer."""
Verdict = Literal["right", "outdated", "wrong", ""]
MARKS: Mapping[str, str] = {"right": "✓ right", "outdated": "↺ outdated", "wrong": "✗ wrong", "": ""}
LIKELIEST = (
    "Each checkpoint continues the same text, and takes the likeliest token each time. ↵ is an end of line. The tables "
    "show the first seed; texts.csv has all seeds."
)
VERDICTS = (
    "✓ right: the text begins with the answer that is right at the checkpoint's own period. ↺ outdated: it begins with "
    "an answer that was right before. ✗ wrong: it begins with none of these."
)
PROBED = (
    "Of the probes, those on which the checkpoints' verdicts differ most. There, ✓ right: the text is the answer of "
    "the probe's own period; ↺ outdated: it is the answer of before."
)


@dataclass(frozen=True)
class AskedText:
    """A prompt or a probe, and a row of COLUMNS for each text that a checkpoint wrote."""

    title: str
    rows: Sequence[Mapping[str, str | int]]
    note: str = ""
    is_probe: bool = False


class Says(Tables):
    """What the checkpoints of a study write after prompts, and how they answer single probes, by period and method.

    A study with a task `continuations` has this section without asking for it. Prompts with known answers, and probes,
    are marked as right, outdated (right in an earlier period) or wrong.
    """

    kind: Literal["says"] = "says"
    not_tasks: ClassVar[frozenset[str]] = frozenset({"kind", "name", "methods", "periods"})
    name: str = "says"
    """Name of this section in messages."""
    tasks: tuple[str, ...] = ()
    """Tasks of `evaluations`: of kind `continuations`, or with probes whose answers are compared with the right ones,
    such as `generated-answers`; by default all of kind `continuations`."""
    methods: tuple[str, ...] = ()
    """The methods to show; by default all."""
    periods: tuple[Label, ...] = ()
    """Trained periods to show at once; the others are folded. By default four, from the first to the last."""
    probes: int = Field(4, gt=0)
    """How many probes of each task to show: those on which the checkpoints differ most."""

    def named(self) -> Sequence[tuple[str, str]]:
        # The table of all benchmarks leaves out the means of tasks that are named: they belong to another benchmark.
        return ()

    def asked_questions(self) -> Sequence[str]:
        return self.tasks

    def check(self, tasks: Sequence[Task], labels: Sequence[str]) -> None:
        """Raise ValueError also if a task keeps no answers, or if a period is not one of the study's."""
        for name in self.tasks:
            if not (found := self.find_task("tasks", name, tasks)).keeps_predictions:
                raise ValueError(f"{self.where('tasks')}: {found.id} keeps no answers to show")
        for label in self.periods:
            if label not in labels:
                there = f"{labels[0]} … {labels[-1]}{hint(label, labels)}"
                raise ValueError(f"{self.where('periods')}: {label} is not in the timeline: {there}")

    def part(self, study: StudyResult) -> Part:
        return self.of_all([(study, self)])

    @classmethod
    def of_all(cls, asked: Sequence[tuple[StudyResult, Self]]) -> Part:
        several = len(asked) > 1
        return joined([one._part(study, several) for study, one in asked])

    def _part(self, study: StudyResult, several: bool) -> Part:
        """Return what is shown of one of `several` studies."""
        known = [method.name for method in study.methods]
        for name in self.methods:
            if name not in known:
                raise InputError(f"methods: {study.name} has no method {name}{hint(name, known)}")
        asked, missing = list[AskedText](), list[str]()
        for task in self._tasks(study):
            prompts = study.prompts.get(task)
            found = _of_probes(study, task, self.probes) if prompts is None else _of_prompts(study, task, prompts)
            asked += found
            missing += [] if found else [f"{self.name}: {task} has no answers yet"]
        wanted = [name for name in known if name in (self.methods or known)]
        tables = [one for found in asked for one in self._tables(study, found, wanted, several)]
        rows = [row for one in asked for row in one.rows]
        judged = [one for one in asked if any(row["verdict"] for row in one.rows)]
        notes = (LIKELIEST, *[VERDICTS] * any(not one.is_probe for one in judged))
        notes += (PROBED,) * any(one.is_probe for one in asked) + _commands(study, asked)
        sections = (Section("says", TITLE, tuple(tables), notes=notes, on_terminal=False),) if tables else ()
        frames = {"texts": as_frame([dict(row) for row in rows], COLUMNS)}
        return Part(TITLE, frames, sections, missing=tuple(missing), counts_as_benchmark=False)

    def _tasks(self, study: StudyResult) -> list[str]:
        """Return the ids of the tasks to show."""
        if not self.tasks:
            return list(study.prompts)
        ids = [*study.prompts, *([] if study.predictions is None else map(str, study.predictions["task"].unique()))]
        meant = {one: {one, bare(one), whole_task(one), bare(whole_task(one))} for one in dict.fromkeys(ids)}
        return [one for name in self.tasks for one in meant if name.partition("/")[0] in meant[one]]

    def _tables(
        self, study: StudyResult, asked: AskedText, methods: Sequence[str], several: bool
    ) -> Iterator[TextTable]:
        """Yield the table of the periods that are shown at once, and that of all periods if there are more."""
        first = {method.name: min(method.seeds) for method in study.methods}
        mine = [row for row in asked.rows if row["method"] in methods and row["seed"] == first[str(row["method"])]]
        place = {name: at for at, name in enumerate(methods)}
        mine.sort(key=lambda row: place[str(row["method"])])
        labels = sorted({str(row["trained"]) for row in mine}, key=_when)
        shown = [label for label in labels if label in self.periods] or _spread(labels, AT_ONCE)
        cells = {(str(row["method"]), str(row["trained"])): _cell(row) for row in mine}
        at_once = {place: cell for place, cell in cells.items() if place[1] in shown}
        if not at_once:
            return
        heading = f"{asked.title} ({study.name})" if several else asked.title
        notes = tuple(filter(None, (asked.note, " ".join(_counted(mine)))))
        yield replace(table_of("", at_once), main=True, heading=heading, notes=notes)
        if len(shown) < len(labels):
            yield replace(table_of(f"At all {len(labels)} periods", cells), heading=heading)


def by_model(title: str, models: Sequence[tuple[str, str]], texts: Sequence[str]) -> TextTable:
    """Return a table of the texts of models, each model a (method, period)."""
    return table_of(title, {one: TextCell(one_line(text, LONGEST)) for one, text in zip(models, texts, strict=True)})


def table_of(title: str, cells: Mapping[tuple[str, str], TextCell]) -> TextTable:
    """Return a table of cells by (method, period): a line for each period and a column for each method, or a block of
    lines for each method if there are many."""
    methods = list(dict.fromkeys(method for method, _ in cells))
    labels = sorted({label for _, label in cells}, key=_when)
    if len(methods) <= SIDE_BY_SIDE:
        none, columns = TextCell("–"), tuple(methods)
        lines = [TextLine((period(at),), tuple(cells.get((method, at), none) for method in methods)) for at in labels]
    else:
        columns = ("text",)
        lines = [
            TextLine((period(at),), (cells[method, at],), block=method)
            for method in methods
            for at in labels
            if (method, at) in cells
        ]
    return TextTable(title, ("Trained up to",), columns, tuple(lines), prose=True)


def _cell(row: Mapping[str, str | int]) -> TextCell:
    verdict = str(row["verdict"])
    return TextCell(one_line(str(row["text"]), LONGEST) or "(nothing)", MARKS[verdict], tone=verdict)


def _of_prompts(study: StudyResult, task: str, prompts: Sequence[ShownPrompt]) -> list[AskedText]:
    """Return the prompts of a task that some checkpoint has continued."""
    found = []
    held = _answers(study, task)
    for prompt in prompts:
        rows = [
            _row(study, one, prompt.text, *_judged(str(one["text"]), prompt.known_by(str(one["trained"]))))
            for one in ([] if held is None else held[held["label"] == prompt.text].to_dict("records"))
        ]
        told = ", ".join(f"“{one.text}” from {period(one.since)}" for one in prompt.answers)
        note = f"The right answer is {one_line(told, 2 * LONGEST)}." if told else ""
        found += [AskedText(f"{one_line(prompt.text, LONGEST)} …", rows, note)] if rows else []
    return found


def _of_probes(study: StudyResult, task: str, most: int) -> list[AskedText]:
    """Return the probes of a task on whose verdicts the checkpoints differ most."""
    held = _answers(study, task)
    if held is None or held["exact"].isna().all():
        return []
    outdated = [numbers.get(OUTDATED_EXACT, 0) >= 1 for numbers in held["numbers"]]
    right = held["exact"] >= 1
    verdicts = ["right" if exact else "outdated" if old else "wrong" for exact, old in zip(right, outdated)]
    held = held.assign(verdict=verdicts)
    sizes = held.groupby(["label", "id"], sort=True).agg(kinds=("verdict", "nunique"), right=("exact", "sum"))
    chosen = sizes.sort_values(["kinds", "right"], ascending=False, kind="stable").index[:most]
    about = study.questions
    known = {} if about is None else {
        (str(row["label"]), str(row["id"])): (str(row["question"]), str(row["answer"]))
        for row in about[about["task"] == whole_task(task)].to_dict("records")
    }  # fmt: skip
    found = []
    for label, name in chosen:
        question, answer = known.get((label, name), (name, ""))
        mine = held[(held["label"] == label) & (held["id"] == name)]
        rows = [_row(study, one, question, answer, one["verdict"]) for one in mine.to_dict("records")]
        place = f"{task}, {period(label)}"
        note = f"The right answer is “{one_line(answer, LONGEST)}” ({place})." if answer else f"{place}."
        found.append(AskedText(one_line(question, LONGEST), rows, note, is_probe=True))
    return found


def _answers(study: StudyResult, task: str) -> pd.DataFrame | None:
    """Return the answers to a task at the ends of rounds; None if none are kept."""
    frame = study.predictions
    held = None if frame is None else frame[(frame["task"] == task) & frame["step"].isna()]
    return held if held is not None and len(held) else None


def _row(study: StudyResult, one: Mapping[Any, Any], prompt: str, answer: str, verdict: str) -> dict[str, str | int]:
    kept = {name: one[name] for name in ("task", "method", "seed", "trained", "label", "text")}
    return {"study": study.name, **kept, "prompt": prompt, "answer": answer, "verdict": verdict}


def _judged(text: str, known: Sequence[str]) -> tuple[str, Verdict]:
    """Return the right answer and the verdict on a text; `known` are the answers so far, the right one last."""
    if not known:
        return "", ""
    now = known[-1]
    if _begins(text, now):
        return now, "right"
    return now, "outdated" if any(_begins(text, old) for old in known[:-1]) else "wrong"


def _begins(text: str, answer: str) -> bool:
    """Return whether a text begins with the words of an answer, without regard to case, punctuation and articles."""
    said = normalised(answer)
    return f"{normalised(text)} ".startswith(f"{said} ") if said else text.strip().startswith(answer.strip())


def _counted(rows: Sequence[Mapping[str, str | int]]) -> Iterator[str]:
    """Yield a sentence for each method: on how many of its checkpoints it is right, outdated or wrong."""
    for method in dict.fromkeys(str(row["method"]) for row in rows):
        counts = Counter(str(row["verdict"]) for row in rows if row["method"] == method and row["verdict"])
        if counts:
            first, *others = (f"{verdict} at {counts[verdict]}" for verdict in MARKS if counts[verdict])
            yield f"{method} is {', '.join([f'{first} of {counts.total()} checkpoints', *others])}."


def _commands(study: StudyResult, asked: Sequence[AskedText]) -> tuple[str, ...]:
    """Return a note with the command that asks the checkpoints something else."""
    if study.setup is None or not asked:
        return ()
    request = study.setup.request.without_credentials()
    root = [] if request.root == "runs" else ["--root", request.root]
    words = ["ticlm", "generate", f"{request.named}/*@*", "YOUR TEXT", *root]
    return (f"Ask them something else: {shlex.join(words)}",)


def _spread(labels: Sequence[str], most: int) -> list[str]:
    """Return at most so many of the labels, evenly spread from the first to the last."""
    if len(labels) <= most:
        return list(labels)
    return [labels[round(place * (len(labels) - 1) / (most - 1))] for place in range(most)]


def _when(label: str) -> tuple[str, str]:
    """Return what periods are sorted by: their start; a label that is no date stands first."""
    try:
        return span(label)[0].isoformat(), label
    except ValueError:
        return "", label
