"""Tables as Markdown, for notes, issues and model cards."""

from __future__ import annotations

from ticlm.platform.display.text_tables import TextCell, TextTable


def markdown(table: TextTable) -> str:
    """Return a table as Markdown: what is below a cell stands behind it, and groups are part of the headings."""
    above = [name.partition(": ")[0] for name, number in table.groups for _ in range(number)]
    headings = [" ".join(filter(None, pair)) for pair in zip(above, table.columns)] if above else table.columns
    wide = len(table.names) + len(headings)
    rows = [[*table.names, *headings], [*["---"] * len(table.names), *["---:"] * len(headings)]]
    for block, lines in table.by_block:
        rows += [[f"*{block}*", *[""] * (wide - 1)]] if block else []
        for line in lines:
            first = " · ".join(filter(None, (line.names[0], line.about)))
            rows.append([first, *line.names[1:], *map(_in_markdown, line.cells)])
    text = "\n".join(" | ".join(["", *(one.replace("|", r"\|") for one in row), ""]).strip() for row in rows)
    return "\n\n".join(filter(None, (f"**{table.title}**" if table.title else "", text, *table.notes)))


def _in_markdown(cell: TextCell) -> str:
    text = f"{cell.text}{cell.mark}"
    return (f"**{text}**" if cell.stands_out else text) + (f" ({cell.under})" if cell.under else "")
