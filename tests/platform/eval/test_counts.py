"""What is left to read: the cells that have no value, each with the tokens of its rows."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from ticlm.platform.cli import plan_view
from ticlm.platform.eval.wanted.counts import ScoringLoad, count, workload
from ticlm.platform.run import driver
from ticlm.platform.study import plan
from ticlm.platform.study.settings import Study

MakeStudy = Callable[..., Study]
METHODS = [
    {"base": base, "schedule": {"kind": "cosine", "max_rate": 5e-3, "warmup_steps": 1}}
    for base in ("cyclic-cosine", "replay-half")
]


def test_what_is_left_shrinks_with_what_is_scored(toy_root: Path, toy_study: MakeStudy) -> None:
    """Two methods share the first of two rounds, so three checkpoints are scored on 16 rows of each of two periods."""

    def left(evaluations: list[dict[str, Any]], **changes: Any) -> ScoringLoad:
        study = toy_study(
            methods=METHODS, periods={"initial": "202301", "last": "202302"}, evaluations=evaluations, **changes
        )
        made = plan.make(study, str(toy_root))
        return workload(made, count(made).by_label)

    rows, tuned = {"kind": "perplexity"}, {"kind": "perplexity", "name": "few", "split": "tune", "max_rows": 3}
    assert left([rows]) == ScoringLoad(3 * 2 * 16 * 16, 6, ())
    made = plan.make(toy_study(methods=METHODS, periods={"initial": "202301", "last": "202302"}), str(toy_root))
    driver.train(made)
    assert left([rows]) == ScoringLoad(3 * 2 * 16 * 16, 6, ()), "trained and not scored"
    driver.evaluate(made)
    assert left([rows]) == ScoringLoad(0, 0, ())
    assert left([rows, tuned]) == ScoringLoad(3 * 2 * 3 * 16, 6, ()), "of a new task alone"
    assert left([rows], evaluate={"compute": "bfloat16"}) == ScoringLoad(3 * 2 * 16 * 16, 6, ()), "none is of this type"
    again = plan.make(made.study, str(toy_root))
    assert plan_view.describe(again)["cost"]["evaluation"]["gpu_hours"] == 0


def test_before_the_corpus_is_there_rows_with_inputs_are_not_counted(toy_study: MakeStudy) -> None:
    """A recipe tells how many rows are held out, and how long their targets are."""

    def ahead(**changes: Any) -> ScoringLoad:
        study = toy_study(corpus="synthetic", evaluations=[{"kind": "perplexity", "max_rows": 8}], **changes)
        return workload(plan.make(study, None), None)

    assert ahead().tokens > 0 and ahead().not_counted == ()
    assert ahead(objective={"kind": "seq2seq"}, model={"kind": "config", "model_type": "t5"}) == ScoringLoad(
        0, 0, ("perplexity",)
    )
