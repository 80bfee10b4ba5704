"""What every place promises: a vintage whole or not at all, nothing sent twice, nothing changed."""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from hubwriting import writable
from vintages import main_of, vintage

from ticlm.core.errors import InputError
from ticlm.core.store import Store
from ticlm.platform.publish.places import folder_place
from ticlm.platform.publish.places.opened import place_of
from ticlm.platform.publish.places.place import Layout, Place, files_of, in_order, is_label, sha256_of

HUBS: tuple[Layout, ...] = ("branches", "folders", "repositories")
PLACES = (*HUBS, "folder", "bucket", pytest.param("s3", marks=pytest.mark.slow))


@dataclass
class Where:
    """A place under test; `opened` finds it again, as another run does, and `received` counts bytes of files."""

    kind: str
    opened: Callable[[], Place]
    received: Callable[[], int] | None

    @property
    def place(self) -> Place:
        return self.opened()


@pytest.fixture(params=PLACES)
def where(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Where]:
    kind = request.param
    if kind in HUBS:
        with writable(tmp_path / "cache", monkeypatch) as (_, writing):
            yield Where(kind, lambda: place_of("lab/world", kind), lambda: writing.received)
        return
    to = {"folder": str(tmp_path / "out"), "bucket": f"memory://{uuid.uuid4().hex}/out"}
    uri = to.get(kind) or f"{request.getfixturevalue('s3_bucket')}/out"
    yield Where(kind, lambda: place_of(uri), None)


def hashes(folder: Path) -> dict[str, str]:
    return {path: sha256_of(file) for path, file in files_of(folder).items()}


def test_a_vintage_is_read_back_as_it_was_published(where: Where, tmp_path: Path) -> None:
    folder = vintage(tmp_path, "202401")
    assert where.place.labels() == []
    sent = where.place.put("202401", folder, "January")
    assert sent.bytes == sum(file.stat().st_size for file in files_of(folder).values())
    assert bool(sent.revision) == (where.kind in HUBS)
    assert where.place.labels() == ["202401"]
    assert where.place.files("202401") == hashes(folder)
    with where.place.get("202401") as there:
        assert hashes(there) == hashes(folder)


def test_what_is_there_is_not_sent_again(where: Where, tmp_path: Path) -> None:
    folder = vintage(tmp_path, "202401")
    first = where.place.put("202401", folder, "January")
    before = where.received() if where.received else 0
    again = where.place.put("202401", folder, "January")
    assert (again.bytes, again.revision) == (0, first.revision)
    assert (where.received() if where.received else 0) == before


@pytest.mark.parametrize("change", ["other bytes", "a file more", "a file less"])
def test_a_vintage_never_changes(where: Where, change: str, tmp_path: Path) -> None:
    folder = vintage(tmp_path, "202401")
    there = hashes(folder)
    where.place.put("202401", folder, "January")
    file = folder / "certificate/inputs.json"
    match change:
        case "other bytes":
            file.write_text(file.read_text().replace("202401", "202301"))
        case "a file more":
            file = folder / "certificate/more.json"
            file.write_text("{}")
        case "a file less":
            file.unlink()
    with pytest.raises(InputError) as caught:
        where.place.put("202401", folder, "January")
    said = str(caught.value)
    assert "\n" not in said and file.relative_to(folder).as_posix() in said and "never changes" in said
    assert where.place.address("202401") in said
    assert where.place.files("202401") == there


def test_labels_come_oldest_first_and_vintages_in_any_order(where: Where, tmp_path: Path) -> None:
    labels = ["202312-202402", "202401", "202311", "20240115"]
    for label in labels:
        where.place.put(label, vintage(tmp_path, label), label)
    assert where.place.labels() == ["202311", "20240115", "202401", "202312-202402"]
    assert all(where.place.files(label) == hashes(tmp_path / label) for label in labels)


def test_what_stands_above_the_vintages_may_change(where: Where, tmp_path: Path) -> None:
    for label in ("202401", "202402"):
        folder = vintage(tmp_path, label)
        where.place.put(label, folder, label)
        main = main_of(folder, where.place.labels())
        first = where.place.put_main(main, f"Newest: {label}")
        again = where.place.put_main(main, f"Newest: {label}")
        assert first.bytes > 0 and again.bytes == 0 and again.revision == first.revision
    assert where.place.labels() == ["202401", "202402"]
    if where.kind != "branches":  # there any files may stand
        with pytest.raises(InputError, match=r"neither README\.md nor vintages\.json is here"):
            where.place.put_main(tmp_path / "202401/certificate", "nothing")


def test_a_vintage_has_one_revision_for_ever(where: Where, tmp_path: Path) -> None:
    """Who records it in vintages.json writes the same bytes each time."""
    labels = ("202401", "202402")
    first = [where.place.put(label, vintage(tmp_path, label), label).revision for label in labels]
    where.place.put_main(main_of(tmp_path / "202402", labels), "Newest: 202402")
    assert [where.place.put(label, tmp_path / label, label).revision for label in labels] == first


