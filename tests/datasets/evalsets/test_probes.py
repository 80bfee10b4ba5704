"""Sets of probes: from the schema, from CKL's files, from T-REx; every record is a probe or counted."""

from __future__ import annotations

import csv
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from paths import SHARED
from typer.testing import CliRunner

from ticlm.core import settings
from ticlm.core.accounting import Step
from ticlm.core.errors import InputError
from ticlm.core.examples import Example, Examples
from ticlm.datasets.evalsets import recipe as sets
from ticlm.datasets.evalsets.recipe import ExampleSetRecipe, builds
from ticlm.datasets.evalsets.show import overview, write_jsonl
from ticlm.platform.cli.console import console
from ticlm.platform.cli.main import app

pytestmark = pytest.mark.usefixtures("loop")

TREX = SHARED / "lama_trex/trex_sample.jsonl.gz"


def recipe(kind: str, **examples: Any) -> ExampleSetRecipe:
    given = {"name": "mine", "version": 1, "examples": {"kind": kind, **examples}}
    return settings.parse(ExampleSetRecipe, given, "recipe")


def packaged(name: str, *sets: str) -> ExampleSetRecipe:
    return settings.load(ExampleSetRecipe, name, settings.RECIPES, sets)


def lines(path: Path, *records: Mapping[str, Any] | str) -> Path:
    path.write_text("".join((one if isinstance(one, str) else json.dumps(one)) + "\n" for one in records))
    return path


def probes(found: Examples) -> dict[tuple[str, str], list[Example]]:
    return {(label, name): list(found.read(label, name)) for label, m in found.periods.items() for name in m.subsets}


def steps(found: Examples) -> dict[str, Step]:
    """The steps of all periods and of the last build, each read = kept + dropped by their own sums."""
    listed = [step for manifest in found.periods.values() for step in manifest.steps]
    return {step.name: step for step in (*builds(found.store)[-1].steps, *listed)}


ASKED = {
    "input": "<extra_id_0> leads Ada.",
    "answers": ["Bo", "B."],
    "outdated": ["Cy"],
    "meta": {"source": "P6", "n": 3},
}


def test_probes_of_several_subsets_and_periods_are_read_and_written_again(tmp_path: Path) -> None:
    path = lines(
        tmp_path / "probes.jsonl",
        {"id": "u", "task": "updated", "timestamp": "2023-01-05", "question": "Who leads Ada?", **ASKED},
        {"task": "new", "timestamp": "202301-202303", **ASKED},
        {"timestamp": 202302, **ASKED, "input": "No mask."},
        {"timestamp": 202302, **ASKED},
        "{broken",
        {"timestamp": "soon", **ASKED},
        {"task": "New!", "timestamp": 202302, **ASKED},
        {"id": "u", "task": "updated", "timestamp": "2023-01-05", **ASKED, "answers": []},
    )
    found = sets.build(recipe("probes", paths=str(path)), str(tmp_path / "root"))
    (updated,) = probes(found)["202301", "updated"]
    assert updated == Example(
        "u", "<extra_id_0> leads Ada.", "Bo", ("B.",), source="P6", about={"n": "3"},
        question="Who leads Ada?", outdated=("Cy",),
    )  # fmt: skip
    assert [one.id for one in probes(found)["202301-202303", "new"]] == ["probes.jsonl:2"]
    assert probes(found)["202302", "updated"] == [], "tasks leave out what is empty, and refuse what is not there"
    assert steps(found)["records"].read == 8 and steps(found)["records"].dropped == {
        "a task that is no name of a subset (small letters, digits, - and .)": 1,
        "broken JSON line": 1,
        "unreadable date": 1,
    }
    assert steps(found)["all"] == Step(name="all", read=2, dropped={"without a mask": 1})
    assert steps(found)["updated"] == Step(name="updated", read=2, dropped={"without answer": 1})
    assert write_jsonl(found, str(tmp_path / "again.jsonl")) == 3
    again = sets.build(recipe("probes", paths=str(tmp_path / "again.jsonl")), str(tmp_path / "other"))
    assert probes(again) == probes(found)
    assert write_jsonl(found, str(tmp_path / "one.jsonl"), "202301") == 1


def test_the_console_writes_a_set_as_json_lines(tmp_path: Path) -> None:
    path = lines(tmp_path / "a.jsonl", {"id": "u", "task": "new", "timestamp": "202301", **ASKED})
    sets.build(recipe("probes", paths=str(path)), str(tmp_path / "root"))
    out = tmp_path / "out.jsonl"
    ran = CliRunner().invoke(app, ["data", "show", "mine", "--root", str(tmp_path / "root"), "--jsonl", str(out)])
    assert ran.exit_code == 0, ran.output
    assert json.loads(out.read_text()) == {
        **{"id": "u", "task": "new", "timestamp": "202301", "question": None},
        **ASKED,
        "meta": {"source": "P6", "n": "3"},
    }


