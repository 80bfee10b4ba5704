"""What a study says of cells that are there but hold no number, and of examples that were left out."""

from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from parts import wanted

from ticlm.core.accounting import Lineage
from ticlm.core.examples import Example, ExamplesInfo, PeriodExamples, publish
from ticlm.core.periods import Calendar
from ticlm.core.store import Store
from ticlm.platform.analysis.leaders import runs
from ticlm.platform.analysis.summary import summarize
from ticlm.platform.eval.wanted.asked import keys_by_place
from ticlm.platform.papers.ckl.part import Fuar
from ticlm.platform.papers.ckl.study_fuar import fuar_tables
from ticlm.platform.papers.evolvingqa.part import Evolving
from ticlm.platform.papers.evolvingqa.tables import evolving_tables
from ticlm.platform.results.of_plan import study_result
from ticlm.platform.results.study_result import StudyResult
from ticlm.platform.run import driver
from ticlm.platform.study import plan
from ticlm.platform.study.plan import Plan
from ticlm.platform.study.settings import Study
from ticlm.platform.tasks.base import NOT_A_NUMBER
from ticlm.platform.tasks.cells.cell import Cell
from ticlm.platform.tasks.cells.files import read_cells, write_cells

MONTHS = ("202301", "202302")
LONG, EMPTY = "left out: an answer longer than the window", "left out: no token to score"


@pytest.fixture
def made(toy_root: Path, toy_study: Callable[..., Study]) -> Plan:
    """A trained study of one method and two months, with two tasks on a set of questions."""
    return trained(toy_root, toy_study, {label: f"w1 {label}" for label in MONTHS})


def trained(toy_root: Path, toy_study: Callable[..., Study], texts: Mapping[str, str]) -> Plan:
    store = Store(toy_root / "examples/toy@1")
    store.create("examples.json", ExamplesInfo(name="toy", version="1", recipe="r").model_dump_json().encode())
    for period in Calendar(initial=MONTHS[0], last=MONTHS[1]).timeline().periods:
        held = PeriodExamples(period=period, subsets={}, statistics={}, lineage=Lineage())
        publish(store, held, {"all": [Example("1", texts[period.label], "w3")]})
    tasks = [
        {"kind": "answer-perplexity", "name": "tic-math", "examples": "toy@1"},
        {"kind": "document-perplexity", "name": "pages", "examples": "toy@1"},
    ]
    method = {"base": "cyclic-cosine", "schedule": {"kind": "cosine", "max_rate": 1e-3, "warmup_steps": 1}}
    periods = {"initial": MONTHS[0], "last": MONTHS[1]}
    found = plan.make(toy_study(methods=[method], periods=periods, evaluations=[{}, *tasks]), str(toy_root))
    driver.train(found)
    return found


def scored(made: Plan, **numbers: dict[str, float]) -> StudyResult:
    """The study once cells hold these metrics, or counts as `kind: reason`: of a task, or of one of its cells
    (`task_trained_evaluated`)."""
    runs = {key: trained for run in made.tree.runs for trained, key in run.rounds.items()}
    assert made.store is not None
    cells = []
    for (round, task, label), (weights, key) in keys_by_place(made).items():
        name = task.partition("@")[0].replace("-", "_")
        for title, value in numbers.get(f"{name}_{runs[round]}_{label}", numbers.get(name, {"nll": 2.0})).items():
            kind, _, metric = title.rpartition(": ")
            place = {"weights": weights, "task": task, "evaluated": label, "key": key}
            cells.append(
                Cell.model_validate({**place, "kind": kind or "value", "metric": metric, "value": value, "n": 1})
            )
    write_cells(made.store, cells)
    return study_result(made)


def test_a_round_keeps_its_losses_for_the_report_and_a_root_without_them_still_reports(made: Plan) -> None:
    (run,) = made.tree.runs
    steps = [made.tree.rounds[key].steps for key in run.keys]
    found = study_result(made).losses
    assert found is not None and found["loss"].between(0, 20).all()
    assert found.groupby("period").size().tolist() == [min(40, one) for one in steps]
    assert found["step"].is_monotonic_increasing and found["step"].max() <= sum(steps) - 1
    assert made.store is not None
    for path in list(made.store.walk("rounds")):
        if path.endswith("metrics.json"):
            made.store.remove(f"rounds/{path}")
    last = study_result(made).losses
    assert last is not None and last["step"].tolist() == [steps[0] - 1, sum(steps) - 1], "records keep the last loss"


def test_what_a_task_left_out_is_the_most_over_checkpoints_of_each_period(made: Plan) -> None:
    found = scored(
        made,
        tic_math={"nll": 1.0, LONG: 5},
        tic_math_202302_202301={"nll": 1.0, LONG: 7, "cut: a question longer than the model's window": 2},
        pages={"nll": 1.0, EMPTY: 1},
    )
    assert found.missing == (
        "tic-math@1: 12 questions left out: an answer longer than the window",
        "tic-math@1: 2 questions cut: a question longer than the model's window",
        "pages@1: 2 texts left out: no token to score",
    )
    assert set(found.cells["metric"]) == {"nll"}


