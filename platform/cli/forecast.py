"""Forecasts on the console: `ticlm predict` leaves each finished method out in turn and prints how far the forecast of
it from the others is off; and `plan_table` is what `ticlm plan` adds for methods that are not finished.

The forecasts themselves are made in `platform/forecast`.
"""

from __future__ import annotations

import json
from math import isnan
from typing import TYPE_CHECKING, Annotated

import typer

from ticlm.core.errors import InputError
from ticlm.core.extras import require
from ticlm.platform.cli.options import Json, Root, Sets, plan_of

if TYPE_CHECKING:
    from rich.table import Table

    from ticlm.platform.forecast.expected import Expected
    from ticlm.platform.forecast.finished import Finished
    from ticlm.platform.forecast.leave_one_out import Errors


def predict(
    studies: Annotated[
        list[str] | None, typer.Argument(metavar="[STUDY…]", help="Studies whose finished methods are predicted.")
    ] = None,
    root: Root = "runs",
    set_: Sets = None,
    imports: Annotated[
        list[str] | None,
        typer.Option("--import", metavar="PATH", help="Oracles published with TiC-LM: a folder or a URI."),
    ] = None,
    as_json: Json = False,
) -> None:
    """Leave out each finished method in turn, predict its results from the others, and print how far they are off.

    With --import, Oracles are left out instead, one cutoff at a time.
    """
    from ticlm.platform.cli.console import console
    from ticlm.platform.cli.report import imported
    from ticlm.platform.forecast import published
    from ticlm.platform.forecast.expected import check_alike
    from ticlm.platform.forecast.finished import finished_of, joined
    from ticlm.platform.forecast.leave_one_out import WAYS, leave_one_out

    if not studies and not imports:
        raise InputError("predict: name a STUDY, or published evaluations with --import PATH")
    require("predict", "stats", "scipy")
    found: list[Finished] = []
    if studies:
        plans = [plan_of(name, root, set_) for name in studies]
        for other in plans[1:]:
            check_alike(plans[0], other, "predict")
        found.append(joined([finished_of(made) for made in plans]).require("predict"))
    found += [published.oracles(one).require("predict") for one in imported(imports or ())] if imports else []
    every = [(one, [leave_one_out(one, way) for way in WAYS]) for one in found]
    if as_json:
        print(json.dumps([_json(one, errors) for one, errors in every], indent=1))
        return
    for one, errors in every:
        console().print(_table(one, errors[0]))
        for line in _lines(one, errors):
            console().print(line)


def _json(found: Finished, errors: list[Errors]) -> dict[str, object]:
    law = found.law()
    names = ("c", "tau_years", "epsilon", "C", "A", "B", "D", "E")
    return {
        "studies": list(found.names),
        "unit": "loss" if found.reference is None else "regret",
        "law": dict(zip(names, (*law.rates, *law.sizes))),
        "left_out": dict(found.left_out),
        "errors": [one.as_json() for one in errors],
    }


def _table(found: Finished, errors: Errors) -> Table:
    from rich.box import HORIZONTALS
    from rich.table import Table
    from rich.text import Text

    unit = "loss" if found.reference is None else "regret"
    title = f"{', '.join(found.names)}: {unit} in nats, observed and predicted from the others"
    out = Table(title=Text(title), title_justify="left", box=HORIZONTALS)
    for name in ("method", "Bwd.", "", "ID", "", "Fwd.", ""):
        out.add_column(name, justify="left" if name == "method" else "right", no_wrap=True)
    for row in errors.rows:
        numbers = [n for pair in zip(row.observed, row.predicted) for n in pair]
        out.add_row(Text(row.method), *("–" if n != n else f"{n:.3f}" for n in numbers))
    return out


def _lines(found: Finished, errors: list[Errors]) -> list[str]:
    law = found.law()
    rates, sizes = (", ".join(f"{value:.3g}" for value in values) for values in (law.rates, law.sizes))
    lines = []
    for one in errors:
        each = ", ".join(f"{value:.3f}" for value in one.medians)
        rank, *ranks = (f"{value:.2f}" for value in (one.rank_correlation, *one.rank_correlations))
        ranked = "" if isnan(one.rank_correlation) else f", rank correlation {rank} ({', '.join(ranks)})"
        lines.append(f"{one.name}: median error {one.median:.3f} nats (Bwd., ID, Fwd.: {each}){ranked}")
    lines.append(f"law of all {len(found.runs)}: c, τ in years, ε, C: {rates}; A, B, D, E in nats: {sizes}")
    return [*lines, *(f"left out: {name}: {why}" for name, why in found.left_out.items())]


def plan_table(found: Expected) -> Table:
    """Return a table with a row for each method: Bwd., ID and Fwd., each ± its interval."""
    from rich.box import HORIZONTALS
    from rich.table import Table
    from rich.text import Text

    from ticlm.platform.forecast.leave_one_out import COVERAGE

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
