"""A method of one's own: replay that draws from the newest months alone."""

from __future__ import annotations

from collections.abc import Sequence

from pydantic import Field

from ticlm.core.mixture import Mixture, Source, allot
from ticlm.methods.seams import Replay


class RecentReplay(Replay):
    """Replay the newest `window` periods in equal parts, the current one included."""

    window: int = Field(3, gt=0)

    def mixture(self, seen: Sequence[Source], budget: int) -> Mixture:
        return Mixture.of(allot(budget, dict.fromkeys(seen[-self.window :], 1)))
