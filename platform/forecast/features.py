"""What is known of a run before it is trained: for each round what text it reads, how much, and at which rate."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from ticlm.core.periods import span
from ticlm.platform.study.round import Round
from ticlm.platform.study.tree import Run, Tree

POINTS = 64
"""Number of steps of a round at which its rate is read."""
DAYS = 365.25


@dataclass(frozen=True)
class RoundFacts:
    """What is known of one round."""

    label: str
    shares: Mapping[str, float]
    """Share of its tokens by period of the timeline. They sum to 1, less what comes from another corpus."""
    tokens: int
    heat: float
    """Sum of the rates of its steps, times the heat of its optimizer: how far the weights can move."""
    from_scratch: bool = False
    parent: int | None = None
    """Place in the run of the round from whose weights it starts; None: the one before."""
    average: tuple[tuple[int, float], ...] = ()
    """Places of the rounds that it is an average of, each with its weight; empty: it is trained."""


@dataclass(frozen=True)
class RunFacts:
    """What is known of one run, the same for all seeds: its rounds, each after those that it is made of. The checkpoint
    of a period is the last of its rounds. `beyond` names its parts that the law does not know."""

    method: str
    rounds: tuple[RoundFacts, ...]
    beyond: tuple[str, ...] = ()

    @property
    def checkpoints(self) -> dict[str, int]:
        """The places of the rounds whose weights are scored, by period."""
        return {one.label: place for place, one in enumerate(self.rounds)}

    @property
    def continual(self) -> tuple[RoundFacts, ...]:
        """The rounds that are trained from the weights of others."""
        return tuple(one for one in self.rounds if not (one.from_scratch or one.average))

    @property
    def place(self) -> tuple[float, float]:
        """What is said first of a run: the mean share of old text and the logarithm of the mean heat of its continual
        rounds. For a model from scratch, its period in years and the logarithm of its tokens."""
        rounds = self.continual
        if not rounds:
            return years(self.rounds[-1].label), math.log(max(self.rounds[-1].tokens, 1))
        old = sum(1 - one.shares.get(one.label, 0.0) for one in rounds) / len(rounds)
        return old, math.log(sum(one.heat for one in rounds) / len(rounds) or 1.0)


def by_method(tree: Tree) -> dict[str, RunFacts]:
    """Return the facts of every method of a tree of rounds, from its first run. Opens no file."""
    found: dict[str, RunFacts] = {}
    for run in tree.runs:
        if run.method.name not in found:
            found[run.method.name] = _facts(tree, run)
    return found


def years(label: str) -> float:
    """Return the middle of the days that the label of a period names, in years."""
    start, end = span(label)
    return (start.toordinal() + end.toordinal()) / 2 / DAYS


def _facts(tree: Tree, run: Run) -> RunFacts:
    labels = {key: label for label, keys in run.work.items() for key in keys if tree.rounds[key].sample is None}
    places = {key: place for place, key in enumerate(labels)}
    specs = [(label, tree.rounds[key]) for key, label in labels.items()]
    own = {spec.own.corpus for _, spec in specs if spec.own is not None}
    rounds = tuple(_round(label, spec, own, places) for label, spec in specs)
    beyond = dict.fromkeys(name for _, spec in specs for name in _beyond(spec))
    if len({spec.recipe.batch_rows for _, spec in specs}) > 1:
        beyond["batches of its own size"] = None
    return RunFacts(run.method.name, rounds, tuple(beyond))


def _round(label: str, spec: Round, own: set[str], places: Mapping[str, int]) -> RoundFacts:
    parent = None if spec.parent is None else places[spec.parent]
    if spec.average:
        parts = tuple((places[part.round], part.weight) for part in spec.average)
        return RoundFacts(label, {}, 0, 0.0, parent=parent, average=parts)
    draws = spec.draws()
    whole = sum(draws.values())
    shares = {source.period: rows / whole for source, rows in draws.items() if source.corpus in own and rows}
    rates = _rates(spec)
    heat = sum(rates) / len(rates) * spec.steps if rates else 0.0
    heat *= spec.recipe.optimizer.heat or 1.0
    return RoundFacts(label, shares, spec.tokens, heat, spec.parent is None, parent)


def _rates(spec: Round) -> Sequence[float]:
    """Return the rate at up to POINTS steps, evenly spread over a round."""
    count = min(POINTS, spec.steps)
    return [spec.recipe.schedule.rate((2 * k + 1) * spec.steps // (2 * count), spec.position) for k in range(count)]


def _beyond(spec: Round) -> Iterator[str]:
    recipe = spec.recipe
    yield from (type(penalty).__name__ for penalty in recipe.penalties)
    if recipe.adapter is not None:
        yield type(recipe.adapter).__name__
    if recipe.freeze is not None and recipe.freeze != "nothing":
        yield f"freeze {recipe.freeze}"
    if spec.parent is not None and recipe.optimizer.heat is None and not spec.average:
        yield type(recipe.optimizer).__name__
    if any(part.step is not None for part in spec.average):
        yield "averages inside rounds"
    if spec.sampled is not None:
        yield "rows sampled from checkpoints, or chosen"
    if spec.further:
        yield "further corpora"
    if spec.open:
        yield "shares, which are open until earlier rounds are trained"
