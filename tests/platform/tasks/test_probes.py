"""Probes: how answers and ranks become numbers, by hand."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from sets import PERIOD, Prompter, kept, kept_subsets, measured

from ticlm.core.errors import InputError
from ticlm.core.examples import MASK, Example, Examples
from ticlm.core.settings import parse
from ticlm.platform.tasks.answer_ranks import AnswerRanks
from ticlm.platform.tasks.answerer import NO_TOKEN, NOT_NUMBERS, Rank
from ticlm.platform.tasks.base import NOT_A_NUMBER
from ticlm.platform.tasks.generated import GeneratedAnswers, accuracy, rouge_l

KING = Example(
    "k", f"The king of Norland is {MASK}.", "Ole", ("Ole II",), source="P1", question="Who is king?", outdated=("Per",)
)
SEAT = Example("s", f"Acme has its seat in {MASK}.", "Bergen", source="P2")
TOWN = Example("t", f"{MASK} is the largest town.", "Oslo", source="P2", outdated=("Bergen",))


def answers(**settings: Any) -> GeneratedAnswers:
    return GeneratedAnswers(name="probes", examples="toy", **settings)


def ranks(**settings: Any) -> AnswerRanks:
    return AnswerRanks(name="ranks", examples="toy", **settings)


def speaking(*said: str | None) -> Prompter:
    return Prompter(speech=dict(zip((KING.text, SEAT.text, TOWN.text), said)))


def test_any_right_answer_counts_and_outdated_ones_are_told_apart(tmp_path: Path) -> None:
    found = measured(answers(), speaking("ole ii", "Oslo and Bergen", "Bergen"), kept(tmp_path, KING, SEAT, TOWN))
    exact = found["exact-match", ""]
    assert (exact.value, exact.n) == (1 / 3, 3)
    assert found["f1", ""].value == pytest.approx((1 + 1 / 2 + 0) / 3)
    assert (found["outdated-exact-match", ""].value, found["outdated-exact-match", ""].n) == (1 / 2, 2)
    assert (found["outdated-f1", ""].value, found["outdated-f1", ""].n) == (1 / 2, 2)
    assert [one.numbers for one in exact.predictions] == [
        {"outdated-exact": 0, "outdated-f1": 0},
        {},
        {"outdated-exact": 1, "outdated-f1": 1},
    ]
    assert not any(source for _, source in found), "relations have no numbers of their own"
    macro = found["exact-match-macro", ""]
    assert (macro.value, macro.n, macro.stderr) == (0.5, 2, None)
    assert [(one.id, one.text, one.exact) for one in exact.predictions] == [
        ("k", "ole ii", 1.0),
        ("s", "Oslo and Bergen", 0.0),
        ("t", "Bergen", 0.0),
    ]


def test_the_question_is_asked_where_that_is_wanted(tmp_path: Path) -> None:
    found = measured(
        answers(form="question", stop="."), Prompter(speech={"Who is king?": "Ole. He"}), kept(tmp_path, KING, SEAT)
    )
    assert found["exact-match", ""].n == 1 and found["exact-match", ""].value == 1
    assert found["left out: no question", ""].n == 1


def test_a_question_may_be_asked_as_a_cloze_up_to_the_end_of_its_sentence(tmp_path: Path) -> None:
    task = answers(form="question", as_cloze=f"{{asked}} It is {MASK}.")
    said = Prompter(speech={f"Who is king? It is {MASK}.": "Ole. So it is"})
    assert measured(task, said, kept(tmp_path, KING))["exact-match", ""].value == 1
    assert "as_cloze" in answers(form="question").without_meaning() and "as_cloze" not in task.without_meaning()


def test_probes_that_cannot_be_asked_are_counted_by_reason(tmp_path: Path) -> None:
    bad = [
        Example("1", "No mask here.", "x"),
        Example("2", f"{MASK} and {MASK}.", "x"),
        Example("3", f"Nobody is {MASK}."),
        Example("4", f"It is {MASK}.", "the"),
    ]
    found = measured(answers(), speaking("Ole"), kept(tmp_path, KING, *bad), rows=2)
    assert found["exact-match", ""].n == 1
    assert {title: one.n for (title, _), one in found.items() if title.startswith("left out")} == {
        "left out: no mask": 1,
        "left out: more than one mask": 1,
        "left out: no answer": 1,
        "left out: no answer with a word": 1,
    }


def test_a_question_longer_than_is_read_is_cut_and_counted(tmp_path: Path) -> None:
    said = Prompter(speech={KING.text: "Ole", f"{MASK} is the largest town. It": "Oslo"})
    lost = Example("l", f"A long story that ends in {MASK}.", "Oslo")
    tail = Example("t", f"{MASK} is the largest town. It lies at the end of the fjord.", "Oslo")
    found = measured(answers(longest_input=6), said, kept(tmp_path, KING, tail, lost))
    assert found["exact-match", ""].n == 2 and found["exact-match", ""].value == 1
    assert found["left out: a mask behind the first 6 tokens", ""].n == 1
    assert found["cut: a question longer than 6 tokens", ""].n == 1
    said = Prompter(speech={**said.speech, "A long story that ends in": "Oslo"})
    found = measured(answers(longest_input=6, released=True), said, kept(tmp_path / "all", KING, tail, lost))
    assert found["exact-match", ""].n == 3, "the code released with CKL asks it all the same"


def test_answers_can_be_cut_as_released(tmp_path: Path) -> None:
    """There, an answer of more tokens than are written could never be matched, unless it was cut as well."""
    long = Example("l", f"She sang {MASK}.", "the long way home")
    data = kept_subsets(tmp_path, {"invariant": [long]})
    some = Prompter(speech={long.text: "the long"})
    for cut, value in ((False, 0.0), (True, 1.0)):
        task = answers(sets=[{"subset": "invariant", "tokens": 2, "cut_answers": cut}])
        (one, *_) = task.measure(some, data, "invariant", 3)
        assert (one.metric, one.value) == ("exact-match", value)


def test_accuracy_is_word_for_word_and_rouge_l_the_longest_common_subsequence() -> None:
    """police killed the gunman / police kill the gunman: 3 of 4 words in order (Lin, 2004)."""
    assert [accuracy(text, ["SUPPORTS"]) for text in (" SUPPORTS \n", "supports", "")] == [1, 0, 0]
    assert rouge_l("police kill the gunman", ["police killed the gunman"]) == pytest.approx(0.75)
    assert rouge_l("the gunman kill police", ["police killed the gunman"]) == pytest.approx(0.5)
    assert rouge_l("the gunman", ["nothing alike", "The gunman."]) == 1
    assert rouge_l("", ["x"]) == 0


@pytest.mark.parametrize(("metric", "value"), [("accuracy", 0.5), ("rouge-l", 0.7), ("f1", 0.7), ("exact-match", 0.5)])
def test_a_text_is_asked_as_it_is_and_scored_by_one_metric(tmp_path: Path, metric: str, value: float) -> None:
    claim, name = Example("c", "Is it so?", "SUPPORTS"), Example("n", "Who [SEP] where?", "Ann Berg", ("Ann Lee",))
    said = Prompter(speech={claim.text: "SUPPORTS", name.text: "Ann of Oslo"})
    task = answers(form="text", score_by=metric)
    found = measured(task, said, kept(tmp_path, claim, name))
    assert found[metric, ""].value == pytest.approx(value) and task.metric == metric
    assert (("f1", "") in found) == (metric in ("f1", "exact-match"))


def test_where_the_set_lies_is_no_identity_and_what_changes_a_number_is() -> None:
    assert answers().identity_at("all") == answers().model_copy(update={"examples": "else"}).identity_at("all")
    for change in (
        {"score_by": "f1"},
        {"tokens": 3},
        {"beams": 2},
        {"stop": ""},
        {"longest_input": 5},
        {"form": "text"},
    ):
        assert answers(**change).identity_at("all") != answers().identity_at("all")


def test_a_model_whose_logits_are_no_numbers_has_no_value(tmp_path: Path) -> None:
    (found,) = measured(answers(), speaking(None, "Bergen"), kept(tmp_path, KING, SEAT)).values()
    assert (found.title, found.n) == (f"left out: {NOT_A_NUMBER}", 2)


def test_precision_at_k_takes_the_best_ranked_answer(tmp_path: Path) -> None:
    places: dict[tuple[str, str], Rank | str] = {
        (KING.text, "Ole"): Rank(7, 1),
        (KING.text, "Ole II"): Rank(4, 2),
        (SEAT.text, "Bergen"): Rank(1, 1),
        (TOWN.text, "Oslo"): NO_TOKEN,
    }
    data = kept(tmp_path, KING, SEAT, TOWN)
    found = measured(ranks(), Prompter(places=places), data)
    assert [found[f"p@{k}", ""].value for k in (1, 5, 10)] == [0.5, 1.0, 1.0]
    assert found["left out: an answer without a token", ""].n == 1
    assert found["p@1-macro", ""].value == 0.5
    alone = measured(ranks(single_token=True), Prompter(places=places), data)
    assert [alone[f"p@{k}", ""].value for k in (1, 5, 10)] == [0.5, 0.5, 1.0]
    (broken,) = measured(
        ranks(), Prompter(places={**places, (SEAT.text, "Bergen"): NOT_NUMBERS}), kept(tmp_path / "b", SEAT)
    ).values()
    assert broken.title == f"left out: {NOT_A_NUMBER}"


def test_subsets_are_labels_over_all_periods(tmp_path: Path) -> None:
    data = kept_subsets(tmp_path, {"invariant": [KING], "new": []}, {"invariant": [SEAT], "new": [TOWN]})
    task = answers(sets=[{"subset": "invariant"}, {"subset": "new", "tokens": 9}])
    assert task.axis == "probe" and answers().axis == "period"
    assert task.labels(data, ()) == ("invariant", "new")
    hashes = task.hashes(data, task.labels(data, ()))
    assert hashes["new"] != hashes["invariant"]
    said = speaking("Ole", "Bergen", "Oslo")
    (both, *_), (one, *_) = (list(task.measure(said, data, label, 1)) for label in ("invariant", "new"))
    assert (both.n, both.value, one.n, one.value) == (2, 1.0, 1, 1.0)
    assert task.identity_at("new") == answers(sets=[{"subset": "new", "tokens": 9}]).model_copy(update={"examples": ""})
    assert PERIOD in data.periods


def test_a_period_without_the_subset_has_nothing_to_ask(tmp_path: Path) -> None:
    """As new facts are of all months but the first; a subset of no period is a mistake."""
    data = kept_subsets(tmp_path, {"invariant": [KING]}, {"new": [TOWN]}, {"new": []})
    labels, task = [*data.periods], GeneratedAnswers(name="x", examples="x", split="new")
    assert [*task.hashes(data, labels)] == labels[1:2] and task.labels(data, ()) == tuple(labels[1:])
    with pytest.raises(InputError, match=f"period {labels[0]} of examples toy@1 has no subset updated"):
        GeneratedAnswers(name="x", examples="x", split="updated").hashes(data, labels)


def test_a_subset_that_is_not_there_is_one_line(tmp_path: Path) -> None:
    data = kept_subsets(tmp_path, {"invariant": [KING]})
    with pytest.raises(InputError, match=r"^probes: toy@1 has no subset updated; it has invariant$"):
        answers(sets=[{"subset": "updated"}]).hashes(data, ("updated",))
    ckl = Examples(data.store, data.info.model_copy(update={"name": "ckl-probes"}))
    phases = ("new-easy-p1", "new-easy-p2")
    with pytest.raises(InputError) as lacking:
        answers(sets=[{"subset": phase} for phase in phases]).hashes(ckl, phases)
    assert str(lacking.value) == (
        "probes: ckl-probes@1 has no subset new-easy-p1, new-easy-p2; it has invariant. newLAMA_easy_small_split1.csv "
        "and newLAMA_easy_small_split2.csv make it: `ticlm data build ckl-probes --set version=1-whole`, and "
        "`examples: ckl-probes@1-whole` in the study"
    )


@pytest.mark.parametrize(
    ("settings", "line"),
    [
        ({"sets": [{"subset": "new"}, {"subset": "new"}]}, "sets: new is named twice"),
        ({"form": "question", "as_cloze": "{asked} It is"}, "as_cloze must have {asked} and <extra_id_0> in it"),
        ({"as_cloze": "{asked} It is <extra_id_0>."}, "form must be one of these"),
        ({"kind": "answer-ranks", "best": [5, 10]}, "best must be numbers from 1 on, 1 among them, got 5, 10"),
        ({"kind": "answer-ranks", "best": [0, 1]}, "best must be numbers from 1 on"),
    ],
)
def test_settings_that_cannot_be_are_one_line(settings: dict[str, Any], line: str) -> None:
    kind = AnswerRanks if settings.get("kind") else GeneratedAnswers
    with pytest.raises(InputError, match=line):
        parse(kind, {"name": "probes", "examples": "toy", **settings}, "study")
