"""Samples: the rows that a checkpoint writes for the round that starts from it."""

from __future__ import annotations

from collections.abc import MutableMapping

from ticlm.core.errors import InputError
from ticlm.core.fingerprint import fingerprint
from ticlm.core.mixture import Mixture, Source
from ticlm.methods.adapters.lora import LoRA
from ticlm.methods.seams import RoundPosition
from ticlm.methods.timeline import ITSELF, Sampling
from ticlm.platform.study.nodes.parts import SampledRows
from ticlm.platform.study.round import Round, Segment, sampled_source


def sampled_for(where: str, spec: Round, sampling: Sampling, rounds: MutableMapping[str, Round]) -> Round:
    """Add to `rounds` the sample that a round needs, and return the round, which draws from it wherever `spec` draws
    from `ITSELF`.

    The sample has as many rows as the round draws, so none is drawn twice. Its parent is that of the round, and so is
    its recipe: of a sample, it says the model, the objective and the length. Raises InputError, with the setting
    `where` the method stands, if the checkpoint cannot write rows.
    """
    parent = None if spec.parent is None else rounds[spec.parent]
    rows = sum(count for source, count in spec.draws().items() if source.corpus == ITSELF)
    if parent is None:
        raise InputError(f"{where}.replay: the round at {spec.period} starts from no checkpoint that could write rows")
    if spec.recipe.objective.encoder_decoder:
        raise InputError(f"{where}.replay: rows are sampled from causal models, this study trains an encoder–decoder")
    if not isinstance(spec.recipe.adapter, LoRA | None):
        kind = type(spec.recipe.adapter).__name__
        raise InputError(f"{where}.adapter: {kind} reads whole rows, and sampled ones grow token by token; use LoRA")
    if rows == 0:
        raise InputError(f"{where}.replay.alpha leaves no row to sample at period {spec.period}; lower it")
    sample = Round(
        parent=spec.parent,
        period=spec.period,
        segments=(),
        recipe=parent.recipe,
        position=RoundPosition(index=spec.position.index, steps=0, steps_before=spec.position.steps_before),
        cursors=(),
        sample=SampledRows(rows=rows, seed=spec.recipe.seed, sampling=sampling),
    )
    key = fingerprint(sample)
    rounds.setdefault(key, sample)
    drawn = sampled_source(key, spec.period)
    segments = tuple(Segment(mixture=_redirected(one.mixture, drawn), steps=one.steps) for one in spec.segments)
    return spec.model_copy(update={"segments": segments, "sampled": key})


def _redirected(mixture: Mixture, drawn: Source) -> Mixture:
    """Return the mixture with `drawn` in place of the source of rows that are sampled."""
    shares = (s.model_copy(update={"source": drawn}) if s.source.corpus == ITSELF else s for s in mixture.shares)
    return Mixture(shares=tuple(shares))
