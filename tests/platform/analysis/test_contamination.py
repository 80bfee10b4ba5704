"""Losses before and after a held-out split was cleaned, on cells few enough to be worked by hand."""

import dataclasses
import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from ticlm.core.accounting import Accounting, Overlap
from ticlm.core.corpus import Corpus
from ticlm.core.periods import Calendar
from ticlm.platform.analysis.contamination import Contamination, contamination
from ticlm.platform.analysis.matrix import views
from ticlm.platform.results.of_plan import study_result
from ticlm.platform.results.study_result import COLUMNS, MethodResult, PeriodText, StudyResult, TaskMetric
from ticlm.platform.run import driver
from ticlm.platform.study import plan
from ticlm.platform.study.settings import Study

MONTHS = ("202301", "202302", "202303")
Losses = Mapping[tuple[str, str], Sequence[float]]
"""(method, trained) -> loss on each month."""

PLAIN: Losses = {
    ("plain", "202301"): (2.1, 2.4, 2.9),
    ("plain", "202302"): (2.2, 2.3, 2.6),
    ("oracle", "202303"): (2.0, 2.0, 2.0),
}


def cells(
    task: str, losses: Losses, keys: Mapping[tuple[str, str], str] | None = None, source: str = ""
) -> pd.DataFrame:
    rows = [
        ("toy", method, 1, trained, label, task, source, "nll", value, 10, 0.1, f"{task}-{name}-{label}")
        for (method, trained), values in losses.items()
        for name in [(keys or {}).get((method, trained), f"{method}-{trained}")]
        for label, value in zip(MONTHS, values)
    ]
    return pd.DataFrame(rows, columns=list(COLUMNS))


def result(*frames: pd.DataFrame, reference: bool = True, methods: Sequence[str] = ("plain",)) -> StudyResult:
    empty = pd.DataFrame(columns=["method", "seed", "trained", "tokens", "flops"])
    found = [MethodResult(name, "optimizer", (1,)) for name in methods]
    return StudyResult(
        name="toy",
        parameters=1000,
        timeline=Calendar(initial=MONTHS[0], last=MONTHS[-1]).timeline(),
        methods=(*found, MethodResult("oracle", "reference", (1,), is_oracle=True)),
        checkpoints=MONTHS,
        evaluated=MONTHS,
        cells=pd.concat(frames, ignore_index=True),
        costs=empty,
        rates=pd.DataFrame(columns=["method", "seed", "period", "step", "rate"]),
        reference=("oracle", 1, "202303") if reference else None,
        target_tokens=1000,
        splits={"web@1": "eval", "clean@1": "eval.clean", "wiki@1": "eval.wiki"},
    )


def only(study: StudyResult) -> Contamination:
    (found,) = contamination(views(study))
    return found


def overlap(split: str, scale: int) -> Overlap:
    return Overlap(
        split=split,
        documents=100 * scale,
        documents_dropped=3 * scale,
        paragraphs=200,
        paragraphs_dropped=10,
        ngrams=1000,
        contained=25 * scale,
    )


def test_the_correlations_are_those_worked_by_hand() -> None:
    # regret before: .1 .4 .9 .2 .3 .6; after: .2 .4 .8 .1 .5 .7 (the cleaned reference's loss is 2.1)
    after: Losses = {
        ("plain", "202301"): (2.3, 2.5, 2.9),
        ("plain", "202302"): (2.2, 2.6, 2.8),
        ("oracle", "202303"): (2.1, 2.1, 2.1),
    }
    found = only(result(cells("web@1", PLAIN), cells("clean@1", after)))
    # in tenths: x sums to 25, y to 27; Sxx = 147 − 625/6, Syy = 159 − 729/6, Sxy = 149 − 675/6
    assert found.pearson == pytest.approx((149 - 675 / 6) / np.sqrt((147 - 625 / 6) * (159 - 729 / 6)))
    # ranks before 1 4 6 2 3 5, after 2 3 6 1 4 5: four differences of one, so 1 − 6 · 4 / (6 · 35)
    assert found.spearman == pytest.approx(1 - 24 / 210)
    # losses move by .2 .1 0 0 .3 .2
    assert found.change == pytest.approx(0.8 / 6)
    assert len(found.points) == 6 and found.unpaired == 0
    assert found.points["regret_after"].tolist() == pytest.approx([0.2, 0.4, 0.8, 0.1, 0.5, 0.7])
    assert found.points["loss_before"].tolist() == pytest.approx([2.1, 2.4, 2.9, 2.2, 2.3, 2.6])


