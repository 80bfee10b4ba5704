"""Notes of a plan: what its user should know before anything is trained, a line each."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from ticlm.core import paths
from ticlm.core.mixture import Source
from ticlm.platform.models.presets import own_window
from ticlm.platform.study.needs import missing_periods, rowless
from ticlm.platform.study.plan import Plan
from ticlm.platform.tasks.documents import ReadingTask

LEAST_TOKENS = 5.0
"""Tokens per parameter below which a model trained from scratch has hardly begun to converge (docs/sizing.md)."""
MANY_EPOCHS = 4.0
"""Up to so many epochs, repeated text is worth nearly as much as new text (Muennighoff et al. 2023)."""
LEAST_STEPS = 10
"""Steps below which a round's schedule hardly unfolds, so that its result is mostly chance."""


class MostEpochs(NamedTuple):
    """How often `who` has seen a source by the end of the round of `period`."""

    epochs: float
    source: Source
    who: str
    period: str

    @property
    def said(self) -> str:
        """Return what is seen, and who sees it."""
        round_of = "" if self.period == self.source.period else f" by the end of its round of {self.period}"
        return f"{self.source}, by {self.who}{round_of}"


def most_epochs(plan: Plan) -> MostEpochs | None:
    """Return the source that a run sees most often; None if nothing is known of it."""
    found = max(plan.epochs(), key=lambda one: one[2], default=None)
    if found is None:
        return None
    key, source, epochs = found
    return MostEpochs(epochs, source, _who(plan, key), plan.tree.rounds[key].period)


def notes(plan: Plan, most: MostEpochs | None) -> list[str]:
    """Return the notes on a plan's corpus and rounds; `most` is the source that a run sees most often."""
    missing = missing_periods(plan) if plan.corpus else []
    found = []
    if plan.store is None:
        found.append("what is done, and rows, are known once all that is missing is there")
    elif plan.corpus is None:
        found.append(f"corpus {plan.study.corpus}: not built yet, so nothing is done, rows are unknown")
    if missing:
        found.append(f"corpus has no period {', '.join(missing[:5])}{' …' if len(missing) > 5 else ''}")
    if waiting := len(plan.open_rounds):
        found.append(
            f"{waiting} rounds' shares are open until the rounds before them are trained and measured; until then they "
            "count as left, also those that are trained already"
        )
    if rows := rowless(plan):
        more = f" and {len(rows) - 1} more" if len(rows) > 1 else ""
        found.append(f"{rows[0]}{more} has no row to train on, so ticlm run would refuse the study: pool periods")
    if (tokens := _least_tokens(plan)) is not None and tokens < LEAST_TOKENS:
        found.append(
            f"a model from scratch sees {tokens:.2g} tokens per parameter; below {LEAST_TOKENS:g} it has hardly begun "
            "to converge when its rate falls, so methods differ by what they learn, not by what they forget "
            "(ticlm docs sizing)"
        )
    found += [*_shared_first_model(plan), *_unlearned_positions(plan)]
    return [*found, *_further(plan), *_repeated(most), *_short(plan), *_held(plan), *_lopsided(plan)]


def _further(plan: Plan) -> Iterator[str]:
    """Yield a line for each further corpus: in how many rounds it has a new period, and what the others draw."""
    timeline = plan.study.timeline
    for one in plan.study.corpora:
        clock = one.clock(timeline)
        new, drawn = (sum(map(bool, found)) for found in (clock.new.values(), map(clock.current, timeline.labels)))
        others = [f"{drawn - new} go on with its newest one"] if drawn > new else []
        if drawn < len(timeline):
            others.append(f"{len(timeline) - drawn} give its share to {paths.corpus_id(plan.study.corpus)}")
        rest = f"; of the others {' and '.join(others)}" if others else ""
        yield f"{clock.corpus} ({one.share:g} of each budget): {new} of {len(timeline)} rounds have a new period{rest}"


def _shared_first_model(plan: Plan) -> list[str]:
    """Return a line if methods have several seeds that start from one first model, which the study trains."""
    initial = plan.study.initial
    several = [one.name for one in plan.study.methods if len(one.seeds) > 1 and not one.is_series]
    if not several or not isinstance(initial.seed, int) or initial.budget == 0:
        return []
    who = "all methods with several seeds" if len(several) > 1 else several[0]
    return [
        f"{who}: the seeds share one first model, so a deviation over them leaves out what another one would change; "
        "initial: {seed: [0, 1, 2]} trains three (ticlm docs report)"
    ]


