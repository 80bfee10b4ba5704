"""Sets of wiki revisions against what really changed: the truth of the synthetic world, edits made to real pages, and
years of a real history."""

from __future__ import annotations

import bz2
import re
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from benchmarks.truth.encyclopedia import truth
from paths import SHARED

from ticlm.core import settings
from ticlm.core.examples import Examples
from ticlm.datasets.evalsets.recipe import ExampleSetRecipe, build
from ticlm.datasets.io.unpack import unpacked
from ticlm.datasets.synthetic.encyclopedia import Encyclopedia, EncyclopediaStyle
from ticlm.datasets.synthetic.world import SyntheticWorld

MEDIAWIKI = SHARED / "mediawiki"
WORLD = SyntheticWorld(edition="fast", towns=6, firms=6, clubs=4, offices=3, stories=3)
STYLE = EncyclopediaStyle(paragraphs=3, sentences=3, report=3, edits=0.3)
DAYS = [date(2023, month, 1) for month in range(1, 5)]


def built(root: Path, wiki: dict[str, Any], **changes: Any) -> Examples:
    given = {"kind": "wiki-revisions", "wiki": {"moved": "unchanged"} | wiki, "longer_than": 0, **changes}
    recipe = {"name": "r", "version": 1, "examples": given, "executor": "process"}
    return build(settings.parse(ExampleSetRecipe, recipe, "test"), str(root))


SIDES = (("unchanged", "unchanged-train"), ("new", "edited"))


def questions(root: Path) -> Examples:
    """Questions by rules about the set at this root."""
    changes = str(root / "examples/r@1")
    given = {"kind": "evolving-questions", "changes": changes, "unchanged": "every", "rules": "plain"}
    recipe = {"name": "q", "version": 1, "examples": given, "executor": "process"}
    return build(settings.parse(ExampleSetRecipe, recipe, "test"), str(root))


def accounted(asked: Examples, changes: Examples) -> None:
    """Every passage was read, and every step reads what the one before it kept."""
    first = next(iter(changes.periods))
    rows = {label: {name: one.rows for name, one in held.subsets.items()} for label, held in changes.periods.items()}
    for label, held in asked.periods.items():
        steps = {step.name: step for step in held.steps}
        kept = {name: one.rows for name, one in held.subsets.items()}
        made = [name for name in SIDES[label != first] if f"{name}: passages" in steps]
        for name in made:
            chain = [
                steps[f"{name}: {part}"] for part in ("questions", "answers", "chosen") if f"{name}: {part}" in steps
            ]
            ends = [step.read - sum(step.dropped.values()) for step in chain]
            assert ends[:-1] == [step.read for step in chain[1:]] and ends[-1:] in ([], [kept[name]])
        read = {name: steps[f"{name}: passages"].read for name in made}
        if label == first:
            assert sum(read.values()) == rows[label]["unchanged"]
        else:
            assert read == {"new": rows[label]["added"], "edited": rows[label]["revised"]}


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> Examples:
    days = [f"{day:%Y%m%d}" for day in DAYS]
    wiki = {"world": WORLD.model_dump(), "encyclopedia": STYLE.model_dump(), "snapshots": days}
    return built(tmp_path_factory.mktemp("world"), wiki)


def shares(found: set[Any], true: set[Any]) -> tuple[float, float]:
    """Precision and recall."""
    return len(found & true) / len(found), len(found & true) / len(true)


def test_the_revised_passages_of_a_world_are_its_edits_and_its_unchanged_articles_are_found(found: Examples) -> None:
    known = truth(Encyclopedia(WORLD, STYLE), DAYS)
    pairs, edits = set(), set()
    for month in known.months:
        label = f"{month.day:%Y%m}"
        pairs |= {(label, one.about["title"], one.about["old"], one.text) for one in found.read(label, "revised")}
        edits |= {(label, one.title, one.old, one.new) for one in (*month.edited, *month.restyled)}
    assert len(edits) > 60 and shares(pairs, edits) == (1, 1)
    unchanged = {one.about["title"] for one in found.read("202301", "unchanged")}
    assert unchanged and shares(unchanged, set(known.unchanged)) == (1, 1)


def test_the_added_passages_of_a_world_are_its_new_sentences(found: Examples) -> None:
    added, true = set(), set()
    for month in truth(Encyclopedia(WORLD, STYLE), DAYS).months:
        label = f"{month.day:%Y%m}"
        for one in found.read(label, "added"):
            added |= {(label, one.about["title"], part) for part in re.split(r"(?<=\.) ", one.text)}
        true |= {(label, one.title, one.text) for one in month.new}
        new = {one.about["title"] for one in found.read(label, "changed") if one.about.get("new")}
        assert new == set(month.new_articles)
        counts = found.periods[label].statistics
        assert counts["articles that differ"]["deleted"] == len(month.gone)
        assert bool(counts["passages"]["moved"]) == bool(month.moved)
    assert len(true) > 200 and shares(added, true) == (1, 1)


