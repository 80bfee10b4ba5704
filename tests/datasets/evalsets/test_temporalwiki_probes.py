"""TWiki-Probes: from two dumps of Wikidata and two of a wiki to facts that changed and facts that did not."""

from __future__ import annotations

import dataclasses
import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from builds import Backwards
from paths import SHARED
from rich.console import Console
from smallfacts import Facts, wiki

from ticlm.core import fingerprint, settings
from ticlm.core.accounting import Step
from ticlm.core.errors import InputError
from ticlm.core.examples import Example, Examples
from ticlm.datasets.evalsets import recipe as sets
from ticlm.datasets.evalsets.recipe import ExampleSetRecipe
from ticlm.datasets.evalsets.show import overview
from ticlm.datasets.evalsets.temporalwiki.probes import TemporalWikiProbes
from ticlm.datasets.io.in_process import ProcessExecutor
from ticlm.datasets.wiki import changed_texts
from ticlm.datasets.wikidata import aligned, choosing, pairing, statements

LABELS = {
    "P1": "head of government",
    "P2": "country",
    "P3": "employer",
    "P4": "motto",
    "P5": "owned by",
    "Q1": "Ada Lovelace",
    "Q2": "Ulm",
    "Q3": "Bank of Ulm",
    "Q4": "Neptune Tower",
    "Q5": "Ghost",
    "Q10": "Germany",
    "Q11": "Eva Kranz",
    "Q12": "Jan Holt",
    "Q13": "Charles Babbage",
    "Q14": "Be free",
    "Q15": "The Old and New Traders of Ulm",
    "Q16": "John Smith",
    "Q17": "John Smith",
}
TITLES = {"Q1": "Ada Lovelace", "Q2": "Ulm", "Q3": "Bank_of_Ulm", "Q4": "Neptune Tower", "Q5": "Never written"}
OLD = Facts(
    LABELS | {"Q14": "Be Free", "Q20": "Be free"},
    {key: title for key, title in TITLES.items() if key != "Q4"},
    [
        ("Q1", "P2", "Q10"),
        ("Q1", "P5", "Q16"),
        ("Q2", "P1", "Q11"),
        ("Q2", "P2", "Q10"),
        ("Q2", "P4", "Q14"),
        ("Q3", "P2", "Q2"),
        ("Q3", "P4", "Q20"),
        ("Q5", "P2", "Q10"),
    ],
    {"Q12": ["J. Holt"]},
)
NEW = Facts(
    LABELS,
    TITLES,
    [
        ("Q1", "P2", "Q10"),  # the same, and the article always said so
        ("Q1", "P3", "Q13"),  # new
        ("Q1", "P9", "Q13"),  # of a property without a label
        ("Q2", "P1", "Q12"),  # in the place of Q11
        ("Q2", "P2", "Q10"),  # the same, and only a new sentence says so
        ("Q2", "P4", "Q14"),
        ("Q2", "P5", "Q99"),  # an object without a label
        ("Q3", "P2", "Q2"),  # within the name of its subject
        ("Q3", "P4", "Q14"),  # another item of the same name, but for capitals
        ("Q3", "P5", "Q15"),  # seven words
        ("Q3", "P5", "Q16"),  # two of one name
        ("Q3", "P5", "Q17"),
        ("Q4", "P2", "Q10"),  # of a new entity
        ("Q5", "P2", "Q10"),  # of one without an article
    ],
    OLD.aliases,
)
OLD_PAGES = {
    "Ada Lovelace": "Ada Lovelace had kin in [[Germany]]. She wrote alone.\n\nHer notes are short.",
    "Ulm": "The mayor of Ulm is [[Eva Kranz]]. The minster is tall.\n\nIts motto is BE FREE.",
    "Bank of Ulm": "The Bank of Ulm stands in [[Ulm]]. Its motto is: be free.",
}
NEW_PAGES = {
    "Ada Lovelace": "Ada Lovelace had kin in [[Germany]]. Ada wrote for [[Charles Babbage]].\n\nHer notes are short.",
    "Ulm": "The mayor of Ulm is [[Jan Holt]]. The minster is tall.\n\nIts motto is BE FREE.\n\nUlm is in Germany.",
    "Bank of Ulm": "The Bank of Ulm stands in [[Ulm]]. Its motto is: be free. "
    "It is owned by the Old and New Traders of Ulm, once by John Smith.",
    "Neptune Tower": "The Neptune Tower is the highest in all of [[Germany|germany]].",
}
NO_CAPS = {"subject": None, "relation": None, "object": None}
SAME = {"Q1 P2 Q10", "Q2 P4 Q14", "Q3 P4 Q14"}
CHANGED = {"Q1 P3 Q13", "Q2 P1 Q12", "Q4 P2 Q10"}

