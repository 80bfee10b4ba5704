"""NewLAMA-Easy: a sentence of an article with a name left out, on which two annotators agree (CKL, appendix B).

Choose an article with new information, a sentence and a name in it; make the sentence stand alone; translate it and
back (the name must survive); mask the name; two annotators write a question and an answer. It is kept if both answers
are the same, and the name that was masked.

By rules, an article is new if one of its sentences is not in the old corpus and has a word that the old corpus never
writes. The sentence is kept as it is. One annotator looks for the sentence in the article; the other for what another
sentence of the article says in its words, and if none does agrees with the first.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from ticlm.core.examples import MASK
from ticlm.datasets.llm.chat import ChatModel, ChatRequest, Message
from ticlm.datasets.llm.prompts import Unreadable, as_object
from ticlm.datasets.probes import candidates as by_rule
from ticlm.datasets.probes.answers import agreement
from ticlm.datasets.probes.candidates import Candidate, DatedArticle
from ticlm.datasets.probes.matching import stated
from ticlm.datasets.probes.model_steps import ModelSteps, shown, unreadable
from ticlm.datasets.probes.old_corpus import OldCorpusIndex, OldPassage
from ticlm.datasets.text.matching import whole_words
from ticlm.datasets.text.taggers import Tagger

NOTHING_NEW = "nothing new in the article"
MADE_UP = "a sentence or an entity that the article does not have"
LOST_ALONE, LOST_BACK = "the entity is lost in the rewritten sentence", "the entity is lost in the translation"
DISAGREE, NOT_GOLD = "the annotators disagree", "the annotators agree on another answer"


@dataclass
class Easy:
    """The candidates that are left after each step, the number of articles, and why the others were left out."""

    read: int
    kept: list[tuple[DatedArticle, Candidate]] = field(default_factory=list)
    dropped: Counter[str] = field(default_factory=Counter)

    def sift(self, outcomes: Sequence[Candidate | str]) -> None:
        """Replace each candidate by its outcome; count a reason."""
        paired = zip(self.kept, outcomes, strict=True)
        self.kept = [(article, one) for (article, _), one in paired if isinstance(one, Candidate)]
        self.dropped.update(one for one in outcomes if isinstance(one, str))


def selected_by_rules(
    articles: Sequence[DatedArticle], old: OldCorpusIndex, tagger: Tagger, least_new: int = 1
) -> Easy:
    """Choose of each article the first sentence that is new by the rules, and in it the span with most new words."""
    easy = Easy(len(articles))
    for article in articles:
        drawn = by_rule.by_rules(article, tagger)
        known = old.has_sentences([candidate.sentence for candidate in drawn.kept])
        fresh = [one for one, stands in zip(drawn.kept, known, strict=True) if not stands]
        ranked = [(len(_unknown(one, old)), _unknown_in(one.answer, old), -n, one) for n, one in enumerate(fresh)]
        best = max(ranked, key=lambda entry: entry[:3], default=None)
        if best is None or best[0] < least_new:
            easy.dropped[NOTHING_NEW] += 1
        else:
            easy.kept.append((article, best[3]))
    return easy


def selected_by_model(steps: ModelSteps, articles: Sequence[DatedArticle], tagger: Tagger) -> Easy:
    """Let a model choose the sentence and the entity of each article, among those that the tagger finds."""
    easy = Easy(len(articles))
    tagged = [list(by_rule.tagged_sentences(article.text, tagger)) for article in articles]
    names = [dict.fromkeys(text[s.begin : s.end] for text, spans in found for s in spans) for found in tagged]
    slots = [{**shown(article), "entities": "; ".join(known)} for article, known in zip(articles, names, strict=True)]
    for article, found, reply in zip(articles, tagged, steps.asked("select", slots), strict=True):
        try:
            chosen = as_object(reply, new=bool, sentence=str, entity=str)
        except Unreadable as error:
            easy.dropped[unreadable("select", error)] += 1
            continue
        if not chosen["new"]:
            easy.dropped[NOTHING_NEW] += 1
            continue
        spans = {(text, text[s.begin : s.end]): s for text, several in found for s in several}
        span = spans.get((chosen["sentence"].strip(), chosen["entity"].strip()))
        if span is None:
            easy.dropped[MADE_UP] += 1
        else:
            easy.kept.append((article, by_rule.masked(article, chosen["sentence"].strip(), span)))
    return easy


def decontextualised(steps: ModelSteps, easy: Easy) -> None:
    """Let a model make each sentence stand alone; the entity must survive."""
    slots = [{**shown(a), "sentence": c.sentence, "entity": c.answer} for a, c in easy.kept]
    replies = steps.asked("decontextualise", [{k: v for k, v in given.items() if k != "day"} for given in slots])
    outcomes: list[Candidate | str] = []
    for (_, candidate), reply in zip(easy.kept, replies, strict=True):
        try:
            sentence = str(as_object(reply, sentence=str)["sentence"]).strip()
            outcomes.append(rewritten(candidate, sentence) or LOST_ALONE)
        except Unreadable as error:
            outcomes.append(unreadable("decontextualise", error))
    easy.sift(outcomes)


def translated_back(steps: ModelSteps, translators: tuple[ChatModel, ChatModel] | None, easy: Easy) -> None:
    """Translate each sentence into German and back; the entity must survive. `translators` get the bare sentence."""
    texts = [candidate.sentence for _, candidate in easy.kept]
    for number, language in enumerate(("German", "English")):
        if translators is None:
            texts = steps.asked("translate", [{"language": language, "sentence": text} for text in texts])
        else:
            bare = [ChatRequest((Message("user", text),), seed=steps.seed, prompt=f"bare {language}") for text in texts]
            texts = [replies.texts[0] for replies in steps.asker.ask_all(translators[number], bare)]
    easy.sift([rewritten(c, text.strip()) or LOST_BACK for (_, c), text in zip(easy.kept, texts, strict=True)])


def rewritten(candidate: Candidate, sentence: str) -> Candidate | None:
    """Return the candidate with another sentence and its cloze; None if the sentence has not the answer."""
    found = whole_words(candidate.answer).search(sentence)
    if found is None:
        return None
    cloze = sentence[: found.start()] + MASK + sentence[found.end() :]
    question = by_rule.question_of(cloze, candidate.label)
    return replace(candidate, sentence=sentence, cloze=cloze, question=question)


Annotation = tuple[str, str]
"""A question and an answer."""


def annotated_by_rules(easy: Easy, tagger: Tagger, least: float) -> None:
    """Let two rules answer each cloze from its article, and keep it if they agree with the masked name."""
    firsts: list[Annotation | str] = []
    seconds: list[Annotation | str] = []
    for article, candidate in easy.kept:
        firsts.append((candidate.question, candidate.answer))
        others = [text for text, _ in by_rule.tagged_sentences(article.text, tagger) if text != candidate.sentence]
        found = stated(candidate, [OldPassage(text, article.id, article.day) for text in others], tagger, least)
        seconds.append((candidate.question, found[0].answer if found else candidate.answer))
    easy.sift(_agreed([candidate for _, candidate in easy.kept], firsts, seconds))


def annotated_by_models(first: ModelSteps, second: ModelSteps, easy: Easy) -> None:
    """Let two models, or one with two seeds, write a question and an answer for each cloze."""
    slots = [{"article": shown(article)["article"], "cloze": candidate.cloze} for article, candidate in easy.kept]
    both = [[_annotation(reply) for reply in steps.asked("annotate", slots)] for steps in (first, second)]
    easy.sift(_agreed([candidate for _, candidate in easy.kept], *both))


def usable(easy: Easy) -> None:
    """Leave out probes that cannot be asked, and probes that came before."""
    easy.sift([by_rule.unusable(candidate) or candidate for _, candidate in easy.kept])
    seen: set[str] = set()
    outcomes: list[Candidate | str] = []
    for _, candidate in easy.kept:
        outcomes.append(by_rule.TWICE if candidate.cloze in seen else candidate)
        seen.add(candidate.cloze)
    easy.sift(outcomes)


def _annotation(reply: str) -> Annotation | str:
    try:
        value: Mapping[str, str] = as_object(reply, question=str, answer=str)
    except Unreadable as error:
        return unreadable("annotate", error)
    return value["question"].strip(), value["answer"].strip()


def _agreed(
    candidates: Sequence[Candidate], firsts: Sequence[Annotation | str], seconds: Sequence[Annotation | str]
) -> list[Candidate | str]:
    """Return each candidate with the question of the first annotator, or why it is left out."""
    outcomes: list[Candidate | str] = []
    for candidate, first, second in zip(candidates, firsts, seconds, strict=True):
        if isinstance(first, str) or isinstance(second, str):
            outcomes.append(first if isinstance(first, str) else str(second))
        elif agreement(first[1], (second[1],)) != "same":
            outcomes.append(DISAGREE)
        elif agreement(first[1], (candidate.answer,)) != "same":
            outcomes.append(NOT_GOLD)
        else:
            outcomes.append(replace(candidate, question=first[0] if first[0].endswith("?") else candidate.question))
    return outcomes


def _unknown(candidate: Candidate, old: OldCorpusIndex) -> list[str]:
    names = [*by_rule.subjects(candidate.cloze), candidate.answer]
    return [name for name in names if not all(old.has_word(word) for word in by_rule.words_of(name))]


def _unknown_in(answer: str, old: OldCorpusIndex) -> int:
    return sum(not old.has_word(word) for word in by_rule.words_of(answer))