FIRST, LAST = "A lead that nobody had written.", "At its end stands one line more."
YEAR = re.compile(r"(?m)^([A-Z][^\n{}\[\]<>|=]*? in )1[89][0-9]{2}\b")
PLAIN = re.compile(r"[A-Z][^{}<>|=]{100,}")


def edited(edit: str, text: str) -> str:
    """A text with an edit, or as it was if the edit does not fit."""
    match edit:
        case "last":
            return f"{text}\n\n{LAST}"
        case "first":
            return f"{FIRST}\n\n{text}"
        case "year":
            return YEAR.sub(r"\g<1>1799", text, count=1)
        case "moved":
            blocks = text.split("\n\n")
            plain = next((block for block in blocks[1:-1] if PLAIN.fullmatch(block)), "")
            return "\n\n".join([*(block for block in blocks if block != plain), plain]) if plain else text
    return "#REDIRECT [[Elsewhere]]"


def month_later(data: str) -> tuple[str, dict[str, int]]:
    """A dump of a month later, whose articles got one edit each, in turn, and the number of articles with each."""
    counts = dict.fromkeys(("last", "first", "year", "moved", "redirect", "removed"), 0)
    kept = []
    for page in re.split(r"(?=<page>)", data):
        found = re.search(r"(<text[^>]*>)(.*)(</text>)", page, re.DOTALL)
        if found is None or "<redirect" in page or "<ns>0</ns>" not in page:
            kept.append(page)
            continue
        edit = min(counts, key=lambda name: counts[name])
        text = "" if edit == "removed" else edited(edit, found[2])
        if text == found[2]:
            edit, text = "last", edited("last", text)
        counts[edit] += 1
        if text:
            kept.append(page[: found.start(2)] + text + page[found.end(2) :])
    return "".join(kept), counts


@pytest.mark.nightly
@pytest.mark.skipif(not MEDIAWIKI.exists(), reason="needs the shared data")
def test_edits_of_real_pages_are_found_and_nothing_else(tmp_path: Path) -> None:
    data = b"".join(stream.read() for _, stream in unpacked(str(next((MEDIAWIKI / "gensim").iterdir())))).decode()
    later, counts = month_later(data)
    (tmp_path / "may.xml").write_text(data)
    (tmp_path / "june.xml.bz2").write_bytes(bz2.compress(later.encode()))
    dumps = {"20160501": str(tmp_path / "may.xml"), "20160601": str(tmp_path / "june.xml.bz2")}
    found = built(tmp_path / "root", {"dumps": dumps})
    added = [one.text for one in found.read("201606", "added")]
    assert sorted(added) == sorted([LAST] * counts["last"] + [FIRST] * counts["first"])
    revised = list(found.read("201606", "revised"))
    assert len(revised) == counts["year"] > 5 and counts["moved"] > 5
    for one in revised:
        assert "1799" in one.text and one.text == re.sub("1[89][0-9]{2}", "1799", one.about["old"], count=1)
    june = found.periods["201606"].statistics
    assert june["articles that differ"] == {
        "new": 0,
        "changed": counts["last"] + counts["first"] + counts["year"],
        "edited without new text": counts["moved"],
        "deleted": counts["removed"] + counts["redirect"],
    }
    assert june["passages"]["moved"] >= counts["moved"]
    asked = questions(tmp_path / "root")
    accounted(asked, found)
    edited = list(asked.read("201606", "edited"))
    assert {(one.answer, one.outdated[0] != "1799") for one in edited} == {("1799", True)}
    years = {(one.about["old"], one.about["context"]) for one in edited}
    assert years <= {(one.about["old"], one.text) for one in revised} and len(years) > counts["year"] / 3


@pytest.mark.nightly
@pytest.mark.skipif(not MEDIAWIKI.exists(), reason="needs the shared data")
def test_a_real_history_is_cut_at_three_dates(tmp_path: Path) -> None:
    """Most of this small wiki is users who say who they are."""
    history = {"history": str(MEDIAWIKI / "aawiki-20260101"), "namespaces": [0, 2, 3, 4]}
    found = built(tmp_path, history | {"snapshots": ["20070101", "20080101", "20090101"]})
    assert {label: one.statistics["articles that differ"] for label, one in list(found.periods.items())[1:]} == {
        "200801": {"new": 69, "changed": 9, "edited without new text": 1, "deleted": 0},
        "200901": {"new": 66, "changed": 8, "edited without new text": 1, "deleted": 0},
    }
    assert found.periods["200701"].subsets["unchanged"].rows == 41
    accounted(questions(tmp_path), found)
    pairs = {(one.about["old"], one.text) for one in found.read("200801", "revised")}
    assert ("Please note: I speak English.", "Please note: I do not speak or read Afar.") in pairs
