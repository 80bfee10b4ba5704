"""Wiki questions: from two dumps of Wikidata and two of a wiki to questions that anyone can read."""

from __future__ import annotations

import bz2
import gzip
import json
import re
from pathlib import Path
from typing import Any

import pytest
from builds import Backwards
from paths import SHARED
from smallfacts import Facts, wiki

from ticlm.core import fingerprint, settings
from ticlm.core.errors import InputError
from ticlm.core.examples import Examples
from ticlm.datasets.evalsets import recipe as benchmark
from ticlm.datasets.evalsets.recipe import ExampleSetRecipe
from ticlm.datasets.evalsets.tic_wiki_qa import WikiQuestions
from ticlm.datasets.examples.blanks import as_paper_json, export
from ticlm.datasets.io.in_process import ProcessExecutor
from ticlm.datasets.wikidata import cloze

LABELS = {
    "P19": "place of birth",
    "P20": "place of death",
    "P6": "head of government",
    "P108": "employer",
    "P17": "country",
    "P31": "instance of",
    "Q1": "Ada Lovelace",
    "Q2": "London",
    "Q3": "Charles Babbage",
    "Q4": "Ulm",
    "Q5": "Eva Kranz",
    "Q6": "Jan Holt",
    "Q7": "Germany",
    "Q8": "queen",
    "Q9": "chess piece",
    "Q10": "Neptune Tower",
    "Q11": "Bonn",
    "Q12": "Ghost",
}
TITLES = {
    "Q1": "Ada_Lovelace",
    "Q4": "Ulm",
    "Q8": "Queen (chess)",
    "Q10": "Neptune Tower",
    "Q11": "Bonn",
    "Q12": "Never written",
}
OLD = Facts(
    {key: label for key, label in LABELS.items() if key != "Q10"},
    TITLES,
    [
        ("Q1", "P19", "Q2"),
        ("Q1", "P20", "Q2"),
        ("Q4", "P6", "Q5"),
        ("Q4", "P17", "Q7"),
        ("Q8", "P31", "Q9"),
        ("Q11", "P17", "Q7"),
    ],
    {"Q2": ["the capital"], "Q6": ["J. Holt"]},
)
NEW = Facts(
    LABELS,
    TITLES,
    [
        ("Q1", "P19", "Q2"),
        ("Q1", "P20", "Q2"),
        ("Q1", "P108", "Q3"),
        ("Q4", "P6", "Q6"),
        ("Q4", "P17", "Q7"),
        ("Q8", "P31", "Q9"),
        ("Q10", "P17", "Q7"),
        ("Q11", "P17", "Q7"),
        ("Q12", "P17", "Q7"),
    ],
    OLD.aliases,
)
OLD_PAGES = {
    "Ada Lovelace": "'''Ada Lovelace''' was born in [[London]]. She wrote alone.\n\nHer notes are short.",
    "Ulm": "'''Ulm''' is a city in [[Germany]].\n\nThe mayor of Ulm is [[Eva Kranz]]. The minster is tall.",
    "Queen (chess)": "The '''queen''' is the strongest [[chess piece]].",
    "Bonn": "Bonn was a capital.",
}
NEW_PAGES = {
    "Ada Lovelace": "'''Ada Lovelace''' was born in [[London]]. "
    "Ada Lovelace wrote for [[Charles Babbage]].\n\nHer notes are short.",
    "Ulm": "'''Ulm''' is a city in [[Germany]].\n\nThe mayor of Ulm is [[Jan Holt]]. The minster is tall.",
    "Queen (chess)": "The '''queen''' is the strongest [[chess piece]].",
    "Bonn": "Bonn was a capital. Bonn is in [[Germany]].",
    "Neptune Tower": "The '''Neptune Tower''' is the highest in all of [[Germany|germany]].",
}


@pytest.fixture
def recipe(tmp_path: Path) -> dict[str, Any]:
    wiki(tmp_path / "enwiki-20170201-pages-articles.xml.bz2", OLD_PAGES)
    wiki(tmp_path / "enwiki-20170301-pages-articles.xml.bz2", NEW_PAGES)
    dumps = {20170130: OLD.write(tmp_path / "old.json.gz"), 20170305: NEW.write(tmp_path / "new.json.gz")}
    return {
        "name": "questions",
        "version": 1,
        "examples": {
            "kind": "wiki-questions",
            "wiki": {"dumps": [str(tmp_path / "enwiki-*.xml.bz2")]},
            "wikidata": {"dumps": {day: [str(path)] for day, path in dumps.items()}},
        },
    }


