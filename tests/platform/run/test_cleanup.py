"""Upkeep: what no study uses is found, and nothing else."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from ticlm.core.errors import InputError
from ticlm.core.integrity.records import Attempt
from ticlm.core.store import Store
from ticlm.platform.run.cleanup import unused
from ticlm.platform.study.identity import weights_of
from ticlm.platform.study.plan import Plan, make
from ticlm.platform.study.settings import Study
from ticlm.platform.tasks.cells.cell import Cell
from ticlm.platform.tasks.cells.files import write_cells

Studies = Callable[..., Study]
PLAIN = {"base": "cyclic-cosine", "schedule": {"max_rate": 5e-3, "warmup_steps": 1}}
HALF = {"base": "replay-half", "schedule": {"max_rate": 5e-3, "warmup_steps": 1}}


def finished(study: Study, root: Path) -> Plan:
    """The study's plan once every round has a record, weights of 64 bytes and a cell."""
    plan = make(study, str(root))
    assert plan.store is not None
    for key, round_id in plan.ids.items():
        if plan.done(key):
            continue
        attempt = Attempt(plan.store, f"rounds/{round_id[:32]}")
        plan.store.write(f"{attempt.path}/model/model.safetensors", key.encode())
        record = attempt.publish({"parameters": 1000, "measured": {"tokens": 500, "seconds": 2.0}})
        cell = Cell(
            weights=weights_of(record), task="perplexity@1", evaluated="202301", metric="nll", value=1, n=1, key=key
        )
        write_cells(plan.store, [cell])
    return make(study, str(root))


def paths(store: Store, *plans: Plan) -> list[str]:
    return [path for path, _ in unused(store, plans)]


def place(plan: Plan, key: str) -> str:
    return f"rounds/{plan.ids[key][:32]}"


def cells_of(plan: Plan, key: str) -> str:
    return f"cells/{weights_of(plan.records[key])[:16]}"


# what is not used


def test_a_study_uses_all_it_has_made(toy_study: Studies, toy_root: Path) -> None:
    plan = finished(toy_study(), toy_root)
    assert len(Store(toy_root).folders("rounds")) == len(Store(toy_root).folders("cells")) == 8
    assert paths(Store(toy_root), plan) == []


def test_rounds_of_a_method_that_was_left_out_are_not_used_but_those_it_shared_are(
    toy_study: Studies, toy_root: Path
) -> None:
    both = finished(toy_study(methods=[PLAIN, HALF]), toy_root)
    one = make(toy_study(methods=[PLAIN]), str(toy_root))
    gone = set(both.tree.runs[1].rounds.values()) - set(both.tree.runs[0].rounds.values())
    expected = {place(both, key) for key in gone} | {cells_of(both, key) for key in gone}
    assert len(expected) == 6
    assert set(paths(Store(toy_root), one)) == expected
    assert paths(Store(toy_root), one, both) == []


def test_bytes_are_those_of_everything_below(toy_study: Studies, toy_root: Path) -> None:
    plan = finished(toy_study(), toy_root)
    Store(toy_root).write("rounds/stray/a/b", b"12345")
    Store(toy_root).write("rounds/stray/c", b"678")
    assert unused(Store(toy_root), [plan]) == [("rounds/stray", 8)]


def test_attempts_without_the_record_and_folders_of_ray_are_left_over(toy_study: Studies, toy_root: Path) -> None:
    plan = finished(toy_study(), toy_root)
    key = next(iter(plan.ids))
    store = Store(toy_root)
    store.write(f"{place(plan, key)}/killed/steps/3/part", b"x")
    store.write("ray/demo-1/progress", b"x")
    assert set(paths(store, plan)) == {f"{place(plan, key)}/killed", "ray/demo-1"}


def test_an_attempt_that_may_still_be_resumed_is_kept(toy_study: Studies, toy_root: Path) -> None:
    plan = make(toy_study(), str(toy_root))
    store = Store(toy_root)
    store.write(f"{place(plan, next(iter(plan.ids)))}/running/steps/3/part", b"x")
    assert paths(store, plan) == []


def test_other_rows_leave_the_rounds_of_the_old_ones_unused(
    toy_study: Studies, toy_root: Path, toy_corpus: Callable[..., object]
) -> None:
    old = finished(toy_study(methods=[PLAIN]), toy_root)
    Store(toy_root).remove("corpora/toy@1")
    toy_corpus(toy_root / "corpora/toy@1", changed={("202304", "train"): 1})
    new = make(toy_study(methods=[PLAIN]), str(toy_root))
    last = old.tree.runs[0].rounds["202304"]
    assert paths(Store(toy_root), new) == [place(old, last), cells_of(old, last)]


def test_nothing_is_called_unused_while_the_data_of_a_study_are_away(
    toy_study: Studies, toy_root: Path, tmp_path: Path
) -> None:
    """Without them its rounds have no ids, and all its finished work would seem to belong to nobody."""
    whole = finished(toy_study(), toy_root)
    last = toy_root / "corpora/toy@1/periods/202304"
    last.rename(tmp_path / "202304")
    with pytest.raises(InputError, match="what study toy uses is not known: corpus toy has no period 202304"):
        unused(Store(toy_root), [whole, make(toy_study(), str(toy_root))])
    (toy_root / "corpora").rename(tmp_path / "corpora")
    with pytest.raises(InputError, match="has no period 202301"):
        unused(Store(toy_root), [make(toy_study(), str(toy_root))])
