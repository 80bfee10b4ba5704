"""What was run: the settings of a study and how they were asked for, its model, its data, and its rounds."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ticlm.core import settings
from ticlm.core.errors import InputError
from ticlm.core.fingerprint import fingerprint
from ticlm.core.remote.credentials import plain_without_credentials, without_credentials
from ticlm.platform.models.settings import FolderModel, PresetModel
from ticlm.platform.study import plan as plans
from ticlm.platform.study import settings as studies
from ticlm.platform.study.resources import Resources
from ticlm.platform.study.written import models
from ticlm.platform.tasks.cells.cell import Compute

if TYPE_CHECKING:
    from ticlm.core.corpus import Corpus
    from ticlm.core.examples import Examples
    from ticlm.platform.study.plan import Plan

RunOf = tuple[str, int, str]
"""(method, seed, trained period)."""
MOST_TEXT = 60
"""Longest text of a changed value, in characters."""


@dataclass(frozen=True)
class StudyRequest:
    """A study as it was asked for: its name, the changes of its settings and the root, all as they were typed."""

    named: str
    sets: tuple[str, ...] = ()
    root: str = "runs"

    def command(self, verb: str = "run") -> str:
        """Return the command that does it."""
        changes = (word for change in self.sets for word in ("--set", change))
        return shlex.join(["ticlm", verb, self.named, *changes, "--root", self.root])

    def without_credentials(self) -> StudyRequest:
        """Return the request as a page may show it."""
        sets = tuple(map(without_credentials, self.sets))
        return StudyRequest(without_credentials(self.named), sets, without_credentials(self.root))


@dataclass(frozen=True)
class DataUsed:
    """A corpus or a set of examples that a study read."""

    name: str
    """`name@version`"""
    kind: str
    first: str
    last: str
    periods: int
    documents: int
    """Documents of all splits, or examples."""
    tokens: int | None
    """Tokens of the train split; None for a set of examples."""
    sha256: str
    """Hash of the data of these periods."""


@dataclass(frozen=True)
class Setup:
    """What was run for a study."""

    request: StudyRequest
    identity: str
    """Hash of all settings but `resources`, which change no number."""
    settings: str
    """All settings, defaults included, as YAML."""
    changed: tuple[str, ...]
    """A line for each setting that `--set` changed: `key: old → new`."""
    model: str
    tokenizer: str
    data: tuple[DataUsed, ...]
    newest: str
    """When the newest round of the study was finished."""
    rounds: Mapping[RunOf, str]
    """Id of the round of each checkpoint that is done."""
    copies: Mapping[tuple[str, int, str, str], str] = field(default_factory=dict)
    """(method, seed, trained period, task) -> id of the copy of the checkpoint that was tuned for the task."""
    methods: Mapping[str, Any] = field(default_factory=dict)
    """Method -> its entry in the study's file."""
    compute: Compute = "float32"
    """The number type in which models were scored."""

    def round_of(self, method: str, seed: int, trained: str, task: str = "") -> str:
        """Return the id of the round whose weights a task scores; empty if it is not done."""
        key = (method, seed, trained)
        return self.copies.get((*key, task), self.rounds.get(key, ""))


def setup(plan: Plan, request: StudyRequest) -> Setup:
    """Return what was run for the study of a plan with a corpus."""
    import yaml

    assert plan.corpus is not None
    study, tokenizer = plan.study, plan.corpus.info.tokenizer
    entries = settings.resolved(studies.Study, request.named, studies.FOLDER, request.sets)[0].get("methods", [])
    rounds = {
        (run.method.name, run.seed, label): key
        for run in plan.tree.runs
        for label, key in run.rounds.items()
        if plan.done(key)
    }
    tuned: dict[str, list[tuple[str, str]]] = {}
    for (key, task), leaf in plan.tree.leaves.items():
        if leaf in plan.ids:  # those of open rounds have no id yet
            tuned.setdefault(key, []).append((task, plan.ids[leaf]))
    copies = {(*who, task): copy for who, key in rounds.items() for task, copy in tuned.get(key, [])}
    as_of = "" if tokenizer.as_of is None else f", as of {tokenizer.as_of}"
    return Setup(
        request=request.without_credentials(),
        identity=identity_of(study),
        settings=yaml.safe_dump(
            plain_without_credentials(study.model_dump(mode="json")), sort_keys=False, allow_unicode=True, width=110
        ),
        changed=tuple(_changed(plan, request)),
        compute=study.evaluate.compute,
        model=_model(plan),
        tokenizer=f"{tokenizer.name}, {tokenizer.vocab_size:,} tokens{as_of} (sha256 {tokenizer.sha256[:12]})",
        data=tuple(_data(plan)),
        newest=max((record.created for record in plan.records.values()), default=""),
        rounds={who: plan.ids[key] for who, key in rounds.items()},
        copies=copies,
        methods={m.name: plain_without_credentials(entry) for m, entry in zip(study.methods, entries)}
        if isinstance(entries, list)
        else {},
    )


