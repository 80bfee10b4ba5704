"""`ticlm status`: who writes, how far, what failed, what is left; on roots that are empty, wrong, or being written."""

from __future__ import annotations

import http.server
import io
import json
import shutil
import socket
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from finished_roots import finished_study, write_finished_root
from toys import TOY_STUDY

from ticlm.core import paths
from ticlm.core.errors import InputError, Stopped, TiclmWarning
from ticlm.core.lease import lease, writer
from ticlm.core.settings import parse
from ticlm.core.store import Store
from ticlm.platform.cli.progress import ray_jobs
from ticlm.platform.cli.progress.root_status import root_status
from ticlm.platform.cli.progress.status import status
from ticlm.platform.results.begun import note_begun
from ticlm.platform.results.setup import StudyRequest
from ticlm.platform.run import driver, failures
from ticlm.platform.study import plan
from ticlm.platform.study import settings as studies
from ticlm.platform.study.settings import Study


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a study's file and a root on which the study was run to its end."""
    folder = tmp_path_factory.mktemp("status")
    settings = finished_study(2, 4, 2)
    (folder / "scale.yaml").write_text(json.dumps(settings))  # JSON is YAML
    write_finished_root(folder / "root", settings)
    study, request = studies.load(f"{folder}/scale.yaml"), StudyRequest(f"{folder}/scale.yaml")
    note_begun(Store(folder / "root"), study, request)
    return folder


@pytest.fixture
def root(template: Path, tmp_path: Path) -> Path:
    shutil.copytree(template / "root", tmp_path / "root")
    return tmp_path / "root"


def made(root: Path, template: Path) -> plan.Plan:
    return plan.make(studies.load(f"{template}/scale.yaml"), str(root))


def lose_the_last_round(root: Path, template: Path) -> str:
    """Remove a round of the last chain; return its id."""
    whole = made(root, template)
    lost = whole.ids[whole.chains[-1].keys[-1]]
    shutil.rmtree(root / paths.round_folder(lost))
    return lost


def told(capsys: pytest.CaptureFixture[str], root: Path | str, *named: str) -> list[str]:
    status(list(named), str(root))
    return capsys.readouterr().out.splitlines()


def test_a_root_without_a_study_is_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "empty").mkdir()
    assert told(capsys, tmp_path / "empty") == [f"root {tmp_path}/empty: nothing runs; no study was run here yet"]


def test_no_root_and_a_folder_of_something_else_are_refused_in_a_line(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"root .*/nowhere: there is nothing"):
        root_status(f"{tmp_path}/nowhere")
    (tmp_path / "notes.txt").write_text("")
    with pytest.raises(InputError, match="is no root: it holds none of corpora, examples, rounds"):
        root_status(str(tmp_path))


