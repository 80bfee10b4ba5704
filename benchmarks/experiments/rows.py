"""What the difference between two methods of a finished study is uncertain of: its evaluation rows, and its seeds.

    python -m benchmarks.experiments.rows STUDY METHOD METHOD --root ROOT

Every checkpoint of the two is scored once more, and this time the loss of each held-out row is kept. The standard error
due to rows treats the rows of a period as drawn at random, the same rows for all checkpoints. Rows of one long document
are not independent, so this is a lower bound. It is given for the two methods as they were scored, on the same rows,
and as if each had been scored on rows of its own. The error due to seeds, or to first models where a study has several,
needs several seeds of both methods, and pairs them. The last columns say how many independent rows a period needs, all
else equal, for a standard error of 0.005, which tells a difference of 0.01 from none.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ticlm.core import paths
from ticlm.platform.analysis.conventions import named
from ticlm.platform.analysis.matrix import views
from ticlm.platform.analysis.numbers import HEADINGS
from ticlm.platform.cli.options import plan_of
from ticlm.platform.display.words import over_seeds
from ticlm.platform.eval.checkpoint import load_checkpoint
from ticlm.platform.eval.wanted.asked import scored
from ticlm.platform.results.of_plan import study_result
from ticlm.platform.study.plan import Plan
from ticlm.platform.tasks.packed_rows import Perplexity

ENOUGH = 0.005
Array = NDArray[np.float64]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("study")
    parser.add_argument("methods", nargs=2, metavar="METHOD")
    parser.add_argument("--root", required=True)
    options = parser.parse_args()
    plan = plan_of(options.study, options.root, None)
    task = next((one for one in plan.study.evaluations if isinstance(one, Perplexity)), None)
    if task is None:
        parser.error(f"STUDY: {plan.study.name} does not score the rows of its corpus (perplexity)")
    view = next(one for one in views(study_result(plan)) if one.task == task.id and not one.source)
    seeds = {one.method.name: len(one.method.seeds) for one in view.methods if not one.method.is_oracle}
    if any(name not in seeds for name in options.methods):
        parser.error(f"METHOD: one of {', '.join(seeds)}")
    if len({seeds[name] for name in options.methods}) > 1:
        parser.error("both methods need the same number of seeds")
    cells, held = view.cells(named()), ~np.isnan(view.methods[0].mean).any(0)  # some periods have no held-out row
    evaluated = tuple(np.array(view.evaluated)[held].tolist())
    first, second = (row_losses(plan, task, name, evaluated) for name in options.methods)
    print(f"{' − '.join(options.methods)}, nats per token; {view.task}, {len(first)} seeds")
    if len(first) > 1:
        both = [one.method for one in view.methods if one.method.name in options.methods]
        print(over_seeds((method.name, method.first_models) for method in both))
    print(f"{'':6}{'difference':>12}{'rows':>9}{'unpaired':>10}{'seeds':>9}{'rows a period':>15}{'unpaired':>10}")
    for mean, heading in HEADINGS.items():
        mask = getattr(cells, mean)[:, held]
        apart, paired, own, number = 0.0, 0.0, 0.0, 0
        by_seed = np.zeros((2, len(first)))
        for place, label in enumerate(evaluated):
            weights = mask[:, place] / mask.sum()
            # this period's part of the mean over cells, [method, seed, row]
            losses = np.array([[seed[label] for seed in of] for of in (first, second)])
            parts = np.einsum("t,mstr->msr", weights, losses)
            number = max(number, parts.shape[-1])
            by_seed += parts.mean(-1)
            whole = parts.mean(1)
            apart += float(np.subtract(*whole).mean())
            paired += error(whole[0] - whole[1])
            own += error(whole[0]) + error(whole[1])
        # paired, since runs of one seed start from one first model
        of_seeds = error(np.subtract(*by_seed)) ** 0.5 if by_seed.shape[-1] > 1 else np.nan
        needed = [f"{int(np.ceil(number * of_rows / ENOUGH**2)):,}" for of_rows in (paired, own)]
        print(
            f"{heading:6}{apart:>+12.4f}{paired**0.5:>9.4f}{own**0.5:>10.4f}{of_seeds:>9.4f}{needed[0]:>15}{needed[1]:>10}"
        )


def error(values: Array) -> float:
    """Return the squared standard error of a mean."""
    return float(values.var(ddof=1) / len(values))


def row_losses(plan: Plan, task: Perplexity, method: str, evaluated: tuple[str, ...]) -> list[dict[str, Array]]:
    """Return for each seed of a method: evaluated period -> mean loss per target, float64[trained, row]."""
    assert plan.store is not None and plan.corpus is not None
    found: dict[int, dict[str, list[Any]]] = {}
    for run, trained, scoring in scored(plan):
        if run.method.name != method or scoring != task:
            continue
        key = run.rounds[trained]
        model = paths.model(paths.round_folder(plan.ids[key]), plan.records[key].attempt)
        with plan.store.local(model) as folder:
            answerer = load_checkpoint(Path(folder), plan.study.objective)
        for label in evaluated:
            blocks = plan.corpus.rows(label, task.split).all(plan.study.resources.evaluation_rows, task.max_rows)
            sums, counts = map(np.concatenate, zip(*(answerer.rows(block) for block in blocks)))
            found.setdefault(run.seed, {}).setdefault(label, []).append(sums / counts)
    return [{label: np.stack(losses) for label, losses in of.items()} for of in found.values()]


if __name__ == "__main__":
    main()
