"""`ticlm age MODEL…`: a row, a sentence, a figure and the evidence for each model; and what is refused in one line."""

from __future__ import annotations

import csv
import json
import shutil
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
import sets
import speakers
import torch
from transformers import BertConfig, BertForMaskedLM, LlamaConfig, LlamaModel

from ticlm.core.examples import Example
from ticlm.platform.cli import main
from ticlm.platform.eval import cells

Command = Callable[..., tuple[int, str, str]]
NAMES = ("Macron", "Zoë", "Paris", "Köln", "Łódź", "France", "the mayor")


def change(fact: int, month: str, old: str, new: str) -> tuple[str, Example]:
    about = {"fact": f"Q{fact}-P6", "date": month, "neutral": "There was", "subject": f"town {fact}"}
    name = f"Q{fact}-P6-{month.replace('-', '')}"
    text = f"The mayor of town {fact} is"
    return month.replace("-", ""), Example(name, text, new, outdated=(old,), source="mayor", about=about)


def many() -> list[tuple[str, Example]]:
    """12 facts with 4 changes each, in 2019 to 2022."""
    found = []
    for fact in range(12):
        for k in range(4):
            old, new = (NAMES[(fact + k + step) % len(NAMES)] for step in (0, 1))
            found.append(change(fact, f"{2019 + k}-{fact + 1:02}", old, new))
    return found


