"""Mix-Review: every pass over a new period comes with a sample of old rows, smaller from pass to pass."""

from __future__ import annotations

import re
from collections.abc import Iterator
from fractions import Fraction
from itertools import count
from typing import ClassVar, Literal

from pydantic import Field, model_validator

from ticlm.core import paths
from ticlm.core.errors import InputError
from ticlm.core.mixture import Mixture, OldCorpus, Source
from ticlm.core.periods import Label, require_past
from ticlm.methods.budgets import rows_of
from ticlm.methods.seams import Rehearsal
from ticlm.methods.timeline import MethodTimeline


class MixReview(Rehearsal):
    """Old rows on top of the budget: of N rows of the new period, epoch e = 0, 1, … gets int(N · `ratio` · `decay`^e).

    The budget counts the new period's rows alone. Each epoch has a sample of its own: no old row comes twice before all
    have come. A last epoch that the budget leaves incomplete has the same part of its sample. Old rows are those of
    `period`, by default of the study's first period (He et al., 2021; CKL, Jang et al., 2022, appendix D).
    """

    kind: Literal["mix-review"] = "mix-review"
    # CKL's appendix D gives the two numbers the other way round. 0.7 is the decay: its code has it so, and a ratio of
    # 0.7 that grows fourfold in each epoch would be no decay.
    ratio: float = Field(4.0, gt=0)
    """Old rows per new row in the first epoch."""
    decay: float = Field(0.7, gt=0, le=1)
    """Old rows of an epoch per old row of the epoch before it."""
    corpus: str | None = None
    """The corpus of the old rows: `name@version`, a path or a URI; by default the study's own."""
    period: Label | None = None
    """The period of the old rows; by default the first one of the study."""
    as_of: Label | None = None
    """The last period from which a corpus of another source was made; it then comes from outside the timeline."""
    on_top: ClassVar[bool] = True

    @model_validator(mode="after")
    def _declared(self) -> MixReview:
        if self.corpus is not None and self.period is None:
            raise ValueError("replay mix-review: give the period of its corpus too")
        if self.as_of is not None and self.corpus is None:
            raise ValueError("as_of declares a corpus from outside the timeline: give corpus and period too")
        return self

    @property
    def old_corpus(self) -> OldCorpus | None:
        if self.corpus is None or self.period is None:
            return None
        return OldCorpus(self.corpus, self.period, self.as_of)

    def mixtures(self, label: str, timeline: MethodTimeline) -> tuple[Mixture, ...]:
        # A sample for each epoch, as the text says. CKL's code keeps one sample, of the first size, in all epochs.
        old, now = self._old(label, timeline), timeline.sources[label]
        rows = rows_of(label, timeline.sizes, "replay mix-review samples old rows by the rows")
        tokens = self._tokens(timeline.budget(label), rows, timeline.length)
        return tuple(Mixture.of({old: review, now: new}) for review, new in tokens)

    def _tokens(self, budget: int, rows: int, length: int) -> Iterator[tuple[int, int]]:
        """Yield (old, new) tokens of each epoch. Epochs from which on the mixture stays the same come as one."""
        # In fractions: int(N · ratio · decay^e) must not depend on how a power of a float is rounded.
        ratio, decay, whole = Fraction(str(self.ratio)), Fraction(str(self.decay)), rows * length
        for epoch in count():
            sample = int(rows * ratio * decay**epoch)
            new = budget if decay == 1 or sample == 0 else min(budget, whole)
            yield sample * length * new // whole, new
            budget -= new
            if budget == 0:
                return

    def _old(self, label: str, timeline: MethodTimeline) -> Source:
        """Return the source of the old rows. Raises FutureMonthError if it is later than the period `label`, and
        InputError if it is the new one."""
        now = timeline.sources[label]
        corpus = now.corpus if self.corpus is None else paths.corpus_id(self.corpus)
        old = Source(corpus=corpus, period=self.period or timeline.labels[0])
        if old == now:
            raise InputError(
                f"replay mix-review has no old corpus at period {label}: give replay.corpus and replay.period, or an "
                f"initial.budget to train on a period before it"
            )
        if self.as_of is None:
            require_past("replay mix-review", label, old.period)
        elif re.match(r"\d{6}", self.as_of):
            require_past(f"replay mix-review, from corpus {self.corpus} as of {self.as_of},", label, self.as_of)
        return old
