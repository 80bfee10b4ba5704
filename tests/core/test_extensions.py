"""Classes of a user's own, in a folder of the user's: found by path or entry point, strict, hashed, written back."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from importlib import metadata
from importlib.metadata import EntryPoint
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest
from searches import FAST, MONTHS, write_study
from toys import make_toy_study

from ticlm.core import extensions
from ticlm.core.errors import InputError
from ticlm.core.fingerprint import fingerprint
from ticlm.core.settings import Settings, parse
from ticlm.datasets.corpus.recipe import CorpusRecipe
from ticlm.methods.method import Continual
from ticlm.platform.study.settings import Evaluate, Study
from ticlm.platform.tasks.union import AnyTask
from ticlm.platform.tuning import search
from ticlm.tune_spaces import space

MINE = """
    from pydantic import Field

    from ticlm.datasets.io.documents import Documents
    from ticlm.methods.objectives import Causal
    from ticlm.methods.seams import Replay, Schedule
    from ticlm.core.mixture import Mixture, allot
    from ticlm.platform.tasks.base import Task
    from ticlm.tune_spaces.space import Space


    class RecentReplay(Replay):
        window: int = Field(3, gt=0)

        def mixture(self, seen, budget):
            return Mixture.of(allot(budget, dict.fromkeys(seen[-self.window :], 1)))


    class Flat(Schedule):
        value: float = 1e-3

        def rate(self, step, position):
            return self.value


    class FixedReplay(RecentReplay):
        pass


    class Lines(Documents):
        path: str

        def inputs(self, calendar):
            return []

        def read(self, piece):
            return iter([])


    class Worst(Task):
        name: str = "worst"

        def measure(self, answerer, data, label, rows):
            return iter([])


    class Shifted(Causal, version=2):
        pass


    WINDOWS = Space("windows", "mine", points=({"replay.window": 1}, {"replay.window": 2}))
