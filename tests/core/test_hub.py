"""Models by their names on a hub, which is served here: revisions, subfolders, caches, and what can go wrong."""

from __future__ import annotations

import json
import threading
import warnings
from collections.abc import Iterator
from pathlib import Path

import pytest
from hubserver import HubServer, Repository, forget, hub, use
from ports import free_ports

from ticlm.core import hub as hubs
from ticlm.core.errors import InputError, TiclmWarning

CONFIG = {"config.json": b'{"model_type": "llama"}'}
WEIGHTS = {"model.safetensors": b"w" * 1000}
TOKENIZER = {"tokenizer.json": b"{}", "tokenizer_config.json": b"{}"}
MODEL = CONFIG | WEIGHTS | TOKENIZER
NAME = "lab/model"


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[HubServer]:
    with hub() as found:
        use(found, tmp_path / "cache", monkeypatch)
        yield found


@pytest.fixture
def model(server: HubServer) -> Repository:
    found = server.repository(NAME)
    found.push(MODEL | {"README.md": b"#", "pytorch_model.bin": b"p", "onnx/model.onnx": b"o"})
    return found


def names(folder: Path) -> list[str]:
    return sorted(file.name for file in folder.iterdir())


def refused(text: str) -> str:
    with pytest.raises(InputError) as caught:
        hubs.fetched(text)
    assert "\n" not in str(caught.value) and str(caught.value).startswith(f"{text}: ")
    return str(caught.value)


def offline(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    forget()


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("a/b", ("a/b", "", "")),
        ("a/b.c-d@v1", ("a/b.c-d", "v1", "")),
        ("a/b@refs/pr/3:x/y", ("a/b", "refs/pr/3", "x/y")),
        ("a/b:x", ("a/b", "", "x")),
        *(
            (text, None)
            for text in (
                "a",
                "a/b/c",
                "/a/b",
                "./a",
                "../a",
                "s3://a/b",
                "a/b:../c",
                "a/b:/c",
                "a/b@",
                "models/demo",
                "",
            )
        ),
    ],
)
def test_names_are_told_from_paths(text: str, parts: tuple[str, str, str] | None) -> None:
    found = hubs.parse(text)
    assert (None if found is None else (found.repository, found.revision, found.subfolder)) == parts
    assert found is None or str(found) == text


def test_a_name_becomes_a_folder_of_what_a_model_needs_with_its_commit(server: HubServer, model: Repository) -> None:
    found = hubs.fetched(NAME)
    assert str(found.name) == f"{NAME}@{model.refs['main']}" == hubs.shown(str(found.folder))
    assert {file.name: file.read_bytes() for file in found.folder.iterdir()} == MODEL


def test_the_second_call_for_a_commit_asks_nothing(server: HubServer, model: Repository) -> None:
    text = f"{NAME}@{model.refs['main']}"
    first = hubs.fetched(text)
    asked, sent = len(server.requests), server.sent
    forget()
    assert hubs.fetched(text) == first and hubs.place(text) == str(first.folder)
    assert (len(server.requests), server.sent) == (asked, sent) and sent > 1000


def test_a_branch_is_asked_for_once_in_a_process_and_no_file_is_read_twice(
    server: HubServer, model: Repository
) -> None:
    first = hubs.fetched(NAME)
    asked = len(server.requests)
    assert hubs.fetched(NAME) == first and len(server.requests) == asked
    forget()
    assert hubs.fetched(NAME) == first and server.requests[asked:] == [f"GET /api/models/{NAME}"]


def test_a_revision_that_moved_is_another_commit_and_is_said(server: HubServer, model: Repository) -> None:
    before = hubs.fetched(f"{NAME}@main")
    after = model.push(MODEL | {"model.safetensors": b"other"})
    forget()
    with pytest.warns(TiclmWarning, match=f"{NAME}@main has moved .* to {after[:12]}"):
        found = hubs.fetched(f"{NAME}@main")
    assert found.name.revision == after != before.name.revision
    assert (found.folder / "model.safetensors").read_bytes() == b"other"
    assert hubs.fetched(str(before.name)) == before


def test_errors_call_a_model_by_its_name_and_not_by_a_place_in_a_cache(server: HubServer, model: Repository) -> None:
    below = {f"year/2024/{name}": data for name, data in MODEL.items()}
    commit = model.push(below)
    folder = hubs.place(f"{NAME}:year/2024")
    assert hubs.shown(folder) == f"{NAME}@{commit}:year/2024"
    assert str(InputError(f"{folder}/config.json: no object")) == f"{NAME}@{commit}:year/2024/config.json: no object"
    assert str(InputError(f"the window of {folder}, 4")) == f"the window of {NAME}@{commit}:year/2024, 4"