def test_inputs_are_sent_once_and_beside_those_that_are_there(where: Where, tmp_path: Path) -> None:
    files = []
    for number in range(70):
        file = tmp_path / f"{number}.parquet"
        file.write_bytes(b"%d" % number * 30)
        files.append((f"corpora/toy@1/periods/202401/{number}.parquet", file))
    total = sum(file.stat().st_size for _, file in files)
    half = sum(file.stat().st_size for _, file in files[:40])
    assert where.place.put_inputs(files[:40], "January").bytes == half
    assert where.place.put_inputs(iter(files), "February").bytes == total - half
    assert where.place.put_inputs(files, "again").bytes == 0
    files[3][1].write_bytes(b"!" * files[3][1].stat().st_size)
    assert where.place.put_inputs(files, "another file").bytes == files[3][1].stat().st_size
    assert where.place.put_inputs(files[:1], "a few").bytes == 0
    assert where.place.labels() == []
    for path, file, why in (("../x", files[0][1], "is relative"), ("x", tmp_path / "none", "no such file")):
        with pytest.raises(InputError, match=why):
            where.place.put_inputs([(path, file)], "nothing")


def test_a_vintage_that_is_not_there_is_refused_in_one_line(where: Where, tmp_path: Path) -> None:
    for there in ("none", r"202401 … 202401 \(1\)"):
        for ask in (lambda: where.place.files("202402"), lambda: where.place.get("202402").__enter__()):
            with pytest.raises(InputError, match=rf"no such vintage is published; there are {there}$"):
                ask()
        where.place.put("202401", vintage(tmp_path, "202401"), "January")
    with pytest.raises(InputError, match="no label of a period"):
        where.place.put("main", tmp_path / "202401", "main")
    with pytest.raises(InputError, match="no folder here with files"):
        where.place.put("202403", tmp_path / "nowhere", "nothing")


def test_labels_are_those_of_periods_alone() -> None:
    assert in_order(["main", "202402", "20240101-20240107", "publishing-202401", "202401", "202413"]) == [
        "20240101-20240107",
        "202401",
        "202402",
    ]
    assert not is_label("2024") and not is_label("../202401") and is_label("201305-201412")


@pytest.mark.parametrize(
    ("to", "layout", "why"),
    [
        ("lab/world@202401", "branches", "publish to a whole repository: lab/world"),
        ("s3://bucket/out", "repositories", "layout repositories is for a hub"),
        ("nonsense://x/y", "branches", "root nonsense://x/y"),
        ("lab/world", "tags", "layout must be one of branches, folders, repositories, got tags"),
        ("", "branches", "is empty"),
    ],
)
def test_what_is_no_place_is_refused(to: str, layout: Layout, why: str) -> None:
    with pytest.raises(InputError, match=why):
        place_of(to, layout)


def test_a_folder_wins_over_a_repository_of_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert place_of("lab/world").name == "hf:lab/world"
    (tmp_path / "lab/world").mkdir(parents=True)
    assert place_of("lab/world").name == "lab/world"
    assert place_of("./lab/other").name == "./lab/other"


def test_a_vintage_in_a_bucket_is_none_before_its_record(tmp_path: Path) -> None:
    store = Store(f"memory://{uuid.uuid4().hex}")
    place = place_of(store.root)
    place.put("202401", vintage(tmp_path, "202401"), "January")
    store.remove("published/202401/whole.json")  # as a run that is killed before its last request leaves it
    assert place.labels() == []
    with pytest.raises(
        InputError, match=r"begun with other files .*remove memory://.*/202401 and memory://.*/published"
    ):
        place.put("202401", vintage(tmp_path, "202401", "b"), "January")
    assert place.put("202401", tmp_path / "202401", "January").bytes == 0 and place.labels() == ["202401"]
    store.remove("202401/config.json")
    assert place.put("202401", tmp_path / "202401", "January").bytes == len('{"model_type": "llama"}')
    assert json.loads(store.read("published/202401/begun.json")) == place.files("202401")


@pytest.mark.parametrize("kind", ["folder", "bucket"])
@pytest.mark.parametrize("seed", ["", "b"])
def test_of_two_rivals_at_a_folder_or_a_bucket_one_wins(
    kind: str, seed: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The rival comes when all files are sent, and has the same files or others."""
    to = str(tmp_path / "out") if kind == "folder" else f"memory://{uuid.uuid4().hex}"
    folders = [vintage(tmp_path, "202401"), vintage(tmp_path, "202401", seed)]
    said: list[str] = []

    def put(folder: Path) -> None:
        try:
            place_of(to).put("202401", folder, "January")
        except InputError as error:
            said.append(str(error))

    moments, name = (folder_place, "_sync") if kind == "folder" else (Store, "write")
    kept, came = getattr(moments, name), list[bool]()

    def rival(*args: object) -> None:
        if not came:
            came.append(True)
            put(folders[1])
        kept(*args)

    monkeypatch.setattr(moments, name, rival)
    put(folders[0])
    assert came and len(said) == bool(seed), said
    assert all("never changes" in one or "begun with other files" in one for one in said)
    assert place_of(to).files("202401") in [hashes(folder) for folder in folders]
    assert place_of(to).put("202401", folders[kind == "folder"], "January").bytes == 0
