"""A study over three corpora with periods of their own: what is read, what is refused, what is in ids, and a run."""

from __future__ import annotations

import io
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from attested import about, attest, refused, verified
from rich.console import Console

from ticlm.core.corpus import Corpus
from ticlm.core.errors import InputError
from ticlm.platform.cli import plan_view
from ticlm.platform.results.of_plan import study_result
from ticlm.platform.run import driver
from ticlm.platform.study.plan import Plan, make
from ticlm.platform.study.settings import Study
from ticlm.platform.train.loader import LoaderSpec, RankReader

MakeStudy = Callable[..., Study]
MakeCorpus = Callable[..., Corpus]
PERIODS = ("202301", "202302", "202303", "202304", "202305", "202306")
QUARTERS = ("202301-202303", "202304-202306")
WIKI = {"corpus": "wiki@1", "share": 0.25, "periods": {"initial": "202301..202303", "step": "quarter"}}
DOCS = {"corpus": "docs@1", "share": 0.125, "periods": {"initial": "202201..202212", "step": "month"}}
METHOD = {"base": "replay-half", "schedule": {"max_rate": 5e-3, "warmup_steps": 1}}


@pytest.fixture
def root(tmp_path: Path, toy_corpus: MakeCorpus) -> Path:
    toy_corpus(tmp_path / "corpora/toy@1", PERIODS)
    changed = {(period, "train"): 5 for period in QUARTERS}
    toy_corpus(tmp_path / "corpora/wiki@1", QUARTERS, rows=20, name="wiki", changed=changed, step="quarter")
    toy_corpus(
        tmp_path / "corpora/docs@1", ["202201-202212"], rows=40, name="docs", changed={("202201-202212", "train"): 7}
    )
    return tmp_path


def planned(toy_study: MakeStudy, root: Path, **changes: Any) -> Plan:
    calendar = {"initial": PERIODS[0], "step": "month", "last": PERIODS[-1]}
    docs = DOCS | {"periods": {"initial": "202201..202212", "last": "202201..202212"}}
    settings = {"periods": calendar, "corpora": [WIKI, docs], "methods": [METHOD]} | changes
    return make(toy_study(**settings), str(root))


def test_rows_of_all_corpora_are_read_once_in_the_steps_of_each_round(toy_study: MakeStudy, root: Path) -> None:
    """Of wiki's first quarter, 20 rows, three rounds draw 4 each and the last one 2: none comes twice."""
    plan = planned(toy_study, root)
    specs = [plan.tree.rounds[key] for key in plan.tree.runs[0].rounds.values()]
    reader = RankReader(LoaderSpec(tuple(specs), {name: c.store.root for name, c in plan.corpora.items()}))
    rows: dict[str, list[int]] = {}
    for number, spec in enumerate(specs):
        for step in range(spec.steps):
            for source, found in reader.rows(number, step).items():
                rows.setdefault(f"{source.corpus}/{source.period}", []).extend(found)
    wiki, docs = rows["wiki@1/202301-202303"], rows["docs@1/202201-202212"]
    assert len(wiki) == len(set(wiki)) == 3 * 4 + 2 and len(rows["wiki@1/202304-202306"]) == 2
    assert len(docs) == len(set(docs)) == 3 + 5 * 2
    seen = {str(source): epochs for _, source, epochs in plan.epochs()}
    assert seen["wiki@1/202301-202303/train"] == 14 / 20
    with pytest.raises(InputError, match=r"would see wiki@1/202301-202303/train 0\.60 times; max_epochs is 0\.5"):
        planned(toy_study, root, max_epochs=0.5, continual_tokens={"per_period": 4 * 4 * 16}, methods=[METHOD])


def test_a_buffer_cuts_a_further_corpus_to_its_own_rows(toy_study: MakeStudy, root: Path) -> None:
    """A label that two corpora share is two sources, each with rows of its own."""
    months = {"corpus": "docs@2", "share": 0.5, "periods": {"initial": "202301", "step": "month"}}
    shutil.copytree(root / "corpora/toy@1", root / "corpora/docs@2")
    method = METHOD | {"replay": {"kind": "fixed", "buffer_tokens": 16 * 1000}}
    spec = list(planned(toy_study, root, corpora=[months], methods=[method]).tree.rounds.values())[-1]
    windows = {cursor.source: cursor.window for cursor in spec.cursors if cursor.window is not None}
    assert len(windows) == 10 and all(window[1] == 96 for window in windows.values() if window is not None)


def test_a_plan_says_what_further_corpora_give(toy_study: MakeStudy, root: Path) -> None:
    plan = planned(toy_study, root)
    console = Console(file=io.StringIO(), width=200)
    console.print(plan_view.view(plan))
    text = console.file.getvalue()  # type: ignore[attr-defined]
    said = (
        "wiki@1 (0.25 of each budget): 2 of 6 rounds have a new period; of the others 2 go on with its newest one and 2"
    )
    assert (
        said in text and "docs@1 (0.125 of each budget): 1 of 6 rounds have a new period; of the others 5 go on" in text
    )
    (row,) = plan_view.describe(plan)["methods"]
    assert (row["new_rows"], row["old_rows"]) == (9 + 11 + 11 + 11 + 9, 7 + 5 + 5 + 5 + 7)
    assert row["kept_periods"] == 6, "five months and a quarter"


