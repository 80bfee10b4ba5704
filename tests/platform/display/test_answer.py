"""The sentence on top of a report: who wins, by how much, at what cost, and when nobody does."""

import dataclasses
from collections.abc import Sequence

import numpy as np
import pandas as pd
from calendars import CHECKPOINTS, CUTOFFS
from reports import PRESET, page, tic_lm

from ticlm.platform.analysis.conventions import Convention, Preset
from ticlm.platform.analysis.paired_bootstrap import differences
from ticlm.platform.analysis.summary import summarize
from ticlm.platform.display.answer import Answer, answers
from ticlm.platform.results.study_result import MethodResult, StudyResult, TaskMetric


def answered(*results: StudyResult) -> list[Answer]:
    return answers(results, summarize(results, PRESET), differences(results, PRESET))


def chosen(result: StudyResult, methods: Sequence[str]) -> StudyResult:
    """The study with these methods alone."""
    kept = tuple(method for method in result.methods if method.name in methods)
    cells, costs = (frame[frame["method"].isin(methods)] for frame in (result.cells, result.costs))
    reference = result.reference if result.reference and result.reference[0] in methods else None
    return dataclasses.replace(result, methods=kept, cells=cells, costs=costs, reference=reference)


def plain(task: str = "tic-cc@1") -> StudyResult:
    result = tic_lm(11, [task])
    return dataclasses.replace(result, cells=result.cells[result.cells["source"] == ""])


def test_the_winner_is_named_with_its_lead_its_interval_and_its_cost() -> None:
    two = chosen(plain(), ("cyclic-cosine+ar", "replay-half", "oracle"))
    (answer,) = answered(two)
    means = summarize([two], PRESET).set_index("method")["backward"].to_dict()
    lead = means["cyclic-cosine+ar"] - means["replay-half"]
    frame = differences([two], PRESET)
    row = frame[(frame["mean"] == "backward") & (frame["method_b"] == "replay-half")].iloc[0]
    assert row["method_a"] == "cyclic-cosine+ar" and row["low"] > 0
    told = "replay-half is best on past periods (Bwd.): its perplexity is "
    told += f"{100 * (1 - np.exp(-lead)):.1f}\u00a0% lower than that of cyclic-cosine+ar "
    told += f"({lead:.3f} nats, 95\u00a0% interval {row['low']:.3f} to {row['high']:.3f})"
    assert answer.sentence.startswith(told)
    assert answer.sentence.endswith("for the same 336B tokens of training.")
    assert "not over seeds: each method was trained once" in answer.whole
    assert "The Oracle series (models trained from scratch) cost" in answer.whole
    assert answer.detail.startswith("Against its own best"), "what the page folds away"
    assert "The 12 rows of the Oracle series are 7 models, each carried forward to the next." in answer.detail


def test_methods_whose_interval_holds_zero_are_not_told_apart() -> None:
    two = chosen(plain(), ("replay-half", "oracle"))
    twin = two.cells[two.cells["method"] == "replay-half"].assign(method="twin")
    rng = np.random.default_rng(0)
    by_period = dict(zip(CHECKPOINTS, rng.normal(0, 1e-3, len(CHECKPOINTS))))
    twin = twin.assign(value=twin["value"] + twin["evaluated"].map(by_period).to_numpy(float))
    cells = pd.concat([two.cells, twin], ignore_index=True)
    costs = pd.concat([two.costs, two.costs.assign(method="twin")[two.costs["method"] == "replay-half"]])
    both = dataclasses.replace(
        two, cells=cells, costs=costs, methods=(two.methods[0], MethodResult("twin", "replay", (1,)), two.methods[1])
    )
    (answer,) = answered(both)
    assert "replay-half" in answer.sentence and "twin" in answer.sentence
    assert "cannot be told apart from" in answer.sentence and "on past periods (Bwd.)" in answer.sentence
    assert "is best" not in answer.sentence


