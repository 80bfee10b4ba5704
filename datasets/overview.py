"""What a corpus holds, for a terminal."""

from __future__ import annotations

from rich.console import Group
from rich.table import Table
from rich.text import Text

from ticlm.datasets import ledger
from ticlm.datasets.ledger import BuildRecord
from ticlm.datasets.packing import TAIL
from ticlm.platform.mixture import Split
from ticlm.platform.shards import Corpus, CorpusInfo, PeriodManifest

SPLITS: tuple[Split, ...] = ("train", "eval", "tune")


def overview(corpus: Corpus) -> Group:
    """A table of the corpus's periods, and below it what of its inputs came into no period."""
    return Group(_table(corpus), *(Text(line, overflow="fold") for line in _below(corpus)))


def _table(corpus: Corpus) -> Table:
    table = Table(title=corpus.info.id, title_justify="left", show_footer=True)
    cells = {label: _cells(manifest) for label, manifest in corpus.periods.items()}
    totals = [sum(column) for column in zip(*cells.values())] if cells else [0] * len(_COLUMNS)
    table.add_column("period", footer=f"{len(cells)} periods")
    for name, total in zip(_COLUMNS, totals):
        table.add_column(name, justify="right", footer=_number(name, total))
    for label, row in cells.items():
        table.add_row(label, *(_number(name, value) for name, value in zip(_COLUMNS, row)))
    return table


_COLUMNS = ("read", "dropped", "documents", "MB", "tokens", "train rows", "eval rows", "tune rows", "tail tokens")


def _cells(manifest: PeriodManifest) -> list[int]:
    splits = [manifest.splits[name] for name in SPLITS]
    documents = sum(split.documents for split in splits)
    dropped = sum(count for reason, count in manifest.dropped.items() if reason != TAIL)
    tokens, size = sum(split.tokens for split in splits), sum(split.bytes for split in splits)
    rows = [split.rows for split in splits]
    return [manifest.read, dropped, documents, size, tokens, *rows, manifest.dropped.get(TAIL, 0)]


def _number(name: str, value: int) -> str:
    return f"{value / 1e6:,.2f}" if name == "MB" else f"{value:,}"


def _below(corpus: Corpus) -> list[str]:
    info = corpus.info
    lines = [
        f"tokenizer: {info.tokenizer.name}, {info.tokenizer.vocab_size:,} tokens, {_origin(info)}",
        f"rows: {', '.join(f'{column.name} of {column.length}' for column in info.columns)}",
    ]
    if info.sources:
        lines.append(f"sources: {', '.join(source or '(none)' for source in info.sources)}")
    reasons: dict[str, int] = {}
    for manifest in corpus.periods.values():
        for reason, count in manifest.dropped.items():
            if reason != TAIL:
                reasons[reason] = reasons.get(reason, 0) + count
    if reasons:
        lines.append(f"dropped in periods: {_counts(reasons)}")
    for record in ledger.builds(corpus.store):
        lines += _build(record)
    return lines


def _origin(info: CorpusInfo) -> str:
    return "of this corpus" if info.tokenizer.as_of is None else f"from outside, as of {info.tokenizer.as_of}"


def _build(record: BuildRecord) -> list[str]:
    kept = sum(tally.read for tally in record.periods.values())
    line = f"build {record.number}: {len(record.inputs):,} inputs, {record.read:,} documents read, "
    line += f"{kept:,} in {len(record.periods)} periods; in none: {_counts(record.dropped) or '0'}"
    firsts = [f"  first {reason}: {where}" for reason, where in record.first.items()]
    return [line, *firsts, *(f"  warning: {warning}" for warning in record.warnings)]


def _counts(reasons: dict[str, int]) -> str:
    return ", ".join(f"{count:,} {reason}" for reason, count in sorted(reasons.items()))
