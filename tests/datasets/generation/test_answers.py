"""Answers by rules: numbers in words, entities, questions that give themselves away, and questions without a model."""

from __future__ import annotations

import pytest

from ticlm.datasets.generation import rules
from ticlm.datasets.generation.answers import same, span_of
from ticlm.datasets.generation.filters import GIVEN_AWAY, IN_QUESTION, NOT_LISTED, QuestionFilters, compared
from ticlm.datasets.generation.passages import ArticlePassage, Draft, TaggedText, as_example
from ticlm.datasets.generation.replies import Reply
from ticlm.datasets.generation.stand_in import deterministic
from ticlm.datasets.text.spans import Span, restore
from ticlm.datasets.text.taggers import RulesTagger

OLD, NEW = "The mayor of Brenford is Ada Stone.", "The mayor of Brenford is Carla Dunn."


@pytest.mark.parametrize(
    "first, second",
    [
        *(("28", "Twenty-Eight"), ("16th", "sixteenth"), ("2,000,000", "2 million"), ("1.5 million", "1,500,000")),
        *(
            ("three hundred and four", "304"),
            ("the Tigers", "Tigers"),
            ("U.S.", "US"),
            ("Second World War", "2nd World War"),
        ),
    ],
)
def test_answers_that_are_written_in_two_ways_are_the_same(first: str, second: str) -> None:
    assert same(first, second) and same(second, first)


@pytest.mark.parametrize("first, second", [("16th", "17th"), ("28", "28th"), ("2 million", "2"), ("Iran", "Iraq")])
def test_answers_that_differ_are_not(first: str, second: str) -> None:
    assert not same(first, second)


def test_an_answer_names_an_entity_of_its_passage_whatever_its_case_and_article() -> None:
    text = "Ada Stone met the Tigers in 2023."
    spans = [Span(0, 9, "PERSON"), Span(10, 13, "x"), Span(14, 24, "ORG")]
    assert span_of("the tigers", text, spans) == spans[2] == span_of("Tigers", text, spans)
    assert span_of("Stone", text, spans) is None is span_of("—", text, spans)


def draft(question: str, *answers: str) -> Draft:
    versions = [
        TaggedText(text, tuple(spans))
        for text, spans in RulesTagger().tagged([OLD, f"{NEW} She is 28 and not Ada Stone."])
    ]
    return Draft(ArticlePassage("7#1", "Brenford", "7", versions[1], versions[0]), question, answers)


MAYOR = "Who is the mayor?"
ARCHES = ArticlePassage(
    *("7#2", "Brenford", "7"),
    TaggedText("It has 28 arches.", (Span(7, 9),)),
    TaggedText("It has Twenty-Eight arches.", (Span(7, 19),)),
)


@pytest.mark.parametrize(
    "given, filters, outcome",
    [
        (draft(MAYOR, "Ada Stone", "Bea Low"), {}, NOT_LISTED),
        (draft(MAYOR, "Carla Dunn", "Carla Dunn"), {}, NOT_LISTED),  # the first answer is the older passage's
        (draft(MAYOR, "ada stone", "Ada Stone"), {}, rules.SAME),
        (draft("Is Ada Stone mayor?", "Ada Stone", "Carla Dunn"), {"answer_in_question": "drop"}, IN_QUESTION),
        (Draft(ARCHES, "How many arches has it?", ("Twenty-Eight", "28")), {}, rules.SAME),
        (draft(MAYOR, "Ada Stone", "Carla Dunn"), {"max_overlap": 0.9}, GIVEN_AWAY),
        (draft(MAYOR, "ada stone", "carla dunn."), {"max_overlap": 1.0}, ("Ada Stone", "Carla Dunn")),
        (draft("Is Ada Stone mayor?", "Ada Stone", "Carla Dunn"), {}, ("Ada Stone", "Carla Dunn")),
    ],
)
def test_rules_leave_out_questions_for_a_reason(given: Draft, filters: dict[str, object], outcome: object) -> None:
    found = compared(given, QuestionFilters.model_validate(filters))
    assert (found if isinstance(found, str) else found.answers) == outcome