def test_without_a_reference_it_speaks_of_the_same_difference_and_of_forgetting_against_ones_own_best() -> None:
    raw = dataclasses.replace(chosen(plain(), ("cyclic-cosine+ar", "replay-half")), reference=None)
    (answer,) = answered(raw)
    (relative,) = answered(chosen(plain(), ("cyclic-cosine+ar", "replay-half", "oracle")))
    assert answer.sentence == relative.sentence, "a reference cancels in every difference"
    assert "regret" not in answer.whole and "Oracle" not in answer.whole
    lost = summarize([raw], PRESET).set_index("method")["forgetting"]
    assert f"has lost {lost['replay-half']:.3f} nats, cyclic-cosine+ar {lost['cyclic-cosine+ar']:.3f}." in answer.whole


def test_of_accuracy_the_lead_is_in_points_and_upwards() -> None:
    (answer,) = answered(
        dataclasses.replace(chosen(plain("wiki-qa@1"), ("cyclic-cosine+ar", "replay-half")), reference=None)
    )
    means = summarize([chosen(plain("wiki-qa@1"), ("cyclic-cosine+ar", "replay-half"))], PRESET).set_index("method")[
        "backward"
    ]
    assert answer.sentence.startswith(f"{means.idxmax()} has the highest accuracy")
    lead = 100 * (means.max() - means.min())
    assert lead < 1 and f"{lead:.2f} points above {means.idxmin()}" in answer.sentence  # small, so with a digit more
    (answer,) = answered(chosen(plain("wiki-qa@1"), ("cyclic-cosine+ar", "replay-half", "oracle")))
    assert "points better than" in answer.sentence, "a lower regret is a higher accuracy"


def test_several_evaluations_and_studies_are_named() -> None:
    result = chosen(tic_lm(11, ["wiki-diff@1", "tic-cc@1"]), ("cyclic-cosine+ar", "replay-half", "oracle"))
    (answer,) = answered(result)
    assert answer.sentence.startswith("On wiki-diff: replay-half ")
    first, second = answered(result, dataclasses.replace(plain(), name="other"))
    assert first.sentence.startswith("tic-lm-3b, on wiki-diff: ") and second.sentence.startswith("other: ")


def test_a_single_method_and_a_series_of_oracles_alone_have_no_winner() -> None:
    (alone,) = answered(chosen(plain(), ("ewc", "oracle")))
    assert alone.sentence.startswith("ewc, regret against oracle trained to 2024-07: ")
    assert "no other method" in alone.sentence
    (series,) = answered(chosen(plain(), ("oracle",)))
    assert series.sentence.startswith("An Oracle series alone, 7 models from scratch for ")


def test_a_method_with_missing_cells_does_not_win() -> None:
    two = chosen(plain(), ("cyclic-cosine+ar", "replay-half", "oracle"))
    gone = (two.cells["method"] == "replay-half") & (two.cells["trained"] == "201901")
    (answer,) = answered(dataclasses.replace(two, cells=two.cells[~gone]))
    assert answer.sentence.startswith("No two methods can be compared yet, because cells are missing")


def test_only_methods_that_can_be_compared_are_and_one_that_lacks_cells_is_named() -> None:
    four = chosen(plain(), ("cyclic-cosine+ar", "replay-half", "ewc", "oracle"))
    gone = (four.cells["method"] == "ewc") & (four.cells["trained"] == "201901")
    (answer,) = answered(dataclasses.replace(four, cells=four.cells[~gone]))
    assert "Not compared, because cells are missing: ewc (see Notes)." in answer.whole
    assert "better than replay-half on past periods" in answer.whole


def test_over_one_period_there_is_no_interval_and_no_tie_is_claimed() -> None:
    two = chosen(plain(), ("cyclic-cosine+ar", "replay-half", "oracle"))
    summary, apart = summarize([two], PRESET), differences([two], PRESET)
    apart[["low", "high"]] = np.nan
    (answer,) = answers([two], summary, apart)
    assert "one period is too few for an interval)" in answer.sentence
    assert "told apart" not in answer.whole and "Intervals" not in answer.whole


