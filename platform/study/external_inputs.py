"""What a study takes from outside its timeline."""

from __future__ import annotations

from ticlm.core import paths
from ticlm.core.errors import InputError
from ticlm.core.remote.credentials import without_credentials
from ticlm.core.vocabulary import growth
from ticlm.methods.method import OracleSeries
from ticlm.platform.models.settings import FolderModel
from ticlm.platform.study.plan import Plan
from ticlm.platform.tasks.base import Task


def external_inputs(plan: Plan) -> list[str]:
    """Return one line for each thing from outside the timeline."""
    lines = []
    if plan.corpus is not None and plan.corpus.info.tokenizer.as_of is not None:
        lines.append(f"tokenizer {plan.corpus.info.tokenizer.name}, as of {plan.corpus.info.tokenizer.as_of}")
    lines += plan.corpus.info.external_inputs if plan.corpus is not None else ()
    for name in (paths.corpus_id(one.corpus) for one in plan.study.corpora):
        if name in plan.corpora:
            lines += [f"corpus {name}: {line}" for line in plan.corpora[name].info.external_inputs]
    if plan.corpus is not None:
        lines += dict.fromkeys(line for task in plan.study.evaluations for line in _of_examples(plan, task))
    if isinstance(plan.study.model, FolderModel):
        new = growth.read(plan.corpus.store) if plan.study.model.grow and plan.corpus is not None else None
        grown = f", grown by {new.new:,} tokens ({plan.study.model.grow})" if new is not None else ""
        lines.append(f"initial model {plan.study.model.path}{grown}, as of {plan.study.model.as_of}")
    for series in (m for m in plan.study.methods if isinstance(m, OracleSeries)):
        lines += [f"{series.name} {model.path}, as of {model.as_of}" for model in series.models]
    outside = ((name, old) for name, old in plan.study.old_corpora if old.as_of is not None)
    lines += [f"old rows of {name}: corpus {old.corpus}, as of {old.as_of}" for name, old in outside]
    copies = ((task, task.prepare) for task in plan.study.evaluations if task.prepare is not None)
    lines += [f"tuned copies for {t.id}: corpus {p.corpus}, as of {p.as_of}" for t, p in copies if p.as_of]
    penalties = dict.fromkeys(p for spec in plan.tree.rounds.values() for p in spec.recipe.penalties)
    teachers = dict.fromkeys(model for penalty in penalties for model in penalty.imported.values())
    lines += [f"teacher {teacher.path}, as of {teacher.as_of}" for teacher in teachers]
    return list(map(without_credentials, lines))


def _of_examples(plan: Plan, task: Task) -> list[str]:
    if task.reads != "examples":
        return []
    try:
        data = plan.data_of(task)
    except InputError:  # not there yet: a plan says so, and nothing else is made without it
        return []
    return [f"examples {data.info.id}: {line}" for line in data.info.external_inputs] if data is not None else []
