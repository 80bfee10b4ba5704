"""Each method of a finished study against one of them: losses, and paired differences with two kinds of 95 % intervals.

    python -m benchmarks.experiments.differences STUDY --against METHOD --root ROOT [--of STUDY] [--tuned 10]

A difference is the method's mean loss minus that of METHOD, over the runs that both have from the same first models. In
brackets stand two intervals. `periods` resamples the evaluated periods, with all their checkpoints, for the mean of
these runs: how far the difference depends on which periods were evaluated. `models` is Student's t over the differences
by first model: how far it depends on the first model and the order of rows. Neither holds for other text or another
budget. The first checkpoint, which all methods share, counts with differences of 0. With `--of`, METHOD is one of
another study that has the same first models, checkpoints and evaluated periods. `frozen` is what doing nothing
scores. With `--tuned N`, a second table
leaves out the first N periods of the study, on which rates and decays were chosen, both as checkpoints and as evaluated
periods.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ticlm.platform.analysis.conventions import named
from ticlm.platform.analysis.intervals import quantile
from ticlm.platform.analysis.matrix import MethodView, View, views
from ticlm.platform.analysis.numbers import HEADINGS
from ticlm.platform.analysis.paired_bootstrap import paired
from ticlm.platform.cli.options import plan_of
from ticlm.platform.results.of_plan import study_result
from ticlm.platform.study.plan import Plan
from ticlm.platform.study.settings import Initial

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]


@dataclass(frozen=True)
class Gap:
    """A mean difference, its interval over evaluated periods, and that over first models (NaN for fewer than two)."""

    mean: float
    periods: tuple[float, float]
    models: tuple[float, float]
    first_models: int


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("study")
    parser.add_argument("--against", required=True, metavar="METHOD")
    parser.add_argument("--root", required=True)
    parser.add_argument("--of", metavar="STUDY", help="the study of METHOD, if it is another one")
    parser.add_argument("--tuned", type=int, default=0, metavar="N")
    options = parser.parse_args()
    plan, view = loaded(options.study, options.root)
    rivals, other = (plan, view) if options.of is None else loaded(options.of, options.root)
    runs = {one.method.name: one for one in other.methods if one.method.is_run}
    if options.against not in runs:
        parser.error(f"--against: one of {', '.join(runs)}")
    if not first_rounds(rivals, options.against) <= first_rounds(plan) or axes(view) != axes(other):
        parser.error(
            f"--of: {options.of} has other first models, checkpoints or evaluated periods than {options.study}"
        )
    rival, labels = runs[options.against], plan.study.periods.timeline().labels
    print(table(view, plan.study.initial, rival, (), options.of or ""))
    if options.tuned:
        print(f"\nWithout the first {options.tuned} periods, on which the choices were made:\n")
        print(table(view, plan.study.initial, rival, labels[: options.tuned], options.of or ""))


def loaded(study: str, root: str) -> tuple[Plan, View]:
    """Return the plan of a finished study and the first of its views that is of all sources together."""
    plan = plan_of(study, root, None)
    return plan, next(one for one in views(study_result(plan)) if not one.source)


def first_rounds(plan: Plan, method: str | None = None) -> set[str]:
    """Return the ids of the first rounds of a study's runs, or of those of one method."""
    runs = (run for run in plan.tree.runs if method in (None, run.method.name))
    return {plan.ids[next(iter(run.rounds.values()))] for run in runs}


def axes(view: View) -> tuple[Sequence[str], Sequence[str]]:
    """Return the labels of the axes of a view's cells: checkpoints, and evaluated periods."""
    return list(view.study.checkpoints), list(view.evaluated)


def table(view: View, initial: Initial, rival: MethodView, without: Sequence[str], of: str = "") -> str:
    """Return a Markdown table with a line for each method of a view and for the model that is never updated, and before
    them one for the rival if it is `of` another study; cells of the periods `without` are left out, both as checkpoints
    and as evaluated periods."""
    cells = view.cells(named())
    kept = ~np.isin(view.study.checkpoints, without)[:, np.newaxis] & ~np.isin(view.evaluated, without)
    against = f"{rival.method.name} of {of}" if of else rival.method.name
    heads = [text for heading in HEADINGS.values() for text in (heading, f"difference from {against}")]
    lines = [f"| method | models | {' | '.join(heads)} |", "|" + "---|" * (len(heads) + 2)]
    named_runs = [(one.method.name, one) for one in view.methods if not one.method.is_oracle]
    for name, one in [(against, rival), *named_runs] if of else named_runs:
        found = [
            (loss_of(one, mask), gap(one, rival, mask, initial))
            for mask in (getattr(cells, m) & kept for m in HEADINGS)
        ]
        shown = [text for loss, apart in found for text in (f"{loss:.3f}", "" if one is rival else told(apart))]
        lines.append(f"| {name} | {found[0][1].first_models} | {' | '.join(shown)} |")
    return "\n".join(lines)


def loss_of(method: MethodView, mask: Mask) -> float:
    """Return the mean over the seeds and the cells [checkpoint, evaluated] of a mask that have a value."""
    values = method.mean[mask]
    return float(np.nanmean(values)) if np.isfinite(values).any() else np.nan


def gap(mine: MethodView, other: MethodView, mask: Mask, initial: Initial) -> Gap:
    """Return the difference of two methods over a mask [checkpoint, evaluated], by the seeds that both have."""
    seeds = [seed for seed in mine.method.seeds if seed in other.method.seeds]
    rows = [[one.by_seed[one.method.seeds.index(seed)] for seed in seeds] for one in (mine, other)]
    models = [initial.seed_of(seed) for seed in seeds]
    return gap_of(np.array(rows[0]), np.array(rows[1]), models, mask)


def gap_of(mine: Array, other: Array, models: Sequence[int], mask: Mask) -> Gap:
    """Return the difference of two methods, whose values are float64[run, checkpoint, evaluated]. Run n of both starts
    from the first model `models[n]`."""
    if not len(mine):
        return Gap(np.nan, (np.nan, np.nan), (np.nan, np.nan), 0)
    apart = mine - other
    counted = np.isfinite(apart).all(0) & mask
    by_model = [
        float(apart[np.array(models) == model].mean(0)[counted].mean()) if counted.any() else np.nan
        for model in dict.fromkeys(models)
    ]
    sums = np.where(counted, apart.mean(0), 0.0).sum(0)[:, np.newaxis]
    mean, low, high = (float(one[0]) for one in paired(sums, counted.sum(0).astype(float)[:, np.newaxis]))
    return Gap(mean, (low, high), _over(by_model), len(by_model))


def _over(values: Sequence[float]) -> tuple[float, float]:
    """Return the ends of Student's t interval of a mean."""
    if len(values) < 2:
        return np.nan, np.nan
    reach = quantile(len(values) - 1) * float(np.std(values, ddof=1)) / len(values) ** 0.5
    middle = float(np.mean(values))
    return middle - reach, middle + reach


def told(found: Gap) -> str:
    """Return a difference with its two intervals."""
    ends = [
        f"{name} {low:+.3f} to {high:+.3f}"
        for name, (low, high) in (("periods", found.periods), ("models", found.models))
        if np.isfinite(low)
    ]
    return f"{found.mean:+.3f}" + (f" ({'; '.join(ends)})" if ends else "")


if __name__ == "__main__":
    main()
