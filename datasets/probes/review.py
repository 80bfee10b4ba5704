"""Review by people: probes go out as a table, and come back with what was dropped and corrected."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from ticlm.core.errors import InputError
from ticlm.core.examples import MASK
from ticlm.datasets.io import fetching, listing
from ticlm.datasets.probes.decisions import SUBSETS, ProbeSubset
from ticlm.datasets.probes.review_table import joined, parsed, parts, same, unmarked, written
from ticlm.datasets.text.matching import contains

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
    """The probes that are left, how many of them were corrected, and why the others were left out."""

    kept: list[Probe]
    corrected: int
    dropped: Counter[str]


def exported(probes: Iterable[Probe]) -> bytes:
    """Return probes as a table (CSV, UTF-8), each with `keep` yes, in which a spreadsheet finds no formula
    (`review_table`). Several answers are parted by a semicolon."""
    return written(COLUMNS, ([*_shown(one).values(), one.evidence, one.decision, "yes"] for one in probes))


def read(patterns: Sequence[str]) -> dict[str, dict[str, str]]:
    """Return the rows of reviewed tables by id, as they came back.

    Raises InputError for a missing column, a repeated id, and a `keep` that is neither yes nor no.
    """
    found: dict[str, dict[str, str]] = {}
    for path in (entry.path for entry in listing.files(patterns, (".csv",), SETTING)):
        with fetching.opened(path) as file:
            data = file.read()
        for number, row in parsed(data, COLUMNS, f"{SETTING}: {path}"):
            where, name = f"{SETTING}: {path}, row {number}", unmarked(row["id"]).strip()
            if name in found:
                raise InputError(f"{where}: the id {name} stands there twice")
            row["keep"] = unmarked(row["keep"]).strip().lower()
            if row["keep"] not in ("yes", "no"):
                raise InputError(f"{where}: keep must be yes or no, got {row['keep']!r}")
            found[name] = row
    return found


def check_ids(rows: Mapping[str, Mapping[str, str]], probes: Iterable[Probe], built: Iterable[str]) -> None:
    """Raise InputError if the review has an id that is none of the probes; periods that are built are passed over."""
    known, finished = {probe.id for probe in probes}, set(built)
    unknown = [
        name for name, row in rows.items() if name not in known and unmarked(row["period"]).strip() not in finished
    ]
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
        elif row["keep"] == "no":
            dropped[REFUSED] += 1
        else:
            kept.append(_corrected(probe, row))
            corrected += kept[-1] != probe
    return Reviewed(kept, corrected, dropped)


def _shown(one: Probe) -> dict[str, str]:
    lists = {"answers": joined(one.answers), "outdated": joined(one.outdated)}
    plain = {"id": one.id, "period": one.period, "subset": one.subset}
    return {**plain, "question": one.question, "cloze": one.cloze, **lists}


def _corrected(probe: Probe, row: Mapping[str, str]) -> Probe:
    """Return a probe with what a reviewer changed; a cell that came back as it was keeps the probe's own value."""
    shown = _shown(probe)
    # tables of before had no marks, and answers joined as they are
    plain = {**shown, "answers": ";".join(probe.answers), "outdated": ";".join(probe.outdated)}
    texts = {
        name: unmarked(row[name]) for name in shown if not any(same(row[name], one[name]) for one in (shown, plain))
    }
    if not texts:
        return probe
    where = f"{SETTING}: the row of {probe.id}"
    answers = parts(texts["answers"]) if "answers" in texts else probe.answers
    outdated = parts(texts["outdated"]) if "outdated" in texts else probe.outdated
    cloze, subset = texts.get("cloze", probe.cloze), texts.get("subset", probe.subset).strip()
    if cloze.count(MASK) != 1:
        raise InputError(f"{where}: the cloze must have {MASK} once, got {cloze!r:.100}")
    if not answers:
        raise InputError(f"{where} has no answer; write one, or keep: no")
    if given := [answer for answer in answers if contains(cloze, answer)]:
        raise InputError(f"{where}: the answer {given[0]!r} stands in the cloze")
    if subset not in SUBSETS:
        raise InputError(f"{where}: subset must be one of {', '.join(SUBSETS)}, got {subset!r}")
    if subset == "updated" and not outdated:
        raise InputError(f"{where} is in updated and has no outdated answer")
    question = texts["question"].strip() if "question" in texts else probe.question
    return replace(probe, subset=subset, question=question, cloze=cloze, answers=answers, outdated=outdated)
