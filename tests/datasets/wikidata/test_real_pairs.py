"""Pairs of dumps: after a script of known edits, every triplet comes out with the fate that the edits give it."""

from __future__ import annotations

import gzip
import json
from collections import Counter
from pathlib import Path

import pytest
from paths import SHARED
from wikidata_edits import Edits, Ids, Raw, small_world, triplets, write_json, write_xml

from ticlm.core import settings
from ticlm.core.store import Store
from ticlm.datasets.examples.context import BuildContext
from ticlm.datasets.wikidata.changes import TripletChange
from ticlm.datasets.wikidata.dump_pairs import PairCounts, paired, subject_changes
from ticlm.datasets.wikidata.dumps import Wikidata
from ticlm.datasets.wikidata.statements import staged
from ticlm.datasets.wikidata.triplets import Triplet

REAL = SHARED / "wikidata/entities-201703.json.gz"
real = pytest.mark.skipif(not REAL.exists(), reason="no shared data")
KINDS = 12


def real_entities() -> list[Raw]:
    lines = gzip.decompress(REAL.read_bytes()).splitlines()
    return [json.loads(line.rstrip(b",")) for line in lines if line.strip() not in (b"[", b"]", b"")]


def ids(triplet: Triplet) -> Ids:
    return triplet.subject, triplet.relation, triplet.object


def found(edits: Edits, folder: Path, packing: str) -> tuple[list[TripletChange], PairCounts]:
    """Read the two dumps of a script of edits, and compare them."""
    write = write_xml if packing == "xml" else write_json
    old, new = (write(folder / f"{newer}.{packing}", edits.lines(newer)) for newer in (False, True))
    return compared({20170301: old, 20170401: new}, folder, ended="dropped" if edits.ended else "kept")


def compared(dumps: dict[int, str], folder: Path, **fields: str) -> tuple[list[TripletChange], PairCounts]:
    wikidata = settings.parse(Wikidata, {"dumps": dumps, **fields}, "wikidata")
    context = BuildContext(Store(folder / "set"), "staging/x", 0, tuple(wikidata.inputs()), frozenset(), print)
    pair = paired(context, *(staged(context, wikidata, dump) for dump in wikidata.dumps))
    counts = PairCounts()
    buckets = range(pair.newer.subjects.count)
    return [change for each in subject_changes(pair, buckets, counts) for change in each.changes], counts


def check(edits: Edits, folder: Path, packing: str = "json") -> None:
    changes, counts = found(edits, folder, packing)
    assert len({ids(change.triplet) for change in changes}) == len(changes)
    fates = {ids(change.triplet): change.fate for change in changes}
    assert fates == edits.fates
    replaced = {ids(c.triplet): {ids(one) for one in c.replaced} for c in changes if c.fate == "updated"}
    assert replaced == edits.replaced
    labels = {name: raw["labels"]["en"]["value"] for name, raw in edits.new.items()} | edits.labels
    for change in changes:
        if change.fate != "removed":
            assert change.triplet.text == labels[change.triplet.object]
    assert +counts.dropped == +edits.dropped
    assert counts.gone == edits.gone
    assert counts.read == sum(fate != "removed" for fate in fates.values()) + counts.dropped.total()


@real
@pytest.mark.parametrize("packing", ["json", "xml"])
def test_edits_of_real_entities_come_out_exactly(packing: str, loop: None, tmp_path: Path) -> None:
    edits = Edits(real_entities(), ended=packing == "xml", unlabelled=frozenset({"Q5", "Q6256", "Q183"}))
    assert len(edits.made) == KINDS and min(edits.made.values()) >= 3, edits.made
    assert min(Counter(edits.fates.values()).values()) > 40
    check(edits, tmp_path, packing)


@real
def test_edits_of_real_entities_come_out_exactly_without_redirects(loop: None, tmp_path: Path) -> None:
    check(Edits(real_entities(), redirects=False), tmp_path)


@real
def test_a_dump_of_pages_and_one_of_lines_years_apart_are_compared(loop: None, tmp_path: Path) -> None:
    """In 2014, Q1 was an instance of two classes. Most objects have no label in so few entities."""
    daily = str(SHARED / "wikidata/wdtk/sample-daily-dump-20140220.xml")
    changes, counts = compared({20140220: daily, 20170301: str(REAL)}, tmp_path)
    fates = Counter(change.fate for change in changes)
    assert counts.read == sum(len(triplets(raw, None)) for raw in real_entities())
    assert counts.read == sum(fates.values()) - fates["removed"] + counts.dropped.total()
    assert [ids(c.triplet) for c in changes if c.fate == "removed"] == [("Q1", "P31", "Q223557")]


@pytest.mark.parametrize("packing", ["json", "xml"])
@pytest.mark.parametrize("redirects", [True, False])
def test_edits_come_out_exactly(packing: str, redirects: bool, loop: None, tmp_path: Path) -> None:
    edits = Edits(small_world(), redirects, ended=packing == "json", unlabelled=frozenset({"Q41", "Q45", "Q1010"}))
    assert len(edits.made) == KINDS and set(edits.fates.values()) == {"same", "new", "updated", "removed"}
    check(edits, tmp_path, packing)
