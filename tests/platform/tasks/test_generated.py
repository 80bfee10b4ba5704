"""Generated answers: KILT's metrics by hand, and the task around them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from sets import Prompter, kept, measured

from ticlm.platform.core.errors import InputError
from ticlm.platform.core.examples import Example
from ticlm.platform.core.settings import parse
from ticlm.platform.tasks.generated import GeneratedAnswers, accuracy, exact_match, f1, rouge_l


@pytest.mark.parametrize(
    ("said", "answers", "exact", "normal", "words"),
    [
        ("SUPPORTS", ["SUPPORTS"], 1, 1, 1),
        (" SUPPORTS \n", ["SUPPORTS"], 1, 1, 1),
        ("supports", ["SUPPORTS"], 0, 1, 1),
        ("The Tiber.", ["Tevere", "tiber"], 0, 1, 1),
        ("the river Tiber", ["Tiber"], 0, 0, 2 / 3),
        ("rye rye bread", ["rye bread bread"], 0, 0, 2 / 3),
        ("rye", ["wheat", "rye flour"], 0, 0, 2 / 3),
        ("", ["x"], 0, 0, 0),
        ("Zürich", ["zürich"], 0, 1, 1),
    ],
)
def test_metrics_by_hand(said: str, answers: Sequence[str], exact: int, normal: int, words: float) -> None:
    assert (accuracy(said, answers), exact_match(said, answers)) == (exact, normal)
    assert f1(said, answers) == pytest.approx(words)


def test_rouge_l_is_the_longest_common_subsequence_of_words_and_the_best_alternative() -> None:
    """police killed the gunman / police kill the gunman: 3 of 4 words in order (Lin, 2004)."""
    assert rouge_l("police kill the gunman", ["police killed the gunman"]) == pytest.approx(0.75)
    assert rouge_l("the gunman kill police", ["police killed the gunman"]) == pytest.approx(0.5)
    assert rouge_l("the gunman", ["nothing alike", "The gunman."]) == 1
    assert rouge_l("", ["x"]) == 0


def asked(**settings: Any) -> GeneratedAnswers:
    return parse(GeneratedAnswers, {"name": "qa", "examples": "toy"} | settings, "test")


EXAMPLES = (
    Example("1", "Oslo is in <extra_id_0> .", "Norway", ("Norge",), question="Where is Oslo?"),
    Example("2", "Rome is in <extra_id_0> .", "Italy", question="Where is Rome?"),
    Example("3", "<extra_id_0> rules.", "Ann"),
)


def test_a_task_asks_by_text_by_the_words_before_the_mask_or_by_the_question(tmp_path: Path) -> None:
    data = kept(tmp_path / "toy", *EXAMPLES)
    speech: dict[str, str | None] = {"Oslo is in": "Norge", "Rome is in": "France"}
    task = asked(ask="before-mask")
    assert task.labels(data, ()) == ("all",) and list(task.hashes(data, ("all",))) == ["all"]
    assert (task.axis, task.metric, task.higher_is_better) == ("probe", "exact-match", True)
    found = {title: m for (title, _), m in measured(task, Prompter(speech=speech), data).items()}
    assert (found["exact-match"].value, found["exact-match"].n) == (0.5, 2)
    assert found["left out: no words before the mask"].n == 1
    questions: dict[str, str | None] = {"Where is Oslo?": "norway", "Where is Rome?": "Italy"}
    task = asked(ask="question", score_by="accuracy")
    found = {title: m for (title, _), m in measured(task, Prompter(speech=questions), data).items()}
    assert found["accuracy"].value == 0.5 and found["left out: no question"].n == 1


def test_a_model_without_numbers_has_no_mean_and_one_without_the_subset_no_question(tmp_path: Path) -> None:
    data = kept(tmp_path / "toy", *EXAMPLES[:2])
    silent: dict[str, str | None] = dict.fromkeys(["Where is Oslo?", "Where is Rome?"])
    (only,) = measured(asked(ask="question"), Prompter(speech=silent), data).values()
    assert only.kind == "left out" and only.n == 2
    with pytest.raises(InputError, match="qa: examples toy have no subset other"):
        asked(split="other").hashes(data, ("other",))


def test_where_the_set_lies_is_no_identity_and_what_changes_a_number_is() -> None:
    same = asked().identity_at("all")
    assert same == asked(examples="else").identity_at("all")
    for change in ({"score_by": "f1"}, {"tokens": 3}, {"beams": 2}, {"stop": "."}, {"longest_input": 5}):
        assert asked(**change).identity_at("all") != same
