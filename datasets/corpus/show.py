"""The overview of a corpus that `ticlm data show` prints, as tables and as JSON."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence

from rich.console import Group
from rich.text import Text

from ticlm.core.corpus import Corpus, CorpusInfo, PeriodManifest, chosen
from ticlm.core.quantities import NAMED_SOURCES, largest, size
from ticlm.datasets.corpus import build_records
from ticlm.datasets.corpus.build_records import BuildRecord
from ticlm.datasets.corpus.ledger.shares import lopsided
from ticlm.datasets.corpus.pack import TAIL
from ticlm.datasets.corpus.show_tables import balance, census_tables, numbered, percent, short, steps_line, titled
from ticlm.datasets.corpus.totals import Totals, is_part

SUBSETS = 6
"""The largest subsets of the text that get a column, so that a table fits 100 characters; all others share one."""
SAID = {TAIL: "tokens left over at the ends of periods"}
"""What reasons of records are called here."""
WIDEST = 8
"""Columns of one table of parts and subsets, so that it fits 100 characters."""
INPUTS = 5
"""Inputs of a period that are listed; the JSON lists all."""

Manifests = Mapping[str, PeriodManifest]


def overview(corpus: Corpus, period: str | None = None) -> Group:
    """Return tables of the corpus's periods (or of one) and of their text, and lines that say which documents of the
    inputs are in no period, and which periods are lost.

    The tables fit 100 columns: there, a number from a million up has three digits. The lines have all digits.
    """
    manifests = _chosen(corpus, period)
    total = Totals.of(list(manifests.values()))
    records = build_records.builds(corpus.store)
    nowhere = build_records.nowhere(records) if period is None else {}
    tables = [
        _periods(corpus.info, manifests, total, sum(nowhere.values())),
        *_parts(manifests, total),
        *census_tables(total),
    ]
    lines = [f"documents: {balance(total.read, total.kept, total.lost)}", *steps_line(total)]
    if nowhere:
        lines.append(f"in no period: {_counts(nowhere)}")
    if total.dropped:
        lines.append(f"dropped in periods: {_counts(total.dropped)}")
    if total.tokens_left:
        left = {SAID.get(reason, reason): count for reason, count in total.tokens_left.items()}
        lines.append(f"in no row: {_counts(left)}")
    lines += [*_about(corpus.info, total), *_lineage(manifests, period)]
    made = build_records.builders(records)
    for record in records:
        mine = [label for label in record.periods if made[label] is record]
        lines += _build(record, mine, corpus.periods) if period is None else _build_of(record, period)
    lines += [f"note: {line}" for line in lopsided(manifests)]
    return Group(*tables, *(Text(line, overflow="fold") for line in lines))


def as_json(corpus: Corpus, period: str | None = None) -> str:
    """Return all that is known of a corpus, or of one of its periods: `info`, `total` (see Totals), the manifests of
    `periods`, the documents in no period (`nowhere`), `notes` on lopsided periods, and the `builds` of the corpus."""
    manifests = _chosen(corpus, period)
    total = Totals.of(list(manifests.values()))
    records = build_records.builds(corpus.store)
    found = {
        "info": corpus.info.model_dump(mode="json"),
        "total": total.model_dump(mode="json") | {"adds_up": total.adds_up},
        "periods": {label: manifest.model_dump(mode="json") for label, manifest in manifests.items()},
        "nowhere": build_records.nowhere(records),
        "notes": lopsided(manifests),
        "builds": [record.model_dump(mode="json") for record in records],
    }
    return json.dumps(found, indent=2, ensure_ascii=False)


def _chosen(corpus: Corpus, period: str | None) -> Manifests:
    """Return the manifests of all periods, or of the one. Raises InputError if the corpus does not have it."""
    have = corpus.periods
    return have if period is None else {period: chosen(have, period, f"corpus {corpus.info.id}")}


def _periods(info: CorpusInfo, manifests: Manifests, total: Totals, nowhere: int) -> Group:
    whole = [split for split in total.splits if not is_part(split)]
    columns = ("read", "dropped", "kept", "text", "tokens", *(f"{split}\nrows" for split in whole), "tail\ntokens")
    count = f"{total.periods} period{'' if total.periods == 1 else 's'}"
    table = numbered("period", *columns, footer=(count, *_numbers(total, whole, nowhere)))
    for label, manifest in manifests.items():
        table.add_row(label, *_numbers(Totals.of([manifest]), whole))
    if nowhere:
        table.add_row("no period", short(nowhere), short(nowhere), "0", *["–"] * (len(columns) - 3))
    return titled(info.id, table)


def _numbers(total: Totals, whole: Sequence[str], nowhere: int = 0) -> list[str]:
    splits = [total.splits[split] for split in whole if split in total.splits]
    text, tokens = sum(split.bytes for split in splits), sum(split.tokens for split in splits)
    counts = [short(count) for count in (total.read + nowhere, total.lost + nowhere, total.kept)]
    return [*counts, size(text), short(tokens), *_rows(total, whole), short(total.tokens_left.get(TAIL, 0))]


def _rows(total: Totals, splits: Sequence[str]) -> list[str]:
    return [short(total.splits[split].rows) if split in total.splits else "–" for split in splits]


def _parts(manifests: Manifests, total: Totals) -> list[Group]:
    """Return tables of the rows of each part of held-out text, and of the share of the train tokens of each subset."""
    parts = [split for split in total.splits if is_part(split)]
    subsets = [name for name in total.subsets if name]  # not those in none
    shown = largest(subsets, total.subsets)[:SUBSETS]
    groups = {name: [name] for name in shown}
    if rest := [name for name in subsets if name not in groups]:
        groups[f"{len(rest)} others"] = rest

    def row(one: Totals) -> list[str]:
        shares = [percent(sum(one.subsets.get(n, 0) for n in names), one.tokens, 2) for names in groups.values()]
        return [*_rows(one, parts), *shares]

    what = [name for name, there in (("rows of parts of held-out text", parts), ("shares of train", subsets)) if there]
    heads = [part.replace(".", "\n.") + "\nrows" for part in parts] + [f"{name}\nof train" for name in groups]
    rows = {label: row(Totals.of([manifest])) for label, manifest in manifests.items()}
    tables: list[Group] = []
    for start in range(0, len(heads), WIDEST):
        some = slice(start, start + WIDEST)
        table = numbered("period", *heads[some], footer=("all", *row(total)[some]))
        for label, cells in rows.items():
            table.add_row(label, *cells[some])
        tables.append(titled(", ".join(what).capitalize(), table))
    return tables


def _about(info: CorpusInfo, total: Totals) -> list[str]:
    origin = "of this corpus" if info.tokenizer.as_of is None else f"from outside, as of {info.tokenizer.as_of}"
    lines = [
        f"tokenizer: {info.tokenizer.name}, {info.tokenizer.vocab_size:,} tokens, {origin}",
        f"rows: {', '.join(f'{column.name} of {column.length}' for column in info.columns)}",
    ]
    lines += [f"from outside: {line}" for line in info.external_inputs]
    if info.sources:
        lines.append(f"sources: {_sources(info.sources, total)}")
    return lines


def _sources(names: Sequence[str], total: Totals) -> str:
    """Return the names of sources; of more than ten, their number and the ten with the most text."""
    listed = [name or "(none)" for name in names]
    if len(names) <= NAMED_SOURCES:
        return ", ".join(listed)
    first = (name or "(none)" for name in largest(names, total.subsets))
    return f"{len(names):,}, the largest: {', '.join(first)}"


def _lineage(manifests: Manifests, period: str | None) -> list[str]:
    """Return lines that say what code made the periods; for a single period, also from which inputs."""
    made: dict[str, list[str]] = {}
    for label, manifest in manifests.items():
        code = ", ".join(f"{name} {version[:12]}" for name, version in manifest.lineage.code.items())
        made.setdefault(code, []).append(label)
    spans = {code: labels[0] if len(labels) == 1 else f"{labels[0]} … {labels[-1]}" for code, labels in made.items()}
    lines = [f"made with {code}: {spans[code]} ({len(labels)})" for code, labels in made.items() if code]
    inputs = manifests[period].lineage.inputs if period is not None else ()
    if inputs:
        shown = ", ".join(inputs[:INPUTS]) + ", …" * (len(inputs) > INPUTS)
        lines.append(f"made from {len(inputs):,} input{'' if len(inputs) == 1 else 's'}: {shown}")
    return lines


def _build(record: BuildRecord, mine: Sequence[str], there: Collection[str]) -> list[str]:
    """Return lines on a build, given its periods that no later build has made again, and the periods that exist."""
    stand = [label for label in mine if label in there]
    line = f"build {record.number}: {len(record.inputs):,} inputs, {record.read:,} documents read, "
    placed = sum(record.periods[label].read for label in stand)
    line += f"{'all ' if 0 < placed == record.read else ''}{_taken(record, stand)}"
    line += f"; in no period: {_counts(record.dropped)}" if record.dropped else ""
    again = [label for label in record.periods if label not in mine]
    line += f"; built again later: {_taken(record, again)}" if again else ""
    if record.unopened:
        line += f"; inputs not opened: {_counts(record.unopened)}"
    firsts = [f"  first {reason}: {where}" for reason, where in record.first.items()]
    firsts += [f"  {one.name}: {one.read:,}, of which left out: {_counts(one.dropped) or '0'}" for one in record.parts]
    lost = [
        f"  {label} was built and is not there any more; ticlm data build makes it again"
        for label in mine
        if label not in stand
    ]
    over = tuple(label for label in record.waiting if label in there)  # what they waited for has come
    warnings = [f"  warning: {warning}" for warning in record.warnings if not (over and warning.startswith(over))]
    return [line, *firsts, *warnings, *lost]


def _taken(record: BuildRecord, labels: Sequence[str]) -> str:
    read = sum(record.periods[label].read for label in labels)
    return f"{read:,} in {len(labels)} period{'' if len(labels) == 1 else 's'}"


def _build_of(record: BuildRecord, period: str) -> list[str]:
    """Return lines that say how many documents of the period a build took in, and how many came too late."""
    lines = []
    if period in record.periods:
        lines.append(f"build {record.number}: {record.periods[period].read:,} documents of {period}")
    if period in record.late:
        lines.append(f"build {record.number}: {record.late[period]:,} documents of {period} came too late")
    return lines


def _counts(reasons: Mapping[str, int]) -> str:
    return ", ".join(f"{count:,} {reason}" for reason, count in sorted(reasons.items()))
