"""The tree of rounds of a study: a pure function that opens no file. A run is data before it is work."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from ticlm.methods.method import AnyOptimizer, AnySchedule, Method, OracleSeries, PerPeriod
from ticlm.methods.seams import Adapter, Horizon, Leg, Penalty, Place
from ticlm.platform.errors import FutureMonthError, InputError
from ticlm.platform.mixture import Mixture, Source
from ticlm.platform.objective import AnyObjective
from ticlm.platform.settings import Settings, fingerprint
from ticlm.platform.study import Epochs, Loss, Model, Precision, Steps, Study
from ticlm.platform.tasks import Prepare


class Stretch(Settings):
    """Steps in a row under one mixture; a round usually has one."""

    mixture: Mixture
    steps: int


class Drawn(Settings):
    """Rows of a source that the chain drew before this round, in the order of the round that first drew from it."""

    source: Source
    seed: int
    rows: int


class Recipe(Settings):
    """Everything but data and starting weights that reaches a round's weights."""

    model: Model
    objective: AnyObjective
    schedule: AnySchedule
    optimizer: AnyOptimizer
    penalties: tuple[Penalty, ...] = ()
    adapter: Adapter | None = None
    loss: Loss
    precision: Precision
    batch_rows: int
    length: int
    seed: int


class Round(Settings):
    """A node of the tree. `parent` is the key of the round whose weights it starts from; None: from scratch."""

    parent: str | None
    period: str
    stretches: tuple[Stretch, ...]
    recipe: Recipe
    place: Place
    drawn: tuple[Drawn, ...]

    @property
    def steps(self) -> int:
        return self.place.steps

    @property
    def tokens(self) -> int:
        return self.steps * self.recipe.batch_rows * self.recipe.length

    @property
    def sources(self) -> tuple[Source, ...]:
        return tuple(dict.fromkeys(s for stretch in self.stretches for s in stretch.mixture.sources))

    def draws(self) -> dict[Source, int]:
        """Rows this round takes of each source."""
        rows: dict[Source, int] = {}
        for stretch in self.stretches:
            for source, count in stretch.mixture.rows(stretch.steps * self.recipe.batch_rows).items():
                rows[source] = rows.get(source, 0) + count
        return rows


@dataclass(frozen=True)
class Run:
    """One method under one seed: the key of the round that ends each period it trains on."""

    method: Method
    seed: int
    rounds: Mapping[str, str]


@dataclass(frozen=True)
class Tree:
    """All rounds by key (parents before children), the runs over them, and the leaf rounds that tasks ask for."""

    rounds: dict[str, Round] = field(default_factory=dict)
    runs: list[Run] = field(default_factory=list)
    leaves: dict[tuple[str, str], str] = field(default_factory=dict)
    """(key of a checkpoint's round, task id) -> key of the round that prepares it for the task."""
    unspent: dict[str, int] = field(default_factory=dict)
    """Tokens of a round's budget that make no whole step."""

    def scored(self, key: str, task: str) -> str:
        """The round whose weights a task scores when it evaluates the checkpoint `key`."""
        return self.leaves.get((key, task), key)


def corpus_id(name: str) -> str:
    """The corpus as sources name it: `name@version` of the last part of a path."""
    last = name.rstrip("/").rsplit("/", 1)[-1]
    return last if "@" in last else f"{last}@1"


def rounds(study: Study, sizes: Mapping[str, int] | None = None) -> Tree:
    """Every round of the study, each once however many methods share it. `sizes` (training rows by period) is needed
    only for a budget in epochs."""
    timeline = study.periods.timeline()
    corpus = corpus_id(study.corpus)
    later = len(timeline) - 1
    horizon = Horizon(
        sources={label: Source(corpus=corpus, period=label) for label in timeline.labels},
        initial=_initial_tokens(study, timeline.labels[0], sizes),
        continual=lambda total: _continual_tokens(study, 1, later, total),
        continual_upto=lambda label, total: _continual_tokens(study, timeline.index(label), later, total),
    )
    tree = Tree()
    for method in study.methods:
        for seed in method.seeds:
            tree.runs.append(_run(study, method, seed, horizon, tree))
    wanted = timeline.labels if study.evaluate.checkpoints == "all" else study.evaluate.checkpoints
    for task in study.evaluations:
        if task.prepare is not None:
            for key in dict.fromkeys(k for run in tree.runs for label, k in run.rounds.items() if label in wanted):
                tree.leaves[key, task.id] = _leaf(tree, key, task.prepare)
    return tree