def test_the_rows_of_each_oracle_are_counted_among_the_checkpoints_that_count() -> None:
    two = chosen(plain(), ("cyclic-cosine+ar", "replay-half", "oracle"))
    preset = Preset(default=Convention(first_checkpoint="201901"))
    (answer,) = answers([two], summarize([two], preset), differences([two], preset))
    later = [label for label in CHECKPOINTS if label >= "201901"]
    newest = [max(cutoff for cutoff in CUTOFFS if cutoff <= label) for label in later]
    first, last = min(newest), max(newest)
    assert 1 < newest.count(first) < len(later) == 7
    told = f"Of the 7 rows of the Oracle series, {newest.count(first)} are the model of {first[:4]}-{first[4:]}, "
    assert told in answer.whole and f" and {newest.count(last)} the model of {last[:4]}-{last[4:]}." in answer.whole


def test_what_was_forgotten_is_said_whoever_is_best() -> None:
    two = chosen(plain(), ("cyclic-cosine+ar", "replay-half", "oracle"))
    summary, apart = summarize([two], PRESET), differences([two], PRESET)
    summary.loc[summary["method"] == "replay-half", "forgetting"] = 9.0
    (answer,) = answers([two], summary, apart)
    assert answer.sentence.startswith("replay-half is best on past periods (Bwd.)")
    assert "replay-half has lost 9.000 nats" in answer.whole


def test_it_stands_first_on_the_page_before_the_charts_and_the_tables() -> None:
    html = page(chosen(plain(), ("cyclic-cosine+ar", "replay-half", "oracle")))
    places = [html.index(part) for part in ('class="answer"', 'id="cost"', 'id="matrices"', 'id="summary"', 'id="run"')]
    assert places == sorted(places)


def with_frozen(result: StudyResult, better_by: float) -> StudyResult:
    """The study with the first model of its first method as a rival, on whose later periods every run is better by so
    much than that model (worse, if it is negative)."""
    runs = [method.name for method in result.methods if not method.is_oracle]
    start = (result.cells["method"] == runs[0]) & (result.cells["trained"] == CHECKPOINTS[0])
    first = dict(zip(result.cells.loc[start, "evaluated"], result.cells.loc[start, "value"]))
    rows = result.cells
    later = rows["method"].isin(runs) & (rows["trained"] != CHECKPOINTS[0])
    level = rows["evaluated"].map(first).astype(float) - better_by
    level += 1e-3 * rows["method"].map({name: place for place, name in enumerate(runs)}).fillna(0)
    noise = 1e-3 * (rows["evaluated"].map({label: place % 3 for place, label in enumerate(CHECKPOINTS)}) - 1.0)
    start = rows["method"].isin(runs) & (rows["trained"] == CHECKPOINTS[0])
    value = rows["value"].mask(later, level + noise).mask(start, rows["evaluated"].map(first).astype(float))
    frozen = MethodResult("frozen", "reference", (1,), frozen_of=runs[0])
    paid = result.costs[(result.costs["method"] == runs[0]) & (result.costs["trained"] == CHECKPOINTS[0])].head(1)
    costs = pd.concat([result.costs, paid.assign(method="frozen", executed_tokens=0, executed_flops=0.0)])
    return dataclasses.replace(result, cells=rows.assign(value=value), costs=costs, frozen=frozen)


TWO = ("cyclic-cosine+ar", "replay-half", "oracle")


