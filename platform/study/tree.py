"""The tree of rounds of a study: a pure function that opens no file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from ticlm.methods.freezing import frozen
from ticlm.methods.method import Continual, Joint, Method, OracleSeries
from ticlm.methods.seams import RoundPosition
from ticlm.methods.timeline import MethodTimeline, RoundRequest
from ticlm.platform.core import paths
from ticlm.platform.core.errors import FutureMonthError, InputError
from ticlm.platform.core.fingerprint import fingerprint
from ticlm.platform.core.mixture import Mixture, Source
from ticlm.platform.models.settings import FolderModel
from ticlm.platform.study.budgets import continual_tokens, expected_sizes, initial_tokens
from ticlm.platform.study.deployment import Deployment
from ticlm.platform.study.round import (
    LossLookup,
    Measured,
    Round,
    RoundRecipe,
    Segment,
    SourceCursor,
    drawn_after,
    drawn_before,
    nothing,
)
from ticlm.platform.study.settings import Study
from ticlm.platform.study.tuned_copies import tuned_copy


@dataclass(frozen=True)
class Run:
    """One method under one seed. `rounds` maps each trained period to the key of the round whose weights are scored."""

    method: Method
    seed: int
    rounds: Mapping[str, str]
    trunk: Mapping[str, str] = field(default_factory=dict)
    """Trained period -> key of the round that was trained there, where another one is deployed in its place."""

    @property
    def work(self) -> dict[str, tuple[str, ...]]:
        """The keys of all rounds that the run needs, by trained period: its trunk's, then what is deployed."""
        return {
            label: (self.trunk[label], key) if label in self.trunk else (key,) for label, key in self.rounds.items()
        }

    @property
    def keys(self) -> tuple[str, ...]:
        """The keys of all rounds that the run needs."""
        return tuple(key for keys in self.work.values() for key in keys)


@dataclass(frozen=True)
class Tree:
    """All rounds by key (parents before children), the runs over them, and the short extra rounds (`Prepare`) that
    tasks need first."""

    rounds: dict[str, Round] = field(default_factory=dict)
    runs: list[Run] = field(default_factory=list)
    leaves: dict[tuple[str, str], str] = field(default_factory=dict)
    """(key of a checkpoint's round, task id) -> key of the round that prepares it for the task."""
    measured: dict[Measured, None] = field(default_factory=dict)
    """What later shares follow from: checkpoints, with the periods on whose tune rows their losses are recorded."""

    @cached_property
    def tuned_copies(self) -> set[str]:
        """Keys of the rounds that prepare for a task and are not also rounds of a run."""
        return set(self.leaves.values()) - {key for run in self.runs for key in run.keys}

    @cached_property
    def side_rounds(self) -> set[str]:
        """Keys of the rounds that no other round of a run starts from, and that hang beside a chain: tuned copies, and
        what is deployed beside a trunk."""
        deployed = {run.rounds[label] for run in self.runs for label in run.trunk}
        copies = self.tuned_copies
        started = {self.rounds[key].parent for run in self.runs for key in run.keys if key not in copies}
        return copies | (deployed - started)

    def scored(self, key: str, task: str) -> str:
        """Return the key of the round whose weights a task scores when it evaluates the checkpoint `key`."""
        return self.leaves.get((key, task), key)


def rounds(
    study: Study,
    sizes: Mapping[str, int] | None = None,
    tuned: Mapping[Source, int] | None = None,
    recorded: LossLookup = nothing,
) -> Tree:
    """Return every round of the study, each once however many methods share it.

    `sizes` are training rows by period. They are needed for budgets in epochs, for samples of old rows by the number of
    new ones, and to limit a buffer to the rows that exist. `tuned` are the rows of what tuned copies in epochs read.
    Shares of adaptive replay follow from what is `recorded`; rounds whose shares are not known yet are open.
    """
    sizes = {**expected_sizes(study), **(sizes or {})} or sizes
    timeline = _timeline(study, sizes)
    tree = Tree()
    for method in study.methods:
        for seed in method.seeds:
            tree.runs.append(_run(study, method, seed, timeline, tree, recorded))
    for task in study.evaluations:
        if task.prepare is not None:
            scored = (k for run in tree.runs for label, k in run.rounds.items() if study.scores(run.method, label))
            for key in dict.fromkeys(scored):
                leaf = tuned_copy(study, task, key, tree.rounds[key], tuned or {})
                tree.leaves[key, task.id] = leaf_key = fingerprint(leaf)
                tree.rounds.setdefault(leaf_key, leaf)
    return tree


