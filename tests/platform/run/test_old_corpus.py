"""Mix-Review over two corpora: which rows are read, what is refused, what is part of ids, and a run to its end."""

from __future__ import annotations

import io
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from ticlm.core.corpus import Corpus
from ticlm.core.errors import FutureMonthError, InputError
from ticlm.core.store import Store
from ticlm.platform.cli import plan_view
from ticlm.platform.results.of_plan import study_result
from ticlm.platform.run import driver
from ticlm.platform.study.plan import Plan, make
from ticlm.platform.study.round import Round
from ticlm.platform.study.settings import Study
from ticlm.platform.train.loader import LoaderSpec, RankReader

MakeStudy = Callable[..., Study]
MakeCorpus = Callable[..., Corpus]
PERIODS = ("202301", "202302", "202303")
NEW, OLD = 20, 400
WIKI = {"corpus": "wiki@2", "period": "202301"}


@pytest.fixture
def root(tmp_path: Path, toy_corpus: MakeCorpus) -> Path:
    """A root with a corpus of few rows a period, and an old one of many."""
    toy_corpus(tmp_path / "corpora/toy@1", PERIODS, rows=NEW)
    toy_corpus(tmp_path / "corpora/wiki@2", ["202301"], rows=OLD, name="wiki", changed={("202301", "train"): 5})
    return tmp_path


def study_of(toy_study: MakeStudy, replay: dict[str, Any], **changes: Any) -> Study:
    method = {"base": "mix-review", "replay": replay, "schedule": {"max_rate": 5e-3, "warmup_steps": 1}}
    calendar = {"initial": PERIODS[0], "step": "month", "last": PERIODS[-1]}
    return toy_study(**{"periods": calendar, "continual_tokens": {"epochs": 3}, "methods": [method]} | changes)


def planned(toy_study: MakeStudy, root: Path, replay: dict[str, Any] | None = None, **changes: Any) -> Plan:
    return make(study_of(toy_study, WIKI if replay is None else replay, **changes), str(root))


def specs(plan: Plan) -> list[Round]:
    return [plan.tree.rounds[key] for key in plan.tree.runs[0].rounds.values()]


def read(plan: Plan) -> list[list[dict[str, list[int]]]]:
    """The rows of each step of each round by corpus, through the reader."""
    reader = RankReader(LoaderSpec(tuple(specs(plan)), {name: c.store.root for name, c in plan.corpora.items()}))
    return [
        [{source.corpus: rows for source, rows in reader.rows(number, step).items()} for step in range(spec.steps)]
        for number, spec in enumerate(specs(plan))
    ]


def rows_of(steps: list[dict[str, list[int]]], corpus: str) -> list[int]:
    return [row for step in steps for row in step.get(corpus, [])]


def test_an_epoch_has_every_new_row_once_and_a_sample_that_no_other_has(toy_study: MakeStudy, root: Path) -> None:
    """Epochs of 20 + 80, 20 + 56 and 20 + 39 rows: 25 and 19 steps of 4 rows, and 14 with a part of 3 rows left."""
    _, second, third = read(planned(toy_study, root))
    epochs = [second[:25], second[25:44], second[44:]]
    assert [sorted(rows_of(steps, "toy@1")) for steps in epochs[:2]] == [list(range(NEW))] * 2
    samples = [rows_of(steps, "wiki@2") for steps in epochs]
    assert [len(sample) for sample in samples] == [80, 56, 37]
    drawn = [*(row for sample in samples for row in sample), *rows_of(third, "wiki@2")]
    assert len(drawn) == 346 and len(set(drawn)) == len(drawn), "nor do the rounds share one"


def test_after_every_step_each_source_is_within_one_row_of_its_share(toy_study: MakeStudy, root: Path) -> None:
    _, second, _ = read(planned(toy_study, root))
    seen = [sum(len(step.get("wiki@2", [])) for step in second[: n + 1]) for n in range(44)]
    exact = [4 * 0.8 * (n + 1) if n < 25 else 80 + 4 * 56 / 76 * (n - 24) for n in range(44)]
    assert all(abs(found - share) < 1 for found, share in zip(seen, exact))


