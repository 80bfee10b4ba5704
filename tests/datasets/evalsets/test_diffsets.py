"""TWiki-Diffsets: the updated text of articles, from two dumps through the packaged recipe to documents of a corpus.

Each case is a flaw of the released code that must not come back.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from wikisite import Edit, extract, page, write

from ticlm.core import settings
from ticlm.core.errors import InputError
from ticlm.core.examples import Example, Examples
from ticlm.core.periods import Calendar
from ticlm.datasets.evalsets.recipe import ExampleSetRecipe, build
from ticlm.datasets.examples.documents import ExampleDocuments
from ticlm.datasets.io.documents import Document, Piece

TAIL = [f"Paragraph {number} of a long page, which has many words in it." for number in range(400)]
AUGUST = {
    "Edges": "The first has 3.14 units.\n\nIt stays.\n\nThe last was in 1990.",
    "Numbers": "It costs 1,234.5 pounds. It stays. It was No. 7. On 3.5.2021 it fell.",
    "Plus": "C is a language.\n\nIt stays.",
    "Long": "It begins.",
    "Order": "Same.\n\nOne is here.\n\nSame.\n\nTwo is here.",
    "Case": "Nothing But The Case changes.",
    "Gone": "It is deleted.",
}
SEPTEMBER = {
    "Edges": "A lead was put in.\n\nThe first has 3.15 units.\n\nIt stays.\n\nThe last was in 1991.\n\nA tail came.",
    "Numbers": "It costs 1,234.6 pounds. It stays. It was No. 8. On 4.5.2021 it fell. Pi is 3.14.",
    "Plus": "C is a language.\n\n1 + 1 is 2 in C++.\n\nIt stays.",
    "Long": "\n\n".join(["It begins.", *TAIL]),
    "Order": "Two is here.\n\nSame.\n\nOne is there.\n\nSame.",
    "Case": "Nothing but the case changes.",
    "New": "All is new. It costs 1,000.5 units.",
}
DIFFS = {
    "Edges": "A lead was put in.\nThe first has 3.15 units.\nThe last was in 1991.\nA tail came.",  # beyond the shared
    "Numbers": "It costs 1,234.6 pounds. It was No. 8. On 4.5.2021 it fell. Pi is 3.14.",  # points within
    "Plus": "1 + 1 is 2 in C++.",  # a plus sign is text
    "Long": "\n".join(TAIL),  # to its end
    "Order": "One is there.",  # what is repeated leads no comparison backwards
    "New": "All is new. It costs 1,000.5 units.",
}


def recipe(*sets: str) -> ExampleSetRecipe:
    sets = ("executor=process", *sets)
    return settings.load(ExampleSetRecipe, "temporalwiki-diffs", "datasets/recipes", list(sets))


def dumped(folder: Path) -> str:
    """Write both months as dumps, and return the setting that names them."""
    for month, articles in (("08", AUGUST), ("09", SEPTEMBER)):
        ids = {title: number for number, title in enumerate({**AUGUST, **SEPTEMBER}, 1)}
        pages = [page(ids[title], title, Edit(text, int(month))) for title, text in articles.items()]
        write(folder, f"wwiki-2021{month}01-pages-articles.xml.bz2", pages)
    return f"examples.wiki.dumps=[{folder}]"


def by_title(found: Examples) -> dict[str, Example]:
    return {one.about["title"]: one for one in found.read("202109", "changed")}


def test_a_diffset_has_all_new_text_and_nothing_else(tmp_path: Path) -> None:
    found = build(recipe(dumped(tmp_path / "dumps")), str(tmp_path / "root"))
    diffs = by_title(found)
    assert {title: one.text for title, one in diffs.items()} == DIFFS
    assert "new" in diffs["New"].about and "new" not in diffs["Long"].about
    articles = found.periods["202109"].statistics["articles that differ"]
    assert articles == {"new": 1, "changed": 5, "edited without new text": 1, "deleted": 1}
    documents = ExampleDocuments(set=found.store.uri(), subset="changed", title=True, title_as="sentence")
    read = [one for entry in documents.inputs(Calendar()) for one in documents.read(Piece(input=entry))]
    texts = {one.text for one in read if isinstance(one, Document)}
    assert f"Plus. {DIFFS['Plus']}" in texts and len(texts) == len(DIFFS)


def test_articles_that_are_held_out_are_in_no_other_subset_of_any_month(tmp_path: Path) -> None:
    months = (("08", AUGUST), ("09", SEPTEMBER), ("10", {title: f"{text} It grew." for title, text in AUGUST.items()}))
    for month, articles in months:
        pages = [
            page(id, title, Edit(articles[title], int(month)))
            for id, title in enumerate(AUGUST, 1)
            if title in articles
        ]
        write(tmp_path / "dumps", f"wwiki-2021{month}01-pages-articles.xml.bz2", pages)
    dumps = f"examples.wiki.dumps=[{tmp_path}/dumps]"
    plain = build(recipe(dumps, "examples.held_out=0"), str(tmp_path / "plain"))
    found = build(recipe(dumps, "examples.held_out=0.5"), str(tmp_path / "found"))
    ever: dict[str, set[str]] = {"changed": set(), "held-out": set()}
    for label in ("202109", "202110"):
        rows = {name: {one.id: one for one in found.read(label, name)} for name in found.periods[label].subsets}
        assert rows["changed"] and rows["held-out"]
        assert rows["changed"] | rows["held-out"] == {one.id: one for one in plain.read(label, "changed")}
        assert {one.about["article"] for name in ("added", "revised") for one in rows[name].values()} <= set(
            rows["changed"]
        )
        for name, ids in ever.items():
            ids |= set(rows[name])
        steps = {step.name: step for step in found.periods[label].steps}
        assert (
            steps["changed articles"].dropped["article held out"]
            == steps["held-out articles"].read
            == len(rows["held-out"])
        )
    assert not ever["changed"] & ever["held-out"]
    assert "held-out" not in plain.periods["202109"].subsets


@pytest.mark.parametrize("form", ["extracted", "history"])
def test_snapshots_of_two_wikis_are_refused_in_one_line(tmp_path: Path, form: str) -> None:
    if form == "extracted":
        extract(tmp_path, "20210801/wiki_00", [(1, "A", "Text.")])
        extract(tmp_path, "20210901/wiki_00", [(1, "A", "Text.")])
        extract(tmp_path, "20210901/wiki_01", [(2, "B", "Text.")], host="x.example")
        sets, wikis = [f"examples.wiki.extracted=[{tmp_path}]"], r"w\.example and x\.example"
    else:
        write(
            tmp_path, "wwiki-20220101-pages-meta-history1.xml", [page(1, "A", Edit("Text.", at="2021-07-01T00:00:00Z"))]
        )
        write(tmp_path, "xwiki-20220101-pages-meta-history2.xml", [page(2, "B", "Text.")], wiki="xwiki")
        sets = [f"examples.wiki.history=[{tmp_path}]", "examples.wiki.snapshots=[20210801, 20210901]"]
        wikis = "wwiki and xwiki"
    with pytest.raises(
        InputError, match=rf"^examples: the files of 2021\d+ are of two wikis, {wikis}; give those of one$"
    ):
        build(recipe(*sets), str(tmp_path / "root"))


PEAK = """
import json, sys
from pathlib import Path
from ticlm.datasets.evalsets import recipe
from ticlm.datasets.examples import smallest
from ticlm.datasets.io import buckets
from ticlm.datasets.wiki import staging
from ticlm.core import examples, settings

