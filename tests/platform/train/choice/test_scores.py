"""Scores of candidates for replay, on rows counted by hand, and which rows are kept."""

from __future__ import annotations

from itertools import product
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

from ticlm.core.errors import RunError
from ticlm.platform.train.choice.best import best
from ticlm.platform.train.choice.losses import losses
from ticlm.platform.train.choice.ngrams import PARTS, hashes, novelty, unlike


def rows(*lines: str) -> Any:
    """Rows of letters as tokens."""
    return np.array([[ord(letter) - ord("a") for letter in line] for line in lines], np.uint16)


def test_a_row_is_as_unlike_as_it_has_places_whose_pairs_no_new_row_has() -> None:
    """The new row has ab, bc, cd. Of abcd none is left, of abab one (ba), of efgh all three."""
    scores = unlike([rows("abcd", "abab"), rows("efgh")], rows("abcd"), 2)
    assert [one.tolist() for one in scores] == [[0, 1], [3]]
    (alone,) = unlike([rows("abcd")], rows("abcd")[:0], 2)
    assert alone.tolist() == [3], "without new rows all is unlike"


def test_novelty_counts_each_pair_of_a_row_by_the_rows_that_have_it() -> None:
    """ab is in two candidates and the new row, bc in one candidate and the new row, ba in one row, cc in none else.

    abab: ab 1/3, ba 1 = 4/3. abcc: ab 1/3, bc 1/2, cc 1 = 11/6. aaaa has one pair, aa, which it counts once: 1.
    """
    found = novelty(lambda: [rows("abab", "abcc"), rows("aaaa")], rows("abcd"), 2)
    assert [one.tolist() for one in found] == [[round(4 / 3 * PARTS), round(11 / 6 * PARTS)], [PARTS]]


def test_novelty_is_not_unlike() -> None:
    """efgh is not in the new text, and two candidates have it; ijab shares a pair with the new text."""
    pools = [rows("efgh", "efgh", "ijab")]
    assert np.argmax(unlike(pools, rows("abcd"), 2)[0]) == 0
    assert np.argmax(novelty(lambda: pools, rows("abcd"), 2)[0]) == 2


def test_n_grams_differ_by_every_token_and_its_place() -> None:
    every = np.array(list(product(range(20), repeat=3)), np.uint16)
    assert len(np.unique(hashes(every, 3))) == 20**3
    assert hashes(every, 3).shape == (20**3, 1) and hashes(rows("abcd"), 1).shape == (1, 4)
    assert len(np.unique(hashes(np.array([[0], [1]]), 1))) == 2


def test_the_best_are_kept_in_the_order_of_draws_and_ties_go_to_the_first() -> None:
    scores = np.array([1, 5, 3, 5, 3])
    assert best(scores, np.arange(5), 2).tolist() == [1, 3]
    assert best(scores, np.arange(5), 3).tolist() == [1, 2, 3]
    assert best(scores, np.arange(5), 5).tolist() == [0, 1, 2, 3, 4]


def test_a_row_comes_twice_only_after_all_others() -> None:
    """The row at position 7 is drawn twice, at the end of an epoch and in the next one."""
    positions, scores = np.array([7, 8, 9, 7]), np.array([5, 1, 1, 5])
    assert best(scores, positions, 2).tolist() == [0, 1]
    assert best(scores, positions, 4).tolist() == [0, 1, 2, 3]


class Certain(nn.Module):
    """Gives the token after x, x + 1, a probability of 1/2, and the three others 1/6 each."""

    def __init__(self) -> None:
        super().__init__()
        self.likely = nn.Parameter(torch.tensor(3.0))
        self.read: list[int] = []

    def forward(self, input_ids: torch.Tensor) -> Any:
        self.read.append(len(input_ids))
        following = nn.functional.one_hot((input_ids + 1) % 4, 4)
        return SimpleNamespace(logits=following * self.likely.log())


def test_a_loss_is_the_mean_over_the_labels_of_a_row() -> None:
    module = Certain()
    scores = losses(module, rows("abc", "abb", "aaa"), 2)
    half, sixth = np.log(2), np.log(6)
    expected = [half, (half + sixth) / 2, sixth]
    assert scores.tolist() == [round(10_000 * one) for one in expected] and module.read == [2, 1]
    with torch.no_grad():
        module.likely.fill_(float("nan"))
    with pytest.raises(RunError, match="no row can be chosen by its loss"):
        losses(module, rows("abc"), 2)
