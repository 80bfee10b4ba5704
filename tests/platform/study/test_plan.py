"""The plan: how the tree is cut into chains, what a round's identity is made of, what is done and what is left."""

from __future__ import annotations

import io
import json
import shutil
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from plans import planned
from rich.console import Console

from ticlm.core import quantities
from ticlm.core.corpus import INFO, Corpus, CorpusInfo, PeriodManifest, SplitManifest, TokenizerInfo
from ticlm.core.errors import InputError
from ticlm.core.integrity.records import Attempt
from ticlm.core.mixture import Split
from ticlm.core.periods import Calendar
from ticlm.core.settings import parse
from ticlm.core.store import Store
from ticlm.core.token_rows import Column, ShardFile
from ticlm.platform.cli import plan_view
from ticlm.platform.eval.wanted.asked import keys_by_place
from ticlm.platform.study.chains import Chain
from ticlm.platform.study.needs import missing_periods
from ticlm.platform.study.plan import Plan, make
from ticlm.platform.study.settings import Study

Studies = Callable[..., Study]
PREPARED = {"name": "tuned", "prepare": {"steps": 2, "split": "tune"}}
PLAIN = {"base": "cyclic-cosine", "schedule": {"max_rate": 5e-3, "warmup_steps": 1}}
HALF = {"base": "replay-half", "schedule": {"max_rate": 5e-3, "warmup_steps": 1}}
EQUAL = {"base": "replay-equal", "schedule": {"max_rate": 5e-3, "warmup_steps": 1}}


def finish(plan: Plan, *keys: str, seconds: float = 2.0) -> None:
    """Give rounds a record, as the workers that trained them would."""
    assert plan.store is not None
    for key in keys:
        attempt = Attempt(plan.store, f"rounds/{plan.ids[key][:32]}")
        plan.store.write(f"{attempt.path}/model/model.safetensors", key.encode())
        attempt.publish({"parameters": 1000, "measured": {"tokens": 500, "seconds": seconds}})


def periods_of(plan: Plan, chains: list[Chain]) -> list[str]:
    return [" ".join(plan.tree.rounds[key].period for key in chain.keys) for chain in chains]


def ids_of(plan: Plan) -> list[dict[str, str | None]]:
    """For each run: the id of the round that ends each period."""
    return [{label: plan.ids.get(key) for label, key in run.rounds.items()} for run in plan.tree.runs]


# chains


def test_chains_are_cut_at_every_branch(toy_study: Studies, toy_root: Path) -> None:
    plan = make(toy_study(methods=[PLAIN, EQUAL, HALF]), str(toy_root))
    assert periods_of(plan, plan.chains) == [
        "202301",  # all three
        "202302 202303 202304",
        "202302",  # equal and half are one mixture
        "202303 202304",
        "202303 202304",
    ]
    assert [chain.depth for chain in plan.chains] == [0, 1, 1, 2, 2]
    assert [plan.is_trunk(chain) for chain in plan.chains] == [True, False, True, False, False]


def test_one_method_is_one_chain(toy_study: Studies, toy_root: Path) -> None:
    plan = make(toy_study(methods=[HALF]), str(toy_root))
    assert periods_of(plan, plan.chains) == ["202301 202302 202303 202304"]


def test_a_tuned_copy_is_a_chain_of_its_own_and_no_branch(toy_study: Studies, toy_root: Path) -> None:
    study = toy_study(methods=[PLAIN], evaluations=[{}, PREPARED], evaluate={"checkpoints": ["202302"]})
    plan = make(study, str(toy_root))
    assert periods_of(plan, plan.chains) == ["202301 202302 202303 202304", "202302"]
    chain, copy = plan.chains
    assert (chain.is_side, copy.is_side, copy.depth) == (False, True, 1) and not plan.is_trunk(chain)
    assert plan.label(copy) == "cyclic-cosine, tuned for tuned@1: 202302"


