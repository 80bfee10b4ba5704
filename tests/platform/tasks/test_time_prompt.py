"""Dates before questions: which date, whether it is echoed, and that another date is another question."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from sets import Prompter, kept_subsets

from ticlm.core.errors import InputError
from ticlm.core.examples import Example
from ticlm.core.fingerprint import fingerprint
from ticlm.core.settings import parse
from ticlm.methods.objectives import Causal
from ticlm.platform.tasks.answer_ranks import AnswerRanks
from ticlm.platform.tasks.base import Measurement
from ticlm.platform.tasks.cells.key import cell_key
from ticlm.platform.tasks.generated import GeneratedAnswers
from ticlm.platform.tasks.time_prompt import Month

PROMPT = "As of {month} {year}, "
MAYOR = Example("m", "Who is mayor?", "Ann Berg", question="Who is mayor?", outdated=("Bo Berg", "Cy"))
MEETING = Example("d", "When do they meet?", "2 May", question="When do they meet?", about={"type": "DATE"})


def answers(**settings: Any) -> GeneratedAnswers:
    return GeneratedAnswers(name="qa", examples="toy", **{"form": "question", "time_prompt": PROMPT} | settings)


def by_title(found: list[Measurement]) -> dict[str, Measurement]:
    return {one.title: one for one in found}


@pytest.mark.parametrize(
    ("label", "month"),
    [
        ("202305", ("May", "2023")),
        ("202212-202302", ("February", "2023")),
        ("201301..201312", ("December", "2013")),
        ("20240401-20240407", ("April", "2024")),
    ],
)
def test_the_month_is_the_last_of_the_period(label: str, month: tuple[str, str]) -> None:
    assert Month.of(label) == month


@pytest.mark.parametrize("form", ["question", "text"])
def test_the_date_of_the_label_stands_before_every_question_and_its_echoes_are_counted(
    tmp_path: Path, form: str
) -> None:
    data = kept_subsets(tmp_path, {"all": [MAYOR, MEETING]}, {"all": [MAYOR, MEETING]})
    speech = {
        f"As of {month} 2023, {one.text}": said
        for month, one, said in (
            ("January", MAYOR, "2023."),
            ("January", MEETING, "January, 2023"),
            ("February", MAYOR, "January 2023"),
            ("February", MEETING, "the February"),
        )
    }
    said = Prompter(speech=speech)
    first, second = (by_title(list(answers(form=form).measure(said, data, label, 1))) for label in data.periods)
    assert [(found["echoed-date"].value, found["echoed-date"].n) for found in (first, second)] == [(1, 2), (0.5, 2)]
    assert [(found["echoed-date-temporal"].value, found["echoed-date-temporal"].n) for found in (first, second)] == [
        (1, 1),
        (1, 1),
    ]


def test_a_date_without_a_month_has_no_month_to_echo(tmp_path: Path) -> None:
    data = kept_subsets(tmp_path, {"all": [MAYOR, MEETING]})
    said = Prompter(speech={"In 2023: Who is mayor?": "January", "In 2023: When do they meet?": "2023"})
    found = by_title(list(answers(time_prompt="In {year}: ").measure(said, data, "202301", 1)))
    assert (found["echoed-date"].value, found["echoed-date-temporal"].value) == (0.5, 1)
    plain = Prompter(speech={"Who is mayor?": "2023", "When do they meet?": "2023"})
    assert not any("echoed" in one.title for one in answers(time_prompt="").measure(plain, data, "202301", 1))


def test_the_same_questions_with_another_date_have_another_key() -> None:
    def key(task: GeneratedAnswers, label: str) -> str:
        return cell_key("w", task, label, "same data", Causal())

    assert key(answers(), "202301") != key(answers(), "202302")
    assert key(answers(time_prompt=""), "202301") == key(answers(time_prompt=""), "202302")
    assert key(answers(), "202301") == key(answers(), "202212-202301"), "the model reads the same"


def test_tasks_from_before_there_was_a_time_prompt_keep_their_identity() -> None:
    plain = GeneratedAnswers(name="probes", examples="toy", sets=({"subset": "new", "tokens": 3},))
    assert fingerprint(plain) == "65e6479a513ad7526b7dd909acd0f87ef1fe9795eea1f6ba6b3aa7dc040d15d8"
    ranks = AnswerRanks(name="ranks", examples="toy")
    assert fingerprint(ranks) == "259968db4fe10f18d566f56d9ee115a8b66962ebeb6a31fb01217be240a4cf90"
    assert fingerprint(answers()) != fingerprint(answers(time_prompt=""))


@pytest.mark.parametrize(
    ("settings", "line"),
    [
        ({"time_prompt": "As of May 2023, "}, "must have {month} or {year} in it"),
        ({"time_prompt": "As of {month} {day}, "}, "must have {month} or {year} in it, and nothing else in braces"),
        ({"time_prompt": "As of {month:>9}, "}, "and nothing else in braces"),
        ({"time_prompt": "As of {month, "}, "expected '}'"),
        ({"sets": [{"subset": "new"}]}, "time_prompt needs periods as labels; leave out sets"),
        ({"form": "cloze"}, "form must be question or text"),
    ],
)
def test_prompts_that_cannot_be_are_one_line(settings: dict[str, Any], line: str) -> None:
    given = {"name": "qa", "examples": "toy", "form": "question", "time_prompt": PROMPT} | settings
    with pytest.raises(InputError) as error:
        parse(GeneratedAnswers, given, "study")
    assert line in str(error.value) and "\n" not in str(error.value)
