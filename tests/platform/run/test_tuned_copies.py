"""Tuned copies: leaf rounds that train on a corpus of their own, beside the chains, before a task scores them."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from pathlib import Path
from threading import Event
from typing import Any

import pytest

from ticlm.core.corpus import Corpus
from ticlm.core.errors import FutureMonthError, InputError, NotBuilt
from ticlm.methods.objectives import Causal
from ticlm.platform.results.of_plan import study_result
from ticlm.platform.run import driver, scheduler
from ticlm.platform.run.startable import startable
from ticlm.platform.run.trainers import InProcess
from ticlm.platform.study import plan
from ticlm.platform.study.external_inputs import external_inputs
from ticlm.platform.study.plan import Plan
from ticlm.platform.study.settings import Study
from ticlm.platform.study.work import ChainWork, work_of
from ticlm.platform.tasks.base import Prepare
from ticlm.platform.train.loader import LoaderSpec, RankReader

MakeStudy = Callable[..., Study]
MakeCorpus = Callable[..., Corpus]
TWO = {"initial": "202301", "last": "202302"}
PLAIN = {"base": "cyclic-cosine", "schedule": {"max_rate": 5e-3, "warmup_steps": 1}}
SLOW = {"base": "cyclic-cosine", "name": "slow", "schedule": {"max_rate": 1e-3, "warmup_steps": 1}}


@pytest.fixture
def root(toy_root: Path, toy_corpus: MakeCorpus) -> Path:
    """A root with the study's corpus, and another whose periods have other rows."""
    toy_corpus(toy_root / "corpora/light@2", name="light", changed={(p, "tune"): 7 for p in ("202301", "202302")})
    return toy_root


def made(toy_study: MakeStudy, root: Path, prepare: Mapping[str, Any] | None = None, **changes: Any) -> Plan:
    task = {"name": "tuned", "prepare": {"steps": 2} | dict(prepare or {})}
    return plan.make(toy_study(**{"methods": [PLAIN], "periods": TWO, "evaluations": [{}, task]} | changes), str(root))


def copies(found: Plan) -> dict[str, str]:
    """Return the id of the tuned copy of each checkpoint, by its period."""
    leaves = {found.tree.rounds[key].period: leaf for (key, _), leaf in found.tree.leaves.items()}
    return {period: found.ids.get(leaf, "") for period, leaf in leaves.items()}


def test_a_copy_on_another_corpus_is_another_round_and_trains_on_its_rows(toy_study: MakeStudy, root: Path) -> None:
    own, light = made(toy_study, root), made(toy_study, root, {"corpus": "light@2"})
    assert all(own.ids[key] == light.ids[key] for key in own.tree.runs[0].rounds.values())
    assert not set(copies(own).values()) & set(copies(light).values())
    work = work_of(light, light.chains[-1])
    (batch, _) = RankReader(LoaderSpec(work.rounds, work.corpora)).read(0)
    there = Corpus.open(str(root / "corpora/light@2")).rows("202302", "tune")
    rows = {bytes(row) for block in there.all(100) for row in block["tokens"]}
    assert {bytes(row) for row in batch.columns["tokens"]} <= rows
    driver.train(light)
    driver.evaluate(light)
    cells = study_result(light).cells
    assert cells.groupby("task").size().to_dict() == {"perplexity@1": 4, "tuned@1": 4}


def test_where_the_corpus_lies_is_no_identity_and_its_rows_are(
    toy_study: MakeStudy, root: Path, tmp_path: Path, toy_corpus: MakeCorpus
) -> None:
    first = copies(made(toy_study, root, {"corpus": "light@2"}))
    shutil.copytree(root / "corpora/light@2", tmp_path / "else@9")
    assert copies(made(toy_study, root, {"corpus": str(tmp_path / "else@9")})) == first
    shutil.rmtree(tmp_path / "else@9")
    toy_corpus(tmp_path / "else@9", changed={("202302", "tune"): 8, ("202301", "tune"): 7})
    other = copies(made(toy_study, root, {"corpus": str(tmp_path / "else@9")}))
    assert other["202301"] == first["202301"] and other["202302"] != first["202302"]


def test_a_stated_period_is_read_for_every_checkpoint(toy_study: MakeStudy, root: Path) -> None:
    found = made(toy_study, root, {"corpus": "light@2", "period": "202301"})
    leaves = [found.tree.rounds[leaf] for leaf in found.tree.leaves.values()]
    assert [(leaf.period, leaf.sources[0].period) for leaf in leaves] == [("202301", "202301"), ("202302", "202301")]