def test_every_round_is_in_one_chain_below_its_parent(toy_study: Studies) -> None:
    study = toy_study(methods=[PLAIN | {"seeds": [0, 1, 2]}, EQUAL, HALF], evaluations=[PREPARED])
    plan = make(study, None)
    keys = [key for chain in plan.chains for key in chain.keys]
    assert sorted(keys) == sorted(plan.tree.rounds)
    assert all((parent := plan.tree.rounds[key].parent) is None or parent in keys[:n] for n, key in enumerate(keys))


def test_chains_say_who_trains_them(toy_study: Studies) -> None:
    plan = make(toy_study(methods=[PLAIN | {"seeds": [0, 1]}, EQUAL, HALF]), None)
    assert [plan.label(chain) for chain in plan.chains] == [
        "4 runs: 202301",
        "cyclic-cosine (seed 0): 202302 … 202304",
        "cyclic-cosine (seed 1): 202302 … 202304",
        "replay-equal, replay-half: 202302",
        "replay-equal: 202303 … 202304",
        "replay-half: 202303 … 202304",
    ]


# what is scored


def test_only_checkpoints_that_are_named_are_scored_and_every_oracle(toy_study: Studies, toy_root: Path) -> None:
    """The Oracle of 202303 stands for 202304, and the newest is what regret is measured against."""
    study = toy_study(evaluate={"checkpoints": ["202302", "202304"], "periods": ["202301"]})
    plan = make(study, str(toy_root))
    finish(plan, *plan.tree.rounds)
    scored = {key for key, _, _ in keys_by_place(make(study, str(toy_root)))}
    found = [[label for label, key in run.rounds.items() if key in scored] for run in plan.tree.runs]
    shared = "202301"  # the first Oracle is the others' first round
    assert found == [[shared, "202302", "202304"], [shared, "202302", "202304"], ["202301", "202303"]]


# what is done


def test_nothing_is_done_on_an_empty_root(toy_study: Studies, toy_root: Path) -> None:
    plan = make(toy_study(), str(toy_root))
    assert plan.records == {} and plan.pending() == plan.chains


@pytest.mark.parametrize(
    ("done", "left"),
    [
        ([0], ["202302 202303 202304"]),
        ([0, 1], ["202303 202304"]),
        ([0, 1, 2, 3], []),
        ([0, 2], ["202302", "202304"]),
        ([3], ["202301 202302 202303"]),
    ],
)
def test_what_has_a_record_is_skipped(toy_study: Studies, toy_root: Path, done: list[int], left: list[str]) -> None:
    study = toy_study(methods=[PLAIN])
    fresh = make(study, str(toy_root))
    finish(fresh, *(list(fresh.tree.rounds)[k] for k in done))
    plan = make(study, str(toy_root))
    assert periods_of(plan, plan.pending()) == left
    assert [plan.done(key) for key in plan.tree.rounds] == [k in done for k in range(4)]
    assert periods_of(plan, plan.chains) == ["202301 202302 202303 202304"]


def test_a_plan_never_writes(toy_study: Studies, toy_root: Path) -> None:
    before = Store(toy_root).walk()
    plan = make(toy_study(), str(toy_root))
    plan_view.as_json(plan)
    assert Store(toy_root).walk() == before
    make(toy_study(), str(toy_root / "elsewhere"))
    assert not (toy_root / "elsewhere").exists()


def test_a_damaged_record_is_named_in_one_line(toy_study: Studies, toy_root: Path) -> None:
    fresh = make(toy_study(), str(toy_root))
    folder = f"rounds/{next(iter(fresh.ids.values()))[:32]}"
    Store(toy_root).write(f"{folder}/record.json", b"{")
    with pytest.raises(InputError, match=f"{folder}/record.json is damaged") as caught:
        make(toy_study(), str(toy_root))
    assert "\n" not in str(caught.value)


# one more month


def test_one_more_month_leaves_one_round_for_each_chain(
    toy_study: Studies, toy_root: Path, toy_corpus: Callable[..., Corpus]
) -> None:
    methods = [PLAIN, HALF]
    before = make(toy_study(methods=methods), str(toy_root))
    finish(before, *before.tree.rounds)
    toy_corpus(toy_root / "corpora/toy@1", ["202301", "202302", "202303", "202304", "202305"])
    longer = {"initial": "202301", "step": "month", "last": "202305"}
    plan = make(toy_study(methods=methods, periods=longer), str(toy_root))
    assert periods_of(plan, plan.pending()) == ["202305", "202305"]