def identity_of(study: studies.Study) -> str:
    """Return the hash of all settings of a study but `resources`, which change no number."""
    return fingerprint(study.model_copy(update={"resources": Resources()}))


def differences(old: Any, new: Any, key: str = "") -> Iterator[str]:
    """Yield a line `key: old → new` for each value that differs between two settings in JSON's types."""
    if isinstance(old, dict) and isinstance(new, dict):
        for name in dict.fromkeys((*old, *new)):
            yield from differences(old.get(name), new.get(name), f"{key}.{name}" if key else str(name))
    elif isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        for place, (one, other) in enumerate(zip(old, new)):
            yield from differences(one, other, f"{key}.{place}")
    elif old != new:
        yield f"{key}: {_short(old)} → {_short(new)}"


def _short(value: Any) -> str:
    if isinstance(value, list) and all(isinstance(one, dict) and "name" in one for one in value):
        value = [one["name"] for one in value]
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return text if len(text) <= MOST_TEXT else f"{text[: MOST_TEXT - 1]}…"


def _changed(plan: Plan, request: StudyRequest) -> Iterator[str]:
    if not request.sets:
        return
    try:
        plain = studies.load(request.named, root=plan.store)
        plain = plain if plan.store is None else models.with_model(plain, plan.store, plans.make)
    except InputError:  # the file alone is no whole study
        return
    both = (plain_without_credentials(one.model_dump(mode="json")) for one in (plain, plan.study))
    yield from differences(*both)


def _model(plan: Plan) -> str:
    model = plan.study.model
    if isinstance(model, FolderModel):
        return f"{without_credentials(model.path)}, as of {model.as_of}"
    return model.name if isinstance(model, PresetModel) else model.model_type


def _data(plan: Plan) -> Iterator[DataUsed]:
    """Yield everything that the study reads, once: its corpus, others that rounds train on, the data of its tasks."""
    from ticlm.core.corpus import Corpus

    corpora = [plan.corpus, *plan.corpora.values()]
    tasks = [plan.data_of(task) for task in plan.study.evaluations]
    for found in {one.info.id: one for one in (*corpora, *tasks) if one is not None}.values():
        yield _corpus(plan, found) if isinstance(found, Corpus) else _examples(found)


def _corpus(plan: Plan, corpus: Corpus) -> DataUsed:
    every = corpus.periods
    mine = [label for label in plan.study.timeline.labels if label in every] if corpus is plan.corpus else list(every)
    splits = [split for label in mine for split in every[label].splits.values()]
    return DataUsed(
        name=corpus.info.id,
        kind="corpus",
        first=mine[0] if mine else "",
        last=mine[-1] if mine else "",
        periods=len(mine),
        documents=sum(split.documents for split in splits),
        tokens=sum(every[label].splits["train"].tokens for label in mine if "train" in every[label].splits),
        sha256=fingerprint(tuple(split.sha256 for split in splits)),
    )


def _examples(examples: Examples) -> DataUsed:
    labels = list(examples.periods)
    subsets = [(label, name, one) for label in labels for name, one in examples.periods[label].subsets.items()]
    return DataUsed(
        name=examples.info.id,
        kind="examples",
        first=labels[0] if labels else "",
        last=labels[-1] if labels else "",
        periods=len(labels),
        documents=sum(one.rows for _, _, one in subsets),
        tokens=None,
        sha256=fingerprint(tuple((label, name, one.sha256) for label, name, one in subsets)),
    )
