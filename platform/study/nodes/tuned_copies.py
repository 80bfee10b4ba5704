"""Tuned copies: the leaf rounds in which a checkpoint is trained a little before a task scores it (`Prepare`)."""

from __future__ import annotations

from collections.abc import Mapping

from ticlm.core import paths
from ticlm.core.errors import InputError
from ticlm.core.mixture import Mixture, Source
from ticlm.core.periods import require_past
from ticlm.methods.budgets import rows_of
from ticlm.methods.seams import RoundPosition
from ticlm.platform.study.round import Round, RoundRecipe, Segment
from ticlm.platform.study.settings import Study
from ticlm.platform.tasks.base import Prepare, Task


def tuned_copy(study: Study, task: Task, key: str, parent: Round, rows: Mapping[Source, int]) -> Round:
    """Return the round that prepares the checkpoint of the round `parent` (its key: `key`) for a task.

    `rows` are the rows of the sources that are there; a budget in epochs is counted by them, or by the rows that are
    expected. Raises InputError if the budget fills no step, and NotBuilt if nothing tells the rows.
    """
    prepare, where = task.prepare, f"evaluations.{task.name}.prepare"
    assert prepare is not None
    source = _source(study, prepare, parent.period)
    if prepare.period is not None and prepare.as_of is None:
        require_past(where, parent.period, prepare.period)
    recipe = _recipe(parent.recipe, prepare)
    if recipe.objective.encoder_decoder != parent.recipe.objective.encoder_decoder:
        kinds = ("a causal model", "an encoder–decoder")
        trains, has = (kinds[one.objective.encoder_decoder] for one in (recipe, parent.recipe))
        raise InputError(f"{where}.objective trains {trains}, and the study's model is {has}")
    batch_tokens = recipe.batch_rows * recipe.length
    if prepare.epochs is None:
        assert prepare.steps is not None
        steps = prepare.steps
        tokens = steps * batch_tokens
    else:
        tokens = int(prepare.epochs * _rows(prepare, source, rows, where) * recipe.length)
        steps = tokens // batch_tokens
    if steps == 0:
        raise InputError(
            f"{where}: {prepare.epochs:g} epochs of {source} are {tokens // recipe.length:,} rows, too few for a step "
            f"of {recipe.batch_rows} rows; lower its batch_rows"
        )
    position = RoundPosition(index=parent.position.index, steps=steps, steps_before=0)
    recipe.check_rates(position, where, f"what prepares for a task at period {parent.period}")
    return Round(
        parent=key,
        period=parent.period,
        segments=(Segment(mixture=Mixture.of({source: tokens}), steps=steps),),
        recipe=recipe,
        position=position,
        cursors=(),
    )


def _source(study: Study, prepare: Prepare, period: str) -> Source:
    corpus = study.corpus if prepare.corpus is None else prepare.corpus
    return Source(corpus=paths.corpus_id(corpus), period=prepare.period or period, split=prepare.split)


def _recipe(parent: RoundRecipe, prepare: Prepare) -> RoundRecipe:
    """Return the checkpoint's recipe with the settings of its tuned copy. All weights are tuned, also of adapters."""
    own = {name: getattr(prepare, name) for name in ("batch_rows", "length", "objective")}
    return RoundRecipe(
        **{name: getattr(parent, name) for name in RoundRecipe.model_fields}
        | {"schedule": prepare.schedule, "optimizer": prepare.optimizer, "seed": prepare.seed, "penalties": ()}
        | {"adapter": None, "freeze": None}
        | {name: value for name, value in own.items() if value is not None}
    )


def _rows(prepare: Prepare, source: Source, rows: Mapping[Source, int], where: str) -> int:
    """Return the number of rows of a source: as counted in the corpus, or else as expected by the settings."""
    known = rows.get(source, prepare.expected_rows)
    return rows_of(source.period, None if known is None else {source.period: known}, f"{where}.epochs counts the rows")