def test_a_period_later_than_the_checkpoint_is_refused_unless_the_corpus_is_from_outside(
    toy_study: MakeStudy, root: Path
) -> None:
    later = {"corpus": "light@2", "period": "202302"}
    said = "evaluations.tuned.prepare at period 202301 would read period 202302, which lies in its future"
    with pytest.raises(FutureMonthError, match=said):
        made(toy_study, root, later)
    declared = made(toy_study, root, later | {"as_of": "202302"})
    assert "tuned copies for tuned@1: corpus light@2, as of 202302" in external_inputs(declared)
    with pytest.raises(FutureMonthError, match=r"first_periods: 1; the corpus of the tuned copies for tuned"):
        made(toy_study, root, later | {"as_of": "202302"}, first_periods=1)
    with pytest.raises(InputError, match="as_of declares a corpus from outside the timeline: give corpus and period"):
        made(toy_study, root, {"as_of": "202302"})


def test_what_cannot_be_trained_on_is_one_line(
    toy_study: MakeStudy, root: Path, tmp_path: Path, toy_corpus: MakeCorpus
) -> None:
    def said(**prepare: Any) -> str:
        with pytest.raises(InputError) as caught:
            driver.train(made(toy_study, root, prepare))
        assert "\n" not in str(caught.value)
        return str(caught.value)

    assert "no corpus there" in said(corpus="nowhere@1")
    toy_corpus(tmp_path / "wide@1", vocab_size=65)
    assert "was cut with another tokenizer" in said(corpus=str(tmp_path / "wide@1"))
    toy_corpus(tmp_path / "short@1", length=8)
    assert "the corpus toy@1 was cut into rows of 8; set length: 8" in said(corpus=str(tmp_path / "short@1"))
    toy_corpus(tmp_path / "toy@1")
    assert re.search("are both called toy@1; rename one", said(corpus=str(tmp_path / "toy@1")))
    toy_corpus(tmp_path / "old@1", periods=["202301"], name="old")
    assert "corpus old@1 has no period 202302; it has 202301" in said(corpus=str(tmp_path / "old@1"))


def watched(found: Plan, monkeypatch: pytest.MonkeyPatch, seconds: float = 0.0) -> list[str]:
    """Train with a trainer that only notes what begins and ends, and publishes what chains need; return the notes."""
    notes: list[str] = []

    class Watched(InProcess):
        def fit(self, work: ChainWork, share: tuple[int, int], report: Any) -> None:
            notes.append(f"begin {work.label.partition(' ')[2]} {share}")
            super().fit(work, (1, 1), report)
            notes.append(f"end {work.label.partition(' ')[2]}")

    monkeypatch.setattr(driver, "trainer_of", lambda plan, stop: nullcontext(Watched(stop)))
    driver.train(found)
    return notes


