"""What models answer to single probes, on frames written by hand."""

import pandas as pd
import pytest
from parts import wanted
from probesets import one_phase

from ticlm.core.errors import InputError
from ticlm.core.examples import Example
from ticlm.platform.analysis.answers import changes, gained, gap, overlapping
from ticlm.platform.papers.ckl.learning_rates import trade_off
from ticlm.platform.papers.ckl.part import Fuar
from ticlm.platform.papers.ckl.shown import tables as fuar_page_tables
from ticlm.platform.papers.ckl.study_fuar import fuar_tables
from ticlm.platform.results.answer_types import answer_type, composition, statistics
from ticlm.platform.results.kept_answers import prediction_frame
from ticlm.platform.results.study_result import PREDICTION_COLUMNS
from ticlm.platform.tasks.base import Prediction


def probe(name: str, answer: str, kind: str = "PERSON", text: str = "<extra_id_0> is the governor.") -> Example:
    return Example(name, text, answer, about={"type": kind} if kind else {})


def asked(method: str, trained: str, step: int | None = None, seed: int = 1) -> dict[str, object]:
    return {"method": method, "seed": seed, "trained": trained, "step": step, "task": "lama@1", "label": "updated"}


# answer types


def test_types_go_by_the_names_of_the_paper() -> None:
    kinds = ["PERSON", "gpe", "FAC", "ORG", "MONEY", "TIME", "NORP", "LANGUAGE", "LAW", ""]
    assert [answer_type(probe("1", "x", kind)) for kind in kinds] == [
        *("Person", "Geographical", "Location", "Organization", "Numerals", "Date", "Nationalities", "Language"),
        *("etc.", "etc."),
    ]


def test_statistics_of_a_set_name_its_most_frequent_types() -> None:
    held = [probe(str(i), "Tim Walz", kind) for i, kind in enumerate(["PERSON"] * 5 + ["ORG"] * 2 + ["GPE", "LAW", ""])]
    found = statistics({"updated": held, "new": []}, tokens=lambda text: len(text.split()), listed=2)
    assert list(zip(found["type"], found["count"], found["share"])) == [
        ("Person", 5, 0.5),
        ("Organization", 2, 0.2),
        ("etc.", 3, 0.3),
    ]
    assert found[["size", "input_tokens", "answer_tokens"]].iloc[0].tolist() == [10, 4, 2]


def test_the_parts_of_an_exact_match_sum_to_it() -> None:
    frame = prediction_frame(
        [(asked("v", "202104"), [Prediction(str(i), "x", float(i in (0, 1, 5)), 0.0) for i in range(8)])]
    )
    found = composition(frame, {str(i): "Person" if i < 4 else "Date" for i in range(7)})
    assert list(zip(found["type"], found["n"], found["right"], found["exact"], found["within"])) == [
        ("Person", 4, 2, 0.25, 0.5),
        ("Date", 3, 1, 0.125, 1 / 3),
        ("etc.", 1, 0, 0.0, 0.0),
    ]
    assert found["exact"].sum() == frame["exact"].mean() and found["share"].sum() == 1


# the gap of two sets on the answers that they share


def test_only_shared_answers_of_the_type_are_paired_as_often_as_both_have_them() -> None:
    first = [probe("u1", "Tim Walz"), probe("u2", "tim walz "), probe("u3", "Oxford", "GPE"), probe("u4", "Bale")]
    second = [probe("n1", "Tim Walz"), probe("n2", "Oxford", "GPE"), probe("n3", "Bria"), probe("n4", "bale")]
    assert overlapping(first, second) == [("tim walz", "u1", "n1"), ("bale", "u4", "n4")]
    assert overlapping(first, second, "Geographical") == [("oxford", "u3", "n2")]


def test_the_gap_is_over_pairs_of_which_both_were_asked() -> None:
    pairs = [(f"name {i}", f"u{i}", f"n{i}") for i in range(68)]
    ours = [Prediction(f"u{i}", "x", float(i < 20), 0.0) for i in range(68)]
    theirs = [Prediction(f"n{i}", "x", float(i < 5), 0.0) for i in range(67)]
    first, second = (prediction_frame([(asked("v", "202104"), one)]) for one in (ours, theirs))
    found = gap(first, second, pairs)
    assert (found.pairs, found.first, found.second) == (67, 20 / 67, 5 / 67)
    assert 0 < found.low < found.difference < found.high
    assert gap(prediction_frame([]), prediction_frame([]), pairs).pairs == 0


# answers by checkpoint

PROBES = {"1": probe("1", "French", "LANGUAGE", "The native language of Yvonne Monlaur is <extra_id_0>.")}
CHAIN = prediction_frame(
    [
        (asked("vanilla", "outside"), [Prediction("1", "Khmer", 0.0, 0.0)]),
        (asked("vanilla", "202104"), [Prediction("1", "Malaya", 0.0, 0.0)]),
        (asked("vanilla", "202104", step=12500), [Prediction("1", "Khmer", 0.0, 0.0)]),
        (asked("vanilla", "202104", step=6250), [Prediction("1", "French", 1.0, 1.0)]),
        (asked("modular", "202104", seed=2), [Prediction("1", "Dutch", 0.0, 0.0)]),
        (asked("modular", "202104"), [Prediction("1", "French", 1.0, 1.0)]),
    ]
)


def test_answers_stand_in_the_order_of_training() -> None:
    assert tuple(CHAIN.columns) == PREDICTION_COLUMNS
    found = changes(CHAIN, ["vanilla", "modular"], PROBES, ["1"])
    places = ["outside", "202104 step 6250", "202104 step 12500", "202104"]
    assert list(found.columns) == ["id", "cloze", "method", *places, "answer"]
    assert found[places].to_numpy().tolist() == [["Khmer", "French", "Khmer", "Malaya"], ["", "", "", "French"]]
    assert found["answer"].tolist() == ["French", "French"]


def test_what_cannot_be_shown_is_named_in_one_line() -> None:
    with pytest.raises(InputError, match="no probe 2; there are 1, such as 1"):
        changes(CHAIN, ["vanilla"], PROBES, ["2"])
    with pytest.raises(InputError, match="no predictions of lora for these probes; there are some of vanilla, modular"):
        changes(CHAIN, ["lora"], PROBES, ["1"])


def test_examples_are_those_that_one_checkpoint_answers_and_the_other_does_not() -> None:
    ends = CHAIN[CHAIN["step"].isna() & (CHAIN["seed"] == 1)]
    initial, modular = ends[ends["trained"] == "outside"], ends[ends["method"] == "modular"]
    assert gained(initial, modular) == ["1"] and gained(modular, initial) == []


# learning rates


def test_the_trade_off_of_rates_is_in_their_order_and_on_the_page() -> None:
    right = {
        "high": {"invariant": 130, "updated": 24, "new": 4},
        "low": {"invariant": 200, "updated": 10, "new": 4},
    }
    tables = fuar_tables(wanted(Fuar, one_phase(right, rates={"high": 1e-3, "low": 1e-5})))
    found = trade_off(tables)
    assert found["method"].tolist() == ["low", "high"] and found["rate"].tolist() == [1e-5, 1e-3]
    assert found["lama@1/invariant"].tolist() == [0.2, 0.13]
    assert found["value"].tolist() == pytest.approx([0.04 / 0.05, 0.11 / 0.12])
    (page,) = fuar_page_tables(tables)
    assert page.columns[0] == "peak rate" and [line.cells[0].text for line in page.lines] == ["0.001", "1e-05"]
    assert isinstance(found, pd.DataFrame)