def test_where_more_is_better_regret_is_what_is_lacking() -> None:
    """Before and after, the reference is right more often by different amounts."""
    before: Losses = {("plain", "202301"): (0.5, 0.6, 0.7), ("oracle", "202303"): (0.9, 0.9, 0.9)}
    study = result(cells("web@1", before), cells("clean@1", before))
    accuracy = TaskMetric("accuracy", higher_is_better=True)
    study = dataclasses.replace(
        study, cells=study.cells.assign(metric="accuracy"), metrics={"web@1": accuracy, "clean@1": accuracy}
    )
    assert only(study).points["regret_before"].tolist() == pytest.approx([0.4, 0.3, 0.2])


def test_ties_share_their_mean_rank() -> None:
    before: Losses = {("plain", "202301"): (2.0, 2.0, 2.3)}
    after: Losses = {("plain", "202301"): (2.1, 2.2, 2.3)}
    # ranks 1.5 1.5 3 and 1 2 3: covariance 1.5, variances 1.5 and 2
    found = only(result(cells("web@1", before), cells("clean@1", after), reference=False))
    assert found.spearman == pytest.approx(1.5 / np.sqrt(1.5 * 2))


def test_the_reference_is_no_point_of_its_own_under_any_name() -> None:
    """Its regret is 0 before and after by definition, and would pull every correlation towards it."""
    losses = {**PLAIN, ("copy", "202303"): PLAIN["oracle", "202303"]}
    keys = {("copy", "202303"): "oracle-202303"}
    frames = [cells(task, losses, keys) for task in ("web@1", "clean@1")]
    found = only(result(*frames, methods=("copy", "plain")))
    assert set(found.points["method"]) == {"plain"} and len(found.points) == 6
    raw = only(result(*frames, methods=("copy", "plain"), reference=False))
    assert len(raw.points) == 9  # without a reference it is a model like others


def test_a_model_that_methods_share_counts_once() -> None:
    losses = {**PLAIN, ("other", "202301"): PLAIN["plain", "202301"], ("other", "202302"): (2.5, 2.5, 2.5)}
    keys = {("other", "202301"): "plain-202301"}
    found = only(result(cells("web@1", losses, keys), cells("clean@1", losses, keys), methods=("plain", "other")))
    seen = found.points[["method", "trained"]].drop_duplicates().to_numpy().tolist()
    assert sorted(seen) == [["other", "202302"], ["plain", "202301"], ["plain", "202302"]]
    assert found.pearson == pytest.approx(1) and found.change == 0


def test_without_a_reference_losses_are_compared() -> None:
    found = only(result(cells("web@1", PLAIN), cells("clean@1", PLAIN), reference=False))
    assert found.what == "loss" and found.describe().startswith("loss before and after")
    assert found.points["regret_before"].tolist() == found.points["loss_before"].tolist()


def test_cells_without_a_partner_are_counted_and_left_out() -> None:
    after = {name: values for name, values in PLAIN.items() if name != ("plain", "202302")}
    found = only(result(cells("web@1", PLAIN), cells("clean@1", after)))
    assert (len(found.points), found.unpaired) == (3, 3)
    assert "3 cells have no partner or no reference" in found.describe()
    after = {**PLAIN, ("oracle", "202303"): (2.0, 2.0)}
    found = only(result(cells("web@1", PLAIN), cells("clean@1", after)))
    assert (len(found.points), found.unpaired) == (4, 2)  # nothing to compare the third month with


def test_a_correlation_that_does_not_exist_is_a_dash() -> None:
    flat: Losses = {("plain", "202301"): (2.5, 2.5, 2.5), ("oracle", "202303"): (2.0, 2.0, 2.0)}
    found = only(result(cells("web@1", flat), cells("clean@1", flat)))
    assert np.isnan(found.pearson) and np.isnan(found.spearman)
    assert "Pearson –, Spearman –, over 3 cells" in found.describe()