def test_rounds_whose_rows_are_not_there_yet_have_no_id(toy_study: Studies, toy_root: Path) -> None:
    longer = {"initial": "202301", "step": "month", "last": "202306"}
    plan = make(toy_study(methods=[PLAIN], periods=longer), str(toy_root))
    assert [label for label, round_id in ids_of(plan)[0].items() if round_id is None] == ["202305", "202306"]
    assert missing_periods(plan) == ["202305", "202306"]
    assert "corpus has no period 202305, 202306" in plan_view.describe(plan)["notes"]


# workers


SHARES = [
    ({"workers": 4, "chains": 2}, [(4, 4), (2, 2), (4, 4), (2, 2), (2, 2)]),
    ({"workers": [2, 8], "chains": 2}, [(2, 8), (1, 4), (2, 8), (1, 4), (1, 4)]),
    ({"workers": 8, "chains": 1}, [(8, 8)] * 5),
    ({"workers": 7, "chains": 9}, [(7, 7), (2, 2), (7, 7), (2, 2), (2, 2)]),
    ({"workers": 1, "chains": 3}, [(1, 1)] * 5),
    ({"workers": 4, "chains": 2, "micro_batch_rows": 3}, [(3, 3), (2, 2), (3, 3), (2, 2), (2, 2)]),
    ({"workers": 2, "chains": 2, "micro_batch_rows": 8}, [(1, 1)] * 5),
]


@pytest.mark.parametrize(("resources", "shares"), SHARES)
def test_chains_side_by_side_share_the_workers_and_a_trunk_has_them_all(
    toy_study: Studies, toy_root: Path, resources: dict[str, Any], shares: list[tuple[int, int]]
) -> None:
    study = toy_study(methods=[PLAIN, EQUAL, HALF], resources=resources, batch_rows=8)
    plan = make(study, str(toy_root))
    assert [plan.share(chain) for chain in plan.chains] == shares


def test_a_share_does_not_depend_on_what_is_done(toy_study: Studies, toy_root: Path) -> None:
    """A run that was stopped goes on with the same workers, so its weights are the same bit by bit."""
    study = toy_study(methods=[PLAIN, EQUAL, HALF], resources={"workers": [2, 4], "chains": 2})
    fresh = make(study, str(toy_root))
    shares = {key: fresh.share(chain) for chain in fresh.chains for key in chain.keys}
    for key in list(fresh.tree.rounds):
        finish(fresh, key)
        later = make(study, str(toy_root))
        assert all(later.share(chain) == shares[k] for chain in later.pending() for k in chain.keys)


def test_a_part_of_a_chain_has_the_share_of_the_whole(toy_study: Studies, toy_root: Path) -> None:
    """A round in the middle that was lost is trained again by as many workers as before, whatever waits for its end."""
    study = toy_study(methods=[PLAIN, EQUAL, HALF], resources={"workers": [2, 4], "chains": 2})
    plan = make(study, str(toy_root))
    for chain in plan.chains:
        for key in chain.keys:
            part = replace(chain, keys=(key,))
            assert (plan.share(part), plan.is_trunk(part)) == (plan.share(chain), plan.is_trunk(chain))


# identity


def test_names_places_and_resources_are_no_identity(toy_study: Studies, toy_root: Path, tmp_path: Path) -> None:
    ids = ids_of(make(toy_study(), str(toy_root)))
    assert all(None not in run.values() for run in ids)
    renamed = [
        PLAIN | {"name": "a"},
        HALF | {"name": "b"},
        {"base": "oracle", "name": "c", "cutoffs": [202301, 202303]},
    ]
    for changes in (
        {"name": "renamed"},
        {"methods": renamed},
        {"resources": {"workers": [2, 4], "chains": 4, "compile": True, "micro_batch_rows": 1}},
        {"evaluate": {"checkpoints": ["202301"]}},
        {"evaluations": [{"version": 2}]},
        {"reference": "raw"},
    ):
        assert ids_of(make(toy_study(**changes), str(toy_root))) == ids, changes
    moved = tmp_path / "moved"
    shutil.copytree(toy_root, moved)
    assert ids_of(make(toy_study(), str(moved))) == ids
    (moved / "corpora/toy@1").rename(moved / "corpora/other@7")
    assert ids_of(make(toy_study(corpus="other@7"), str(moved))) == ids
    assert ids_of(make(toy_study(corpus=str(moved / "corpora/other@7")), str(toy_root))) == ids


