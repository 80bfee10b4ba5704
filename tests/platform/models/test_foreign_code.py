"""Folders from outside: nothing that lies in a model folder runs as code."""

from __future__ import annotations

import builtins
import json
import sys
from pathlib import Path

import hubserver
import pytest

from ticlm.core import hub
from ticlm.core.errors import InputError
from ticlm.core.store import Store
from ticlm.methods.objectives import Causal
from ticlm.platform.eval import model_folder
from ticlm.platform.models import build, folder_files, folders
from ticlm.platform.models.settings import FolderModel, PresetModel

SMALL = PresetModel(name="tiny", changes='{"hidden_size": 16, "intermediate_size": 32, "num_hidden_layers": 1}')
LEAVES_A_TRACE = "import pathlib\npathlib.Path(__file__).with_name('ran').touch()\n"


@pytest.fixture
def model(tmp_path: Path) -> Path:
    module = build.scratch(build.config(SMALL, 64), Causal(), 0)
    folders.publish(module.state_dict(), module.config, Causal(), [], tmp_path / "model")
    return tmp_path / "model"


def test_a_folder_of_adapters_imports_no_module_that_it_names(model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (model / "planted_module.py").write_text(LEAVES_A_TRACE)
    monkeypatch.syspath_prepend(str(model))
    entry = {"type": "Planted", "module": "planted_module", "settings": {}}
    (model / folder_files.ADAPTERS).write_text(json.dumps({"base": "", "stack": [entry]}))
    with pytest.raises(InputError, match="no adapter is called Planted; known are "):
        folders.load(model)
    assert not (model / "ran").exists()


@pytest.mark.parametrize("part", ["model", "config", "tokenizer"])
def test_code_of_a_folder_does_not_run_even_if_somebody_says_yes(
    model: Path, part: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from ticlm.platform.eval.loaded_model import LoadedModel

    monkeypatch.setattr(builtins, "input", lambda *_: "y")
    (model / "planted.py").write_text(LEAVES_A_TRACE)
    config = json.loads((model / "config.json").read_text())
    classes = {"AutoConfig": "planted.C", "AutoModelForCausalLM": "planted.M"}
    (model / "config.json").write_text(json.dumps(config | {"model_type": "planted", "auto_map": classes}))
    (model / "tokenizer_config.json").write_text(
        json.dumps({"tokenizer_class": "Planted", "auto_map": {"AutoTokenizer": ["planted.T", None]}})
    )
    with pytest.raises(InputError) as caught:
        match part:
            case "model":
                folders.load(model)
            case "config":
                build.config(FolderModel(path=str(model), as_of="202301"), 64)
            case "tokenizer":
                module = build.scratch(build.config(SMALL, 64), Causal(), 0)
                assert LoadedModel(model, Causal(), module).tokenizer is None, "it was loaded"
    assert "\n" not in str(caught.value)
    assert not (model / "ran").exists()


OWN = """
import pathlib
from transformers import Olmo2Config, Olmo2ForCausalLM
pathlib.Path(%r).touch()
class C(Olmo2Config):
    model_type = "planted"
class M(Olmo2ForCausalLM):
    config_class = C
"""


def test_code_on_the_hub_runs_at_the_commit_that_is_named_and_at_no_other(
    model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("transformers.dynamic_module_utils.HF_MODULES_CACHE", str(tmp_path / "modules"))
    monkeypatch.setattr(sys, "path", [*sys.path])
    ran, config = tmp_path / "ran", json.loads((model / "config.json").read_text())
    classes = {"AutoConfig": "planted.C", "AutoModelForCausalLM": "planted.M"}
    (model / "config.json").write_text(json.dumps(config | {"model_type": "planted", "auto_map": classes}))
    (model / "planted.py").write_text(OWN % str(ran))
    with hubserver.hub() as server:
        hubserver.use(server, tmp_path, monkeypatch)
        commit = server.repository("lab/own").push(hubserver.files_in(model))
        with pytest.raises(InputError, match=f"^lab/own@{commit}: .* give --trust-remote-code COMMIT"):
            folders.load(Path(hub.place("lab/own")))
        assert not ran.exists()
        plain = model_folder.weights(hub.place("lab/own"))
        hub.trust(commit)
        assert type(folders.load(Path(hub.place("lab/own")))).__name__ == "M" and ran.exists()
        assert model_folder.weights(hub.place("lab/own")) != plain, "the code counts too"


def test_files_of_a_root_can_be_read_by_whom_the_umask_lets(tmp_path: Path) -> None:
    store = Store(tmp_path)
    store.write("written", b"")
    store.create("created", b"")
    (tmp_path / "plain").touch()
    expected = (tmp_path / "plain").stat().st_mode
    assert {(tmp_path / name).stat().st_mode for name in ("written", "created")} == {expected}


@pytest.mark.parametrize(
    "text",
    [
        "[",
        '{"a": 1}',
        "[]",
        '{"stack": ["x"]}',
        '{"stack": [{"settings": {}}]}',
        '{"stack": [{"type": ["x"], "settings": {}}]}',
    ],
)
def test_damaged_adapters_are_refused_in_one_line(model: Path, text: str) -> None:
    (model / folder_files.ADAPTERS).write_text(text)
    with pytest.raises(InputError, match=f"{folder_files.ADAPTERS} is damaged: ") as caught:
        folders.load(model)
    assert "\n" not in str(caught.value)


def test_a_module_of_the_users_own_is_imported_when_it_is_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from ticlm.platform.cli import main

    (tmp_path / "wanted_module.py").write_text(LEAVES_A_TRACE)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(
        sys, "argv", ["ticlm", "generate", "0", "x", "--module", "wanted_module", "--root", str(tmp_path)]
    )
    with pytest.raises(SystemExit):
        main.main()
    assert (tmp_path / "ran").exists()
    assert "no round in" in capsys.readouterr().err
