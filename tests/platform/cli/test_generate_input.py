"""Odd values for `ticlm generate` and `eval`: one line, before anything is loaded."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from ticlm.core.errors import InputError
from ticlm.platform.cli import catalogue, evaluation


@pytest.mark.parametrize("temperature", [-1.0, float("nan"), float("inf"), 1e-5, 1e-320])
def test_a_temperature_that_is_no_temperature_is_refused(temperature: float) -> None:
    with pytest.raises(InputError, match="--temperature must be at least 0 and finite"):
        evaluation.generate("demo/oracle", "hello", temperature=temperature)


def test_a_seed_that_torch_cannot_take_is_refused() -> None:
    with pytest.raises(InputError, match="--seed must fit 64 bits"):
        evaluation.generate("demo/oracle", "hello", seed=10**20)


@pytest.mark.parametrize(
    ("prompt", "said"),
    [
        ("", "the prompt is empty; give a text to go on from"),
        ("w \ud800", "the prompt has U\\+D800, half of a surrogate pair"),
        ("w \udcff", "the prompt has U\\+DCFF, half of a surrogate pair"),  # a byte of the command line
    ],
)
def test_a_prompt_that_is_no_text_is_refused(prompt: str, said: str) -> None:
    with pytest.raises(InputError, match=said):
        evaluation.generate("demo/oracle", prompt)


def test_an_address_that_fits_nothing_is_refused_before_torch_is_loaded(tmp_path: Path) -> None:
    """It takes seconds to import, and the plan knows better."""
    code = (
        "import sys\nfrom ticlm.core.errors import InputError\nfrom ticlm.platform.cli import evaluation\n"
        "for name in sys.argv[2:]:\n"
        "    try:\n        evaluation.generate(name, 'hello', root=sys.argv[1])\n"
        "    except InputError as error:\n        print(error)\n"
        "print([name for name in ('torch', 'ray', 'transformers', 'pandas') if name in sys.modules])"
    )
    names = ["demo/replay-half@202213", "demo/replay-halv*@*", "demo/*@2022*", "demo/*@*", "demmo/*@*"]
    run = subprocess.run([sys.executable, "-c", code, str(tmp_path), *names], capture_output=True, text=True)
    *lines, loaded = run.stdout.splitlines()
    assert loaded == "[]", run.stderr
    for line, said in zip(
        lines,
        [
            "demo/replay-half has no checkpoint of 202213; nothing of this study is finished",
            "demo has no method replay-halv* (did you mean replay-half?); its methods are cyclic-cosine, replay-half",
            "demo/* has no checkpoint of 2022* (did you mean 202312?); its periods are 202301 … 202312, 12 periods",
            "demo/*@*: none of what fits is trained yet; nothing of this study is finished",
            "demmo/*@*: no study demmo (did you mean demo?)",
        ],
        strict=True,
    ):
        assert line.startswith(said), line


def test_a_schema_goes_into_a_folder_that_is_not_there(tmp_path: Path) -> None:
    catalogue.schema("tasks", out=tmp_path / "new/deep/tasks.json")
    assert json.loads((tmp_path / "new/deep/tasks.json").read_text())["title"] == "ticlm tasks"
    for out in (tmp_path, tmp_path / "new/deep/tasks.json/below.json"):
        with pytest.raises(InputError, match=f"--out {out}: cannot be written: "):
            catalogue.schema("tasks", out=out)


def test_again_has_no_tasks_of_its_own() -> None:
    with pytest.raises(InputError, match="leave out --tasks"):
        evaluation.evaluate(["demo"], tasks="core", again="oracle@202301")