def test_finished_work_is_found_after_everything_was_renamed(
    toy_study: Studies, toy_root: Path, tmp_path: Path
) -> None:
    plan = make(toy_study(), str(toy_root))
    finish(plan, *plan.tree.rounds)
    toy_root.rename(tmp_path / "moved")
    (tmp_path / "moved/corpora/toy@1").rename(tmp_path / "moved/corpora/other@1")
    assert make(toy_study(name="renamed", corpus="other"), str(tmp_path / "moved")).pending() == []


def rebuilt(root: Path, toy_corpus: Callable[..., Corpus], **changes: Any) -> None:
    shutil.rmtree(root / "corpora/toy@1")
    toy_corpus(root / "corpora/toy@1", **changes)


@pytest.mark.parametrize("split", ["eval", "tune"])
def test_rows_that_no_round_reads_are_no_identity(
    toy_study: Studies, toy_root: Path, toy_corpus: Callable[..., Corpus], split: str
) -> None:
    ids = ids_of(make(toy_study(), str(toy_root)))
    rebuilt(toy_root, toy_corpus, changed={("202302", split): 1})
    assert ids_of(make(toy_study(), str(toy_root))) == ids


def test_building_the_same_rows_again_changes_nothing(
    toy_study: Studies, toy_root: Path, toy_corpus: Callable[..., Corpus]
) -> None:
    ids = ids_of(make(toy_study(), str(toy_root)))
    rebuilt(toy_root, toy_corpus)
    assert ids_of(make(toy_study(), str(toy_root))) == ids


@pytest.mark.parametrize(
    ("period", "changed"),
    [
        ("202301", ["202301 202302 202303 202304", "202301 202302 202303 202304", "202301 202303"]),
        ("202302", ["202302 202303 202304", "202302 202303 202304", "202303"]),
        ("202303", ["202303 202304", "202303 202304", "202303"]),
        ("202304", ["202304", "202304", ""]),
    ],
)
def test_other_rows_of_a_period_make_other_rounds_where_it_is_read_and_below(
    toy_study: Studies, toy_root: Path, toy_corpus: Callable[..., Corpus], period: str, changed: list[str]
) -> None:
    before = ids_of(make(toy_study(), str(toy_root)))
    rebuilt(toy_root, toy_corpus, changed={(period, "train"): 1})
    after = ids_of(make(toy_study(), str(toy_root)))
    assert [" ".join(label for label in b if b[label] != a[label]) for b, a in zip(before, after)] == changed


def test_the_rows_a_leaf_reads_are_the_leafs_identity_alone(
    toy_study: Studies, toy_root: Path, toy_corpus: Callable[..., Corpus]
) -> None:
    study = toy_study(evaluations=[PREPARED])
    before = make(study, str(toy_root))
    rebuilt(toy_root, toy_corpus, changed={("202302", "tune"): 1})
    after = make(study, str(toy_root))
    changed = {key for key in before.ids if before.ids[key] != after.ids[key]}
    assert changed == {
        leaf for (key, _), leaf in before.tree.leaves.items() if before.tree.rounds[key].period == "202302"
    }


def test_rounds_that_differ_have_ids_that_differ(toy_study: Studies, toy_root: Path) -> None:
    plan = make(toy_study(methods=[PLAIN | {"seeds": [0, 1]}, EQUAL, HALF], evaluations=[PREPARED]), str(toy_root))
    assert len(set(plan.ids.values())) == len(plan.tree.rounds)


# a model to start from


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "model").mkdir()
    (tmp_path / "model/config.json").write_text("{}")
    (tmp_path / "model/model.safetensors").write_bytes(b"weights")
    return tmp_path / "model"


