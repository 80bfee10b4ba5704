"""The predicted results of a plan's methods, as a table and lines for a terminal."""

from __future__ import annotations

from rich.box import HORIZONTALS
from rich.table import Table
from rich.text import Text

from ticlm.platform.forecast.expected import Expected
from ticlm.platform.forecast.leave_one_out import COVERAGE


def table(found: Expected) -> Table:
    """Return a table with a row for each method: Bwd., ID and Fwd., each ± its interval."""
    unit = "regret" if found.is_regret else "loss"
    out = Table(title=f"predicted {unit} in nats, ± {COVERAGE:.0%} interval", title_justify="left", box=HORIZONTALS)
    out.caption_justify = "left"
    out.caption = Text(
        f"from {found.finished} finished methods of {', '.join(found.studies)}; leaving one of them out, the median "
        f"error is {found.median_error:.3f} nats (ticlm predict)"
    )
    for name in ("method", "Bwd.", "ID", "Fwd."):
        out.add_column(name, justify="left" if name == "method" else "right", no_wrap=True)
    for name, means in found.means.items():
        out.add_row(
            Text(name),
            *("–" if mean != mean else f"{mean:.3f} ± {reach:.3f}" for mean, reach in zip(means, found.radius)),
        )
    for name, why in found.unknown.items():
        out.add_row(Text(f"{name}: {why}"), "–", "–", "–")
    return out
