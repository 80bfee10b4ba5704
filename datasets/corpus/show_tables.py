"""Tables of the accounting of a corpus: what every step left out, the largest hosts, what repeats."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

from rich.box import HORIZONTALS
from rich.console import Group
from rich.table import Table
from rich.text import Text

from ticlm.core.accounting import Deduplication, Overlap, Step
from ticlm.core.quantities import COUNTS, scaled, size
from ticlm.datasets.corpus.totals import Totals


def census_tables(total: Totals) -> list[Group]:
    """Return the tables of the accounting that have any rows, with their titles."""
    found = {
        "Steps, documents": steps_table(total.steps, total.through_steps),
        "Hosts with the most train tokens": _hosts(total),
        "Deduplication (filter and rates of false positives: the highest of any period)": _deduplication(total),
        "Held-out text that stands in the train text of the same period": _overlap(total),
    }
    return [titled(title, table) for title, table in found.items() if table.row_count]


def steps_line(total: Totals) -> list[str]:
    """Return a line that balances the documents of the first step with those kept and left out; none without steps."""
    if not total.steps:
        return []
    return [f"steps: {balance(*total.through_steps)}"]


def balance(read: int, kept: int, dropped: int) -> str:
    """Return `read = kept + dropped` as text, or by how much this is wrong."""
    rest = read - kept - dropped
    if not rest:
        return f"{read:,} read = {kept:,} kept + {dropped:,} dropped"
    wrong = f"{rest:,} are nowhere" if rest > 0 else f"{-rest:,} too many"
    return f"{read:,} read ≠ {kept:,} kept + {dropped:,} dropped: {wrong}"


def titled(title: str, table: Table) -> Group:
    return Group(Text(title, style="bold"), table)


def numbered(*columns: str, footer: Sequence[str] = ()) -> Table:
    """Return a table with a first column of names, which may fold, and columns of numbers, which never do."""
    table = Table(box=HORIZONTALS, padding=(0, 1, 0, 0), show_footer=bool(footer))
    for place, (name, end) in enumerate(itertools.zip_longest(columns, footer, fillvalue="")):
        if place:
            table.add_column(name, end, justify="right", no_wrap=True)
        else:
            table.add_column(name, end, overflow="fold", min_width=max(map(len, (name, end))))
    return table


def short(count: float) -> str:
    """Return a count as it is; from a million on with three digits and a suffix, so that columns stay narrow."""
    return f"{count:,.0f}" if abs(count) < 1e6 else scaled(count, COUNTS)


def percent(part: float, whole: float, digits: int = 1) -> str:
    """Return `part / whole` as a percentage; a dash if `whole` is 0."""
    return f"{part / whole:.{digits}%}" if whole else "–"


def steps_table(steps: Sequence[Step], through: tuple[int, int, int] | None = None) -> Table:
    """Return a table of what every step left out, and why.

    `through` is for steps that count the same things. It fills the last line: how many entered the first step, how many
    the last one kept, and how many were lost.
    """
    footer: tuple[str, ...] = ()
    if through is not None:
        read, kept, lost = through
        edited = sum(step.edited for step in steps)
        footer = ("all", short(read), short(lost), percent(lost, read), percent(kept, read), short(edited))
    table = numbered("step", "in", "dropped", "", "kept", "rewritten", footer=footer)
    for step in steps:
        lost = step.read - step.kept
        counts = [short(step.read), short(lost), percent(lost, step.read), percent(step.kept, step.read)]
        table.add_row(Text(step.name), *counts, short(step.edited))
        for reason, count in sorted(step.dropped.items(), key=lambda pair: (-pair[1], pair[0])):
            table.add_row(Text(f"  {reason}"), "", short(count), percent(count, step.read), "", "", style="dim")
        for kind, count in step.masked.items():
            table.add_row(Text(f"  parts masked: {kind}"), "", "", "", "", short(count), style="dim")
    return table


def _hosts(total: Totals) -> Table:
    table = numbered("host", "documents", "tokens", "of train")
    for host in total.hosts:
        table.add_row(Text(host.name), *map(short, (host.documents, host.tokens)), percent(host.tokens, total.tokens))
    return table


REPEATED = ("split", "docu-\nments", "dropped", "", "para-\ngraphs", "dropped", "", "n-grams\nfound")


def _deduplication(total: Totals) -> Table:
    table = numbered(*REPEATED, "filter", "expected\nrate", "measured\nrate")
    for one in total.deduplication:
        rates = [f"{rate:.3%}" for rate in (one.expected_rate, one.measured_rate)]
        table.add_row(one.split, *_repeated(one), size(one.filter_bytes), *rates)
    return table


def _overlap(total: Totals) -> Table:
    table = numbered(*REPEATED)
    for one in total.overlap:
        table.add_row(one.split, *_repeated(one))
    return table


def _repeated(one: Deduplication | Overlap) -> list[str]:
    cells = []
    for part, whole in ((one.documents_dropped, one.documents), (one.paragraphs_dropped, one.paragraphs)):
        cells += [short(whole), short(part), percent(part, whole)]
    return [*cells, percent(one.contained, one.ngrams)]