def test_the_answer_begins_with_it_where_the_first_model_is_better_on_new_text_than_every_update() -> None:
    lost = with_frozen(chosen(plain(), TWO), -0.1)
    (answer,) = answered(lost)
    means = summarize([lost], PRESET).set_index("method")["in_distribution"]
    gap = 12 / 11 * (means["cyclic-cosine+ar"] - means["frozen"])  # the first of 12 checkpoints is frozen itself
    told = "None of these updates paid: on new text (ID), the perplexity of frozen, the never updated first model, is "
    told += f"{100 * (1 - np.exp(-gap)):.1f}\u00a0% lower than that of cyclic-cosine+ar, the best of the 2 "
    told += f"({gap:.3f} nats, "
    assert answer.sentence.startswith(told)
    assert answer.sentence.endswith(". cyclic-cosine+ar is better in 0 of 11 months.")
    assert answer.more.startswith("cyclic-cosine+ar is best on past periods"), "then the methods are compared"
    (alone,) = answered(with_frozen(chosen(plain(), ("replay-half", "oracle")), -0.1))
    assert alone.sentence.startswith(
        "Updating did not pay: on new text (ID), the perplexity of frozen, the never updated first model, is "
    )


def shortened(result: StudyResult, periods: int) -> StudyResult:
    """The study until so many of its periods are over."""
    labels = CHECKPOINTS[:periods]
    rows = result.cells[result.cells["trained"].isin(labels) & result.cells["evaluated"].isin(labels)]
    return dataclasses.replace(result, cells=rows, checkpoints=labels, evaluated=labels, reference=None)


def test_two_updates_that_both_gain_have_paid_and_the_first_model_does_not_hide_it() -> None:
    (answer,) = answered(shortened(with_frozen(chosen(plain(), ("cyclic-cosine+ar",)), 0.2), 3))
    assert answer.sentence.startswith("Updating paid: on new text (ID)") and "0.200 nats" in answer.sentence
    assert answer.sentence.endswith("and better in 2 of 2 months.")


def test_a_method_is_the_best_of_all_only_if_no_other_has_a_lower_mean() -> None:
    won = with_frozen(chosen(plain(), TWO), 0.2)
    spread = dict(zip(CHECKPOINTS, [0.0, *[(-1) ** place * 3.0 for place in range(11)]]))
    rows = won.cells["method"] == "cyclic-cosine+ar"
    moved = won.cells["value"] - 0.4 + won.cells["evaluated"].map(spread).astype(float)
    own = rows & (won.cells["trained"] != CHECKPOINTS[0])
    (answer,) = answered(dataclasses.replace(won, cells=won.cells.assign(value=won.cells["value"].mask(own, moved))))
    assert "Updating paid: on new text (ID), the perplexity of replay-half is " in answer.whole


def test_a_method_with_all_its_cells_is_judged_though_another_lacks_some() -> None:
    lost = with_frozen(chosen(plain(), ("cyclic-cosine+ar", "replay-half")), -0.1)
    rows = (lost.cells["method"] == "cyclic-cosine+ar") & (lost.cells["trained"] == CHECKPOINTS[-1])
    (answer,) = answered(dataclasses.replace(lost, cells=lost.cells[~rows]))
    assert answer.sentence.startswith("Updating did not pay: on new text (ID)")
    assert "that of replay-half" in answer.sentence


def test_what_the_best_update_gains_over_none_follows_the_comparison_of_methods() -> None:
    won = with_frozen(chosen(plain(), TWO), 0.2)
    (answer,) = answered(won)
    assert answer.sentence.startswith("cyclic-cosine+ar is best on past periods (Bwd.)")
    assert answer.more.startswith(
        "Updating paid: on new text (ID), the perplexity of cyclic-cosine+ar, the best of the 2 there, is "
    )
    assert "than that of frozen, the never updated first model (" in answer.more
    assert "), and better in 11 of 11 months. " in answer.more
    assert answer.detail.startswith("On past periods, cyclic-cosine+ar is better than frozen: its perplexity is ")
    (alone,) = answered(with_frozen(chosen(plain(), ("cyclic-cosine+ar", "oracle")), 0.2))
    assert alone.sentence.startswith("Updating paid: on new text (ID), the perplexity of cyclic-cosine+ar is ")
    assert alone.more.startswith("cyclic-cosine+ar, regret against oracle") and "no other method" not in alone.more


