"""`ticlm chaos`: a real run on a real cluster, with real kills, ends as an undisturbed one."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ticlm.platform.study.settings import Study


def chaos(study: dict[str, Any], root: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    file = root.parent / "toy.yaml"
    file.write_text(json.dumps(study))  # JSON is YAML
    command = [sys.executable, "-m", "ticlm.platform", "chaos", str(file), "--root", str(root), "--json", *arguments]
    environment = os.environ | {"OMP_NUM_THREADS": "1"}
    return subprocess.run(command, capture_output=True, text=True, env=environment, timeout=1100, check=False)


@pytest.mark.timeout(1200)  # its command has 1,100 s
@pytest.mark.nightly
def test_a_run_under_faults_loses_and_doubles_no_row(toy_root: Path, toy_study: Callable[..., Study]) -> None:
    study = toy_study(
        methods=[{"base": "cyclic-cosine", "schedule": {"max_rate": 3e-4, "warmup_steps": 2}}],
        periods={"initial": "202301", "last": "202303"},
        initial={"budget": {"steps": 1000}, "schedule": {"kind": "cosine", "max_rate": 3e-4, "warmup_steps": 2}},
        resources={"workers": [1, 2], "device": "cpu", "chains": 1, "cadence": {"steps": 200}},
    ).model_dump(mode="json")
    study["model"]["changes"] = json.loads(study["model"]["changes"])
    done = chaos(study, toy_root, "--kills", "3", "--mtbf", "12", "--kinds", "worker,driver,storage")
    outcome = json.loads(done.stdout)
    assert done.returncode == 0, done.stderr
    assert outcome["faults"], "the run was over before the faults came"
    assert outcome["rows"]["doubled"] == outcome["rows"]["lost"] == 0
    assert outcome["weights"]["rounds"] == 3 and outcome["weights"]["missing"] == outcome["cells"]["missing"] == 0
    assert outcome["weights"]["same"] == 3 and outcome["cells"]["largest"] == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--kinds", "worker,moon"], "--kinds worker,moon: choose among worker, node, driver, storage"),
        (["--root", "memory://root"], "root memory://root: chaos moves its root away and back"),
    ],
)
def test_what_cannot_be_done_is_refused_in_one_line(
    arguments: list[str], message: str, toy_root: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from ticlm.platform.cli import main

    with pytest.MonkeyPatch.context() as patch, pytest.raises(SystemExit) as ended:
        patch.setattr(sys, "argv", ["ticlm", "chaos", "demo", "--root", str(toy_root), *arguments])
        main.main()
    assert ended.value.code == 2
    assert capsys.readouterr().err.startswith(f"ticlm: {message}")
