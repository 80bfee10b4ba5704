"""The tree of rounds of a study: a pure function that opens no file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Literal

from ticlm.core import paths
from ticlm.core.errors import InputError
from ticlm.core.fingerprint import SharedParts, fingerprint
from ticlm.core.mixture import Source
from ticlm.methods.method import Continual, Joint, Method, OracleSeries
from ticlm.methods.timeline import Choosing, MethodTimeline, Sampling
from ticlm.platform.models.settings import FolderModel
from ticlm.platform.study.budgets import continual_tokens, expected_sizes, initial_tokens
from ticlm.platform.study.nodes.choices import chosen_for
from ticlm.platform.study.nodes.deployment import Deployment
from ticlm.platform.study.nodes.samples import sampled_for
from ticlm.platform.study.nodes.trained import position_of, recipe_of, trained_round
from ticlm.platform.study.nodes.tuned_copies import tuned_copy
from ticlm.platform.study.round import LossLookup, Measured, Round, RoundRecipe, SourceCursor, nothing
from ticlm.platform.study.settings import Study

Kind = Literal["round", "leaf", "average", "sample", "tuned copy"]


@dataclass(frozen=True)
class Run:
    """One method under one seed. `rounds` maps each trained period to the key of the round whose weights are scored."""

    method: Method
    seed: int
    rounds: Mapping[str, str]
    trunk: Mapping[str, str] = field(default_factory=dict)
    """Trained period -> key of the trunk's round there, where another round is deployed in its place."""
    samples: Mapping[str, str] = field(default_factory=dict)
    """Trained period -> key of the sample whose rows were drawn there."""

    @cached_property
    def labels(self) -> tuple[str, ...]:
        """All periods that the run trains on, oldest first."""
        return tuple(self.rounds)

    @cached_property
    def work(self) -> dict[str, tuple[str, ...]]:
        """The keys of all rounds that the run needs, by trained period: samples, the trunk's rounds, deployed ones."""
        beside = (self.samples, self.trunk)
        return {label: (*(of[label] for of in beside if label in of), key) for label, key in self.rounds.items()}

    @cached_property
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
    """The measurements that later shares follow from: checkpoints, with the periods of the tune rows."""
    parts: SharedParts = field(default_factory=lambda: SharedParts(RoundRecipe, Source), repr=False, compare=False)
    """What keys of rounds are made of, as far as many rounds share it."""

    @cached_property
    def tuned_copies(self) -> set[str]:
        """Keys of the rounds that prepare for a task and are not also rounds of a run."""
        return set(self.leaves.values()) - {key for run in self.runs for key in run.keys}

    @cached_property
    def deployed(self) -> set[str]:
        """Keys of the rounds that are deployed in place of a trunk's own."""
        return {run.rounds[label] for run in self.runs for label in run.trunk}

    @cached_property
    def users(self) -> dict[str, list[Run]]:
        """Key of a round -> the runs that need it, in order."""
        found: dict[str, list[Run]] = {}
        for run in self.runs:
            for key in dict.fromkeys(run.keys):
                found.setdefault(key, []).append(run)
        return found

    def kind(self, key: str) -> Kind:
        """Return the kind of a round in its run."""
        if key in self.tuned_copies:
            return "tuned copy"
        if self.rounds[key].average:
            return "average"
        if self.rounds[key].sample is not None:
            return "sample"
        return "leaf" if key in self.deployed else "round"

    @cached_property
    def side_rounds(self) -> set[str]:
        """The keys of the rounds beside a chain, from which no other round of a run starts: tuned copies, and
        checkpoints that are deployed beside a trunk."""
        copies, deployed = self.tuned_copies, self.deployed
        started = {self.rounds[key].parent for run in self.runs for key in run.keys if key not in copies}
        return copies | (deployed - started)

    def scored(self, key: str, task: str) -> str:
        """Return the key of the round whose weights a task scores when it evaluates the checkpoint `key`."""
        return self.leaves.get((key, task), key)


def rounds(
    study: Study,
    sizes: Mapping[str, int] | None = None,
    further: Mapping[Source, int] | None = None,
    recorded: LossLookup = nothing,
) -> Tree:
    """Return every round of the study, each once however many methods share it.

    `sizes` are training rows by period. They are needed for budgets in epochs, for samples of old rows by the number of
    new ones, and to limit a buffer to the rows that exist. `further` are those of the sources of other corpora: further
    ones of the study, and those that tuned copies in epochs read.
    Shares of adaptive replay follow from what is `recorded`; rounds whose shares are not known yet are open.
    """
    sizes = {**expected_sizes(study), **(sizes or {})} or sizes  # None stays None: not known is not empty
    timeline = replace(_timeline(study, sizes), further_rows=further or {})
    tree = Tree()
    for method in study.methods:
        for seed in method.seeds:
            tree.runs.append(_run(study, method, seed, timeline, tree, recorded))
    for task in study.evaluations:
        if task.prepare is not None:
            scored = (
                key
                for run in tree.runs
                for label, key in run.rounds.items()
                if study.scores(run.method, label) and task.scores(label, run.labels)
            )
            for key in dict.fromkeys(scored):
                leaf = tuned_copy(study, task, key, tree.rounds[key], further or {})
                tree.leaves[key, task.id] = leaf_key = fingerprint(leaf, tree.parts)
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
        clocks=tuple(one.clock(study.timeline) for one in study.corpora),
    )


