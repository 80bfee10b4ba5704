"""The check of a root: every damage is found and named, and a root that is sound, or being written to, has none."""

from __future__ import annotations

import errno
import json
import shutil
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from finished import run
from sets import kept

from ticlm.core.corpus import Corpus
from ticlm.core.errors import InputError
from ticlm.core.examples import Example
from ticlm.core.integrity.records import Attempt
from ticlm.core.paths import RECORD
from ticlm.core.store import Store
from ticlm.datasets.llm.asking import Asker, ChatLimits
from ticlm.datasets.llm.chat import ChatRequest, Message
from ticlm.datasets.llm.function_chat import DeterministicChat
from ticlm.datasets.llm.journal import REPLIES, Journal
from ticlm.platform.run.check import check
from ticlm.platform.study.settings import Study

Studies = Callable[..., Study]
PLAIN = {"base": "cyclic-cosine", "schedule": {"max_rate": 5e-3, "warmup_steps": 1}}
STUDY: dict[str, Any] = {"methods": [PLAIN], "periods": {"initial": "202301", "step": "month", "last": "202302"}}


@pytest.fixture(scope="module")
def template(toy_template: Path, toy_study: Studies, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished root: two rounds, their cells, and a record of the build of its corpus."""
    root = tmp_path_factory.mktemp("checked") / "root"
    shutil.copytree(toy_template, root)
    run(toy_study(**STUDY), root)
    corpus = Corpus.open(f"{root}/corpora/toy@1")
    nothing = {"number": 0, "inputs": [], "last": None, "read": 0, "dropped": {}, "late": {}, "beyond": []}
    built = {"periods": {label: {} for label in corpus.periods}, "first": {}, "warnings": []}
    corpus.store.write("builds/00000.json", json.dumps(nothing | built).encode())
    return root


def flipped(file: Path) -> None:
    data = bytearray(file.read_bytes())
    data[min(60, len(data) // 2)] ^= 1  # of a Parquet file, in its first page
    file.write_bytes(data)


def cut(file: Path) -> None:
    file.write_bytes(file.read_bytes()[:-7])


def emptied(file: Path) -> None:
    file.write_bytes(b"")


def gone(file: Path) -> None:
    shutil.rmtree(file) if file.is_dir() else file.unlink()


def another(file: Path) -> None:
    """Change a number in a record, so that it still is a record."""
    record = json.loads(file.read_text())
    about = record["about"]
    if "splits" in about:
        about["splits"]["train"]["tokens"] += 1
    else:
        about["steps"] += 1
    file.write_text(json.dumps(record))


def test_a_sound_root_has_no_problem(root: Path) -> None:
    assert check(Store(root)) == (2 + 4, [])  # rounds and periods
    assert check(Store(root / "corpora/toy@1")) == (4, [])


@pytest.mark.parametrize(
    ("place", "damages"),
    [
        ("rounds/*/*/model/*", (flipped, cut, emptied, gone)),
        ("rounds/*/*/metrics.json", (flipped, gone)),
        ("rounds/*/record.json", (cut, emptied, gone, gone, another)),
        ("cells/*/*.parquet", (flipped, cut, emptied)),
        ("corpora/*/periods/*/*/*/*.parquet", (flipped, cut, emptied, gone)),
        ("corpora/*/periods/*/record.json", (cut, emptied, gone, another)),
        ("corpora/*/periods/*", (gone,)),
        ("corpora/*/corpus.json", (flipped, cut, emptied, gone)),
        ("corpora/*/tokenizer/tokenizer.json", (flipped, gone)),
        ("corpora/*/builds/00000.json", (cut, emptied)),
    ],
)
def test_every_damage_is_found(root: Path, place: str, damages: tuple[Callable[[Path], None], ...]) -> None:
    files = sorted(root.glob(place))
    for number, damage in enumerate(damages):
        file = files[number % len(files)]
        aside = root.parent / f"{number}"
        shutil.copytree(file, aside) if file.is_dir() else shutil.copy(file, aside)
        damage(file)
        _, problems = check(Store(root))
        assert problems and all("\n" not in problem for problem in problems), damage
        assert file.name in problems[0] or file.parent.name in problems[0], (damage, problems)
        shutil.copytree(aside, file) if aside.is_dir() else shutil.copy(aside, file)
        assert check(Store(root))[1] == []


def test_cells_of_another_checkpoint_and_under_another_name_are_found(root: Path) -> None:
    one, other = sorted(root.glob("cells/*/*.parquet"))[0], sorted(root.glob("cells/*"))[-1]
    shutil.copy(one, other / one.name)
    (problem,) = check(Store(root))[1]
    assert "other cells than its name says" in problem and f"{other.name}/{one.name}" in problem


def test_a_record_of_an_earlier_version_has_no_hash_of_its_own_and_counts(root: Path) -> None:
    for file in root.glob(f"*/*/**/{RECORD}"):
        record = json.loads(file.read_text())
        del record["sha256"]
        file.write_text(json.dumps(record))
    assert check(Store(root)) == (6, [])


def test_what_is_said_of_splits_without_such_a_hash_is_compared_with_the_files(root: Path) -> None:
    for change in ({"sha256": "0" * 64}, {"rows": 1}, {"bytes": 1}):
        (file,) = root.glob(f"corpora/*/periods/202302/{RECORD}")
        text = file.read_text()
        record = json.loads(text)
        del record["sha256"]
        record["about"]["splits"]["eval"]["files"][0] |= change
        file.write_text(json.dumps(record))
        assert check(Store(root))[1] == [
            "corpora/toy@1/periods/202302/record.json: its splits are not made of the files that it names"
        ]
        file.write_text(text)


def test_every_problem_is_listed(root: Path) -> None:
    first, second = sorted(root.glob("rounds/*/*/model/model.safetensors"))
    first.unlink()
    second.write_bytes(b"short")
    (root / "corpora/toy@1/periods/202301" / RECORD).write_text("{")
    count, problems = check(Store(root))
    told = "\n".join(problems)
    for expected in (f"{first.relative_to(root)}: missing", "5 bytes, the record says", f"202301/{RECORD} is damaged"):
        assert expected in told
    assert count == 6


def test_damaged_replies_of_chat_models_are_named_by_line(tmp_path: Path) -> None:
    folder = tmp_path / "root/examples/toy@1"
    kept(folder, Example(id="0", text="a"))
    with Journal(str(folder / REPLIES)) as journal:
        requests = [ChatRequest((Message("user", text),)) for text in ("one", "two", "three")]
        Asker(journal, ChatLimits(at_once=1)).ask_all(DeterministicChat(function="chats:echo"), requests)
    stores = [Store(tmp_path / "root"), Store(folder)]
    assert [check(store)[1] for store in stores] == [[], []]
    lines = (folder / REPLIES).read_bytes().splitlines(keepends=True)
    damaged = [lines[0], lines[1].replace(b"two 0", b"two 1"), b"[" * 10**5 + b"\n", lines[2][:-9]]
    (folder / REPLIES).write_bytes(b"".join(damaged))
    for store in stores:
        assert check(store)[1] == [
            f"{folder}/{REPLIES}:2 is damaged (its own hash differs); remove this line, and it is asked again",
            f"{folder}/{REPLIES}:3 is no reply to a request; remove this line, and it is asked again",
        ]
    (folder / REPLIES).write_bytes(lines[0] + lines[2])
    assert [check(store)[1] for store in stores] == [[], []]


def test_a_folder_that_is_no_root_is_refused(tmp_path: Path) -> None:
    (tmp_path / "photos/2023").mkdir(parents=True)
    (tmp_path / "photos/2023" / RECORD).write_text("{}")
    with pytest.raises(InputError, match="photos is no root: it holds none of corpora, examples, rounds, cells"):
        check(Store(tmp_path / "photos"))


def test_a_build_that_is_under_way_is_no_problem(root: Path) -> None:
    Store(root).write("corpora/new@1/staging/x/scans/1.json", b"{}")
    assert check(Store(root)) == (6, [])


def test_a_writer_at_work_is_no_problem(root: Path) -> None:
    """It publishes checkpoints and removes those before, files first, as a training does."""
    store, stop = Store(root), threading.Event()
    data = np.random.default_rng(0).bytes(20_000)

    def write() -> None:
        step = 0
        while not stop.is_set():
            step += 1
            folder = f"rounds/running/attempt/steps/{step:08}"
            for part in range(3):
                store.write(f"{folder}/files/{part}", data)
            Attempt(store, folder, "files").publish({"step": step})
            if step > 2:
                store.remove(f"rounds/running/attempt/steps/{step - 2:08}")

    writer = threading.Thread(target=write)
    writer.start()
    try:
        seen = [check(store) for _ in range(60)]
    finally:
        stop.set()
        writer.join()
    assert [problems for _, problems in seen if problems] == []
    assert max(count for count, _ in seen) > 6


def test_what_lies_below_chaos_is_a_root_of_its_own(root: Path) -> None:
    shutil.copytree(root, root / "chaos/toy-1/undisturbed")
    for record in (root / "chaos").rglob("rounds/*/record.json"):
        about = json.loads(record.read_text())["about"]
        if about.get("parent"):
            shutil.rmtree(root / "rounds" / about["parent"][:32])
            break
    assert not any("chaos" in problem for problem in check(Store(root))[1])


def test_a_file_that_cannot_be_read_hides_no_other_problem(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (cells,) = list(root.glob("cells/*/*.parquet"))[:1]
    next(root.glob("rounds/*/*/metrics.json")).unlink()
    read = Store.read

    def failing(store: Store, path: str) -> bytes:
        if path.endswith(cells.name):
            raise OSError(errno.EIO, "Input/output error", str(cells))
        return read(store, path)

    monkeypatch.setattr(Store, "read", failing)
    problems = check(Store(root))[1]
    assert f"{cells} cannot be read: Input/output error" in problems, "a failing disk is no damage"
    assert any(problem.endswith("metrics.json: missing") for problem in problems)
