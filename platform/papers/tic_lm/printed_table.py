"""The numbers that TiC-LM prints, beside those of a report, as a table for a terminal."""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pandas as pd
    from rich.table import Table


def table(found: pd.DataFrame) -> Table:
    """Return a comparison (analysis/published/printed.py) as a table: for each mean the number here, the printed one
    and their difference. CORE, which has no means, is left to the lines below the table."""
    from rich.box import HORIZONTALS
    from rich.table import Table
    from rich.text import Text

    from ticlm.platform.analysis.numbers import HEADINGS, signed

    out = Table(box=HORIZONTALS, title="Beside the numbers that TiC-LM prints", title_justify="left")
    for name in ("Method", "Evaluation", "Table"):
        out.add_column(f"\n{name}", no_wrap=True)
    for heading in HEADINGS.values():
        for place, what in enumerate(("here", "paper", "diff.")):
            out.add_column(f"{heading if place == 0 else ''}\n{what}", justify="right", no_wrap=True)
    several = found["study"].nunique() > 1
    dated = found[found["mean"] != ""]
    for (study, method, task), mine in dated.groupby(["study", "method", "task"], sort=False):
        cells = {mean: ["–"] * 3 for mean in HEADINGS}
        for mean, ours, paper, difference in zip(*(mine[name] for name in ("mean", "ours", "paper", "difference"))):
            cells[mean] = [signed(ours), signed(paper), signed(difference, 4, plus=True)]
        label = f"{method} ({study})" if several else str(method)
        out.add_row(Text(label), Text(str(task)), ", ".join(dict.fromkeys(mine["table"])), *chain(*cells.values()))
    return out