def test_steps_are_whole_and_only_the_last_part_of_one_is_left(toy_study: MakeStudy, root: Path) -> None:
    for batch in (3, 7, 11, 60, 64):
        _, *continual = specs(planned(toy_study, root, batch_rows=batch))
        for spec in continual:
            assert sum(segment.steps for segment in spec.segments) == spec.steps == (60 + 175) // batch
            assert spec.budget == (60 + 175) * 16 and spec.unspent == (60 + 175) % batch * 16
            assert spec.new_rows + spec.old_rows == spec.steps * batch
            exact = spec.steps * batch * 60 / 235
            assert abs(spec.new_rows - exact) <= 0.1 * batch + 1


def test_a_budget_in_tokens_is_cut_into_epochs_of_the_new_period(toy_study: MakeStudy, root: Path) -> None:
    """Of 30 new rows, 20 come with 80 old ones, and half an epoch with half of 56."""
    found = specs(planned(toy_study, root, continual_tokens={"per_period": 30 * 16}))[1]
    shares = [[share.tokens // 16 for share in segment.mixture.shares] for segment in found.segments]
    assert shares == [[80, 20], [28, 10]] and [segment.steps for segment in found.segments] == [25, 9]


def test_by_default_old_rows_are_those_of_the_first_period_which_go_on_in_their_order(
    toy_study: MakeStudy, root: Path, toy_corpus: MakeCorpus
) -> None:
    shutil.rmtree(root / "corpora/toy@1")
    toy_corpus(root / "corpora/toy@1", PERIODS, rows=NEW * 5)
    plan = planned(toy_study, root, {"ratio": 0.5, "decay": 0.5}, continual_tokens={"epochs": 0.5})
    first, second, third = specs(plan)
    assert [(c.source.period, c.rows) for c in second.cursors] == [("202301", 24)]
    assert [c.rows for c in third.cursors if c.source.period == "202301"] == [24 + second.old_rows]
    reader = RankReader(LoaderSpec((first, second, third), {"toy@1": str(root / "corpora/toy@1")}))
    drawn = [
        row
        for number, spec in enumerate((first, second, third))
        for step in range(spec.steps)
        for source, rows in reader.rows(number, step).items()
        if source.period == "202301"
        for row in rows
    ]
    assert len(drawn) == 24 + second.old_rows + third.old_rows <= 100 and len(set(drawn)) == len(drawn)


# what is refused


def test_what_cannot_be_mixed_in_is_one_line(toy_study: MakeStudy, root: Path, toy_corpus: MakeCorpus) -> None:
    def said(replay: dict[str, Any], **changes: Any) -> str:
        with pytest.raises(InputError) as caught:
            planned(toy_study, root, replay, **changes)
        assert "\n" not in str(caught.value)
        return str(caught.value)

    toy_corpus(root / "wide@1", ["202301"], vocab_size=65)
    toy_corpus(root / "short@1", ["202301"], length=8)
    toy_corpus(root / "toy@1", ["202301"])
    here = {"period": "202301"}
    where = "methods.mix-review.replay.corpus: "
    assert "no corpus there" in said(WIKI | {"corpus": "nowhere@1"})
    assert f"{where}corpus toy@1 was cut with another tokenizer" in said(here | {"corpus": f"{root}/wide@1"})
    assert f"{where}corpus toy@1 has other columns" in said(here | {"corpus": f"{root}/short@1"})
    assert "are both called toy@1; rename one" in said(here | {"corpus": f"{root}/toy@1"})
    assert "corpus wiki@1 has no period 202212; it has 202301" in said(WIKI | {"period": "202212"})
    imported = {"kind": "folder", "path": "nowhere", "as_of": "outside"}
    assert "replay mix-review has no old corpus at period 202301" in said({}, model=imported, initial={"budget": 0})


def test_an_old_corpus_of_a_later_time_is_refused(toy_study: MakeStudy, root: Path, toy_corpus: MakeCorpus) -> None:
    toy_corpus(root / "corpora/wiki@2", ["202301", "202302", "202303"], name="wiki")
    later = {"corpus": "wiki@2", "period": "202303"}
    with pytest.raises(FutureMonthError, match="replay mix-review at period 202302 would read period 202303"):
        planned(toy_study, root, later)
    with pytest.raises(FutureMonthError, match="a round at period 202302 would read period 202303"):
        planned(toy_study, root, later | {"as_of": "202301"})
    with pytest.raises(FutureMonthError, match="as of 202303, at period 202302 would read period 202303"):
        planned(toy_study, root, WIKI | {"as_of": "202303"})
    with pytest.raises(FutureMonthError, match="first_periods: 2; the old corpus of mix-review"):
        planned(toy_study, root, WIKI | {"as_of": "202303"}, first_periods=2)


def test_a_study_of_the_first_periods_has_the_same_rounds(toy_study: MakeStudy, root: Path) -> None:
    whole, first = planned(toy_study, root), planned(toy_study, root, first_periods=2)
    assert list(first.ids.values()) == list(whole.ids.values())[:2]
    assert first.corpora["wiki@2"].last_visible_period == "202302"


# ids


def test_what_is_mixed_in_is_part_of_ids_and_its_name_and_place_are_not(
    toy_study: MakeStudy, root: Path, toy_corpus: MakeCorpus
) -> None:
    def ids(replay: dict[str, Any]) -> list[str]:
        return list(planned(toy_study, root, replay).ids.values())

    first, *base = ids(WIKI)
    shutil.copytree(root / "corpora/wiki@2", root / "else@9")
    assert ids({"corpus": f"{root}/else@9", "period": "202301"}) == [first, *base]
    assert ids(WIKI | {"as_of": "202301"}) == [first, *base]
    shutil.rmtree(root / "else@9")
    toy_corpus(root / "else@9", ["202301"], rows=OLD, changed={("202301", "train"): 6})
    for other in ({"corpus": f"{root}/else@9", "period": "202301"}, WIKI | {"ratio": 3}, WIKI | {"decay": 0.5}, {}):
        same, *found = ids(other)
        assert same == first and not set(found) & set(base)


# the plan


def test_a_plan_counts_new_and_old_rows_apart(toy_study: MakeStudy, root: Path) -> None:
    plan = planned(toy_study, root, WIKI | {"as_of": "202301"})
    (row,) = plan_view.describe(plan)["methods"]
    assert (row["new_rows"], row["old_rows"], row["old_on_top"]) == (118, 346, True)
    assert row["tokens"] == 6 * 64 + 2 * 235 * 16, "budgets are all that rounds were given"
    assert plan_view.describe(plan)["total"]["steps"] == 6 + 2 * 58
    console = Console(file=io.StringIO(), width=200)
    console.print(plan_view.view(plan))
    text = console.file.getvalue()  # type: ignore[attr-defined]
    assert "mix-review: 118 new rows (1,888 tokens), and on top 346 old ones (5,536 tokens)" in text
    assert "outside the timeline: old rows of mix-review: corpus wiki@2, as of 202301" in text


def test_an_old_corpus_is_one_period_to_keep_whatever_its_label(
    toy_study: MakeStudy, root: Path, toy_corpus: MakeCorpus
) -> None:
    toy_corpus(root / "corpora/wiki@2", ["202301", "202302"], name="wiki")
    plan = planned(toy_study, root, {"corpus": "wiki@2", "period": "202302"})
    assert plan.kept(plan.tree.runs[0])[0] == 1
    assert [(spec.new_rows, spec.old_rows) for spec in specs(plan)] == [(24, 0), (59, 173), (59, 173)]


# a run


def test_a_study_runs_to_its_end_over_two_corpora(toy_study: MakeStudy, root: Path) -> None:
    methods = [
        {"base": name, "replay": WIKI, "schedule": {"max_rate": 5e-3, "warmup_steps": 1}, **more}
        for name, more in (
            ("mix-review", {"penalties": [{"kind": "lwf"}, {"kind": "ewc", "batches": 2}]}),
            ("mix-review-1-1", {}),
        )
    ]
    plan = planned(toy_study, root, methods=methods, resources={"trainer": "process", "carrier": "process"})
    driver.train(plan)
    driver.evaluate(plan)
    done = make(plan.study, str(root))
    assert not done.pending() and all(record.about["steps"] for record in done.records.values())
    cells = study_result(done).cells
    assert cells.groupby("method").size().to_dict() == {"mix-review": 9, "mix-review-1-1": 9}
    for key, record in done.records.items():
        folder = f"rounds/{done.ids[key][:32]}/{record.attempt}"
        assert len(Store(str(root)).read_json(f"{folder}/metrics.json")["loss"]) == done.tree.rounds[key].steps
