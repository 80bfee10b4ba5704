"""Models that a plan counts without their files: of known names on the hub, and of other studies."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from rich.console import Console

from ticlm.core import hub
from ticlm.methods.objectives import Causal, Seq2Seq
from ticlm.platform.cli import plan_view
from ticlm.platform.models import build
from ticlm.platform.models.presets import ON_HUB, known_on_hub
from ticlm.platform.models.settings import FolderModel
from ticlm.platform.study.plan import make
from ticlm.platform.study.settings import load
from ticlm.platform.study.written import models

PUBLISHED = {
    "google/t5-large-ssm": 737_668_096,
    "google-t5/t5-small": 60_506_624,
    "google-t5/t5-base": 222_903_552,
    "google-t5/t5-large": 737_668_096,
    "openai-community/gpt2": 124_439_808,
    "openai-community/gpt2-medium": 354_823_168,
    "openai-community/gpt2-large": 774_030_080,
    "openai-community/gpt2-xl": 1_557_611_200,
}
"""Their parameters, tied embeddings once."""


def folder(path: str) -> FolderModel:
    return FolderModel(path=path, as_of="outside")


def test_the_known_architectures_have_the_published_numbers_of_parameters() -> None:
    assert PUBLISHED.keys() == ON_HUB.keys()
    for name, parameters in PUBLISHED.items():
        found = known_on_hub(folder(name))
        assert found is not None and found[1] == name
        objective = Seq2Seq(pad=0) if "t5" in name else Causal()
        assert build.count_parameters(build.config(found[0], 1), objective) == parameters


@pytest.mark.parametrize(
    ("path", "whose"),
    [
        ("hf://google/t5-large-ssm", "google/t5-large-ssm"),
        ("openai-community/gpt2-large@0123abc", "openai-community/gpt2-large"),
        ("models/temporalwiki-initial", "openai-community/gpt2-large, which temporalwiki-initial starts from"),
        ("google/t5-large-ssm:part", None),  # a folder within it may hold another model
        ("google/t5-large-lm-adapt", None),  # T5 v1.1
        ("models/nobody", None),
        ("/data/gpt2-large", None),
    ],
)
def test_a_name_is_known_as_a_repository_or_as_the_model_of_a_study(path: str, whose: str | None) -> None:
    found = models.known(folder(path))
    assert (None if found is None else found[1]) == whose


def test_a_folder_of_the_name_is_no_model_of_the_hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "openai-community/gpt2").mkdir(parents=True)
    monkeypatch.chdir(tmp_path)
    assert models.known(folder("openai-community/gpt2")) is None


@pytest.mark.parametrize(
    ("study", "model", "rate"),
    [
        (
            "ckl",
            "737,668,096 parameters, 32,128 tokens: the known architecture of google/t5-large-ssm, not",
            "67 TFLOP/s",
        ),
        ("temporalwiki", "774,030,080 parameters, 50,257 tokens: the known architecture of openai-c", "989 TFLOP/s"),
    ],
)
def test_a_plan_of_a_paper_is_priced_before_anything_is_fetched(
    study: str, model: str, rate: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """CKL trains in float32, as its code does; what its LoRA trains is counted too."""

    def fetched(*_: object) -> None:
        raise AssertionError("a plan without a corpus fetches nothing")

    monkeypatch.setattr(hub, "fetched", fetched)
    console = Console(file=io.StringIO(), width=300)
    plan = make(load(study), None)
    console.print(plan_view.view(plan))
    text = console.file.getvalue()  # type: ignore[attr-defined]
    assert f"model: {model}" in text and f"at 35 % of the {rate} of one H100" in text
    assert "GPU-hours" in text and "disk: " in text and "sized with the corpus" not in text
    assert next(one for one in plan.adapted if "lora" in one.method).trained == {"ckl": 403_908_096}.get(study, 737_280)
    assert plan_view.describe(plan)["cost"]["known_architecture"] == models.known(plan.study.model)[1]  # type: ignore[index]