def test_tags_and_requests_are_revisions(server: HubServer, model: Repository) -> None:
    commit = model.push(MODEL | {"model.safetensors": b"request"}, "refs/pr/7", "step1-tokens2B")
    assert {hubs.fetched(f"{NAME}@{one}").name.revision for one in ("refs/pr/7", "step1-tokens2B")} == {commit}


def test_a_subfolder_without_a_tokenizer_has_that_of_the_root(server: HubServer, model: Repository) -> None:
    below = {f"year/2024/{name}": data for name, data in (CONFIG | {"model.safetensors": b"2024"}).items()}
    model.push(MODEL | below)
    found = hubs.fetched(f"{NAME}:year/2024")
    assert names(found.folder) == sorted(MODEL) and (found.folder / "model.safetensors").read_bytes() == b"2024"
    own = {f"own/{name}": data for name, data in (MODEL | {"tokenizer.json": b'{"own": 1}'}).items()}
    model.push(MODEL | own, "own")
    assert (hubs.fetched(f"{NAME}@own:own").folder / "tokenizer.json").read_bytes() == b'{"own": 1}'


def test_a_tokenizer_comes_without_weights(server: HubServer, model: Repository) -> None:
    assert names(hubs.fetched(NAME, "tokenizer").folder) == sorted(CONFIG | TOKENIZER)
    assert server.sent < 1000


