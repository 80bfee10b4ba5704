"""Names that documents carry are text: no command that shows them fails, obeys them, or hands them on as code."""

from __future__ import annotations

import csv
import json
import os
import random
import re
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

Forks = Callable[..., list[tuple[int, Any]]]
HOSTILE = (
    "[/red] [bold]",
    "A$_{B$C^",
    "\x1b]0;owned\x07\x1b[2J",
    "\x9b31m \u202eback",
    "<img src=x onerror=alert(1)></script>",
    '=cmd|" /C calc"!A0',
    "@SUM(1)",
    "../../etc",
    ":smile: [link=file:///x]y[/link]",
)
FAST = {"kind": "cosine", "max_rate": 5e-3, "warmup_steps": 1}
STEERING = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


def command(arguments: tuple[str, ...]) -> None:
    """`ticlm …` in this process, its stderr with its stdout."""
    from ticlm.platform.cli import main

    sys.argv = ["ticlm", *arguments]
    main.main()


def recipe(folder: Path) -> dict[str, Any]:
    draw = random.Random(7)
    words = ("rain", "market", "city", "minister", "said", "that", "game", "team", "report", "water", "price")
    with (folder / "docs.jsonl").open("w") as file:
        for number in range(540):
            text = f"{number} " + " ".join(draw.choice(words) for _ in range(40))
            source, day = HOSTILE[number % len(HOSTILE)], f"2023-{1 + number % 2:02d}-{1 + number % 28:02d}"
            file.write(json.dumps({"text": text, "timestamp": day, "source": source}) + "\n")
    return {
        "name": "hostile",
        "version": 1,
        "documents": {"kind": "files", "paths": [f"{folder}/docs.jsonl"]},
        "periods": {"initial": "202301", "step": "month", "last": "202302"},
        "splits": {"eval": 0.3, "tune": 0.1},
        "by_source": True,
        "tokenizer": {"kind": "train", "vocab_size": 300},
        "length": 16,
        "executor": "process",
    }


def study(**changes: Any) -> dict[str, Any]:
    return {
        "name": "hostile",
        "corpus": "hostile",
        "periods": {"initial": "202301", "step": "month", "last": "202302"},
        "model": {"name": "tiny", "changes": {"hidden_size": 16, "intermediate_size": 32, "num_hidden_layers": 1}},
        "batch_rows": 4,
        "length": 16,
        "initial": {"budget": {"steps": 4}, "schedule": FAST},
        "continual_tokens": {"per_period": 4 * 4 * 16},
        "methods": [{"base": "cyclic-cosine", "schedule": FAST}],
        "resources": {"trainer": "process", "device": "cpu", "chains": 1},
    } | changes


@pytest.mark.slow
@pytest.mark.nightly
def test_names_from_documents_are_shown_as_text_by_every_command(forks: Forks, tmp_path: Path) -> None:
    files = {"recipe.yaml": recipe(tmp_path), "study.yaml": study()}
    for name, data in files.items():
        (tmp_path / name).write_text(json.dumps(data))
    root, log = ("--root", f"{tmp_path}/root"), tmp_path / "log"
    for arguments in (
        ("data", "build", f"{tmp_path}/recipe.yaml"),
        ("data", "show", "hostile"),
        ("run", f"{tmp_path}/study.yaml"),
        ("report", f"{tmp_path}/study.yaml"),
    ):
        log.write_bytes(b"")
        ((code, _),) = forks(partial(command, (*arguments, *root)), log=log)
        shown = log.read_text()
        assert code == 0, shown[-3000:]
        assert not STEERING.search(shown), (arguments, STEERING.search(shown))
        if arguments[0] == "data":
            run_together = "".join(shown.split())
            for name in ("[/red][bold]", "\\x1b]0;owned\\x07", ":smile:[link=file:///x]", "\\u202eback"):
                assert name in run_together, shown
    (page,) = (tmp_path / "root/reports").rglob("index.html")
    assert "<img src=x" not in page.read_text()
    tables = list((tmp_path / "root/reports").rglob("*.csv"))
    assert tables
    cells = [cell for table in tables for row in csv.reader(table.open(newline="")) for cell in row]
    assert any("cmd|" in cell for cell in cells), "the names are in there"
    for cell in cells:
        assert cell[:1] not in "=@+\t\r" or not cell, cell
    assert sorted(os.listdir(tmp_path)) == ["docs.jsonl", "log", "recipe.yaml", "root", "study.yaml"]


def test_a_table_a_title_a_text_and_a_bar_show_names_as_they_are(capsys: pytest.CaptureFixture[str]) -> None:
    from rich.console import Group
    from rich.table import Table
    from rich.text import Text

    from ticlm.platform.cli.console import PlainConsole

    table = Table(title=HOSTILE[0])
    table.add_column(HOSTILE[8])
    table.add_row(HOSTILE[2])
    PlainConsole(width=200).print(Group(table, Text(HOSTILE[3])), HOSTILE[0])
    shown = capsys.readouterr().out
    assert not STEERING.search(shown)
    assert shown.count("[/red] [bold]") == 2 and HOSTILE[8] in shown
    assert "\\x1b]0;owned\\x07\\x1b[2J" in shown and "\\x9b31m \\u202eback" in shown


def test_a_text_that_would_be_a_formula_is_marked_in_a_csv_and_a_number_is_not(tmp_path: Path) -> None:
    import pandas as pd

    from ticlm.platform.report.csv_file import write_csv

    frame = pd.DataFrame({"name": ["=1+1", "plain", None, "-x"], "@loss": [-1.5, 2.0, None, 0.0], "n": [-1, 2, 3, 4]})
    write_csv(frame, tmp_path / "a.csv")
    assert (tmp_path / "a.csv").read_text() == "name,'@loss,n\n'=1+1,-1.5,-1\nplain,2,2\n,,3\n'-x,0,4\n"
