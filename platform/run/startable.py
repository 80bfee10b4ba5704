"""Which of the chains that are left can start now, by their parents and by the workers that are free."""

from __future__ import annotations

from dataclasses import dataclass

from ticlm.platform.study.chains import Chain
from ticlm.platform.study.plan import Plan


def startable(
    plan: Plan, left: list[Chain], running: list[Chain], room: int = 0, is_taken: bool = False
) -> list[Chain]:
    """Return the chains that can start now: their parent is done, and enough workers are free. Chains that others wait
    for come first, then the longest. Side chains come last; they have a pool of workers of their own. Chains with open
    rounds, or below some, are left out.

    `room` is the number of workers for which Ray has room: with more than `resources.workers`, chains of one worker
    train side by side all the same. `is_taken` says that something else works in the process in which the study is to
    train.
    """
    resources = plan.study.resources
    taken = {is_side: sum(plan.share(c)[1] for c in running if c.is_side == is_side) for is_side in (False, True)}
    pools = {
        is_side: _FreeWorkers(max(resources.worker_range[1], min(slots, room - taken[not is_side])), slots)
        for is_side, slots in ((False, resources.chains), (True, resources.tuned_copies))
    }
    for chain in running:
        pools[chain.is_side].take(plan.share(chain)[1])
    # In one process there is one stream of random numbers: chains side by side would take each other's.
    together = 1 - len(running) - is_taken if resources.trainer == "process" else len(left)
    left = [chain for chain in left if all(key in plan.ids for key in chain.keys)]
    busy = {plan.ids[key] for c in running for key in c.keys}  # rounds with different keys may be the same work
    chosen: list[Chain] = []
    for chain in sorted(left, key=lambda c: (c.is_side, not plan.is_trunk(c), -_tokens(plan, c))):
        needs, ids = plan.tree.rounds[chain.keys[0]].needs, {plan.ids[key] for key in chain.keys}
        is_ready = all(map(plan.done, needs)) and not busy & ids and len(chosen) < together
        if is_ready and pools[chain.is_side].take(plan.share(chain)[1]):
            chosen.append(chain)
            busy |= ids
    return chosen


def _tokens(plan: Plan, chain: Chain) -> int:
    return sum(plan.tree.rounds[key].tokens for key in chain.keys)


@dataclass
class _FreeWorkers:
    """The numbers of free workers and free slots."""

    workers: int
    slots: int

    def take(self, workers: int) -> bool:
        """Take a slot and this many workers if they are free, and return whether they were."""
        if self.slots < 1 or workers > self.workers:
            return False
        self.workers, self.slots = self.workers - workers, self.slots - 1
        return True