def test_where_evaluations_disagree_on_what_updating_paid_they_are_named_before_the_first_one() -> None:
    gains = with_frozen(chosen(plain(), TWO[:2]), 0.2)
    updated = (gains.cells["method"] != "frozen") & (gains.cells["trained"] != CHECKPOINTS[0])
    losing = gains.cells.assign(value=gains.cells["value"] + 0.5 * updated, task="kept@1")
    norms = losing.assign(task="norms@1")
    metrics = dict(gains.metrics) | {"kept@1": gains.metric("tic-cc@1"), "norms@1": TaskMetric("gradient-norm")}
    several = dataclasses.replace(gains, cells=pd.concat([losing, gains.cells, norms]), metrics=metrics, reference=None)
    (answer,) = answered(several)
    told = "Updating paid on 1 of 2 tasks. On new text (ID), against frozen, the never updated first model: it paid on "
    assert answer.sentence.startswith(f"{told}tic-cc ("), "a norm of gradients is neither good nor bad"
    assert "; it cost on kept (" in answer.sentence and answer.sentence.endswith("\u00a0% higher, cyclic-cosine+ar).")
    assert answer.more.startswith("On kept: None of these updates paid: ")
    same = dataclasses.replace(several, cells=pd.concat([losing, losing.assign(task="tic-cc@1")]))
    assert answered(same)[0].sentence.startswith("On kept: None of these updates paid: ")


def test_updates_that_cannot_be_told_from_none_are_not_said_to_have_paid() -> None:
    (answer,) = answered(with_frozen(chosen(plain(), TWO), 0.0))
    assert answer.sentence.startswith(
        "None of these updates is sure to have paid: on new text (ID), cyclic-cosine+ar, "
    )
    assert "cannot be told apart from frozen, the never updated first model (" in answer.sentence


def test_of_accuracy_the_first_model_is_a_rival_too() -> None:
    result = dataclasses.replace(chosen(plain("wiki-qa@1"), TWO), reference=None)
    frozen = MethodResult("frozen", "reference", (1,), frozen_of=TWO[0])
    paid = result.costs[(result.costs["method"] == TWO[0]) & (result.costs["trained"] == CHECKPOINTS[0])]
    rows, costs = result.cells, pd.concat([result.costs, paid.assign(method="frozen")])
    shifted = rows["value"].where(rows["trained"] == CHECKPOINTS[0], rows["value"] - 0.2)
    (answer,) = answered(dataclasses.replace(result, cells=rows.assign(value=shifted), costs=costs, frozen=frozen))
    assert answer.sentence.startswith("None of these updates paid") and " points, 95" in answer.sentence
    assert "perplexity" not in answer.sentence


def test_oracles_that_are_the_first_model_itself_are_named_and_priced_as_that() -> None:
    won = with_frozen(chosen(plain(), TWO), 0.2)
    oracle = dataclasses.replace(won.methods[-1], first_cutoff=CUTOFFS[0])
    kept = (won.cells["method"] != "oracle") | won.cells["trained"].isin([CUTOFFS[0], CUTOFFS[-1]])
    paid = (won.costs["method"] != "oracle") | won.costs["trained"].isin([CUTOFFS[0], CUTOFFS[-1]])
    methods = (*won.methods[:-1], oracle)
    (answer,) = answered(dataclasses.replace(won, cells=won.cells[kept], costs=won.costs[paid], methods=methods))
    assert (
        "Of the 12 rows of the Oracle series, 11 are the first model itself (not retrained) and 1 the model of 2024-07."
        in answer.whole
    )
    assert " 0.3 are for the first model, which every method starts from, too." in answer.detail