def test_in_one_process_copies_train_one_after_another_and_after_the_chains(
    toy_study: MakeStudy, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = made(toy_study, root, {"corpus": "light@2"}, methods=[PLAIN, SLOW])
    notes = watched(found, monkeypatch)
    names = [note.split(" (")[0] for note in notes]
    assert [name.split()[0] for name in names] == ["begin", "end"] * 6
    assert ["tuned for" in name for name in names] == [False] * 6 + [True] * 6


def test_copies_have_workers_and_slots_of_their_own(toy_study: MakeStudy, root: Path) -> None:
    resources = {"workers": 4, "chains": 2, "tuned_copies": 4}
    found = made(toy_study, root, methods=[PLAIN, SLOW], resources=resources)
    trunk, *others = found.chains
    chains, tuned = [c for c in others if not c.is_side], [c for c in others if c.is_side]
    assert [found.share(c) for c in (trunk, *chains)] == [(4, 4), (2, 2), (2, 2)]
    assert [found.share(c) for c in tuned] == [(1, 1)] * 3
    alone = made(toy_study, root, methods=[PLAIN, SLOW], resources=resources, evaluations=[{}])
    assert [alone.share(c) for c in alone.chains] == [found.share(c) for c in (trunk, *chains)]
    assert startable(found, list(found.chains), []) == [trunk]
    found.records = {trunk.keys[0]: None}  # type: ignore[dict-item]
    assert startable(found, others, []) == [*chains, tuned[0]], "they hold up no chain"
    assert startable(found, tuned, chains) == [tuned[0]], "nor does a chain hold up them"
    found.records |= {chain.keys[0]: None for chain in chains}  # type: ignore[misc]
    assert startable(found, tuned, []) == tuned
    few = made(toy_study, root, methods=[PLAIN, SLOW], resources=resources | {"tuned_copies": 2})
    few.records = found.records
    assert startable(few, tuned, []) == tuned[:2] and startable(few, tuned[2:], tuned[:2]) == []


def test_a_copy_begins_while_the_chain_above_it_goes_on(
    toy_study: MakeStudy, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scheduler, "SIDE_POLL_S", 0.05)
    found = made(toy_study, root, {"corpus": "light@2"}, resources={"trainer": "ray", "device": "cpu"})
    begun = Event()

    class Threaded(InProcess):
        room = 2

        def fit(self, work: ChainWork, share: tuple[int, int], report: Any) -> None:
            from ticlm.platform.models.sharding import Workers
            from ticlm.platform.train.trainer import run_chain

            def wait(event: Mapping[str, Any]) -> None:
                if event["period"] != "202301":
                    waited.append(begun.wait(20))

            if "tuned for" in work.label:
                begun.set()
            run_chain(work, Workers(), wait)

    waited: list[bool] = []
    monkeypatch.setattr(driver, "trainer_of", lambda plan, stop: nullcontext(Threaded(stop)))
    monkeypatch.setattr(driver, "connected", lambda *_: nullcontext(""))
    driver.train(found)
    assert waited and all(waited[:1]) and len(found.records) == 4


def test_a_budget_in_epochs_counts_the_rows_of_the_copy_s_corpus(toy_study: MakeStudy, root: Path) -> None:
    """16 rows to tune on, in batches of 3: two epochs are ten steps and two rows, which fill none."""
    found = made(toy_study, root, {"steps": None, "epochs": 2, "batch_rows": 3, "corpus": "light@2"})
    leaves = [found.tree.rounds[leaf] for leaf in found.tree.leaves.values()]
    assert [(leaf.steps, leaf.recipe.batch_rows, leaf.unspent) for leaf in leaves] == [(10, 3, 2 * 16)] * 2
    (batch, *_) = RankReader(LoaderSpec(tuple(leaves[:1]), work_of(found, found.chains[-1]).corpora)).read(0)
    assert len(batch.columns["tokens"]) == 3
    assert work_of(found, found.chains[-1]).micro_rows == 3, "a copy on one worker has one micro-batch"
    with pytest.raises(InputError, match=r"0\.1 epochs of light@2/202301/tune are 1 rows, too few for a step"):
        made(toy_study, root, {"steps": None, "epochs": 0.1, "corpus": "light@2"})
    with pytest.raises(InputError, match="give steps or epochs"):
        made(toy_study, root, {"epochs": 2})


def test_before_there_is_a_corpus_a_plan_counts_the_rows_that_are_expected(toy_study: MakeStudy) -> None:
    task = {"name": "tuned", "prepare": {"epochs": 3, "expected_rows": 40, "corpus": "nowhere@1"}}
    found = plan.make(toy_study(methods=[PLAIN], periods=TWO, evaluations=[task]), None)
    assert {found.tree.rounds[leaf].steps for leaf in found.tree.leaves.values()} == {30}
    task["prepare"] = {"epochs": 3, "corpus": "nowhere@1"}
    with pytest.raises(
        NotBuilt, match=r"evaluations\.tuned\.prepare\.epochs counts the rows of 202301, which no corpus"
    ):
        plan.make(toy_study(methods=[PLAIN], periods=TWO, evaluations=[task]), None)


def test_a_copy_has_shorter_rows_with_padding_that_is_never_a_target(
    toy_study: MakeStudy, root: Path, toy_corpus: MakeCorpus
) -> None:
    toy_corpus(root / "corpora/short@1", length=8, name="short")
    own = {"corpus": "short@1", "length": 8, "objective": {"kind": "causal", "pad": 63}}
    found = made(toy_study, root, own)
    assert {found.tree.rounds[leaf].recipe.length for leaf in found.tree.leaves.values()} == {8}
    driver.train(found)
    driver.evaluate(found)
    assert study_result(found).cells.groupby("task").size().to_dict() == {"perplexity@1": 4, "tuned@1": 4}
    with pytest.raises(InputError, match="trains an encoder–decoder, and the study's model is a causal model"):
        made(toy_study, root, own | {"objective": {"kind": "seq2seq"}})
    assert found.ids != made(toy_study, root, own | {"objective": {"kind": "causal", "pad": 62}}).ids


def test_several_seeds_are_several_tasks_with_a_copy_each(toy_study: MakeStudy, root: Path) -> None:
    found = made(toy_study, root, {"seeds": [0, 5]})
    assert [task.name for task in found.study.evaluations] == ["perplexity", "tuned-seed-0", "tuned-seed-5"]
    assert len(found.tree.tuned_copies) == 4
    one = made(toy_study, root, {"seed": 5})
    assert set(copies(one).values()) < {found.ids[leaf] for leaf in found.tree.leaves.values()}
    with pytest.raises(InputError, match="give one seed, or different seeds"):
        made(toy_study, root, {"seeds": [1, 1]})


def test_settings_that_came_later_change_no_id_where_they_say_nothing() -> None:
    before = {"steps", "split", "corpus", "period", "as_of", "schedule", "optimizer", "seed"}
    assert set(Prepare.model_fields) - Prepare(steps=2).without_meaning() == before
    assert Causal().without_meaning() == {"pad"} and Causal(pad=0).without_meaning() == frozenset()
