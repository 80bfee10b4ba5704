"""Answers, choices and what a model says: worked by hand, then against transformers on real tokens."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sets import Prompter, kept, measured
from speakers import byte_level, said_directly, speaker

from ticlm.core.errors import InputError
from ticlm.core.examples import Example
from ticlm.core.fingerprint import fingerprint
from ticlm.core.settings import parse
from ticlm.datasets.text.matching import normalised
from ticlm.methods.objectives import Causal
from ticlm.platform.eval.causal import CausalCheckpoint
from ticlm.platform.eval.checkpoint import load_checkpoint
from ticlm.platform.tasks.answerer import NO_TOKEN, TOO_LONG, Continuation
from ticlm.platform.tasks.base import Task
from ticlm.platform.tasks.generated import GeneratedAnswers
from ticlm.platform.tasks.questions import AnswerPerplexity, ExactMatch, MultipleChoice, QuestionTask

CAPITAL = Example("1", "The capital of France:", answer="Paris", source="a")
MAYOR = Example("2", "The mayor of Oslo:", answer="Anne", source="b")


def answer(**settings: Any) -> AnswerPerplexity:
    return AnswerPerplexity(name="answers", examples="toy", **settings)


def choice(**settings: Any) -> MultipleChoice:
    return MultipleChoice(name="choices", examples="toy", **settings)


def match(**settings: Any) -> ExactMatch:
    return ExactMatch(name="said", examples="toy", **settings)


def came(logprob: float, tokens: int = 1, cut: bool = False) -> Continuation:
    return Continuation(logprob, tokens, False, cut)


ANSWERS = Prompter(continuations={(CAPITAL.text, " Paris"): came(-6, 4), (MAYOR.text, " Anne"): came(-5, 2, cut=True)})


def test_the_perplexity_of_answers_by_hand(tmp_path: Path) -> None:
    found = measured(answer(), ANSWERS, kept(tmp_path, CAPITAL, MAYOR))
    assert found["nll", ""].value == pytest.approx(5.620115, abs=1e-6)
    assert math.exp(found["nll", ""].value) == pytest.approx(275.920976, abs=1e-5)
    assert (found["nll", ""].n, found["nll", "a"].value, found["nll", "b"].value) == (2, 6.0, 5.0)
    assert found["cut: a question longer than the model's window", ""].n == 1


def test_normalised_by_length_as_released(tmp_path: Path) -> None:
    found = measured(answer(length_normalised=True), ANSWERS, kept(tmp_path, CAPITAL, MAYOR))
    assert found["nll", ""].value == pytest.approx(2.120115, abs=1e-6)


def test_answers_of_next_to_no_probability(tmp_path: Path) -> None:
    unlikely = {(CAPITAL.text, " Paris"): came(-800), (MAYOR.text, " Anne"): came(-900)}
    found = measured(answer(), Prompter(continuations=unlikely), kept(tmp_path, CAPITAL, MAYOR))
    assert found["nll", ""].value == pytest.approx(899.306853, abs=1e-6)


@pytest.mark.parametrize("reason", [TOO_LONG, NO_TOKEN])
def test_an_answer_that_cannot_be_scored_is_left_out_and_counted(tmp_path: Path, reason: str) -> None:
    some = Prompter(continuations={(CAPITAL.text, " Paris"): came(-6), (MAYOR.text, " Anne"): reason})
    found = measured(answer(), some, kept(tmp_path, CAPITAL, MAYOR))
    assert (found["nll", ""].value, found["nll", ""].n) == (6.0, 1)
    assert found[f"left out: an answer {reason}", ""].n == 1
    (alone,) = measured(answer(), some, kept(tmp_path / "alone", MAYOR)).values()
    assert alone.title == f"left out: an answer {reason}"


@pytest.mark.parametrize("task", [answer(), match()])
def test_texts_without_an_answer_are_no_questions(tmp_path: Path, task: QuestionTask) -> None:
    prompter = Prompter(continuations=ANSWERS.continuations, speech={CAPITAL.text: "Paris"})
    text, blank = Example("3", "Once."), Example("4", "The king of France:", answer=" ")
    found = measured(task, prompter, kept(tmp_path, text, CAPITAL, blank), rows=1)
    assert found[task.metric, ""].n == 1
    assert {one.title: one.n for one in found.values() if one.metric != task.metric} == {
        "left out: an empty answer": 1,
        "left out: no answer": 1,
    }
    with pytest.raises(InputError, match=rf"{task.name}: examples toy \(202301, all\) have no answer"):
        measured(task, prompter, kept(tmp_path / "texts", text, text))


def test_a_question_loses_the_spaces_that_the_delimiter_brings(tmp_path: Path) -> None:
    data = kept(tmp_path, Example("1", "Q:\n ", answer="A"))
    for delimiter, pair in ((" ", ("Q:", " A")), ("\nAnswer: ", ("Q:", "\nAnswer: A")), ("", ("Q:\n ", "A"))):
        task = answer(delimiter=delimiter)
        assert measured(task, Prompter(continuations={pair: came(-1)}), data)["nll", ""].value == 1.0


WHICH = Example("1", "Which?", choices=("yes", "not at all", "no"), source="a")
OTHER = Example("2", "And?", choices=("long one", "ab"), source="b")


def chosen(**logprobs: float) -> Prompter:
    tokens = {"yes": 1, "not at all": 3, "no": 1, "long one": 2, "ab": 1}
    texts = {text.replace(" ", "_"): (example.text, text) for example in (WHICH, OTHER) for text in example.choices}
    return Prompter(
        continuations={
            (question, f" {text}"): came(logprobs.get(name, -9.0), tokens[text])
            for name, (question, text) in texts.items()
        }
    )


def test_the_likeliest_choice_is_what_is_answered(tmp_path: Path) -> None:
    data = kept(tmp_path, WHICH, OTHER)
    found = measured(choice(), chosen(yes=-1, long_one=-5, ab=-4), data)
    assert [(place, one.value, one.n) for place, one in found.items()] == [
        (("accuracy", ""), 0.5, 2),
        (("accuracy", "a"), 1.0, 1),
        (("accuracy", "b"), 0.0, 1),
    ]
    assert found["accuracy", ""].stderr == pytest.approx(math.sqrt(1 / 8), rel=0.06)


def test_choices_per_token_or_byte(tmp_path: Path) -> None:
    data, prompter = kept(tmp_path, OTHER), chosen(long_one=-7, ab=-3.2)
    per = {
        name: measured(choice(per=name), prompter, data)["accuracy", ""].value for name in ("choice", "token", "byte")
    }
    assert per == {"choice": 0.0, "token": 0.0, "byte": 1.0}
    assert measured(choice(per="token"), chosen(long_one=-6, ab=-3.2), data)["accuracy", ""].value == 1.0


def test_a_model_that_knows_nothing_gets_what_guessing_gives(tmp_path: Path) -> None:
    data = kept(tmp_path, WHICH, OTHER)
    assert measured(choice(), chosen(), data)["accuracy", ""].value == pytest.approx((1 / 3 + 1 / 2) / 2)


def test_questions_without_two_choices_are_counted(tmp_path: Path) -> None:
    alone = Example("3", "Which?", answer="yes", choices=("yes",))
    empty = Example("4", "Which?", choices=("yes", " "))
    found = measured(choice(), chosen(yes=-1), kept(tmp_path, WHICH, alone, empty, CAPITAL))
    assert {one.title: one.n for one in found.values()} == {
        "accuracy": 1,
        "left out: an empty answer": 1,
        "left out: no choices": 2,
    }
    with pytest.raises(InputError, match=r"choices: examples toy \(202301, all\) have no choices"):
        measured(choice(), chosen(), kept(tmp_path / "none", CAPITAL))


def test_a_question_with_a_choice_that_does_not_fit_is_left_out_whole(tmp_path: Path) -> None:
    prompter = chosen(yes=-1)
    longer = {**prompter.continuations, (WHICH.text, " no"): TOO_LONG}
    found = measured(choice(), Prompter(continuations=longer), kept(tmp_path, WHICH, OTHER))
    assert found["accuracy", ""].n == 1
    assert found[f"left out: an answer {TOO_LONG}", ""].n == 1


def test_a_model_that_cannot_speak_is_not_one_that_answers_wrongly(tmp_path: Path) -> None:
    data = kept(tmp_path, CAPITAL, MAYOR)
    (found,) = measured(match(), Prompter(speech={CAPITAL.text: "Paris", MAYOR.text: None}), data).values()
    assert (found.title, found.n) == ("left out: all, as a loss is not a number", 2)


@pytest.mark.parametrize("task", [answer(), choice()])
def test_a_model_that_gives_no_numbers_has_no_mean(tmp_path: Path, task: QuestionTask) -> None:
    broken = {(WHICH.text, f" {text}"): came(math.nan if text == "no" else -1.0) for text in WHICH.choices}
    data = kept(tmp_path, Example("1", WHICH.text, answer="no", choices=WHICH.choices))
    (found,) = measured(task, Prompter(continuations=broken), data).values()
    assert found.title == "left out: all, as a loss is not a number"


@pytest.mark.parametrize(
    "said, exact, begins",
    [
        ("Paris", 1, 1),
        (" the PARIS! ", 1, 1),
        ("Paris, of course", 0, 1),
        ("Parisian", 0, 1),
        ("Paname", 1, 1),
        ("\nParis", 0, 0),
        ("Lyon\nParis", 0, 0),
        ("Paris\nLyon", 1, 1),
        ("", 0, 0),
        ("It is Paris", 0, 0),
    ],
)
def test_what_a_model_says(tmp_path: Path, said: str, exact: int, begins: int) -> None:
    data = kept(tmp_path, Example("1", "The capital of France:", answer="Paris", aliases=("Paname", "The")))
    prompter = Prompter(speech={"The capital of France:": said})
    assert measured(match(), prompter, data)["accuracy", ""].value == exact
    assert measured(match(match="begins"), prompter, data)["accuracy", ""].value == begins


def test_an_answer_that_nothing_is_left_of_is_left_out(tmp_path: Path) -> None:
    data = kept(tmp_path, Example("1", "Article:", answer="The"), CAPITAL)
    prompter = Prompter(speech={"Article:": "anything", CAPITAL.text: "Lyon"})
    found = measured(match(match="begins"), prompter, data)
    assert (found["accuracy", ""].value, found["accuracy", ""].n) == (0.0, 1)
    assert found["left out: an answer of punctuation and articles", ""].n == 1


def test_a_model_goes_on_where_the_delimiter_ends(tmp_path: Path) -> None:
    data = kept(tmp_path, Example("1", "Who? ", answer="Zoë"))
    prompter = Prompter(speech={"Who?\nAnswer:": " Zoë"})
    assert measured(match(delimiter="\nAnswer: "), prompter, data)["accuracy", ""].value == 1.0


@pytest.mark.parametrize(("answer", "said"), [("1.5", "15"), ("-5 degrees", "5 degrees"), ("2-1", "21")])
def test_a_number_without_its_point_or_sign_is_another_answer(tmp_path: Path, answer: str, said: str) -> None:
    data = kept(tmp_path, Example("1", "How much?", answer=answer))
    right, wrong = (Prompter(speech={"How much?": one}) for one in (f"{answer}.", said))
    assert measured(match(), right, data)["accuracy", ""].value == 1.0
    assert measured(match(), wrong, data)["accuracy", ""].value == 0.0


@given(st.text(max_size=30))
def test_normalising_again_changes_nothing_but_articles(text: str) -> None:
    once = normalised(text)
    assert once == " ".join(once.split()) and normalised(once) == once
    assert any(map(str.isdigit, once)) or not set(once) & set("!?.,'\"")
    assert not {"a", "an", "the"} & set(once.split())


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> CausalCheckpoint:
    return load_checkpoint(speaker(tmp_path_factory.mktemp("model"), byte_level(), window=40), Causal())


REAL = (
    Example("1", "Paris is the capital of", answer="France", choices=("France", "Köln", "a firm in Łódź")),
    Example("2", "The mayor of", answer="Ålesund", choices=("Ålesund", "Paris")),
    Example(
        "3", "In 2019 the firm moved to Köln; in 2021 it moved again, to", answer="Łódź", choices=("Łódź", "Paris")
    ),
    Example("4", "Too long", answer="x y z " * 20, choices=("x y z " * 20, "no")),
)


def direct(checkpoint: CausalCheckpoint, question: str, text: str) -> float:
    def ids(of: str) -> list[int]:
        return list(checkpoint.tokenizer(of, add_special_tokens=False)["input_ids"])

    before, whole = ids(question), ids(f"{question} {text}")
    after = whole[len(before) :]
    return said_directly(checkpoint.folder, before[-(41 - len(after)) :], after)


@pytest.mark.parametrize("rows", [1, 2, 100])
def test_real_tokens_are_scored_as_by_transformers_alone(
    tmp_path: Path, checkpoint: CausalCheckpoint, rows: int
) -> None:
    data = kept(tmp_path, *REAL)
    found = measured(answer(), checkpoint, data, rows)
    losses = [-direct(checkpoint, e.text, e.answer or "") for e in REAL[:3]]
    expected = math.log(sum(math.exp(loss) for loss in losses) / 3)
    assert found["nll", ""].value == pytest.approx(expected, abs=1e-4)
    assert found[f"left out: an answer {TOO_LONG}", ""].n == 1
    right = [max(e.choices, key=lambda text: direct(checkpoint, e.text, text)) == e.choices[0] for e in REAL[:3]]
    assert measured(choice(), checkpoint, data, rows)["accuracy", ""].value == pytest.approx(sum(right) / 3)


def test_what_a_real_model_says_is_right(tmp_path: Path, checkpoint: CausalCheckpoint) -> None:
    questions = [e.text for e in REAL[:3]]
    said = checkpoint.generate(questions, 8, "\n")
    asked = [Example(str(i), q, answer=one or "nothing") for i, (q, one) in enumerate(zip(questions, said))]
    data = kept(tmp_path, *asked, Example("wrong", questions[0], answer="something else"))
    assert measured(match(tokens=8), checkpoint, data)["accuracy", ""].value == 0.75


@pytest.mark.parametrize("kind", ["answer-perplexity", "multiple-choice", "exact-match", "noun-perplexity"])
def test_a_study_names_them_by_their_kind(kind: str) -> None:
    from ticlm.platform.study.settings import Study

    study = {
        "name": "s",
        "corpus": "toy@1",
        "periods": {"initial": "202301", "step": "month", "last": "202302"},
        "model": {"name": "tiny"},
        "batch_rows": 4,
        "length": 16,
        "initial": {"budget": {"steps": 6}, "schedule": {"kind": "cosine", "max_rate": 1e-2}},
        "continual_tokens": {"per_period": 1024},
        "methods": ["cyclic-cosine"],
        "evaluations": [{"kind": kind, "name": "mine", "examples": "wiki@1"}],
    }
    (task,) = parse(Study, study, "study").evaluations
    assert isinstance(task, Task) and task.model_dump()["kind"] == kind


def test_settings_that_change_a_number_change_what_a_cell_is_known_by() -> None:
    tasks = [answer(), answer(length_normalised=True), answer(delimiter=""), choice(), choice(per="byte"), match()]
    assert len({fingerprint(task) for task in [*tasks, match(match="begins"), match(tokens=8)]}) == 8


def test_answers_that_were_compared_without_the_points_of_numbers_have_cells_of_their_own() -> None:
    """The fingerprints of these tasks while 1.5 and 15 were one answer: cells with them are never shown as new ones."""
    generated = GeneratedAnswers(name="x", examples="x")
    assert fingerprint(ExactMatch(name="x", examples="x")) != (
        "26b8b5d10609438fec465df33b5313b233c4532e600955d5fa10a1501628128a"
    )
    assert fingerprint(generated) != "7010e46f0c59d5f0553a7deef6ebcca7bd6b3551ce54255edf11adcd9f742335"