def test_a_study_hands_on_the_fuars_that_it_asks_for(made: Plan) -> None:
    asked = Fuar(invariant=("pages/202301",), new=("pages/202302",), metric="exact-match")
    made.study = made.study.model_copy(update={"tables": (asked,)})
    (row,) = fuar_tables(wanted(Fuar, scored(made, pages={"nll": 2.0, "exact-match": 0.5}))).rows.to_dict("records")
    assert (row["fuar"], row["base"], row["trained"], row["numerator"]) == ("fuar", *MONTHS, 0.0)
    assert row["reason"] == "no gain"


def test_a_study_hands_on_the_questions_and_the_sets_that_its_tables_of_evolvingqa_are_about(made: Plan) -> None:
    asked = Evolving(new="tic-math", edited="tic-math", sets=("toy@1",))
    made.study = made.study.model_copy(update={"tables": (asked,)})
    found = scored(made, tic_math={"exact-match": 0.5}, tic_math_202302_202302={"exact-match": 1.0})
    assert found.questions is not None and [one.id for one in found.built_sets] == ["toy@1"]
    columns = ("task", "label", "question", "answer", "category")
    assert list(zip(*(found.questions[name] for name in columns))) == [
        ("tic-math@1", label, f"w1 {label}", "w3", "Numerical") for label in MONTHS
    ]
    rows = evolving_tables(wanted(Evolving, found)).scores.query("set == 'NEW'")
    assert [f"{row} {month}: {value}" for row, month, value in zip(rows["row"], rows["month"], rows["value"])] == [
        *("INITIAL 202301: 0.5", "INITIAL 202302: 0.5", "cyclic-cosine 202301: 0.5", "cyclic-cosine 202302: 1.0")
    ]


def test_a_cell_whose_losses_are_no_numbers_is_missing_under_that_reason(made: Plan) -> None:
    found = scored(made, perplexity_202302_202301={f"left out: {NOT_A_NUMBER}": 96}, pages_202301_202302={EMPTY: 1})
    assert found.missing == (
        "1 cells: pages@1 has nothing to average: no token to score",
        "1 cells: perplexity@1 has nothing to average: all, as a loss is not a number",
        "pages@1: 1 texts left out: no token to score",
    )
    rows = runs(summarize([found])).set_index("task")
    assert rows["missing"].to_dict() == {"perplexity@1": 1, "tic-math@1": 0, "pages@1": 1}


def test_periods_that_hold_the_same_data_share_what_was_scored(toy_root: Path, toy_study: Callable[..., Study]) -> None:
    made = trained(toy_root, toy_study, {label: "w1 w2" for label in MONTHS})
    keys = keys_by_place(made)
    assert len({key for (_, task, _), key in keys.items() if task == "pages@1"}) == 2  # one for each checkpoint
    found = scored(made, pages={"nll": 1.0, EMPTY: 1})
    assert found.missing == ("pages@1: 2 texts left out: no token to score",)
    assert runs(summarize([found]))["missing"].tolist() == [0, 0, 0]
    # a period that came later, with the same data, is not scored again
    assert made.store is not None
    for weights in {weights for weights, _ in keys.values()}:
        kept = [cell for cell in read_cells(made.store, weights) if cell.evaluated == MONTHS[0]]
        for name in made.store.files(f"cells/{weights[:16]}"):
            made.store.remove(f"cells/{weights[:16]}/{name}")
        write_cells(made.store, kept)
    rows = runs(summarize([study_result(made)])).set_index("task")
    assert rows["missing"].to_dict() == {"perplexity@1": 2, "tic-math@1": 0, "pages@1": 0}


def test_a_study_of_an_imported_model_alone_has_a_report(
    tmp_path: Path, toy_root: Path, toy_study: Callable[..., Study]
) -> None:
    """Nothing is trained: the model stands for the last period. So there are no learning rates to draw."""
    from ticlm.methods.objectives import Causal
    from ticlm.platform.models import build, folders
    from ticlm.platform.models.settings import PresetModel
    from ticlm.platform.report import write
    from ticlm.platform.report.report import Report

    config = build.config(PresetModel(name="tiny", changes='{"hidden_size": 16, "intermediate_size": 32}'), 64)
    folders.publish(build.scratch(config, Causal(), 0).state_dict(), config, Causal(), [], tmp_path / "model")
    model = {"kind": "folder", "path": str(tmp_path / "model"), "as_of": "202304"}
    schedule = {"kind": "cosine", "max_rate": 1e-3, "warmup_steps": 1}
    method = {"base": "cyclic-cosine", "schedule": schedule}
    study = toy_study(model=model, initial={"budget": 0, "schedule": schedule}, methods=[method])
    made = plan.make(study, str(toy_root))
    driver.train(made)
    driver.evaluate(made)
    result = study_result(made)
    assert len(result.cells) == 4 and result.rates.empty
    write.write(Report([result]), tmp_path / "page")
    assert (tmp_path / "page/index.html").exists()
