"""Chains: paths of rounds without a branch, each trained by one group of workers; and how the workers are shared."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from itertools import groupby

from ticlm.platform.study.resources import Resources
from ticlm.platform.study.tree import Tree


@dataclass(frozen=True)
class Chain:
    """Rounds one after another, without a branch among them; `depth` counts the chains above it in the tree.

    A tuned copy, an average or a leaf that no round starts from is a side chain: one of its own, and no branch of the
    chain that it hangs on. A round that no group of workers trains is always a chain of its own.
    """

    keys: tuple[str, ...]
    depth: int
    is_side: bool = False


def cut(tree: Tree) -> list[Chain]:
    """Return all rounds as chains, cut at every branch, parents before children, whatever is done."""
    side = tree.side_rounds
    children = Counter(spec.parent for key, spec in tree.rounds.items() if key not in side)
    chains: list[list[str]] = []
    depths: list[int] = []
    position: dict[str, int] = {}
    for key, spec in tree.rounds.items():
        above = position.get(spec.parent) if spec.parent is not None else None
        alike = spec.parent is not None and spec.is_trained and tree.rounds[spec.parent].is_trained
        if above is not None and alike and key not in side and children[spec.parent] == 1:
            position[key] = above
            chains[above].append(key)
        else:
            position[key] = len(chains)
            chains.append([key])
            depths.append(0 if above is None else depths[above] + 1)
    return [Chain(tuple(keys), depth, keys[0] in side) for keys, depth in zip(chains, depths)]


def awaited(tree: Tree) -> set[str | None]:
    """Return the keys of rounds that other rounds start from; side rounds do not count."""
    side = tree.side_rounds
    return {spec.parent for key, spec in tree.rounds.items() if key not in side}


def share(chain: Chain, chains: Sequence[Chain], awaited: set[str | None], resources: Resources) -> tuple[int, int]:
    """Return the workers (min, max) of a chain: trunks share with trunks of their depth, the others evenly. Side
    chains have a pool of their own, as large as that of the chains, which `tuned_copies` of them share evenly.

    It depends on the study and its resources, never on what is done, so that an interrupted run goes on with the same.
    """
    low, high = resources.worker_range
    beside = resources.tuned_copies
    if not chain.is_side:
        is_trunk = chain.keys[-1] in awaited
        alike = [c for c in chains if not c.is_side and (c.keys[-1] in awaited) == is_trunk]
        beside = min(resources.chains, len([c for c in alike if not is_trunk or c.depth == chain.depth]))
    return max(1, low // beside), max(1, high // beside)


def unfinished(tree: Tree, chains: Sequence[Chain], done: Collection[str]) -> list[Chain]:
    """Return the chains, or parts of chains, of the rounds that are not done, open ones apart from the others."""
    left: list[Chain] = []
    for chain in chains:
        for (is_done, _), keys in groupby(chain.keys, lambda key: (key in done, tree.rounds[key].open)):
            if not is_done:
                left.append(replace(chain, keys=tuple(keys)))
    return left


def named(tree: Tree, chain: Chain) -> str:
    """Return a name for a chain: the methods that share it (only the number of runs if there are more than two), their
    seeds, its periods; for a tuned copy also the tasks that need it, for an average that it is one."""
    first = chain.keys[0]
    is_copy = first in tree.tuned_copies
    key = tree.rounds[first].parent if is_copy else first
    users = [(run.method.name, run.seed, len(run.method.seeds) > 1) for run in tree.runs if key in run.keys]
    names = [f"{name} (seed {seed})" if many else name for name, seed, many in users]
    who = f"{len(names)} runs" if len(names) > 2 else ", ".join(names)
    if is_copy:
        tasks = dict.fromkeys(task for (_, task), leaf in tree.leaves.items() if leaf == first)
        who = f"{who}, tuned for {', '.join(tasks)}"
    if tree.rounds[first].average:
        who = f"{who}, average"
    begin, end = (tree.rounds[chain.keys[i]].period for i in (0, -1))
    return f"{who}: {begin}" + (f" … {end}" if len(chain.keys) > 1 else "")
