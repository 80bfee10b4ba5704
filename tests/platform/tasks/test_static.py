"""Benchmarks without periods: files of questions, the prompts that come of them, what is right, and the means."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
import speakers
from hypothesis import given
from hypothesis import strategies as st

from ticlm.core.errors import InputError
from ticlm.core.settings import parse
from ticlm.methods.objectives import Causal
from ticlm.platform.eval import cells as evaluation
from ticlm.platform.results.of_plan import study_result
from ticlm.platform.results.study_result import STATIC_COLUMNS
from ticlm.platform.study import plan
from ticlm.platform.study.settings import Study
from ticlm.platform.tasks.answerer import NO_TOKEN, TOO_LONG, Continuation
from ticlm.platform.tasks.base import Measurement
from ticlm.platform.tasks.cells.cell import Cell
from ticlm.platform.tasks.cells.key import cell_key
from ticlm.platform.tasks.static import files as taskfile
from ticlm.platform.tasks.static import part
from ticlm.platform.tasks.static.part import CORE, Part
from ticlm.platform.tasks.static.task import Static

Rows = Sequence[Mapping[str, Any]]
FAST = {"kind": "cosine", "max_rate": 5e-3, "warmup_steps": 1}

CAPITALS = [
    {"query": f" The capital of land {i} is ", "choices": [f"town {i}", "the sea", "unknown to all"], "gold": 0}
    for i in range(12)
]
BEGINNINGS = [
    {"context_options": [f"The ant {i}", f"The whale {i}"], "continuation": "is big.", "gold": 1} for i in range(8)
]
GOING_ON = [{"context": f"one two {i}", "continuation": f"three {i}", "category": "numbers"} for i in range(8)]
FREELY = [{"context": f"Who is number {i}?", "answer": f"The {i}.", "aliases": [f"No {i}"]} for i in range(8)]


def write(folder: Path, **files: Rows) -> str:
    for name, rows in files.items():
        (folder / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return str(folder)


def static(files: str, *parts: Mapping[str, Any] | str, **settings: Any) -> Static:
    return parse(Static, {"files": files, "tasks": list(parts), **settings}, "test")


class Pupil:
    """Answers by rules of its own, and remembers what it was asked."""

    def __init__(self, likes: Callable[[str, str], Continuation | str], says: Callable[[str], str] = str) -> None:
        self.likes, self.says = likes, says
        self.asked: list[tuple[str, str]] = []

    def score(self, pairs: Sequence[tuple[str, str]]) -> list[Continuation | str]:
        self.asked += pairs
        return [self.likes(*pair) for pair in pairs]

    def generate(self, prompts: Sequence[str], tokens: int, stop: str = "") -> list[str]:
        self.asked += [(prompt, "") for prompt in prompts]
        return [self.says(prompt) for prompt in prompts]


def by(words: Mapping[str, float], cut: bool = False) -> Callable[[str, str], Continuation]:
    """ln P of a continuation by the first of these words that it (or its context) holds; a token per word."""

    def likes(context: str, continuation: str) -> Continuation:
        last = context.rsplit("\n", 1)[-1]
        value = next(v for word, v in words.items() if word in last + continuation)
        return Continuation(value, len(continuation.split()), value > -1, cut)

    return likes


def measured(task: Static, pupil: Pupil, part: str) -> dict[str, Measurement]:
    pytest.importorskip("lm_eval")
    return {one.title: one for one in task.measure(pupil, None, part, 4)}  # type: ignore[arg-type]


# --- files ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("rows", "form"),
    [(CAPITALS, "choices"), (BEGINNINGS, "beginnings"), (GOING_ON, "continuation"), (FREELY, "answer")],
)
def test_each_form_of_question_is_known_by_its_fields(tmp_path: Path, rows: Rows, form: str) -> None:
    found = taskfile.read(Part(name="x", file="x.jsonl"), write(tmp_path, x=rows))
    assert found.form == form and len(found.questions) == len(rows)


GOOD = {"query": "q", "choices": ["a", "b"], "gold": 0}


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("{", "line 2: not JSON"),
        ("[1]", "line 2: expected an object, got list"),
        ({"context": "a", "continuation": "b"}, "line 2: has no query, which the lines before have"),
        (GOOD | {"query": 3}, "line 2: query must be text, got int"),
        (GOOD | {"gold": 2}, "line 2: gold must be from 0 to 1, a place in the list, got 2"),
        (GOOD | {"gold": "0"}, "line 2: gold must be from 0 to 1, a place in the list, got '0'"),
        (GOOD | {"gold": True}, "line 2: gold must be from 0 to 1, a place in the list, got True"),
        (GOOD | {"choices": ["a"]}, "line 2: choices must be a list of at least two texts"),
        (GOOD | {"choices": ["a", " "]}, "line 2: choices must be a list of at least two texts"),
        ("[" * 100_000, "line 2: not JSON: it is nested too deeply"),
        ('{"query": "\\ud800"}', r"line 2: U\+D800 is half of a surrogate pair"),
    ],
)
def test_a_wrong_line_is_named(tmp_path: Path, line: Any, said: str) -> None:
    text = line if isinstance(line, str) else json.dumps(line)
    (tmp_path / "x.jsonl").write_text(f"{json.dumps(GOOD)}\n{text}\n")
    with pytest.raises(InputError, match=said):
        taskfile.read(Part(name="x", file="x.jsonl"), str(tmp_path))


def test_an_empty_question_is_refused(tmp_path: Path) -> None:
    rows = [{"context": "q", "answer": "a"}, {"context": " ", "answer": "a"}]
    with pytest.raises(InputError, match=r"x\.jsonl, line 2: context is empty"):
        taskfile.read(Part(name="x", file="x.jsonl"), write(tmp_path, x=rows))


@pytest.mark.parametrize("answer", [{"answer": None}, {"answer": True}, {"answer": "x", "aliases": ["y", None]}])
def test_an_answer_is_a_text_or_a_number(tmp_path: Path, answer: dict[str, Any]) -> None:
    files = write(
        tmp_path, good=[{"context": "c", "answer": 7, "aliases": [7.5, "7"]}], bad=[{"context": "c", **answer}]
    )
    (good,) = taskfile.read(Part(name="x", file="good.jsonl"), files).questions
    assert good["answers"] == ["7", "7.5", "7"]
    with pytest.raises(InputError, match=r"line 1: answer and aliases must be texts or numbers, got (NoneType|bool)"):
        taskfile.read(Part(name="x", file="bad.jsonl"), files)


def test_a_file_of_another_format_is_refused_in_one_line(tmp_path: Path) -> None:
    files = write(tmp_path, x=[{"question": "q", "options": ["a", "b"], "label": 0}], empty=[])
    with pytest.raises(InputError, match=r"line 1: no task of LLM-Foundry's format: it has label, options, question"):
        taskfile.read(Part(name="x", file="x.jsonl"), files)
    with pytest.raises(InputError, match="no question in it"):
        taskfile.read(Part(name="x", file="empty.jsonl"), files)
    with pytest.raises(InputError, match="no such file"):
        taskfile.read(Part(name="x", file="nowhere.jsonl"), files)
    (tmp_path / "binary.jsonl").write_bytes(b"\xff\xfe")
    with pytest.raises(InputError, match="not UTF-8 text"):
        taskfile.read(Part(name="x", file="binary.jsonl"), files)


def test_a_byte_order_mark_and_empty_lines_are_let_be(tmp_path: Path) -> None:
    (tmp_path / "x.jsonl").write_bytes(b"\xef\xbb\xbf" + json.dumps(GOOD).encode() + b"\r\n\r\n")
    assert len(taskfile.read(Part(name="x", file="x.jsonl"), str(tmp_path)).questions) == 1


def test_there_must_be_others_to_show(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="task x shows 8 others, but there are 8 questions"):
        taskfile.read(Part(name="x", file="x.jsonl", shots=8), write(tmp_path, x=GOING_ON))


# --- settings ---------------------------------------------------------------------------------------------------------


def test_core_is_the_22_tasks_with_their_shots() -> None:
    """golden.md 10."""
    zero = {"hellaswag_zeroshot", "copa", "openbook_qa", "lambada_openai", "winograd", "winogrande", "coqa"}
    assert len(CORE) == 22 == len({part.name for part in CORE})
    assert {part.name for part in CORE if part.shots == 0} == zero
    assert {part.name: part.shots for part in CORE if part.shots not in (0, 10)} == {"agi_eval_lsat_ar": 3}
    assert Static(files="x").tasks == CORE == static("x", *(part.name for part in CORE)).tasks


def test_a_task_of_core_may_be_changed_by_its_name() -> None:
    (boolq,) = static("x", {"name": "boolq", "baseline": 0.62}).tasks
    assert boolq == next(part for part in CORE if part.name == "boolq").model_copy(update={"baseline": 0.62})


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({}, "files is required"),
        ({"files": "x", "tasks": ["bolq"]}, "no task 'bolq' in CORE; it has hellaswag_zeroshot, "),
        ({"files": "x", "tasks": ["boolq", "boolq"]}, "boolq is named twice"),
        ({"tasks": [{"name": "a"}]}, "give either file, or harness"),
        ({"tasks": [{"name": "a", "file": "f", "harness": "h"}]}, "give either file, or harness"),
        ({"files": "x", "prepare": {"steps": 3}}, "prepare"),
    ],
)
def test_settings_that_cannot_be_are_refused_in_one_line(settings: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError, match=said) as error:
        parse(Static, settings, "test")
    assert "\n" not in str(error.value)


# --- prompts and answers ----------------------------------------------------------------------------------------------


def test_a_choice_is_asked_for_after_its_question_with_one_space(tmp_path: Path) -> None:
    task = static(write(tmp_path, x=CAPITALS), {"name": "x", "file": "x.jsonl", "delimiter": "\nAnswer: "})
    pupil = Pupil(by({"town": -1, "sea": -2, "unknown": -9}))
    found = measured(task, pupil, "x")
    assert pupil.asked[:3] == [
        ("The capital of land 0 is\nAnswer:", f" {choice}") for choice in ("town 0", "the sea", "unknown to all")
    ]
    assert (found["accuracy"].value, found["accuracy"].n) == (1.0, 12)
    assert found["chance"].value == pytest.approx(1 / 3)


def test_solved_examples_are_others_and_drawn_by_the_seed(tmp_path: Path) -> None:
    files = write(tmp_path, x=CAPITALS)

    def contexts(seed: int) -> list[str]:
        pupil = Pupil(by({"town": -1, "sea": -2, "unknown": -9}))
        measured(static(files, {"name": "x", "file": "x.jsonl", "shots": 3, "seed": seed}), pupil, "x")
        return [context for context, _ in pupil.asked[::3]]

    first = contexts(1)
    for number, context in enumerate(first):
        *shown, question = context.split("\n")
        assert question == f"The capital of land {number} is"
        lands = [line.split()[4] for line in shown]
        assert len(set(lands)) == 3 and str(number) not in lands
        assert shown == [f"The capital of land {land} is town {land}" for land in lands]
    assert first == contexts(1) != contexts(2)


def test_of_two_beginnings_the_one_counts_after_which_the_end_is_likelier(tmp_path: Path) -> None:
    task = static(write(tmp_path, x=BEGINNINGS), {"name": "x", "file": "x.jsonl", "shots": 1})
    pupil = Pupil(by({"whale": -1, "ant": -2}))
    assert measured(task, pupil, "x")["accuracy"].value == 1.0
    assert measured(task, pupil, "x")["chance"].value == 0.5
    contexts, continuations = zip(*pupil.asked[:2])
    assert continuations == (" is big.", " is big.")
    assert [context.split("\n")[1] for context in contexts] == ["The ant 0", "The whale 0"]
    assert contexts[0].split("\n")[0].endswith(" is big.") and contexts[0].startswith("The whale")


def test_a_text_must_be_continued_word_for_word(tmp_path: Path) -> None:
    task = static(write(tmp_path, x=GOING_ON), {"name": "x", "file": "x.jsonl", "shots": 1})
    pupil = Pupil(by({"three 0": -0.5, "three 1": -0.5, "three": -7}))
    found = measured(task, pupil, "x")
    assert (found["accuracy"].value, found["chance"].value) == (2 / 8, 0.0)
    assert pupil.asked[0][1] == " three 0" and pupil.asked[0][0].endswith("\none two 0")
    assert found["accuracy"].stderr == pytest.approx((0.25 * 0.75 / 7) ** 0.5)


def test_a_free_answer_begins_with_one_that_is_right(tmp_path: Path) -> None:
    task = static(write(tmp_path, x=FREELY), {"name": "x", "file": "x.jsonl", "delimiter": "\nAnswer: "})
    said = {"0": " the 0, of course\nWho", "1": "no 1!", "2": " It is the 2.", "3": "\nThe 3."}
    pupil = Pupil(by({"": 0}), lambda prompt: said.get(prompt.split("?")[0].split()[-1], ""))
    assert measured(task, pupil, "x")["accuracy"].value == 2 / 8
    assert pupil.asked[0][0] == "Who is number 0?\nAnswer:"


def test_a_question_whose_answers_are_articles_and_punctuation_is_left_out(tmp_path: Path) -> None:
    rows = [{"context": "Which grade?", "answer": "A", "aliases": ["+"]}, *FREELY[:3]]
    task = static(write(tmp_path, x=rows), {"name": "x", "file": "x.jsonl"})
    found = measured(task, Pupil(by({"": 0}), lambda prompt: "A 1"), "x")
    assert found["accuracy"].value == pytest.approx(1 / 3) and found["accuracy"].n == 3
    assert found["left out: an answer of punctuation and articles"].value == 1


def test_choices_are_compared_per_token_in_all_or_per_byte(tmp_path: Path) -> None:
    rows = [{"query": "q", "choices": ["b c d e", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaa", "z"], "gold": 0}]
    likes = by({"b c": -4, "aaa": -8, "z": -3})  # per token −1, −8, −3; in all −4, −8, −3; per byte −0.57, −0.28, −3
    files = write(tmp_path, x=rows)
    right = {}
    for rule in ("tokens", "sum", "bytes"):
        for gold in range(3):
            write(tmp_path, x=[rows[0] | {"gold": gold}])
            task = static(files, {"name": "x", "file": "x.jsonl", "chosen_by": rule})
            if measured(task, Pupil(likes), "x")["accuracy"].value:
                right[rule] = gold
    assert right == {"tokens": 0, "sum": 2, "bytes": 1}


def test_bytes_are_those_of_the_choice_that_was_asked(tmp_path: Path) -> None:
    rows = [{"query": "q", "choices": ["bbbb", " " * 40 + "aaaa"], "gold": 0}]
    likes = by({"bbbb": -4, "aaaa": -8})  # with the spaces, which are not asked, −0.18 per byte and not −2
    task = static(write(tmp_path, x=rows), {"name": "x", "file": "x.jsonl", "chosen_by": "bytes"})
    pupil = Pupil(likes)
    assert measured(task, pupil, "x")["accuracy"].value == 1.0
    assert [continuation for _, continuation in pupil.asked] == [" bbbb", " aaaa"]


def test_between_equal_choices_the_answer_counts_as_a_guess(tmp_path: Path) -> None:
    task = static(write(tmp_path, x=CAPITALS), {"name": "x", "file": "x.jsonl", "chosen_by": "sum"})
    assert measured(task, Pupil(by({"": -1})), "x")["accuracy"].value == pytest.approx(1 / 3)


def test_what_cannot_be_scored_is_left_out_and_counted(tmp_path: Path) -> None:
    def likes(context: str, continuation: str) -> Continuation | str:
        if "land 3 " in context:
            return TOO_LONG
        if "land 4 " in context and "sea" in continuation:
            return NO_TOKEN
        return by({"town": -1, "sea": -2, "unknown": -9}, cut="land 5 " in context)(context, continuation)

    files = write(tmp_path, x=CAPITALS)
    task = static(files, {"name": "x", "file": "x.jsonl"})
    found = measured(task, Pupil(likes), "x")
    assert (found["accuracy"].value, found["accuracy"].n) == (1.0, 10)
    assert {name: one.value for name, one in found.items() if ":" in name} == {
        f"left out: an answer {TOO_LONG}": 1,
        f"left out: an answer {NO_TOKEN}": 1,
        "cut: a question longer than the model's window": 1,
    }
    broken = measured(task, Pupil(lambda *_: Continuation(float("nan"), 1, False, False)), "x")
    assert {name: one.value for name, one in broken.items()} == {"left out: all, as a loss is not a number": 12}


def test_chance_is_that_of_the_questions_that_were_judged(tmp_path: Path) -> None:
    rows = [GOOD | {"query": "two"}, {"query": "four", "choices": ["a", "b", "c", "d"], "gold": 0}]
    task = static(write(tmp_path, x=rows), {"name": "x", "file": "x.jsonl"})
    likes = by({"": -1})
    found = measured(task, Pupil(lambda *pair: TOO_LONG if pair[0] == "four" else likes(*pair)), "x")
    assert (found["chance"].value, found["chance"].n) == (0.5, 1)
    assert measured(task, Pupil(likes), "x")["chance"].value == 0.375


def test_only_the_first_questions_are_asked_where_that_is_wanted(tmp_path: Path) -> None:
    task = static(write(tmp_path, x=CAPITALS), {"name": "x", "file": "x.jsonl", "shots": 2}, max_examples=5)
    pupil = Pupil(by({"town": -1, "sea": -2, "unknown": -9}))
    assert measured(task, pupil, "x")["accuracy"].n == 5
    shown = {line.split()[4] for context, _ in pupil.asked for line in context.split("\n")[:-1]}
    assert shown - {str(i) for i in range(5)}, "the others are still shown as examples"


def test_the_harness_gets_the_same_numbers_from_its_own_model(tmp_path: Path) -> None:
    pytest.importorskip("lm_eval")
    from lm_eval.api.instance import Instance
    from lm_eval.models.huggingface import HFLM
    from transformers import AutoModelForCausalLM, AutoTokenizer

    from ticlm.platform.eval.checkpoint import load_checkpoint
    from ticlm.platform.tasks.static.harness_model import HarnessModel

    folder = speakers.speaker(tmp_path)
    theirs = HFLM(
        pretrained=AutoModelForCausalLM.from_pretrained(folder),
        tokenizer=AutoTokenizer.from_pretrained(folder),
        batch_size=4,
        device="cpu",
        logits_cache=False,  # with it, one text cut in two places gets the number of the first place for both
    )
    ours = HarnessModel(load_checkpoint(folder, Causal()))
    words = [text.split(" ") for text in speakers.TEXTS]
    pairs = [(" ".join(w[:i]), " " + " ".join(w[i : i + 2])) for w in words for i in range(1, len(w))]
    pairs += [("Paris is ", "here"), ("", "Paris")]

    def requests(kind: str, arguments: Sequence[tuple[str, ...]]) -> list[Any]:
        return [Instance(request_type=kind, doc={}, arguments=one, idx=0) for one in arguments]

    found, expected = (model.loglikelihood(requests("loglikelihood", pairs)) for model in (ours, theirs))
    assert [value for value, _ in found] == pytest.approx([value for value, _ in expected], abs=1e-4)
    assert [greedy for _, greedy in found] == [bool(greedy) for _, greedy in expected]
    texts = [(text,) for text in speakers.TEXTS]
    rolled = [model.loglikelihood_rolling(requests("loglikelihood_rolling", texts)) for model in (ours, theirs)]
    assert rolled[0] == pytest.approx(rolled[1], abs=1e-3)
    wanted = [(text[:12], {"until": ["\n", "."], "max_gen_toks": 6, "do_sample": False}) for text in speakers.TEXTS]
    assert ours.generate_until(requests("generate_until", wanted)) == theirs.generate_until(  # type: ignore[arg-type]
        requests("generate_until", wanted)  # type: ignore[arg-type]
    )


@pytest.mark.slow
def test_a_task_that_the_harness_does_not_know_is_one_line() -> None:
    with pytest.raises(InputError, match="task x: lm-evaluation-harness cannot load no_such_task_anywhere") as error:
        measured(static("", {"name": "x", "harness": "no_such_task_anywhere"}), Pupil(by({"": 0})), "x")
    assert "\n" not in str(error.value)


def test_tasks_and_groups_of_the_harness_are_asked_by_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("lm_eval")
    from lm_eval.tasks import TaskManager

    from ticlm.platform.tasks.static import harness

    write(tmp_path, capitals=CAPITALS, going=GOING_ON)
    scores = [{"metric": "acc", "aggregation": "mean", "higher_is_better": True}]
    for name, settings in {
        "capitals": {"output_type": "multiple_choice", "doc_to_text": "{{query}}", "doc_to_choice": "choices"},
        "going": {"output_type": "loglikelihood", "doc_to_text": "{{context}}", "doc_to_target": " {{continuation}}"},
    }.items():
        where = {"data_files": {"test": str(tmp_path / f"{name}.jsonl")}, "cache_dir": str(tmp_path / "cache")}
        common = {"task": f"toy_{name}", "dataset_path": "json", "dataset_kwargs": where, "test_split": "test"}
        target = {} if "doc_to_target" in settings else {"doc_to_target": "gold"}
        task = common | settings | target | {"metric_list": scores, "num_fewshot": 4}
        (tmp_path / f"{name}.yaml").write_text(json.dumps(task))
    group: dict[str, Any] = {"group": "toy_both", "task": ["toy_capitals", "toy_going"]}
    group |= {"aggregate_metric_list": [{"metric": "acc", "weight_by_size": True}]}
    (tmp_path / "both.yaml").write_text(json.dumps(group))
    manager = TaskManager(include_path=str(tmp_path), include_defaults=False)
    monkeypatch.setattr(harness, "known", lambda: manager)
    likes = by({"town": -1, "sea": -2, "unknown": -9, "three 0": -0.5, "three": -7})
    found = {
        name: measured(static("", {"name": "x", "harness": f"toy_{name}"}), Pupil(likes), "x")
        for name in ("capitals", "going", "both")
    }
    values = {name: [one["accuracy"].value, one["chance"].value, one["accuracy"].n] for name, one in found.items()}
    assert values["capitals"] == pytest.approx([1.0, 1 / 3, 12])
    assert values["going"] == [1 / 8, 0.0, 8]
    assert values["both"] == pytest.approx([13 / 20, 4 / 20, 20])
    cut = by({"town": -1, "sea": -2, "unknown": -9, "three": -7}, cut=True)
    both = measured(static("", {"name": "x", "harness": "toy_both"}), Pupil(cut), "x")
    assert both["cut: a question longer than the model's window"].value == 20, "questions, not their choices"
    with pytest.raises(InputError, match="toy_going has no metric f1; it has acc"):
        measured(static("", {"name": "x", "harness": "toy_going", "metric": "f1"}), Pupil(likes), "x")
    with pytest.raises(InputError, match=f"toy_going has an answer {TOO_LONG}, which it cannot leave out"):
        measured(static("", {"name": "x", "harness": "toy_going"}), Pupil(lambda *_: TOO_LONG), "x")


def test_without_the_harness_one_line_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "lm_eval", None)
    with pytest.raises(InputError, match=r"pip install 'ticlm\[static\]'"):
        next(Static(files="x").measure(Pupil(by({"": 0})), None, "boolq", 4))  # type: ignore[arg-type]


# --- means ------------------------------------------------------------------------------------------------------------


def cell(part: str, metric: str, value: float, stderr: float | None = None) -> Cell:
    return Cell(weights="w" * 16, task="core@1", axis="part", evaluated=part, metric=metric, value=value, n=100,
                stderr=stderr, key=part)  # fmt: skip


@given(st.lists(st.tuples(st.floats(0, 1), st.floats(0, 0.9)), min_size=22, max_size=22))
def test_core_is_the_plain_mean_and_the_centred_one_that_above_chance(values: list[tuple[float, float]]) -> None:
    task = Static(files="x")
    cells = [
        one
        for part, (accuracy, chance) in zip(CORE, values, strict=True)
        for one in (cell(part.name, "accuracy", accuracy, 0.1), cell(part.name, "chance", chance))
    ]
    rows = {(one.source, one.metric): one for one in task.table(cells)}
    assert rows["", "core"].value == pytest.approx(sum(a for a, _ in values) / 22)
    assert rows["", "core"].stderr == pytest.approx(0.1 / 22**0.5)
    assert rows["", "core-centered"].value == pytest.approx(sum((a - c) / (1 - c) for a, c in values) / 22)
    assert rows["", "core"].n == 2200
    assert len(rows) == 2 + 2 * 22


def test_a_mean_waits_for_all_its_parts() -> None:
    task = static("x", "boolq", "copa")
    rows = task.table([cell("boolq", "accuracy", 0.7), cell("boolq", "chance", 0.5)])
    assert [(one.source, one.metric) for one in rows] == [("boolq", "accuracy"), ("boolq", "centered")]


def test_a_baseline_that_is_given_stands_for_chance() -> None:
    cells = [cell("boolq", "accuracy", 0.81), cell("boolq", "chance", 0.5)]
    rows = {one.metric: one.value for one in static("x", {"name": "boolq", "baseline": 0.62}).table(cells)}
    assert rows["core-centered"] == rows["centered"] == pytest.approx(0.5)
    assert rows["core"] == 0.81


# --- in a study -------------------------------------------------------------------------------------------------------


def keys(task: Static) -> dict[str, str]:
    hashes = task.hashes(None, task.labels(None, ()))
    return {label: cell_key("w" * 16, task, label, data, Causal()) for label, data in hashes.items()}


def test_a_part_is_asked_again_only_where_something_that_its_answers_depend_on_changes(tmp_path: Path) -> None:
    files = write(tmp_path, x=CAPITALS, y=GOING_ON)
    x, y = {"name": "x", "file": "x.jsonl"}, {"name": "y", "file": "y.jsonl"}
    before = keys(static(files, x, y))
    (tmp_path / "moved").mkdir()
    moved = static(write(tmp_path / "moved", x=CAPITALS), x | {"baseline": 0.3}, checkpoints="all", name="mine")
    assert keys(moved)["x"] == before["x"]
    assert keys(static(files, x | {"shots": 1}))["x"] != before["x"]
    assert keys(static(files, x, max_examples=3))["x"] != before["x"]
    assert keys(static(files, x, version=2))["x"] != before["x"]
    write(tmp_path, y=GOING_ON[:-1])
    after = keys(static(files, x, y))
    assert after["x"] == before["x"] and after["y"] != before["y"]


def test_a_task_of_the_harness_is_asked_again_with_another_version_of_it(monkeypatch: pytest.MonkeyPatch) -> None:
    task = static("", {"name": "x", "harness": "copa"})
    found = []
    for version in ("0.4.13", "0.4.13", "0.5.0"):
        monkeypatch.setattr(part, "version", lambda _, version=version: version)
        found.append(keys(task)["x"])
    assert found[0] == found[1] != found[2]
    monkeypatch.setitem(sys.modules, "lm_eval", None)
    with pytest.raises(InputError, match=r"pip install 'ticlm\[static\]'"):
        keys(task)


def test_a_missing_file_is_said_before_anything_is_trained(toy_root: Path, toy_study: Callable[..., Study]) -> None:
    core = {"kind": "static", "files": str(toy_root / "nowhere")}
    made = plan.make(toy_study(evaluations=[{}, core]), str(toy_root))
    with pytest.raises(
        InputError, match=r"task hellaswag_zeroshot: no file .*nowhere/language_understanding/hellaswag"
    ):
        evaluation.units(made)


def test_of_a_run_the_last_checkpoint_is_asked_or_all_or_those_that_are_named() -> None:
    labels = ("202301", "202302", "202303")
    chosen = {name: Static(files="x", checkpoints=name) for name in ("last", "all", ("202301",))}
    asked = {name: [label for label in labels if task.scores(label, labels)] for name, task in chosen.items()}
    assert asked == {"last": ["202303"], "all": [*labels], ("202301",): ["202301"]}


@pytest.mark.parametrize(
    ("checkpoints", "evaluated", "said"),
    [
        (["209901"], "all", "209901 is not in the timeline"),
        ([], "all", "names none; give last, all, or some of 202301 … 202304"),
        ("last", ["202301"], "the last is 202304, which evaluate.checkpoints leaves out"),
        (["202302"], ["202301"], "no checkpoint of 202302 is scored; see evaluate.checkpoints"),
    ],
)
def test_a_study_refuses_a_static_task_that_would_score_nothing(
    checkpoints: Any, evaluated: Any, said: str, toy_study: Callable[..., Study]
) -> None:
    core = {"kind": "static", "files": "x", "checkpoints": checkpoints}
    settings = {"methods": ["cyclic-cosine"], "evaluations": [core], "evaluate": {"checkpoints": evaluated}}
    with pytest.raises(InputError, match=f"evaluations.core.checkpoints: {said}") as error:
        toy_study(**settings)
    assert "\n" not in str(error.value)


def test_an_oracle_is_asked_whatever_else_is_evaluated(toy_study: Callable[..., Study]) -> None:
    core = {"kind": "static", "files": "x", "checkpoints": ["202302"]}
    oracle = {"base": "oracle", "cutoffs": ["202302"]}
    evaluate = {"checkpoints": ["202301"]}
    assert toy_study(methods=["cyclic-cosine", oracle], evaluations=[core], evaluate=evaluate)
    assert toy_study(methods=[oracle], evaluations=[core | {"checkpoints": "last"}], evaluate=evaluate)


def test_a_study_has_static_scores_beside_its_matrix(
    toy_root: Path, tmp_path: Path, toy_study: Callable[..., Study]
) -> None:
    pytest.importorskip("lm_eval")
    from ticlm.platform.run import driver

    words = [{"context": f"w{i} w{i + 1}", "continuation": f"w{i + 2}"} for i in range(20)]
    pairs = [{"query": f"w{i}", "choices": [f"w{i + 1}", f"w{i + 9}"], "gold": 0} for i in range(20)]
    parts = [{"name": "words", "file": "words.jsonl"}, {"name": "pairs", "file": "pairs.jsonl", "shots": 2}]
    core = {"kind": "static", "files": write(tmp_path, words=words, pairs=pairs), "tasks": parts}
    methods = [{"base": base, "schedule": FAST} for base in ("cyclic-cosine", "replay-half")]
    months = {"initial": "202301", "last": "202302"}
    made = plan.make(toy_study(methods=methods, periods=months, evaluations=[{}, core]), str(toy_root))
    driver.train(made)
    assert study_result(made).static.empty
    units = evaluation.units(made)
    assert sorted(len(unit.jobs) for unit in units) == [1, 2, 2], "static parts are asked of each run's last checkpoint"
    driver.evaluate(made)
    result = study_result(made)
    assert evaluation.units(made) == [] and result.missing == ()
    assert set(result.cells["task"]) == {"perplexity@1"} and tuple(result.static.columns) == STATIC_COLUMNS
    assert set(result.static["trained"]) == {"202302"} and set(result.static["task"]) == {"core@1"}
    for method, mine in result.static.groupby("method"):
        values = mine.set_index(["source", "metric"])["value"]
        assert values["", "core"] == pytest.approx((values["words", "accuracy"] + values["pairs", "accuracy"]) / 2)
        centred = (values["words", "accuracy"] + (values["pairs", "accuracy"] - 0.5) / 0.5) / 2
        assert values["", "core-centered"] == pytest.approx(centred), method
