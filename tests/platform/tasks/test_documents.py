"""Perplexities of texts and of their proper nouns: worked by hand, then against transformers on real tokens."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sets import PERIOD, Prompter, kept, measured
from speakers import KINDS, TEXTS, said_directly, speaker

from ticlm.core.errors import InputError
from ticlm.core.examples import Example
from ticlm.methods.objectives import Causal
from ticlm.platform.eval.causal import CausalCheckpoint
from ticlm.platform.eval.checkpoint import load_checkpoint
from ticlm.platform.tasks.documents import DocumentPerplexity, NounPerplexity, ReadingTask, overlapping

VISIT, OTHER = "Emmanuel Macron visited Paris.", "Oslo"
PIECES: dict[str, list[tuple[str, float]]] = {
    VISIT: [("Em", 3), ("manuel", 1), (" Macron", 2), (" visited", 4), (" Paris", 1.5), (".", 0.5)],
    OTHER: [("Oslo", 4.5)],
    "": [],
    "went": [("went", 9)],
}
NOUNS = ((0, 8), (9, 15), (24, 29))
FIRST = Example("1", VISIT, nouns=NOUNS, source="a")
SECOND = Example("2", OTHER, nouns=((0, 4),), source="b")
PROMPTER = Prompter(PIECES)


def document(**settings: Any) -> DocumentPerplexity:
    return DocumentPerplexity(name="texts", examples="toy", **settings)


def noun(**settings: Any) -> NounPerplexity:
    return NounPerplexity(name="nouns", examples="toy", **settings)


def test_the_perplexity_of_a_text_by_hand(tmp_path: Path) -> None:
    found = measured(document(), PROMPTER, kept(tmp_path, FIRST))
    assert math.exp(found["nll", ""].value) == pytest.approx(7.389056, abs=1e-6)
    assert found["nll", ""].n == 6 and found["nll", ""].stderr is None
    assert found["bits-per-byte", ""].value == pytest.approx(12 / math.log(2) / len(VISIT))
    assert found["bits-per-byte", ""].n == len(VISIT)


def test_the_perplexity_of_proper_nouns_by_hand(tmp_path: Path) -> None:
    (found,) = measured(noun(), PROMPTER, kept(tmp_path, FIRST)).values()
    assert math.exp(found.value) == pytest.approx(6.520819, abs=1e-6)
    assert (found.metric, found.n) == ("nll", 4), "tokens, not words"


def test_without_the_first_token_as_released(tmp_path: Path) -> None:
    data = kept(tmp_path, FIRST)
    (found,) = measured(noun(first_token=False), PROMPTER, data).values()
    assert math.exp(found.value) == pytest.approx(4.481689, abs=1e-6)
    assert found.n == 3
    assert measured(document(first_token=False), PROMPTER, data)["nll", ""].value == pytest.approx(9 / 5)


def test_the_mean_is_over_the_tokens_of_all_texts(tmp_path: Path) -> None:
    found = measured(noun(), PROMPTER, kept(tmp_path, FIRST, SECOND))["nll", ""]
    assert math.exp(found.value) == pytest.approx(11.023176, abs=1e-6)
    assert found.value == pytest.approx(2.4) and found.n == 5
    # all resamples there are: the first twice, the second twice, each once (twice as often)
    assert found.stderr == pytest.approx(np.std([7.5 / 4, 4.5, 2.4, 2.4]), rel=0.05)


def test_each_source_has_a_number_where_there_are_several(tmp_path: Path) -> None:
    found = measured(noun(), PROMPTER, kept(tmp_path, FIRST, SECOND))
    assert [(place, one.n) for place, one in found.items()] == [(("nll", ""), 5), (("nll", "a"), 4), (("nll", "b"), 1)]
    assert found["nll", "a"].value == pytest.approx(7.5 / 4)
    texts = measured(document(), PROMPTER, kept(tmp_path / "texts", FIRST, SECOND))
    assert texts["nll", "b"].value == 4.5 and texts["bits-per-byte", "b"].n == 4


def test_a_text_without_proper_nouns_is_counted_and_changes_nothing(tmp_path: Path) -> None:
    plain = Example("3", "went", nouns=(), source="a")
    found = measured(noun(), PROMPTER, kept(tmp_path, FIRST, plain, plain))
    assert found["nll", ""].value == pytest.approx(7.5 / 4)
    assert found["left out: no proper noun", ""].n == 2
    (only,) = measured(noun(), PROMPTER, kept(tmp_path / "only", plain)).values()
    assert (only.title, only.value) == ("left out: no proper noun", 1.0)


def test_a_noun_that_is_not_scored_does_not_count(tmp_path: Path) -> None:
    (found,) = measured(noun(first_token=False), PROMPTER, kept(tmp_path, SECOND)).values()
    assert (found.title, found.n) == ("left out: no proper noun", 1)


def test_texts_that_were_never_tagged_are_refused(tmp_path: Path) -> None:
    data = kept(tmp_path, FIRST, Example("2", OTHER))
    with pytest.raises(InputError, match=r"toy \(202301, all\) were never marked; say `nouns:` in their recipe"):
        measured(noun(), PROMPTER, data)


def test_an_empty_text_is_counted_and_changes_nothing(tmp_path: Path) -> None:
    found = measured(document(), PROMPTER, kept(tmp_path, FIRST, Example("2", ""), Example("3", "")))
    assert found["nll", ""].value == 2.0 and found["nll", ""].stderr is None
    assert found["left out: no token to score", ""].n == 2
    nothing = measured(document(), PROMPTER, kept(tmp_path / "nothing", Example("2", "")))
    assert list(nothing) == [("left out: no token to score", "")]


def test_a_model_that_gives_no_numbers_has_no_mean(tmp_path: Path) -> None:
    broken = Prompter({**PIECES, OTHER: [("Oslo", math.nan)]})
    data = kept(tmp_path, FIRST, SECOND)
    for task in (document(), noun()):
        (found,) = measured(task, broken, data).values()
        assert (found.title, found.n) == ("left out: all, as a loss is not a number", 2)


@pytest.fixture(scope="module", params=KINDS)
def checkpoint(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> CausalCheckpoint:
    return load_checkpoint(speaker(tmp_path_factory.mktemp("model"), KINDS[request.param](), window=160), Causal())


def nouns_of(text: str) -> tuple[tuple[int, int], ...]:
    names = ("Emmanuel", "Macron", "Paris", "Ålesund", "Zoë", "Köln", "Łódź", "France")
    return tuple((text.index(name), text.index(name) + len(name)) for name in names if name in text)


def test_real_tokens_are_scored_as_by_transformers_alone(tmp_path: Path, checkpoint: CausalCheckpoint) -> None:
    examples = [Example(str(i), text, nouns=nouns_of(text)) for i, text in enumerate(TEXTS)]
    data = kept(tmp_path, *examples)
    whole, losses, tokens = 0.0, 0.0, 0
    for example in examples:
        encoded = checkpoint.tokenizer(example.text, add_special_tokens=False, return_offsets_mapping=True)
        ids = [checkpoint.before_texts, *encoded["input_ids"]]
        whole -= said_directly(checkpoint.folder, ids[:1], ids[1:])
        for place, (start, end) in enumerate(encoded["offset_mapping"], 1):
            if any(max(start, left) < min(end, right) for left, right in example.nouns or ()):
                losses -= said_directly(checkpoint.folder, ids[:place], ids[place : place + 1])
                tokens += 1
    assert tokens > 8
    found = measured(noun(), checkpoint, data)["nll", ""]
    assert found.n == tokens and found.value == pytest.approx(losses / tokens, abs=1e-4)
    texts = measured(document(), checkpoint, data)
    assert texts["nll", ""].value == pytest.approx(whole / texts["nll", ""].n, abs=1e-4)
    assert texts["bits-per-byte", ""].n == sum(len(text.encode()) for text in TEXTS)


@pytest.mark.parametrize("task", [document(stride=40), noun(stride=40, last_tokens=31, first_token=False)])
def test_how_many_are_read_at_once_changes_nothing(
    tmp_path: Path, checkpoint: CausalCheckpoint, task: ReadingTask
) -> None:
    examples = [Example(str(i), text, nouns=nouns_of(text), source=str(i % 2)) for i, text in enumerate(TEXTS * 2)]
    data = kept(tmp_path, *examples, Example("long", " ".join(TEXTS), nouns=((0, 3),)))
    first, *others = (measured(task, checkpoint, data, rows) for rows in (100, 1, 3))
    for other in others:
        assert other.keys() == first.keys()
        for place, one in first.items():
            assert other[place].value == pytest.approx(one.value, abs=1e-4) and other[place].n == one.n
            assert other[place].stderr == pytest.approx(one.stderr, abs=1e-4)


def test_parts_of_texts_as_released(tmp_path: Path, checkpoint: CausalCheckpoint) -> None:
    data = kept(tmp_path, Example("1", TEXTS[0]))
    ids = checkpoint.tokenizer(TEXTS[0], add_special_tokens=False)["input_ids"]
    expected = -said_directly(checkpoint.folder, ids[2:3], ids[3:12]) / 9
    task = document(first_tokens=12, last_tokens=10, first_token=False)
    assert measured(task, checkpoint, data)["nll", ""].value == pytest.approx(expected, abs=1e-4)


def test_a_smaller_stride_shows_more_of_a_long_text(tmp_path: Path, checkpoint: CausalCheckpoint) -> None:
    data = kept(tmp_path, Example("1", " ".join(TEXTS * 3)))
    disjoint, slid = (measured(document(stride=stride), checkpoint, data)["nll", ""] for stride in (None, 8))
    assert disjoint.n == slid.n and disjoint.value != pytest.approx(slid.value, abs=1e-6)


def test_periods_are_read_by_their_label(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="202302"):
        list(document().measure(PROMPTER, kept(tmp_path, FIRST), "202302", 3))
    assert PERIOD == "202301"


@given(
    tokens=st.lists(st.tuples(st.integers(0, 30), st.integers(0, 6)), max_size=12),
    spans=st.lists(st.tuples(st.integers(0, 30), st.integers(0, 6)), max_size=8),
)
def test_a_token_counts_where_it_shares_a_character_with_a_span(
    tokens: list[tuple[int, int]], spans: list[tuple[int, int]]
) -> None:
    places = [(start, start + length) for start, length in sorted(tokens)]
    marked = [(start, start + length) for start, length in spans]
    expected = [any(set(range(*place)) & set(range(*span)) for span in marked) for place in places]
    assert overlapping(np.array(places, np.int64).reshape(-1, 2), marked).tolist() == expected
