"""Publishing that is killed: whatever the moment, no vintage is half there, and the next run sends only the rest."""

from __future__ import annotations

import os
import random
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from hubserver import HubServer, files_in
from hubwriting import ATTRIBUTES, Cut, Moment, Writing, arm, writable
from publishing import Publisher, publisher
from vintages import LABELS, made, publish

from ticlm.platform.publish.places.opened import place_of
from ticlm.platform.publish.places.place import ABOVE, Layout

KILLS = 20


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[HubServer, Writing]]:
    with writable(tmp_path / "cache", monkeypatch) as found:
        yield found


@pytest.fixture
def child(server: tuple[HubServer, Writing], tmp_path: Path) -> Iterator[Publisher]:
    variables = {"HF_ENDPOINT": server[0].url, "HF_TOKEN": server[0].token, "HF_HOME": str(tmp_path / "home")}
    with publisher(variables | {"HF_HUB_OFFLINE": "0", "HF_HUB_DISABLE_XET": "1"}) as process:
        yield process


def check_whole(server: HubServer, name: str, layout: Layout, vintages: Path) -> list[str]:
    """Assert that each vintage on the hub is whole, and main one of its states; return the labels."""
    wanted = {label: files_in(vintages / label) for label in LABELS}
    mains = [files_in(vintages / f"main-{label}") for label in LABELS]
    found = {}
    for repository, one in server.repositories.items():
        for branch, commit in one.refs.items():
            files = {path: data for path, data in one.commits[commit].items() if path not in ATTRIBUTES}
            if repository == name and layout == "branches" and branch in LABELS:
                found[branch] = files
            elif repository == name and layout == "branches":
                assert branch == f"publishing-{LABELS[min(len(found), 11)]}" or files in [{}, *mains]
            elif repository == name and layout == "folders":
                for path, data in files.items():
                    if "/" in path:
                        label, _, below = path.partition("/")
                        found.setdefault(label, {})[below] = data
            elif repository.startswith(f"{name}-") and files:
                found[repository.removeprefix(f"{name}-")] = files
            if repository == name and branch == "main" and layout != "branches":
                above = {path: data for path, data in files.items() if path in ABOVE}
                assert above in [{}, *({path: one[path] for path in ABOVE} for one in mains)]
    assert found == {label: wanted[label] for label in found}
    return sorted(found)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("layout", "kills"),
    [
        ("branches", KILLS // 4),
        *(pytest.param(layout, KILLS, marks=pytest.mark.nightly) for layout in ("branches", "folders", "repositories")),
    ],
)
def test_a_hub_never_has_half_a_vintage(
    layout: Layout, kills: int, server: tuple[HubServer, Writing], child: Publisher, tmp_path: Path
) -> None:
    hub, writing = server
    vintages = tmp_path / "vintages"
    made(vintages)
    arm(writing, lambda number, moment: None)
    whole = publish(place_of("lab/whole", layout), vintages)
    requests = writing.number
    assert writing.received == whole
    rng = random.Random(kills)
    for kill in range(kills):
        at, when = rng.randint(1, requests), rng.choice(("before", "after"))
        name = f"lab/w{kill}"
        hub.repositories.clear()
        writing.objects.clear()
        hub.requests.clear()
        process: list[int] = []

        def hook(number: int, moment: Moment, at: int = at, when: str = when, process: list[int] = process) -> None:
            if (number, moment) == (at, when):
                os.kill(process[0], signal.SIGKILL)
                if when == "before":
                    raise Cut

        arm(writing, hook)
        process.append(child.begin(name, layout, vintages))
        assert child.ended() == -signal.SIGKILL, f"request {at} of {requests} was not made"
        labels = check_whole(hub, name, layout, vintages)
        place = place_of(name, layout)
        assert place.labels() == labels
        kept, received = set(writing.objects), writing.received
        hub.requests.clear()
        arm(writing, lambda number, moment: None)
        publish(place, vintages)
        again = {request.rpartition("/")[2] for request in hub.requests if request.startswith("PUT /objects/")}
        assert not again & kept and received + writing.received <= whole + 5000  # what was under way, once more
        assert not {f"Vintage {label}" for label in labels} & {message for _, _, message in writing.commits}
        assert check_whole(hub, name, layout, vintages) == list(LABELS)
        assert not [branch for one in hub.repositories.values() for branch in one.refs if "publishing" in branch]
        arm(writing, lambda number, moment: None)
        assert publish(place, vintages) == 0 and writing.received == 0 and writing.commits == []


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["folder", "s3"])
def test_a_folder_and_a_bucket_never_have_half_a_vintage(
    kind: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    root = str(tmp_path) if kind == "folder" else request.getfixturevalue("s3_bucket")
    vintages = tmp_path / "vintages"
    made(vintages)
    wanted = {label: files_in(vintages / label) for label in LABELS}
    rng = random.Random(7)
    kills, steps, months = (KILLS // 2, 140, 12) if kind == "folder" else (KILLS // 5, 25, 3)
    with publisher({}) as child:
        for kill in range(kills):
            to = f"{root}/out-{kill}"
            child.begin(to, "branches", vintages, rng.randint(1, steps), months)
            assert child.ended() == -signal.SIGKILL
            place = place_of(to)
            labels = place.labels()
            for label in labels:
                with place.get(label) as folder:
                    assert files_in(folder) == wanted[label]
            if kind == "folder":
                assert not [one.name for one in Path(to).glob("2*") if one.name not in labels]
            publish(place, vintages, LABELS[:months])
            assert place.labels() == list(LABELS[:months]) and publish(place, vintages, LABELS[:months]) == 0
            if kind == "folder":
                assert not list(Path(to).glob(".publishing-*")), "what a killed run left is gone"
