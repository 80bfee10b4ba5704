"""What a user's own class does wrong is one line: the class, the error and the place."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest

from ticlm.core import extensions
from ticlm.core.errors import InputError, RunError
from ticlm.core.reading import own_faults
from ticlm.platform.study.plan import make
from ticlm.platform.study.settings import Study

FAULTS = """
    from ticlm.methods.method import Continual
    from ticlm.methods.seams import Replay, Schedule
    from ticlm.core.mixture import Mixture, Source, allot


    class Divides(Replay):
        def mixture(self, seen, budget):
            return Mixture.of(allot(budget // (len(seen) - len(seen)), {seen[-1]: 1}))


    class Weighs(Replay):
        def mixture(self, seen, budget):
            return Mixture.of(allot(budget, {seen[-1]: -1}))


    class Wastes(Replay):
        def mixture(self, seen, budget):
            return Mixture.of({seen[-1]: budget - 1})


    class Invents(Replay):
        def mixture(self, seen, budget):
            return Mixture.of({Source(corpus="other@1", period="202301"): budget})


    class Returns(Replay):
        def mixture(self, seen, budget):
            return None


    class Mistypes(Replay):
        def mixture(self, seen, budget):
            return Mixture(shares=({"source": seen[-1], "tokens": "many"},))


    class Ends(Replay):
        def mixture(self, seen, budget):
            return next(iter(()))


    class Reads(Replay):
        def mixture(self, seen, budget):
            return self.windw


    class Bare(Replay):
        window: int = 3


    class Checks(Schedule):
        def rate(self, step, position):
            return 1.0

        def check(self, position):
            return helper()


    def helper():
        raise KeyError("a", "b")


    class Lays(Continual):
        def round_requests(self, timeline):
            yield timeline.first()
            raise OSError(5, "out of order")
"""


@pytest.fixture
def faults(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    name = f"faults_{tmp_path.name.replace('-', '_')}"
    (tmp_path / f"{name}.py").write_text(dedent(FAULTS))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    yield name


REPLAYS = {
    "Divides": (".mixture raised ZeroDivisionError: integer division or modulo by zero", 9),
    "Weighs": (".mixture: raised ValueError: weights must not be negative", 14),
    "Wastes": (": ValueError: its mixture has 255 tokens, the budget is 256", None),
    "Invents": (": ValueError: its mixture draws from other@1/202301/train, which it was not given", None),
    "Returns": (": ValueError: mixture returns a Mixture, got NoneType", None),
    "Mistypes": (".mixture raised ValidationError: shares.0.tokens: must be a whole number, got 'many'", 34),
    "Ends": (".mixture raised StopIteration", 39),
    "Reads": (".mixture raised AttributeError: 'Reads' object has no attribute 'windw'", 44),
}


@pytest.mark.parametrize("name", REPLAYS)
def test_a_replay_that_goes_wrong_is_named_with_its_error_and_line(
    faults: str, toy_study: Callable[..., Study], name: str
) -> None:
    said, line = REPLAYS[name]
    study = toy_study(methods=[{"base": "cyclic-cosine", "replay": {"kind": f"{faults}:{name}"}}])
    with pytest.raises(InputError) as refused, own_faults.faults_as(InputError):
        make(study, None)
    message = str(refused.value)
    assert message.startswith(f"{faults}:{name}{said.replace(': raised', ' raised')}"), message
    assert message.endswith(f"({faults}.py:{line})" if line else f"({faults}.py)") and "\n" not in message


def test_a_schedule_and_a_method_are_named_too(faults: str, toy_study: Callable[..., Study]) -> None:
    parts: list[dict[str, Any]] = [
        {"base": "cyclic-cosine", "schedule": {"kind": f"{faults}:Checks"}},
        {"kind": f"{faults}:Lays", "name": "lays"},
    ]
    for part, said in zip(parts, (f"{faults}:helper of {faults}:Checks raised KeyError", f"{faults}:Lays.round_requ")):
        with pytest.raises(RunError, match=said), own_faults.faults_as(RunError):
            make(toy_study(methods=[part]), None)


def test_a_class_without_a_method_of_its_base_is_refused_before_it_is_used(
    faults: str, toy_study: Callable[..., Study]
) -> None:
    with pytest.raises(InputError, match=f"{faults}:Bare has no method mixture, which every Replay needs"):
        toy_study(methods=[{"base": "cyclic-cosine", "replay": {"kind": f"{faults}:Bare"}}])


def test_a_class_that_came_by_pickle_is_known_without_having_been_looked_up(
    faults: str, toy_study: Callable[..., Study], monkeypatch: pytest.MonkeyPatch
) -> None:
    """So are those of a worker."""
    study = toy_study(methods=[{"base": "cyclic-cosine", "replay": {"kind": f"{faults}:Divides"}}])
    monkeypatch.setattr(extensions, "MODULES", set())
    with pytest.raises(RunError, match=rf"Divides.mixture raised .* \({faults}.py:9\)"), own_faults.faults_as(RunError):
        make(study, None)


def test_only_the_errors_asked_for_are_told_in_a_line(faults: str, toy_study: Callable[..., Study]) -> None:
    """One of a machine may go away by itself, so that what failed is tried again."""
    study = toy_study(methods=[{"kind": f"{faults}:Lays", "name": "lays"}])
    with pytest.raises(OSError), own_faults.faults_as(RunError, own_faults.PROGRAMMING):
        make(study, None)


def test_an_error_of_ours_stays_one_of_ours() -> None:
    with pytest.raises(ZeroDivisionError), own_faults.faults_as(RunError):
        _ = 1 // 0
    with pytest.raises(InputError, match="mine"), own_faults.faults_as(RunError):
        raise InputError("mine")