def test_an_initial_model_is_named_by_what_is_in_its_folder(
    toy_study: Studies, toy_root: Path, folder: Path, tmp_path: Path
) -> None:
    def ids(path: Path, as_of: str = "outside") -> list[dict[str, str | None]]:
        model = {"kind": "folder", "path": str(path), "as_of": as_of}
        return ids_of(make(toy_study(model=model), str(toy_root)))

    first = ids(folder)
    shutil.copytree(folder, tmp_path / "copy")
    assert ids(tmp_path / "copy") == first
    (tmp_path / "copy/model.safetensors").write_bytes(b"others")
    other = ids(tmp_path / "copy")
    assert all(a[label] != b[label] for a, b in zip(first, other) for label in a)
    with pytest.raises(InputError, match="no model folder there"):
        ids(tmp_path / "nowhere")


def test_methods_on_one_initial_model_have_rounds_of_their_own(
    toy_study: Studies, toy_root: Path, folder: Path
) -> None:
    faster = PLAIN | {"name": "faster", "schedule": {"max_rate": 6e-3, "warmup_steps": 1}}
    model = {"kind": "folder", "path": str(folder), "as_of": "outside"}
    plan = make(toy_study(model=model, methods=[PLAIN | {"seeds": [0, 1]}, faster]), str(toy_root))
    assert len(set(plan.ids.values())) == len(plan.tree.rounds) == 1 + 3 * 3


# golden ids


def stated_corpus(root: Path, hashes: Mapping[tuple[str, Split], str]) -> None:
    """A corpus that states its shards' hashes and has no shards, so that ids depend on no library's bytes."""
    store, calendar = Store(root / "corpora/toy@1"), Calendar(initial="202301", step="month")
    info = CorpusInfo(
        name="toy",
        version="1",
        columns=(Column(name="tokens", length=17),),
        calendar=calendar,
        tokenizer=TokenizerInfo(name="toy", vocab_size=64, end_of_text=63, sha256="tokenizer"),
        recipe="toy",
    )
    store.write(INFO, json.dumps(info.model_dump(mode="json")).encode())
    for label in sorted({period for period, _ in hashes}):
        splits = {
            split: SplitManifest(
                files=(ShardFile(path="part", rows=96, bytes=1, sha256=sha256),),
                rows=96,
                tokens=96 * 16,
                documents=96,
                bytes=1,
            )
            for (period, split), sha256 in hashes.items()
            if period == label
        }
        about = PeriodManifest(period=calendar.period(label), splits=splits).model_dump(mode="json")
        Attempt(store, f"periods/{label}").publish(about)


GOLDEN = {
    "cyclic-cosine 202301": "cd02ecae920781e9c5a8c31f52ebf2c0",
    "cyclic-cosine 202302": "ebd551d39f47e447b13c4f1025916c98",
    "cyclic-cosine 202303": "e25f2e6e457768b74db93e127754ed3d",
    "replay-half+ar 202301": "cd02ecae920781e9c5a8c31f52ebf2c0",
    "replay-half+ar 202302": "438238b3b7eaf0de667ace40e317a606",
    "replay-half+ar 202303": "a10d55afc69848ed3d037a453671d807",
    "oracle 202303": "8e973b2506e240623c42b1ac6d99031b",
    "ewc 202301": "cd02ecae920781e9c5a8c31f52ebf2c0",
    "ewc 202302": "3a60de700832de7fee65a8f4dc5180f0",
    "ewc 202303": "2de1638c1798470eff9cc0a972a6df95",
    "lwf-per-token 202301": "cd02ecae920781e9c5a8c31f52ebf2c0",
    "lwf-per-token 202302": "98154c558b35edac48e06c6b04954881",
    "lwf-per-token 202303": "f3bd4b87a3b64812fca5d56accbc2fc4",
    "schedule-free 202301": "cd02ecae920781e9c5a8c31f52ebf2c0",
    "schedule-free 202302": "a92c34d52a977c1444c0a441d04111cd",
    "schedule-free 202303": "138c1dde9481161e7b4a99096ce70428",
    "leaf 202301": "a6ec57f0af3aa588e9b531afa49a9ecf",
    "leaf 202303": "d2bb4433139ff319daf7b015385e1bdc",
}
GOLDEN_STUDY: dict[str, Any] = {
    "name": "golden",
    "corpus": "toy",
    "periods": {"initial": "202301", "step": "month", "last": "202303"},
    "model": {"name": "tiny", "changes": {"hidden_size": 16}},
    "batch_rows": 4,
    "length": 16,
    "initial": {"budget": {"steps": 6}, "schedule": {"kind": "cosine", "max_rate": 1e-2, "warmup_steps": 2}},
    "continual_tokens": {"per_period": 4 * 4 * 16},
    "methods": [
        PLAIN,
        {"base": "replay-half+ar", "schedule": {"warmup_steps": 1}},
        {"base": "oracle", "cutoffs": ["202303"]},
        {"base": "ewc", "schedule": {"warmup_steps": 1}},
        {"base": "lwf-per-token", "schedule": {"warmup_steps": 1}},
        {"base": "schedule-free", "schedule": {"warmup_steps": 1}, "replay": {"kind": "equal", "buffer_tokens": 512}},
    ],
    "evaluations": [PREPARED],
    "evaluate": {"checkpoints": ["202301"]},
}


