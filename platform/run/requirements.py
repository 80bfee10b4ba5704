"""What the rounds of a plan need before any worker is started for them: data, models, packages."""

from __future__ import annotations

from ticlm.core import extras, paths
from ticlm.core.errors import InputError
from ticlm.core.settings import build_command
from ticlm.platform.study.identity import imported
from ticlm.platform.study.needs import missing_periods
from ticlm.platform.study.plan import Plan


def require(plan: Plan) -> None:
    """Raise InputError if the rounds that are left lack any data or model. Needs no Ray."""
    if plan.pending():
        extras.check(plan.study)
        _require_data(plan)
        _require_models(plan)


def _require_data(plan: Plan) -> None:
    if plan.corpus is None:
        raise InputError(
            f"corpus {plan.study.corpus}: not there yet; build it with: {build_command(plan.study.corpus)}"
        )
    if not plan.corpus.store.exists(paths.tokenizer_file()):
        raise InputError(
            f"{plan.corpus.store.uri(paths.tokenizer_file())}: the corpus's tokenizer is gone; restore its folder from "
            "a copy, or from the model/ of any round that was trained on the corpus"
        )
    missing = missing_periods(plan)
    if missing:
        more = f" and {len(missing) - 1} more" if len(missing) > 1 else ""
        raise InputError(
            f"corpus {plan.corpus.info.id} has no period {missing[0]}{more}, which the study trains on; "
            f"append it with {build_command(plan.study.corpus)}, or shorten periods"
        )
    for spec in plan.tree.rounds.values():
        for source in spec.sources:
            if source in spec.sampled_sources:
                continue  # it will have the rows that the round draws
            if plan.corpora[source.corpus].split(source.period, source.split).rows == 0:
                raise InputError(
                    f"{source} has no row to train on; pool periods (periods.step), or use shorter rows when building"
                )


def _require_models(plan: Plan) -> None:
    if any(imported(spec.recipe) for spec in plan.tree.rounds.values()):
        from ticlm.platform.study import imported_models

        imported_models.check(plan)
