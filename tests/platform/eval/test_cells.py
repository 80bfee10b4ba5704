"""Cells: scored once, found again by what determines them, and named where they are missing."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Generator, Iterator
from contextlib import suppress
from dataclasses import replace
from itertools import zip_longest
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from ticlm.core.corpus import Corpus
from ticlm.core.errors import InputError, RunError
from ticlm.core.fingerprint import fingerprint
from ticlm.core.store import Store
from ticlm.methods.objectives import Causal
from ticlm.platform.eval import cells as evaluation
from ticlm.platform.eval import fanout
from ticlm.platform.models import folders
from ticlm.platform.results.of_plan import study_result
from ticlm.platform.run import driver
from ticlm.platform.study import plan
from ticlm.platform.study.identity import weights_of
from ticlm.platform.study.plan import Plan
from ticlm.platform.study.settings import Study
from ticlm.platform.study.stored_rounds import published
from ticlm.platform.tasks.answerer import Answerer
from ticlm.platform.tasks.base import Measurement, Task
from ticlm.platform.tasks.cells.cell import Cell
from ticlm.platform.tasks.cells.files import read_cells
from ticlm.platform.tasks.cells.key import CellKey, cell_key
from ticlm.platform.tasks.documents import DocumentPerplexity
from ticlm.platform.tasks.packed_rows import Perplexity, PerplexityOn

MakeStudy = Callable[..., Study]
MakeCorpus = Callable[..., Corpus]
FAST = {"kind": "cosine", "max_rate": 5e-3, "warmup_steps": 1}
PLAIN, HALF = ({"base": base, "schedule": FAST} for base in ("cyclic-cosine", "replay-half"))
TWO = {"initial": "202301", "last": "202302"}


def run(study: Study, root: Path) -> Plan:
    made = plan.make(study, str(root))
    driver.train(made)
    driver.evaluate(made)
    return made


def cells(root: Path) -> list[Cell]:
    store = Store(root)
    found: list[Cell] = []
    for made in store.folders("cells"):
        (file, *_) = store.files(f"cells/{made}")
        weights = str(_weights(store, f"cells/{made}/{file}"))
        found += read_cells(store, weights)
    return found


def _weights(store: Store, path: str) -> Any:
    import pyarrow.parquet as pq

    return pq.ParquetFile(store.path(path)).read().column("weights")[0].as_py()


def files(root: Path, *folders: str) -> dict[str, int]:
    """When each file below these folders was written."""
    return {
        str(path.relative_to(root)): path.stat().st_mtime_ns
        for folder in folders
        for path in (root / folder).rglob("*")
        if path.is_file()
    }


def test_a_cell_is_the_mean_loss_of_the_held_out_rows(toy_root: Path, toy_study: MakeStudy) -> None:
    made = run(toy_study(methods=[PLAIN], periods=TWO), toy_root)
    assert made.corpus is not None
    for key in made.tree.runs[0].rounds.values():
        module = folders.load(toy_root / published(Store(toy_root), made.ids[key])).eval()
        found = {c.evaluated: c for c in read_cells(Store(toy_root), weights_of(made.records[key]))}
        assert set(found) == {"202301", "202302"}
        for label, cell in found.items():
            (rows,) = made.corpus.rows(label, "eval").all(100)
            tokens = torch.from_numpy(rows["tokens"].astype("int64"))
            with torch.no_grad():
                logits = module(input_ids=tokens[:, :-1]).logits
            each = torch.nn.functional.cross_entropy(logits.transpose(1, 2), tokens[:, 1:], reduction="none").mean(1)
            assert cell.value == pytest.approx(float(each.mean()), abs=1e-5)
            assert cell.n == 16 * 16
            assert cell.stderr == pytest.approx(float(each.std()) / 4, rel=1e-3)
            assert (cell.metric, cell.source, cell.task) == ("nll", "", "perplexity@1")


def test_cells_are_reused_by_every_study_that_shares_the_checkpoint(toy_root: Path, toy_study: MakeStudy) -> None:
    first = run(toy_study(methods=[PLAIN], periods=TWO), toy_root)
    assert evaluation.units(first) == []
    before = files(toy_root, "rounds", "cells")
    more = plan.make(toy_study(name="other", methods=[PLAIN, HALF], periods=TWO), str(toy_root))
    assert len(more.records) == 2, "the trunk and the plain method's round are there already"
    assert evaluation.units(more) == []
    driver.train(more)
    (unit,) = evaluation.units(more)
    assert [label for label, _ in unit.jobs[0].cells] == ["202301", "202302"]
    driver.evaluate(more)
    assert evaluation.units(more) == []
    after = files(toy_root, "rounds", "cells")
    assert before.items() <= after.items(), "finished work was written again"
    assert len(cells(toy_root)) == 3 * 2


def test_other_held_out_rows_are_scored_anew_and_only_they(
    toy_root: Path, toy_study: MakeStudy, toy_corpus: MakeCorpus
) -> None:
    run(toy_study(methods=[PLAIN], periods=TWO), toy_root)
    toy_corpus(toy_root / "corpora/changed/toy@1", changed={("202302", "eval"): 1})
    changed = plan.make(
        toy_study(methods=[PLAIN], periods=TWO, corpus=f"{toy_root}/corpora/changed/toy@1"), str(toy_root)
    )
    assert changed.pending() == [], "where a corpus lies and what is held out changes no weights"
    assert [[label for label, _ in unit.jobs[0].cells] for unit in evaluation.units(changed)] == [
        ["202302"],
        ["202302"],
    ]


def test_one_more_month_trains_one_round_per_chain_and_scores_the_new_cells(
    tmp_path: Path, toy_study: MakeStudy, toy_corpus: MakeCorpus
) -> None:
    """Daily use: text is appended, one line of the study changes."""
    months = ("202301", "202302", "202303", "202304")
    toy_corpus(tmp_path / "corpora/toy@1", periods=months[:3])
    three = run(toy_study(periods={"initial": "202301", "last": "202303"}), tmp_path)
    assert len(three.records) == 1 + 2 + 2 + 1
    assert len(cells(tmp_path)) == 6 * 3
    before, scored = files(tmp_path, "rounds", "cells"), cells(tmp_path)

    longer = toy_study(periods={"initial": "202301", "last": "202304"})
    with pytest.raises(InputError, match="has no period 202304"):
        driver.train(plan.make(longer, str(tmp_path)))
    toy_corpus(tmp_path / "corpora/toy@1", periods=months)
    four = plan.make(longer, str(tmp_path))
    assert [len(chain.keys) for chain in four.pending()] == [1, 1], "one round for each of the two continual methods"
    assert {four.tree.rounds[chain.keys[0]].period for chain in four.pending()} == {"202304"}
    run(longer, tmp_path)
    assert before.items() <= files(tmp_path, "rounds", "cells").items(), "an earlier month was touched"
    assert len(Store(tmp_path).folders("rounds")) == 8
    now = cells(tmp_path)
    assert len(now) == 8 * 4
    assert all(cell in now for cell in scored)
    assert {cell.evaluated for cell in now if cell not in scored} == set(months)
    assert sum(cell.evaluated == "202304" for cell in now if cell not in scored) == 8


def test_sources_of_text_have_values_of_their_own(tmp_path: Path, toy_study: MakeStudy, toy_corpus: MakeCorpus) -> None:
    names = ["news"] * 4 + ["wiki"] * 12
    corpus = toy_corpus(tmp_path / "corpora/toy@1", periods=("202301",), sources=names)
    (rows,) = corpus.rows("202301", "eval").all(100)
    made = run(toy_study(methods=[PLAIN], periods={"initial": "202301", "last": "202301"}), tmp_path)
    found = {cell.source: cell for cell in cells(tmp_path)}
    assert set(found) == {"", "news", "wiki"}
    assert {name: cell.n for name, cell in found.items()} == {"": 256, "news": 64, "wiki": 192}
    module = folders.load(tmp_path / published(Store(tmp_path), next(iter(made.ids.values())))).eval()
    tokens = torch.from_numpy(rows["tokens"].astype("int64"))
    with torch.no_grad():
        logits = module(input_ids=tokens[:, :-1]).logits
    each = torch.nn.functional.cross_entropy(logits.transpose(1, 2), tokens[:, 1:], reduction="none").mean(1).numpy()
    for name, cell in found.items():
        mine = np.array([name in ("", n) for n in names])
        assert cell.value == pytest.approx(each[mine].mean(), abs=1e-5)
    frame = study_result(plan.make(made.study, str(tmp_path))).cells
    assert sorted(frame["source"]) == ["", "news", "wiki"]


def test_a_period_without_held_out_rows_is_missing_unless_it_is_named(
    tmp_path: Path, toy_study: MakeStudy, toy_corpus: MakeCorpus
) -> None:
    toy_corpus(tmp_path / "corpora/toy@1", periods=("202301", "202302"))
    toy_corpus(tmp_path / "corpora/toy@1", periods=("202301", "202302", "202303"), held_out=0)
    changes = {"methods": [PLAIN], "periods": {"initial": "202301", "last": "202303"}}
    made = run(toy_study(**changes), tmp_path)
    assert {cell.evaluated for cell in cells(tmp_path)} == {"202301", "202302"}
    result = study_result(made)
    assert result.evaluated == ("202301", "202302", "202303")
    assert result.missing == ("3 cells: period 202303 has no held-out row",)
    named = plan.make(toy_study(**changes, evaluate={"periods": ["202301", "202303"]}), str(tmp_path))
    with pytest.raises(InputError, match=r"evaluate.periods names 202303, which has no eval row"):
        evaluation.units(named)


def test_only_the_named_checkpoints_and_periods_are_scored(toy_root: Path, toy_study: MakeStudy) -> None:
    chosen = {"checkpoints": ["202302", "202304"], "periods": ["202301"]}
    made = run(toy_study(methods=[PLAIN], evaluate=chosen), toy_root)
    assert len(made.records) == 4, "all rounds are trained"
    assert {cell.evaluated for cell in cells(toy_root)} == {"202301"}
    assert len(cells(toy_root)) == 2
    assert evaluation.units(made) == []


def test_blocks_of_rows_do_not_change_a_cell(toy_root: Path, toy_study: MakeStudy) -> None:
    made = run(toy_study(methods=[PLAIN], periods={"initial": "202301", "last": "202301"}), toy_root)
    assert made.corpus is not None
    from ticlm.platform.eval.checkpoint import load_checkpoint
    from ticlm.platform.tasks.packed_rows import Perplexity

    folder = toy_root / published(Store(toy_root), next(iter(made.ids.values())))
    answerer = load_checkpoint(folder, made.study.objective)
    values = [next(iter(Perplexity().measure(answerer, made.corpus, "202302", rows))).value for rows in (1, 5, 100)]
    assert max(values) - min(values) < 1e-5


def test_a_task_may_read_another_corpus_over_its_own_periods(
    toy_root: Path, toy_study: MakeStudy, toy_corpus: MakeCorpus
) -> None:
    toy_corpus(toy_root / "corpora/other@1", periods=("202301", "202302", "202309"), name="other")
    data_source = {"kind": "perplexity-on", "name": "other", "corpus": "other@1"}
    study = toy_study(methods=[PLAIN], periods=TWO, evaluations=[{}, data_source])
    made = run(study, toy_root)
    result = study_result(made)
    found = result.cells[result.cells["task"] == "other@1"]
    assert sorted(zip(found["trained"], found["evaluated"])) == [
        (trained, label) for trained in ("202301", "202302") for label in ("202301", "202302", "202309")
    ]
    assert result.evaluated_by_task == {"other@1": ("202301", "202302", "202309")} and result.missing == ()
    own = result.cells[(result.cells["task"] == "perplexity@1") & (result.cells["evaluated"] == "202302")]
    theirs = found[found["evaluated"] == "202302"]
    assert own["value"].tolist() == theirs["value"].tolist(), "the same rows in another corpus have the same loss"
    assert evaluation.units(plan.make(study, str(toy_root))) == []


def test_another_corpus_must_be_there_and_share_the_tokenizer(
    toy_root: Path, toy_study: MakeStudy, toy_corpus: MakeCorpus
) -> None:
    data_source = {"kind": "perplexity-on", "name": "other", "corpus": "other@1"}
    study = toy_study(methods=[PLAIN], periods=TWO, evaluations=[data_source])
    made = plan.make(study, str(toy_root))
    driver.train(made)
    with pytest.raises(InputError, match="no corpus there"):
        evaluation.units(made)
    toy_corpus(toy_root / "corpora/other@1", vocab_size=32, name="other")
    with pytest.raises(InputError, match=r"evaluations.other: corpus other@1 was cut with another tokenizer than toy"):
        evaluation.units(made)


# --- fan-out: who scores what -----------------------------------------------------------------------------------------

TWO_TASKS = [{}, {"kind": "perplexity-on", "name": "again", "corpus": "toy@1"}]


def trained(root: Path, toy_study: MakeStudy, **changes: Any) -> Plan:
    """A study of three checkpoints and two tasks, trained and not evaluated."""
    made = plan.make(toy_study(methods=[PLAIN, HALF], periods=TWO, evaluations=TWO_TASKS, **changes), str(root))
    driver.train(made)
    return made


def numbers(root: Path) -> set[tuple[str, str, str, float]]:
    return {(cell.weights, cell.task, cell.evaluated, cell.value) for cell in cells(root)}


def test_a_checkpoint_is_loaded_once_for_all_its_tasks_and_periods(
    toy_root: Path, toy_study: MakeStudy, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = trained(toy_root, toy_study)
    loaded: list[Path] = []
    load = folders.load

    def counted(folder: Path, *rest: Any) -> Any:
        loaded.append(folder)
        return load(folder, *rest)

    monkeypatch.setattr(folders, "load", counted)
    driver.evaluate(made)
    assert len(loaded) == len(set(loaded)) == 3 == len(made.records)
    assert len(cells(toy_root)) == 3 * (2 + 4)
    driver.evaluate(made)
    assert len(loaded) == 3, "where nothing is left to score, nothing is loaded"


def test_progress_is_told_cell_by_cell(toy_root: Path, toy_study: MakeStudy) -> None:
    left = evaluation.units(trained(toy_root, toy_study))
    told: list[int] = []
    fanout.here(left, lambda: told.append(len(told)))
    assert len(told) == sum(unit.cells for unit in left) == 18


class Stop(Exception):
    """Stands for a kill where the process must live on."""


@pytest.mark.parametrize("keep_s", [30.0, 0.0])
def test_what_was_kept_before_a_kill_is_not_scored_again(
    toy_root: Path, toy_study: MakeStudy, monkeypatch: pytest.MonkeyPatch, keep_s: float
) -> None:
    """A task is kept when it is through; one that takes long, from time to time before that."""
    monkeypatch.setattr(evaluation, "KEEP_S", keep_s)
    (unit, *_) = evaluation.units(trained(toy_root, toy_study))
    seen: list[tuple[str, str]] = []
    measure = evaluation._cells

    def until(most: int) -> Callable[..., Any]:
        def cells(answerer: Any, store: Any, unit: Any, job: Any, data: Any, label: str, key: str) -> Any:
            if len(seen) == most:
                raise Stop
            seen.append((job.task.name, label))
            return measure(answerer, store, unit, job, data, label, key)

        return cells

    monkeypatch.setattr(evaluation, "_cells", until(3))
    with pytest.raises(Stop):
        evaluation.score(unit)
    monkeypatch.setattr(evaluation, "_cells", until(99))
    seen.clear()
    assert evaluation.score(unit) == 6, "cells that are known count as through"
    again = [("again", label) for label in ("202301", "202302", "202303", "202304")]
    assert seen == (again if keep_s else again[1:])
    seen.clear()
    assert evaluation.score(unit) == 6 and seen == []


@pytest.mark.parametrize("score", [evaluation.progress, fanout._Evaluator().score])
def test_a_unit_of_two_tasks_goes_on_where_another_evaluator_stopped(
    toy_root: Path, toy_study: MakeStudy, score: Callable[..., Generator[None, object, None]]
) -> None:
    """As Ray drives it: it sends what it measured of an item into the generator that yielded the item."""
    (unit, *_) = evaluation.units(trained(toy_root, toy_study))
    evaluation.score(replace(unit, jobs=unit.jobs[:1]))
    assert 0 < len(cells(toy_root)) < 6
    for _ in range(2):  # the second time, all cells are known
        answer, told = score(unit), 1
        next(answer)
        with suppress(StopIteration):
            while True:
                answer.send(object())
                told += 1
        assert told == 6 == len(cells(toy_root))


def test_two_at_once_come_to_the_same_cells(toy_root: Path, toy_study: MakeStudy) -> None:
    (unit, *_) = evaluation.units(trained(toy_root, toy_study))
    one, two = evaluation.progress(unit), evaluation.progress(unit)
    assert len(list(zip_longest(one, two))) == 6, "in turns, cell by cell, each as if it were alone"
    found = cells(toy_root)
    assert len(found) == len({cell.place for cell in found}) == 6
    evaluation.score(unit)
    assert cells(toy_root) == found


@pytest.mark.parametrize(
    ("wanted", "there", "share"),
    [(None, 0.0, 0.0), (None, 4.0, 1.0), (0.25, 1.0, 0.25), (0.0, 8.0, 0.0), (0.0, 0.0, 0.0)],
)
def test_an_evaluator_takes_its_share_of_a_gpu(
    toy_root: Path, toy_study: MakeStudy, wanted: float | None, there: float, share: float
) -> None:
    left = [replace(unit, device="auto") for unit in evaluation.units(trained(toy_root, toy_study))]
    assert fanout.share_of_gpu(wanted, left, there) == share
    on_cpu = [replace(unit, device="cpu") for unit in left]
    assert fanout.share_of_gpu(None, on_cpu, there) == 0.0


def test_a_share_of_a_gpu_that_is_not_there_is_one_line() -> None:
    with pytest.raises(InputError, match=r"evaluator_gpus: 0.25 of a GPU for each, but Ray's cluster has 0"):
        fanout.share_of_gpu(0.25, [], 0.0)


def test_two_tasks_of_one_name_are_refused(toy_study: MakeStudy) -> None:
    with pytest.raises(InputError, match="evaluations: perplexity@1 is named twice"):
        toy_study(evaluations=[{}, {"max_rows": 3}])


class Deadly(Perplexity):
    """Ends its process when it comes to the second period, so many times, and leaves a mark each time."""

    mark: str
    times: int = 1

    def measure(self, answerer: Answerer, data: Corpus, period: str, rows: int) -> Iterator[Measurement]:
        died = len(os.listdir(self.mark))
        if period == "202302" and died < self.times:
            Path(self.mark, str(died)).touch()
            os._exit(1)
        yield from super().measure(answerer, data, period, rows)


@pytest.fixture
def by_value() -> Iterator[None]:
    """Ray's workers cannot import this module."""
    import ray

    module = sys.modules[__name__]
    ray.cloudpickle.register_pickle_by_value(module)
    yield
    ray.cloudpickle.unregister_pickle_by_value(module)