def test_only_a_split_and_its_cleaned_copy_are_compared() -> None:
    frames = [cells(task, PLAIN) for task in ("web@1", "wiki@1")]
    assert contamination(views(result(*frames))) == ()
    frames.append(cells("clean@1", PLAIN))
    assert only(result(*frames)).name == "web@1 (eval) → clean@1 (eval.clean)"
    unknown = dataclasses.replace(result(*frames), splits={})
    assert contamination(views(unknown)) == ()


def test_sources_are_compared_where_both_tasks_have_them() -> None:
    frames = [cells(task, PLAIN) for task in ("web@1", "clean@1")]
    frames += [cells("web@1", PLAIN, source=source) for source in ("north", "south")]
    frames.append(cells("clean@1", PLAIN, source="north"))
    assert [found.before.source for found in contamination(views(result(*frames)))] == ["", "north"]


def test_the_overlap_is_summed_over_months_for_the_split_that_was_cleaned() -> None:
    study = result(cells("web@1", PLAIN), cells("clean@1", PLAIN))
    assert only(study).overlap is None
    text = tuple(
        PeriodText(m, 1, overlap=(overlap("eval", i), overlap("eval.wiki", 9))) for i, m in enumerate(MONTHS, 1)
    )
    found = only(dataclasses.replace(study, text=text))
    assert found.overlap == overlap("eval", 6).model_copy(
        update={"paragraphs": 600, "paragraphs_dropped": 30, "ngrams": 3000}
    )
    assert (
        "of eval, the train text of the same period holds 3.0% of documents, 5.0% of paragraphs, 5.0% of n-grams"
        in found.describe()
    )


def test_a_study_carries_its_splits_and_what_is_known_of_its_text(
    toy_root: Path, toy_study: Callable[..., Study], toy_corpus: Callable[..., Corpus]
) -> None:
    """From a corpus whose census says something of its first month, and whose cleaned split is the split itself.
    Another corpus's held-out text is not that split before its cleaning."""
    toy_corpus(toy_root / "corpora/other@1", periods=("202301",), name="other")
    accounting = Accounting(tokens=2000, subsets={"wiki": 500, "news": 100}, overlap=(overlap("eval", 1),))
    for record in sorted(toy_root.glob("corpora/toy@1/periods/*/record.json")):
        found = json.loads(record.read_text())
        del found["sha256"]
        found["about"]["splits"]["eval.clean"] = found["about"]["splits"]["eval"]
        if "202301" in str(record):
            found["about"]["accounting"] = accounting.model_dump(mode="json")
        record.write_text(json.dumps(found))
    fast = {"kind": "cosine", "max_rate": 5e-3, "warmup_steps": 1}
    made = plan.make(
        toy_study(
            periods={"initial": "202301", "last": "202302"},
            methods=[{"base": "cyclic-cosine", "schedule": fast}, {"base": "oracle", "cutoffs": ["202301", "202302"]}],
            evaluations=[
                {"kind": "perplexity"},
                {"kind": "perplexity", "name": "clean", "split": "eval.clean"},
                {"kind": "perplexity-on", "name": "elsewhere", "corpus": "other@1"},
            ],
        ),
        str(toy_root),
    )
    driver.train(made)
    driver.evaluate(made)
    study = study_result(made)
    assert study.splits == {"perplexity@1": "eval", "clean@1": "eval.clean", "elsewhere@1": "other@1/eval"}
    assert study.evaluated_by_task == {"elsewhere@1": ("202301",)}
    first, second = study.text
    assert first == PeriodText("202301", 96 * 16, {"wiki": 0.25, "news": 0.05}, accounting.overlap)
    assert second == PeriodText("202302", 96 * 16)
    # three models: the first month's, which both methods share, one trained on, and the reference
    seen = only(study).points[["trained", "evaluated"]].to_numpy().tolist()
    assert sorted(seen) == [["202301", "202301"], ["202301", "202302"], ["202302", "202301"], ["202302", "202302"]]
    assert only(study).pearson == pytest.approx(1) and only(study).change == 0
