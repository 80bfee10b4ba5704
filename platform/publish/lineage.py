"""The way to a vintage: the rounds of a plan from which it came, and the study cut so that it holds them alone."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from ticlm.core import hub, paths
from ticlm.core.errors import InputError
from ticlm.core.integrity.records import Record
from ticlm.core.mixture import Source
from ticlm.core.periods import last_day, span
from ticlm.core.settings import parse
from ticlm.methods.deploy import StepAverage
from ticlm.methods.method import Joint, OracleSeries
from ticlm.platform.publish.certificate import (
    CorpusRead,
    MadeBy,
    OutsideInput,
    PeriodRead,
    RoundMade,
    TuneLosses,
    VintageCertificate,
)
from ticlm.platform.study import data as corpora
from ticlm.platform.study.chains import Chain
from ticlm.platform.study.external_inputs import external_inputs
from ticlm.platform.study.identity import imported
from ticlm.platform.study.plan import Plan
from ticlm.platform.study.round import Round
from ticlm.platform.study.settings import Study
from ticlm.platform.study.tree import Run, rounds
from ticlm.platform.study.work import work_of

if TYPE_CHECKING:
    from ticlm.core.corpus import Corpus


@dataclass(frozen=True)
class VintageLineage:
    """A vintage of a run: its period, and the key of the round whose weights it has."""

    plan: Plan
    run: Run
    label: str

    @property
    def key(self) -> str:
        return self.run.rounds[self.label]

    @property
    def cutoff(self) -> str:
        """The last day of its period, YYYY-MM-DD."""
        return str(last_day(self.label))

    @property
    def before(self) -> str:
        """The period of the vintage before it; empty: there is none."""
        labels = list(self.run.rounds)[: list(self.run.rounds).index(self.label)]
        own = [label for label in labels if _is_own(self.plan.tree.rounds[self.run.rounds[label]])]
        return own[-1] if own and not self.run.method.is_series else ""

    @property
    def record(self) -> Record:
        return self.plan.records[self.key]

    @cached_property
    def keys(self) -> tuple[str, ...]:
        """The keys of all rounds on the way to it, parents before children; the last one is its own."""
        wanted, left = {self.key}, [self.key]
        while left:
            for need in self.plan.tree.rounds[left.pop()].needs:
                if need not in wanted:
                    wanted.add(need)
                    left.append(need)
        return tuple(key for key in self.plan.tree.rounds if key in wanted)

    @cached_property
    def study(self) -> Study:
        """The study with this method and seed alone, without evaluations, which ends with this vintage.

        A continual run that ends earlier has the same rounds up to there: `first_periods` keeps the budgets of the
        whole calendar. Of a series of Oracles, only this one is left.
        """
        whole, method = self.plan.study, self.run.method.model_copy(update={"seeds": (self.run.seed,)})
        if isinstance(method, OracleSeries):
            held = tuple(one for one in method.models if one.as_of == self.label)
            method = method.model_copy(update={"cutoffs": () if held else (self.label,), "models": held})
        labels = whole.timeline.labels
        first = labels.index(self.label) + 1 if self.label in labels else 1
        alone = {"methods": (method,), "evaluations": (), "tables": (), "recipe": None, "recipes": ()}
        further = tuple(one.model_copy(update={"corpus": paths.corpus_id(one.corpus)}) for one in whole.corpora)
        named = {"corpus": paths.corpus_id(whole.corpus), "corpora": further, "first_periods": first, "reference": None}
        return whole.model_copy(update={**alone, **named})

    @cached_property
    def sources(self) -> dict[Source, None]:
        """All sources that these rounds read, but for rows that were sampled; and the tune rows that decided shares."""
        found = dict[Source, None]()
        for spec in (self.plan.tree.rounds[key] for key in self.keys):
            found |= dict.fromkeys(source for source in spec.sources if source not in spec.sampled_sources)
        corpus = paths.corpus_id(self.plan.study.corpus)
        if self.tune_losses:
            labels = dict.fromkeys(label for one in self.tune_losses for label in one.losses)
            found |= dict.fromkeys(Source(corpus=corpus, period=label, split="tune") for label in labels)
        return found

    @cached_property
    def tune_losses(self) -> tuple[TuneLosses, ...]:
        """The losses from which shares of these rounds followed."""
        recorded = self.plan.recorded
        known = {} if recorded is None else recorded.losses
        return tuple(
            TuneLosses(round=one.round, periods=one.periods, rows=one.rows, losses=known[one])
            for one in self.plan.tree.measured
            if one in known and one.round in self.keys and one.round != self.key
        )

    def certificate(self, place: str, **stated: Any) -> VintageCertificate:
        """Return what can be said of it from the plan; `stated` are the fields that come from elsewhere."""
        plan, alone = self.plan, self._alone()
        contents = {path: plan.contents[path] for key in self.keys for path in imported(plan.tree.rounds[key].recipe)}
        return VintageCertificate(
            vintage=self.label,
            cutoff=self.cutoff,
            place=place,
            study=plan.study.name,
            method=self.run.method.name,
            seed=self.run.seed,
            round=plan.ids[self.key],
            before=self.before,
            settings=self.study.model_dump(mode="json"),
            corpora=tuple(self.corpora()),
            outside=outside_of(alone),
            models=contents,
            rounds=tuple(self._made(key) for key in self.keys),
            tune_losses=self.tune_losses,
            **stated,
        )

    def _alone(self) -> Plan:
        """Return a plan of the study that holds this vintage alone. Raises RuntimeError if its rounds are others."""
        plan, known = self.plan, {(one.round, one.periods, one.rows): one.losses for one in self.tune_losses}
        assert plan.corpus is not None
        sizes, further = sizes_of(plan.corpus, self.study), rows_of(plan.corpora)
        tree = rounds(self.study, sizes, further, recorded=lambda _, one: known.get((one.round, one.periods, one.rows)))
        if not tree.runs or tree.runs[0].rounds.get(self.label) != self.key:
            raise RuntimeError(f"the study, cut at {self.label}, has another round there; this is a fault of ticlm")
        return replace(plan, study=self.study, tree=tree)

    def corpora(self) -> list[CorpusRead]:
        found = []
        for name in dict.fromkeys(source.corpus for source in self.sources):
            corpus, labels = self.plan.corpora[name], dict.fromkeys(s.period for s in self.sources if s.corpus == name)
            periods = []
            for label in sorted(labels, key=span):
                manifest = corpus.periods[label]
                train = manifest.splits["train"]
                record = corpus.store.sha256(paths.record(paths.period(label)))
                periods.append(
                    PeriodRead(
                        label=label,
                        first_day=str(manifest.period.start),
                        last_day=str(last_day(label)),
                        documents=train.documents,
                        rows=train.rows,
                        tokens=train.tokens,
                        sha256=train.sha256,
                        record=record,
                        dating=manifest.lineage.dating,
                        newest={source: when.isoformat() for source, when in manifest.newest.items()},
                    )
                )
            info = corpus.info
            found.append(
                CorpusRead(
                    id=name,
                    info=corpus.store.sha256("corpus.json"),
                    recipe=info.recipe,
                    tokenizer=info.tokenizer,
                    periods=tuple(periods),
                )
            )
        return found

    def _made(self, key: str) -> RoundMade:
        plan, spec, record = self.plan, self.plan.tree.rounds[key], self.plan.records[key]
        return RoundMade(
            id=plan.ids[key],
            kind=kind_of(spec),
            period=spec.period,
            needs=tuple(plan.ids[need] for need in spec.needs),
            steps=spec.steps,
            tokens=spec.tokens,
            reads=reads_of(spec),
            attempt=record.attempt,
            files=record.files,
            loss=record.about.get("loss"),
            seconds=round(record.about["measured"]["seconds"], 3),
            made_by=parse(MadeBy, record.about.get("made_by") or self._expected_maker(key, spec), "made_by"),
        )

    def _expected_maker(self, key: str, spec: Round) -> Mapping[str, Any]:
        """Return what is known of how a round was made whose record is of an older release: what its plan says."""
        if not spec.is_trained:
            return {}
        chain = next(one for one in self.plan.chains if key in one.keys)
        work = work_of(self.plan, Chain((key,), chain.depth, chain.is_side, chain.is_trained))
        return {"micro_batch_rows": work.micro_rows, "threads": work.resources.threads}


def lineages(plan: Plan, method: str, seed: int | None) -> list[VintageLineage]:
    """Return the vintages of a method that are trained, oldest first. Raises InputError if there are none."""
    runs = [run for run in plan.tree.runs if run.method.name == method]
    if not runs:
        have = ", ".join(dict.fromkeys(run.method.name for run in plan.tree.runs))
        raise InputError(f"study {plan.study.name} has no method {method}; it has {have}")
    run = next((one for one in runs if seed in (None, one.seed)), None)
    if run is None:
        raise InputError(f"method {method} has no seed {seed}; it has {', '.join(str(one.seed) for one in runs)}")
    if isinstance(getattr(run.method, "deploy", None), StepAverage):
        raise InputError(
            f"methods.{method}.deploy averages models inside rounds, which no certificate tells yet; publish a method "
            "that deploys an average over rounds, or none"
        )
    # A joint round has no chain that could end at its first model, which other methods share.
    own = list(run.rounds)[-1:] if isinstance(run.method, Joint) else list(run.rounds)
    labels = [one for one in own if plan.done(run.rounds[one]) and _is_own(plan.tree.rounds[run.rounds[one]])]
    if not labels:
        raise InputError(f"no round of {method} is trained yet; run it with: ticlm train {plan.study.name}")
    return [VintageLineage(plan, run, label) for label in labels]


def sizes_of(corpus: Corpus, study: Study) -> dict[str, int]:
    """Return the training rows by period, as far as a study that was cut may see."""
    last = study.last_visible_period
    seen = [label for label in corpus.periods if last is None or span(label)[1] <= span(last)[1]]
    return {label: corpus.periods[label].splits["train"].rows for label in seen}


def rows_of(held: Mapping[str, Corpus]) -> dict[Source, int]:
    """Return the rows of all sources of some corpora, by the names that sources have for them."""
    return {source: manifest.rows for source, manifest in corpora.splits(held).items()}


def kind_of(spec: Round) -> Literal["round", "average", "sample"]:
    """Return what a certificate calls a round."""
    return "average" if spec.average else "sample" if spec.sample is not None else "round"


def reads_of(spec: Round) -> dict[str, int]:
    """Return the tokens that a round was given of each source; 0 of one that a penalty reads."""
    reads = {str(source): 0 for source in spec.sources}
    for share in (share for segment in spec.segments for share in segment.mixture.shares):
        reads[str(share.source)] += share.tokens
    return reads


def outside_of(plan: Plan) -> tuple[OutsideInput, ...]:
    """Return what a plan that holds a vintage alone takes from outside the timeline. Models are told without the place
    where they lie, which is another one for whoever verifies."""
    models = {path for spec in plan.tree.rounds.values() for path in imported(spec.recipe)}
    lines = list(external_inputs(plan))
    for path in models:
        if hub.parse(path) is None or Path(path).exists():
            lines = [line.replace(path, plan.contents.get(path, path)[:12]) for line in lines]
    return tuple(map(_outside, lines))


def _outside(line: str) -> OutsideInput:
    what, _, as_of = line.rpartition(", as of ")
    return OutsideInput(what=what or line, as_of=as_of if what else "")


def _is_own(spec: Round) -> bool:
    """Return whether a round made its weights, and did not take an imported checkpoint as it is."""
    return bool(spec.steps or spec.average)