def build(recipe: dict[str, Any], root: Path, **changes: Any) -> Examples:
    whole = recipe | {"examples": recipe["examples"] | changes}
    return benchmark.build(settings.parse(ExampleSetRecipe, whole, "recipe"), str(root))


def asked(made: Examples, subset: str, period: str = "201703") -> dict[str, str]:
    """The sentence of each question, with its answer."""
    sentence = re.compile(r"Question: Fill in the blank: (.*)\nAnswer:", re.DOTALL)
    found = {}
    for example in made.read(period, subset):
        matched = sentence.fullmatch(example.text)
        assert matched is not None and example.answer is not None
        found[matched.group(1)] = example.answer
    return found


def test_what_changed_and_what_stayed_is_asked_of_the_text_that_tells_it(
    recipe: dict[str, Any], loop: None, tmp_path: Path
) -> None:
    made = build(recipe, tmp_path / "root")
    assert list(made.periods) == ["201703"]
    assert asked(made, "changed") == {
        "Ada Lovelace wrote for _____.": "Charles Babbage",
        "The mayor of Ulm is _____.": "Jan Holt",
        "The Neptune Tower is the highest in all of _____.": "Germany",
    }
    assert asked(made, "unchanged") == {
        "Ada Lovelace was born in _____.": "London",
        "Ulm is a city in _____.": "Germany",
        "The queen is the strongest _____.": "chess piece",
    }


def test_a_question_says_what_it_is_about_and_accepts_other_names(
    recipe: dict[str, Any], loop: None, tmp_path: Path
) -> None:
    made = build(recipe, tmp_path / "root")
    by_id = {example.id: example for subset in ("changed", "unchanged") for example in made.read("201703", subset)}
    mayor = by_id["Q4 P6 Q6"]
    assert mayor.about == {
        "title": "Ulm",
        "subject": "Ulm",
        "relation": "head of government",
        "property": "P6",
        "category": "new object",
    }
    assert mayor.aliases[0] == "J. Holt" and "jan holt" in mayor.aliases
    assert by_id["Q10 P17 Q7"].aliases[0] == "germany"  # so the article wrote it
    assert as_paper_json(mayor)["context"] == "Question: Fill in the blank: The mayor of Ulm is _____.\nAnswer:"
    plain = build(recipe | {"version": 2}, tmp_path / "root", blanks={"casings": False})
    assert next(e for e in plain.read("201703", "changed") if e.id == mayor.id).aliases == ("J. Holt",)


def test_questions_are_exported_as_in_the_paper_and_read_back(
    recipe: dict[str, Any], loop: None, tmp_path: Path
) -> None:
    made = build(recipe, tmp_path / "root")
    names = [path.rsplit("/", 1)[-1] for path in export(made, str(tmp_path / "out"))]
    assert names == ["changed-201703.jsonl", "unchanged-201703.jsonl"]
    for subset in ("changed", "unchanged"):
        examples = {
            "kind": "files",
            "paths": str(tmp_path / f"out/{subset}-*.jsonl"),
            "fields": {"text": "context", "period": ""},
            "subset": subset,
        }
        back = settings.parse(ExampleSetRecipe, {"name": subset, "version": 1, "examples": examples}, "recipe")
        read = benchmark.build(back, str(tmp_path / "root")).read("201703", subset)
        assert [(e.text, e.answer, e.aliases) for e in read] == [
            (e.text, e.answer, e.aliases) for e in made.read("201703", subset)
        ]


