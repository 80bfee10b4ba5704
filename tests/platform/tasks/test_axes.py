"""The axis of a task: a kind of task that no other module knows goes the whole way, from the plan to results."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import pytest

from ticlm.core.errors import InputError
from ticlm.core.fingerprint import fingerprint
from ticlm.core.settings import parse
from ticlm.core.store import Store
from ticlm.platform.eval import cells as evaluation
from ticlm.platform.eval import folder
from ticlm.platform.eval.folder import Scoring
from ticlm.platform.results.of_plan import study_result
from ticlm.platform.run import driver
from ticlm.platform.study import plan
from ticlm.platform.study.settings import Study
from ticlm.platform.study.stored_rounds import published
from ticlm.platform.tasks.answerer import Answerer
from ticlm.platform.tasks.base import Measurement, Reads, Task
from ticlm.platform.tasks.cells.cell import Axis, Cell
from ticlm.platform.tasks.cells.files import read_cells
from ticlm.platform.tasks.packed_rows import Perplexity

if TYPE_CHECKING:
    from ticlm.platform.tasks.base import Data

METHOD = {"base": "cyclic-cosine", "schedule": {"kind": "cosine", "max_rate": 5e-3, "warmup_steps": 1}}


class Probes(Task):
    """The log-probability of facts, each a (question, answer) pair with a name: neither a period nor a benchmark."""

    kind: Literal["probes"] = "probes"
    name: str = "facts"
    facts: tuple[tuple[str, str, str], ...]
    needs: str = ""
    reads: ClassVar[Reads] = "nothing"
    metric: ClassVar[str] = "logprob"

    @property
    def axis(self) -> Axis:
        return "probe"

    @property
    def chosen_checkpoints(self) -> Literal["last"]:
        return "last"

    def labels(self, data: Data, periods: Sequence[str]) -> tuple[str, ...]:
        return tuple(name for name, _, _ in self.facts)

    def hashes(self, data: Data, labels: Sequence[str]) -> dict[str, str]:
        return {fact[0]: fingerprint(fact) for fact in self.facts if fact[0] in labels and fact[2]}

    def identity_at(self, label: str) -> Task:
        return self.model_copy(update={"facts": ()})

    def require(self) -> None:
        if self.needs:
            raise InputError(f"facts need {self.needs}")

    def measure(self, answerer: Answerer, data: Any, label: str, rows: int) -> Iterator[Measurement]:
        _, question, answer = next(fact for fact in self.facts if fact[0] == label)
        (answered,) = answerer.score([(question, f" {answer}")])
        assert not isinstance(answered, str)
        yield Measurement("logprob", answered.logprob, answered.tokens)
        yield Measurement("a word that was replaced", 1.0, 1, kind="left out")


KNOWN, OTHER, EMPTY = ("known", "w1 w2", "w3"), ("other", "w5", "w6 w7"), ("empty", "w1", "")


def test_a_set_of_probes_is_planned_scored_and_reported_beside_periods(
    toy_root: Path, toy_study: Callable[..., Study]
) -> None:
    periods = {"initial": "202301", "last": "202302"}
    settings = {"methods": [METHOD], "periods": periods, "evaluate": {"periods": ["202301", "202302"]}}
    probes = Probes(facts=(KNOWN, OTHER, EMPTY))
    made = plan.make(toy_study(**settings, evaluations=[{}, probes]), str(toy_root))
    assert made.labels(probes) == ("known", "other", "empty") and made.labels(Perplexity()) == made.evaluated()
    driver.train(made)
    left = evaluation.units(made)
    assert sorted(unit.cells for unit in left) == [2, 4], "probes are asked of the last checkpoint alone"
    driver.evaluate(made)
    assert evaluation.units(made) == []
    more = toy_study(**settings, evaluations=[Probes(facts=(OTHER, KNOWN, ("new", "w1", "w2")))])
    (unit,) = evaluation.units(plan.make(more, str(toy_root)))
    assert [label for job in unit.jobs for label, _ in job.cells] == ["new"], "a fact is known by what it asks"

    kept = {cell for cell in read_cells(Store(toy_root), unit.weights) if cell.task == "facts@1"}
    assert {(c.axis, c.evaluated, c.source, c.kind) for c in kept} == {
        ("probe", label, "", kind) for label in ("known", "other") for kind in ("value", "left out")
    }
    result = study_result(made)
    assert set(result.cells["task"]) == {"perplexity@1"} and set(result.static["trained"]) == {"202302"}
    assert list(zip(result.static["source"], result.static["metric"])) == [("known", "logprob"), ("other", "logprob")]
    assert result.missing == (
        "1 cells: probe empty has nothing to score",
        "facts@1: 2 questions left out: a word that was replaced",
    )
    model = published(Store(toy_root), made.ids[made.tree.runs[0].rounds["202302"]])
    asked = folder.unit(Store(toy_root), str(toy_root / model), parse(Scoring, {"evaluations": [probes]}, "test"))
    rows = folder.scores(asked)
    assert {(row.period, row.found.source, row.found.value) for row in rows if row.found.kind == "value"} == {
        ("", cell.evaluated, cell.value) for cell in kept if cell.kind == "value"
    }


def test_what_a_task_needs_is_asked_only_where_something_is_left_to_score(tmp_path: Path) -> None:
    task = Probes(facts=(KNOWN,), needs="a library")
    done = evaluation.TaskCells(task, "", ())
    assert evaluation.left(Store(tmp_path), "w" * 16, [done]) == ()
    with pytest.raises(InputError, match="facts need a library"):
        evaluation.left(Store(tmp_path), "w" * 16, [evaluation.TaskCells(task, "", (("known", "key"),))])


def test_a_measurement_is_told_by_its_kind_and_not_by_what_its_metric_is_called() -> None:
    value = Measurement("left out", 0.5, 8)
    count = Measurement("left out", 2.0, 2, kind="left out")
    assert (value.title, count.title) == ("left out", "left out: left out")
    place = {"weights": "w" * 16, "task": "t@1", "evaluated": "202301", "key": "k"}
    cells = [
        Cell(**place, kind=one.kind, metric=one.metric, value=one.value, n=one.n, source=one.source)
        for one in (value, count)
    ]
    assert [Measurement.of(cell) for cell in cells] == [value, count]
    assert cells[0].place != cells[1].place
