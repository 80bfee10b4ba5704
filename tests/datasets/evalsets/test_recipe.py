"""Sets of examples: kept as they were given, built from files with every record accounted for, scored like corpora."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ticlm.core import settings
from ticlm.core.errors import InputError
from ticlm.core.examples import Example, Examples, ExamplesInfo, PeriodExamples, publish
from ticlm.core.fingerprint import fingerprint
from ticlm.core.periods import Period, span
from ticlm.core.store import Store
from ticlm.datasets.evalsets import recipe as benchmark
from ticlm.datasets.evalsets.recipe import ExampleSetRecipe
from ticlm.datasets.evalsets.show import as_json, overview
from ticlm.platform.cli.console import console
from ticlm.platform.run.check import check

SHORT = st.text(st.characters(exclude_categories=["Cs"]), max_size=5)
EXAMPLES = st.builds(
    Example,
    id=SHORT,
    text=SHORT,
    answer=st.none() | SHORT,
    aliases=st.lists(SHORT, max_size=2).map(tuple),
    choices=st.lists(SHORT, max_size=3).map(tuple),
    nouns=st.none() | st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), max_size=2).map(tuple),
    source=SHORT,
    about=st.dictionaries(SHORT, SHORT, max_size=2),
)


def period(label: str) -> Period:
    start, end = span(label)
    return Period(label=label, start=start, end=end)


@given(examples=st.lists(EXAMPLES, max_size=4))
def test_examples_come_back_as_they_were(tmp_path_factory: pytest.TempPathFactory, examples: list[Example]) -> None:
    store = Store(tmp_path_factory.mktemp("set"))
    publish(store, PeriodExamples(period=period("202301"), subsets={}), {"all": examples})
    found = Examples(store, ExamplesInfo(name="x", version="1", recipe=""))
    assert list(found.read("202301", "all")) == examples
    assert found.split("202301", "all").rows == len(examples)


RECORDS: list[dict[str, Any]] = [
    {"text": "first", "timestamp": "2023-01-05", "id": "a"},
    {"text": "second", "timestamp": "2023-02-07", "answer": "yes", "aliases": ["Yes"]},
    {"text": "third", "timestamp": "202301-202303", "choices": ["no", "yes"], "gold": 1, "source": "site"},
    {"text": " ", "timestamp": "2023-01-05"},
    {"text": "no date"},
    {"text": "odd date", "timestamp": "soon"},
    {"text": "odd choices", "timestamp": "2023-01-05", "choices": ["no"], "gold": 4},
    {"text": "odd answer", "timestamp": "2023-01-05", "answer": 4},
]


def recipe(paths: Path | list[Path], **changes: Any) -> ExampleSetRecipe:
    given = [paths] if isinstance(paths, Path) else paths
    examples = {"kind": "files", "paths": [str(path) for path in given], **changes}
    return settings.parse(ExampleSetRecipe, {"name": "mine", "version": 1, "examples": examples}, "recipe")


@pytest.fixture
def records(tmp_path: Path) -> Path:
    path = tmp_path / "examples.jsonl"
    path.write_text("".join(json.dumps(record) + "\n" for record in RECORDS) + "{broken\n")
    return path


def test_every_record_of_a_file_is_an_example_or_counted(records: Path, loop: None, tmp_path: Path) -> None:
    made = benchmark.build(recipe(records), str(tmp_path / "root"))
    assert list(made.periods) == ["202301", "202301-202303", "202302"]
    (first,) = made.read("202301", "all")
    assert (first.id, first.text, first.answer) == ("a", "first", None)
    (second,) = made.read("202302", "all")
    assert (second.text, second.answer, second.aliases, second.id) == ("second", "yes", ("Yes",), "examples.jsonl:2")
    (third,) = made.read("202301-202303", "all")
    assert (third.answer, third.choices, third.source) == ("yes", ("yes", "no"), "site")
    (build,) = json.loads(as_json(made))["builds"]
    step, placed = build["steps"]
    assert (placed["read"], placed["dropped"]) == (3, {})
    assert step["read"] == len(RECORDS) + 1 == 3 + sum(step["dropped"].values())
    assert step["dropped"] == {
        "broken JSON line": 1,
        "unreadable answer": 1,
        "unreadable choices": 1,
        "unreadable date": 1,
        "without date": 1,
        "without text": 1,
    }


def test_dates_of_examples_are_read_in_the_format_that_is_stated(loop: None, tmp_path: Path) -> None:
    path = tmp_path / "mail.jsonl"
    lines = [{"text": day, "timestamp": f"Thu, {day} Jan 2023 10:00:00 +0000"} for day in ("05", "12")]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    with pytest.raises(InputError) as error:
        benchmark.build(recipe(path), str(tmp_path / "root"))
    said = "none of its first rows has a 'timestamp' that can be read without examples.fields.timestamp_format; the"
    assert f"{path}: {said} first is 'Thu, 05 Jan 2023 10:00:00 +0000'; formats are iso, s, " in str(error.value)
    made = benchmark.build(recipe(path, fields={"timestamp_format": "rfc2822"}), str(tmp_path / "root"))
    assert [one.text for one in made.read("202301", "all")] == ["05", "12"]
    plain, stated = recipe(path).examples, recipe(path, fields={"timestamp_format": "iso"}).examples
    assert fingerprint(plain) == fingerprint(recipe(path, fields={}).examples) != fingerprint(stated)


def test_a_first_file_without_dates_is_no_reason_to_refuse_the_others(loop: None, tmp_path: Path) -> None:
    for name, day in (("a", "some day"), ("b", "2023-01-05"), ("c", "2023-01-12")):
        (tmp_path / f"{name}.jsonl").write_text(json.dumps({"text": name, "timestamp": day}) + "\n")
    made = benchmark.build(recipe(tmp_path / "*.jsonl"), str(tmp_path / "root"))
    assert [one.text for one in made.read("202301", "all")] == ["b", "c"]


def test_examples_of_a_period_that_is_not_over_are_left_out_and_counted(loop: None, tmp_path: Path) -> None:
    texts = [{"text": f"in {month}", "timestamp": f"2023-{month:02d}-05"} for month in range(1, 8)]
    path = tmp_path / "examples.jsonl"
    path.write_text("".join(json.dumps(text) + "\n" for text in texts))
    quarters = {"initial": "202301..202303", "step": "quarter", "last": 202305}
    given = {"kind": "files", "paths": [str(path)], "periods": quarters}
    recipe = settings.parse(ExampleSetRecipe, {"name": "q", "version": 1, "examples": given}, "recipe")
    found = benchmark.build(recipe, str(tmp_path))
    assert list(found.periods) == ["202301-202303"]
    (record,) = benchmark.builds(found.store)
    assert record.steps[0].dropped == {"in a period that is not over": 3, "outside the periods": 1}


def test_a_period_that_was_damaged_and_removed_is_built_again(records: Path, loop: None, tmp_path: Path) -> None:
    made = benchmark.build(recipe(records), str(tmp_path / "root"))
    before = {label: manifest.subsets["all"].sha256 for label, manifest in made.periods.items()}
    (file,) = (tmp_path / "root").glob("examples/*/periods/202302/*/all.parquet")
    data = bytearray(file.read_bytes())
    data[60] ^= 1
    file.write_bytes(data)
    with pytest.raises(InputError, match=r"its hash differs from the record.s; remove .* data build RECIPE$") as caught:
        list(made.read("202302", "all"))
    removed = str(caught.value).split("; remove ")[1].split(" and ")[0]
    assert removed == str(file.parents[1])
    Store(removed).remove("")
    made = benchmark.build(recipe(records), str(tmp_path / "root"))
    assert {label: manifest.subsets["all"].sha256 for label, manifest in made.periods.items()} == before
    assert next(made.read("202302", "all")).text == "second"


@pytest.mark.parametrize("name", ["examples.json", "builds/00000.json"])
def test_what_describes_a_set_is_written_again_and_its_periods_stay(
    records: Path, loop: None, tmp_path: Path, name: str
) -> None:
    root = str(tmp_path / "root")
    made = benchmark.build(recipe(records), root)
    kept = {path: path.stat().st_mtime_ns for path in tmp_path.glob("root/examples/*/periods/*/record.json")}
    file = Path(made.store.path(name))
    sound = file.read_text()
    file.write_text(sound.replace("2", "3", 1) if name != "examples.json" else sound.replace("mine", "nine", 1))
    said = (
        f"^{file} is damaged .its own hash differs.; remove it and run ticlm data build RECIPE, which writes it again"
    )
    with pytest.raises(InputError, match=said):
        benchmark.build(recipe(records), root)
    assert any(line.startswith(f"{file} is damaged") for line in check(made.store)[1])
    file.unlink()
    if name == "examples.json":
        with pytest.raises(InputError, match="give the changed recipe another version than 1"):
            benchmark.build(recipe(records, subset="other"), root)
    again = benchmark.build(recipe(records), root)
    assert again.info == made.info and again.periods == made.periods and check(made.store)[1] == []
    assert {path: path.stat().st_mtime_ns for path in kept} == kept
    assert [one.periods for one in benchmark.builds(again.store)] == [tuple(made.periods)]
    Store(made.store.uri("periods/202302")).remove("")
    with pytest.raises(InputError, match=r"202302: no record, though builds/00000\.json names it"):
        _ = Examples.open(made.store.uri()).periods
    assert list(Examples.open(made.store.uri(), "202301").periods) == ["202301"], "what is later is not looked for"
    assert benchmark.build(recipe(records), root).periods == made.periods


def test_a_set_of_an_earlier_release_has_no_hashes_and_is_read(records: Path, loop: None, tmp_path: Path) -> None:
    made = benchmark.build(recipe(records), str(tmp_path))
    for name in ("examples.json", "builds/00000.json"):
        content = made.store.read_json(name)
        del content["sha256"]
        made.store.write(name, json.dumps(content).encode())
    told: list[str] = []
    assert benchmark.build(recipe(records), str(tmp_path), told.append).info == made.info
    assert told == ["mine@1: nothing new"] and check(made.store)[1] == []


def test_the_name_of_a_file_can_say_which_period_it_is(loop: None, tmp_path: Path) -> None:
    for label in ("201706", "202006"):
        (tmp_path / f"{label}.jsonl").write_text(json.dumps({"title": "t", "text": f"of {label}"}) + "\n")
    for odd in ("other", "of_201399", "in_1999"):
        (tmp_path / f"{odd}.jsonl").write_text(json.dumps({"text": "of no period"}) + "\n")
    made = benchmark.build(recipe(tmp_path, fields={"period": "", "about": ["title"]}), str(tmp_path / "root"))
    assert [next(made.read(label, "all")).text for label in made.periods] == ["of 201706", "of 202006"]
    assert next(made.read("201706", "all")).about == {"title": "t"}
    assert json.loads(as_json(made))["builds"][0]["steps"][0]["dropped"] == {"no period in the file's name": 3}


@pytest.mark.parametrize(
    ("fields", "choices"),
    [
        ({"choices": ["a", "b", "c"]}, ("a", "b", "c")),
        ({"choices": ["a", "b", "c"], "gold": 2}, ("c", "a", "b")),
        ({"choices": ["a", "b", "c"], "answer": "b"}, ("b", "a", "c")),
        ({"choices": ["a", "b"], "answer": "b", "gold": 1}, ("b", "a")),
        ({"choices": ["a", "b"], "answer": "b", "gold": 0}, None),
        ({"choices": ["a", "b"], "answer": "c"}, None),
        ({"choices": ["a", "b"], "gold": True}, None),
        ({"choices": ["a", "b"], "gold": -1}, None),
    ],
)
def test_the_answer_leads_the_choices_or_the_record_is_none(
    fields: dict[str, Any], choices: tuple[str, ...] | None, loop: None, tmp_path: Path
) -> None:
    path = tmp_path / "one.jsonl"
    path.write_text(json.dumps({"text": "?", "timestamp": 202301, **fields}) + "\n")
    if choices is None:
        with pytest.raises(InputError, match="1 unreadable choices"):
            benchmark.build(recipe(path), str(tmp_path))
        return
    (example,) = benchmark.build(recipe(path), str(tmp_path)).read("202301", "all")
    assert example.choices == choices and example.answer == choices[0]


def test_a_set_can_be_looked_at_before_its_first_build_is_done(tmp_path: Path) -> None:
    store = Store(tmp_path)
    counts = {"with a question": {"all": 7}}  # one name that sets of probes have too
    manifest = PeriodExamples(period=period("202301"), subsets={}, statistics=counts)
    publish(store, manifest, {"all": [Example("a", "text")]})
    with console().capture() as shown:
        console().print(overview(Examples(store, ExamplesInfo(name="x", version="1", recipe=""))))
    assert "202301" in shown.get() and "with a question" in shown.get() and "probes" not in shown.get()


def test_what_is_new_is_added_and_what_stands_stays(records: Path, loop: None, tmp_path: Path) -> None:
    root = str(tmp_path / "root")
    before = benchmark.build(recipe(records), root).periods
    told: list[str] = []
    benchmark.build(recipe(records), root, told.append)
    assert told == ["mine@1: nothing new"]
    more = tmp_path / "more.jsonl"
    more.write_text(json.dumps({"text": "fourth", "timestamp": "2023-04-01"}) + "\n")
    late = tmp_path / "late.jsonl"
    late.write_text(json.dumps({"text": "too late", "timestamp": "2023-01-09"}) + "\n")
    after = benchmark.build(recipe([records, late, more]), root)
    assert json.loads(as_json(after))["builds"][-1]["steps"][-1]["dropped"] == {"in a period that stands": 4}
    assert list(after.periods) == [*before, "202304"]
    assert {label: after.periods[label] for label in before} == before


def test_a_changed_recipe_needs_a_version_of_its_own(records: Path, loop: None, tmp_path: Path) -> None:
    benchmark.build(recipe(records), str(tmp_path))
    with pytest.raises(InputError, match="give the changed recipe another version than 1"):
        benchmark.build(recipe(records, subset="other"), str(tmp_path))


WIKI = {"dumps": ["x"]}
WIKIDATA = {"dumps": {"20170201": "a"}}
WORLD = {"documents": {"kind": "synthetic", "seed": 1}}
RULES_CHANGED: dict[str, dict[str, Any]] = {  # by their fingerprints while 1.5 and 15 had one key
    "a1eba15a38515d186f0508073408695582b5f0da2f7e0af1d4dcfd059a628630": {"kind": "wiki-revisions", "wiki": WIKI},
    "a54be2403f1c37615683344bd757b687a0a64561d155fc7baa4c1de6e6280516": {"kind": "tic-wiki", **WIKI},
    "4c33368dce32878e06a57fb2bf25aa4ebb7fee1917aadb713ff35a96bd72970a": {
        **{"kind": "wiki-questions", "wiki": WIKI, "wikidata": WIKIDATA}
    },
    "079d6ba8d0c21c0c751537d770f1ed9928662aec53491b128f98dc98448b9827": {
        **{"kind": "temporalwiki-probes", "wiki": WIKI, "wikidata": WIKIDATA}
    },
    "08f23a3517213da1f56ac18b569ee8179f30e7aabe35233d6543a16d521914c2": {
        **{"kind": "evolving-questions", "changes": "x", "tagger": "masked"}
    },
    "788f8fa301a1d0bf937e03f8e971ac363abab00b4e848098184834bbbdbb11a9": {
        **{"kind": "retrieved-contexts", "questions": "x", "context": "gold"}
    },
    "beb5327ee13c0d66d5700525bb3c001a8e61a0a0bcff3080999dfd35d0f60a6f": {
        **{"kind": "probe-construction", "new": WORLD, "old": WORLD, "known_until": "202301"}
    },
}


@pytest.mark.parametrize("earlier", RULES_CHANGED)
def test_a_builder_whose_rules_changed_adds_nothing_to_sets_of_earlier_rules(earlier: str) -> None:
    given = {"name": "x", "version": 1, "examples": RULES_CHANGED[earlier]}
    builder = settings.parse(ExampleSetRecipe, given, "x").examples
    assert fingerprint(builder) != earlier


def test_a_build_without_any_example_says_what_became_of_its_records(loop: None, tmp_path: Path) -> None:
    path = tmp_path / "none.jsonl"
    path.write_text(json.dumps({"text": "no date"}) + "\n")
    with pytest.raises(InputError, match="no example came of its inputs; read 1, 1 without date"):
        benchmark.build(recipe(path), str(tmp_path / "root"))
    with pytest.raises(InputError, match="no examples there"):
        Examples.open(str(tmp_path / "root/examples/mine@1"))


def test_what_is_not_there_is_named_with_what_is(records: Path, loop: None, tmp_path: Path) -> None:
    made = benchmark.build(recipe(records), str(tmp_path))
    with pytest.raises(InputError, match=r"examples mine@1 has no period 202401; it has 202301 … 202302 \(3\)"):
        made.split("202401", "all")
    with pytest.raises(InputError, match="has no subset changed; it has all"):
        made.split("202301", "changed")