def test_an_example_says_where_it_is_from() -> None:
    found = compared(draft("Is Ada Stone mayor?", "Ada Stone", "Carla Dunn"), QuestionFilters())
    assert isinstance(found, Draft)
    example = as_example(found, 0, "202303")
    assert (example.id, example.answer, example.outdated) == ("7#1", "Carla Dunn", ("Ada Stone",))
    assert example.text == example.question == "Is Ada Stone mayor?"
    about = example.about
    assert (about["type"], about["answer-in"], about["old"], about["month"]) == ("NAME", "question", OLD, "202303")
    assert about["entities"] == '["Carla Dunn", "28", "Ada Stone"]'
    text, spans = restore(about["input"], about["target"])
    assert text == f"Brenford. {about['context']}" and len(spans) == 3 and about["input"].startswith("Brenford. The")
    assert as_example(found, 2, "202303").id == "7#1.2"


def test_a_sentence_in_which_one_entity_changed_makes_a_question() -> None:
    tagger = RulesTagger()
    town = "Brenford is a town with 400 people. "

    def outcome(old: str, new: str) -> list[Reply | str]:
        return list(rules.updates(old, new, "2023-03-01", tagger))

    asked = Reply("Who or what is the mayor of Brenford?", ("Ada Stone", "Carla Dunn"))
    assert outcome(OLD, NEW) == outcome(town + OLD, town + NEW) == [asked]
    assert outcome(OLD, OLD.replace("Ada", "Ada May")) == [rules.NESTED]
    assert outcome(OLD, OLD) == outcome(OLD, f"Since May, {NEW}") == [rules.NO_UPDATE], "more than an entity changed"
    assert outcome("It has 4 and 5 wings in Brenford.", "It has 5 and 6 wings in Brenford.") == [rules.NO_UPDATE]
    assert outcome("The bridge of Ely has 4 arches.", "The bridge of Ely has May 2023 arches.") == [rules.NO_UPDATE]
    assert outcome("The bridge of Ely has 4000 arches.", "The bridge of Ely has 4,000 arches.") == [rules.SAME]


ALASKA = "As a country of its own, Alaska would be the {} largest of the world, ahead of Iran."
AZERBAIJAN = "The country of Azerbaijan, which is still developing, ranks {} on the Human Development Index."


@pytest.mark.parametrize(
    ("sentence", "old", "new", "question"),
    [
        (ALASKA, "16th", "17th", ALASKA.format("what").replace("Iran.", "Iran?")),
        (AZERBAIJAN, "88th", "91st", AZERBAIJAN.format("what").replace("Index.", "Index?")),
        ("The rate of Brenford is {} percent.", "1.5", "15", "The rate of Brenford is how many percent?"),
        ("The frost of Brenford was at {} degrees.", "−5", "5", "The frost of Brenford was at how many degrees?"),
    ],
)
def test_the_papers_examples_and_changes_of_a_point_alone_come_out_of_the_rules(
    sentence: str, old: str, new: str, question: str
) -> None:
    """The facts of the paper's two examples, in words of our own."""
    (found,) = rules.updates(sentence.format(old), sentence.format(new), "2023-03-01", RulesTagger())
    assert found == Reply(question, (old, new))


def test_what_changed_in_spelling_alone_is_no_update() -> None:
    def outcome(old: str, new: str) -> list[Reply | str]:
        return list(rules.updates(old, new, "2023-03-01", RulesTagger()))

    place = "The mayor built the house of {} in Brenford."
    assert outcome(place.format("Bahá'í Faith"), place.format("Baháʼí Faith")) == [rules.SAME]
    assert outcome(place.format("Archeology Institute"), place.format("Archaeology Institute")) == [rules.SAME]
    both = "The mayor’s house in Brenford has {} rooms."
    assert outcome(both.format(4), both.replace("’", "'").format(5)) == [
        Reply("The mayor's house in Brenford has how many rooms?", ("4", "5"))
    ], "an apostrophe of another form is no second change"


def test_a_question_is_about_a_whole_sentence() -> None:
    text = "The poem of Brenford was set to music by Samuel A. Ward in the U.S. The rest is unknown."
    found = [one for one in rules.about(text, "2023-03-01", RulesTagger()) if isinstance(one, Reply)]
    assert [one.question for one in found] == ["The poem of Brenford was set to music by who or what in the U.S.?"]


def test_the_stand_in_writes_and_judges_the_papers_examples_by_rules() -> None:
    def say(text: str) -> str:
        return deterministic([{"role": "user", "content": text}], 0)

    numbers = "Are ’28’ and ’Twenty-Eight’ semantically equivalent or meaning the same?\nOptions:\n"
    assert say(f"{numbers}(A) True\n(B) False\nAnswer:") == "(A) True"
    assert say(f"{numbers}(A) False\n(B) True\nAnswer:") == "(B) True"
    assert say("Write a poem.") == ""
