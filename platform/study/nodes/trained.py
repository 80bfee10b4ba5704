"""The round that a method asks for: its recipe, its position, and its segments of whole steps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ticlm.core.errors import FutureMonthError, InputError
from ticlm.core.mixture import Mixture, Source
from ticlm.methods.freezing import frozen
from ticlm.methods.method import Method, OracleSeries
from ticlm.methods.seams import RoundPosition
from ticlm.methods.timeline import MethodTimeline, RoundRequest
from ticlm.platform.models.settings import FolderModel
from ticlm.platform.study.round import Round, RoundRecipe, Segment, SourceCursor, drawn_before
from ticlm.platform.study.settings import Study


def recipe_of(study: Study, method: Method, request: RoundRequest, seed: int) -> RoundRecipe:
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
        return RoundRecipe(**common, schedule=start.schedule, optimizer=start.optimizer, seed=start.seed_of(seed))
    return RoundRecipe(
        **common | ({} if method.batch_rows is None else {"batch_rows": method.batch_rows}),
        schedule=method.schedule,
        optimizer=method.optimizer,
        penalties=method.penalties,
        adapter=method.adapter,
        freeze=None if method.freeze == frozen(None, method.adapter) else method.freeze,
        seed=seed,
    )


def position_of(request: RoundRequest, recipe: RoundRecipe, continual: Sequence[int]) -> RoundPosition:
    """Return the position of a round whose run has done `continual` steps. Raises InputError if it has none itself."""
    batch_tokens = recipe.batch_rows * recipe.length
    tokens = sum(mixture.tokens for mixture in request.mixtures)
    steps = tokens // batch_tokens
    if steps == 0 and request.mixtures:
        raise InputError(
            f"the budget of period {request.period} is {tokens:,} tokens, too small for one step of "
            f"{recipe.batch_rows} rows x {recipe.length} = {batch_tokens:,} tokens"
        )
    return RoundPosition(index=request.index, steps=steps, steps_before=_steps_before(request, continual, steps))


def trained_round(
    request: RoundRequest,
    recipe: RoundRecipe,
    position: RoundPosition,
    parent: str | None,
    cursor: Mapping[Source, SourceCursor],
    timeline: MethodTimeline,
    where: str,
    of: str = "the round",
) -> Round:
    """Return a round of a method, or of the initial recipe: `where` in the study its rates stand.

    Raises InputError if its rates do not fit it, FutureMonthError if it would read what comes later.
    """
    order = {label: number for number, label in enumerate(timeline.labels)}
    now = order.get(request.period, -1)
    drawn = [source for mixture in request.mixtures for source in mixture.sources]
    late = next((s for s in drawn if order.get(s.period, -1) > now or timeline.is_late(s, request.period)), None)
    if late is not None:
        raise FutureMonthError("a round", request.period, late.period)
    if position.steps:
        recipe.check_rates(position, where, f"{of} at period {request.period}")
    return Round(
        parent=parent,
        period=request.period,
        segments=_segments(request.mixtures, recipe.batch_rows * recipe.length),
        recipe=recipe,
        position=position,
        cursors=tuple(drawn_before(request.mixtures, recipe, cursor, timeline.rows_of)),
        reads=_reads(request, recipe, timeline),
        rule=request.rule,
        open=request.open,
        further=tuple(source for source in timeline.further(request.period) if source in drawn),
    )


def _steps_before(request: RoundRequest, continual: Sequence[int], steps: int) -> int:
    """Return the continual steps of the timeline before a round of `steps` steps, of which its run did `continual`."""
    # Periods before an imported start count as many steps as this round: nobody trained them here.
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