def test_offline_takes_what_the_cache_has(
    server: HubServer, model: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    from huggingface_hub import snapshot_download

    snapshot_download(NAME)  # by another program, which takes all files
    asked = len(server.requests)
    offline(monkeypatch)
    assert names(hubs.fetched(NAME).folder) == sorted(MODEL)
    assert "not whole in " in refused("lab/other") and "HF_HUB_OFFLINE" in refused(f"{NAME}@other")
    assert len(server.requests) == asked


def test_offline_half_a_model_is_none(server: HubServer, model: Repository, monkeypatch: pytest.MonkeyPatch) -> None:
    hubs.fetched(NAME, "tokenizer")
    offline(monkeypatch)
    assert "not whole in " in refused(NAME)


def test_files_that_were_removed_from_the_cache_come_again(server: HubServer, model: Repository) -> None:
    found = hubs.fetched(NAME)
    (found.folder / "model.safetensors").resolve().unlink()
    hubs._link(found.folder, {})  # and a folder that was stopped half-way
    (found.folder / "gone").symlink_to(found.folder / "nowhere")
    (Path(hubs._cached(found.name)) / "snapshots" / found.name.revision / "model.safetensors").unlink()
    assert {file.name: file.read_bytes() for file in hubs.fetched(NAME).folder.iterdir()} == MODEL


def test_a_hub_that_cannot_be_reached_is_said_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with hub() as server:
        use(server, tmp_path, monkeypatch)
        server.repository(NAME).push(MODEL)
        before = hubs.fetched(NAME)
    monkeypatch.setattr("huggingface_hub.constants.ENDPOINT", f"http://127.0.0.1:{free_ports(1)[0]}")
    forget()
    line = refused("lab/unknown")
    assert "cannot be reached (" in line and "HF_ENDPOINT" in line
    with pytest.warns(TiclmWarning, match=f"taken is commit {before.name.revision[:12]}"):
        assert hubs.fetched(NAME) == before


@pytest.mark.parametrize("from_request", [0, 1])
def test_a_hub_that_does_not_answer_is_not_waited_for(
    server: HubServer, model: Repository, from_request: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hubs, "PATIENCE_S", 0.3)
    if from_request:
        hubs._resolved(hubs.HubName(NAME))  # the commit is told, and no file is given
    server.delay_s = 1
    assert "cannot be reached (no answer in 0.3 s)" in refused(NAME)
    server.delay_s = 0
    for thread in threading.enumerate():  # left to itself, it may close connections that all threads share
        if thread.name == "answers":
            thread.join()


def test_what_a_hub_refuses_is_said_with_what_to_do(server: HubServer, model: Repository) -> None:
    assert f"no folder here, and {server.url} has no such repository" in refused("lab/nothing")
    assert refused(f"{NAME}@mian").endswith(f"no revision mian of {NAME} (did you mean main?)")
    assert "no revision 0" in refused(f"{NAME}@{'0' * 40}")
    assert "no folder year there; it has onnx" in refused(f"{NAME}:year")
    for status in (503, 429):
        server.status = status
        assert f"cannot be reached (it answers {status})" in refused("lab/other")


def test_links_need_a_place_that_can_be_written(
    server: HubServer, model: Repository, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setattr("huggingface_hub.constants.HF_ASSETS_CACHE", str(tmp_path / "file"))
    with pytest.raises(InputError, match="Not a directory; name a folder that you may write to by HF_ASSETS_CACHE"):
        hubs.fetched(NAME)


def test_a_gated_model_needs_a_token(server: HubServer, model: Repository, monkeypatch: pytest.MonkeyPatch) -> None:
    model.gated = True
    line = refused(NAME)
    assert f"gated; accept its terms at {server.url}/{NAME}" in line and "HF_TOKEN" in line
    monkeypatch.setenv("HF_TOKEN", server.token)
    assert names(hubs.fetched(NAME).folder) == sorted(MODEL)


@pytest.mark.parametrize(
    ("files", "said"),
    [
        (CONFIG | {"pytorch_model.bin": b""}, "only pytorch_model.bin, which may run code"),
        (CONFIG | {"model-00001-of-00002.safetensors": b""}, "1 of 2 files of weights are there"),
        (CONFIG | {"m.Q4.gguf": b""}, "weights in GGUF alone; download m.Q4.gguf"),
        (CONFIG, "no weights there"),
        (WEIGHTS, "no config.json there"),
    ],
)
def test_what_is_no_model_is_refused(server: HubServer, files: dict[str, bytes], said: str) -> None:
    server.repository(NAME).push(files)
    assert said in refused(NAME)
    assert not [one for one in server.requests if "/resolve/" in one]


def test_pickled_weights_are_refused_with_the_branch_that_has_others(server: HubServer) -> None:
    found = server.repository(NAME)
    found.push(CONFIG | {"pytorch_model.bin": b""})
    assert refused(NAME).endswith("save it as safetensors")
    found.push(MODEL, "refs/pr/2")
    assert refused(NAME).endswith(f"name {NAME}@refs/pr/2")
    assert names(hubs.fetched(NAME, "encoder").folder) == ["config.json", "pytorch_model.bin"]


def test_a_download_that_is_cut_goes_on_and_one_that_stays_cut_is_said(
    server: HubServer, model: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("huggingface_hub.file_download.time.sleep", lambda _: None)
    server.cut_at, server.cuts = 100, 1
    assert (hubs.fetched(NAME).folder / "model.safetensors").read_bytes() == WEIGHTS["model.safetensors"]
    model.push(MODEL | {"model.safetensors": b"v" * 2000})
    forget()
    server.cut_at, server.cuts = 0, 100
    with warnings.catch_warnings(action="ignore"):
        assert "model.safetensors broke off: " in refused(NAME)
    server.cuts = 0
    assert (hubs.fetched(NAME).folder / "model.safetensors").read_bytes() == b"v" * 2000


def test_code_is_fetched_and_trusted_at_a_commit_alone(server: HubServer) -> None:
    found = server.repository(NAME)
    config = {"config.json": json.dumps({"auto_map": {"AutoModel": "own.M"}}).encode()}
    commit = found.push(MODEL | config | {"own.py": b""})
    plain = hubs.fetched(f"{NAME}@{commit}")
    assert "own.py" not in names(plain.folder)
    with pytest.raises(InputError, match="give the commit whose code you have read"):
        hubs.trust("main")
    hubs.trust(commit)
    coded = hubs.fetched(NAME)
    assert "own.py" in names(coded.folder) and coded.name == plain.name
    assert hubs.trusted(coded.folder) and not hubs.trusted(plain.folder) and not hubs.trusted(Path("/"))
    moved = found.push(MODEL | config | {"own.py": b"#"}, "moved")
    assert f"it is at commit {moved}; read its code" in refused(f"{NAME}@moved")
    config = {"config.json": json.dumps({"auto_map": {"AutoModel": "other/place--own.M"}}).encode()}
    commit = found.push(MODEL | config, "elsewhere")
    hubs.trust(commit)
    assert "its code is that of another repository (other/place--own.M)" in refused(f"{NAME}@elsewhere")


def test_a_folder_of_the_same_name_comes_first(
    server: HubServer, model: Repository, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / NAME).mkdir(parents=True)
    assert hubs.place(NAME) == NAME == hubs.pinned(NAME) and server.requests == []
