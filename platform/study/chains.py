"""Chains: paths of rounds without a branch, each trained by one group of workers; how the workers are shared, and how
often a source has been seen."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import groupby

from ticlm.core.errors import InputError
from ticlm.core.mixture import Source
from ticlm.platform.study.resources import Resources
from ticlm.platform.study.round import Round, sampled_source
from ticlm.platform.study.tree import Kind, Run, Tree

PLURAL: dict[Kind, str] = {"round": "rounds", "leaf": "leaves", "average": "averages", "sample": "samples"}


@dataclass(frozen=True)
class Chain:
    """Rounds one after another, without a branch among them, with batches of one size; `depth` counts the chains above
    it in the tree.

    A tuned copy, an average or a leaf that no round starts from is a side chain: one of its own, and no branch of the
    chain that it hangs on. A round that no group of workers trains is always a chain of its own. A sample is no side
    chain, because a round waits for it; with that round it is a branch of the chain that it hangs on.
    """

    keys: tuple[str, ...]
    depth: int
    is_side: bool = False
    is_trained: bool = True


def cut(tree: Tree) -> list[Chain]:
    """Return all rounds as chains, cut at every branch, parents before children, whatever is done."""
    side = tree.side_rounds
    children = Counter(spec.parent for key, spec in tree.rounds.items() if key not in side)
    chains: list[list[str]] = []
    depths: list[int] = []
    position: dict[str, int] = {}
    for key, spec in tree.rounds.items():
        above = position.get(spec.parent) if spec.parent is not None else None
        alike = spec.parent is not None and _are_one(spec, tree.rounds[spec.parent])
        if above is not None and alike and key not in side and children[spec.parent] == 1:
            position[key] = above
            chains[above].append(key)
        else:
            position[key] = len(chains)
            chains.append([key])
            depths.append(0 if above is None else depths[above] + 1)
    return [
        Chain(tuple(keys), depth, keys[0] in side, tree.rounds[keys[0]].is_trained)
        for keys, depth in zip(chains, depths)
    ]


def _are_one(spec: Round, parent: Round) -> bool:
    """Return whether one group of workers may train both: their batches have as many rows, which says how many workers
    have something to do, and what a micro-batch is."""
    return spec.is_trained and parent.is_trained and spec.recipe.batch_rows == parent.recipe.batch_rows


def awaited(tree: Tree) -> set[str | None]:
    """Return the keys of rounds that other rounds start from, and of samples; side rounds do not count."""
    side = tree.side_rounds
    return {need for key, spec in tree.rounds.items() if key not in side for need in (spec.parent, spec.sampled)}


def share(
    chain: Chain, chains: Sequence[Chain], awaited: set[str | None], resources: Resources, batch_rows: int
) -> tuple[int, int]:
    """Return the workers (min, max) of a chain: trunks share with trunks of their depth, the others evenly. Side
    chains have a pool of their own, as large as that of the chains, which `tuned_copies` of them share evenly. A chain
    that is not trained takes one worker, and no part of the others' shares. Each chain has at least one worker, and no
    more than its batches, of `batch_rows` rows, have micro-batches.

    It depends on the study and its resources, never on what is done, so that an interrupted run goes on with the same.
    """
    if not chain.is_trained:
        return 1, 1
    low, high = resources.worker_range
    beside = resources.tuned_copies
    if not chain.is_side:
        is_trunk = chain.keys[-1] in awaited
        alike = [c for c in chains if c.is_trained and not c.is_side and (c.keys[-1] in awaited) == is_trunk]
        beside = min(resources.chains, len([c for c in alike if not is_trunk or c.depth == chain.depth]))
    most = resources.micro_batches(batch_rows)
    return min(most, max(1, low // beside)), min(most, max(1, high // beside))


def groups(tree: Tree, chains: Sequence[Chain]) -> list[list[Chain]]:
    """Return the chains, in order, with those together that are of one kind and of the same runs: the leaves beside a
    trunk, its averages, samples, and the rounds that each start from an average or draw from a sample."""
    found: dict[object, list[Chain]] = {}
    for chain in chains:
        first = chain.keys[0]
        kind = tree.kind(first)
        spec = tree.rounds[first]
        alike = kind in ("leaf", "average", "sample") or spec.sampled is not None
        alike = alike or (kind == "round" and spec.parent in tree.deployed)
        runs = tuple((run.method.name, run.seed) for run in _users(tree, first))
        found.setdefault((kind, runs) if alike else chain.keys, []).append(chain)
    return list(found.values())


def name(tree: Tree, group: Sequence[Chain]) -> str:
    """Return a name for chains of one kind and of the same runs: their methods (only the number of runs if there are
    more than two), seeds, kind, number and periods; for a tuned copy, the tasks that need it."""
    first, last = group[0].keys[0], group[-1].keys[-1]
    kind = tree.kind(first)
    shared = [(run, len(run.method.seeds) > 1) for run in _users(tree, first)]
    names = [f"{run.method.name} (seed {run.seed})" if many else run.method.name for run, many in shared]
    who = f"{len(names)} runs" if len(names) > 2 else ", ".join(names)
    if kind == "tuned copy":
        tasks = dict.fromkeys(task for (_, task), leaf in tree.leaves.items() if leaf == first)
        who = f"{who}, tuned for {', '.join(tasks)}"
    elif len(group) > 1:
        who = f"{who}, {sum(len(chain.keys) for chain in group)} {PLURAL[kind]}"
    elif (rows := tree.rounds[first].sample) is not None:
        return f"{who}: {rows.told} at {tree.rounds[str(tree.rounds[first].parent)].period}"
    elif kind != "round":
        who = f"{who}, {kind}"
    begin, end = tree.rounds[first].period, tree.rounds[last].period
    return f"{who}: {begin}" + (f" … {end}" if last != first else "")


def _users(tree: Tree, key: str) -> list[Run]:
    """Return the runs that need a round; for a tuned copy, the runs that need the checkpoint it starts from."""
    parent = tree.rounds[key].parent
    return tree.users[parent if parent is not None and key in tree.tuned_copies else key]


def unfinished(tree: Tree, chains: Sequence[Chain], done: Collection[str]) -> list[Chain]:
    """Return the chains, or parts of chains, of the rounds that are not done, open ones apart from the others."""
    left: list[Chain] = []
    for chain in chains:
        for (is_done, _), keys in groupby(chain.keys, lambda key: (key in done, tree.rounds[key].open)):
            if not is_done:
                left.append(replace(chain, keys=tuple(keys)))
    return left


def check_epochs(seen: Iterable[tuple[str, Source, float]], rounds: Mapping[str, Round], most: float | None) -> None:
    """Raise InputError if a round whose shares are known sees a source more often than `most`; `seen` as `epochs`."""
    for key, source, times in seen if most is not None else ():
        if most is not None and times > most and not rounds[key].open:
            raise InputError(
                f"the round at period {rounds[key].period} would see {source} {times:.2f} times; "
                f"max_epochs is {most}: lower the budget, or raise max_epochs"
            )


def epochs(rounds: Mapping[str, Round], rows_of: Callable[[Source], int]) -> Iterator[tuple[str, Source, float]]:
    """Yield (round key, source, epochs) for each source that a round draws from: how often its chain has seen it by the
    end of the round. `rounds` are by key, parents before children; sources without rows are left out.

    If a buffer keeps only part of a source, rows count as epochs of that part. Chosen rows count as rows of the source
    that they were chosen from; rows that were looked at and passed over do not count.
    """
    # Rows, or, once a window has changed what an epoch is, epochs in fractions: three thirds are one epoch, and no more
    # than `max_epochs: 1` allows.
    seen: dict[str | None, dict[Source, int | Fraction]] = {None: {}}
    children = Counter(spec.parent for spec in rounds.values())
    for key, spec in rounds.items():
        children[spec.parent] -= 1
        # The last child goes on with its parent's counts: a copy for each round would hold all sources of its chain.
        is_last = spec.parent is not None and not children[spec.parent]
        now = seen[key] = seen.pop(spec.parent) if is_last else dict(seen[spec.parent])
        sample = rounds[spec.sampled] if spec.sampled is not None else None
        origins = {} if sample is None else {sampled_source(str(spec.sampled), of.period): of for of in sample.pools}
        cursors = (*spec.cursors, *(() if sample is None else sample.cursors))
        windows = {cursor.source: cursor.window for cursor in cursors if cursor.window is not None}
        for drawn, rows in spec.draws().items():
            source = origins.get(drawn, drawn)
            have = rows_of(source)
            if not have:
                continue
            before = now.get(source, 0)
            if source in windows or isinstance(before, Fraction):
                kept = min(have, windows[source][1]) if source in windows else have
                whole = before if isinstance(before, Fraction) else Fraction(before, have)
                now[source] = whole + Fraction(rows, kept)
                yield key, source, float(now[source])
            else:
                now[source] = before + rows
                yield key, source, (before + rows) / have