pytestmark = pytest.mark.usefixtures("loop")


@pytest.fixture(autouse=True)
def few_buckets(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have each of the many builds here write some dozens of files rather than hundreds."""
    monkeypatch.setattr(changed_texts, "TITLE_BUCKETS", 4)


@pytest.fixture
def recipe(tmp_path: Path) -> dict[str, Any]:
    wiki(tmp_path / "enwiki-20210801-pages-articles.xml.bz2", OLD_PAGES)
    wiki(tmp_path / "enwiki-20210901-pages-articles.xml.bz2", NEW_PAGES)
    dumps = {20210801: OLD.write(tmp_path / "old.json.gz"), 20210901: NEW.write(tmp_path / "new.json.gz")}
    examples = {
        "kind": "temporalwiki-probes",
        "wiki": {"dumps": [str(tmp_path / "enwiki-*.xml.bz2")]},
        "wikidata": {"dumps": {day: str(path) for day, path in dumps.items()}},
        "caps": NO_CAPS,
        "tune": 0,
    }
    return {"name": "probes", "version": 1, "examples": examples}


def build(recipe: dict[str, Any], root: Path, **changes: Any) -> Examples:
    whole = recipe | {"examples": recipe["examples"] | changes}
    return sets.build(settings.parse(ExampleSetRecipe, whole, "recipe"), str(root))


def probes(made: Examples, period: str = "202109") -> dict[str, dict[str, Example]]:
    return {name: {one.id: one for one in made.read(period, name)} for name in made.periods[period].subsets}


def steps(made: Examples, period: str = "202109") -> dict[str, Step]:
    return {step.name: step for step in made.periods[period].steps}


def bytes_of(made: Examples) -> dict[str, str]:
    return {f"{p}/{name}": s.sha256 for p, one in made.periods.items() for name, s in one.subsets.items()}


def test_facts_are_asked_where_the_text_shows_what_became_of_them(recipe: dict[str, Any], tmp_path: Path) -> None:
    made = probes(build(recipe, tmp_path / "root"))
    assert {name: set(several) - {"Q3 P5 Q16", "Q3 P5 Q17"} for name, several in made.items()} == {
        "changed": CHANGED,
        "unchanged": SAME,
    }
    assert len(made["changed"]) == len(CHANGED) + 1  # one of the two of one name
    assert made["changed"]["Q2 P1 Q12"] == Example(
        id="Q2 P1 Q12",
        text="Ulm head of government",
        answer="Jan Holt",
        aliases=("J. Holt",),
        source="head of government",
        about={
            "subject": "Ulm",
            "relation": "head of government",
            "subject-id": "Q2",
            "relation-id": "P1",
            "object-id": "Q12",
            "title": "Ulm",
            "category": "updated",
        },
        outdated=("Eva Kranz",),
    )
    categories = {id: one.about["category"] for several in made.values() for id, one in several.items()}
    assert {id for id, category in categories.items() if category == "new"} >= {"Q1 P3 Q13", "Q4 P2 Q10"}
    assert {id for id, category in categories.items() if category == "same"} == SAME
    assert not made["changed"]["Q1 P3 Q13"].outdated


def test_every_triplet_becomes_a_probe_or_has_a_reason(recipe: dict[str, Any], tmp_path: Path) -> None:
    made = build(recipe, tmp_path / "root")
    found, manifest = steps(made), made.periods["202109"]
    triplets, texts = found["triplets"], found["triplets and texts"]
    assert (triplets.read, triplets.dropped) == (len(NEW.statements), {"object without label": 1})
    assert (texts.read, texts.dropped) == (
        triplets.kept,
        {
            "article in no such snapshot": 1,
            "object not in the unchanged text": 1,
            "object of more than 5 words": 1,
            "relation without label": 1,
            "subject and object within each other": 1,
        },
    )
    assert found["changed"].dropped == {"repeated triplet": 1}
    assert found["unchanged"].dropped == {}
    assert texts.kept == found["changed"].read + found["unchanged"].read
    assert {name: found[name].kept for name in manifest.subsets} == {n: s.rows for n, s in manifest.subsets.items()}
    assert manifest.statistics["triplets"] == {"same": 6, "new": 6, "updated": 1, "removed": 1}
    assert manifest.statistics["triplets in their text"] == {"same": 4, "new": 5, "updated": 1}
    assert manifest.statistics["probes"] == {"same": 3, "new": 3, "updated": 1}
    assert manifest.statistics["relations"] == {
        "country": 2,
        "motto": 2,
        "employer": 1,
        "head of government": 1,
        "owned by": 1,
    }


def test_filters_can_be_set(recipe: dict[str, Any], tmp_path: Path) -> None:
    kept = probes(build(recipe, tmp_path / "a", overlap="keep", object_words=None))
    assert "Q3 P2 Q2" in kept["unchanged"] and "Q3 P5 Q15" in kept["changed"]
    wiki(
        tmp_path / "enwiki-20210901-pages-articles.xml.bz2",
        NEW_PAGES | {"Ulm": "The mayor of Ulm is [[Jan Holt]]inger. The minster is tall."},
    )
    assert "Q2 P1 Q12" in probes(build(recipe, tmp_path / "b"))["changed"]
    made = build(recipe, tmp_path / "c", match="words")
    assert "Q2 P1 Q12" not in probes(made)["changed"]
    assert steps(made)["triplets and texts"].dropped["object not in the changed text"] == 1


def many(tmp_path: Path) -> dict[str, Any]:
    """Two dumps with 300 facts: 100 people, each with an old employer, a new town, and a country in the place of
    another."""
    people = [f"Q{n}" for n in range(100, 200)]
    labels = {"P1": "employer", "P2": "town", "P3": "country", **{id: f"Person {id}" for id in people}}
    labels |= {f"Q{n}": f"Firm {n}" for n in range(10)} | {f"Q{n}": f"Town {n}" for n in range(10, 20)}
    labels |= {"Q20": "Oldland", "Q21": "Newland"}
    titles = {id: f"Person {id}" for id in people}
    works = [(id, "P1", f"Q{n % 10}") for n, id in enumerate(people)]
    lives = [(id, "P2", f"Q{10 + n % 10}") for n, id in enumerate(people)]
    before = Facts(labels, titles, works + [(id, "P3", "Q20") for id in people])
    after = Facts(labels, titles, works + lives + [(id, "P3", "Q21") for id in people])
    pages = {t: f"{t} works for {labels[f'Q{n % 10}']}." for n, t in enumerate(titles.values())}
    told = {
        t: f"{text}\n\nHome is {labels[f'Q{10 + n % 10}']} in Newland." for n, (t, text) in enumerate(pages.items())
    }
    wiki(tmp_path / "enwiki-20210801.xml.bz2", pages)
    wiki(tmp_path / "enwiki-20210901.xml.bz2", told)
    wiki(tmp_path / "enwiki-20211001.xml.bz2", told | {t: f"{told[t]} So it is." for t in list(told)[:50]})
    dumps = {20210801: before.write(tmp_path / "a.json.gz"), 20210901: after.write(tmp_path / "b.json.gz")}
    dumps[20211001] = after.write(tmp_path / "c.json.gz")
    examples = {
        "kind": "temporalwiki-probes",
        "wiki": {"dumps": str(tmp_path / "enwiki-*.xml.bz2")},
        "wikidata": {"dumps": {day: str(path) for day, path in dumps.items()}},
        "caps": NO_CAPS,
    }
    return {"name": "many", "version": 1, "examples": examples}


@pytest.mark.nightly
def test_a_prompt_to_tune_on_is_asked_in_no_period(tmp_path: Path) -> None:
    recipe = many(tmp_path)
    made = build(recipe, tmp_path / "root")
    assert list(made.periods) == ["202109", "202110"]
    by_period = [probes(made, label) for label in made.periods]
    asked = {one.text for found in by_period for name in ("changed", "unchanged") for one in found[name].values()}
    tuned = {one.text for found in by_period for name in found if "tune" in name for one in found[name].values()}
    assert tuned and not asked & tuned
    first = by_period[0]
    assert sum(map(len, first.values())) == 300
    assert {len(first["changed-tune"]) // 10, len(first["unchanged-tune"]) // 5} <= {1, 2, 3}  # about a tenth
    few = build(recipe | {"version": 2}, tmp_path / "root", tune=3, probes=20)
    sizes = {name: subset.rows for name, subset in few.periods["202109"].subsets.items()}
    assert sizes == {"changed": 20, "changed-tune": 3, "unchanged": 20, "unchanged-tune": 3}
    for name, several in probes(few).items():
        assert several.keys() < first[name].keys()
        left = len(first[name]) - len(several)
        assert steps(few)[name].dropped == {"not sampled": left}
    other = build(recipe | {"seed": 1}, tmp_path / "other", tune=3, probes=20)
    assert probes(other)["changed"].keys() != probes(few)["changed"].keys()


def test_caps_are_those_of_the_release_and_hold_in_each_subset(tmp_path: Path) -> None:
    recipe = many(tmp_path)
    del recipe["examples"]["caps"]
    made = build(recipe, tmp_path / "root", tune=0)
    answers = {name: [one.answer for one in several.values()] for name, several in probes(made).items()}
    # of 200 changed, 2 of a subject, then 10 of each of 2 relations, then 1 of each object: Newland, and towns
    assert len(set(answers["changed"])) == len(answers["changed"]) and 2 < len(answers["changed"]) <= 11
    # of 100 unchanged, 1 of a subject, then 5 of the relation, then 1 of each object
    assert len(set(answers["unchanged"])) == len(answers["unchanged"]) and 1 < len(answers["unchanged"]) <= 5
    whole = build(recipe | {"version": 2}, tmp_path / "root", tune=0, caps=NO_CAPS)
    assert [len(several) for several in probes(whole).values()] == [200, 100]
    kept = build(recipe | {"version": 3}, tmp_path / "root", tune=0, caps={"of": "kept"})
    assert [len(several) for several in probes(kept).values()] == [2, 1]  # one of each relation


def test_workers_their_order_and_the_number_of_buckets_change_nothing(
    recipe: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain = build(recipe, tmp_path / "a", tune=5, tune_share=0.4, caps={"relation": 0.4})
    with monkeypatch.context() as patch:
        patch.setattr(Backwards, "each", ProcessExecutor.each)
        turned = build(recipe, tmp_path / "b", tune=5, tune_share=0.4, caps={"relation": 0.4})
    assert bytes_of(turned) == bytes_of(plain)
    monkeypatch.setattr(statements, "buckets_for", lambda sizes: 3)
    monkeypatch.setattr(changed_texts, "TITLE_BUCKETS", 5)
    for module in (statements, pairing):
        monkeypatch.setattr(module, "GROUPS", 2)
    fewer = build(recipe, tmp_path / "c", tune=5, tune_share=0.4, caps={"relation": 0.4})
    assert bytes_of(fewer) == bytes_of(plain)
    backwards = dataclasses.replace(NEW, statements=NEW.statements[::-1])
    backwards.write(tmp_path / "new.json.gz")
    assert bytes_of(build(recipe, tmp_path / "d", tune=5, tune_share=0.4, caps={"relation": 0.4})) == bytes_of(plain)


@pytest.mark.parametrize("stage", ["compare", "align", "choose"])
def test_a_build_that_was_killed_goes_on_to_the_same_bytes(
    stage: str, recipe: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = build(recipe, tmp_path / "whole")
    module: Any = choosing if stage == "choose" else aligned
    real, calls = getattr(module, stage), 0

    def stop(*args: Any) -> Any:
        nonlocal calls
        calls += 1
        if calls == (1 if stage == "choose" else 4):
            raise KeyboardInterrupt
        return real(*args)

    with monkeypatch.context() as patch:
        patch.setattr(module, stage, stop)
        with pytest.raises(KeyboardInterrupt):
            build(recipe, tmp_path / "killed")
    again = build(recipe, tmp_path / "killed")
    assert bytes_of(again) == bytes_of(whole)
    assert again.periods["202109"].steps == whole.periods["202109"].steps
    assert again.store.folders("staging") == []


@pytest.mark.nightly
@pytest.mark.ray
def test_ray_makes_the_same_probes(
    recipe: dict[str, Any], ray_local: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain = build(recipe, tmp_path / "process", tune=5, tune_share=0.4)
    monkeypatch.undo()
    spread = build(recipe | {"executor": "ray"}, tmp_path / "ray", tune=5, tune_share=0.4)
    assert bytes_of(spread) == bytes_of(plain)


def test_one_more_month_is_one_more_period_and_leaves_the_others(recipe: dict[str, Any], tmp_path: Path) -> None:
    before = build(recipe, tmp_path / "root")
    later = NEW_PAGES | {"Ulm": NEW_PAGES["Ulm"].replace("Jan Holt", "Eva Kranz")}
    wiki(tmp_path / "enwiki-20211001-pages-articles.xml.bz2", later)
    third = Facts(NEW.labels, TITLES, [*NEW.statements, ("Q2", "P1", "Q11")]).write(tmp_path / "third.json.gz")
    dumps = recipe["examples"]["wikidata"]["dumps"] | {20211001: str(third)}
    after = build(recipe, tmp_path / "root", wikidata={"dumps": dumps})
    assert list(after.periods) == ["202109", "202110"]
    assert after.periods["202109"] == before.periods["202109"]
    (added,) = probes(after, "202110")["changed"].values()
    assert (added.answer, added.outdated, added.about["category"]) == ("Eva Kranz", (), "updated")  # beside the other
    assert bytes_of(build(recipe, tmp_path / "at once", wikidata={"dumps": dumps})) == bytes_of(after)


def test_bad_input_is_one_line(recipe: dict[str, Any], tmp_path: Path) -> None:
    dumps = recipe["examples"]["wikidata"]["dumps"]
    with pytest.raises(InputError, match=r"^examples\.wikidata\.site: dewiki is not the wiki .*; give enwiki$"):
        build(recipe, tmp_path / "a", wikidata={"dumps": dumps, "site": "dewiki"})
    with pytest.raises(InputError, match=r"^examples\.wikidata\.dumps: the dump of 20210901 alone shows no change"):
        build(recipe, tmp_path / "a", wikidata={"dumps": {20210901: dumps[20210901]}})
    with pytest.raises(InputError, match="1 no dump of Wikidata within 45 days"):
        build(recipe, tmp_path / "a", wikidata={"dumps": {20100101: dumps[20210801], 20210901: dumps[20210901]}})
    unlinked = dataclasses.replace(NEW, titles={}).write(tmp_path / "unlinked.json.gz")
    with pytest.raises(InputError, match=r"^examples\.wikidata\.dumps\.\d+: none of 13 items .* no sitelinks at all$"):
        build(recipe, tmp_path / "a", wikidata={"dumps": {20210801: dumps[20210801], 20210901: str(unlinked)}})
    with pytest.raises(InputError, match=r"examples\.tune_share"):
        build(recipe, tmp_path / "a", tune_share=1)


def test_a_broken_older_dump_does_not_make_new_facts(recipe: dict[str, Any], tmp_path: Path) -> None:
    without_ulm = dataclasses.replace(OLD, labels={k: v for k, v in OLD.labels.items() if k != "Q2"})
    path = without_ulm.write(tmp_path / "lost.json.gz")
    whole = recipe["examples"]["wikidata"]["dumps"]
    made = build(recipe, tmp_path / "whole", wikidata={"dumps": whole | {20210801: str(path)}})
    assert {e.about["category"] for e in probes(made)["changed"].values() if e.about["subject"] == "Ulm"} == {"new"}
    path.write_bytes(gzip.compress(gzip.decompress(path.read_bytes()).rstrip().removesuffix(b"]")))
    cut = build(recipe, tmp_path / "cut", wikidata={"dumps": whole | {20210801: str(path)}})
    assert not [e for e in probes(cut)["changed"].values() if e.about["subject"] in ("Ulm", "Neptune Tower")]
    assert steps(cut)["triplets"].dropped["perhaps in the lost part of the older dump"] == 5


def test_what_data_show_prints_fits_and_names_what_was_lost(recipe: dict[str, Any], tmp_path: Path) -> None:
    made = build(recipe, tmp_path / "root")
    console = Console(width=100, record=True, file=(tmp_path / "out").open("w"))
    console.print(overview(made))
    text = console.export_text()
    for line in ("202109", "triplets in their text", "updated", "head of government", "relation without label"):
        assert line in text
    assert max(map(len, text.splitlines())) <= 100 and "…" not in text


def test_where_files_lie_is_no_part_of_the_identity(recipe: dict[str, Any]) -> None:
    def identity(**changes: Any) -> str:
        examples = recipe["examples"] | changes
        return fingerprint.fingerprint(settings.parse(TemporalWikiProbes, examples, "recipe").identity)

    moved = {"dumps": {20210801: "x.json", 20210901: "y.json"}}
    assert identity() == identity(wikidata=moved) == identity(wiki={"dumps": ["z.xml"]})
    others = ({"within_days": 3}, {"match": "words"}, {"tune": 1}, {"caps": {"of": "kept"}}, {"object_words": 4})
    assert len({identity(), *(identity(**one) for one in others)}) == 1 + len(others)


def test_the_packaged_recipe_lacks_only_the_dumps(recipe: dict[str, Any]) -> None:
    given = {name: json.dumps(recipe["examples"][name]["dumps"]) for name in ("wiki", "wikidata")}
    sets = [f"examples.{name}.dumps={dumps}" for name, dumps in given.items()]
    packaged = settings.load(ExampleSetRecipe, "temporalwiki-probes", "datasets/recipes", sets)
    examples = {name: value for name, value in recipe["examples"].items() if name not in ("caps", "tune")}
    assert packaged.examples == settings.parse(TemporalWikiProbes, examples, "recipe")


@pytest.mark.skipif(not SHARED.exists(), reason="no shared data")
def test_real_entities_are_asked_about_where_pages_name_their_objects(tmp_path: Path) -> None:
    raw = gzip.decompress((SHARED / "wikidata/entities-201703.json.gz").read_bytes()).splitlines()
    new = [json.loads(line.rstrip(b",")) for line in raw if line.startswith(b"{")]
    old = [
        one | {"claims": {p: c for p, c in one["claims"].items() if (one["id"], p) != ("Q31", "P37")}} for one in new
    ]
    dumps: dict[int, str] = {}
    for day, entities in ((20170201, old), (20170301, new)):
        path = tmp_path / f"{day}.json.gz"
        path.write_bytes(gzip.compress(b"[\n" + b",\n".join(json.dumps(one).encode() for one in entities) + b"\n]\n"))
        dumps[day] = str(path)
    pages = {"Belgium": "[[Belgium]] is a country.", "Berlin": "Berlin and London are twins.", "London": "Not Berlin."}
    wiki(tmp_path / "enwiki-20170201.xml.bz2", pages)
    pages |= {"Belgium": f"{pages['Belgium']} French is spoken there.", "London": "London is big."}
    wiki(tmp_path / "enwiki-20170301.xml.bz2", pages)
    wikidata = {"dumps": dumps, "property_labels": str(SHARED / "wikidata/property_labels.json")}
    kind = {"kind": "temporalwiki-probes", "wiki": {"dumps": f"{tmp_path}/*.bz2"}, "caps": NO_CAPS, "tune": 0}
    made = build({"name": "real", "version": 1, "examples": kind | {"wikidata": wikidata}}, tmp_path / "root")
    asked = {(name, one.text, one.answer) for name, found in probes(made, "201703").items() for one in found.values()}
    assert asked == {
        ("changed", "Belgium official language", "French"),
        ("unchanged", "Berlin twinned administrative body", "London"),
    }
    found = steps(made, "201703")
    assert found["triplets"].dropped == {"object without label": found["triplets"].read - 6}
    assert found["triplets and texts"].dropped == {
        "object not in the unchanged text": 1,  # the page on London names Berlin no longer
        "subject and object within each other": 1,  # Belgium, whose country is Belgium
        "article in no such snapshot": 2,
    }