def test_finished_work_is_never_orphaned(tmp_path: Path) -> None:
    """These ids are written on the folders of finished rounds. If one changes, every user trains everything again: undo
    the change; or, where it is meant, raise `identity.IDENTITY` and say so in CONTRIBUTING.md."""
    labels: tuple[Split, ...] = ("train", "eval", "tune")
    stated_corpus(
        tmp_path,
        {(period, split): f"{period}/{split}" for period in ("202301", "202302", "202303") for split in labels},
    )
    plan = make(parse(Study, GOLDEN_STUDY, "golden"), str(tmp_path))
    assert {
        f"{who} {label}": plan.ids[key][:32]
        for who, rounds in (*((r.method.name, r.rounds) for r in plan.tree.runs), ("leaf", _leaves(plan)))
        for label, key in rounds.items()
    } == GOLDEN


def _leaves(plan: Plan) -> dict[str, str]:
    return {plan.tree.rounds[key].period: leaf for (key, _), leaf in plan.tree.leaves.items()}


# a corpus that does not fit


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"length": 32}, "length: 32, but the corpus toy@1 was cut into rows of 16; set length: 16"),
        ({"objective": {"kind": "seq2seq"}}, "corpus toy@1 has columns tokens, the objective needs targets"),
        (
            {"periods": {"initial": "202301..202302", "step": "month", "last": "202303"}},
            None,  # other labels: not there, rather than wrong
        ),
        ({"max_epochs": 0.2}, "would see toy@1/202301/train 0.25 times; max_epochs is 0.2: lower the budget"),
    ],
)
def test_a_study_that_does_not_fit_its_corpus_is_refused_in_one_line(
    toy_study: Studies, toy_root: Path, changes: dict[str, Any], said: str | None
) -> None:
    study = toy_study(**changes, methods=[PLAIN])
    if said is None:
        assert missing_periods(make(study, str(toy_root))) == ["202301-202302"]
        return
    with pytest.raises(InputError) as caught:
        make(study, str(toy_root))
    assert said in str(caught.value) and "\n" not in str(caught.value)


def test_epochs_are_counted_along_a_chain(toy_study: Studies, toy_root: Path) -> None:
    plan = make(toy_study(methods=[HALF], continual_tokens={"per_period": 40 * 4 * 16}), str(toy_root))
    seen = {(plan.tree.rounds[key].period, source.period): epochs for key, source, epochs in plan.epochs()}
    assert seen["202301", "202301"] == 24 / 96
    assert seen["202302", "202301"] == (24 + 80) / 96 and seen["202302", "202302"] == 80 / 96
    assert seen["202304", "202302"] == pytest.approx((80 + 40 + 80 / 3) / 96, abs=1 / 96)


# on paper


def printed(plan: Plan, width: int = 200) -> str:
    console = Console(file=io.StringIO(), width=width)
    console.print(plan_view.view(plan))
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


