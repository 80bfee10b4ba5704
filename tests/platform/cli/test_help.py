"""Help, examples, versions and completion: light to load, and right."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from collections.abc import Iterator
from importlib import metadata
from typing import Any

import pytest
import typer.main
from paths import ROOT

from ticlm.core import settings
from ticlm.platform.cli import completion
from ticlm.platform.cli.examples import EXAMPLES
from ticlm.platform.cli.main import app


def ticlm(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "ticlm.platform", *arguments],
        capture_output=True,
        text=True,
        env={**os.environ, "COLUMNS": "100", "NO_COLOR": "1", **environment},
    )


def commands() -> Iterator[tuple[str, Any]]:
    """Yield every command with its words, groups included."""

    def below(name: str, command: Any) -> Iterator[tuple[str, Any]]:
        yield name, command
        for word, inner in getattr(command, "commands", {}).items():
            yield from below(f"{name} {word}".strip(), inner)

    yield from below("", typer.main.get_command(app))


COMMANDS = dict(commands())


def test_every_command_has_examples_and_says_where_more_is_written() -> None:
    assert EXAMPLES.keys() == COMMANDS.keys()
    for page, examples in EXAMPLES.values():
        assert examples and (ROOT / ("" if page == "README.md" else "docs") / page).is_file()


@pytest.mark.parametrize("example", [line for _, lines in EXAMPLES.values() for line in lines])
def test_an_example_is_a_command_as_it_stands(example: str) -> None:
    program, *words = shlex.split(example)
    assert program == "ticlm"
    name = " ".join(words[:2]) if words[0] == "data" else words[0]
    context = COMMANDS[name].make_context(name, words[len(name.split()) :])
    study = context.params.get("study")
    if study in settings.packaged("platform/studies"):
        from ticlm.platform.study.settings import load

        load(study, context.params.get("set_") or ())


@pytest.mark.parametrize("name", COMMANDS)
def test_all_that_a_command_takes_is_explained(name: str) -> None:
    assert COMMANDS[name].help or COMMANDS[name].callback.__doc__
    for parameter in COMMANDS[name].params:
        assert getattr(parameter, "help", None), f"{name}: {parameter.name}"


def test_the_versions_are_told_without_loading_what_they_are_of() -> None:
    code = (
        "import sys\nfrom ticlm.platform.cli.main import versions\nprint(versions())\n"
        "print([name for name in ('ray', 'torch', 'transformers', 'pydantic') if name in sys.modules])"
    )
    line, loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout.splitlines()
    assert f"ray {metadata.version('ray')}, torch {metadata.version('torch')}" in line and loaded == "[]"
    ended = ticlm("--version")
    assert ended.returncode == 0 and ended.stdout.splitlines() == [line]


@pytest.mark.parametrize("arguments", [(), ("data",)])
def test_no_arguments_show_the_help(arguments: tuple[str, ...]) -> None:
    ended = ticlm(*arguments)
    assert (
        ended.returncode == 0
        and ended.stderr == ""
        and "ticlm data build synthetic" in (ended.stdout if arguments else ticlm("data", "--help").stdout)
    )
    assert "Usage" in ended.stdout and "Examples" in ended.stdout


def test_a_shell_completes_commands_and_studies() -> None:
    code = "import sys; sys.argv[0] = 'ticlm'; from ticlm.platform.cli.main import app; app()"
    for line, found in (("ticlm ge", ["generate"]), ("ticlm plan dem", ["demo"])):
        words = {"COMP_WORDS": line, "COMP_CWORD": "1" if line == "ticlm ge" else "2"}
        environment = {**os.environ, **words, "_TICLM_COMPLETE": "complete_bash"}
        ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment)
        assert ended.stdout.split() == found, ended.stderr


def test_names_of_studies_recipes_and_models_are_completed(monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep/own.yaml").touch()
    (tmp_path / "demonstration.yaml").touch()
    assert completion.studies("demo") == ["demo", "demonstration.yaml"]
    assert completion.studies("dee") == ["deep/"] and completion.studies("deep/") == ["deep/own.yaml"]
    assert completion.recipes("synthetic-p") == ["synthetic-probes"]
    assert completion.models("demo/r") == ["demo/replay-half"] and "demo/" in completion.models("de")
    for study in settings.packaged("platform/studies"):
        assert completion.models(f"{study}/"), study
