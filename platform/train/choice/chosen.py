"""The choice of old rows for a round: its candidates, their scores, and what is said of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch
from numpy.typing import NDArray

from ticlm.core.row_columns import TOKENS
from ticlm.core.token_rows import Tokens
from ticlm.platform.models import folders
from ticlm.platform.study.nodes.parts import ChosenRows
from ticlm.platform.study.round import Round, SourceCursor
from ticlm.platform.study.stored_rounds import published
from ticlm.platform.study.work import ChainWork
from ticlm.platform.train.choice import ngrams
from ticlm.platform.train.choice.losses import NATS, losses
from ticlm.platform.train.loader import LoaderSpec, RankReader

Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Choice:
    """The choice of old rows that is the only round of `work`. Candidates are read again by whoever asks for them, one
    pool at a time: all pools together may not fit."""

    work: ChainWork
    spec: Round
    device: str

    @property
    def rows(self) -> ChosenRows:
        assert self.spec.chosen is not None
        return self.spec.chosen

    @cached_property
    def reader(self) -> RankReader:
        return RankReader(
            LoaderSpec((self.spec,), self.work.corpora, last_visible_period=self.work.last_visible_period)
        )

    @cached_property
    def cursors(self) -> tuple[SourceCursor, ...]:
        """The cursors of the pools, in their order."""
        return self.spec.cursors[: len(self.rows.looked)]

    def pool(self, number: int) -> tuple[Ints, Tokens]:
        """Return positions and tokens of the candidates of a pool, int64[n] and [n, length + 1], as they are drawn."""
        positions, columns = self.reader.next_rows(self.cursors[number], self.rows.looked[number])
        return positions, columns[TOKENS]

    def pools(self) -> Iterator[Tokens]:
        """Yield the tokens of each pool's candidates."""
        for number in range(len(self.cursors)):
            yield self.pool(number)[1]

    def scores(self) -> Sequence[Ints]:
        """Return the scores of each pool's candidates, int64[n]; the highest are best."""
        rule = self.rows.rule
        if rule.by == "loss":
            return self._losses(str(self.work.parent), range(len(self.cursors)))
        if rule.by == "excess":
            return self._excess()
        *_, now = self.spec.cursors
        new = self.reader.next_rows(now, self.rows.new)[1][TOKENS]
        if rule.by == "unlike":
            return ngrams.unlike(self.pools(), new, rule.ngram)
        return ngrams.novelty(self.pools, new, rule.ngram)

    def told(self, number: int, scores: Ints, kept: Ints) -> dict[str, object]:
        """Return what a record says of a pool: rows kept and looked at, how many rows it was short of, and scores."""
        rows, by = self.rows, self.rows.rule.by
        parts = NATS if rows.rule.reads_models else self.spec.recipe.length + 2 - rows.rule.ngram  # n-grams of a row
        parts *= ngrams.PARTS if by == "novelty" else 1
        return {
            "period": self.cursors[number].source.period,
            "kept": rows.kept[number],
            "candidates": rows.looked[number],
            "missing": rows.rule.pool * rows.kept[number] - rows.looked[number],
            "mean_of_kept": round(float(scores[kept].mean()) / parts, 6),
            "mean_of_candidates": round(float(scores.mean()) / parts, 6),
            "lowest_kept": round(int(scores[kept].min()) / parts, 6),
        }

    def _excess(self) -> list[Ints]:
        """Return by how much losses lie above those that the run's checkpoint of the pool's period had."""
        bases = self.rows.bases
        older = [number for number, base in enumerate(bases) if base is not None]
        found = [np.zeros(looked, np.int64) for looked in self.rows.looked]
        for number, now in zip(older, self._losses(str(self.work.parent), older)):
            found[number] = now
        for base in dict.fromkeys(self.rows.needs):
            mine = [number for number in older if bases[number] == base]
            for number, then in zip(mine, self._losses(self.work.needed[base], mine)):
                found[number] = found[number] - then
        return found

    def _losses(self, checkpoint: str, numbers: Sequence[int]) -> list[Ints]:
        """Return the losses of the checkpoint with this id on some pools."""
        if not numbers:
            return []
        torch.set_num_threads(self.work.resources.threads)
        with self.work.store.local(published(self.work.store, checkpoint)) as folder:
            module = folders.load(folder).to(self.device).eval()
        return [losses(module, self.pool(number)[1], self.rows.rule.rows_at_once) for number in numbers]
