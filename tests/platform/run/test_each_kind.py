"""Damage of each kind of file that a run leaves or reads: it is named, and what the message says makes it again."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import everykind
import pytest
from everykind import KINDS, build_corpus, build_set, damage, follow, make_read, places
from finished import results, run

from ticlm.core.errors import InputError
from ticlm.core.store import Store
from ticlm.platform.cli import plan_view
from ticlm.platform.results.of_plan import study_result
from ticlm.platform.run import driver
from ticlm.platform.run.check import check
from ticlm.platform.run.cleanup import unused
from ticlm.platform.study.plan import Plan, make
from ticlm.platform.tasks.cells.files import check_cells

UNREAD = ("metrics.json", "leases/", "tokenizer/tokenizer_config.json")
"""What nothing reads but `ticlm check` and people, and leases; a tokenizer has a test of its own."""


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("every") / "root"
    build_corpus(root)
    build_set(root)
    run(everykind.study(), root)
    return root


@pytest.fixture(scope="module")
def expected(template: Path) -> object:
    return results(make(everykind.study(), str(template)))


def planned(root: Path) -> Plan:
    return make(everykind.study(), str(root))


def first_problem(root: Path) -> str | None:
    """Return the first line that a run, its results and the check say of the root."""
    try:
        study_result(run(everykind.study(), root))
    except InputError as error:
        return str(error)
    return next(iter(check(Store(root))[1]), None)


def test_every_file_of_the_root_is_of_a_kind(template: Path) -> None:
    """A new kind of file needs a remedy that is followed below."""
    made = planned(template)
    known = {file for kind in KINDS for file in places(template, made, kind)}
    known |= {file.parent / beside.name for file in known for beside in file.parent.glob("*") if "/model/" in str(file)}
    pattern = re.compile(r"periods/\d+/")
    others = {
        file.relative_to(template).as_posix()
        for file in template.rglob("*")
        if file.is_file() and file not in known and not any(name in file.as_posix() for name in UNREAD)
    }
    left = {name for name in others if not pattern.search(name)}
    assert left == {"corpora/toy@1/tokenizer/tokenizer.json"}


TOGETHER = {
    "records of rounds": [
        kind for kind, (where, _) in KINDS.items() if kind.startswith("record of a") and "rounds/" in where
    ],
    "models": [kind for kind in KINDS if kind.startswith("model")],
    "sampled rows": ["info of sampled rows", "record of sampled rows"],
    "rows and examples": ["shard of sampled rows", "shard of a corpus", "examples of a set"],
    "a corpus, and a set": ["info of a corpus", "record of a set"],
    "periods and builds": ["record of a corpus", "build of a corpus", "build of a set", "cells", "answers"],
    "a set": ["info of a set"],
}
"""Kinds that are damaged at once, each in a file of its own, to pay for a run only once; of one set never two, as its
build meets the second."""


def test_all_kinds_are_damaged() -> None:
    assert {*KINDS} == {kind for kinds in TOGETHER.values() for kind in kinds}


@pytest.mark.parametrize("together", TOGETHER)
def test_the_remedy_that_is_printed_works_on_each_kind(root: Path, expected: object, together: str) -> None:
    made = planned(root)
    damaged: dict[Path, str] = {}
    for number, kind in enumerate(TOGETHER[together]):
        files = places(root, made, kind)
        file = files[number % len(files)]
        make_read(root, made, kind, file)
        damage(file)
        damaged[file] = kind
    while damaged:
        line = first_problem(root)
        assert line is not None, f"used as if they were sound: {damaged}"
        file = next(one for one in damaged if str(one) in line)
        remedy = KINDS[damaged.pop(file)][1].rpartition("; ")[2]
        assert re.search(f"; {re.escape(remedy)}$".replace(r"\{\}", ".+"), line), (remedy, line)
        follow(line, root)
    assert first_problem(root) is None
    assert results(planned(root)) == expected


def test_damage_of_cells_is_told_in_one_line(root: Path) -> None:
    """The library that reads the end of a Parquet file has lines of its own."""
    (file, *_) = root.glob("cells/*/*.parquet")
    sound, told = file.read_bytes(), 0
    for place in range(len(sound) - 1500, len(sound), 7):
        damaged = bytearray(sound)
        damaged[place] ^= 1 << place % 8
        file.write_bytes(damaged)
        lines = check_cells(Store(root), file.parent.name)
        told += len(lines)
        assert not any("\n" in line for line in lines), lines
    assert told > 100


@pytest.mark.parametrize("lost", ["folder", "record"])
def test_a_lost_period_of_a_set_is_not_evaluated_around(root: Path, expected: object, lost: str) -> None:
    (record,) = root.glob("examples/probes@1/periods/202302/record.json")
    shutil.rmtree(record.parent) if lost == "folder" else record.unlink()
    said = (
        f"^{record.parent}: no record, though builds/00000.json names it; append it again with ticlm data build RECIPE$"
    )
    with pytest.raises(InputError, match=said):
        run(everykind.study(), root)
    build_set(root)
    assert results(run(everykind.study(), root)) == expected


def test_nothing_is_cleaned_while_shares_are_open(root: Path, expected: object) -> None:
    """Without the losses that its shares follow from, a study does not know its own finished rounds."""
    shutil.rmtree(root / "cells")
    made = planned(root)
    assert made.open_rounds
    assert "also those that are trained already" in str(plan_view.describe(made)["notes"])
    with pytest.raises(InputError, match="the shares of 1 of its rounds are open until losses are measured") as caught:
        unused(Store(root), [made])
    assert str(caught.value).endswith("when ticlm train has measured them, the same command cleans")
    driver.train(made)
    assert unused(Store(root), [planned(root)]) == []
    assert results(run(everykind.study(), root)) == expected


class Told:
    """Keeps what progress is shown."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def begin(self, name: str, total: int, unit: str) -> None:
        self.lines.append(f"{name}: {total} {unit}")

    def update(self, name: str, done: int, note: str = "") -> None: ...

    def end(self, name: str, note: str = "") -> None: ...

    def say(self, line: str) -> None:
        self.lines.append(line)


def test_a_round_that_is_found_done_is_not_said_to_be_trained(root: Path) -> None:
    """Somebody else has trained it since the plan was made."""
    made = planned(root)
    made.records.clear()
    driver.train(made, told := Told())
    assert told.lines and all(line.endswith(": found done") for line in told.lines)