def test_one_period_for_all_and_what_stands_stays(tmp_path: Path) -> None:
    (tmp_path / "files").mkdir()
    path = lines(tmp_path / "files/a.jsonl", ASKED)
    mine = recipe("probes", paths=str(path.parent), period="202005..202104", subset="new")
    assert list(probes(sets.build(mine, str(tmp_path / "root")))) == [("202005-202104", "new")]
    lines(path.with_name("b.jsonl"), ASKED)
    found = sets.build(mine, str(tmp_path / "root"))
    assert steps(found)["records"].dropped == {"in a period that stands": 2}
    with pytest.raises(InputError, match=r"period: 'soon' is not a span of time"):
        recipe("probes", paths=str(tmp_path), period="soon")


def test_a_set_without_any_probe_says_why(tmp_path: Path) -> None:
    path = lines(tmp_path / "a.jsonl", {"input": "No mask", "answers": ["x"]}, {"answers": ["x"]})
    with pytest.raises(InputError, match=r"no example came of its inputs; read 2, 1 without a mask, 1 without input$"):
        sets.build(recipe("probes", paths=str(path), period=202301), str(tmp_path / "root"))


def table(path: Path, columns: Sequence[str], *rows: Sequence[str]) -> None:
    with path.open("w", newline="") as file:
        csv.writer(file).writerows([columns, *rows])


NEW = ("unique_id", "statement", "answer", "question")
"""Columns of NewLAMA."""


def release(folder: Path) -> None:
    """Write the files of CKL's release, without the phases of SMALL."""
    table(folder / "invariantLAMA.csv", ("id", "input", "output"), ("1", "Ada was born in <extra_id_0> .", "London"))
    table(folder / "updatedLAMA.csv", ("unique_id", "statement", "new_answer"), ("2", "<extra_id_0> leads Ada.", "Bo"))
    table(folder / "newLAMA.csv", NEW, ("3", "Bale has <extra_id_0> titles with Real.", "3;three", "How many titles?"))
    table(folder / "newLAMA_easy.csv", NEW, ("4", "Howard hired <extra_id_0> of Howard.", "Howard", "Whom?"), ("5",))
    for name, answers in (
        ("updatedlama", {"2": [{"old": ["Cy"], "new": ["Bo", "B."]}]}),
        ("recentlama_h", {"3": ["three", "3"]}),
        ("recentlama", {"4": ["Howard"]}),
    ):
        (folder / f"{name}_val_answers.json").write_text(json.dumps(answers))


def test_ckls_release_is_one_set_of_four_subsets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    release(tmp_path)
    found = sets.build(packaged("ckl-probes"), str(tmp_path / "root"))
    given = {subset: one for (_, subset), (one,) in probes(found).items()}
    assert list(found.periods) == ["202005-202104"] and list(given) == ["invariant", "new", "new-easy", "updated"]
    assert (given["invariant"].answer, given["updated"].outdated) == ("London", ("Cy",))
    assert (given["new"].answer, given["new"].aliases, given["new"].question) == ("3", ("three",), "How many titles?")
    assert given["new-easy"].about == {"answer-in": "input"}, "kept, as the printed scores have it"
    assert steps(found)["new-easy"].dropped == {"a row of more or fewer cells than there are columns": 1}
    with console().capture() as shown:
        console().print(overview(found))
    assert "answer in input" in shown.get() and "100.0%" in shown.get()
    assert max(map(len, shown.get().splitlines())) <= 100
    assert sets.build(packaged("ckl-probes"), str(tmp_path / "root")).periods == found.periods


def test_the_phases_of_small_are_subsets_and_a_file_stands_in_one(tmp_path: Path) -> None:
    for phase in ("p1", "p2"):
        table(tmp_path / f"{phase}.csv", NEW, ("4", f"<extra_id_0> is {phase}.", "X", "Who?"))
    files = {f"new-easy-{phase}": {"rows": str(tmp_path / f"{phase}.csv")} for phase in ("p1", "p2")}
    found = sets.build(recipe("ckl-probes", sets=files), str(tmp_path / "root"))
    assert {subset: one.text for (_, subset), (one,) in probes(found).items()} == {
        "new-easy-p1": "<extra_id_0> is p1.", "new-easy-p2": "<extra_id_0> is p2."
    }  # fmt: skip
    files["new-easy"] = files["new-easy-p1"]
    with pytest.raises(InputError, match=r"p1\.csv stands under two subsets"):
        sets.build(recipe("ckl-probes", sets=files), str(tmp_path / "other"))


