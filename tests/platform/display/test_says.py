"""What models say: verdicts, tables and marks, from texts that are kept, without any model."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import pandas as pd
import pytest
from report_kinds import MONTHS, made_up
from reports import page

from ticlm.core.errors import InputError
from ticlm.core.settings import parse
from ticlm.platform.display.parts import Part
from ticlm.platform.display.says import COLUMNS, LONGEST, Says, by_model
from ticlm.platform.display.text_tables import records
from ticlm.platform.results.study_result import PREDICTION_COLUMNS, StudyResult
from ticlm.platform.study.tables import with_texts
from ticlm.platform.tasks.continuations import Continuations
from ticlm.platform.tasks.generated import OUTDATED_EXACT
from ticlm.platform.tasks.packed_rows import Perplexity
from ticlm.platform.tasks.shown_prompts import ShownPrompt

LABELS = MONTHS.timeline().labels
TASK = "continuations@1"
MAYOR = parse(
    ShownPrompt, {"text": "The mayor is", "answers": {"202303": "the Ada Berg", "202306": "Ben Holm"}}, "prompt"
)


def row(trained: str, text: str, method: str = "cyclic-cosine", **changes: Any) -> tuple[Any, ...]:
    known = {"seed": 1, "step": None, "task": TASK, "label": MAYOR.text, "id": MAYOR.text, "exact": math.nan}
    found = {"method": method, "trained": trained, "text": text, "f1": math.nan, "rank": None, "numbers": {}}
    return tuple((known | found | changes)[name] for name in PREDICTION_COLUMNS)


def saying(*rows: tuple[Any, ...], **changes: Any) -> StudyResult:
    frame = pd.DataFrame(list(rows), columns=list(PREDICTION_COLUMNS)).astype({"step": "Int64"})
    asked: dict[str, Any] = {"predictions": frame, "prompts": {TASK: (MAYOR,)}, "tables": (Says(),)}
    return dataclasses.replace(made_up("demo", MONTHS), **(asked | changes))


def texts(part: Part) -> list[dict[str, Any]]:
    assert tuple(part.frames["texts"].columns) == COLUMNS
    return records(part.frames["texts"])


def test_a_text_is_right_outdated_or_wrong_by_the_answers_until_its_month() -> None:
    said = [
        *(row("202301", " ada berg"), row("202303", ' "Ada  Berg", who'), row("202305", " Ada Bergson")),
        *(row("202306", " Ada Berg."), row("202307", " Ben Holm"), row("202308", " perhaps Ben Holm")),
    ]
    found = texts(Says().part(saying(*said)))
    verdicts = {one["trained"]: (one["verdict"], one["answer"]) for one in found}
    assert verdicts == {
        "202301": ("", ""),  # no answer is known for it
        "202303": ("right", "the Ada Berg"),
        "202305": ("wrong", "the Ada Berg"),
        "202306": ("outdated", "Ben Holm"),
        "202307": ("right", "Ben Holm"),
        "202308": ("wrong", "Ben Holm"),
    }


def test_four_periods_are_shown_at_once_and_all_are_folded() -> None:
    (section,) = Says().part(saying(*(row(label, "Ben") for label in LABELS))).sections
    at_once, whole = section.tables
    assert [line.names for line in at_once.lines] == [("2023-01",), ("2023-05",), ("2023-08",), ("2023-12",)]
    assert len(whole.lines) == 12 and at_once.main and not whole.main
    assert at_once.notes[-1] == "cyclic-cosine is wrong at 10 of 10 checkpoints."
    assert section.for_terminal() == [], "the answer of a run is not pushed off the terminal"
    (section,) = Says(periods=("202302",)).part(saying(*(row(label, "Ben") for label in LABELS))).sections
    assert [line.names for line in section.tables[0].lines] == [("2023-02",)]


def test_methods_stand_side_by_side_or_one_below_the_other() -> None:
    said = [
        row("202302", "a", "replay-half"),
        row("202301", "b"),
        row("202302", "c", seed=2),
        row("202301", "d", step=5),
    ]
    part = Says().part(saying(*said))
    (table,) = part.sections[0].tables
    assert table.columns == ("cyclic-cosine", "replay-half")
    assert [[cell.text for cell in line.cells] for line in table.lines] == [["b", "–"], ["–", "a"]]
    assert {one["text"] for one in texts(part)} == {"a", "b", "c"}, "every seed is in the file, no model inside a round"
    many = by_model("T", [(name, "202301") for name in "abcd"], ["w", "x", "y", "z"])
    assert [(line.block, line.cells[0].text) for line in many.lines] == list(zip("abcd", "wxyz"))


def test_what_models_write_is_data_on_the_page() -> None:
    said = "<b>bold</b>\x1b[31m\u202e\r\nnext" + "x" * 999
    html = page(saying(row("202304", said), row("202305", " Ada Berg")))
    assert "&lt;b&gt;bold&lt;/b&gt;\\x1b[31m\\u202e ↵ nextx" in html and "<b>bold" not in html
    assert "x" * 200 in html and "x" * LONGEST not in html
    assert '<td class="prose right">Ada Berg<small>✓ right</small></td>' in html
    assert "<h3>The mayor is …</h3>" in html and 'id="says"' in html


def test_several_studies_stand_in_one_section_under_their_names() -> None:
    two = [saying(row("202304", "Ada Berg")), dataclasses.replace(saying(row("202304", "no")), name="other")]
    part = Says.of_all([(study, Says()) for study in two])
    assert [table.heading for table in part.sections[0].tables] == ["The mayor is … (demo)", "The mayor is … (other)"]
    assert [one["study"] for one in texts(part)] == ["demo", "other"]


def test_probes_are_judged_by_what_was_kept_of_them() -> None:
    def probe(trained: str, name: str, exact: float, old: float) -> tuple[Any, ...]:
        numbers = {OUTDATED_EXACT: old}
        return row(trained, f"{name}?", task="facts@1", label="202304", id=name, exact=exact, numbers=numbers)

    said = [probe(trained, "same", 0.0, 0.0) for trained in LABELS[3:6]]
    said += [probe("202304", "moved", 0.0, 1.0), probe("202305", "moved", 1.0, 0.0), probe("202306", "moved", 0.0, 0.0)]
    known = [{"task": "facts@1", "label": "202304", "id": "moved", "question": "Who runs it?", "answer": "Ada"}]
    asked = Says(tasks=("facts",), probes=1)
    study = saying(*said, prompts={}, questions=pd.DataFrame(known), tables=(asked,))
    part = asked.part(study)
    assert [(one["prompt"], one["verdict"], one["answer"]) for one in texts(part)] == [
        ("Who runs it?", verdict, "Ada") for verdict in ("outdated", "right", "wrong")
    ]
    (table,) = part.sections[0].tables
    assert table.heading == "Who runs it?" and table.notes[0] == "The right answer is “Ada” (facts@1, 2023-04)."
    assert [line.cells[0].under for line in table.lines] == ["↺ outdated", "✓ right", "✗ wrong"]


def test_a_study_with_prompts_has_the_section_without_asking() -> None:
    asked = (Perplexity(), parse(Continuations, {"prompts": ["a"]}, "task"))
    assert [type(one) for one in with_texts((), asked)] == [Says]
    own = Says(methods=("replay-half",))
    assert with_texts((own,), asked) == (own,)
    assert with_texts((), asked[:1]) == ()


def test_what_cannot_be_shown_is_refused_or_said() -> None:
    asked = (Perplexity(), parse(Continuations, {"prompts": ["a"]}, "task"))
    with pytest.raises(ValueError, match=r"tables\.says\.tasks: perplexity@1 keeps no answers to show"):
        Says(tasks=("perplexity",)).check(asked, LABELS)
    with pytest.raises(ValueError, match=r"tables\.says\.periods: 202213 is not in the timeline: 202301 … 202312"):
        Says(periods=("202213",)).check(asked, LABELS)
    with pytest.raises(InputError, match=r"methods: demo has no method replay-halve \(did you mean replay-half\?\)"):
        Says(methods=("replay-halve",)).part(saying(row("202301", "a")))
    part = Says().part(saying(row("202301", "a", task="other@1")))
    assert part.missing == ("says: continuations@1 has no answers yet",) and not part.sections and not part.files()