def test_every_triplet_becomes_a_question_or_has_a_reason(recipe: dict[str, Any], loop: None, tmp_path: Path) -> None:
    made = build(recipe, tmp_path / "root")
    manifest = made.periods["201703"]
    steps = {step.name: step for step in manifest.steps}
    triplets, sentences, questions = steps["triplets"], steps["sentences"], steps["questions"]
    assert (triplets.read, triplets.dropped) == (9, {})
    assert sentences.read == triplets.kept
    assert sentences.dropped == {
        "article in no such snapshot": 1,  # of Ghost
        "object not in these sentences": 1,  # Bonn is in Germany as before, and only a new sentence says so
        "question asked twice": 1,  # London is where she was born and where she died
    }
    assert questions.read == sentences.kept == 6
    assert questions.kept == sum(subset.rows for subset in manifest.subsets.values())
    assert manifest.statistics["triplets"] == {
        "new entity": 1,
        "new object": 1,
        "new relation": 2,
        "removed": 1,
        "unchanged": 5,
    }
    assert manifest.statistics["questions"] == {"new entity": 1, "new object": 1, "new relation": 1, "unchanged": 3}
    assert manifest.statistics["relations"]["country"] == 2
    (built,) = benchmark.builds(made.store)
    counted = {step.name: step for step in built.steps}
    assert counted["entities"].read == 2 * len(LABELS) - 1
    assert counted["subjects"].read == counted["entities"].kept
    assert counted["statements"].read == len(OLD.statements) + len(NEW.statements)


@pytest.mark.parametrize("damage", ["end", "line"])
def test_what_an_older_dump_may_have_lost_is_not_new(
    damage: str, recipe: dict[str, Any], loop: None, tmp_path: Path
) -> None:
    lines = gzip.decompress((tmp_path / "old.json.gz").read_bytes()).splitlines(keepends=True)
    ulm = next(number for number, line in enumerate(lines) if b'"id": "Q4"' in line)
    kept = lines[:ulm] if damage == "end" else [*lines[:ulm], lines[ulm][:40] + b"\n", *lines[ulm + 1 :]]
    (tmp_path / "old.json.gz").write_bytes(gzip.compress(b"".join(kept)))
    made = build(recipe, tmp_path / "root")
    whole = (
        {"unchanged": {"Q1"}, "changed": {"Q1"}} if damage == "end" else {"unchanged": {"Q1", "Q8"}, "changed": {"Q1"}}
    )
    found = {subset: {one.id.split()[0] for one in made.read("201703", subset)} for subset in whole}
    assert found == whole
    manifest = made.periods["201703"]
    (triplets,) = (step for step in manifest.steps if step.name == "triplets")
    lost = {"end": 6, "line": 3}[damage]  # Ulm's two, the tower's one; what stands behind, too
    assert (triplets.read, triplets.dropped) == (9, {"perhaps in the lost part of the older dump": lost})
    assert "new entity" not in manifest.statistics["triplets"]


def test_fewer_questions_are_a_random_part_that_the_seed_decides(
    recipe: dict[str, Any], loop: None, tmp_path: Path
) -> None:
    whole = build(recipe, tmp_path / "all")
    parts = [build(recipe | {"seed": seed}, tmp_path / str(seed), questions=2) for seed in range(3)]
    found = {tuple(example.id for example in made.read("201703", "unchanged")) for made in parts}
    assert len(found) > 1
    everything = {example.id for example in whole.read("201703", "unchanged")}
    assert all(len(ids) == 2 and set(ids) < everything for ids in found)
    assert parts[0].periods["201703"].steps[-1].dropped == {"not sampled": 2}


def test_caps_bound_the_share_of_a_relation(recipe: dict[str, Any], loop: None, tmp_path: Path) -> None:
    made = build(recipe, tmp_path / "root", caps={"object": 0.3})
    manifest = made.periods["201703"]
    answers = [example.answer for example in made.read("201703", "unchanged")]
    assert sorted(map(str, answers)) == ["Germany", "London", "chess piece"]
    one = build(recipe | {"version": 2}, tmp_path / "root", caps={"relation": 0.01, "subject": 0.01})
    properties = [e.about["property"] for e in one.read("201703", "changed")]
    assert len(set(properties)) == len(properties)
    assert manifest.steps[-1].dropped == {}