def _timeline(study: Study, sizes: Mapping[str, int] | None) -> MethodTimeline:
    labels, whole = study.timeline.labels, study.periods.timeline().labels
    corpus = paths.corpus_id(study.corpus)
    initial = initial_tokens(study, labels[0], sizes)
    start, skipped = labels[0], 1
    if initial == 0:  # an imported checkpoint: it may stand for any period, or for none of the timeline
        assert isinstance(study.model, FolderModel)
        start = study.model.as_of
        skipped = 1 if start in whole else 0
    continual, rounds = labels[skipped:], len(whole) - skipped  # first_periods leaves each round's budget as it is
    later = labels[labels.index(start) + 1 :] if start in labels else labels
    return MethodTimeline(
        sources={label: Source(corpus=corpus, period=label) for label in labels},
        start=start,
        initial=initial,
        continual=continual,
        later=later,
        budget=lambda label: continual_tokens(study, [label], rounds, sizes),
        budget_upto=lambda label, total: continual_tokens(
            study, continual[: continual.index(label) + 1] if label in continual else (), rounds, sizes, total
        ),
        sizes=sizes,
        length=study.length,
    )


def _run(
    study: Study, method: Method, seed: int, timeline: MethodTimeline, tree: Tree, recorded: LossLookup = nothing
) -> Run:
    if isinstance(method, Joint) and not timeline.later:
        raise InputError(f"methods.{method.name}: no period is left after {timeline.start}")
    ends: dict[str, str] = {}
    trunk: dict[str, str] = {}
    deployment = Deployment(study, method) if isinstance(method, Continual) and method.deploy is not None else None
    previous: str | None = None
    cursor: dict[Source, SourceCursor] = {}
    continual: list[int] = []  # steps of the rounds so far
    starts: dict[str, tuple[str, Round]] = {}  # period -> what the next round starts from, and what was trained
    if isinstance(method, Continual) and method.adaptive is not None:
        timeline = _with_records(timeline, method.adaptive.tune_rows, starts, tree, recorded)
    for request in method.round_requests(timeline):
        if request.start == "scratch":
            previous, cursor, continual = None, {}, []
        recipe = _recipe(study, method, request, seed)
        round_ = _round(request, recipe, previous, cursor, continual, timeline)
        key = fingerprint(round_)
        tree.rounds.setdefault(key, round_)
        cursor.update(drawn_after(round_))
        ends[request.period] = previous = key
        if request.start == "previous":
            continual.append(round_.steps)
        beside = deployment.beside(key, round_) if deployment is not None else None
        if deployment is not None and beside is not None:
            trunk[request.period] = key
            ends[request.period] = deployed = fingerprint(beside)
            tree.rounds.setdefault(deployed, beside)
            deployment.deployed = deployed
            previous = deployment.next(key)
        starts[request.period] = previous, round_
    return Run(method=method, seed=seed, rounds=ends, trunk=trunk)


def _with_records(
    timeline: MethodTimeline,
    rows: int | None,
    starts: Mapping[str, tuple[str, Round]],
    tree: Tree,
    recorded: LossLookup,
) -> MethodTimeline:
    """Return the timeline of one run, with what its rounds drew and recorded. What it is asked for, the tree keeps."""

    def losses(label: str, periods: tuple[str, ...]) -> Mapping[str, float] | None:
        measured = Measured(starts[label][0], periods, rows)
        tree.measured[measured] = None
        return recorded(tree.rounds, measured)

    def drawn(label: str) -> dict[str, int]:
        return {source.period: rows for source, rows in starts[label][1].draws().items()}

    return replace(timeline, losses=losses, drawn=drawn)


