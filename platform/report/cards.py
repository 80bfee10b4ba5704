"""The cards of the page: the best method by each mean, one group for each block of methods that compete."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from ticlm.platform.analysis.metrics import quantity
from ticlm.platform.analysis.numbers import HEADINGS, ratio
from ticlm.platform.display.page_tables import Block, blocks
from ticlm.platform.display.table_rows import Line
from ticlm.platform.display.words import PLACES, measured, unit
from ticlm.platform.results.study_result import TaskMetric


def cards(rows: Sequence[Line], name: str, metric: TaskMetric) -> list[dict[str, object]]:
    """Return a group of cards for each block: the best continual run by each mean, and how much one Oracle series
    costs beside one run. `name` and `metric` are those of the evaluation whose values the rows hold.

    Runs with regret and runs with raw values, or with another metric, do not compete: each kind has its own best.
    """
    groups: list[dict[str, object]] = []
    for block, competing in _competing(rows):
        relative = competing[0].values[0].is_regret
        tiles: list[dict[str, str]] = []
        up = competing[0].values[0].higher_is_better
        what = "regret" if relative else f"mean {quantity(metric).name}"
        counted = unit(metric, relative)
        for place, (mean, short) in enumerate(HEADINGS.items()):
            known = [(line.values[place], line) for line in competing if line.values[place].comparable]
            if known:
                value, line = (max if up else min)(known, key=lambda pair: pair[0].exact)
                told = f"{'Highest' if up else 'Lowest'} {what} on {PLACES[mean]} ({short})"
                tiles.append({"what": told, "value": value.text, "unit": counted, "who": line.label})
        tiles += [] if relative else _least_forgetting(competing, unit(metric, True))
        cheaper = competing[0].oracle_ratio
        if np.isfinite(cheaper):
            tiles.append(
                {
                    "what": "Tokens of the Oracle series beside one run",
                    "value": ratio(cheaper),
                    "unit": "",
                    "who": _wins(competing),
                }
            )
        groups.append({"name": f"{block.name} · {name}: {measured(metric, relative)}", "tiles": tiles})
    return [group for group in groups if group["tiles"]]


def _least_forgetting(competing: Sequence[Line], counted: str) -> list[dict[str, str]]:
    known = [
        (line.forgetting, line) for line in competing if line.forgetting is not None and line.forgetting.comparable
    ]
    if not known:
        return []
    value, line = min(known, key=lambda pair: pair[0].exact)
    told = "Least forgetting, against its own best on each past period"
    return [{"what": told, "value": value.text, "unit": counted, "who": line.label}]


def _wins(competing: Sequence[Line]) -> str:
    marks = [line.label for line in competing if any(value.beats for value in line.values[:3])]
    if not marks:
        return "no run is marked as better than it"
    return f"{len(marks)} of {len(competing)} runs better than it in some mean (★)"


def _competing(rows: Sequence[Line]) -> Iterator[tuple[Block, list[Line]]]:
    """Yield the continual runs of each block whose values are of one kind."""
    for block in blocks([line for line in rows if not (line.is_oracle or line.is_frozen)]):
        of: dict[object, list[Line]] = {}
        for line in block.lines:
            of.setdefault((line.values[0].metric, line.values[0].is_regret), []).append(line)
        yield from ((block, lines) for lines in of.values())
