"""Gradient norms of examples: what the task makes of them, by hand."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from sets import Prompter, kept, kept_subsets, measured

from ticlm.core.errors import InputError
from ticlm.core.examples import Example
from ticlm.core.settings import parse
from ticlm.platform.tasks.answerer import NO_TOKEN, GradientNorm
from ticlm.platform.tasks.base import NOT_A_NUMBER
from ticlm.platform.tasks.gradients import GradientNorms

TASK = GradientNorms(name="gradients", examples="toy")
SMALL = GradientNorm(3.0, 4.0, {"encoder": 3.0}, loss=1.0, targets=2, entities=1, cut=False)
LARGE = GradientNorm(5.0, 7.0, {"encoder": 4.0, "decoder": 3.0}, loss=2.0, targets=6, entities=3, cut=True)


def row(id: str, **about: str) -> Example:
    return Example(id, "text", about=about)


ROWS = (row("1", input="a", target="b"), row("2", input="c", target="d"))
SAID = Prompter(gradients={("a", "b"): SMALL, ("c", "d"): LARGE})


def test_means_are_over_examples_and_the_loss_over_targets(tmp_path: Path) -> None:
    found = measured(TASK, SAID, kept(tmp_path, *ROWS), rows=1)
    assert {title: (one.value, one.n) for (title, _), one in found.items()} == {
        "gradient-norm": (4, 2),
        "gradient-norm-sum": (5.5, 2),
        "gradient-norm/encoder": (3.5, 2),
        "gradient-norm/decoder": (1.5, 2),
        "entities": (2, 2),
        "nll": ((1 * 2 + 2 * 6) / 8, 8),
        "cut: an input or a target longer than is read": (1, 1),
    }
    first, second = found["gradient-norm", ""].predictions
    assert (first.id, first.text, first.exact, first.f1, first.rank) == ("1", "", 0, 0, None)
    assert first.numbers == {"norm": 3, "norm-sum": 4, "entities": 1, "loss": 1, "targets": 2, "norm/encoder": 3}
    assert second.numbers["norm/decoder"] == 3


def test_examples_without_a_gradient_are_counted_by_reason(tmp_path: Path) -> None:
    said = Prompter(gradients={("a", "b"): SMALL, ("e", "?"): NO_TOKEN})
    bad = (row("3"), row("4", input="a", target=" "), row("5", input="e", target="?"))
    found = measured(TASK, said, kept(tmp_path, ROWS[0], *bad))
    assert found["gradient-norm", ""].n == 1
    assert {title for title, _ in found if title.startswith("left out")} == {
        "left out: no input",
        "left out: no target",
        "left out: a target without a token",
    }


def test_a_norm_that_is_no_number_leaves_no_mean(tmp_path: Path) -> None:
    said = Prompter(gradients={("a", "b"): SMALL._replace(norm=float("inf")), ("c", "d"): SMALL})
    (one,) = measured(TASK, said, kept(tmp_path, *ROWS)).values()
    assert (one.title, one.n) == (f"left out: {NOT_A_NUMBER}", 2)


def test_labels_are_subsets_with_lengths_of_their_own(tmp_path: Path) -> None:
    asked: list[tuple[int, int]] = []

    class Asked(Prompter):
        def gradient_norms(self, pairs: Any, inputs: int, targets: int) -> list[GradientNorm | str]:
            asked.append((inputs, targets))
            return super().gradient_norms(pairs, inputs, targets)

    data = kept_subsets(tmp_path, {"new": ROWS[:1], "edited": []}, {"new": ROWS[1:], "edited": ROWS})
    sets = [{"subset": "new"}, {"subset": "edited", "tokens": 7, "longest_input": 9}]
    task = parse(GradientNorms, {"name": "gradients", "examples": "toy", "sets": sets}, "study")
    assert task.axis == "probe" and task.labels(data, ()) == ("new", "edited")
    for label in ("new", "edited"):
        (norm, *_) = task.measure(Asked(gradients=SAID.gradients), data, label, 9)
        assert (norm.metric, norm.n) == ("gradient-norm", 2)
    assert {*asked} == {(512, 400), (9, 7)}
    with pytest.raises(InputError, match="cut_answers is for tasks that compare answers"):
        parse(
            GradientNorms, {"name": "g", "examples": "toy", "sets": [{"subset": "new", "cut_answers": True}]}, "study"
        )
