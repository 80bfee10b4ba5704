"""One flipped bit in what a run reads: it is named, and what is said to help gives the same bits; nothing is silent."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
from finished import results, run

from ticlm.core.errors import InputError
from ticlm.core.paths import RECORD
from ticlm.core.store import Store
from ticlm.platform.eval.model_folder import find
from ticlm.platform.eval.sample import generate
from ticlm.platform.run import driver
from ticlm.platform.study.plan import Plan, make
from ticlm.platform.study.settings import Study

Studies = Callable[..., Study]
PLAIN = {"base": "cyclic-cosine", "schedule": {"max_rate": 5e-3, "warmup_steps": 1}}
STUDY = {"methods": [PLAIN], "periods": {"initial": "202301", "step": "month", "last": "202303"}}
FEW = [0, 1, pytest.param(range(2, 12), marks=pytest.mark.nightly)]


@pytest.fixture(scope="module")
def template(toy_template: Path, toy_study: Studies, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished root of three rounds in one chain."""
    root = tmp_path_factory.mktemp("finished") / "root"
    shutil.copytree(toy_template, root)
    run(toy_study(**STUDY), root)
    return root


def flip(file: Path, seed: int) -> None:
    """Flip one bit of a file, in place."""
    data = bytearray(file.read_bytes())
    bit = int(np.random.default_rng(seed).integers(len(data) * 8))
    data[bit // 8] ^= 1 << bit % 8
    file.write_bytes(data)


def seeds(given: int | range) -> Iterator[int]:
    yield from [given] if isinstance(given, int) else given


def folder(plan: Plan, number: int) -> str:
    """The folder of the round at this place of the chain."""
    return f"rounds/{plan.ids[list(plan.tree.rounds)[number]][:32]}"


def follow(error: InputError, root: Path) -> str:
    """Remove what the message says; returns it, relative to the root."""
    found = re.search(
        r"; remove (\S+) (to train this round again|and append it again with ticlm data build RECIPE)$", str(error)
    )
    assert found is not None and "\n" not in str(error), error
    Store(root).remove(Path(found[1]).relative_to(root).as_posix())
    return Path(found[1]).relative_to(root).as_posix()


@pytest.mark.parametrize("split", ["train", "eval"])
@pytest.mark.parametrize("seed", FEW)
def test_a_damaged_shard_is_neither_trained_on_nor_scored(
    root: Path, toy_study: Studies, toy_corpus: Callable[..., object], split: str, seed: int | range
) -> None:
    study = toy_study(**STUDY)
    before = make(study, str(root))
    expected = results(before)
    for one in seeds(seed):
        for number in (1, 2):
            Store(root).remove(folder(before, number))
        Store(root).remove("cells")
        (file,) = (root / "corpora/toy@1/periods/202302").glob(f"*/{split}/part-00000.parquet")
        flip(file, one)
        with pytest.raises(InputError, match=f"^shard {file}: its hash differs from the record's; remove ") as caught:
            run(study, root)
        assert follow(caught.value, root) == "corpora/toy@1/periods/202302"
        toy_corpus(root / "corpora/toy@1")  # which, like a build, adds the periods that are not there
        assert results(run(study, root)) == expected


@pytest.mark.parametrize("seed", FEW)
def test_a_damaged_parent_is_not_trained_on(root: Path, toy_study: Studies, seed: int | range) -> None:
    study = toy_study(**STUDY)
    before = make(study, str(root))
    expected = results(before)
    for one in seeds(seed):
        Store(root).remove(folder(before, 2))
        (file,) = (root / folder(before, 1)).glob("*/model/model.safetensors")
        flip(file, one)
        with pytest.raises(InputError, match=f"^model file {file}: its hash differs from the record's; ") as caught:
            run(study, root)
        assert follow(caught.value, root) == folder(before, 1)
        assert results(run(study, root)) == expected


@pytest.mark.parametrize("seed", FEW)
def test_a_damaged_checkpoint_is_neither_scored_nor_sampled(root: Path, toy_study: Studies, seed: int | range) -> None:
    study = toy_study(**STUDY)
    before = make(study, str(root))
    expected = results(before)
    for one in seeds(seed):
        Store(root).remove("cells")
        (file,) = (root / folder(before, 0)).glob("*/model/model.safetensors")
        flip(file, one)
        said = (
            f"^model file {file}: its hash differs from the record's; remove {root / folder(before, 0)} to train this"
        )
        with pytest.raises(InputError, match=said):
            generate(str(root), find(str(root), folder(before, 0)[7:]), "w1", 2, 0.0, 0)
        with pytest.raises(InputError, match=said) as caught:
            run(study, root)
        assert follow(caught.value, root) == folder(before, 0)
        assert results(run(study, root)) == expected


def test_a_file_beside_the_weights_counts_too(root: Path, toy_study: Studies) -> None:
    study = toy_study(**STUDY)
    Store(root).remove("cells")
    (file,) = (root / folder(make(study, str(root)), 0)).glob("*/model/tokenizer.json")
    flip(file, 0)
    with pytest.raises(InputError, match=f"model file {file}: its hash differs"):
        run(study, root)


@pytest.mark.parametrize("place", [0, 1, 2])
def test_a_round_whose_record_is_removed_is_trained_again_to_the_same_bits(
    root: Path, toy_study: Studies, place: int
) -> None:
    """In the middle of a chain too, where what is left to do ends above a round that is done."""
    study = toy_study(**STUDY)
    before = make(study, str(root))
    expected = results(before)
    record = root / folder(before, place) / RECORD
    record.write_text("{")
    with pytest.raises(InputError, match=f"^{record} is damaged .*; remove it to redo this work$"):
        make(study, str(root))
    record.unlink()
    assert results(run(study, root)) == expected


def test_an_imported_model_that_changes_under_a_run_is_not_trained_on(
    root: Path, toy_study: Studies, tmp_path: Path
) -> None:
    """Its hash is part of the ids of the rounds, and was read when the run was planned."""
    plan = make(toy_study(**STUDY), str(root))
    (model,) = (root / folder(plan, 0)).glob("*/model")
    shutil.copytree(model, tmp_path / "start")
    start = {"kind": "folder", "path": str(tmp_path / "start"), "as_of": "202301"}
    changed = make(toy_study(**STUDY, model=start), str(root))
    flip(tmp_path / "start/model.safetensors", 0)
    with pytest.raises(InputError, match=r"start was changed since the run began"):
        driver.train(changed)
    assert not any(plan.store and plan.store.exists(f"rounds/{round_[:32]}") for round_ in changed.ids.values())
