"""Parts of rounds without steps, as values: what is averaged, and the rows that are sampled or chosen, and how."""

from __future__ import annotations

from collections.abc import Mapping

from ticlm.core.settings import Settings
from ticlm.methods.timeline import Choosing, Sampling


class AveragedRound(Settings):
    """A round whose weights are part of an average (its key), and their weight in it; with a `step`, the weights that
    it had after that step."""

    round: str
    weight: float
    step: int | None = None

    def without_meaning(self) -> frozenset[str]:
        return frozenset({"step"} if self.step is None else ())

    @property
    def told(self) -> str:
        """The round's key, and the step if there is one."""
        return self.round if self.step is None else f"{self.round}, step {self.step}"


class SampledRows(Settings):
    """The rows to sample from a checkpoint, under the `seed` of the run."""

    rows: int
    seed: int
    sampling: Sampling

    @property
    def told(self) -> str:
        """How many rows it is, in words."""
        return f"{self.rows:,} rows sampled"

    @property
    def forward_rows(self) -> int:
        """Rows that pass through a model."""
        return self.rows


class ChosenRows(Settings):
    """The old rows to choose, from each source that the round `reads`, in its order.

    Of the next `looked` rows of a source, `kept` are kept. Behind the old sources, a rule of n-grams reads the `new`
    rows that the round draws from its own period. Under `excess`, `bases` has for each old source the key of the run's
    checkpoint of its period; None: the round starts from that one, so no loss has risen since.
    """

    rule: Choosing
    kept: tuple[int, ...]
    looked: tuple[int, ...]
    new: int = 0
    bases: tuple[str | None, ...] = ()

    @property
    def told(self) -> str:
        """How many rows it is, in words."""
        return f"{sum(self.kept):,} of {sum(self.looked):,} rows chosen by {self.rule.by}"

    @property
    def needs(self) -> tuple[str, ...]:
        """The keys of the checkpoints that it reads beside the one that the round starts from."""
        return tuple(base for base in self.bases if base is not None)

    @property
    def forward_rows(self) -> int:
        """Rows that pass through a model, counted each time that they do."""
        if self.rule.by == "loss":
            return sum(self.looked)
        return 2 * sum(rows for rows, base in zip(self.looked, self.bases) if base is not None)

    def with_ids(self, ids: Mapping[str, str]) -> ChosenRows:
        """Return the same rows with the ids of checkpoints in place of their keys."""
        return self.model_copy(update={"bases": tuple(None if base is None else ids[base] for base in self.bases)})
