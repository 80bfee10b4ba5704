"""Odd inputs of every kind: each is one line that names what was typed, and none loads torch before it is refused."""

from __future__ import annotations

import io
import sys
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path

import pytest
import yaml

from ticlm.platform.cli import main
from ticlm.platform.cli.exit import ended

EMPTY_ROOT, FILE, FOLDER = "{root}", "{file}", "{folder}"
METHOD = "methods=[{base: cyclic-cosine, schedule: {max_rate: 1e-3, warmup_steps: 5}}]"
ODD: list[tuple[tuple[str, ...], str]] = [
    # names
    (("run", "dem"), "dem: no such file, and no packaged name (did you mean demo?)"),
    (("plan", "nothing-like-it"), "ticlm list studies names the "),
    (("plan", ""), "no such file"),
    (("plan", FOLDER), "no such file"),
    (("report", "montly"), "did you mean monthly?"),
    (("train", "ckl-smal"), "did you mean ckl-small?"),
    (("data", "build", "syntetic"), "did you mean synthetic?"),
    (("data", "build", "nothing-like-it"), "ticlm list recipes names the "),
    (
        ("data", "show", "syntheti", "--root", EMPTY_ROOT),
        "no corpus and no set of examples in {root} (did you mean synth",
    ),
    (("data", "show", "other", "--root", EMPTY_ROOT), "no corpus there"),
    (("show", "replay-halv"), "of this name (did you mean replay-half?); ticlm list has the names"),
    (("show", "monthly"), "say --as study or --as recipe"),
    (("show", "monthly", "--as", "recpie"), "--as: must be study or recipe, got 'recpie'"),
    (("list", "metods"), "no kind 'metods' (did you mean methods?)"),
    (("list", "--root", "/nowhere/at/all"), "there is nothing"),
    (("schema", "studies"), "no kind of file 'studies'"),
    (("schema", "study", "--out", "{file}/a.json"), "--out {file}/a.json: cannot be written"),
    (("docs", "relport"), "no page 'relport' (did you mean report?)"),
    (("generate", "demo/replay-half@202306#x", "The", "--root", EMPTY_ROOT), "a seed is a number, got 'x'"),
    (("generate", "ORG/MODEL", "The", "--root", EMPTY_ROOT), "ORG/MODEL: not whole in "),
    (("generate", "demo/replay-half@209901", "The", "--root", EMPTY_ROOT), "demo/replay-half"),
    (("generate", "demo/replay-halv", "The", "--root", EMPTY_ROOT), "did you mean replay-half?"),
    (("generate", "demo/replay-half", "", "--root", EMPTY_ROOT), "the prompt is empty"),
    (("generate", "demo/replay-half", "x", "--temperature", "nan"), "--temperature must be"),
    (("eval", "demo", "--on", "202301", "--root", EMPTY_ROOT), "ticlm data build"),
    (
        ("eval", "model", "--tasks", "t.yaml", "--csv", FOLDER),
        "/scores.csv",
    ),
    (("convert", "no.pt", "out"), "no.pt: no such file"),
    (("choose", "no.csv"), "no.csv"),
    # keys
    (("plan", "demo", "--set", "lenght=3"), "lenght: unknown key (did you mean length?); allowed: "),
    (
        ("plan", "demo", "--set", "methods.0.optimiser={kind: adamw}"),
        "methods.0.optimiser: unknown key (did you mean opt",
    ),
    (("plan", "demo", "--set", "tables=[{kind: fuar, forgoten: 1}]"), "allowed: "),
    (("plan", "demo", "--set", "length"), "expected KEY.KEY=VALUE"),
    (
        ("data", "build", "synthetic", "--set", "splits.by=rows"),
        "splits.by: must be 'documents' or 'tokens', got 'rows'",
    ),
    (("plan", FILE), "expected a mapping of settings"),
    # values
    (("plan", "demo", "--set", "length=-1"), "length: must be"),
    (("plan", "demo", "--set", "length=.nan"), "length: must be"),
    (("plan", "demo", "--set", "periods.last=202313"), "202313"),
    (
        ("plan", "demo", "--set", METHOD, "--set", "methods.0.schedule.max_rate=.nan"),
        "max_rate: must be a finite number",
    ),
    (("plan", "demo", "--set", "methods.0.adapter={kind: lora, rank: 0}"), "rank: must be greater than 0"),
    (("plan", "demo", "--gpu", "abacus"), "abacus"),
    (("plan", "demo", "--utilisation", "7"), "utilisation"),
    (("data", "build", "synthetic", "--set", "splits={eval: .9, tune: .2}"), "must leave something to train on"),
    (("tune", "cyclic-cosine", "demo", "--values", "schedule.max_rate=1e-3", "--search", "x"), "--search: must be"),
    (
        ("tune", "cyclic-cosine", "demo", "--values", "schedule.max_rate=1e-3", "--choose-by", "x"),
        "--choose-by: must be",
    ),
    # commands
    (("walk",), "No such command 'walk'"),
    (("run",), "Missing argument 'STUDY'"),
    (("run", "demo", "--rot", "x"), "No such option: --rot"),
    (("generate", "x", "y", "--tokens", "few"), "--tokens"),
    (("check", "--root", EMPTY_ROOT + "/nowhere"), "there is nothing"),
    (("check", "--root", ""), "--root (or TICLM_ROOT) is empty"),
    (("check", "--root", FILE), "is a file: give a folder"),
]


@pytest.fixture(scope="module")
def places(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    base = tmp_path_factory.mktemp("odd")
    (base / "root/corpora/synthetic@1").mkdir(parents=True)
    (base / "list.yaml").write_text(yaml.safe_dump(["a", "list"]))
    return {"root": str(base / "root"), "file": str(base / "list.yaml"), "folder": str(base)}


@pytest.fixture
def without_torch(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let whatever imports torch fail: that takes seconds, for which a refusal need not wait."""
    monkeypatch.setitem(sys.modules, "torch", None)


@pytest.mark.usefixtures("without_torch")
@pytest.mark.parametrize(("arguments", "said"), ODD, ids=[" ".join(arguments)[:60] for arguments, _ in ODD])
def test_an_odd_input_is_one_line(
    arguments: tuple[str, ...], said: str, places: dict[str, str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    words = [word.replace("{root}", places["root"]).replace("{file}", places["file"]) for word in arguments]
    words = [word.replace("{folder}", places["folder"]) for word in words]
    out, err = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(err), pytest.raises(SystemExit) as end:
        ended(lambda: main.app(words, standalone_mode=False))
    expected = said.replace("{root}", places["root"]).replace("{file}", places["file"])
    assert end.value.code == 2, err.getvalue()
    assert err.getvalue().startswith("ticlm: ") and err.getvalue().count("\n") == 1, err.getvalue()
    assert expected in err.getvalue()
    assert len(err.getvalue()) < 800