def _unlearned_positions(plan: Plan) -> Iterator[str]:
    """Yield a line if texts are read in windows longer than the rows that a model from scratch learns from."""
    study, window = plan.study, own_window(plan.study.model)
    if window is None or window <= study.length:
        return
    reads = [task for task in study.evaluations if isinstance(task, ReadingTask)]
    if names := [task.name for task in reads if (task.first_tokens or task.last_tokens or window) > study.length]:
        yield (
            f"{', '.join(names)}: texts are read in windows of up to {window:,} tokens by a model that learns from "
            f"scratch on rows of {study.length:,}; behind those its losses may be several nats higher: give rows and "
            "model.changes one length"
        )


def _repeated(most: MostEpochs | None) -> list[str]:
    if most is None or most.epochs <= MANY_EPOCHS:
        return []
    return [
        f"{most.who} sees {most.source} {most.epochs:.2f} times; from about {MANY_EPOCHS:g} times on text is learned "
        "by heart: lower its budget, or pool periods"
    ]


def _short(plan: Plan) -> list[str]:
    """Return the line on rounds of few steps, which names the shortest."""
    short = [
        (spec.steps, key)
        for key, spec in plan.tree.rounds.items()
        if spec.is_trained and not spec.open and 0 < spec.steps < LEAST_STEPS and key not in plan.tree.tuned_copies
    ]
    if not short:
        return []
    steps, key = min(short)
    count = "1 round has" if len(short) == 1 else f"{len(short)} rounds have"
    which = f"{_who(plan, key)} at {plan.tree.rounds[key].period}"
    return [
        f"{count} fewer than {LEAST_STEPS} steps, the fewest {steps} ({which}): too few to say much; raise budgets, or "
        "lower batch"
    ]


def _held(plan: Plan) -> Iterator[str]:
    """Yield a line for each method whose optimizer pulls to a round's starting weights (RecAdam): how long the pull
    outweighs training, and whether there are rounds in which it does so to the end."""
    rounds: dict[str, dict[str, tuple[int, str]]] = {}
    for key, spec in plan.tree.rounds.items():
        if spec.steps and key not in plan.tree.tuned_copies:
            held = spec.recipe.optimizer.hold(spec.recipe.schedule, spec.position)
            if held is not None:
                rounds.setdefault(_who(plan, key), {})[key] = held
    for who, found in rounds.items():
        specs = [plan.tree.rounds[key] for key in found]
        count, steps = sum(held for held, _ in found.values()), sum(spec.steps for spec in specs)
        what = f"the pull of {type(specs[0].recipe.optimizer).__name__} outweighs training"
        line = f"{who}: {what} in {count:,} of {steps:,} steps ({100 * count / steps:.3g} %)"
        to_the_end = [(spec, how) for spec, (held, how) in zip(specs, found.values()) if held == spec.steps]
        if to_the_end:
            first, how = to_the_end[0]
            which = "its round" if len(specs) == 1 else f"{len(to_the_end)} of {len(specs)} rounds"
            line += f"; in {which} ({first.period}) to the last step, so hardly anything is learned: {how}"
        yield line


def _lopsided(plan: Plan) -> list[str]:
    """Return lines on periods of the study whose splits are lopsided."""
    if plan.corpus is None:
        return []
    from ticlm.datasets.corpus.ledger.shares import lopsided  # with numpy, which a plan without data does without

    have = plan.corpus.periods
    return lopsided({label: have[label] for label in plan.study.timeline.labels if label in have})


def _who(plan: Plan, key: str) -> str:
    """Return the methods that train a round: two by name, more as a number."""
    names = list(dict.fromkeys(run.method.name for run in plan.tree.users.get(key, ())))
    return f"{len(names)} methods" if len(names) > 2 else " and ".join(names) or "a tuned copy"


def _least_tokens(plan: Plan) -> float | None:
    """Return the tokens per parameter of the model from scratch that has the fewest; None if that is unknown, and if
    there is none: a model that exists is taken as it is."""
    scratch = [spec.tokens for spec in plan.tree.rounds.values() if spec.parent is None and spec.steps]
    return min(scratch) / plan.parameters if scratch and plan.parameters else None
