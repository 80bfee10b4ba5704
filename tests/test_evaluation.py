"""Cells: scored once, found again by what determines them, and named where they are missing."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from ticlm.platform import driver, evaluation, model, plan
from ticlm.platform.errors import InputError
from ticlm.platform.identity import weights_of
from ticlm.platform.outcome import study_result
from ticlm.platform.plan import Plan
from ticlm.platform.results import Cell, read_cells
from ticlm.platform.rows import to_parquet
from ticlm.platform.shards import Corpus
from ticlm.platform.store import Store
from ticlm.platform.study import Study
from ticlm.platform.work import published

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
        module = model.load(toy_root / published(Store(toy_root), made.ids[key])).eval()
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
    """DESIGN, "daily use": text is appended, one line of the study changes."""
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


def test_sources_of_text_have_values_of_their_own(toy_root: Path, toy_study: MakeStudy) -> None:
    corpus = Corpus.open(f"{toy_root}/corpora/toy@1")
    (path,) = corpus.files("202301", "eval")
    (rows,) = corpus.rows("202301", "eval").all(100)
    names = ["news"] * 4 + ["wiki"] * 12
    corpus.store.write(path, to_parquet(rows, corpus.info.columns, names))
    made = run(toy_study(methods=[PLAIN], periods={"initial": "202301", "last": "202301"}), toy_root)
    found = {cell.source: cell for cell in cells(toy_root)}
    assert set(found) == {"", "news", "wiki"}
    assert {name: cell.n for name, cell in found.items()} == {"": 256, "news": 64, "wiki": 192}
    module = model.load(toy_root / published(Store(toy_root), next(iter(made.ids.values())))).eval()
    tokens = torch.from_numpy(rows["tokens"].astype("int64"))
    with torch.no_grad():
        logits = module(input_ids=tokens[:, :-1]).logits
    each = torch.nn.functional.cross_entropy(logits.transpose(1, 2), tokens[:, 1:], reduction="none").mean(1).numpy()
    for name, cell in found.items():
        mine = np.array([name in ("", n) for n in names])
        assert cell.value == pytest.approx(each[mine].mean(), abs=1e-5)
    frame = study_result(plan.make(made.study, str(toy_root))).cells
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
    from ticlm.platform.answerer import Checkpoint
    from ticlm.platform.tasks import Perplexity

    folder = toy_root / published(Store(toy_root), next(iter(made.ids.values())))
    answerer = Checkpoint(folder, made.study.objective)
    values = [next(iter(Perplexity().measure(answerer, made.corpus, "202302", rows))).value for rows in (1, 5, 100)]
    assert max(values) - min(values) < 1e-5


def test_a_task_may_read_another_corpus_over_its_own_periods(
    toy_root: Path, toy_study: MakeStudy, toy_corpus: MakeCorpus
) -> None:
    toy_corpus(toy_root / "corpora/other@1", periods=("202301", "202302", "202309"), name="other")
    elsewhere = {"kind": "perplexity-on", "name": "other", "corpus": "other@1"}
    study = toy_study(methods=[PLAIN], periods=TWO, evaluations=[{}, elsewhere])
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
    elsewhere = {"kind": "perplexity-on", "name": "other", "corpus": "other@1"}
    study = toy_study(methods=[PLAIN], periods=TWO, evaluations=[elsewhere])
    made = plan.make(study, str(toy_root))
    driver.train(made)
    with pytest.raises(InputError, match="no corpus there"):
        evaluation.units(made)
    toy_corpus(toy_root / "corpora/other@1", vocab_size=32, name="other")
    with pytest.raises(InputError, match=r"evaluations.other: corpus other@1 was cut with another tokenizer than toy"):
        evaluation.units(made)