def keep(folder: Path, changes: list[tuple[str, Example]], subset: str = "changes") -> None:
    months = sorted({label for label, _ in changes})
    sets.kept_months(folder, {month: {subset: [one for label, one in changes if label == month]} for month in months})


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a model and sets of dated facts."""
    folder = tmp_path_factory.mktemp("place")
    speakers.speaker(folder / "deep")
    for name, changes in (
        ("many", many()),
        ("one", [change(0, "2020-01", "Paris", "Köln")]),
        ("month", [change(fact, "2020-01", "Paris", "Köln") for fact in range(12)]),
        ("equal", [(label, replace(one, outdated=(one.answer or "",))) for label, one in many()]),
        ("days", [(label, replace(one, about={**one.about, "date": "2020-05-17"})) for label, one in many()]),
        ("future", [*many(), change(0, "2199-01", "Paris", "Köln")]),
    ):
        keep(folder / name, changes)
    keep(folder / "posts", many(), "all")
    speakers.speaker(folder / "flat", num_hidden_layers=1)
    pages = [
        (f"2020{month:02}", Example(f"page {page}", f"The mayor of Paris was there {month} times, in {page}."))
        for month in range(1, 5)
        for page in range(3)
    ]
    keep(folder / "pages", pages, "all")
    return folder


@pytest.fixture
def age(place: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Command:
    monkeypatch.chdir(place)

    def command(*arguments: str) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["ticlm", "age", *arguments, "--root", str(place / "root")])
        with pytest.raises(SystemExit) as ended:
            main.main()
        said = capsys.readouterr()
        return int(ended.value.code or 0), said.out, said.err

    return command


def test_a_model_of_random_weights_has_an_unknown_age_and_a_page(place: Path, age: Command) -> None:
    code, out, err = age("deep", "--facts", "./many", "--claimed", "2021-06", "--csv", "ages.csv")
    assert code == 0, err
    assert "deep: age unknown: what it prefers does not depend on when values changed (p" in " ".join(out.split())
    assert "claimed 2021-06" in out
    row = next(iter(csv.DictReader((place / "ages.csv").open())))
    assert (row["model"], row["claimed"], row["changes"], row["facts"]) == ("deep", "2021-06", "48", "12")
    page = Path(out.split("page: ")[1].strip())
    text = page.read_text(encoding="utf-8")
    assert "How old the models are" in text and "new values preferred to old ones" in text
    assert len(list(csv.DictReader((page.parent / "age_changes.csv").open()))) == 48
    assert "task_id: fact-edge" in (page.parent / ".eval_results" / "deep.yaml").read_text()
    assert "value: unknown" in (page.parent / ".eval_results" / "deep.yaml").read_text()


def test_the_same_numbers_twice_and_nothing_is_scored_again(age: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    code, first, err = age("deep", "--facts", "./many", "--json")
    assert code == 0, err
    monkeypatch.setattr(cells, "score", lambda *_: pytest.fail("scored again"))
    assert age("deep", "--facts", "./many", "--json")[1] == first
    assert json.loads(first)[0]["placebo_unknown"] is not None


def test_versions_of_pages_have_a_clock_beside_a_reference(age: Command) -> None:
    code, out, err = age("deep", "--facts", "./many", "--versions", "./pages", "--reference", "flat", "--json")
    assert code == 0, err
    (row,) = json.loads(out)
    assert row["model"] == "deep" and "2020-01" <= row["version_low"] <= row["version_clock"] <= "2020-04"
    _, out, _ = age("deep", "--facts", "./many", "--versions", "./pages", "--reference", "flat")
    assert "whose versions of 3 pages a model reads best beside the reference" in " ".join(out.split())
    heading, shown = (next(line for line in out.splitlines() if word in line) for word in ("fact edge", "  deep "))
    assert heading.split()[-3:] == ["version", "clock", "changes"] and shown.split()[-1] == "48"
    assert f"{row['version_clock']} ({row['version_low']} to {row['version_high']})" in shown


@pytest.mark.parametrize(
    ("facts", "said"),
    [
        ("one", "deep: age unknown: 1 change of 1 fact, where 5 of each are the least."),
        ("month", "deep: age unknown: all 12 changes are of one month."),
        ("equal", "deep: 48 changes are left out, as its tokenizer cannot tell both values apart."),
    ],
)
def test_too_little_to_go_by_is_said(age: Command, facts: str, said: str) -> None:
    code, out, err = age("deep", "--facts", f"./{facts}")
    assert code == 0, err
    assert said in " ".join(out.split())


@pytest.fixture(scope="module")
def others(place: Path) -> Path:
    """Folders that are no language models."""
    config = BertConfig(vocab_size=99, hidden_size=8, num_hidden_layers=1, num_attention_heads=1, intermediate_size=8)
    BertForMaskedLM(config).save_pretrained(place / "bert")
    plain = LlamaConfig(vocab_size=99, hidden_size=8, num_hidden_layers=1, num_attention_heads=1, intermediate_size=8)
    LlamaModel(plain).save_pretrained(place / "headless")
    shutil.copytree(place / "deep", place / "pickled")
    (place / "pickled" / "model.safetensors").unlink()
    torch.save({}, place / "pickled" / "pytorch_model.bin")
    return place


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("bert", "--facts", "./many"), "bert"),
        (("headless", "--facts", "./many"), "headless"),
        (("pickled", "--facts", "./many"), "pickled"),
        (("deep", "--facts", "./future"), "--facts ./future: changes of 219901, in the future"),
        (
            ("deep", "--facts", "./days"),
            "about.date of a dated change: expected a month such as 2024-08",
        ),
        (("deep", "--facts", "./posts"), "has no subset changes, so it is no set of dated facts"),
        (("deep", "--facts", "world-fact"), "no such set in"),
        (("deep", "--facts", "./many", "--claimed", "August"), "--claimed must be a month such as 2024-08, got August"),
        (("deep", "--facts", "./many", "--claimed", "2199-01"), "--claimed 2199-01 is in the future"),
        (("deep", "--facts", "./many", "--versions", "./pages"), "--versions needs a reference model"),
        (("deep", "--facts", "./many", "--reference", "flat"), "give --versions SET too"),
        (
            ("deep", "--facts", "./many", "--versions", "./pages", "--reference", "deep"),
            "deep is named twice; name each model once",
        ),
        (("deep", "--claimed", "2020-01", "--claimed", "2020-02"), "--claimed: 2 months, 1 names; give one month"),
    ],
)
def test_what_has_no_age_is_one_line(others: Path, age: Command, arguments: tuple[str, ...], said: str) -> None:
    code, _, err = age(*arguments)
    last = err.splitlines()[-1]
    assert code == 2 and last.startswith("ticlm: ") and said in last, err
