"""Choices: which of the old rows that a round may replay it replays."""

from __future__ import annotations

from collections.abc import Mapping, MutableMapping

from ticlm.core.errors import InputError
from ticlm.core.fingerprint import fingerprint
from ticlm.core.mixture import Mixture, Share, Source
from ticlm.methods.seams import RoundPosition
from ticlm.methods.timeline import Choosing
from ticlm.platform.study.nodes.parts import ChosenRows
from ticlm.platform.study.round import Round, Segment, SourceCursor, sampled_source


def chosen_for(
    where: str,
    spec: Round,
    rule: Choosing,
    rounds: MutableMapping[str, Round],
    sizes: Mapping[str, int],
    checkpoints: Mapping[str, str],
) -> Round:
    """Add to `rounds` the choice of the old rows that a round draws, and return the round, which draws them there, from
    each period as many as `spec` does.

    `sizes` are training rows by period, as far as they are known; no more rows are looked at than there are. Behind a
    rule of losses, `checkpoints` are the keys of the run's checkpoints by period. A round without old rows is returned
    as it is. Raises InputError, with the setting `where` the method stands, if rows cannot be scored.
    """
    draws, own = spec.draws(), spec.own
    old = {source: rows for source, rows in draws.items() if source != own and rows}
    if not old:
        return spec
    if spec.recipe.objective.encoder_decoder:
        raise InputError(f"{where}.replay: rows are chosen for causal models, this study trains an encoder–decoder")
    if rule.ngram > spec.recipe.length + 1 and not rule.reads_models:
        raise InputError(
            f"{where}.replay.ngram must be at most the {spec.recipe.length + 1} tokens of a row, got {rule.ngram}"
        )
    assert spec.parent is not None
    cursors = {cursor.source: cursor for cursor in spec.cursors}
    before = [cursors.get(one) or SourceCursor(source=one, seed=spec.recipe.seed, rows=0) for one in old]
    looked = tuple(_looked(rule, cursor, old[cursor.source], sizes) for cursor in before)
    reads, new = tuple(old), 0
    if not rule.reads_models and own is not None:
        reads, new = (*reads, own), draws[own]
        before.append(cursors.get(own) or SourceCursor(source=own, seed=spec.recipe.seed, rows=0))
    choice = Round(
        parent=spec.parent,
        period=spec.period,
        segments=(),
        recipe=rounds[spec.parent].recipe,
        position=RoundPosition(index=spec.position.index, steps=0, steps_before=spec.position.steps_before),
        cursors=tuple(before),
        reads=reads,
        sample=ChosenRows(
            rule=rule,
            kept=tuple(old.values()),
            looked=looked,
            new=new,
            bases=_bases(spec.parent, old, checkpoints) if rule.by == "excess" else (),
        ),
    )
    key = fingerprint(choice)
    rounds.setdefault(key, choice)
    drawn = {source: sampled_source(key, source.period) for source in old}
    segments = tuple(Segment(mixture=_redirected(one.mixture, drawn), steps=one.steps) for one in spec.segments)
    kept = tuple(cursor for cursor in spec.cursors if cursor.source not in old)
    return spec.model_copy(update={"segments": segments, "cursors": kept, "sampled": key})


def _looked(rule: Choosing, cursor: SourceCursor, kept: int, sizes: Mapping[str, int]) -> int:
    """Return how many rows of a source are looked at: one pass over it, or its buffer, is the most."""
    there = sizes.get(cursor.source.period) if cursor.window is None else cursor.window[1]
    wanted = rule.pool * kept
    return max(kept, wanted if there is None else min(wanted, there))


def _bases(parent: str, old: Mapping[Source, int], checkpoints: Mapping[str, str]) -> tuple[str | None, ...]:
    """Return for each old source the key of the run's checkpoint of its period, and the first checkpoint for periods
    before that; None if it is the one that the round starts from."""
    first = next(iter(checkpoints.values()))
    found = (checkpoints.get(source.period, first) for source in old)
    return tuple(None if base == parent else base for base in found)


def _redirected(mixture: Mixture, drawn: Mapping[Source, Source]) -> Mixture:
    """Return the mixture with the rows that were chosen from a source in place of that source."""
    return Mixture(
        shares=tuple(Share(source=drawn[s.source], tokens=s.tokens) if s.source in drawn else s for s in mixture.shares)
    )
