"""Deduplication by n-grams: paragraphs and documents that mostly repeat what came before, within a period or a window.

The rule is that of the released BFF, `old-both` (TiC-LM, appendix A; facts of its code in DCLM): a paragraph is removed
where more than `threshold` of its n-grams are in the filter, else all of them are put in at once; a document goes where
that share holds over all its paragraphs, removed ones included. Paragraphs shorter than an n-gram have none: they never
go alone, and go with their document. Unlike there, documents come in an order that the seed alone determines.
"""

from __future__ import annotations

from typing import Literal

from pydantic import Field, model_validator

from ticlm.platform.core.settings import Settings

DUPLICATE = "repeats earlier text"


class Deduplicate(Settings):
    """Leave out what repeats. `scope: period` starts anew in every period; `scope: window` remembers, and starts anew
    every `window` periods of the calendar (TiC-LM, appendix D.7).

    There is a filter for each of train, eval and tune. That of a period is sized for the n-grams that were counted in
    it. That of a window has to be sized before later periods are there, for the `expected_ngrams` of all its periods
    together; where they turn out to be so many more that its rate of false positives doubles, the build stops.
    """

    scope: Literal["period", "window"] = "period"
    window: int = Field(10, gt=0)
    ngram: int = Field(13, gt=0)
    threshold: float = Field(0.8, ge=0, le=1)
    false_positive_rate: float = Field(0.01, ge=1e-5, le=0.5)
    expected_ngrams: int | None = Field(None, gt=0)
    remove: Literal["both", "documents"] = "both"
    seed: int = 0

    @model_validator(mode="after")
    def _sized(self) -> Deduplicate:
        if self.scope == "window" and self.expected_ngrams is None:
            raise ValueError(
                "expected_ngrams is required with scope window: how many n-grams its periods hold together"
            )
        return self

    def window_of(self, position: int) -> int:
        """Which window the period at this position of the timeline belongs to."""
        return position // self.window if self.scope == "window" else position
