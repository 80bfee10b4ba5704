"""CKL's released files: both forms of a prompt, answers of two files, and what does not fit between them."""

from __future__ import annotations

import csv
import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from ticlm.core.errors import InputError
from ticlm.core.examples import Example
from ticlm.datasets.lama.collecting import Collected, ProbeRules
from ticlm.datasets.lama.released import ReleasedFiles, read

INVARIANT = ("id", "input", "output")
UPDATED = ("unique_id", "statement", "new_answer")
NEW = ("unique_id", "statement", "answer", "question")


def table(folder: Path, columns: Sequence[str], *rows: Sequence[str]) -> Path:
    path = folder / "rows.csv"
    with path.open("w", newline="") as file:
        csv.writer(file).writerows([columns, *rows])
    return path


def found(rows: Path, answers: object = None) -> Collected:
    path = rows.with_name("answers.json")
    if answers is not None:
        path.write_text(answers if isinstance(answers, str) else json.dumps(answers))
    files = ReleasedFiles(rows=(str(rows),), answers=None if answers is None else str(path))
    into = Collected(ProbeRules())
    read([entry.path for entry in files.inputs("examples.sets.new")], "new", into)
    return into


def test_invariant_lama_has_its_answer_in_the_row(tmp_path: Path) -> None:
    rows = [
        ("1", "iPod Touch is produced by <extra_id_0> .", "Apple"),
        ("2", "It is in <extra_id_0> .", "<extra_id_0> Rome"),
    ]
    assert found(table(tmp_path, INVARIANT, *rows)).subsets["new"] == [
        Example("1", "iPod Touch is produced by <extra_id_0> .", "Apple"),
        Example("2", "It is in <extra_id_0> .", "Rome"),
    ]


def test_updated_lama_has_old_and_new_answers(tmp_path: Path) -> None:
    path = table(tmp_path, UPDATED, ("7", "<extra_id_0> is the prime minister\nof England.", "Boris Johnson"))
    entry = [{"old": ["Theresa May", "May"], "new": ["Johnson", "Boris Johnson"]}, {"old": ["May"], "new": []}]
    (probe,) = found(path, {"7": entry}).subsets["new"]
    assert (probe.answer, probe.aliases) == ("Boris Johnson", ("Johnson",)), "the row's answer is the one to learn"
    assert probe.outdated == ("Theresa May", "May") and probe.question is None


def test_new_lama_has_a_question_and_several_answers(tmp_path: Path) -> None:
    path = table(tmp_path, NEW, ("n1", "<extra_id_0> owns the rights.", "Disney; Walt Disney", "Who owns the rights?"))
    (probe,) = found(path).subsets["new"]
    assert (probe.text, probe.question) == ("<extra_id_0> owns the rights.", "Who owns the rights?")
    assert (probe.answer, probe.aliases) == ("Disney", ("Walt Disney",))
    (scored,) = found(path, {"n1": ["The Walt Disney Company", "Disney"]}).subsets["new"]
    assert (scored.answer, scored.aliases) == ("Disney", ("The Walt Disney Company",)), "what counts is in the JSON"


def test_what_the_answers_file_lacks_or_has_otherwise_is_a_remark(tmp_path: Path) -> None:
    rows = [(name, f"<extra_id_0> is {name}.", "Own", f"Who is {name}?") for name in ("a", "b", "c", "d")]
    into = found(table(tmp_path, NEW, *rows), '{"a": ["own"], "b": ["Other"], "c": [3, {}], "x": ["y"], "x": ["z"]}')
    assert [one.answer for one in into.subsets["new"]] == ["own", "Other", "Own", "Own"]
    assert into.remarks == {
        "new: the answers file has other answers than the row": 1,
        "new: an unreadable entry in the answers file, so the answer of the row counts": 1,
        "new: no entry in the answers file, so the answer of the row counts": 1,
        "new: an entry of the answers file that no row has": 1,
        "new: an id that stands twice in the answers file, of which the last counts": 1,
    }


def test_a_second_row_of_an_id_keeps_its_own_answer(tmp_path: Path) -> None:
    rows = [("a", "<extra_id_0> is first.", "One", ""), ("a", "<extra_id_0> is second.", "Two", "")]
    into = found(table(tmp_path, NEW, *rows, rows[0]), {"a": ["One"]})
    assert [(one.id, one.answer) for one in into.subsets["new"]] == [("a", "One"), ("a~2", "Two")]
    assert into.steps[0].dropped == {"the same probe twice": 1}


def test_rows_that_are_none_are_counted(tmp_path: Path) -> None:
    path = table(tmp_path, NEW, ("a", "<extra_id_0> is.", " ; ", ""), ("b", "No mask.", "x", ""), ("c", "too few"))
    path.write_bytes(path.read_bytes() + b"d,<extra_id_0> is caf\xe9.,x,\n,<extra_id_0> is e.,x,\n")
    into = found(path)
    assert [one.id for one in into.subsets["new"]] == ["rows.csv:6"]
    assert into.steps[0].dropped == {
        "a row of more or fewer cells than there are columns": 1,
        "unreadable text": 1,
        "without a mask": 1,
        "without answer": 1,
    }


@pytest.mark.parametrize(
    ("columns", "answers", "error"),
    [
        (
            ("id", "input", "target"),
            None,
            "rows.csv: its columns are id, input, target; files of CKL's probes have id, ",
        ),
        (NEW, "{broken", "answers.json is no JSON: Expecting property name"),
        (NEW, ["a"], r'answers.json: expected answers by id, {"ID": \["an answer"\]}, found a list'),
    ],
)
def test_a_file_of_another_form_is_one_line(
    tmp_path: Path, columns: Sequence[str], answers: object, error: str
) -> None:
    with pytest.raises(InputError, match=error) as caught:
        found(table(tmp_path, columns), answers)
    assert "\n" not in str(caught.value)


def test_an_empty_file_and_one_that_is_not_there_are_one_line(tmp_path: Path) -> None:
    (tmp_path / "rows.csv").write_text("")
    with pytest.raises(InputError, match="its columns are no line"):
        found(tmp_path / "rows.csv")
    with pytest.raises(InputError, match=r"examples\.sets\.new\.rows: .*none\.csv matches no file"):
        found(tmp_path / "none.csv")
