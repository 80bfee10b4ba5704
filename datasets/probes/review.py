"""Review by people: probes go out as a table, and come back with what was dropped and corrected."""

from __future__ import annotations

import csv
import io
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from ticlm.datasets.io import fetching, listing
from ticlm.datasets.probes.decisions import SUBSETS, ProbeSubset
from ticlm.datasets.text.matching import contains
from ticlm.platform.core.errors import InputError
from ticlm.platform.core.examples import MASK

SETTING = "examples.review"
COLUMNS = ("id", "period", "subset", "question", "cloze", "answers", "outdated", "evidence", "decision", "keep")
REFUSED, ABSENT = "dropped by a reviewer", "not in the review"


@dataclass(frozen=True, slots=True)
class Probe:
    """A probe before it becomes an example. `evidence` is what decided, for a reviewer; `about` are further fields."""

    id: str
    period: str
    subset: ProbeSubset
    question: str
    cloze: str
    answers: tuple[str, ...]
    outdated: tuple[str, ...]
    evidence: str
    decision: str
    about: Mapping[str, str]


@dataclass
class Reviewed:
    """The probes that are left, the number of those that were corrected, and why the others were left out."""

    kept: list[Probe]
    corrected: int
    dropped: Counter[str]


def exported(probes: Iterable[Probe]) -> bytes:
    """Return probes as a table (CSV, UTF-8), each with `keep` yes. Several answers are parted by a semicolon."""
    text = io.StringIO()
    rows = csv.writer(text, lineterminator="\n")
    rows.writerow(COLUMNS)
    for one in probes:
        rows.writerow([*_shown(one).values(), one.evidence, one.decision, "yes"])
    return text.getvalue().encode()


def read(patterns: Sequence[str]) -> dict[str, dict[str, str]]:
    """Return the rows of reviewed tables by id.

    Raises InputError for a missing column, a repeated id, and a `keep` that is neither yes nor no.
    """
    found: dict[str, dict[str, str]] = {}
    for path in (entry.path for entry in listing.files(patterns, (".csv",), SETTING)):
        with fetching.opened(path) as file:
            data = file.read()
        try:
            table = csv.DictReader(io.StringIO(data.decode("utf-8-sig"), newline=""))
            columns, rows = list(table.fieldnames or ()), list(table)
        except (UnicodeDecodeError, csv.Error) as error:
            raise InputError(f"{SETTING}: {path} is no table in UTF-8: {error}") from None
        if lacking := [name for name in COLUMNS if name not in columns]:
            raise InputError(
                f"{SETTING}: {path} lacks {', '.join(lacking)}; it has {', '.join(columns) or 'no columns'}"
            )
        for number, row in enumerate(rows, 2):
            where = f"{SETTING}: {path}, row {number}"
            if any(row[name] is None for name in COLUMNS):
                raise InputError(f"{where} has fewer fields than there are columns")
            if row["id"] in found:
                raise InputError(f"{where}: the id {row['id']} stands there twice")
            if row["keep"].strip().lower() not in ("yes", "no"):
                raise InputError(f"{where}: keep must be yes or no, got {row['keep']!r}")
            found[row["id"]] = {name: row[name] for name in COLUMNS}
    return found


def check_ids(rows: Mapping[str, Mapping[str, str]], probes: Iterable[Probe], built: Iterable[str]) -> None:
    """Raise InputError if the review has an id that is none of the probes; periods that are built are passed over."""
    known, finished = {probe.id for probe in probes}, set(built)
    unknown = [name for name, row in rows.items() if name not in known and row["period"] not in finished]
    if unknown:
        raise InputError(
            f"{SETTING}: {len(unknown):,} ids are none of this set's probes, such as {unknown[0]}; "
            f"review the tables that these settings and inputs give"
        )


def reviewed(probes: Sequence[Probe], rows: Mapping[str, Mapping[str, str]]) -> Reviewed:
    """Return the probes that the reviewers kept, as they corrected them. Raises InputError for an unusable row."""
    kept: list[Probe] = []
    dropped = Counter[str]()
    corrected = 0
    for probe in probes:
        row = rows.get(probe.id)
        if row is None:
            dropped[ABSENT] += 1
        elif row["keep"].strip().lower() == "no":
            dropped[REFUSED] += 1
        else:
            kept.append(_corrected(probe, row))
            corrected += kept[-1] != probe
    return Reviewed(kept, corrected, dropped)


def _shown(probe: Probe) -> dict[str, str]:
    lists = {"answers": ";".join(probe.answers), "outdated": ";".join(probe.outdated)}
    plain = {"id": probe.id, "period": probe.period, "subset": probe.subset}
    return {**plain, "question": probe.question, "cloze": probe.cloze, **lists}


def _corrected(probe: Probe, row: Mapping[str, str]) -> Probe:
    if all(row[name] == text for name, text in _shown(probe).items()):
        return probe
    where = f"{SETTING}: the row of {probe.id}"
    answers, outdated = _parts(row["answers"]), _parts(row["outdated"])
    if row["cloze"].count(MASK) != 1:
        raise InputError(f"{where}: the cloze must have {MASK} once, got {row['cloze']!r:.100}")
    if not answers:
        raise InputError(f"{where} has no answer; write one, or keep: no")
    if given := [answer for answer in answers if contains(row["cloze"], answer)]:
        raise InputError(f"{where}: the answer {given[0]!r} stands in the cloze")
    if row["subset"] not in SUBSETS:
        raise InputError(f"{where}: subset must be one of {', '.join(SUBSETS)}, got {row['subset']!r}")
    if row["subset"] == "updated" and not outdated:
        raise InputError(f"{where} is in updated and has no outdated answer")
    return replace(
        probe,
        subset=row["subset"],
        question=row["question"].strip(),
        cloze=row["cloze"],
        answers=answers,
        outdated=outdated,
    )


def _parts(text: str) -> tuple[str, ...]:
    return tuple(part.strip() for part in text.split(";") if part.strip())