@pytest.mark.ray
@pytest.mark.slow
def test_evaluators_on_ray_come_to_the_same_numbers_though_one_dies(
    tmp_path: Path, toy_study: MakeStudy, toy_corpus: MakeCorpus, ray_local: None, by_value: None
) -> None:
    """Over its second task, when the cells of the first are on the store. There are more evaluators than there is room
    for, too: those wait, and hold up nobody."""
    toy_corpus(tmp_path / "here/corpora/toy@1", periods=("202301", "202302"))
    here = trained(tmp_path / "here", toy_study)
    toy_corpus(tmp_path / "ray/corpora/toy@1", periods=("202301", "202302"))
    made = trained(tmp_path / "ray", toy_study)
    driver.evaluate(here)
    (tmp_path / "marks").mkdir()
    deadly = Deadly(name="again", mark=str(tmp_path / "marks"))
    first, *others = evaluation.units(made)
    jobs = (first.jobs[0], replace(first.jobs[1], task=deadly))
    told: list[int] = []
    fanout.on_ray([replace(first, jobs=jobs), *others], 5, None, lambda: told.append(1))
    assert os.listdir(tmp_path / "marks") == ["0"] and len(told) == 12
    assert numbers(tmp_path / "ray") == numbers(tmp_path / "here")
    assert evaluation.units(made) == []


