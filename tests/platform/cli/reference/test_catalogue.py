"""`ticlm list`, `show` and `schema`: what is named, and what it is made of."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from jsonschema import Draft202012Validator

from ticlm.core import settings
from ticlm.core.errors import InputError
from ticlm.core.integrity.records import Attempt
from ticlm.core.reading.packaged import holders
from ticlm.core.settings import Settings, parse
from ticlm.core.store import Store
from ticlm.methods.catalog import CATALOG
from ticlm.methods.method import Method
from ticlm.platform.cli import catalogue
from ticlm.platform.cli.reference import bare_names, names, resolved, stored, tiers
from ticlm.platform.cli.reference.files import FILES
from ticlm.platform.study.settings import Study

PARTS = ("", "-small", "-phases", "-small-gpt2")
OLD = ("wikipedia-old", "wikipedia-old-gpt2")
PAIRS = [name for name in settings.packaged("datasets/recipes") if name.startswith(("kilt-", "ckl-light-"))]
NEEDED = {
    "monthly": ["documents.paths=[x]"],
    "monthly-dated": ["documents.paths=[x]"],
    "peps": ["documents.paths=[x]"],
    "web": ["documents.paths=[x]"],
    **{name: ["documents.paths=[x]"] for name in (*(f"cc-recentnews{part}" for part in PARTS), *OLD)},
    **{name: [f"{'examples' if 'dev' in name else 'documents'}.paths=[x]"] for name in PAIRS},
    "tic-cc": ["documents.lists=[x]"],
    "tic-cc-windowed": ["documents.lists=[x]"],
    **{f"tic-{site}": ["examples.paths=[x]"] for site in ("stackexchange", "stackoverflow", "math", "english")},
    "tic-wiki": ["examples.dumps={20160501: x}"],
    "evolvingqa-initial": ["documents.dumps={20230201: x}"],
    "evolvingqa-changes": ["examples.wiki.dumps=[x]"],
    "temporalwiki-diffs": ["examples.wiki.dumps=[x]"],
    "temporalwiki-full": ["documents.dumps={20210801: x}"],
    "wiki-questions": ["examples.wiki.dumps=[x]", "examples.wikidata.dumps={20170301: x}"],
    "temporalwiki-probes": ["examples.wiki.dumps=[x]", "examples.wikidata.dumps={20210801: x, 20210901: y}"],
    "temporalwiki-released": ["examples.months={202109: {changed: x}}"],
    "core": ["evaluations.0.files=x"],
}
"""What packaged files leave to their user."""

PACKAGED = [
    (kind, name)
    for kind, listed in (("study", names.studies()), ("recipe", names.recipes()), ("examples", names.examples()))
    for name, file in holders(FILES[kind].folder).items()
    if file in listed
] + [("tasks", "core"), ("preset", "paper"), ("preset", "paper-1b"), ("preset", "standard")]


@pytest.mark.parametrize(("kind", "name"), PACKAGED)
def test_what_is_shown_loads_back_to_the_same(kind: str, name: str) -> None:
    file = FILES[kind]
    sets = [] if kind == "study" else NEEDED.get(name, [])
    value: Settings = settings.load(file.settings, name, file.folder, sets)
    shown = resolved.as_yaml(value, "a title")
    assert parse(file.settings, yaml.safe_load(shown), "shown") == value
    assert shown.count("\n") > 15 and max(map(len, shown.split("\n# ")[0].splitlines())) < 120
    short = resolved.as_yaml(value, "a title", settings.resolved(file.settings, name, file.folder, sets)[0])
    assert parse(file.settings, yaml.safe_load(short), "shown") == value
    assert resolved.keys(short) < resolved.keys(shown)


def test_a_study_of_ones_own_classes_loads_back_too(
    tmp_path: Path, toy_study: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "shown_recent.py").write_text(
        "from ticlm.methods.seams import Replay\n\n\n"
        'class ShownRecent(Replay):\n    """Replay the newest."""\n\n'
        '    window: int = 3\n    """Periods to replay."""\n\n'
        "    def mixture(self, seen, budget):\n        raise NotImplementedError\n"
    )
    method = {"kind": "continual", "name": "own", "replay": {"kind": "shown_recent:ShownRecent", "window": 2}}
    study = toy_study(methods=[method], model={"kind": "preset", "name": "tiny", "changes": {"hidden_size": 32}})
    shown = resolved.as_yaml(study, "x")
    assert "kind: shown_recent:ShownRecent" in shown and "# Periods to replay.\n      window: 2" in shown
    assert "changes: {hidden_size: 32}" in shown
    assert parse(Study, yaml.safe_load(shown), "shown") == study


def test_an_empty_root_in_the_environment_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TICLM_ROOT", raising=False)
    shown = catalogue.text("demo", None, [])
    monkeypatch.setenv("TICLM_ROOT", "")
    assert catalogue.text("demo", None, []) == shown


def test_a_key_is_explained_where_it_first_stands() -> None:
    shown = catalogue.text("demo", None, ["batch_rows=16"])
    assert shown.startswith("# demo --set batch_rows=16, with everything filled in; for ticlm run STUDY\n")
    above = "# Rows of a global batch, whatever the number of workers.\n"
    assert f"{above}batch_rows: 16\n" in shown and shown.count(above) == 1
    assert "# The learning rate of the first round.\n  schedule:\n" in shown
    assert shown.count("# What old text a round draws beside its new period, and how much.") == 1


def test_a_study_is_shown_with_the_keys_that_most_people_set_and_those_of_its_file(tmp_path: Path) -> None:
    study = tmp_path / "mine.yaml"
    study.write_text("extends: demo\nname: mine\nmax_epochs: null\nresources: {compile: true, threads: 1}\n")
    short, every = (catalogue.text(str(study), None, [], every) for every in (False, True))
    assert short.startswith(f"# {study}, as it will run; for ticlm run STUDY\n")
    said = yaml.safe_load(short)
    assert "max_epochs" in said and "first_periods" not in said and "first_periods" in yaml.safe_load(every)
    assert said["resources"].keys() == {"workers", "chains", "threads", "micro_batch_rows", "compile"}
    assert said["methods"][0].keys() == {"kind", "name", "schedule", "replay", "seeds"}
    left = resolved.keys(every) - resolved.keys(short)
    assert left > 50 and short.endswith(f"\n# {left} more keys have their defaults: --all shows them\n")


def test_every_key_of_the_first_tier_is_there() -> None:
    paths = [(name, path) for name, listed in tiers.FIRST.items() for path in listed]
    assert len(paths) == len(set(paths)) == 30
    assert all(list(tiers.found(FILES[name].settings, path)) for name, path in paths)
    assert not list(tiers.found(Study, "methods.schedule.nothing"))


def test_a_file_is_shown_by_what_it_is(tmp_path: Path) -> None:
    study = tmp_path / "mine.yaml"
    study.write_text("extends: demo\nname: mine\n")
    assert yaml.safe_load(catalogue.text(str(study), None, []))["name"] == "mine"
    recipe = tmp_path / "corpus.yaml"
    recipe.write_text("extends: synthetic\nname: mine\n")
    assert yaml.safe_load(catalogue.text(str(recipe), None, []))["documents"]["kind"] == "synthetic"
    nothing = tmp_path / "nothing.yaml"
    nothing.write_text("a: 1\n")
    with pytest.raises(InputError, match="neither a study nor a recipe: it has none of the keys methods, examples"):
        catalogue.text(str(nothing), None, [])


@pytest.mark.parametrize("name", CATALOG)
def test_a_method_is_shown_and_is_one_of_a_study(name: str) -> None:
    from pydantic import TypeAdapter

    shown = yaml.safe_load(catalogue.text(name, "method", []))
    assert TypeAdapter[Any](Method).validate_python(shown) == CATALOG[name]


def test_tasks_models_and_spaces_are_shown() -> None:
    task = catalogue.text("document-perplexity", None, [])
    assert "# examples: …   (required)" in task and yaml.safe_load(task)["kind"] == "document-perplexity"
    assert yaml.safe_load(catalogue.text("3b", None, []))["hidden_size"] == 2560
    assert {"schedule.max_rate": 1e-4} in yaml.safe_load(catalogue.text("learning_rate", None, []))
    assert "drawn from" in catalogue.text("joint", "space", [])


def test_a_recipe_that_needs_paths_is_shown_as_far_as_it_goes() -> None:
    shown = catalogue.text("tic-cc", None, [])
    assert shown.startswith("# This recipe needs more settings, which --set can give: ") and "give paths" in shown
    assert yaml.safe_load(shown)["length"] == 2048
    whole = yaml.safe_load(catalogue.text("tic-cc", None, NEEDED["tic-cc"]))
    assert whole["documents"]["base"].startswith("https://data.commoncrawl.org")


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        (
            ("nothing", None, []),
            "no file nothing, and no study, recipe, .* of this name; ticlm list has the names",
        ),
        (("monthly", None, []), "monthly is the name of a study and of a recipe; say --as study or --as recipe"),
        (("monthly", "method", []), "--as: must be study or recipe, got 'method'"),
        (("lwf", "method", ["seeds=[1]"]), "--set changes studies and recipes; lwf is a method"),
        (("demo", None, ["batch_rows=0"]), "demo .packaged.: batch_rows: must be greater than 0, got 0"),
    ],
)
def test_what_cannot_be_shown_is_one_line(arguments: tuple[str, str | None, list[str]], error: str) -> None:
    with pytest.raises(InputError, match=error):
        catalogue.text(*arguments)


def test_every_name_has_a_line() -> None:
    found = {kind: listed() for kind, listed in names.LISTS.items()}
    assert all(len(entries) >= 2 for entries in found.values())
    for entries in found.values():
        for name, line in entries.items():
            assert line and line[-1] not in ".:" and "\n" not in line and len(line) < 200, (name, line)
    assert found["studies"]["tic-lm-3b-440b"] == "TiC-LM, Table 2: 3B parameters, 440B tokens"
    assert found["methods"]["replay-half+ar"] == "autoregressive-cosine, fixed (alpha 0.5)"
    assert found["methods"]["lwf"] == "cosine, lwf (reduction elements)"
    assert "2,796,096,000 parameters" in found["models"]["3b"]
    assert set(found["methods"]) == set(CATALOG) and "monthly" in found["studies"] and "monthly" in found["recipes"]


def test_no_name_that_is_listed_is_unknown_to_show() -> None:
    found = bare_names.by_kind()
    assert list(found) == list(names.LISTS)
    for kind, listed in names.LISTS.items():
        assert listed().keys() <= set(found[kind]), kind


def test_the_names_are_listed_as_text_and_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    catalogue.list_("studies")
    text = capsys.readouterr().out
    assert "tic-lm-table-5" in text and "replay-half" not in text
    catalogue.list_(as_json=True)
    found = json.loads(capsys.readouterr().out)
    assert list(found) == list(names.LISTS) and found["presets"].keys() == {"paper", "paper-1b", "standard"}
    with pytest.raises(InputError, match="list: no kind 'corpora'; kinds are studies, recipes"):
        catalogue.list_("corpora")


def test_a_root_is_listed(toy_root: Path) -> None:
    store = Store(str(toy_root))
    assert stored.contents(store) == {"corpora": {"toy@1": "4 periods: 202301 … 202304"}}
    for number, period in enumerate(("202302", "202303")):
        attempt = Attempt(store, f"rounds/{number}")
        store.write(f"{attempt.path}/model/x", b"")
        attempt.publish({"kind": "round", "period": period, "label": "lwf, ewc: 202302 … 202303"})
    Attempt(store, "rounds/unfinished")
    store.write("reports/toy/index.html", b"")
    store.write("tuning/toy-lwf-0123/trials.csv", b"")
    found = stored.contents(store)
    assert found["rounds"] == {"lwf, ewc": "2 rounds: 202302 … 202303"}
    assert list(found["reports"]) == ["toy"] and list(found["searches"]) == ["toy-lwf-0123"]


def test_an_empty_root_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="there is nothing"):
        catalogue.list_("studies", root=str(tmp_path / "nowhere"))


def test_a_schema_is_printed_or_written(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    catalogue.schema("preset")
    printed = json.loads(capsys.readouterr().out)
    Draft202012Validator.check_schema(printed)
    catalogue.schema("preset", tmp_path / "preset.json")
    assert json.loads((tmp_path / "preset.json").read_text()) == printed
    with pytest.raises(InputError, match="schema: no kind of file 'task'; kinds are study, recipe, examples, tasks"):
        catalogue.schema("task")


def test_every_name_that_is_listed_can_be_shown_as_yaml() -> None:
    for name in names.LISTS["tasks"]():
        yaml.safe_load(catalogue.text(name, "task", ()))
