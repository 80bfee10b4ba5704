"""A model that a packaged study trains is named exactly, and a plan puts in the folder that the root has of it."""

from __future__ import annotations

from pathlib import Path

import pytest

from ticlm.platform.models import build
from ticlm.platform.models.settings import FolderModel
from ticlm.platform.study import plan
from ticlm.platform.study.settings import load
from ticlm.platform.study.written import models

INITIAL = "evolvingqa-synthetic-initial"


@pytest.mark.parametrize(
    ("path", "found"),
    [
        (f"models/{INITIAL}", INITIAL),
        (f"models/{INITIAL}/", INITIAL),
        (f"/data/{INITIAL}", None),
        (f"models/old/{INITIAL}", None),
        (INITIAL, None),
        ("models/none", None),
    ],
)
def test_only_models_and_the_name_of_a_study_is_its_model(path: str, found: str | None) -> None:
    assert models.study_of(FolderModel(kind="folder", path=path, as_of="outside")) == found


def test_a_plan_starts_from_the_model_that_the_root_has(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    study = load("evolvingqa-synthetic")
    assert plan.make(study, str(tmp_path)).study == study  # it is not trained yet
    monkeypatch.setattr(models, "trained", lambda *_: f"{tmp_path}/rounds/1/model")
    config = build.config(load("ckl-world").model, 1024)  # a plan counts its weights
    config.save_pretrained(tmp_path / "rounds/1/model")
    model = plan.make(study, str(tmp_path)).study.model
    assert isinstance(model, FolderModel) and model.path == f"{tmp_path}/rounds/1/model"