def _run(
    study: Study, method: Method, seed: int, timeline: MethodTimeline, tree: Tree, recorded: LossLookup = nothing
) -> Run:
    if isinstance(method, Joint) and not timeline.later:
        raise InputError(f"methods.{method.name}: no period is left after {timeline.start}")
    ends: dict[str, str] = {}
    trunk: dict[str, str] = {}
    samples: dict[str, str] = {}
    deployment = Deployment(study, method) if isinstance(method, Continual) and method.deploy is not None else None
    previous: str | None = None
    cursor: dict[Source, SourceCursor] = {}
    continual: list[int] = []  # steps of the rounds so far
    recipes: dict[tuple[bool, str], RoundRecipe] = {}
    starts: dict[str, tuple[str, Round]] = {}  # period -> what the next round starts from, and what was trained
    if isinstance(method, Continual) and method.adaptive is not None:
        timeline = _with_records(timeline, method.adaptive.tune_rows, starts, tree, recorded)
    for request in method.round_requests(timeline):
        if request.start == "scratch":
            previous, cursor, continual = None, {}, []
        which = request.initial, "" if request.model is None else fingerprint(request.model)
        if which not in recipes:  # one object for all rounds of a kind: it is written once for all their hashes
            recipes[which] = recipe_of(study, method, request, seed)
        recipe, leaf = recipes[which], None
        if deployment is not None:
            request, leaf = deployment.parted(request, recipe)
        where = "initial" if request.initial or isinstance(method, OracleSeries) else f"methods.{method.name}"
        position = position_of(request, recipe, continual)
        round_ = trained_round(request, recipe, position, previous, cursor, timeline, where)
        if request.sampling is not None:
            made = where, round_, request.sampling, tree.rounds
            round_ = _with_rows(*made, timeline.sizes or {}, {label: str(key) for label, (key, _) in starts.items()})
        if round_.sampled is not None:
            samples[request.period] = round_.sampled
            cursor.update(tree.rounds[round_.sampled].advanced())  # also past rows that were looked at and not chosen
        key = fingerprint(round_, tree.parts)
        tree.rounds.setdefault(key, round_)
        cursor.update(round_.advanced())
        ends[request.period] = previous = key
        if request.start == "previous":
            continual.append(round_.steps)
        beside = None
        if deployment is not None and leaf is None:
            beside = deployment.average(key, round_)
        elif deployment is not None and leaf is not None:
            # its rows come next in the trunk's order; the trunk goes on where it stood itself
            beside = trained_round(leaf, *deployment.cooled(leaf, round_), key, cursor, timeline, where, "the leaf")
        if deployment is not None and beside is not None:
            trunk[request.period] = key
            ends[request.period] = deployed = fingerprint(beside, tree.parts)
            tree.rounds.setdefault(deployed, beside)
            deployment.deployed = deployed
            previous = deployment.next(key)
        starts[request.period] = previous, round_
    return Run(method=method, seed=seed, rounds=ends, trunk=trunk, samples=samples)


def _with_rows(
    where: str,
    spec: Round,
    how: Sampling | Choosing,
    rounds: dict[str, Round],
    sizes: Mapping[str, int],
    checkpoints: Mapping[str, str],
) -> Round:
    """Return a round that draws rows which are sampled, or chosen, for it; what makes them is added to `rounds`."""
    if isinstance(how, Choosing):
        return chosen_for(where, spec, how, rounds, sizes, checkpoints)
    return sampled_for(where, spec, how, rounds)


def _with_records(
    timeline: MethodTimeline,
    rows: int | None,
    starts: Mapping[str, tuple[str, Round]],
    tree: Tree,
    recorded: LossLookup,
) -> MethodTimeline:
    """Return the timeline of one run, with the rows that its rounds drew and the losses that they recorded. The tree
    keeps the losses that a method asks for."""

    def losses(label: str, periods: tuple[str, ...]) -> Mapping[str, float] | None:
        measured = Measured(starts[label][0], periods, rows)
        tree.measured[measured] = None
        return recorded(tree.rounds, measured)

    def drawn(label: str) -> dict[str, int]:
        return {source.period: rows for source, rows in starts[label][1].draws().items()}

    return replace(timeline, losses=losses, drawn=drawn)
