"""The report of a lint as `ticlm data lint` prints it: a table of periods, one of rules, examples; and as JSON."""

from __future__ import annotations

import json

from rich.box import HORIZONTALS
from rich.console import Group
from rich.table import Table
from rich.text import Text

from ticlm.datasets.lint.linting import RULES
from ticlm.datasets.lint.report import LintExample, LintReport, PeriodLint

WIDE = 10
"""Rules that get a column of their own in the table of periods; of more, the table of rules alone has the counts."""


def overview(report: LintReport) -> Group:
    """Return tables of the report's periods and rules, and its examples."""
    total = report.total
    columns = list(total.by_rule) if len(total.by_rule) <= WIDE else []
    table = _table(["period", "texts", "flagged", "share", *columns])
    for label, one in report.periods.items():
        table.add_row(label, *_cells(one, columns))
    table.add_section()
    table.add_row(f"{len(report.periods)} periods", *_cells(total, columns))
    parts: list[Text | Table] = [Text(f"{report.name}: text that is later than its date", style="bold"), table]
    if not total.flagged:
        parts.append(Text("nothing found: of what the rules know, no text is later than its date"))
    elif not columns:
        rules = _table(["rule", "texts"])
        for rule in RULES:
            if count := total.by_rule.get(rule):
                rules.add_row(rule, f"{count:,}")
        parts.append(rules)
    return Group(*parts, *(Text(_line(one), overflow="fold") for one in report.examples))


def as_json(report: LintReport) -> str:
    """Return the report as JSON: `name`, `rules` (a hash), `total`, `periods`, `examples`."""
    found = {
        "name": report.name,
        "rules": report.rules,
        "total": report.total.model_dump(mode="json"),
        "periods": report.summary(),
        "examples": [one.model_dump(mode="json") for one in report.examples],
    }
    return json.dumps(found, indent=2, ensure_ascii=False)


def _table(columns: list[str]) -> Table:
    table = Table(box=HORIZONTALS, padding=(0, 1, 0, 0))
    for place, name in enumerate(columns):
        table.add_column(name, justify="right" if place else "left", no_wrap=bool(place))
    return table


def _cells(one: PeriodLint, columns: list[str]) -> list[str]:
    counts = [f"{one.by_rule.get(rule, 0):,}" for rule in columns]
    return [f"{one.texts:,}", f"{one.flagged:,}", f"{one.share:.2%}", *counts]


def _line(one: LintExample) -> str:
    what = f": {one.why}" if one.why else ""
    where = f" {one.id}" if one.id else ""
    around = f"\n    … {one.around} …" if one.around else ""
    matched = f" {one.matched!r}" if one.matched else ""
    return f"{one.rule}{matched}{what}; dated {one.day}, from {one.earliest} at the earliest;{where}{around}"