def test_a_finished_study_is_done(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _, line = told(capsys, root)
    assert line == "scale: done: 8 of 8 rounds, 32 of 32 cells"


def test_a_run_that_goes_on_says_who_how_far_and_how_long(
    root: Path, template: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lose_the_last_round(root, template)
    with lease(Store(root), "run scale"):
        first, line = told(capsys, root)
        assert "run scale (process" in first and " runs; heard of 0 s ago" in first
        status(root=str(root), as_json=True)
    assert line.startswith("scale: 7 of 8 rounds, 28 of 32 cells; ") and " tokens are left to train, at " in line
    found = json.loads(capsys.readouterr().out)
    (study,) = found["studies"]
    assert found["writer"]["state"] == "lives" and study["running"] and study["rounds_done"] == 7
    assert study["seconds_left"] == pytest.approx(study["tokens_left"] / study["tokens_per_s"])
    first, _ = told(capsys, root)
    assert "nothing runs; the last was run scale (process" in first


def test_who_was_killed_and_who_is_silent_are_told_apart(root: Path, forks: Callable[..., Any]) -> None:
    def killed() -> None:
        import os
        import signal

        with lease(Store(root), "run scale"):
            os.kill(os.getpid(), signal.SIGKILL)

    forks(killed)
    held = writer(Store(root))
    assert held is not None and held.state == "ended"
    (file,) = (root / "leases").iterdir()
    elsewhere = json.loads(file.read_text()) | {"token": "0" * 32, "beat": 0.0}
    file.write_text(json.dumps(elsewhere))
    held = writer(Store(root))
    assert held is not None and held.state == "silent"


def test_a_damaged_file_of_a_study_is_a_line_and_the_others_are_told(
    root: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (root / paths.BEGUN / "bad-12345678.json").write_text("{")
    with pytest.warns(TiclmWarning, match=r"bad-12345678.json is damaged; remove it"):
        assert told(capsys, root)[1:] == ["scale: done: 8 of 8 rounds, 32 of 32 cells"]


def test_a_study_that_was_not_run_here_is_told_when_it_is_named(
    root: Path, template: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    other = json.loads((template / "scale.yaml").read_text()) | {"name": "other", "corpus": "nowhere"}
    (tmp_path / "other.yaml").write_text(json.dumps(other))
    _, line = told(capsys, root, f"{tmp_path}/other.yaml")
    assert line == "other: 0 of 8 rounds; its corpus is not there yet"


def test_a_study_that_only_trains_is_told_by_its_rounds(
    root: Path, template: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    trained = json.loads((template / "scale.yaml").read_text()) | {"name": "model", "evaluations": []}
    (tmp_path / "model.yaml").write_text(json.dumps(trained))
    assert told(capsys, root, f"{tmp_path}/model.yaml")[1] == "model: done: 8 of 8 rounds"


def test_a_root_of_before_tells_of_packaged_studies_by_their_pages(
    toy_root: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (toy_root / "reports/demo+mine-12345678").mkdir(parents=True)
    _, line = told(capsys, toy_root)
    assert line.startswith("demo: 0 of ") and line.endswith("its corpus is not there yet")


def test_a_failed_chain_is_told_with_its_last_line_until_it_is_done(
    root: Path, template: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lose_the_last_round(root, template)
    whole = made(root, template)
    failures.keep_chain(whole, whole.chains[-1], RuntimeError("the loss is\nno number"))
    lines = told(capsys, root)
    assert lines[-1].startswith("  failed at 20") and lines[-1].endswith(": oracle: 201004: the loss is no number")
    failures.clear_chain(whole, whole.chains[-1])
    assert len(told(capsys, root)) == 2 and not Store(root).files(paths.FAILURES)


def test_a_run_that_was_stopped_did_not_fail(root: Path, template: Path) -> None:
    lose_the_last_round(root, template)
    whole = made(root, template)
    failures.keep_chain(whole, whole.chains[-1], Stopped())
    assert not failures.kept_failures(Store(root))


def test_a_run_keeps_what_ended_a_chain_and_forgets_it_once_the_chain_is_done(toy_root: Path) -> None:
    """A shard that is gone ends the chain; when it is back, the same run goes on."""
    settings = TOY_STUDY | {"periods": {"initial": "202301", "last": "202302"}, "methods": TOY_STUDY["methods"][:1]}
    study, store = parse(Study, settings, "study"), Store(toy_root)
    (shard,) = (toy_root / "corpora/toy@1/periods/202302").glob("*/train/*.parquet")
    shard.rename(toy_root / "aside")
    with pytest.raises(InputError, match="shard"):
        driver.run(plan.make(study, store))
    (failure,) = failures.kept_failures(store)
    assert failure.work == "cyclic-cosine: 202301 … 202302" and "shard" in failure.line and failure.study == "toy"
    (toy_root / "aside").rename(shard)
    driver.run(plan.make(study, store))
    assert failures.kept_failures(store) == []


@pytest.fixture
def dashboard() -> Iterator[str]:
    """A dashboard with three jobs, of which two are on the root s3://bucket/ticlm."""
    ours = {"study": "demo", "command": "run", "root": "s3://bucket/ticlm"}
    jobs = [
        {"submission_id": "demo-1", "status": "FAILED", "message": "why\nno GPU\n", "metadata": ours, "start_time": 1},
        {"submission_id": "demo-2", "status": "RUNNING", "message": "runs", "metadata": ours, "start_time": 2},
        {"submission_id": "x", "status": "RUNNING", "message": "", "metadata": {"root": "/other"}, "start_time": 3},
        {"submission_id": None, "status": "SUCCEEDED", "message": "", "metadata": None, "start_time": 4},
    ]

    class Answer(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200 if self.path == "/api/jobs/" else 404)
            self.end_headers()
            self.wfile.write(json.dumps(jobs).encode())

        def log_message(self, *_: Any) -> None: ...

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Answer)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


def test_jobs_of_a_cluster_are_those_on_this_root_the_newest_first(dashboard: str) -> None:
    second, first = ray_jobs.submitted_jobs(dashboard, "s3://bucket/ticlm")
    assert (first.id, first.state, first.message) == ("demo-1", "failed", "no GPU")
    assert (second.id, second.state, second.message) == ("demo-2", "running", "")


@pytest.mark.parametrize("answer", ['[{"status": 3}, 4]', '{"a": 1}', '[{"metadata": {"root": "r"}}]', "<html>", "3"])
def test_an_answer_that_is_no_list_of_jobs_is_a_value_error(monkeypatch: pytest.MonkeyPatch, answer: str) -> None:
    monkeypatch.setattr("urllib.request.urlopen", lambda *_, **__: io.BytesIO(answer.encode()))
    with pytest.raises(ValueError, match=r"\S"):
        ray_jobs.submitted_jobs("http://127.0.0.1", "r")


def test_an_address_without_a_number_as_its_port_is_a_value_error() -> None:
    with pytest.raises(ValueError, match=r"no answer of a Ray dashboard .*port"):
        ray_jobs.submitted_jobs("http://127.0.0.1:port/", "r")


def test_a_dashboard_that_does_not_answer_is_one_line(
    root: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        monkeypatch.setenv("RAY_ADDRESS", f"http://127.0.0.1:{free.getsockname()[1]}")
        assert told(capsys, root)[-1].startswith("jobs: http://127.0.0.1")
    monkeypatch.setenv("RAY_ADDRESS", "127.0.0.1:6379")
    assert len(told(capsys, root)) == 2


def test_a_bucket_is_a_root_too(template: Path, s3_bucket: str, capsys: pytest.CaptureFixture[str]) -> None:
    Store(f"{s3_bucket}/root").upload(template / "root", "")
    assert told(capsys, f"{s3_bucket}/root")[-1] == "scale: done: 8 of 8 rounds, 32 of 32 cells"