def _recipe(study: Study, method: Method, request: RoundRequest, seed: int) -> RoundRecipe:
    common = {
        "model": study.model if request.model is None else FolderModel(**request.model.model_dump()),
        "objective": study.objective,
        "loss": study.loss,
        "precision": study.precision,
        "batch_rows": study.batch_rows,
        "length": study.length,
    }
    if request.initial or isinstance(method, OracleSeries):
        start = study.initial
        return RoundRecipe(**common, schedule=start.schedule, optimizer=start.optimizer, seed=start.seed)
    return RoundRecipe(
        **common,
        schedule=method.schedule,
        optimizer=method.optimizer,
        penalties=method.penalties,
        adapter=method.adapter,
        freeze=None if method.freeze == frozen(None, method.adapter) else method.freeze,
        seed=seed,
    )


def _round(
    request: RoundRequest,
    recipe: RoundRecipe,
    parent: str | None,
    cursor: Mapping[Source, SourceCursor],
    continual: Sequence[int],
    timeline: MethodTimeline,
) -> Round:
    order = {label: number for number, label in enumerate(timeline.labels)}
    now = order.get(request.period, -1)
    late = next((s for m in request.mixtures for s in m.sources if order.get(s.period, -1) > now), None)
    if late is not None:
        raise FutureMonthError("a round", request.period, late.period)
    batch_tokens = recipe.batch_rows * recipe.length
    tokens = sum(mixture.tokens for mixture in request.mixtures)
    steps = tokens // batch_tokens
    if steps == 0 and request.mixtures:
        raise InputError(
            f"the budget of period {request.period} is {tokens:,} tokens, too small for one step of "
            f"{recipe.batch_rows} rows x {recipe.length} = {batch_tokens:,} tokens"
        )
    position = RoundPosition(index=request.index, steps=steps, steps_before=_steps_before(request, continual, steps))
    if steps:
        recipe.check_rates(position, f"the round at period {request.period}")
    return Round(
        parent=parent,
        period=request.period,
        segments=_segments(request.mixtures, batch_tokens),
        recipe=recipe,
        position=position,
        cursors=tuple(drawn_before(request.mixtures, recipe, cursor, timeline.sizes or {})),
        reads=_reads(request, recipe, timeline),
        rule=request.rule,
        open=request.open,
    )


def _steps_before(request: RoundRequest, continual: Sequence[int], steps: int) -> int:
    """Return the continual steps of the timeline before a round of `steps` steps, of which its run has done
    `continual`. Periods before an imported start count as many steps as this one, because nobody trained them here."""
    done = continual[max(0, len(continual) - request.index) :]
    return sum(done) + (request.index - len(done)) * steps


def _segments(mixtures: Sequence[Mixture], batch_tokens: int) -> tuple[Segment, ...]:
    """Cut mixtures, one after another, into whole steps: all that fill together, wherever one ends inside a step.

    A mixture that fills no step is added to the next one, at the end to the one before. No tokens are left out of the
    segments; windows are, because cursors have them.
    """
    segments: list[Segment] = []
    waiting, tokens, steps = Mixture(shares=()), 0, 0
    for mixture in mixtures:
        waiting = waiting.plus(mixture) if waiting.shares else mixture.within({})
        tokens += mixture.tokens
        more = tokens // batch_tokens - steps
        if more:
            segments.append(Segment(mixture=waiting, steps=more))
            waiting, steps = Mixture(shares=()), steps + more
    if waiting.shares and segments:
        last = segments.pop()
        segments.append(Segment(mixture=last.mixture.plus(waiting), steps=last.steps))
    return tuple(segments)


def _reads(request: RoundRequest, recipe: RoundRecipe, timeline: MethodTimeline) -> tuple[Source | None, ...]:
    if not recipe.penalties:
        return ()
    if request.previous is None or request.previous not in timeline.sources:
        first = timeline.labels[0]
        raise InputError(
            f"penalties tie a round to the period before it, and the imported start (as_of {request.previous}) is none "
            f"of the timeline: give an as_of from {first} on, or an initial.budget to train on {first} first"
        )
    previous, now = timeline.sources[request.previous], timeline.sources[request.period]
    return tuple(penalty.reads(previous, now) for penalty in recipe.penalties)
