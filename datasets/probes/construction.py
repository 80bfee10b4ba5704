"""The probes of one period: its candidates, the decision on each, and the probes of NewLAMA-Easy."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Literal

from ticlm.core.accounting import Step
from ticlm.core.examples import MASK
from ticlm.datasets.examples.answer_types import TYPE
from ticlm.datasets.llm.chat import ChatModel
from ticlm.datasets.probes import candidates as drawing
from ticlm.datasets.probes import decisions, easy
from ticlm.datasets.probes.candidates import Candidate, DatedArticle
from ticlm.datasets.probes.decisions import Decision
from ticlm.datasets.probes.matching import Stated, named, stated
from ticlm.datasets.probes.model_steps import ModelSteps
from ticlm.datasets.probes.old_corpus import OldCorpusIndex, OldPassage
from ticlm.datasets.probes.review import Probe
from ticlm.datasets.text.taggers import Tagger

ModelStep = Literal["questions", "judge", "select", "decontextualise", "translate", "annotate"]
BEYOND = "beyond the number of questions per article"


@dataclass(frozen=True)
class Tools:
    """What the steps work with. A step that is not `asked` of the chat model is taken by rules."""

    old: OldCorpusIndex
    tagger: Tagger
    per_article: int
    passages: int
    fit: float
    support: int
    chat: ModelSteps | None = None
    second: ModelSteps | None = None
    translators: tuple[ChatModel, ChatModel] | None = None
    asked: frozenset[ModelStep] = frozenset()

    def model(self, step: ModelStep) -> ModelSteps | None:
        """Return the model that takes a step; None if rules do."""
        return self.chat if step in self.asked else None


def candidates_of(articles: Sequence[DatedArticle], tools: Tools) -> tuple[list[Candidate], Step]:
    """Return the candidates of some articles, each question once, and the account of the others."""
    if (model := tools.model("questions")) is not None:
        drawn = model.candidates(articles, tools.per_article, tools.tagger)
    else:
        drawn = [drawing.by_rules(article, tools.tagger) for article in articles]
    kept = [candidate for one in drawn for candidate in one.kept]
    dropped = sum((one.dropped for one in drawn), Counter[str]())
    fresh = drawing.distinct(kept, tools.old.has_sentences([candidate.sentence for candidate in kept]), dropped)
    seen, few = Counter[tuple[str, str]](), []
    for candidate in fresh:
        seen[candidate.article, candidate.day] += 1
        if seen[candidate.article, candidate.day] > tools.per_article:
            dropped[BEYOND] += 1
        else:
            few.append(candidate)
    return few, _step("questions", sum(one.read for one in drawn), dropped)


def decided(
    candidates: Sequence[Candidate], predictions: Sequence[str], tools: Tools
) -> tuple[list[Decision], Step, dict[str, int]]:
    """Return the decisions that make probes, the account of the others, and the number of candidates by branch."""
    hits = tools.old.search([candidate.cloze.replace(MASK, " ") for candidate in candidates], tools.passages)
    # a prediction may stand where the words of the question do not lead
    filled = [
        candidate.cloze.replace(MASK, prediction) if prediction else ""
        for candidate, prediction in zip(candidates, predictions, strict=True)
    ]
    more = tools.old.search(filled, tools.passages)
    hits = [list(dict.fromkeys([*one, *other])) for one, other in zip(hits, more, strict=True)]
    outcomes: list[Decision | str]
    if (model := tools.model("judge")) is not None:
        outcomes = _by_model(model, candidates, predictions, hits)
    else:
        outcomes = [
            _by_rules(candidate, prediction, passages, tools)
            for candidate, prediction, passages in zip(candidates, predictions, hits, strict=True)
        ]
    made = [one for one in outcomes if isinstance(one, Decision)]
    branches = Counter(one.branch for one in made)
    dropped = Counter(one for one in outcomes if isinstance(one, str))
    dropped.update({branch: n for branch, n in branches.items() if decisions.TREE[branch] is None})
    counted = {branch: branches[branch] for branch in decisions.TREE if branches[branch]}
    return [one for one in made if one.subset], _step("decisions", len(candidates), dropped), counted


def easy_of(articles: Sequence[DatedArticle], tools: Tools) -> tuple[list[Candidate], Step]:
    """Return the candidates of NewLAMA-Easy, and the account of the articles that give none."""
    model = tools.model("select")
    found = (
        easy.selected_by_rules(articles, tools.old, tools.tagger)
        if model is None
        else easy.selected_by_model(model, articles, tools.tagger)
    )
    if (model := tools.model("decontextualise")) is not None:
        easy.decontextualised(model, found)
    if (model := tools.model("translate")) is not None:
        easy.translated_back(model, tools.translators, found)
    easy.usable(found)
    model = tools.model("annotate")
    if model is None:
        easy.annotated_by_rules(found, tools.tagger, tools.fit)
    else:
        easy.annotated_by_models(model, tools.second or model, found)
    return [candidate for _, candidate in found.kept], _step("articles for new-easy", found.read, found.dropped)


def as_probe(decision: Decision, period: str) -> Probe:
    """Return the probe that a decision makes."""
    assert decision.subset is not None
    evidence = decision.evidence
    about = {"prediction": decision.prediction}
    if evidence is not None:
        about |= {"evidence": evidence.sentence, "old document": evidence.document, "old date": evidence.day}
    said = f"old ({evidence.day}): {evidence.sentence}" if evidence is not None else "old: nothing found"
    outdated = (decision.outdated,) if decision.subset == "updated" else ()
    return _probe(decision.candidate, period, decision.subset, outdated, said, decision.branch, about)


def as_easy_probe(candidate: Candidate, period: str) -> Probe:
    """Return the probe of a candidate of NewLAMA-Easy."""
    return _probe(candidate, period, "new-easy", (), "", "both annotators agree", {})


def _probe(
    candidate: Candidate,
    period: str,
    subset: decisions.ProbeSubset,
    outdated: tuple[str, ...],
    said: str,
    decision: str,
    about: Mapping[str, str],
) -> Probe:
    fields = {"document": candidate.article, "date": candidate.day, "sentence": candidate.sentence}
    whole = {**fields, TYPE: candidate.label, "decision": decision, **about}
    return Probe(
        id=candidate.id if subset != "new-easy" else f"easy-{candidate.id}",
        period=period,
        subset=subset,
        question=candidate.question,
        cloze=candidate.cloze,
        answers=(candidate.answer,),
        outdated=outdated,
        evidence=f"new ({candidate.day}): {candidate.sentence}" + (f"\n{said}" if said else ""),
        decision=decision,
        about={name: text for name, text in whole.items() if text},
    )


def _by_rules(candidate: Candidate, prediction: str, passages: Sequence[OldPassage], tools: Tools) -> Decision:
    found = stated(candidate, passages, tools.tagger, tools.fit)
    decision = decisions.by_rules(candidate, prediction, found, tools.support)
    if decision.subset == "new" and named(candidate, passages):
        return Decision(candidate, decisions.OTHERWISE, prediction=prediction)
    return decision


def _by_model(
    model: ModelSteps, candidates: Sequence[Candidate], predictions: Sequence[str], hits: Sequence[Sequence[OldPassage]]
) -> list[Decision | str]:
    """Let a model judge every prediction that there is, and find an alternative where it is wrong."""
    asked = [number for number, prediction in enumerate(predictions) if prediction]
    judged = model.supported([(candidates[n], predictions[n], hits[n]) for n in asked])
    support: dict[int, Stated | str | None] = dict(zip(asked, judged, strict=True))
    wrong = [number for number in range(len(candidates)) if support.get(number) is None]
    found = dict(zip(wrong, model.alternatives([(candidates[n], hits[n]) for n in wrong]), strict=True))
    outcomes: list[Decision | str] = []
    for number, candidate in enumerate(candidates):
        one, other = support.get(number), found.get(number)
        if isinstance(one, str) or isinstance(other, str):
            outcomes.append(one if isinstance(one, str) else str(other))
        else:
            outcomes.append(decisions.decide(candidate, predictions[number], one, partial(_given, other)))
    return outcomes


def _given(found: Stated | None) -> Stated | None:
    return found


def _step(name: str, read: int, dropped: Mapping[str, int]) -> Step:
    return Step(name=name, read=read, dropped={reason: n for reason, n in sorted(dropped.items()) if n})