def test_workers_and_their_order_change_nothing(
    recipe: dict[str, Any], loop: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain = build(recipe, tmp_path / "a")
    monkeypatch.setattr(Backwards, "each", ProcessExecutor.each)
    turned = build(recipe, tmp_path / "b")
    assert bytes_of(turned) == bytes_of(plain)


def bytes_of(made: Examples) -> dict[str, str]:
    return {f"{p}/{name}": s.sha256 for p, one in made.periods.items() for name, s in one.subsets.items()}


@pytest.mark.parametrize("stage", ["compare", "ask", "choose"])
def test_a_build_that_was_killed_goes_on_to_the_same_bytes(
    stage: str, recipe: dict[str, Any], loop: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = build(recipe, tmp_path / "whole")
    real, calls = getattr(cloze, stage), 0

    def stop(*args: Any) -> Any:
        nonlocal calls
        calls += 1
        if calls == (1 if stage == "choose" else 4):
            raise KeyboardInterrupt
        return real(*args)

    with monkeypatch.context() as patch:
        patch.setattr(cloze, stage, stop)
        with pytest.raises(KeyboardInterrupt):
            build(recipe, tmp_path / "killed")
    again = build(recipe, tmp_path / "killed")
    assert bytes_of(again) == bytes_of(whole)
    assert again.periods["201703"].steps == whole.periods["201703"].steps


@pytest.mark.parametrize("stage", ["ask", "choose"])
def test_what_was_staged_of_another_dump_is_not_taken(
    stage: str, recipe: dict[str, Any], loop: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stop(*_: Any) -> Any:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(cloze, stage, stop)
        build(recipe, tmp_path / "killed")
    fewer = [one for one in NEW.statements if one != ("Q4", "P6", "Q6")]
    nearer = Facts(LABELS, TITLES, fewer).write(tmp_path / "nearer.json.gz")
    dumps = {"dumps": recipe["examples"]["wikidata"]["dumps"] | {20170301: str(nearer)}}
    again = build(recipe, tmp_path / "killed", wikidata=dumps)
    assert "The mayor of Ulm is _____." not in asked(again, "changed")
    assert bytes_of(again) == bytes_of(build(recipe, tmp_path / "whole", wikidata=dumps))


@pytest.mark.ray
def test_ray_makes_the_same_questions(recipe: dict[str, Any], ray_local: None, tmp_path: Path) -> None:
    made = build(recipe, tmp_path / "root")
    assert len(asked(made, "changed")) == len(asked(made, "unchanged")) == 3


def questions(recipe: dict[str, Any], days: list[str], dumps: list[str], **changes: Any) -> WikiQuestions:
    examples = recipe["examples"] | changes | {"wiki": {"dumps": {day: "x.xml" for day in days}}}
    return settings.parse(WikiQuestions, examples | {"wikidata": {"dumps": {day: "y.json" for day in dumps}}}, "recipe")


def pairs(
    recipe: dict[str, Any], days: list[str], dumps: list[str], **changes: Any
) -> tuple[dict[str, list[str]], dict[str, int]]:
    from ticlm.datasets.io.documents import Input

    maker = questions(recipe, days, dumps, **changes)
    pages = [Input(path=f"{day}.xml", size=1, stamp="", group=day) for day in days]
    found, unpaired = maker.pairs(maker.wiki.series(pages)[0])
    return {label: [dump.date for dump in several] for label, several in found.items()}, dict(unpaired)


def test_a_snapshot_goes_with_the_nearest_dump_that_is_not_after_its_month(recipe: dict[str, Any]) -> None:
    days = ["20170101", "20170201", "20170301"]
    assert pairs(recipe, days, ["20161231", "20170125", "20170208", "20170302"]) == (
        {"201702": ["20161231", "20170125"], "201703": ["20170125", "20170302"]},  # 7 days before goes before 7 after
        {},
    )
    assert pairs(recipe, ["20170120", "20170228"], ["20170119", "20170301"])[0] == {}  # a day away, in the next month
    assert pairs(recipe, ["20170120", "20170228"], ["20170119", "20170301"])[1] == {
        "no other dump of Wikidata than before": 1
    }


def test_steps_without_two_dumps_near_them_are_counted(recipe: dict[str, Any]) -> None:
    days = ["20170101", "20170201", "20170301", "20180301"]
    assert pairs(recipe, days, ["20170101", "20170301"], within_days=20) == (
        {},
        {"no dump of Wikidata within 20 days": 3},
    )
    assert pairs(recipe, days, ["20170101", "20170301"], within_days=40) == (
        {"201703": ["20170101", "20170301"]},
        {"no other dump of Wikidata than before": 1, "no dump of Wikidata within 40 days": 1},
    )


def test_where_files_lie_is_no_part_of_the_identity(recipe: dict[str, Any]) -> None:
    one, other = (questions(recipe, ["20170101"], [day]) for day in ("20170101", "20170201"))
    assert fingerprint.fingerprint(one.identity) == fingerprint.fingerprint(other.identity)
    for changes in ({"within_days": 3}, {"triplets": {"case_only": "discard"}}, {"blanks": {"mentions": "object"}}):
        assert fingerprint.fingerprint(
            questions(recipe, ["20170101"], ["20170101"], **changes).identity
        ) != fingerprint.fingerprint(one.identity)


def test_the_packaged_recipe_lacks_only_the_dumps(recipe: dict[str, Any]) -> None:
    wiki_dumps, dumps = recipe["examples"]["wiki"]["dumps"], recipe["examples"]["wikidata"]["dumps"]
    sets = [f"examples.wiki.dumps={json.dumps(wiki_dumps)}", f"examples.wikidata.dumps={json.dumps(dumps)}"]
    packaged = settings.load(ExampleSetRecipe, "wiki-questions", "datasets/recipes", sets)
    assert packaged.examples == settings.parse(WikiQuestions, recipe["examples"], "recipe")
    with pytest.raises(InputError, match=r"examples\.wikidata\.dumps: .*\{20170301: .*\}"):
        settings.load(ExampleSetRecipe, "wiki-questions", "datasets/recipes")


@pytest.mark.parametrize("kind", ["dumps", "history"])
def test_files_of_the_wiki_are_missed_where_they_were_named(kind: str, recipe: dict[str, Any], tmp_path: Path) -> None:
    missing = {"dumps": {"dumps": "none.xml"}, "history": {"history": "none.xml", "snapshots": ["20170201"]}}[kind]
    with pytest.raises(InputError, match=rf"^examples\.wiki\.{kind}: none\.xml matches no file"):
        build(recipe, tmp_path / "root", wiki=missing)


def test_one_more_day_of_a_history_is_one_more_period(recipe: dict[str, Any], loop: None, tmp_path: Path) -> None:
    pages = wiki(tmp_path / "history.xml.bz2", NEW_PAGES)
    days = ["20170201", "20170301"]
    history = {"history": str(pages), "snapshots": days}
    third = {"dumps": recipe["examples"]["wikidata"]["dumps"] | {20170401: str(tmp_path / "new.json.gz")}}
    assert list(build(recipe, tmp_path / "root", wiki=history, wikidata=third).periods) == ["201703"]
    later = history | {"snapshots": [*days, "20170401"]}
    assert list(build(recipe, tmp_path / "root", wiki=later, wikidata=third).periods) == ["201703", "201704"]


def test_dumps_of_which_no_question_comes_are_one_line(recipe: dict[str, Any], loop: None, tmp_path: Path) -> None:
    far = {"dumps": {20100101: recipe["examples"]["wikidata"]["dumps"][20170130]}}
    with pytest.raises(InputError, match="1 no dump of Wikidata within 45 days"):
        build(recipe, tmp_path / "root", wikidata=far)
    (other,) = tmp_path.glob("enwiki-20170201*")
    wrong = {"dumps": recipe["examples"]["wikidata"]["dumps"] | {20170130: str(other)}}
    with pytest.raises(
        InputError, match=r"enwiki-20170201-pages-articles\.xml\.bz2 is no dump of Wikidata: none of its 4"
    ):
        build(recipe, tmp_path / "root", wikidata=wrong)


def test_one_more_month_is_one_more_period_and_nothing_stays_behind(
    recipe: dict[str, Any], loop: None, tmp_path: Path
) -> None:
    before = build(recipe, tmp_path / "root")
    later = {**NEW_PAGES, "Ulm": NEW_PAGES["Ulm"].replace("Jan Holt", "Eva Kranz")}
    wiki(tmp_path / "enwiki-20170401-pages-articles.xml.bz2", later)
    third = Facts(NEW.labels, TITLES, [*NEW.statements, ("Q4", "P6", "Q5")]).write(tmp_path / "third.json.gz")
    dumps = recipe["examples"]["wikidata"]["dumps"] | {20170401: str(third)}
    after = build(recipe, tmp_path / "root", wikidata={"dumps": dumps})
    assert list(after.periods) == ["201703", "201704"]
    assert after.periods["201703"] == before.periods["201703"]
    assert asked(after, "changed", "201704") == {"The mayor of Ulm is _____.": "Eva Kranz"}
    assert after.store.folders("staging") == []
    whole = build(recipe, tmp_path / "at once", wikidata={"dumps": dumps})
    assert bytes_of(whole) == bytes_of(after)


def test_what_is_staged_for_a_step_goes_with_it(
    recipe: dict[str, Any], loop: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from ticlm.datasets.examples.context import BuildContext, PeriodDraft

    kept: dict[str, set[str]] = {}
    real = benchmark._publish

    def look(recipe: ExampleSetRecipe, context: BuildContext, draft: PeriodDraft, tagging: benchmark.Tagging) -> str:
        files = [file.removeprefix(f"{context.folder}/") for file in context.store.walk(context.folder)]
        kept[draft.period.label] = {file for file in files if file.startswith(("subjects", "triplets", "questions"))}
        return real(recipe, context, draft, tagging)

    monkeypatch.setattr(benchmark, "_publish", look)
    wiki(tmp_path / "enwiki-20170401-pages-articles.xml.bz2", OLD_PAGES)
    dumps = recipe["examples"]["wikidata"]["dumps"]
    build(recipe, tmp_path / "root", wikidata={"dumps": dumps | {20170401: dumps[20170130]}})
    assert {file.rsplit("/", 1)[-1].split("-")[0] for file in kept["201704"] if "subjects" in file} >= {"20170305"}
    assert not any("20170130" in file or "-201703-" in file for file in kept["201704"])
    assert any("20170130" in file for file in kept["201703"])


def edited(lines: list[dict[str, Any]], path: Path) -> Path:
    path.write_bytes(gzip.compress(b"[\n" + b",\n".join(json.dumps(line).encode() for line in lines) + b"\n]\n"))
    return path


@pytest.mark.skipif(not SHARED.exists(), reason="no shared data")
def test_real_entities_make_questions_of_pages_about_them(loop: None, tmp_path: Path) -> None:
    raw = gzip.decompress((SHARED / "wikidata/entities-201703.json.gz").read_bytes()).splitlines()
    new = {one["id"]: one for one in (json.loads(line.rstrip(b",")) for line in raw if line.startswith(b"{"))}
    old = json.loads(json.dumps(new))
    del old["Q31"]["claims"]["P37"]  # Belgium's languages
    del old["Q167"]  # pi
    (died,) = old["Q255"]["claims"]["P570"]
    died["mainsnak"]["datavalue"]["value"]["time"] = "+1828-03-26T00:00:00Z"
    dumps = {"20170201": edited([*old.values()], tmp_path / "old.json.gz")}
    dumps["20170301"] = edited([*new.values()], tmp_path / "new.json.gz")
    pages = {
        "Belgium": "[[Belgium]] is a country.",
        "Berlin": "'''Berlin''' is twinned with [[London]] and was founded in 1237.",
        "Ludwig van Beethoven": "Ludwig van Beethoven was born in 1770. He lived long.",
        "Queen (chess)": "The queen moves.",
    }
    wiki(tmp_path / "enwiki-20170201.xml.bz2", pages)
    pages["Belgium"] += " [[French language|French]] is spoken in Belgium."
    pages["Ludwig van Beethoven"] += " Ludwig van Beethoven died in 1827."
    pages["Pi"] = "pi is 3.14."
    wiki(tmp_path / "enwiki-20170301.xml.bz2", pages)
    labels = str(SHARED / "wikidata/property_labels.json")
    wikidata = {"dumps": {k: str(v) for k, v in dumps.items()}, "values": ["item", "time"], "property_labels": labels}
    examples = {"kind": "wiki-questions", "wiki": {"dumps": str(tmp_path / "enwiki-*.bz2")}, "wikidata": wikidata}
    made = build({"name": "real", "version": 1, "examples": examples}, tmp_path / "root")
    assert asked(made, "changed") == {
        "_____ is spoken in Belgium.": "French",
        "Ludwig van Beethoven died in _____.": "1827",
    }
    assert asked(made, "unchanged") == {
        "Berlin is twinned with _____ and was founded in 1237.": "London",
        "Berlin is twinned with London and was founded in _____.": "1237",
        "Ludwig van Beethoven was born in _____.": "1770",
    }
    manifest = made.periods["201703"]
    assert set(manifest.statistics["relations"]) == {
        "official language",
        "date of death",
        "twinned administrative body",
        "inception",
        "date of birth",
    }
    for before, after in zip(manifest.steps[-3:], manifest.steps[-2:]):
        assert before.kept == after.read  # triplets, sentences, questions
    (built,) = benchmark.builds(made.store)
    counted = {step.name: step for step in built.steps}
    assert counted["entities"].read == 49
    assert counted["statements"].read == 2336 * 2 - len(new["Q31"]["claims"]["P37"]) - statements(new["Q167"])


def statements(entity: dict[str, Any]) -> int:
    return sum(len(several) for several in entity["claims"].values())


REAL_FACTS = [
    ("An American in Paris", "composer", "George Gershwin", "George Gershwin"),
    ("Aldous Huxley", "notable work", "Brave New World", "Brave New World"),
    ("Aldous Huxley", "place of birth", "Godalming", None),
    ("Animal Farm", "author", "George Orwell", "Eric Blair"),
    ("Aruba", "capital", "Oranjestad", None),
]
"""Title, relation, object in May and in April of 2016; the pages of April say the other object, or `somebody`."""


@pytest.mark.slow
@pytest.mark.skipif(not SHARED.exists(), reason="no shared data")
def test_real_articles_are_asked_about(loop: None, tmp_path: Path) -> None:
    (packed,) = (SHARED / "mediawiki/gensim").glob("*.bz2")
    xml = bz2.decompress(packed.read_bytes()).decode()
    head = xml[: xml.index("  <page>")]
    titles = dict.fromkeys(title for title, *_ in REAL_FACTS)
    now = {t: one for one in re.findall(r"  <page>.*?</page>\n", xml, re.DOTALL) if (t := _title(one)) in titles}
    before = dict(now)
    for title, _, new, old in REAL_FACTS:
        if new != old:
            text = before[title].replace(new, old or "somebody")
            before[title] = re.sub(r"(<revision>\s*<id>)\d+", r"\g<1>1", text)
    for day, pages in ((20160401, before), (20160501, now)):
        path = tmp_path / f"enwiki-{day}-pages-articles.xml.bz2"
        path.write_bytes(bz2.compress((head + "".join(pages.values()) + "</mediawiki>\n").encode()))
    ids = {
        name: f"Q{n}" for n, name in enumerate(dict.fromkeys(n for t, _, a, b in REAL_FACTS for n in (t, a, b) if n))
    }
    relations = {name: f"P{n}" for n, name in enumerate(dict.fromkeys(fact[1] for fact in REAL_FACTS))}
    labels = {key: name for name, key in (ids | relations).items()}
    articles = {ids[title]: title for title in titles}
    told = {
        day: [(ids[t], relations[r], ids[o]) for t, r, *objects in REAL_FACTS if (o := objects[which])]
        for which, day in ((1, 20160401), (0, 20160501))
    }
    dumps = {d: str(Facts(labels, articles, said).write(tmp_path / f"{d}.json.gz")) for d, said in told.items()}
    examples = {
        "kind": "wiki-questions",
        "wiki": {"dumps": str(tmp_path / "enwiki-*.bz2")},
        "wikidata": {"dumps": dumps},
    }
    made = build({"name": "real", "version": 1, "examples": examples}, tmp_path / "root")
    unchanged, changed = asked(made, "unchanged", "201605"), asked(made, "changed", "201605")
    assert sorted(unchanged.values()) == ["Brave New World", "George Gershwin"]
    assert unchanged[
        "An American in Paris is a jazz-influenced symphonic poem by the American composer _____, written in 1928."
    ]
    assert {"Oranjestad", "Godalming"} & set(changed.values())
    for sentence, answer in (unchanged | changed).items():
        assert answer not in sentence
        assert any(title in sentence for title in titles)


def _title(page: str) -> str:
    found = re.search("<title>(.*?)</title>", page)
    return found.group(1) if found else ""
