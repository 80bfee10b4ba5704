"""What sets of questions know of their questions, and how they were built."""

import math
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from ticlm.core.accounting import Step
from ticlm.core.examples import INFO, Example, Examples, ExamplesInfo, PeriodExamples, publish
from ticlm.core.periods import Calendar
from ticlm.core.store import Store
from ticlm.platform.papers.evolvingqa.construction import counts, sizes, steps
from ticlm.platform.papers.evolvingqa.part import Evolving
from ticlm.platform.papers.evolvingqa.settings import Reader
from ticlm.platform.results.built_sets import built_sets
from ticlm.platform.results.questions import known, question_frame
from ticlm.platform.study.plan import Plan
from ticlm.platform.tasks.generated import GeneratedAnswers


def test_the_context_of_an_open_book_is_what_stands_before_the_question() -> None:
    about = {"context": "Paris is in France.", "type": "GPE"}
    closed = Example("1", "Which land has Paris?", "France", about=about, question="Which land has Paris?")
    assert known(closed)[3:6] == ("Locational", False, 0.5) and math.isnan(known(closed)[6])
    text = "context: Oslo is a land.question: Which land has Paris?"
    opened = Example("1", text, "France", about=about | {"hit": "no"}, question="Which land has Paris?")
    assert known(opened)[3:] == ("Locational", False, 0.5, 0.0)
    behind = Example("1", "Which land has Paris? Oslo is a land.", "France", question="Which land has Paris?")
    assert known(behind)[5] == 0.5
    assert math.isnan(known(Example("1", "Which land has Paris?", "Paris"))[5]) and known(closed)[4] is False
    assert known(Example("1", "Which land has Paris?", "the Paris"))[4]
    assert math.isnan(known(Example("1", "Who was it?", "Ada", about=about))[5])


@pytest.fixture(scope="module")
def plan(tmp_path_factory: pytest.TempPathFactory) -> Plan:
    """A plan with a set of questions of two months, and one of changes."""
    root = tmp_path_factory.mktemp("sets")
    examples = {name: make(root / name) for name in ("questions", "changes")}
    asked = Evolving(
        new="new", edited="edited", sets=(str(root / "changes"), "/nowhere"), readers=(Reader(name="DPR", new="sets"),)
    )
    named: dict[str, Any] = {
        "new": {"split": "new"},
        "edited": {"split": "edited"},
        "sets": {"sets": [{"subset": "new"}]},
    }
    common = {"examples": "questions", "form": "question"}
    tasks = [
        GeneratedAnswers.model_validate({"name": name, **common, **more})
        for name, more in {**named, "other": {"split": "edited"}}.items()
    ]
    study = SimpleNamespace(tables=(asked,), evaluations=tasks, last_visible_period=None)
    labels = {task.name: ("new",) if task.sets else tuple(examples["questions"].periods) for task in tasks}
    found = SimpleNamespace(
        study=study,
        store=Store(root),
        data_of=lambda task: examples["questions"],
        labels=lambda task: labels[task.name],
    )
    return cast(Plan, found)


def make(folder: Path) -> Examples:
    store = Store(folder)
    info = ExamplesInfo(name=folder.name, version="1", recipe="0" * 16)
    store.write(INFO, info.model_dump_json().encode())
    for place, period in enumerate(Calendar(initial="202303", step="month", last="202304").timeline().periods):
        parts: Any = {"new": [Example(f"n{i}", "Which?", "Oslo", about={"type": "GPE"}) for i in range(place + 1)]}
        parts |= {"edited": [Example("e0", "When?", "May 2023", question="When?")]} if place else {}
        judged = Step(name="judge", read=10, dropped={"not supported": 2, "same answer": 1})
        manifest = PeriodExamples(
            period=period, subsets={}, steps=(Step(name="read", read=20), judged), statistics={"calls": {"judge": 12}}
        )
        publish(store, manifest, parts)
    return Examples.open(str(folder))


def test_each_question_of_a_named_task_is_read_once_for_each_label(plan: Plan) -> None:
    frame = question_frame(plan)
    assert frame is not None
    found = frame.groupby(["task", "label"], sort=False)["id"].agg(list).to_dict()
    assert found == {
        ("new@1", "202303"): ["n0"],
        ("new@1", "202304"): ["n0", "n1"],
        ("edited@1", "202304"): ["e0"],
        ("sets@1", "new"): ["n0", "n0", "n1"],
    }
    assert dict(zip(frame["id"], frame["category"])) == {"n0": "Locational", "n1": "Locational", "e0": "Temporal"}


def test_construction_tells_sizes_what_was_left_out_and_what_was_counted(plan: Plan) -> None:
    sets, missing = built_sets(plan)
    assert [one.id for one in sets] == ["changes@1", "questions@1"]
    (line,) = missing
    assert line.startswith("how a set was built: ") and "/nowhere: no examples there" in line and "\n" not in line
    assert [(r["period"], r["subset"], r["examples"]) for r in sizes("wiki", sets[1:])] == [
        ("202303", "new", 1),
        ("202304", "edited", 1),
        ("202304", "new", 2),
    ]
    found = [(r["step"], r["read"], r["reason"], r["dropped"], r["rate"]) for r in steps("wiki", sets[:1])][:3]
    assert found == [
        ("read", 20, "", 0, 0.0),
        ("judge", 10, "not supported", 2, 0.2),
        ("judge", 10, "same answer", 1, 0.1),
    ]
    assert list(counts("wiki", sets))[-1] == {
        **{"study": "wiki", "set": "questions@1", "period": "202304"},
        **{"count": "calls", "class": "judge", "value": 12},
    }
