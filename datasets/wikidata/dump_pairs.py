"""Pairs of dumps of Wikidata: what became of the triplets of every subject, of merged and deleted ones too.

An item that the newer dump redirects is the same as the one it was merged into. As an object, in either dump, it is
replaced by that one. As a subject, what the older dump says of it belongs to the facts that are known of that one, so
that they are not new.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

from ticlm.core.fingerprint import hash64
from ticlm.datasets.examples.context import BuildContext
from ticlm.datasets.io.buckets import Buckets
from ticlm.datasets.wiki.diffs import LOST_BEFORE, LOST_NOW
from ticlm.datasets.wikidata.changes import TripletChange, changes
from ticlm.datasets.wikidata.redirects import Redirects
from ticlm.datasets.wikidata.statements import GROUPS, Statements, Subject, by_number
from ticlm.datasets.wikidata.triplets import REPEATED, UNNAMED, Triplet

GONE = "subject deleted, or without label or article"
MERGED = "subject merged into one without article"


@dataclass(frozen=True)
class DumpPair:
    """Two staged dumps, and the subjects of the older one that the newer one redirects.

    Those stand in `moved` by what they were merged into, in the same buckets as the subjects.
    """

    older: Statements
    newer: Statements
    moved: Buckets
    writers: tuple[str, ...]

    def forget(self) -> None:
        """Remove what was staged of the pair; the dumps stay."""
        self.moved.store.remove(self.moved.folder)


@dataclass
class PairCounts:
    """How many triplets were compared.

    `read` counts the triplets of the newer dump, and `dropped` the triplets among them that were left out, by reason.
    `gone` counts the triplets of the older dump whose subject the newer one lacks, by reason.
    """

    read: int = 0
    dropped: Counter[str] = field(default_factory=Counter)
    gone: Counter[str] = field(default_factory=Counter)


@dataclass(frozen=True)
class SubjectChanges:
    """A subject, what the older dump says of it, and what became of its triplets.

    `before` is None if the older dump has neither the subject nor one that was merged into it. A subject that is `gone`
    is that of the older dump, and all its triplets are `removed`.
    """

    subject: Subject
    before: tuple[Triplet, ...] | None
    changes: tuple[TripletChange, ...]
    gone: bool = False


def paired(context: BuildContext, older: Statements, newer: Statements) -> DumpPair:
    """Return a pair of dumps that were staged with the same settings; stage the merged subjects first."""
    key = hash64(f"{older.info_path} {newer.info_path}")
    moved = context.buckets(f"moved-{key:016x}", older.subjects.count)
    if not newer.redirects_path:
        return DumpPair(older, newer, moved, ())
    starts = range(min(GROUPS, moved.count))
    groups = [(f"{first:05d}", tuple(range(first, moved.count, GROUPS))) for first in starts]
    writers = context.each("Wikidata: merged subjects", partial(_move, older, newer, moved), groups)
    return DumpPair(older, newer, moved, tuple(sorted(writers)))


def _move(older: Statements, newer: Statements, moved: Buckets, work: tuple[str, Sequence[int]]) -> str:
    """Stage the subjects in some buckets of the older dump that the newer dump redirects; return the writer's name."""
    name, numbers = work
    if moved.is_written(name):
        return name
    redirects = newer.redirects()
    with moved.writing(name) as writer:
        for number in numbers:
            for subject in _subjects(older, number, redirects).values():
                if (target := redirects.of(subject.id)) != subject.id:
                    rows = [[t.relation, t.object, t.text, t.aliases] for t in subject.triplets]
                    about = {"subject": subject.id, "label": subject.label, "title": subject.title, "triplets": rows}
                    writer.add(target, {**about, "aliases": subject.aliases})
    return name


def subject_changes(pair: DumpPair, numbers: Sequence[int], counts: PairCounts) -> Iterator[SubjectChanges]:
    """Yield every subject of some buckets with what became of its triplets, in a fixed order, and add to `counts`.

    Triplets of the newer dump whose object has no label take part in the comparison, but are left out, and with them
    what they replaced. Subjects that are missing in one of the dumps are left out if that dump is broken, as they need
    not be new or gone.
    """
    redirects = pair.newer.redirects()
    for number in numbers:
        before, moved = _subjects(pair.older, number, redirects), _moved(pair, number)
        for key, subject in sorted(_subjects(pair.newer, number, redirects).items()):
            counts.read += len(subject.triplets)
            known = [before.pop(key, None), *moved.pop(key, ())]
            if not any(known) and pair.older.broken:
                counts.dropped[LOST_BEFORE] += len(subject.triplets)
            else:
                yield _compared(subject, [each for each in known if each is not None], counts)
        gone = [(each, GONE) for key, each in sorted(before.items()) if redirects.of(key) == key]
        gone += [(each, MERGED) for _, several in sorted(moved.items()) for each in several]
        for subject, reason in gone:
            found = tuple(changes(subject.triplets, ()))
            counts.gone.update({LOST_NOW if pair.newer.broken else reason: len(found)} if found else {})
            if not pair.newer.broken:
                yield SubjectChanges(subject, tuple(subject.triplets), found, gone=True)


def _compared(subject: Subject, known: Sequence[Subject], counts: PairCounts) -> SubjectChanges:
    """Compare the triplets of a subject with the earlier triplets of the same subject and of subjects merged into
    it."""
    before = [replace(triplet, subject=subject.id) for each in known for triplet in each.triplets] if known else None
    distinct = {(triplet.relation, triplet.object): triplet for triplet in reversed(subject.triplets)}
    repeated = len(subject.triplets) - len(distinct)
    subject.triplets = sorted(distinct.values(), key=by_number)
    found = tuple(changes(before, subject.triplets))
    named = tuple(each for each in found if each.fate == "removed" or each.triplet.text is not None)
    left = {REPEATED: repeated, UNNAMED: len(found) - len(named)}
    counts.dropped.update({reason: n for reason, n in left.items() if n})
    return SubjectChanges(subject, None if before is None else tuple(before), named)


def _moved(pair: DumpPair, number: int) -> dict[str, list[Subject]]:
    """Return the merged subjects of a bucket by what they were merged into, in a fixed order."""
    found: dict[str, list[Subject]] = {}
    for key, value in pair.moved.read(number, pair.writers):
        triplets = [
            Triplet(value["subject"], relation, object_, text, tuple(aliases))
            for relation, object_, text, aliases in value["triplets"]
        ]
        subject = Subject(value["subject"], value["label"], value["title"], tuple(value["aliases"]), triplets)
        found.setdefault(key, []).append(subject)
    return {key: sorted(subjects, key=lambda subject: (len(subject.id), subject.id)) for key, subjects in found.items()}


def _subjects(statements: Statements, number: int, redirects: Redirects) -> dict[str, Subject]:
    """Read the subjects of a bucket, with merged objects replaced by what they were merged into."""
    labels = statements.merged_labels(number)
    subjects = statements.read(number)
    for subject in subjects.values():
        for at, triplet in enumerate(subject.triplets):
            text, aliases = labels.get((subject.id, triplet.object), (triplet.text, triplet.aliases))
            target = redirects.of(triplet.object)
            if target != triplet.object or text != triplet.text:
                subject.triplets[at] = replace(triplet, object=target, text=text, aliases=aliases)
        subject.triplets.sort(key=by_number)
    return subjects
