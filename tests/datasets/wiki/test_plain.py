"""Snapshots that are plain text already: WikiExtractor's lines, and the encyclopedia of a synthetic world."""

from __future__ import annotations

import gzip
import json
from collections import Counter
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from wikisite import MAY, extract, write

from ticlm.core import settings
from ticlm.core.accounting import Step
from ticlm.core.errors import InputError
from ticlm.core.store import Store
from ticlm.datasets.examples.context import BuildContext
from ticlm.datasets.synthetic.encyclopedia import Encyclopedia
from ticlm.datasets.synthetic.world import SyntheticWorld
from ticlm.datasets.wiki.diffs import Diff, comparisons
from ticlm.datasets.wiki.dumps import WikiDumps

FEBRUARY = [
    (1, "Aba", "Aba is &lt;one&gt; of A &amp; B.\n\nIt has 3.14 units. It is old."),
    (2, "Beb", ""),
    (3, "Gone", "#REDIRECT Aba"),
    (4, "Four", "Soon a redirect."),
]
MARCH = [
    (1, "Aba (town)", "Aba is &lt;one&gt; of A &amp; B.\nIt has 3.15 units. It is old."),
    (2, "Beb", "A text."),
    (4, "Four", ""),
]


def wiki(**given: Any) -> WikiDumps:
    return settings.parse(WikiDumps, given, "test")


def compared(folder: Path, given: WikiDumps) -> tuple[list[Diff], dict[str, Step], str]:
    """The diffs of the first two snapshots, their steps, and the address of page 12."""
    context = BuildContext(Store(folder / "root"), "staging", 0, tuple(given.files()), frozenset(), print)
    comparison = next(comparisons(context, given, context.inputs))
    left: Counter[str] = Counter()
    diffs = [diff for number in range(comparison.stage.count) for diff in comparison.diffs(number, left)]
    return diffs, {step.name: step for step in comparison.steps(len(diffs), left)}, comparison.url(12)


@pytest.mark.parametrize("by_name", [True, False])
def test_what_wikiextractor_wrote_is_compared_like_dumps(by_name: bool, tmp_path: Path) -> None:
    extract(tmp_path, "wiki-20230201/AA/wiki_00", FEBRUARY[:2])
    extract(tmp_path, "wiki-20230201/AB/wiki_00.bz2", FEBRUARY[2:])
    later = extract(tmp_path, "wiki-20230301/AA/wiki_00", MARCH)
    packed = later.with_name("wiki_00.gz")
    packed.write_bytes(gzip.compress(later.read_bytes() + b'{"id": "9"}\n{broken\n'))
    later.unlink()
    (tmp_path / "wiki-20230301/.hidden").write_text("x")
    folders = {day: f"{tmp_path}/wiki-{day}" for day in (20230301, 20230201)}
    given = wiki(extracted=f"{tmp_path}/wiki-*/*/*" if by_name else folders)
    diffs, steps, url = compared(tmp_path, given)
    assert {(diff.id, diff.title, diff.new): [p.text for p in diff.passages if p.changed] for diff in diffs} == {
        (1, "Aba (town)", False): ["It has 3.15 units."],
        (2, "Beb", True): ["A text."],
    }
    assert [p.text for p in diffs[0].passages if not p.changed] == ["Aba is <one> of A & B.", "It is old."]
    assert steps["older dump"].dropped == {"redirect or empty page": 2}
    assert steps["newer dump"].dropped == {
        "broken JSON line": 1,
        "line without id, title and text": 1,
        "redirect or empty page": 1,
    }
    assert steps["pages"].dropped == {"deleted": 1}, "a page that became a redirect"
    assert url == "https://w.example/wiki?curid=12"


def test_a_world_gives_its_encyclopedia_on_each_day(tmp_path: Path) -> None:
    world = SyntheticWorld(towns=4, firms=4, clubs=2, offices=1, stories=1)
    given = wiki(world=world.model_dump(), snapshots=[20230401, 20230301])
    diffs, steps, _ = compared(tmp_path, given)
    now = {one.title: one.text for one in Encyclopedia(world, given.encyclopedia).articles(date(2023, 4, 1))}
    assert {diff.title for diff in diffs} == now.keys() and steps["newer dump"].read == len(now)
    assert {diff.state for diff in diffs} == {"new", "changed", "unchanged"}
    for diff in diffs:
        assert " ".join(passage.text for passage in diff.passages) == now[diff.title].replace("\n", " ")


def test_snapshots_of_two_wikis_are_refused_and_of_one_host_with_another_scheme_are_not(tmp_path: Path) -> None:
    extract(tmp_path, "20230201/wiki_00", FEBRUARY)
    extract(tmp_path, "20230301/wiki_00", MARCH, host="x.example")
    with pytest.raises(
        InputError, match=r"two wikis: 20230201 is of w\.example, 20230301 of x\.example; give those of one"
    ):
        compared(tmp_path, wiki(extracted=f"{tmp_path}/*/wiki_00"))
    (tmp_path / "20230301/wiki_00").write_text(
        (tmp_path / "20230201/wiki_00").read_text().replace("https://", "http://")
    )
    compared(tmp_path / "b", wiki(extracted=f"{tmp_path}/*/wiki_00"))
    write(tmp_path / "one", "w-20160501-1.xml", MAY)
    write(tmp_path / "one", "x-20160501-2.xml", MAY, wiki="xwiki")
    write(tmp_path / "one", "w-20160601.xml", MAY)
    with pytest.raises(InputError, match="the files of 20160501 are of two wikis, wwiki and xwiki; give those of one"):
        compared(tmp_path, wiki(dumps=f"{tmp_path}/one"))
    write(tmp_path, "w-20160501.xml", MAY)
    write(tmp_path, "x-20160601.xml", MAY, wiki="xwiki")
    with pytest.raises(InputError, match="20160501 is of wwiki, 20160601 of xwiki"):
        compared(tmp_path, wiki(dumps=f"{tmp_path}/*.xml"))


@pytest.mark.parametrize(
    ("name", "line", "message"),
    [
        ("wiki_00", "<doc id='1'>", "is no output of WikiExtractor with --json: its first line is a broken JSON line"),
        ("wiki_00", json.dumps({"id": "1"}), "its first line is a line without id, title and text"),
        ("wiki_00.bz2", "{}", "is named .bz2 and does not begin like one"),
    ],
)
def test_other_files_are_refused(name: str, line: str, message: str, tmp_path: Path) -> None:
    for day in (20230201, 20230301):
        path = tmp_path / f"{day}" / name
        path.parent.mkdir()
        path.write_text(line + "\n")
    with pytest.raises(InputError, match=message):
        compared(tmp_path, wiki(extracted=f"{tmp_path}/2*/*"))
