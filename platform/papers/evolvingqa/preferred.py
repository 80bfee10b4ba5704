"""Which of an edited question's two answers a model prefers (EvolvingQA, Table 5)."""

from __future__ import annotations

import math
from typing import Any

from ticlm.platform.papers.evolvingqa.rows import BlockReader

MEASURES = {"sum": "", "per-token": "-per-token", "pmi": "-pmi"}
"""What is compared -> the end of the task's names for it: the log-likelihood of an answer, its mean per token, and its
gain from the question over the answer alone."""
COLUMNS = (
    *("study", "evolving", "row", "trained", "month", "measure"),
    *("outdated", "updated", "tied", "stderr", "n", "seeds"),
)


def preferred(reader: BlockReader) -> list[dict[str, Any]]:
    """Return rows of COLUMNS, one for each row, month and measure.

    `outdated` and `updated` are shares of the pairs that are not tied, and sum to 1; `stderr` is the standard error of
    either. `tied` is the share of all `n` pairs.
    """
    if reader.asked.preferred is None:
        return []
    found = []
    for row in reader.rows:
        for month in reader.months:
            for measure, ending in MEASURES.items():
                parts = [
                    reader.score(reader.asked.preferred, f"{name}{ending}", row, month)
                    for name in ("outdated", "updated", "tied")
                ]
                if any(part is None for part in parts):
                    continue
                outdated, updated, tied = (part.value for part in parts if part is not None)
                n = max(part.n for part in parts if part is not None)
                apart = outdated + updated
                share = updated / apart if apart > 0 else math.nan
                error = math.sqrt(share * (1 - share) / (n * apart)) if apart > 0 else math.nan
                where = {"study": reader.study.name, "evolving": reader.asked.name, "row": row.name}
                where |= {"trained": row.checkpoints[month], "month": month, "measure": measure}
                values = {"outdated": 1 - share, "updated": share, "tied": tied, "stderr": error}
                found.append(where | values | {"n": n, "seeds": len(row.seeds)})
    return found
