"""How often a written study shows a text to its models, and sizes by which none is learnt by heart."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from ticlm.core import paths
from ticlm.core.mixture import Source
from ticlm.platform.proposal.sizing import LEAST_PER_PARAMETER, LEAST_STEPS, Sizes
from ticlm.platform.study import tree
from ticlm.platform.study.chains import epochs
from ticlm.platform.study.settings import Study

MOST = 3.6
"""Times that a model may see a text: plans warn above 4, and a corpus may have a tenth less text than was counted."""
LEAST_ORACLE = 0.5
"""Share of a run's tokens that an Oracle needs to be a reference for it: with less, it is just a smaller training."""
FIRST_EPOCHS = 2.0
"""Passes over the first span that its round keeps, while updates replay it too often."""
STEP = 0.9
"""Factor by which budgets become smaller, until they fit."""
ROUNDS = 24
"""Times that budgets become smaller at most: 0.9 to this power is 8 %."""


def settled(sizes: Sizes, study_of: Callable[[Sizes], Study]) -> Sizes:
    """Return the sizes with budgets by which no model sees a text more than MOST times.

    An Oracle draws as much of the smallest period as of the largest one, so it gets a smaller budget, and is left out
    if that is less than LEAST_ORACLE of a run's. Of the runs, the first round becomes shorter first if its text is seen
    most, as long as it keeps FIRST_EPOCHS; then updates do, as long as the smallest keeps LEAST_STEPS.
    """
    for _ in range(ROUNDS):
        seen = _most(study_of(sizes), sizes)
        if seen is None or seen[0] <= MOST:
            break
        times, period, is_oracle = seen
        shorter = round(sizes.initial * STEP)
        if is_oracle:
            room = round(sizes.oracle_tokens * MOST / times) - sizes.initial
            small = room <= 0 or room + sizes.initial < LEAST_ORACLE * (sizes.initial + sizes.updates)
            sizes = replace(sizes, oracle=False, repeats=times) if small else replace(sizes, oracle_updates=room)
        elif (
            period == 0
            and sizes.initial_epochs > FIRST_EPOCHS
            and shorter >= 1.1 * LEAST_PER_PARAMETER * sizes.shape.parameters
        ):
            sizes = replace(sizes, initial=shorter)
        elif sizes.update_steps * STEP >= LEAST_STEPS:
            sizes = replace(sizes, update_epochs=float(f"{sizes.update_epochs * STEP:.2g}"))
        else:
            break
    return sizes


def _most(study: Study, sizes: Sizes) -> tuple[float, int, bool] | None:
    """Return how often a text is seen at most, the place of its period, and whether an Oracle sees it so often."""
    corpus = paths.corpus_id(study.corpus)
    labels = study.timeline.labels
    rows = {label: max(1, count // sizes.length) for label, count in zip(labels, sizes.train)}
    sources = {Source(corpus=corpus, period=label): count for label, count in rows.items()}
    grown = tree.rounds(study, rows)
    runs = {key for run in grown.runs if not run.method.is_series for key in run.keys}
    seen = max(epochs(grown.rounds, lambda source: sources.get(source, 0)), key=lambda one: one[2], default=None)
    return None if seen is None else (seen[2], labels.index(seen[1].period), seen[0] not in runs)
