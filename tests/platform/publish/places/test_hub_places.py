"""Vintages on a hub: what its users read, what rivals do, and what a hub says no to."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hubserver import HubServer, files_in
from hubwriting import ATTRIBUTES, Cut, Moment, Writing, WritingHandler, arm, writable
from ports import free_ports
from vintages import made, main_of, publish, vintage

from ticlm.core import hub as hubs
from ticlm.core.errors import InputError, TiclmError
from ticlm.platform.publish.places import hub_repository, place
from ticlm.platform.publish.places.opened import place_of
from ticlm.platform.publish.places.place import Layout

NAME = "lab/world"
MONTHS = ("202401", "202402", "202403")
BRANCHES = {"main", *MONTHS}


@pytest.fixture
def served(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[HubServer, Writing]]:
    with writable(tmp_path / "cache", monkeypatch) as found:
        yield found


@pytest.fixture
def server(served: tuple[HubServer, Writing]) -> HubServer:
    return served[0]


@pytest.fixture
def writing(served: tuple[HubServer, Writing]) -> Writing:
    return served[1]


def refused(work: Callable[[], Any], kind: type[TiclmError] = InputError) -> str:
    with pytest.raises(kind) as caught:
        work()
    assert "\n" not in str(caught.value) and str(caught.value).startswith(NAME)
    return str(caught.value)


def test_branches_have_one_commit_each_and_main_has_the_newest(
    server: HubServer, writing: Writing, tmp_path: Path
) -> None:
    made(tmp_path, MONTHS)
    sent = publish(place_of(NAME), tmp_path, MONTHS)
    assert sent == writing.received
    found = server.repository(NAME)
    assert found.refs.keys() == BRANCHES
    for label in MONTHS:
        assert found.commits[found.refs[label]] == files_in(tmp_path / label) | ATTRIBUTES
        assert [message for _, branch, message in writing.commits if branch == f"publishing-{label}"] == [
            f"Vintage {label}"
        ]
    assert found.commits[found.refs["main"]] == files_in(tmp_path / "main-202403") | ATTRIBUTES
    assert len(writing.commits) == 2 * len(MONTHS)
    # The tokenizer is that of main, and weights are sent once though two commits have them.
    assert sum(request.startswith("PUT /objects/") for request in server.requests) == len(MONTHS)


def test_an_older_vintage_that_comes_later_leaves_main_alone(server: HubServer, tmp_path: Path) -> None:
    made(tmp_path, MONTHS)
    publish(place_of(NAME), tmp_path, MONTHS)
    main = server.repository(NAME).refs["main"]
    place_of(NAME).put("202312", vintage(tmp_path, "202312"), "An older one")
    found = server.repository(NAME)
    assert found.refs["main"] == main and found.refs.keys() == {*BRANCHES, "202312"}
    assert found.commits[found.refs["202312"]] == files_in(tmp_path / "202312") | ATTRIBUTES, "without vintages.json"


@pytest.mark.parametrize(
    ("layout", "name"), [("branches", "@202401"), ("folders", ":202401"), ("repositories", "-202401")]
)
def test_what_is_published_is_a_model_by_its_address(
    layout: Layout, name: str, server: HubServer, tmp_path: Path
) -> None:
    there = place_of(NAME, layout)
    there.put("202401", vintage(tmp_path, "202401"), "January")
    assert there.address("202401") == f"{NAME}{name}"
    found = Path(hubs.place(there.address("202401")))
    assert (found / "model.safetensors").read_bytes() == (tmp_path / "202401/model.safetensors").read_bytes()


@pytest.mark.slow
def test_libraries_load_a_vintage_by_its_branch(server: HubServer, tmp_path: Path) -> None:
    import torch
    from huggingface_hub import hf_hub_download, snapshot_download
    from transformers import AutoModelForCausalLM, LlamaConfig, LlamaForCausalLM

    config = LlamaConfig(hidden_size=8, intermediate_size=8, num_hidden_layers=1, num_attention_heads=1, vocab_size=16)
    weights = []
    for label in MONTHS[:2]:
        model = LlamaForCausalLM(config)
        model.save_pretrained(vintage(tmp_path, label))
        weights.append(model.lm_head.weight)
        there = place_of(NAME)
        there.put(label, tmp_path / label, label)
        there.put_main(main_of(tmp_path / label, [label]), label)
    for revision, wanted in zip(("202401", "202402", "main"), (*weights, weights[1]), strict=True):
        loaded = AutoModelForCausalLM.from_pretrained(NAME, revision=revision, trust_remote_code=False)
        assert torch.equal(loaded.lm_head.weight, wanted)
    folder = Path(snapshot_download(NAME, revision="202401"))
    assert files_in(folder) == files_in(tmp_path / "202401") | ATTRIBUTES
    assert "202402" in Path(hf_hub_download(NAME, "vintages.json")).read_text()


@pytest.mark.parametrize("layout", ["branches", "folders", "repositories"])
@pytest.mark.parametrize("at", range(1, 14))
def test_a_rival_with_the_same_vintage_does_no_harm(
    layout: Layout, at: int, server: HubServer, writing: Writing, tmp_path: Path
) -> None:
    """Whichever request the rival comes before, and whatever it is then too late for."""
    folder, came = vintage(tmp_path, "202401"), []

    def rival(number: int, moment: Moment) -> None:
        if (number, moment) == (at, "before"):
            came.append(number)
            arm(writing, lambda number, moment: None)
            place_of(NAME, layout).put("202401", folder, "The rival's")

    arm(writing, rival)
    place_of(NAME, layout).put("202401", folder, "Ours")
    assert came or at > writing.number
    there = place_of(NAME, layout)
    assert there.labels() == ["202401"]
    assert there.files("202401") == {path: place.sha256_of(file) for path, file in place.files_of(folder).items()}
    assert all("publishing" not in branch for one in server.repositories.values() for branch in one.refs)


@pytest.mark.parametrize("at", range(1, 12))
def test_of_two_rivals_with_other_files_one_wins(at: int, server: HubServer, writing: Writing, tmp_path: Path) -> None:
    ours, theirs = vintage(tmp_path, "202401"), vintage(tmp_path, "202401", "b")
    lost = []

    def rival(number: int, moment: Moment) -> None:
        if (number, moment) == (at, "before"):
            arm(writing, lambda number, moment: None)
            try:
                place_of(NAME).put("202401", theirs, "The rival's")
            except TiclmError as error:
                lost.append(error)

    arm(writing, rival)
    try:
        place_of(NAME).put("202401", ours, "Ours")
    except TiclmError as error:
        assert "never changes" in str(error)
        lost.append(error)
    assert len(lost) == 1
    found = server.repository(NAME)
    there = found.commits[found.refs["202401"]]
    assert there in [files_in(ours) | ATTRIBUTES, files_in(theirs) | ATTRIBUTES]


def test_a_rival_at_every_try_ends_in_one_line(server: HubServer, writing: Writing, tmp_path: Path) -> None:
    place_of(NAME).put_main(vintage(tmp_path, "202401"), "first")
    pushed = []

    def rival(number: int, moment: Moment) -> None:
        if moment == "before" and server.requests and "preupload" in server.requests[-1]:
            pushed.append(server.repository(NAME).push({"other": b"%d" % number}))

    arm(writing, rival)
    said = refused(lambda: place_of(NAME).put_main(vintage(tmp_path, "202402"), "second"), place.Rivalled)
    assert "somebody else publishes there at this moment; the same command goes on" in said
    assert len(pushed) >= 2 and server.repository(NAME).refs["main"] == pushed[-1]


def test_a_lost_answer_costs_nothing(server: HubServer, writing: Writing, tmp_path: Path) -> None:
    """The commit was made, and its answer did not arrive: the next run sees it."""

    def cut(number: int, moment: Moment) -> None:
        if moment == "after" and "/commit/" in server.requests[-1]:
            raise Cut

    arm(writing, cut)
    folder = vintage(tmp_path, "202401")
    said = refused(lambda: place_of(NAME).put("202401", folder, "January"), hubs.HubUnreachable)
    assert "the same command goes on from where it stopped" in said
    assert place_of(NAME).labels() == []
    arm(writing, lambda number, moment: None)
    assert place_of(NAME).put("202401", folder, "January").bytes == writing.received == 0
    assert writing.commits == [] and server.repository(NAME).refs.keys() == {"main", "202401"}


def test_inputs_go_on_after_the_batch_that_was_cut(server: HubServer, writing: Writing, tmp_path: Path) -> None:
    files = []
    for number in range(100):
        files.append((f"corpora/toy@1/{number}.parquet", tmp_path / f"{number}.parquet"))
        files[-1][1].write_bytes(b"%d" % number * 30)

    def cut(number: int, moment: Moment) -> None:
        if moment == "before" and len(writing.commits) == 1 and "/commit/" in server.requests[-1]:
            raise Cut

    arm(writing, cut)
    assert "goes on" in refused(lambda: place_of(NAME).put_inputs(files, "inputs"), TiclmError)
    arm(writing, lambda number, moment: None)
    place_of(NAME).put_inputs(files, "inputs")
    assert writing.received == 0 and len(writing.commits) == 1, "the hub has the bytes of the second batch, too"
    found = server.repository(f"{NAME}-inputs")
    assert found.commits[found.refs["main"]] == {path: file.read_bytes() for path, file in files} | ATTRIBUTES


def test_a_clone_of_a_repository_is_published_without_what_is_the_hubs(server: HubServer, tmp_path: Path) -> None:
    folder = vintage(tmp_path, "202401")
    (folder / ".gitattributes").write_text("of another repository")
    for layout in ("branches", "folders", "repositories"):
        for _ in range(2):
            place_of(f"lab/{layout}", layout).put("202401", folder, "January")
        assert ".gitattributes" not in place_of(f"lab/{layout}", layout).files("202401")


def test_what_a_hub_refuses_is_said_in_one_line(
    server: HubServer, writing: Writing, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = vintage(tmp_path, "202401")

    def put() -> Any:
        return place_of(NAME).put("202401", folder, "January")

    monkeypatch.delenv("HF_TOKEN")
    monkeypatch.setattr("huggingface_hub.constants.HF_TOKEN_PATH", str(tmp_path / "none"))
    assert "does not know who you are (401); log in by `hf auth login`, or set HF_TOKEN" in refused(put)
    monkeypatch.setenv("HF_TOKEN", server.token)
    writing.owners = ()
    assert "your token may not write for lab there (403: " in refused(put)
    writing.owners = ("lab",)
    (folder / "README.md").write_text("---\nlicense: [\n---\n")
    assert "Invalid metadata in README.md. - no YAML" in refused(put)
    server.faults = 1
    assert "answers 503" in refused(put, hubs.HubUnreachable)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    assert "HF_HUB_OFFLINE is set, and publishing needs the hub" in refused(put)


def test_a_gated_repository_and_a_full_one_are_named(
    server: HubServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for status, code, said in ((403, "GatedRepo", "gated; accept its terms at"), (507, "", "answers 507")):
        monkeypatch.setattr(WritingHandler, "_batch", lambda self, _, told=(status, code): self._refuse(*told, "no"))
        assert said in refused(lambda: place_of(NAME).put("202401", vintage(tmp_path, "202401"), "January"), TiclmError)
        assert place_of(NAME).labels() == []


def test_a_hub_that_is_out_of_reach_or_silent_is_named(
    server: HubServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hub_repository, "PATIENCE_S", 0.3)
    server.delay_s = 2
    assert "cannot be reached (no answer in time)" in refused(place_of(NAME).labels, hubs.HubUnreachable)
    (port,) = free_ports(1)
    monkeypatch.setattr("huggingface_hub.constants.ENDPOINT", f"http://127.0.0.1:{port}")
    monkeypatch.setattr(hub_repository, "PATIENCE_S", 20)
    assert f"http://127.0.0.1:{port} cannot be reached" in refused(place_of(NAME).labels, hubs.HubUnreachable)


def test_a_disk_that_is_closed_or_full_is_said_in_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    there = place_of(str(tmp_path / "out"))
    vintage(tmp_path, "202401")
    for number, remedy in ((errno.EROFS, "publish to another folder"), (errno.ENOSPC, "free some space")):

        def fail(*_: object, number: int = number) -> None:
            raise OSError(number, os.strerror(number), "/out/x")

        monkeypatch.setattr("shutil.copyfileobj", fail)
        with pytest.raises(InputError, match=rf"^/out/x: {os.strerror(number)}; {remedy}"):
            there.put("202401", tmp_path / "202401", "January")
        assert there.labels() == []
    with pytest.raises(InputError, match=r"^s3://nowhere: .*check its name, the credentials"):
        monkeypatch.setattr("ticlm.core.store.Store.walk", fail)
        place_of("s3://nowhere").labels()
