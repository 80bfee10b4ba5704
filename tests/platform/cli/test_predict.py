"""`ticlm predict` and `ticlm plan` on a study that was run: what is predicted, what is left out, and why."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import finished
import pytest
import yaml
from toys import build_toy_corpus, make_toy_study

from ticlm.core.errors import InputError
from ticlm.core.settings import parse
from ticlm.platform.cli.forecast import predict
from ticlm.platform.cli.study import plan
from ticlm.platform.study.settings import Study

SHORT = {"periods": {"initial": "202301", "step": "month", "last": "202303"}, "evaluate": {}}
CONSTANT = {"kind": "constant", "max_rate": 5e-3, "warmup_steps": 1}
FITTED: list[dict[str, Any]] = [
    *(
        {"base": "cyclic-cosine", "name": f"c{n}", "schedule": {"max_rate": n * 1e-3, "warmup_steps": 1}}
        for n in (1, 9)
    ),
    *({"base": "replay-half", "name": f"r{n}", "schedule": {"max_rate": n * 1e-3, "warmup_steps": 1}} for n in (1, 9)),
    {"base": "cyclic-cosine", "name": "constant", "schedule": CONSTANT},
]
BESIDE = [
    {"base": "cyclic-cosine", "name": "decayed", "schedule": CONSTANT, "optimizer": {"weight_decay": 0.5}},
    {"base": "cyclic-cosine", "name": "ema", "schedule": CONSTANT, "deploy": {"kind": "ema"}},
]
OTHERS = [
    {"base": "cyclic-cosine", "name": "new", "schedule": {"max_rate": 4e-3, "warmup_steps": 1}},
    {"base": "cyclic-cosine", "name": "leaf", "schedule": CONSTANT, "deploy": {"kind": "leaf", "share": 0.5}},
    {"base": "cyclic-cosine", "name": "pulled", "schedule": CONSTANT, "optimizer": {"kind": "recadam"}},
    {"base": "cyclic-cosine", "name": "meta", "schedule": CONSTANT, "optimizer": {"kind": "mer"}},
    {"base": "cyclic-cosine", "name": "wrote", "schedule": CONSTANT, "replay": {"kind": "self"}},
]
Write = Callable[..., str]


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A root in which seven methods are trained and scored."""
    found = tmp_path_factory.mktemp("predict") / "root"
    build_toy_corpus(found / "corpora/toy@1", periods=("202301", "202302", "202303"), rows=64, held_out=8)
    finished.run(make_toy_study(**SHORT, methods=FITTED + BESIDE), found)
    return found


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """`write(name, **changes)` writes a study to a file, and gives its name."""

    def written(name: str, **changes: Any) -> str:
        study: Study = parse(Study, make_toy_study(**SHORT | changes).model_dump() | {"name": name}, "test")
        file = tmp_path / f"{name}.yaml"
        file.write_text(yaml.safe_dump(json.loads(study.model_dump_json())))
        return str(file)

    return written


def test_averages_are_predicted_and_what_cannot_be_told_apart_is_left_out(
    root: Path, write: Write, capsys: pytest.CaptureFixture[str]
) -> None:
    predict([write("done", methods=FITTED + BESIDE)], str(root), as_json=True)
    (found,) = json.loads(capsys.readouterr().out, parse_constant=pytest.fail)
    assert found["left_out"] == {"decayed": "to the law the same as another method"}
    law, _, mean = found["errors"]
    assert [row["method"] for row in law["methods"]] == [method["name"] for method in (*FITTED, BESIDE[1])]
    assert law["rank_correlation"] is not None and mean["rank_correlation"] is None
    assert all(row["predicted"]["in_distribution"] > 0 for row in law["methods"])


def test_a_plan_predicts_what_is_not_finished_and_says_what_it_cannot(
    root: Path, write: Write, capsys: pytest.CaptureFixture[str]
) -> None:
    plan(write("more", methods=FITTED + BESIDE + OTHERS), str(root), as_json=True)
    own = json.loads(capsys.readouterr().out)["predicted"]
    assert list(own["methods"]) == ["new", "leaf"] and own["finished"] == 6
    assert own["unknown"] == {
        name: f"the law does not know its {what}"
        for name, what in (
            ("pulled", "RecAdam"),
            ("meta", "MER"),
            ("wrote", "rows sampled from checkpoints, or chosen"),
        )
    }
    done = write("done", methods=FITTED + BESIDE)
    plan(write("new", methods=OTHERS[:2]), str(root), predict_from=[done], as_json=True)
    there = json.loads(capsys.readouterr().out)["predicted"]
    assert there["methods"] == own["methods"] and there["from"] == ["done"]


def test_studies_that_say_nothing_about_each_other_are_refused(root: Path, write: Write) -> None:
    done, other = write("done", methods=FITTED), write("other", methods=FITTED, corpus="toy2")
    with pytest.raises(InputError, match=r"^predict other: its corpus is toy2@1"):
        predict([done, other], str(root))
    with pytest.raises(InputError, match=r"^--predict-from other: its corpus is toy2@1"):
        plan(done, str(root), predict_from=[other])
