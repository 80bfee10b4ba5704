"""KILT's files: pairs to train on, questions with all their answers, and what is left out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import builds
import pytest
from kiltfiles import ASKED, rows, trivia, written

from ticlm.core.errors import InputError
from ticlm.core.examples import Example, Examples
from ticlm.core.periods import Calendar
from ticlm.core.settings import parse
from ticlm.datasets.evalsets import recipe as sets
from ticlm.datasets.evalsets.recipe import ExampleSetRecipe
from ticlm.datasets.io.documents import Bad, Document, Piece
from ticlm.datasets.kilt.pairs import KiltPairs
from ticlm.datasets.kilt.rows import NO_QUESTION, parsed
from ticlm.datasets.text.pairs import parted

BAD: list[Any] = [
    {"id": "a", "input": "who", "output": []},
    {"id": "b", "input": "who"},
    {"id": "c", "input": "who", "output": [{"provenance": []}]},
    {"id": "d", "input": "who", "output": [{"answer": " "}, {"answer": ""}]},
    {"id": "e", "input": " ", "output": [{"answer": "me"}]},
    "{broken",
]


@pytest.fixture(autouse=True)
def here(monkeypatch: pytest.MonkeyPatch) -> None:
    builds.without_ray(monkeypatch)


def read(source: KiltPairs) -> Iterator[Document | Bad]:
    for entry in source.inputs(Calendar()):
        for piece in source.pieces(entry):
            assert isinstance(piece, Piece)
            yield from source.read(piece)


@pytest.mark.parametrize("name", ASKED)
def test_a_training_file_is_pairs_of_the_input_and_the_first_answer(name: str, tmp_path: Path) -> None:
    asked = {"questions": [trivia(tmp_path / "questions.json")]} if name == "tqa" else {}
    found = list(read(parse(KiltPairs, {"paths": written(tmp_path / "x.jsonl", rows(name)), **asked}, "test")))
    assert [parted(one.text) for one in found if isinstance(one, Document)] == [(t, a[0]) for t, a in ASKED[name]]
    assert {str(one.timestamp)[:10] for one in found if isinstance(one, Document)} == {"2019-08-01"}


@pytest.mark.parametrize("form", ["q.json", "q.jsonl"])
def test_questions_of_triviaqa_are_joined_by_id_in_both_forms(form: str, tmp_path: Path) -> None:
    paths = written(tmp_path / "x.jsonl", [*rows("tqa"), {"id": "tqa_9", "output": [{"answer": "x"}]}])
    (tmp_path / "of").mkdir()
    first, second = read(KiltPairs(paths=(paths,), questions=(trivia(tmp_path / "of" / form),)))
    assert isinstance(first, Document) and parted(first.text)[0] == "Which river runs through Rome?"
    assert isinstance(second, Bad) and second.reason == NO_QUESTION and second.where.endswith("x.jsonl:2")
    (other,) = list(read(KiltPairs(paths=(paths,))))[:1]
    assert isinstance(other, Bad) and other.reason == "without input"
    wrong = written(tmp_path / "wrong.jsonl", [{"id": "tqa_0"}])
    with pytest.raises(InputError, match=r"wrong\.jsonl has no TriviaQA question; rows need QuestionId"):
        list(read(KiltPairs(paths=(paths,), questions=(wrong,))))


def test_a_line_that_cannot_be_used_is_left_out_by_its_reason(tmp_path: Path) -> None:
    source = KiltPairs(paths=(written(tmp_path / "x.jsonl", [*BAD, *rows("nq")]),))
    found = list(read(source))
    reasons = [one.reason for one in found if isinstance(one, Bad)]
    none = ["without output"] * 3
    assert reasons == [*none, "an empty answer", "without input", "broken JSON line"] and len(found) == 8
    source.check(source.inputs(Calendar()))
    bad = KiltPairs(paths=(written(tmp_path / "bad.jsonl", BAD),))
    with pytest.raises(InputError, match="none of its first 6 rows is a pair; the first: without output"):
        bad.check(bad.inputs(Calendar()))


HALF = "\\ud83d"
"""Half of a surrogate pair, as JSON spells it."""
DEEP = "[" * 100_000
HOSTILE = [
    f'{{"id": "{HALF}", "input": "who", "output": [{{"answer": "x"}}]}}',
    f'{{"id": "1", "input": "who {HALF}", "output": [{{"answer": "x"}}]}}',
    f'{{"id": "2", "input": "who", "output": [{{"answer": "x"}}, {{"answer": "{HALF}"}}]}}',
    f'{{"id": "3", "input": "who", "output": {DEEP}',
    f'{{"id": {"[" * 900}{"]" * 900}, "input": 5, "output": [{{"answer": "x"}}]}}',
    '{"id": "5", "input": "who", "output": {"answer": "x"}}',
    '{"id": "6", "input": "who", "output": [5, "x", {"answer": 5}]}',
    "5",
]
REASONS = [
    *["unreadable text"] * 3,
    *["broken JSON line", "without input", "without output", "without output", "not a JSON object"],
]


def build_questions(folder: Path, path: str, **given: str) -> Examples:
    whole = {"name": "set", "version": "1", "examples": {"kind": "kilt", "paths": path, **given}}
    return sets.build(parse(ExampleSetRecipe, whole, "test"), str(folder / "root"))


def test_no_row_ends_an_import(tmp_path: Path) -> None:
    path = written(tmp_path / "x.jsonl", [*HOSTILE, *rows("nq")])
    found = list(read(KiltPairs(paths=(path,))))
    assert [(one.reason, one.where) for one in found if isinstance(one, Bad)] == [
        (reason, f"{path}:{line}") for line, reason in enumerate(REASONS, 1)
    ]
    made = build_questions(tmp_path, path)
    assert made.periods["201908"].subsets["all"].rows == 2
    (step,) = made.periods["201908"].steps
    assert step.dropped == dict(Counter(REASONS)) and step.read == 10


@pytest.mark.parametrize(
    ("written_as", "said"),
    [
        ('{"Data": 5}', r'q\.json: expected \{"Data": \[rows\]\} or a list of rows, found a int$'),
        ('{"data": []}', "or a list of rows, found a NoneType$"),
        ("5", "or a list of rows, found a int$"),
        (DEEP, r"q\.json is no JSON: it is nested too deeply"),
        ("{", r"q\.json is no JSON: Expecting"),
        ("[]", r"q\.json has no TriviaQA question"),
    ],
)
def test_a_file_that_has_no_questions_is_refused_in_a_line(written_as: str, said: str, tmp_path: Path) -> None:
    (tmp_path / "q.json").write_text(written_as)
    with pytest.raises(InputError, match=said) as refused:
        build_questions(tmp_path, written(tmp_path / "x.jsonl", rows("tqa")), questions=f"{tmp_path}/q.json")
    assert "\n" not in str(refused.value)


def test_rows_of_triviaqa_that_cannot_be_used_are_counted(tmp_path: Path) -> None:
    good = '{"QuestionId": "tqa_0", "Question": "Which river runs through Rome?"}'
    bad = [f'{{"QuestionId": "tqa_0", "Question": "{HALF}"}}', '{"QuestionId": 5, "Question": "x"}', "5", "null", DEEP]
    path = written(tmp_path / "x.jsonl", rows("tqa"))
    for name, text in {"q.json": f"[{', '.join([good, *bad[:4]])}]", "q.jsonl": "\n".join([good, *bad])}.items():
        (tmp_path / name).write_text(text)
        made = build_questions(tmp_path / f"of-{name}", path, questions=f"{tmp_path}/{name}")
        asked, step = made.periods["201908"].steps
        deep = {"broken JSON line": 1} if name.endswith("l") else {}
        assert step.kept == asked.kept == 1 and asked.dropped == deep | {
            **{"not a JSON object": 2, "unreadable text": 1, "without an id and a question": 1}
        }


def test_a_dev_file_is_a_set_in_which_every_answer_is_right(tmp_path: Path) -> None:
    path = written(tmp_path / "dev.jsonl", [*BAD, *rows("nq"), rows("nq")[0]])
    examples = {"kind": "kilt", "paths": path, "subset": "nq"}
    recipe = parse(ExampleSetRecipe, {"name": "nq-dev", "version": "1", "examples": examples}, "test")
    built = sets.build(recipe, str(tmp_path / "root"))
    first, second = built.read("201908", "nq")
    assert first == Example("nq_0", "who wrote the book", "Anna Berg", ("A. Berg",)) and second.answer == "1905"
    (step,) = built.periods["201908"].steps
    assert step.read == 9 and step.dropped == {
        **{"an empty answer": 1, "an id that came before": 1, "broken JSON line": 1},
        **{"without input": 1, "without output": 3},
    }


def test_questions_that_came_later_are_no_old_ones(tmp_path: Path) -> None:
    """A file of questions that is written again is read again, and is an input of the set, by which it is known."""
    path, asked = written(tmp_path / "dev.jsonl", rows("tqa")), tmp_path / "questions.json"
    trivia(asked)
    examples = {"kind": "kilt", "paths": path, "questions": [str(asked)]}
    recipe = parse(ExampleSetRecipe, {"name": "tqa", "version": "1", "examples": examples}, "test")
    (first,) = sets.build(recipe, str(tmp_path / "a")).read("201908", "all")
    assert [Path(one.path).name for one in recipe.examples.inputs()] == ["dev.jsonl", "questions.json"]
    asked.write_text(asked.read_text().replace("Which river runs through Rome?", "Which river is it that runs there?"))
    (second,) = sets.build(recipe, str(tmp_path / "b")).read("201908", "all")
    assert (first.text, second.text) == ("Which river runs through Rome?", "Which river is it that runs there?")


def test_an_answer_counts_once_and_without_spaces_around_it() -> None:
    row = parsed({"id": 7, "input": " q ", "output": [{"answer": ""}, {"answer": " a "}, {"answer": "a"}]})
    assert not isinstance(row, str) and (row.id, row.input, row.answers) == ("7", "q", ("a",))