@pytest.mark.ray
@pytest.mark.slow
def test_an_error_of_the_users_ends_evaluators_in_one_line(
    toy_root: Path, toy_study: MakeStudy, ray_local: None, by_value: None, tmp_path: Path
) -> None:
    left = evaluation.units(trained(toy_root, toy_study))
    with pytest.raises(InputError, match="device: cuda, but torch sees no GPU here"):
        fanout.on_ray([replace(unit, device="cuda") for unit in left], 2, 0.0, lambda: None)
    (tmp_path / "marks").mkdir()
    deadly = Deadly(mark=str(tmp_path / "marks"), times=99)
    dying = [replace(left[0], jobs=(replace(left[0].jobs[0], task=deadly),))]
    with pytest.raises(RunError, match=r"3 evaluators in a row were lost over it .* its process died"):
        fanout.on_ray(dying, 1, None, lambda: None)
    assert len(os.listdir(tmp_path / "marks")) == 3


def test_where_data_lie_is_not_in_the_key_of_their_cells() -> None:
    def key(task: Task) -> str:
        return cell_key("w", task, "202301", "d", Causal())

    here, there = (DocumentPerplexity(name="docs", examples=place) for place in ("docs@1", "/else/docs@1"))
    assert key(here) == key(there) != key(here.model_copy(update={"split": "changed"}))
    ours, theirs = (PerplexityOn(name="other", corpus=place) for place in ("other@1", "s3://bucket/other@1"))
    assert key(ours) == key(theirs) != key(here)
    assert key(Perplexity()) == fingerprint(
        CellKey(weights="w", task=Perplexity(), data="d", objective=Causal(), compute="float32")
    )