def test_what_does_not_fit_is_one_line(toy_study: MakeStudy, root: Path, toy_corpus: MakeCorpus) -> None:
    def said(further: dict[str, Any]) -> str:
        with pytest.raises(InputError) as caught:
            planned(toy_study, root, corpora=[WIKI | further])
        assert "\n" not in str(caught.value)
        return str(caught.value)

    toy_corpus(root / "wide@1", QUARTERS, vocab_size=65, step="quarter")
    toy_corpus(root / "short@1", QUARTERS, length=8, step="quarter")
    assert "no corpus there" in said({"corpus": "nowhere@1"})
    assert f"corpora.{root}/wide@1: corpus toy@1 was cut with another tokenizer" in said({"corpus": f"{root}/wide@1"})
    assert f"corpora.{root}/short@1: corpus toy@1 has other columns" in said({"corpus": f"{root}/short@1"})
    months = {"initial": "202301", "step": "month"}
    assert said({"periods": months}) == (
        "corpora.wiki@1.periods: 202301 is no period of corpus wiki@1, which has 202301-202303 on these days; give the "
        "calendar on which it was built"
    )
    halves = {"initial": "202301..202306", "step": "half-year"}
    assert "202301-202306 is no period of corpus wiki@1, which has 202301-202303" in said({"periods": halves})


def test_a_missing_period_is_appended_or_cut(toy_study: MakeStudy, root: Path, toy_corpus: MakeCorpus) -> None:
    late = WIKI | {"corpus": f"{root}/late@1"}
    toy_corpus(root / "late@1", QUARTERS[:1], step="quarter")
    with pytest.raises(
        InputError, match="corpus toy@1 has no period 202304-202306, which ends by the end of the study"
    ):
        planned(toy_study, root, corpora=[late])
    cut = late | {"periods": {"initial": QUARTERS[0], "last": QUARTERS[0]}}
    goes_on = list(planned(toy_study, root, corpora=[cut]).tree.rounds.values())[-1]
    assert [source.period for source in goes_on.further] == [QUARTERS[0]]
    toy_corpus(root / "late@1", QUARTERS, step="quarter")
    new = list(planned(toy_study, root, corpora=[late]).tree.rounds.values())[-1]
    assert [source.period for source in new.further] == [QUARTERS[1]]


def test_what_is_mixed_is_in_ids_and_its_name_and_place_are_not(toy_study: MakeStudy, root: Path) -> None:
    def ids(**further: Any) -> list[str]:
        return list(planned(toy_study, root, corpora=[WIKI | further]).ids.values())

    base = ids()
    shutil.copytree(root / "corpora/wiki@1", root / "else@9")
    assert ids(corpus=f"{root}/else@9") == base
    for changes in ({"share": 0.5}, {"without_new": "main"}):
        found = ids(**changes)
        assert found[:2] == base[:2] and found[-1] != base[-1], "two months end before the first quarter does"


def test_a_study_runs_to_its_end_and_its_vintages_are_verified(toy_study: MakeStudy, root: Path) -> None:
    """With a buffer, whose windows depend on the rows of further corpora, and these under paths outside the root."""
    shutil.move(root / "corpora/wiki@1", root / "else/wiki@1")
    buffered = METHOD | {"replay": {"kind": "fixed", "buffer_tokens": 16 * 60}}
    methods = [buffered, {"base": "oracle", "cutoffs": ["202304"]}]
    tasks = [{"kind": "perplexity"}, {"kind": "perplexity-on", "name": "wiki", "corpus": f"{root}/else/wiki@1"}]
    docs = DOCS | {"periods": {"initial": "202201..202212", "last": "202201..202212"}}
    further = [WIKI | {"corpus": f"{root}/else/wiki@1"}, docs]
    calendar = {"initial": PERIODS[0], "step": "month", "last": "202304"}
    plan = planned(toy_study, root, methods=methods, evaluations=tasks, corpora=further, periods=calendar)
    driver.train(plan)
    driver.evaluate(plan)
    done = make(plan.study, str(root))
    assert not done.pending() and all(record.about["steps"] for record in done.records.values())
    cells = study_result(done).cells
    assert cells.groupby(["task", "method"]).size().to_dict() == {
        ("perplexity@1", "oracle"): 4,
        ("perplexity@1", "replay-half"): 16,
        ("wiki@1", "oracle"): 2,
        ("wiki@1", "replay-half"): 8,
    }
    attest(done, root / "vintages")
    found = verified(root / "vintages", replay=1)
    assert refused(found) == "" and {one.state for one in found if one.check in ("rounds", "dates", "shards")} == {
        "holds"
    }
    said = about(root / "vintages/202304")
    assert [one["label"] for corpus in said["corpora"] for one in corpus["periods"] if corpus["id"] == "wiki@1"] == [
        "202301-202303"
    ]
    assert str(root) not in json.dumps(said["settings"])
