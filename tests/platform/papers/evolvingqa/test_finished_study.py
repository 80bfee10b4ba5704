"""A study that is run to its end with every task of EvolvingQA, and its report."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from finished import run
from parts import wanted

from ticlm.core.accounting import Step
from ticlm.core.examples import INFO, Example, ExamplesInfo, PeriodExamples, publish
from ticlm.core.periods import Calendar
from ticlm.core.store import Store
from ticlm.platform.papers.evolvingqa.part import Evolving
from ticlm.platform.papers.evolvingqa.tables import evolving_tables
from ticlm.platform.results.of_plan import study_result
from ticlm.platform.study.settings import Study

MONTHS = ("202302", "202303")
METHOD = {"base": "cyclic-cosine", "schedule": {"kind": "cosine", "max_rate": 5e-3, "warmup_steps": 1}}
ASKS = {"kind": "generated-answers", "examples": "toy@1", "form": "question", "tokens": 1}
BLOCK = {
    "kind": "evolving",
    **{name: name for name in ("unchanged", "new", "edited", "preferred")},
    "time_prompt": {"new": "dated-new", "edited": "dated-edited"},
    "gradients": {"new": "gradients-new", "edited": "gradients-edited"},
}


def question(i: int, kind: str, outdated: tuple[str, ...] = ()) -> Example:
    masked = {"input": f"w{i} <extra_id_0> w{i + 2}", "target": f"<extra_id_0> w{i + 1} <extra_id_1>"}
    about = {"type": kind, "context": f"w{i} w{i + 1} w{i + 2}.", **masked}
    text = f"w{i} w{i + 1}"
    return Example(f"p{i}", text, f"w{i + 2}", question=text, outdated=outdated, about=about)


@pytest.mark.nightly
def test_every_table_has_the_scores_of_a_finished_study(toy_root: Path, toy_study: Callable[..., Study]) -> None:
    store = Store(toy_root / "examples/toy@1")
    store.create(INFO, ExamplesInfo(name="toy", version="1", recipe="r").model_dump_json().encode())
    for period in Calendar(initial="202301", step="month", last=MONTHS[-1]).timeline().periods:
        sets = {"new": [question(i, "GPE") for i in range(8)]}
        sets |= {"edited": [question(i, "DATE", (f"w{i + 3}",)) for i in range(5)]}
        sets = sets if period.label in MONTHS else {"unchanged": [question(i, "ORG") for i in range(6)]}
        steps = (Step(name="judge", read=9, dropped={"not supported": 2}),)
        publish(store, PeriodExamples(period=period, subsets={}, steps=steps, statistics={"calls": {"judge": 3}}), sets)
    tasks: list[dict[str, object]] = [{**ASKS, "name": name, "split": name} for name in ("unchanged", "new", "edited")]
    for name in ("new", "edited"):
        tasks.append({**ASKS, "name": f"dated-{name}", "split": name, "time_prompt": "As of {month} {year}, "})
        tasks.append({"kind": "gradient-norms", "name": f"gradients-{name}", "examples": "toy@1", "split": name})
    tasks.append({"kind": "preferred-answers", "name": "preferred", "examples": "toy@1", "split": "edited"})
    periods = {"initial": "202301", "last": MONTHS[-1]}
    made = run(toy_study(methods=[METHOD], periods=periods, evaluations=tasks, tables=[BLOCK]), toy_root)
    found = evolving_tables(wanted(Evolving, study_result(made)))
    assert found.missing == ()
    expected = {"scores", "differences", "preferred", "time_prompt", "categories", "leakage", "overlaps", "gradients"}
    assert expected | {"points", "sizes", "steps", "counts"} <= found.files().keys()
    rows = found.scores[found.scores["metric"] == "exact-match"]
    assert len(rows) == 2 * 2 * 4 and set(zip(rows["row"], rows["trained"])) == {
        *(("INITIAL", "202301"), ("cyclic-cosine", "202302"), ("cyclic-cosine", "202303"))
    }
    by_set = rows.set_index(["row", "month", "set"])["value"].to_dict()
    for row in found.differences[found.differences["metric"] == "exact-match"].to_dict("records"):
        for name in ("OUTDATED", "UPDATED"):
            assert row[name.lower()] == pytest.approx(by_set[row["row"], row["month"], name])
    shares = found.preferred
    assert set(shares["measure"]) == {"sum", "per-token", "pmi"} and len(shares) == 2 * 2 * 3
    places = found.gradients[found.gradients["measure"] == "norm"]
    assert list(zip(places["row"], places["trained"], places["month"])) == [
        ("INITIAL", "202301", "202302"),
        ("cyclic-cosine", "202302", "202303"),
    ]
    assert (found.overlaps["overlap"] == 1).all() and set(found.categories["category"]) == {"Locational", "Temporal"}
