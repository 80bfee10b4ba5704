"""Odd values for `ticlm generate` and `eval`: one line, before anything is loaded."""

from __future__ import annotations

import json
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


def test_a_schema_goes_into_a_folder_that_is_not_there(tmp_path: Path) -> None:
    catalogue.schema("tasks", out=tmp_path / "new/deep/tasks.json")
    assert json.loads((tmp_path / "new/deep/tasks.json").read_text())["title"] == "ticlm tasks"
    for out in (tmp_path, tmp_path / "new/deep/tasks.json/below.json"):
        with pytest.raises(InputError, match=f"--out {out}: cannot be written: "):
            catalogue.schema("tasks", out=out)


def test_again_has_no_tasks_of_its_own() -> None:
    with pytest.raises(InputError, match="leave out --tasks"):
        evaluation.evaluate("demo", tasks="core", again="oracle@202301")