def test_the_phases_of_small_are_built_where_their_two_files_are_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    release(tmp_path)
    said: list[str] = []
    first, second = (f"newLAMA_easy_small_split{number}.csv" for number in (1, 2))
    four = sets.build(packaged("ckl-probes"), "root", said.append)
    assert said[0] == f"ckl-probes@1: left out new-easy-p1, new-easy-p2, whose files are not here: {first}, {second}"
    assert len([line for line in said if "left out" in line]) == 1 and len(probes(four)) == 4
    table(tmp_path / first, NEW, ("4", "Howard hired <extra_id_0> of Howard.", "x", "Whom?"))
    with pytest.raises(InputError) as one_of_two:
        sets.build(packaged("ckl-probes"), "second")
    assert str(one_of_two.value) == (
        f"examples.sets: {first} is there and {second} is not; the sets new-easy-p1 and new-easy-p2 come together: "
        "give the files of all of them, or of none"
    )
    table(tmp_path / second, NEW, ("9", "Lovelace hired <extra_id_0>.", "Babbage", "Whom?"))
    six = probes(sets.build(packaged("ckl-probes"), "second", said.append))
    assert sorted({subset for _, subset in six} - {subset for _, subset in probes(four)}) == [
        "new-easy-p1", "new-easy-p2"
    ]  # fmt: skip
    (shared,) = six["202005-202104", "new-easy-p1"]
    assert shared.answer == "Howard", "the answers file is that of NewLAMA-Easy"


def test_a_set_of_optional_files_alone_needs_them(tmp_path: Path) -> None:
    files = {"new-easy-p1": {"rows": str(tmp_path / "p1.csv"), "optional": True}}
    with pytest.raises(InputError, match=r"none of the files is here: .*p1\.csv$"):
        sets.build(recipe("ckl-probes", sets=files), str(tmp_path / "root"))


def row(relation: str, subject: str, answer: str, **more: Any) -> dict[str, Any]:
    """A row as LAMA's T-REx has it."""
    return {"uuid": f"{relation}-{subject}", "predicate_id": relation, "sub_label": subject, "obj_label": answer} | more


def test_invariant_lama_from_lamas_own_layout(tmp_path: Path) -> None:
    rows, evidence = tmp_path / "TREx", [{"sub_surface": "Ada", "masked_sentence": "Ada was born in [MASK]."}]
    rows.mkdir()
    born = row("P19", "Ada", "London", evidences=evidence, obj_uri="Q84")
    lines(
        rows / "P19.jsonl",
        born,
        born | {"uuid": "other"},
        row("P19", "Bo", ""),
        "{broken",
        row("P19", "Paris Hilton", "Paris"),
    )
    lines(
        rows / "P279.jsonl",
        row("P279", "cello", "instrument"),
        {"sub_label": "Hutterite German", "obj_label": "Bavarian"},
    )
    lines(rows / "P108.jsonl", row("P108", "Cy", "Google"))
    lines(tmp_path / "relations.jsonl", {"relation": "P19", "template": "[X] comes from [Y] ."})
    mine = recipe("invariant-lama", paths=str(tmp_path), templates=str(tmp_path / "relations.jsonl"))
    found = sets.build(mine, str(tmp_path / "root"))
    assert probes(found)["202005", "invariant"] == [
        Example("P19-Ada", "Ada comes from <extra_id_0> .", "London", source="P19", about={"subject": "Ada"}),
        Example("P279.jsonl:2", "Hutterite German is a subclass of <extra_id_0>.", "Bavarian", source="P279",
                about={"subject": "Hutterite German"}),
    ]  # fmt: skip
    counted = steps(found)
    assert counted["P19"] == Step(
        name="P19",
        read=4,
        dropped={"answer overlaps the subject": 1, "the same probe twice": 1, "without answer": 1},
    )
    assert counted["P279"].dropped == {"answer is no entity": 1}
    assert counted["P108"].dropped == {"relation is not on the list": 1}
    assert counted["rows"].dropped == {"broken JSON line": 1}
    assert counted["P361"] == Step(name="P361"), "a relation that the files lack is counted too"


@pytest.mark.skipif(not TREX.exists(), reason="the sample of T-REx is not here")
def test_invariant_lama_of_the_sample_of_t_rex(tmp_path: Path) -> None:
    found = sets.build(packaged("invariant-lama", f"examples.paths=[{TREX}]"), str(tmp_path / "root"))
    (kept,) = probes(found).values()
    counted = {name: step for name, step in steps(found).items() if step.read}
    assert len(counted) == 21 and sum(step.read for step in counted.values()) == 1253
    assert sum(step.kept for step in counted.values()) == len(kept) == 630
    total: dict[str, int] = {}
    for step in counted.values():
        for reason, count in step.dropped.items():
            total[reason] = total.get(reason, 0) + count
    assert total == {"relation is not on the list": 473, "answer overlaps the subject": 147, "answer is no entity": 3}
    assert counted["P1001"].dropped == {"answer overlaps the subject": 42}
    assert counted["P138"].dropped == {"answer is no entity": 3, "answer overlaps the subject": 42}
    outside = {name for name, step in counted.items() if "relation is not on the list" in step.dropped}
    assert outside == {"P108", "P1303", "P136", "P264", "P39", "P413", "P463", "P530"}
    assert all(one.text.count("<extra_id_0>") == 1 and (one.answer or "") not in one.text for one in kept)
    words = packaged("invariant-lama", f"examples.paths=[{TREX}]", "examples.invariant.overlap=words", "version=w")
    more = [one.about["subject"] for one in sets.build(words, str(tmp_path / "root")).read("202005", "invariant")]
    assert len(more) > 630 and "Croatian War of Independence" in more, "Croatia is no word of it"
