"""`ticlm convert`: a released checkpoint becomes a folder that other commands take; what is wrong is one line."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import openlm as toy
import pytest

from ticlm.core.errors import InputError
from ticlm.platform.cli import main


def ticlm(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, *arguments: str) -> str:
    """What the command prints."""
    monkeypatch.setattr(sys, "argv", ["ticlm", *arguments])
    main.app(standalone_mode=False)
    return capsys.readouterr().out


def test_a_released_checkpoint_is_converted_and_scored(
    tmp_path: Path, toy_root: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = toy.save(tmp_path / "oracle_1b_8x_cutoff202302/checkpoints/epoch_21.pt", toy.weights(qk_norm=True))
    folder, tasks = tmp_path / "models/oracle", tmp_path / "tasks.yaml"
    tokenizer = ("--tokenizer", str(toy_root / "corpora/toy@1/tokenizer"))
    out = ticlm(capsys, monkeypatch, "convert", str(path), str(folder), "--heads", "4", *tokenizer)
    assert out == (f"{folder}: OlmoeForCausalLM, 19,008 parameters; its path says that it was trained up to 202302\n")
    tasks.write_text("evaluations: [{kind: perplexity-on, name: toy, corpus: toy@1}]")
    arguments = ("eval", str(folder), "--tasks", str(tasks), "--root", str(toy_root), "--json")
    scores = json.loads(ticlm(capsys, monkeypatch, *arguments))["scores"]
    assert [row["period"] for row in scores] == ["202301", "202302", "202303", "202304"]


def test_a_checkpoint_that_cannot_be_read_is_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "epoch_1.pt").write_bytes(b"PK\x03\x04 and no more")
    with pytest.raises(InputError, match=r"epoch_1\.pt: not a checkpoint of torch, or cut off") as caught:
        ticlm(capsys, monkeypatch, "convert", str(tmp_path / "epoch_1.pt"), str(tmp_path / "model"))
    assert "\n" not in str(caught.value)
