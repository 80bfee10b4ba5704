"""Settings of deduplication: remove paragraphs and documents that mostly repeat earlier text of a period or a window.

The rule is `old-both` of the released BFF (TiC-LM, appendix A; code of DCLM). A paragraph is removed if more than a
share `threshold` of its n-grams is in the filter; otherwise all its n-grams are added. A document is removed if that
share holds over all its paragraphs, including removed ones. A paragraph shorter than an n-gram has no n-grams and is
only removed with its document. Unlike in BFF, the order of documents depends on the seed alone.
"""

from __future__ import annotations

import math
from typing import Literal

from pydantic import Field, model_validator

from ticlm.core.extras import Extra
from ticlm.core.settings import Settings

DUPLICATE = "repeats earlier text"
ROOM = 2
"""Filters of held-out splits have room for so many times their share: a few long documents may be far from it."""


class Deduplicate(Settings):
    """Leave out what repeats. `scope: period` starts with an empty filter in every period; `scope: window` does so
    every `window` periods of the calendar (TiC-LM, appendix D.7).

    Train, eval and tune have a filter each. The filter of a period is sized for the n-grams counted in it. The filter
    of a window is made before its later periods exist. So `expected_ngrams` is the number of n-grams in the train
    splits of all its periods. Filters of eval and tune are smaller in proportion to their shares of the documents, with
    twice the room. If there are so many more that the rate of false positives doubles, the build stops.
    """

    scope: Literal["period", "window"] = "period"
    """Whether the filter starts empty in every period, or in every window of periods."""
    window: int = Field(10, gt=0)
    """Periods of a window; only `scope: window` uses it."""
    ngram: int = Field(13, gt=0)
    """Words of an n-gram."""
    threshold: float = Field(0.8, ge=0, le=1)
    """A paragraph or document repeats if more than this share of its n-grams (0 to 1) was seen before."""
    false_positive_rate: float = Field(0.01, ge=1e-5, le=0.5)
    """Share of new n-grams that the Bloom filter takes for seen ones."""
    expected_ngrams: int | None = Field(None, gt=0)
    """n-grams in the train split of all periods of a window; `scope: window` sizes its filter by it."""
    remove: Literal["both", "documents"] = "both"
    """Whether repeated paragraphs are removed too, or whole documents alone."""
    seed: int = 0
    """Seed of the filter's hashes."""

    def extras(self) -> tuple[Extra, ...]:
        return (Extra("web", ("numba",)),)

    @model_validator(mode="after")
    def _sized(self) -> Deduplicate:
        if self.scope == "window" and self.expected_ngrams is None:
            raise ValueError(
                "expected_ngrams is required with scope window: how many n-grams its periods hold together for training"
            )
        return self

    def expected(self, of_train: float) -> int | None:
        """Return the n-grams to size the filter of a split for, if that is set. The split has `of_train` times the
        documents of the train split."""
        if self.expected_ngrams is None:
            return None
        return math.ceil(self.expected_ngrams * max(of_train, min(1, ROOM * of_train)))

    def window_of(self, position: int) -> int:
        """Return the number of the window of the period at this position of the timeline."""
        return position // self.window if self.scope == "window" else position