def _run(study: Study, method: Method, seed: int, horizon: Horizon, tree: Tree) -> Run:
    ends: dict[str, str] = {}
    previous: str | None = None
    cursor: dict[Source, Drawn] = {}
    steps_before = 0
    for leg in method.legs(horizon):
        if leg.start == "scratch":
            previous, cursor, steps_before = None, {}, 0
        recipe = _recipe(study, method, leg, seed)
        round_, unspent = _round(leg, recipe, previous, cursor, steps_before, horizon)
        key = fingerprint(round_)
        tree.rounds.setdefault(key, round_)
        tree.unspent[key] = unspent
        cursor = cursor | dict(_advance(round_, cursor))
        steps_before += 0 if leg.initial else round_.steps
        ends[leg.period] = previous = key
    return Run(method=method, seed=seed, rounds=ends)


def _recipe(study: Study, method: Method, leg: Leg, seed: int) -> Recipe:
    common = {
        "model": study.model,
        "objective": study.objective,
        "loss": study.loss,
        "precision": study.precision,
        "batch_rows": study.batch_rows,
        "length": study.length,
    }
    if leg.initial or isinstance(method, OracleSeries):
        start = study.initial
        return Recipe(**common, schedule=start.schedule, optimizer=start.optimizer, seed=start.seed)
    return Recipe(
        **common,
        schedule=method.schedule,
        optimizer=method.optimizer,
        penalties=method.penalties,
        adapter=method.adapter,
        seed=seed,
    )


def _round(
    leg: Leg, recipe: Recipe, parent: str | None, cursor: Mapping[Source, Drawn], steps_before: int, horizon: Horizon
) -> tuple[Round, int]:
    labels = horizon.labels
    for source in leg.mixture.sources:
        if labels.index(source.period) > labels.index(leg.period):
            raise FutureMonthError("a round", leg.period, source.period)
    batch_tokens = recipe.batch_rows * recipe.length
    steps, unspent = divmod(leg.mixture.tokens, batch_tokens)
    if steps == 0:
        raise InputError(
            f"the budget of period {leg.period} is {leg.mixture.tokens:,} tokens, too small for one step of "
            f"{recipe.batch_rows} rows x {recipe.length} = {batch_tokens:,} tokens"
        )
    index = max(0, labels.index(leg.period) - 1)
    place = Place(index=0 if leg.initial else index, steps=steps, steps_before=steps_before)
    _check_schedule(recipe, place, f"the round at period {leg.period}")
    return Round(
        parent=parent,
        period=leg.period,
        stretches=(Stretch(mixture=leg.mixture, steps=steps),),
        recipe=recipe,
        place=place,
        drawn=tuple(cursor[s] for s in leg.mixture.sources if s in cursor),
    ), unspent


def _check_schedule(recipe: Recipe, place: Place, of: str) -> None:
    try:
        recipe.schedule.check(place)
    except ValueError as error:
        raise InputError(f"schedule of {of}: {error}") from None


def _advance(round_: Round, cursor: Mapping[Source, Drawn]) -> Iterator[tuple[Source, Drawn]]:
    for source, rows in round_.draws().items():
        before = cursor.get(source, Drawn(source=source, seed=round_.recipe.seed, rows=0))
        yield source, Drawn(source=source, seed=before.seed, rows=before.rows + rows)


def _leaf(tree: Tree, key: str, prepare: Prepare) -> str:
    parent = tree.rounds[key]
    source = Source(corpus=parent.sources[0].corpus, period=parent.period, split=prepare.split)
    batch_tokens = parent.recipe.batch_rows * parent.recipe.length
    recipe = Recipe(
        **{name: getattr(parent.recipe, name) for name in Recipe.model_fields}
        | {"schedule": prepare.schedule, "optimizer": prepare.optimizer, "seed": prepare.seed, "penalties": ()}
    )
    place = Place(index=parent.place.index, steps=prepare.steps, steps_before=0)
    _check_schedule(recipe, place, f"what prepares for a task at period {parent.period}")
    leaf = Round(
        parent=key,
        period=parent.period,
        stretches=(Stretch(mixture=Mixture.of({source: prepare.steps * batch_tokens}), steps=prepare.steps),),
        recipe=recipe,
        place=place,
        drawn=(),
    )
    return _keep(tree, leaf)


def _keep(tree: Tree, round_: Round) -> str:
    key = fingerprint(round_)
    tree.rounds.setdefault(key, round_)
    tree.unspent.setdefault(key, 0)
    return key


def _initial_tokens(study: Study, first: str, sizes: Mapping[str, int] | None) -> int:
    match study.initial.budget:
        case int(tokens):
            return tokens
        case Steps(steps=steps):
            return steps * study.batch_tokens
        case Epochs(epochs=epochs):
            if sizes is None:
                raise InputError("initial.budget is in epochs: that needs the corpus, which is not there yet")
            return int(epochs * sizes[first] * study.length)


def _continual_tokens(study: Study, rounds: int, periods: int, total: int | PerPeriod | None) -> int:
    """Tokens of `rounds` continual rounds out of an even split over all `periods`, rounded down."""
    total = study.continual_tokens if total is None else total
    return total.per_period * rounds if isinstance(total, PerPeriod) else total * rounds // max(1, periods)
