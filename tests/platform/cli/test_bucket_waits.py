"""Commands on a bucket whose study is finished: how often they wait for an answer, one request after another."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from pathlib import Path

import fsspec
import pytest
import yaml
from faulty import faulty
from finished_roots import finished_study, write_finished_root

from ticlm.platform.cli import evaluation
from ticlm.platform.cli.study import plan, run

METHODS, PERIODS = 50, 5
ROUNDS = 1 + METHODS * (PERIODS - 1)
MOST = 0.2
"""Waits for each round. Before, a plan waited 5.1 times a round, and a run with nothing to do 8.1 times."""
QUIET_S, LOOK_S = 0.05, 0.01


def evaluate(study: str, root: str) -> None:
    evaluation.evaluate([study], root=root)


class Waits:
    """Holds requests until this process does nothing but wait for them, then lets all of them pass, and counts how
    often: a server that is far away, on a machine of any speed."""

    def __init__(self) -> None:
        self.count, self._held, self._quiet_since, self._let = 0, 0, 0.0, threading.Condition()

    def fate(self, method: str, path: str) -> str:
        with self._let:
            mine, self._held, self._quiet_since = self.count, self._held + 1, time.monotonic()
            if self._held > 1:
                self._let.wait_for(lambda: self.count != mine)
                return ""
            while time.monotonic() - self._quiet_since < QUIET_S:
                self._look()
            self.count, self._held = self.count + 1, 0
            self._let.notify_all()
        return ""

    def _look(self) -> None:
        """Look for a moment whether this process works, or cannot as others have the cores: then it is not waiting."""
        asked, used = time.monotonic(), time.process_time()
        self._let.wait(LOOK_S)
        if time.process_time() - used > LOOK_S / 5 or time.monotonic() - asked > 2 * LOOK_S:
            self._quiet_since = time.monotonic()


@pytest.fixture
def waits(s3_bucket: str, s3_environment: int, monkeypatch: pytest.MonkeyPatch) -> Iterator[Waits]:
    from s3fs import S3FileSystem

    with faulty(s3_environment) as faults:
        S3FileSystem.clear_instance_cache()
        monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://127.0.0.1:{faults.port}")
        found = Waits()
        faults.fate = found.fate
        yield found
        S3FileSystem.clear_instance_cache()


@pytest.mark.slow
def test_a_finished_study_waits_for_its_bucket_a_fifth_as_often_as_it_has_rounds(
    s3_bucket: str, s3_environment: int, waits: Waits, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    settings = finished_study(METHODS, PERIODS)
    assert write_finished_root(tmp_path / "root", settings) == (ROUNDS, ROUNDS * PERIODS)
    study, root = tmp_path / "study.yaml", f"{s3_bucket}/root"
    study.write_text(yaml.safe_dump(settings))
    near = fsspec.filesystem("s3", endpoint_url=f"http://127.0.0.1:{s3_environment}")
    near.put(str(tmp_path / "root"), root, recursive=True)
    shown, counts = [], []
    for command in (plan, evaluate, plan, evaluate, run):  # the first evaluation scores nothing, and writes the index
        waits.count = 0
        command(str(study), root=root)
        shown.append(capsys.readouterr().out)
        counts.append(waits.count)
    assert f"cells: {ROUNDS * PERIODS:,}, 0 to score" in shown[0] and shown[0] == shown[2]
    assert len(near.glob(f"{root}/cells/index-*.parquet")) == 1
    assert max(counts[0], *counts[2:]) <= MOST * ROUNDS, counts
