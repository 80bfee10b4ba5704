"""Probes made without people: every branch of the tree, reviews, replays and kills, on articles about mayors."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import chats
import pytest

from ticlm.core import settings
from ticlm.core.errors import InputError, RunError
from ticlm.core.examples import Examples
from ticlm.core.store import Store
from ticlm.datasets.evalsets import recipe as recipes
from ticlm.datasets.evalsets.probe_construction import ProbeConstruction
from ticlm.datasets.evalsets.recipe import ExampleSetRecipe
from ticlm.datasets.probes import decisions

OLD = {
    "a": "The mayor of Brenford is Ada Stone. Rain fell on the town of Brenford.",
    "b": "A bridge was opened. The mayor of Brenford is Ada Stone.",
    "c": "The mayor of Calden is Bram Orack. Nobody in Calden was surprised.",
    "d": "The mayor of Calden is Bram Orack.",
}
NEW = {
    "202305": {
        "1": "The mayor of Brenford is Carla Dunn. She was elected on Monday.",  # updated
        "2": "The mayor of Calden is Bram Orack.",  # stands in the old corpus
        "3": "The mayor of Elsamouth is Ines Holm. Elsamouth has been a town since May.",  # new
    },
    "202306": {
        "4": "The mayor of Brenford is Carla Dunn.",  # asked in May
        "5": "The mayor of Farwick is Odd Kemp. Farwick was founded this year.",
        "6": "It is known that the mayor of Calden is Bram Orack.",  # in other words
        "7": "The mayor of Garlow is Lost Soul.",
    },
}


def lines(path: Path, records: list[dict[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return path


@pytest.fixture
def corpora(tmp_path: Path) -> Path:
    chats.CALLS.clear()
    chats.FAILS_AT.clear()
    late = {"url": "late", "text": "The mayor of Brenford is Carla Dunn.", "timestamp": "2023-05-02"}
    old = [{"url": name, "text": text, "timestamp": f"2023-01-0{n}"} for n, (name, text) in enumerate(OLD.items(), 1)]
    lines(tmp_path / "old.jsonl", [*old, late])
    new = [
        {"url": name, "text": text, "timestamp": f"{label[:4]}-{label[4:]}-10"}
        for label, articles in NEW.items()
        for name, text in articles.items()
    ]
    lines(tmp_path / "new.jsonl", [*new, {"url": "early", "text": "x y z", "timestamp": "2023-01-05"}, {"text": "?"}])
    return tmp_path


def build(folder: Path, root: str = "root", executor: str = "process", **changes: Any) -> Examples:
    def of(name: str) -> dict[str, Any]:
        return {"documents": {"kind": "files", "paths": [str(folder / f"{name}.jsonl")]}}

    examples = {"kind": "probe-construction", "old": of("old"), "new": of("new"), "known_until": "202304", **changes}
    whole = {"name": "mine", "version": 1, "examples": examples, "executor": executor}
    recipe = settings.parse(ExampleSetRecipe, whole, "recipe")
    return recipes.build(recipe, str(folder / root))


def asked(made: Examples) -> dict[tuple[str, str], dict[str, tuple[str | None, tuple[str, ...]]]]:
    return {
        (label, name): {one.text: (one.answer, one.outdated) for one in made.read(label, name)}
        for label, manifest in made.periods.items()
        for name in manifest.subsets
    }


def dropped(made: Examples, label: str) -> dict[str, int]:
    steps = made.periods[label].steps
    assert [step.read for step in steps if step.name == "questions"]
    return {reason: count for step in steps for reason, count in step.dropped.items()}


CHAT: dict[str, Any] = {"chat": {"kind": "deterministic", "function": "chats:clerk"}, "limits": {"at_once": 1}}
MAYOR = "The mayor of {} is <extra_id_0>."


def test_rules_find_what_is_updated_and_what_is_new(corpora: Path) -> None:
    made = build(corpora)
    found = asked(made)
    assert found["202305", "updated"] == {MAYOR.format("Brenford"): ("Carla Dunn", ("Ada Stone",))}
    assert found["202305", "new"] == {MAYOR.format("Elsamouth"): ("Ines Holm", ())}
    assert found["202306", "updated"] == {}
    assert set(found["202306", "new"]) == {MAYOR.format("Farwick"), MAYOR.format("Garlow")}
    assert MAYOR.format("Elsamouth") in found["202305", "new-easy"]
    (one,) = made.read("202305", "updated")
    assert one.question == "Who or what is the mayor of Brenford?"
    assert one.about["evidence"] == "The mayor of Brenford is Ada Stone." and one.about["old document"] == "b"
    reasons = dropped(made, "202305") | dropped(made, "202306")
    assert reasons["a sentence that the old corpus has too"] == 1
    assert reasons["a sentence that cannot be understood alone"] == 1
    assert reasons["asked in an earlier period"] == 2  # as updated, and as new-easy
    (build_,) = recipes.builds(made.store)
    read = {step.name: (step.read, step.dropped) for step in build_.steps}
    assert read["old documents"] == (5, {"after known_until": 1})
    assert read["new documents"] == (9, {"not after known_until": 1, "without date": 1})


def test_predictions_of_the_initial_model_take_the_first_branches(corpora: Path) -> None:
    with pytest.raises(RunError, match=r"candidates of 2 periods are in .*candidates-\*\.jsonl; let the initial model"):
        build(corpora, until="candidates")
    out = corpora / "root/examples/mine@1/construction"
    candidates = [json.loads(line) for label in NEW for line in (out / f"candidates-{label}.jsonl").open()]
    assert {c["text"] for c in candidates} > {MAYOR.format("Brenford"), MAYOR.format("Farwick")}
    said = {MAYOR.format("Brenford"): "Ada Stone", MAYOR.format("Elsamouth"): "Ada Stone"}
    rows = [{"id": c["id"], "prediction": said.get(c["text"], "nobody")} for c in candidates]
    with pytest.raises(InputError, match=r"1 of \d+ candidates have no prediction, such as"):
        build(corpora, predictions=[str(lines(corpora / "few.jsonl", rows[1:]))])
    with pytest.raises(InputError, match=r"both\.jsonl:\d+: \w+ has two predictions"):
        build(corpora, predictions=[str(lines(corpora / "both.jsonl", [*rows, rows[0] | {"prediction": "x"}]))])
    made = build(corpora, predictions=[str(lines(corpora / "all.jsonl", rows))])
    branches = made.periods["202305"].statistics["questions by decision"]
    assert branches[decisions.RIGHT_OTHER] == 1 and branches[decisions.FOUND_NOTHING] == 1
    (one,) = made.read("202305", "updated")
    assert (one.about["prediction"], one.outdated) == ("Ada Stone", ("Ada Stone",))


def test_models_take_every_step(corpora: Path) -> None:
    made = build(corpora, **CHAT)
    found = asked(made)
    assert found["202305", "updated"] == {MAYOR.format("Brenford"): ("Carla Dunn", ("Ada Stone",))}
    assert found["202305", "new"] == {MAYOR.format("Elsamouth"): ("Ines Holm", ())}
    assert MAYOR.format("Farwick") in found["202306", "new"]
    easy = found["202306", "new-easy"]
    assert MAYOR.format("Brenford") not in easy and MAYOR.format("Farwick") not in easy
    (one,) = made.read("202305", "updated")
    assert one.question == "Who is the mayor of Brenford?"
    reasons = dropped(made, "202306")
    assert reasons["the annotators disagree"] == 1  # of Farwick, whose mayor the second one does not know
    assert reasons["the entity is lost in the translation"] == 1
    assert made.info.external_inputs == ()


def test_a_build_that_is_killed_asks_no_model_twice_and_a_replay_asks_none(corpora: Path) -> None:
    chats.FAILS_AT[:] = [6, 15]
    for _ in range(2):
        with pytest.raises(chats.Killed):
            build(corpora, **CHAT)
    made = build(corpora, **CHAT)
    calls = list(chats.CALLS)
    assert len(calls) > 20
    killed = {calls[5], calls[14]}
    prompts = [call for call in calls if call not in killed and "stands for something" not in call]  # asked of two
    assert len(prompts) == len(set(prompts))
    chats.CALLS.clear()
    chats.FAILS_AT.clear()
    record = str(corpora / "root/examples/mine@1/replies.jsonl")
    again = build(
        corpora,
        "other",
        **CHAT,
    )
    assert len(chats.CALLS) == len(calls) - 2
    chats.CALLS.clear()
    replayed = build(corpora, "third", chat={"kind": "recorded", "path": record, "of": CHAT["chat"]})
    assert chats.CALLS == []
    assert again.info == replayed.info == made.info, "the recorded replies are those of the same model"
    for label, manifest in made.periods.items():
        assert {n: s.sha256 for n, s in manifest.subsets.items()} == {
            n: s.sha256 for n, s in replayed.periods[label].subsets.items()
        }


def test_a_budget_stops_a_build_in_a_line_and_a_larger_one_goes_on(corpora: Path) -> None:
    with pytest.raises(RunError, match=r"limits\.requests: the budget of 9 is used up: 9 requests asked"):
        build(corpora, **CHAT | {"limits": {"at_once": 1, "requests": 9}})
    assert len(chats.CALLS) == 9
    made = build(corpora, **CHAT)
    assert asked(made)["202305", "updated"] and len(chats.CALLS) == len(
        Store(made.store.uri()).read("replies.jsonl").splitlines()
    )


def test_reviewers_drop_and_correct(corpora: Path) -> None:
    with pytest.raises(RunError, match=r"probes of 2 periods are in .*review-\*\.csv; look through them"):
        build(corpora, until="review")
    folder = corpora / "root/examples/mine@1/construction"
    tables = {}
    for label in NEW:
        with (folder / f"review-{label}.csv").open(newline="", encoding="utf-8-sig") as file:
            tables[label] = list(csv.DictReader(file))
    for row in tables["202305"]:
        if row["subset"] == "updated":
            row |= {"answers": "Carla Dunn; Mrs Dunn", "question": "Who leads Brenford?"}
        if row["subset"] == "new":
            row["keep"] = "No"
    del tables["202306"][0]

    def written(name: str, rows: list[dict[str, str]], columns: list[str] | None = None) -> str:
        with (corpora / name).open("w", newline="") as file:
            out = csv.DictWriter(file, columns or list(rows[0]), extrasaction="ignore")
            out.writeheader()
            out.writerows(rows)
        return str(corpora / name)

    rows = [row for table in tables.values() for row in table]
    for name, wrong, said in (
        ("id.csv", [*rows, rows[0] | {"id": "unknown"}], "1 ids are none of this set's probes, such as unknown"),
        ("twice.csv", [*rows, rows[0]], "stands there twice"),
        ("keep.csv", [rows[0] | {"keep": "perhaps"}], "keep must be yes or no, got 'perhaps'"),
        ("cloze.csv", [rows[0] | {"cloze": "Nothing."}], "the cloze must have <extra_id_0> once"),
        ("given.csv", [rows[0] | {"answers": "Brenford"}], "the answer 'Brenford' stands in the cloze"),
        ("none.csv", [rows[0] | {"answers": " ; "}], "has no answer"),
    ):
        with pytest.raises(InputError, match=said):
            build(corpora, review=[written(name, wrong)])
    with pytest.raises(InputError, match=r"columns\.csv lacks evidence, keep; it has id, period"):
        few = [column for column in rows[0] if column not in ("evidence", "keep")]
        build(corpora, review=[written("columns.csv", rows, few)])
    made = build(corpora, review=[written("good.csv", rows)])
    (one,) = made.read("202305", "updated")
    assert (one.answer, one.aliases, one.question) == ("Carla Dunn", ("Mrs Dunn",), "Who leads Brenford?")
    assert list(made.read("202305", "new")) == []
    (step,) = [step for step in made.periods["202305"].steps if step.name == "review"]
    assert (step.dropped, step.edited) == ({"dropped by a reviewer": 1}, 1)
    assert dropped(made, "202306")["not in the review"] == 1


def test_a_later_month_is_added_and_the_index_stays(corpora: Path) -> None:
    first = build(corpora)
    before = {label: manifest.subsets for label, manifest in first.periods.items()}
    (index,) = Store(first.store.uri()).folders("index")
    with (corpora / "new.jsonl").open("a") as file:
        file.write(
            json.dumps({"url": "8", "text": "The mayor of Hale is Ida Quist.", "timestamp": "2023-07-03"}) + "\n"
        )
    made = build(corpora)
    assert asked(made)["202307", "new"] == {MAYOR.format("Hale"): ("Ida Quist", ())}
    assert {label: made.periods[label].subsets for label in before} == before
    assert Store(made.store.uri()).folders("index") == [index]
    # built at once, the months are the same
    whole = build(corpora, "other")
    assert asked(whole) == asked(made)


@pytest.mark.parametrize(
    "changes, said",
    [
        ({"known_until": "202212"}, "examples.old has no document before 2023-01-01, of 5 read; see known_until"),
        ({"second": {"kind": "deterministic", "function": "chats:clerk"}}, "second needs chat"),
        (CHAT | {"prompts": "nowhere.yaml"}, "prompts: nowhere.yaml cannot be read"),
        ({"subsets": []}, "subsets: give one or more of updated, new, new-easy"),
        ({"predictions": ["nowhere.jsonl"]}, "examples.predictions"),
        ({"review": ["nowhere.csv"]}, "examples.review"),
    ],
)
def test_wrong_settings_are_one_line(corpora: Path, changes: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError, match=said) as error:
        build(corpora, **changes)
    assert "\n" not in str(error.value)


def test_the_packaged_recipe_is_made_of_the_synthetic_world_and_asks_no_model() -> None:
    recipe = settings.load(ExampleSetRecipe, "constructed-probes", "datasets/recipes")
    assert recipe.external_inputs == () and isinstance(recipe.examples, ProbeConstruction)
    assert recipe.examples.chat is None and len(recipe.examples.inputs()) == 5
    # where replies are kept and what they may cost, and where the build stops, decides nothing
    other = {"limits": {"requests": 5}, "until": "review"}
    changed = settings.load(
        ExampleSetRecipe,
        "constructed-probes",
        "datasets/recipes",
        [f"examples.{k}={json.dumps(v)}" for k, v in other.items()],
    )
    assert changed.identity == recipe.identity
    fit = settings.load(ExampleSetRecipe, "constructed-probes", "datasets/recipes", ["examples.fit=0.7"])
    assert fit.identity != recipe.identity


@pytest.mark.ray
@pytest.mark.slow
def test_ray_gives_the_same_bytes(corpora: Path, ray_local: None) -> None:
    alone, together = build(corpora), build(corpora, "ray", executor="ray")
    for label, manifest in alone.periods.items():
        assert manifest.model_dump() == together.periods[label].model_dump()