@pytest.mark.parametrize("root", [None, "empty"])
def test_a_plan_without_a_corpus_shows_what_can_be_known(toy_study: Studies, tmp_path: Path, root: str | None) -> None:
    plan = make(toy_study(), None if root is None else str(tmp_path))
    text = printed(plan)
    unknown = "corpus toy: not built yet" if root else "are known once all that is missing is there"
    assert "toy: 8 rounds in 4 chains" in text and unknown in text
    assert "left to do: 8 rounds, 44 steps, 2,816 tokens" in text and "sized with the corpus" in text
    found = json.loads(plan_view.as_json(plan))
    assert len(found["tree"]) == 8 and {round_["id"] for round_ in found["tree"]} == {None}


def test_the_plan_of_the_paper_needs_no_corpus(toy_study: Studies) -> None:
    paper = toy_study(
        corpus="tic-cc",
        periods={"only": "tic-cc"},
        model="3b",
        batch_rows=256,
        length=2048,
        initial={"budget": 111_837_286_400},
        continual_tokens=111_837_286_400,
        methods=["cyclic-cosine"],
    )
    total = plan_view.describe(make(paper, None))["total"]
    assert (total["rounds"], total["steps"], total["unspent"]) == (114, 213_312 + 113 * 1887, 364_544 + 113 * 379_043)


def test_json_has_every_round_and_what_is_done(toy_study: Studies, toy_root: Path) -> None:
    fresh = make(toy_study(), str(toy_root))
    finish(fresh, *list(fresh.tree.rounds)[:2])
    found = json.loads(plan_view.as_json(make(toy_study(), str(toy_root))))
    assert [round_["done"] for round_ in found["tree"]] == [True] * 2 + [False] * 6
    assert [chain["done"] for chain in found["chains"]] == [1, 1, 0, 0]
    assert (found["total"]["rounds"], found["total"]["steps"]) == (6, 44 - 6 - 4)
    replayed = next(round_ for round_ in found["tree"] if len(round_["mixture"]) == 2)
    assert replayed["mixture"] == {"toy@1/202301/train": 8, "toy@1/202302/train": 8}
    assert {round_["id"] for round_ in found["tree"]} == set(fresh.ids.values())
    assert {round_["parent"] for round_ in found["tree"]} <= {None, *(round_["key"] for round_ in found["tree"])}


def test_time_is_told_from_what_was_measured_on_this_root(toy_study: Studies, toy_root: Path) -> None:
    fresh = make(toy_study(), str(toy_root))
    finish(fresh, next(iter(fresh.tree.rounds)), seconds=2.0)
    plan = make(toy_study(), str(toy_root))
    assert plan.tokens_per_s == 250
    total = plan_view.describe(plan)["total"]
    assert total["seconds"] == total["tokens"] / 250 and total["disk_bytes"] == 7 * 4000
    assert "1,000 parameters" in printed(plan) and "0:00:10" in printed(plan)


def test_epochs_are_shown(toy_study: Studies, toy_root: Path) -> None:
    assert "most epochs of one source: 0." in printed(make(toy_study(methods=[PLAIN, HALF]), str(toy_root)))


# each method by itself


def lines(text: str, *starts: str) -> list[list[str]]:
    """The words of the lines that begin with these."""
    return [line.split() for line in text.splitlines() if line.strip().startswith(starts)]


def test_a_method_is_told_by_itself_whatever_it_shares(toy_study: Studies, toy_root: Path) -> None:
    oracle = {"base": "oracle", "cutoffs": [202301, 202303]}
    plan = make(toy_study(methods=[PLAIN | {"seeds": [4, 5]}, HALF, oracle]), str(toy_root))
    plain, half, series = plan_view.describe(plan)["methods"]
    assert (plain["name"], plain["seeds"]) == ("cyclic-cosine", [4, 5])
    for row in (plain, half):
        assert (row["rounds"], row["steps"], row["tokens"]) == (4, 6 + 3 * 4, (6 + 3 * 4) * 64)
        assert row["oracle_ratio"] == (6 + 6 + 2 * 4) / (6 + 3 * 4)
    assert (series["rounds"], series["steps"], series["oracle_ratio"]) == (2, 6 + 6 + 2 * 4, None)
    assert series["periods"] == {"202301": {"steps": 6, "tokens": 384}, "202303": {"steps": 14, "tokens": 896}}
    assert list(half["periods"]) == ["202301", "202302", "202303", "202304"]


