"""The benchmark of judged questions: what readers write, precision with intervals, and their agreement."""

from __future__ import annotations

from pathlib import Path

import pytest
from benchmarks.judged.sample import JudgedQuestion, form, read, write
from benchmarks.judged.table import kappa, lines
from benchmarks.judged.verdicts import read as read_verdicts
from benchmarks.judged.verdicts import record

from ticlm.platform.analysis.intervals import wilson


def judged(n: int, kind: str) -> JudgedQuestion:
    texts = (
        "Brenford",
        "7",
        "Who rules Brenford?",
        "Ada Stone",
        (),
        "Ada Stone rules Brenford.",
        "",
        ("It had none.",),
    )
    return JudgedQuestion(n, "set@1", kind, "202303", *texts, "first NAME")


def test_wilsons_interval_and_kappa_are_those_of_the_books() -> None:
    assert [round(one, 4) for one in wilson(0.9, 10)] == [0.5958, 0.9821]  # of statsmodels' proportion_confint
    assert wilson(0, 0) == (0.0, 1.0) and wilson(1, 5)[1] == 1.0
    first = [True] * 20 + [True] * 5 + [False] * 10 + [False] * 15
    other = [True] * 20 + [False] * 5 + [True] * 10 + [False] * 15
    assert kappa(first, other) == pytest.approx(0.4)  # Cohen's own kind of table: .7 agree, .5 by chance
    assert kappa([True, True], [True, True]) is None


def test_what_readers_say_becomes_a_table(tmp_path: Path) -> None:
    questions = [judged(n, "new" if n < 3 else "edited") for n in range(5)]
    assert write(iter(questions), tmp_path / "q") == 5 and read(tmp_path / "q") == questions
    readers = []
    for name, said in (("one", "1 ga # why\n\n4 n\n"), ("two", "1 r\n")):
        (tmp_path / name).write_text(said)
        record(tmp_path / name, range(5), tmp_path / f"{name}.jsonl")
        readers.append(read_verdicts(tmp_path / f"{name}.jsonl"))
    assert readers[0] == {0: frozenset(), 1: frozenset("ga"), 2: frozenset(), 3: frozenset(), 4: frozenset("n")}
    shown = list(lines(questions, readers))
    (new,) = (line for line in shown if line.startswith("new "))
    assert new.split() == ["new", "3", *["0.667", "(0.208–0.939)"] * 3]
    (edited,) = (line for line in shown if line.startswith("edited "))
    assert edited.split()[2::2] == ["0.500", "1.000", "0.500"], "all readers: what nobody fails"
    assert shown[-1] == "readers 1 and 2 agree on 4 of 5; Cohen's kappa 0.55"
    with pytest.raises(ValueError, match="reader 2 says nothing of 1 questions, of 3 first"):
        list(lines(questions, [readers[0], {n: frozenset() for n in (0, 1, 2, 4)}]))


@pytest.mark.parametrize("said", ["7 g", "1 x", "1 g\n1 a"])
def test_a_verdict_of_no_question_of_no_point_or_twice_is_refused(tmp_path: Path, said: str) -> None:
    (tmp_path / "said").write_text(said)
    with pytest.raises(ValueError, match="must be a question's number, once"):
        record(tmp_path / "said", range(5), tmp_path / "out")


def test_the_form_of_a_question_is_where_its_word_stands() -> None:
    assert form("Who or what is the mayor?") == form("How many arches are there?") == "first"
    assert form("The bridge has how many arches?") == "in place"