def peak():
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM"))

staging.BUCKET_BYTES, buckets.HELD_BYTES, smallest.RUN_BYTES, examples.ROW_GROUP = 1 << 20, 1 << 18, 1 << 14, 64
small, large = (
    settings.load(recipe.ExampleSetRecipe, "temporalwiki-diffs", "datasets/recipes",
                  ["executor=process", f"examples.wiki.extracted=[{folder}]", f"version={number}"])
    for number, folder in enumerate(sys.argv[2:])
)
found = []
for one in (small, small, large):
    recipe.build(one.model_copy(update={"version": f"{len(found)}"}), sys.argv[1])
    found.append(peak())
print(json.dumps(found))
"""


@pytest.mark.nightly
def test_memory_does_not_grow_with_the_dumps(tmp_path: Path) -> None:
    for name, articles in (("small", 500), ("large", 5000)):
        for day in ("20210801", "20210901"):
            texts = (
                (
                    number,
                    f"P{number}",
                    "\n".join(f"{number} {line} {day} " + f"{number * line:x} " * 99 for line in range(9)),
                )
                for number in range(articles)
            )
            extract(tmp_path, f"{name}/{day}/wiki_00", texts)
    command = [sys.executable, "-c", PEAK, f"{tmp_path}/root", f"{tmp_path}/small", f"{tmp_path}/large"]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    _, small, large = json.loads(done.stdout.splitlines()[-1])
    assert large < 1.2 * small, f"{small:,} and {large:,} KiB"