def test_a_budget_is_told_as_it_was_given(toy_study: Studies) -> None:
    plan = make(toy_study(methods=[PLAIN], continual_tokens={"per_period": 300}), None)
    (row,) = plan_view.describe(plan)["methods"]
    assert row["periods"]["202302"] == {"steps": 4, "tokens": 300} and row["tokens"] == 384 + 3 * 300


def test_what_a_method_must_keep_is_told_in_periods_and_bytes(toy_study: Studies, toy_root: Path) -> None:
    ewc = {"base": "ewc", "schedule": {"warmup_steps": 1}}
    plan = make(toy_study(methods=[PLAIN, HALF, ewc, {"base": "oracle", "cutoffs": [202303]}]), str(toy_root))
    assert plan.corpus is not None
    size = {label: sum(file.bytes for file in plan.corpus.split(label, "train").files) for label in plan.corpus.periods}
    three = size["202301"] + size["202302"] + size["202303"]
    one = max(size[label] for label in ("202301", "202302", "202303"))
    two = size["202301"] + size["202302"]
    kept = [(row["kept_periods"], row["kept_bytes"]) for row in plan_view.describe(plan)["methods"]]
    assert kept == [(0, 0), (3, three), (1, one), (2, two)]
    shown = lines(printed(plan), "cyclic-cosine ", "replay-half ", "ewc ", "oracle ")
    assert [(int(words[5]), " ".join(words[6:])) for words in shown] == [
        (0, "0 B"),
        (3, quantities.size(three)),
        (1, quantities.size(one)),
        (2, quantities.size(two)),
    ]


def test_without_an_oracle_series_there_is_no_ratio(toy_study: Studies) -> None:
    plan = make(toy_study(methods=[PLAIN]), None)
    assert plan_view.describe(plan)["methods"][0]["oracle_ratio"] is None
    assert "Oracle" not in printed(plan)


@pytest.mark.parametrize("name", ["demo", "monthly", "tic-lm-3b-440b", "tic-lm-table-9"])
def test_a_plan_without_a_corpus_fits_a_hundred_columns(name: str) -> None:
    text = printed(planned(name), width=100)
    assert max(len(line.rstrip()) for line in text.splitlines()) <= 100
    assert "…" not in text.replace(" … ", ""), "nothing was cut"
    assert len(lines(text, "left to do: ")) == 1


def test_what_is_not_known_has_no_column(toy_study: Studies, toy_root: Path) -> None:
    before, after = printed(make(toy_study(), None)), printed(make(toy_study(), str(toy_root)))
    assert "FLOPs" not in before and "disk" not in before and "size  " not in before
    tables, _, totals = after.partition("left to do")
    assert "FLOPs" in tables and "size  " in tables and "with attention)" in totals and "disk: " in totals


def test_json_is_one_object_with_a_round_per_line(toy_study: Studies) -> None:
    plan = make(toy_study(), None)
    text = plan_view.as_json(plan)
    rows = [line for line in text.splitlines() if line.startswith('  {"key"')]
    assert [json.loads(row.rstrip(",")) for row in rows] == json.loads(text)["tree"]
    found = json.loads(text)
    assert (
        found.pop("tree") and found.pop("missing") == [] and found == json.loads(json.dumps(plan_view.describe(plan)))
    )


def test_checkpoints_and_periods_are_in_the_order_of_time(toy_study: Studies) -> None:
    plan = make(toy_study(evaluate={"checkpoints": ["202304", "202302"], "periods": ["202303", "202301"]}), None)
    assert plan.checkpoints() == ("202302", "202304") and plan.evaluated() == ("202301", "202303")
    assert make(toy_study(), None).checkpoints() == ("202301", "202302", "202303", "202304")
