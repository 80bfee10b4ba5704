"""Perplexity by part of speech: worked by hand, and equal to that of proper nouns where the words are the same."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from reports import page
from sets import Prompter, kept, kept_subsets, measured
from speakers import TEXTS, speaker

from ticlm.core.errors import InputError
from ticlm.core.examples import Example
from ticlm.methods.objectives import Causal
from ticlm.platform.eval.checkpoint import load_checkpoint
from ticlm.platform.results.of_plan import study_result
from ticlm.platform.run import driver
from ticlm.platform.study import plan
from ticlm.platform.study.settings import Study
from ticlm.platform.tasks.base import NOT_A_NUMBER
from ticlm.platform.tasks.documents import NounPerplexity
from ticlm.platform.tasks.parts_of_speech import PartOfSpeechPerplexity

VISIT, SOLD = "Macron visited 12 towns", "Oslo sold 3"
PROMPTER = Prompter(
    {
        VISIT: [("Ma", 3), ("cron", 1), (" visited", 4), (" 1", 2), ("2", 0.5), (" towns", 1.5)],
        SOLD: [("Oslo", 5), (" sold", 1), (" 3", 6)],
        "": [],
    }
)
FIRST = Example("1", VISIT, source="a", parts={"name": ((0, 6),), "verb": ((7, 14),), "number": ((15, 17),), "x": ()})
SECOND = Example("2", SOLD, source="b", parts={"name": ((0, 4),), "verb": ((5, 9),), "number": ((10, 11),), "x": ()})


def task(**settings: Any) -> PartOfSpeechPerplexity:
    return PartOfSpeechPerplexity(name="parts", examples="toy", **settings)


def test_every_group_has_the_mean_over_its_tokens_beside_that_of_all(tmp_path: Path) -> None:
    found = measured(task(), PROMPTER, kept(tmp_path, FIRST, SECOND))
    assert {place: (one.value, one.n) for place, one in found.items()} == {
        ("nll", ""): (pytest.approx(24 / 9), 9),
        ("nll", "name"): (3, 3),
        ("nll", "verb"): (2.5, 2),
        ("nll", "number"): (pytest.approx(8.5 / 3), 3),
    }
    # all resamples there are: the first twice, the second twice, each once (twice as often)
    assert found["nll", "name"].stderr == pytest.approx(np.std([2, 5, 3, 3]), rel=0.05)


def test_a_token_counts_for_every_group_and_only_where_it_is_scored(tmp_path: Path) -> None:
    both = replace(SECOND, parts={"name": ((0, 4),), "capital": ((0, 1),), "late": ((9, 11),)})
    found = measured(task(), PROMPTER, kept(tmp_path / "a", both))
    assert found["nll", "name"].value == found["nll", "capital"].value == 5 and found["nll", "late"].value == 6
    later = measured(task(first_token=False), PROMPTER, kept(tmp_path / "b", both))
    assert list(later) == [("nll", ""), ("nll", "late")] and later["nll", ""].n == 2


def test_texts_that_cannot_be_scored_are_counted(tmp_path: Path) -> None:
    found = measured(task(), PROMPTER, kept(tmp_path / "a", FIRST, replace(FIRST, id="3", text="")))
    assert found["nll", ""].n == 6 and found["left out: no token to score", ""].n == 1
    broken = Prompter({**PROMPTER.pieces, SOLD: [(SOLD, math.nan)]})
    (only,) = measured(task(), broken, kept(tmp_path / "b", FIRST, SECOND)).values()
    assert (only.title, only.n) == (f"left out: {NOT_A_NUMBER}", 2)


def test_texts_that_were_never_marked_are_refused(tmp_path: Path) -> None:
    data = kept(tmp_path, FIRST, replace(SECOND, parts=None))
    with pytest.raises(InputError, match=r"toy \(202301, all\) were never marked; say `parts_of_speech:` in their"):
        measured(task(), PROMPTER, data)


def test_of_proper_nouns_it_is_the_perplexity_of_nouns(tmp_path: Path) -> None:
    names = ("Macron", "Paris", "Ålesund", "Zoë", "Köln", "Łódź", "France")
    spans = [tuple((text.index(n), text.index(n) + len(n)) for n in names if n in text) for text in TEXTS]
    examples = [
        Example(str(i), text, nouns=of, parts={"proper noun": of, "rest": ((0, 4),)})
        for i, (text, of) in enumerate(zip(TEXTS, spans, strict=True))
    ]
    data = kept(tmp_path / "set", *examples)
    checkpoint = load_checkpoint(speaker(tmp_path / "model", window=40), Causal())
    settings = {"stride": 10, "last_tokens": 70}
    nouns = NounPerplexity(name="nouns", examples="toy", **settings)
    expected, found = (measured(one, checkpoint, data) for one in (nouns, task(**settings)))
    one, other = expected["nll", ""], found["nll", "proper noun"]
    assert (one.value, one.n, one.stderr) == (other.value, other.n, other.stderr)
    assert found["nll", ""].n > found["nll", "rest"].n > 0


def test_the_page_of_a_study_has_a_column_for_each_group(toy_root: Path, toy_study: Callable[..., Study]) -> None:
    folder = toy_root / "examples/toy@1"
    words = {"proper noun": ((0, 2),), "verb": ((3, 5),)}
    kept_subsets(folder, *({"all": [Example("1", text, parts=words)]} for text in ("w1 w2 w3", "w4 w5 w1")))
    made = plan.make(
        toy_study(
            methods=[{"base": "cyclic-cosine", "schedule": {"kind": "cosine", "max_rate": 1e-3, "warmup_steps": 1}}],
            periods={"initial": "202301", "last": "202302"},
            evaluations=[{}, {"kind": "pos-perplexity", "name": "diffs", "examples": "toy@1"}],
        ),
        str(toy_root),
    )
    driver.train(made)
    driver.evaluate(made)
    html = page(study_result(made))
    shown = html.split('<section id="sources">')[1].split("</section>")[0]
    assert ["diffs · proper noun" in shown, "diffs · verb" in shown, "diffs · noun" in shown] == [True, True, False]
