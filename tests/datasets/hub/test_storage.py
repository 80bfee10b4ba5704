"""A hub that leads to a storage on another server, as the real one does: who is asked, how often, with which login."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import hubserver
import hubsets
import pytest
import web
from hubserver import HubServer

from ticlm.core.periods import Calendar
from ticlm.datasets.hub.documents import HubDocuments
from ticlm.datasets.hub.share import Cap
from ticlm.datasets.io import fetching
from ticlm.datasets.io.documents import Document, Fields
from ticlm.datasets.io.fetching import Patience, opened

FILE = "data/CC-MAIN-2024-10/000_00000.parquet"


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[HubServer]:
    monkeypatch.setattr(fetching, "PATIENCE", Patience(tries=4, first_s=0.001, most_s=0.002))
    with hubserver.served(tmp_path / "cache", monkeypatch) as server:
        server.repository("org/web").push(hubsets.fineweb(("CC-MAIN-2024-10",), files=1, groups=6, words=300))
        yield server


@pytest.fixture
def storage(server: HubServer) -> Iterator[web.Site]:
    """A storage with all files of the hub, which is led to by addresses with a signature."""
    found = server.repository("org/web").commits.values()
    with web.served({hubserver.sha1(data): data for files in found for data in files.values()}) as site:
        lead(server, site, "X-Amz-Signature=1")
        yield site


def lead(server: HubServer, site: web.Site, signature: str) -> None:
    site.signature, server.storage = signature, f"{site.url}/{{}}?{signature}"


def asked_for_the_file(server: HubServer) -> int:
    return sum(FILE in request for request in server.requests)


def url(server: HubServer) -> str:
    return f"{server.url}/datasets/org/web/resolve/{server.repository('org/web').refs['main']}/{FILE}"


def test_the_hub_is_asked_once_for_each_time_that_a_file_is_opened(server: HubServer, storage: web.Site) -> None:
    cap = Cap(documents=35)
    reader = HubDocuments(path="org/web", name="CC-MAIN-2024-10", fields=Fields(timestamp="hub.config"), per_period=cap)
    (entry,) = reader.inputs(Calendar())
    found = [one for one in reader.read(reader.pieces(entry)[0]) if isinstance(one, Document)]
    assert len(found) == 35
    assert asked_for_the_file(server) == 2  # for its footer, and to read it


def test_the_token_of_a_gated_set_goes_to_the_hub_alone(
    server: HubServer, storage: web.Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.repository("org/web").gated = True
    monkeypatch.setenv("HF_TOKEN", server.token)
    with opened(url(server), thrifty=True) as file:
        assert file.read(4) == b"PAR1"
    assert asked_for_the_file(server) == 1 and storage.gets() == ["bytes=0-3"] and storage.logins == []


def test_the_hub_is_asked_again_once_a_signature_expires(server: HubServer, storage: web.Site) -> None:
    with opened(url(server), thrifty=True) as file:
        assert file.read(4) == b"PAR1"
        lead(server, storage, "X-Amz-Signature=2")
        file.seek(-4, 2)
        assert file.read(4) == b"PAR1"
        file.seek(0)
        file.read(9)
    assert asked_for_the_file(server) == 2


def test_a_storage_that_refuses_each_signature_is_read_through_the_hub(server: HubServer, storage: web.Site) -> None:
    with opened(url(server), thrifty=True) as file:
        assert file.read(4) == b"PAR1"
        storage.faults = ["403", "403"]
        file.seek(-4, 2)
        assert file.read(4) == b"PAR1"
    assert asked_for_the_file(server) == 3


def test_a_file_of_a_branch_is_compared_with_itself_and_one_of_a_commit_is_not(server: HubServer) -> None:
    for address, asked in (
        (url(server), 2),
        (url(server).replace(server.repository("org/web").refs["main"], "main"), 3),
    ):
        server.requests.clear()
        with opened(address, thrifty=True) as file:
            file.read(4)
        assert len(server.requests) == asked
