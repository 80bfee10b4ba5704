"""Inputs that kill the process that reads them: the build goes on without them, and says so."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
import web

from ticlm.core.errors import RunError
from ticlm.core.settings import parse
from ticlm.datasets.corpus import build, build_records
from ticlm.datasets.corpus.recipe import CorpusRecipe
from ticlm.datasets.io import apart

ENDS, NEVER_ENDS = "It ends the process.", "It never ends."


def _recipe(folder: Path, kind: str = "crawl", **changes: Any) -> CorpusRecipe:
    documents = {"kind": kind, "paths": [str(folder)]} | ({"dated": "record"} if kind == "crawl" else {})
    settings = {
        "name": "toy",
        "version": 1,
        "documents": documents,
        "periods": {"initial": 202405, "last": 202405},
        "splits": {"eval": 0.2, "tune": 0},
        "filters": [{"kind": "function", "name": "poison:swallow"}],
        "tokenizer": {"kind": "train", "vocab_size": 300},
        "length": 16,
    }
    return parse(CorpusRecipe, settings | changes, "recipe")


def _archives(folder: Path, poison: str) -> int:
    """Three archives of 40 pages; the second has a poisoned one. Return the offset of its record."""
    folder.mkdir()
    for name in ("a", "b", "c"):
        records = [
            web.page(f"https://{name}/{n}", f"This is page {n} of {name}, and it has words of its own.")
            for n in range(40)
        ]
        if name == "b":
            records[30] = web.page("https://b/30", poison)
            offset = len(web.gz(records[:30]))
        (folder / f"{name}.warc.gz").write_bytes(web.gz(records))
    return offset


def _without_the_second(recipe: CorpusRecipe, root: Path) -> tuple[str, list[str]]:
    """Build, look whether all other inputs are there, and return why the second is not, and what was said."""
    lines: list[str] = []
    corpus = build.build(recipe, str(root), lines.append)
    (record,) = build_records.builds(corpus.store)
    assert [Path(entry.path).name[0] for entry in record.inputs] == ["a", "c"]
    assert record.read == record.periods["202405"].read == 80 and record.dropped == {}
    ((path, why),) = record.unread.items()
    assert Path(path).name[0] == "b"
    build.build(recipe, str(root), lines.append)
    assert lines[-1] == "toy@1: nothing new"
    return why, lines


@pytest.mark.parametrize(
    ("poison", "cause"),
    [(ENDS, "it ended with exit code 1"), (NEVER_ENDS, r"it took more than 0.5 s of CPU time \(limits.record_cpu_s\)")],
)
def test_an_input_that_kills_its_reader_twice_is_left_out_with_the_byte_it_was_at(
    poison: str, cause: str, loop: None, tmp_path: Path
) -> None:
    offset = _archives(tmp_path / "pages", poison)
    recipe = _recipe(tmp_path / "pages", limits={"inputs": 0.4, "record_cpu_s": 0.5})
    why, lines = _without_the_second(recipe, tmp_path)
    assert why.startswith(f"{tmp_path}/pages/b.warc.gz: the process that read it died 2 times, the last time at byte ")
    assert why.split(": ")[1].endswith(f"at byte {offset}")
    assert [line for line in lines if "died" in line] == [f"warning: left out, as it cannot be read: {why}"]


def test_a_share_of_inputs_that_kill_their_readers_ends_the_build_with_one_line(loop: None, tmp_path: Path) -> None:
    _archives(tmp_path / "pages", ENDS)
    told = "^1 of 3 inputs could not be read, limits.inputs allows 1.00%; .*died 2 times.* or raise limits.inputs"
    with pytest.raises(RunError, match=told):
        build.build(_recipe(tmp_path / "pages"), str(tmp_path))
    corpus = build.build(_recipe(tmp_path / "pages", limits={"inputs": 0.4}), str(tmp_path))
    assert corpus.periods["202405"].read == 80


def test_a_line_that_kills_its_reader_is_told_by_its_byte(loop: None, tmp_path: Path) -> None:
    (tmp_path / "texts").mkdir()
    for name in ("a", "b", "c"):
        texts = [f"Line {n} of {name} has a few words of its own." for n in range(40)]
        if name == "b":
            texts[20] = ENDS
        rows = [{"url": f"https://{name}/{n}", "text": text, "timestamp": "2024-05-02"} for n, text in enumerate(texts)]
        lines = [json.dumps(row) + "\n" for row in rows]
        (tmp_path / "texts" / f"{name}.jsonl").write_text("".join(lines))
        if name == "b":
            offset = len("".join(lines[:20]))
    why, _ = _without_the_second(_recipe(tmp_path / "texts", "files", limits={"inputs": 0.4}), tmp_path)
    assert f"the last time at byte {offset}: it ended with exit code 1" in why


def test_a_death_by_chance_costs_nothing(loop: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A process that reads dies at the 70th record of all; the next one reads the same input again."""
    _archives(tmp_path / "pages", "This page is like the others in all its words.")
    count = tmp_path / "count"
    passed = apart.passed

    def dying() -> None:
        with count.open("ab", buffering=0) as file:  # by all that read: each byte has a place of its own
            file.write(b".")
            if file.tell() == 70:
                os._exit(1)
        passed()

    monkeypatch.setattr("ticlm.datasets.corpus.staging.done_with_a_record", dying)
    corpus = build.build(_recipe(tmp_path / "pages", limits={"inputs": 0}), str(tmp_path))
    (record,) = build_records.builds(corpus.store)
    assert record.read == 120 and record.unread == {} and count.stat().st_size > 120


@pytest.mark.nightly
@pytest.mark.ray
def test_ray_goes_on_too(tmp_path: Path, ray_local: None) -> None:
    """Parsing 20,000 options takes more than two seconds."""
    offset = _archives(tmp_path / "pages", "<select>" + "<option>x" * 20_000)
    recipe = _recipe(tmp_path / "pages", limits={"inputs": 0.4, "record_cpu_s": 0.2}, filters=[], executor="ray")
    why, _ = _without_the_second(recipe, tmp_path)
    assert f"at byte {offset}: it took more than 0.2 s of CPU time" in why