"""


@pytest.fixture
def mine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """A package of the user's own in the current folder, which is not installed."""
    name = f"mine_{tmp_path.name.replace('-', '_')}"
    (tmp_path / name).mkdir()
    (tmp_path / name / "parts.py").write_text(dedent(MINE))
    (tmp_path / name / "broken.py").write_text("1 / 0\n")
    (tmp_path / name / "needy.py").write_text("import no_such_package\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    extensions.entry_point.cache_clear()
    yield f"{name}.parts"
    extensions.entry_point.cache_clear()


def method(**parts: Any) -> Continual:
    return parse(Continual, {"name": "mine", **parts}, "study")


def test_a_class_is_found_by_its_path_and_written_back_with_it(mine: str) -> None:
    found = method(replay={"kind": f"{mine}:RecentReplay", "window": 2}, schedule={"kind": f"{mine}:Flat"})
    assert found.replay.window == 2 and found.schedule.rate(0, None) == 1e-3  # type: ignore[union-attr,arg-type]
    dumped = found.model_dump(mode="json")
    assert dumped["replay"] == {
        **{"kind": f"{mine}:RecentReplay", "window": 2},
        **{"buffer_tokens": None, "expire_after": None, "expired": []},
    }
    assert parse(Continual, dumped, "again") == found


def test_every_seam_takes_a_class_of_the_users(mine: str) -> None:
    class Seams(Settings):
        task: AnyTask

    assert parse(Seams, {"task": {"kind": f"{mine}:Worst"}}, "task").task.id == "worst@1"
    recipe = {"name": "own", "version": 1, "documents": {"kind": f"{mine}:Lines", "path": "x"}, "length": 8}
    made = parse(CorpusRecipe, recipe | {"tokenizer": {"kind": "train", "vocab_size": 300}}, "recipe")
    assert type(made.documents).__name__ == "Lines" and made.reader is made.documents
    assert space.load(f"{mine}:WINDOWS").method == "mine"


def test_two_classes_of_one_name_in_a_study_are_refused(mine: str, tmp_path: Path) -> None:
    (tmp_path / "other_flat.py").write_text(dedent(MINE))
    kinds = (f"{mine}:Flat", "other_flat:Flat")
    methods = [{"kind": "continual", "name": f"m{n}", "schedule": {"kind": kind}} for n, kind in enumerate(kinds)]
    with pytest.raises(
        InputError, match=r"other_flat:Flat and .*parts:Flat are both Flat in ids; rename one"
    ) as caught:
        make_toy_study(methods=methods)
    assert "\n" not in str(caught.value)


def test_the_settings_that_a_search_keeps_name_the_method_of_the_users(mine: str, tmp_path: Path) -> None:
    (tmp_path / "own_method.py").write_text(
        "from ticlm.methods.method import Continual\n\n\nclass Halved(Continual):\n    pass\n"
    )
    own = {"kind": "own_method:Halved", "name": "halved", "schedule": {"kind": "cosine", **FAST}}
    file = write_study(tmp_path, methods=[own, {"base": "oracle", "cutoffs": [MONTHS[0]]}])
    tuning = search.load("halved", file, (), ("schedule.max_rate=1e-3,2e-3",), {})
    kept = tuning.chosen({"schedule.max_rate": 2e-3})
    assert [one["kind"] for one in kept["methods"]] == ["own_method:Halved", "oracle"]
    assert type(parse(Study, kept, "kept").methods[0]).__name__ == "Halved"


def test_ids_know_a_class_by_its_name_and_its_version(mine: str) -> None:
    objective = extensions.object_at(f"{mine}:Shifted")
    assert objective.identity_name == "Shifted@2"
    one, other = (method(replay={"kind": f"{mine}:RecentReplay", "window": window}) for window in (2, 3))
    assert fingerprint(one) != fingerprint(other)
    before = fingerprint(one)
    type(one.replay).__module__ = "moved.elsewhere"
    assert fingerprint(one) == before


def test_anentry_point_gives_a_class_a_kind_of_its_own(mine: str, monkeypatch: pytest.MonkeyPatch) -> None:
    recent = EntryPoint("recent", f"{mine}:RecentReplay", "ticlm.methods")
    monkeypatch.setattr(
        metadata, "entry_points", lambda group, name: [recent] if (group, name) == (recent.group, recent.name) else []
    )
    assert method(replay={"kind": "recent"}) == method(replay={"kind": f"{mine}:RecentReplay"})


def test_a_class_that_cannot_be_taken_is_refused_in_one_line(mine: str, tmp_path: Path) -> None:
    package = mine.partition(".")[0]
    wrong = {
        f"{mine}:Recent": r"parts.py has no Recent; it has RecentReplay, .*Worst",
        f"{package}.part:Recent": rf"no module {package}.part; looked in {tmp_path} and among what is installed",
        "no_such_thing.here:X": "no module no_such_thing; looked in",
        f"{package}.needy:X": "needs no_such_package, which is not installed",
        f"{package}.broken:X": "importing .*broken raised ZeroDivisionError: division by zero",
        f"{mine}:Worst": "is no Replay: derive it from ticlm.methods.seams.Replay",
        f"{mine}:FixedReplay": "has no name of its own: ids know FixedReplay as ticlm.methods.replay:FixedReplay",
        f"{mine}:": "has no name after the colon",
    }
    for kind, line in wrong.items():
        with pytest.raises(InputError, match=rf"study: replay.kind: .*{line}") as caught:
            method(replay={"kind": kind})
        assert "\n" not in str(caught.value)


def test_its_settings_are_as_strict_as_ours(mine: str) -> None:
    kind = f"{mine}:RecentReplay"
    with pytest.raises(InputError, match=r"study: replay.window: must be greater than 0, got -2"):
        method(replay={"kind": kind, "window": -2})
    with pytest.raises(InputError, match=r"replay.windw: unknown key \(did you mean window\?\); allowed: .*window"):
        method(replay={"kind": kind, "windw": 2})


def test_modules_of_the_users_are_named_and_installed_ones_are_not(mine: str, tmp_path: Path) -> None:
    package = mine.partition(".")[0]
    assert extensions.own_modules(method(replay={"kind": f"{mine}:RecentReplay"})) == {package: tmp_path / package}
    assert extensions.own_modules(method()) == {} == extensions.own_modules(Evaluate())
