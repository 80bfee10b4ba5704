"""Steps that chat models take: questions and clozes, right and wrong predictions, and answers in the old corpus."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache

from ticlm.core.examples import MASK
from ticlm.datasets.llm.asking import Asker
from ticlm.datasets.llm.chat import ChatModel, ChatRequest
from ticlm.datasets.llm.prompts import Prompt, Unreadable, as_object, read
from ticlm.datasets.probes.candidates import Candidate, DatedArticle, Drawn
from ticlm.datasets.probes.matching import Stated
from ticlm.datasets.probes.old_corpus import OldPassage
from ticlm.datasets.text.matching import contains
from ticlm.datasets.text.taggers import Tagger

NAMES = ("questions", "cloze", "supported", "alternative", "select", "decontextualise", "translate", "annotate")
"""The prompts that the steps need."""
ARTICLE_CHARS = 8000
"""Characters of an article that a model is shown."""
ABSENT = "an answer that its article does not have"
BAD_CLOZE = "a cloze without one mask, or with its answer"


@dataclass(frozen=True)
class ModelSteps:
    """A chat model, what asks it, and its prompts."""

    asker: Asker
    chat: ChatModel
    prompts: Mapping[str, Prompt]
    seed: int = 0
    temperature: float = 0.0

    def asked(self, name: str, slots: Sequence[Mapping[str, str]], chat: ChatModel | None = None) -> list[str]:
        """Return the reply to a prompt for each set of slots."""
        requests: list[ChatRequest] = [
            self.prompts[name].request(name, self.temperature, self.seed, **given) for given in slots
        ]
        return [replies.texts[0] for replies in self.asker.ask_all(chat or self.chat, requests)]

    def candidates(self, articles: Sequence[DatedArticle], count: int, tagger: Tagger) -> list[Drawn]:
        """Return up to `count` candidates of each article: questions first, then a cloze for each."""
        replies = self.asked("questions", [{**shown(article), "count": str(count)} for article in articles])
        drawn, wanted = [Drawn() for _ in articles], list[tuple[int, str, str]]()
        for number, (article, reply) in enumerate(zip(articles, replies, strict=True)):
            for pair in _pairs(reply, drawn[number])[:count]:
                if contains(article.text, pair[1]):
                    wanted.append((number, *pair))
                else:
                    _lose(drawn[number], ABSENT)
        replies = self.asked("cloze", [{"question": question, "answer": answer} for _, question, answer in wanted])
        for (number, question, answer), reply in zip(wanted, replies, strict=True):
            article, sink = articles[number], drawn[number]
            try:
                cloze = str(as_object(reply, cloze=str)["cloze"]).strip()
            except Unreadable as error:
                _lose(sink, unreadable("cloze", error))
                continue
            if cloze.count(MASK) != 1 or contains(cloze, answer):
                _lose(sink, BAD_CLOZE)
                continue
            sentence = cloze.replace(MASK, answer)
            label = label_of(article.text, answer, tagger)
            sink.take(Candidate(cloze, question, answer, label, sentence, article.id, article.day))
        return drawn

    def supported(self, items: Sequence[tuple[Candidate, str, Sequence[OldPassage]]]) -> list[Stated | str | None]:
        """Return for each prediction the passage that supports it, None if none does, or why the reply is unusable."""
        slots = [
            {"question": candidate.question, "prediction": prediction, "passages": numbered(passages)}
            for candidate, prediction, passages in items
        ]
        found: list[Stated | str | None] = []
        for (_, prediction, passages), reply in zip(items, self.asked("supported", slots), strict=True):
            try:
                value = as_object(reply, supported=bool, passage=int)
                found.append(_evidence(prediction, value["passage"], passages) if value["supported"] else None)
            except Unreadable as error:
                found.append(unreadable("supported", error))
        return found

    def alternatives(self, items: Sequence[tuple[Candidate, Sequence[OldPassage]]]) -> list[Stated | str | None]:
        """Return for each question an answer of the old corpus, None if it has none, or why the reply is unusable."""
        slots = [{"question": candidate.question, "passages": numbered(passages)} for candidate, passages in items]
        found: list[Stated | str | None] = []
        for (_, passages), reply in zip(items, self.asked("alternative", slots), strict=True):
            try:
                value = as_object(reply, answer=str, passage=int)
                answer = str(value["answer"]).strip()
                evidence = _evidence(answer, value["passage"], passages) if answer else None
                if evidence is not None and not contains(evidence.sentence, answer):
                    raise Unreadable("the passage does not have the answer")
                found.append(evidence)
            except Unreadable as error:
                found.append(unreadable("alternative", error))
        return found


def shown(article: DatedArticle) -> dict[str, str]:
    """Return the slots of an article."""
    return {"article": article.text[:ARTICLE_CHARS], "day": article.day}


def numbered(passages: Iterable[OldPassage]) -> str:
    """Return passages with their numbers from 1, and their days."""
    return (
        "\n".join(f"[{n}] ({passage.day}) {' '.join(passage.text.split())}" for n, passage in enumerate(passages, 1))
        or "(none)"
    )


def label_of(text: str, answer: str, tagger: Tagger) -> str:
    """Return the kind of an answer where a text first has it; empty if the tagger does not find it."""
    for sentence, spans in tagger.tagged([line for line in text.splitlines() if answer in line]):
        for span in spans:
            if sentence[span.begin : span.end] == answer:
                return span.label
    return ""


def unreadable(name: str, error: Unreadable) -> str:
    """Return the reason under which an unusable reply is counted."""
    return f"a reply to {name} that is {error}" if str(error).startswith("not ") else f"a reply to {name} with {error}"


@cache
def read_prompts(path: str) -> tuple[Mapping[str, Prompt], str]:
    """Return the prompts in a YAML file, by default the packaged ones, and a hash of the file.

    Raises InputError if the file cannot be read, or lacks one of NAMES.
    """
    return read(path, "datasets/probes/prompts.yaml", NAMES)


def _pairs(reply: str, sink: Drawn) -> list[tuple[str, str]]:
    """Return the questions and answers of a reply; count what is none."""
    try:
        given = as_object(reply, questions=list)["questions"]
    except Unreadable as error:
        _lose(sink, unreadable("questions", error))
        return []
    found = []
    for item in given:
        question, answer = (item.get("question"), item.get("answer")) if isinstance(item, dict) else (None, None)
        if isinstance(question, str) and isinstance(answer, str) and question.strip().endswith("?") and answer.strip():
            found.append((question.strip(), answer.strip()))
        else:
            _lose(sink, "a question without a question mark or an answer")
    return found


def _lose(sink: Drawn, reason: str) -> None:
    sink.read += 1
    sink.dropped[reason] += 1


def _evidence(answer: str, number: int, passages: Sequence[OldPassage]) -> Stated:
    if not 1 <= number <= len(passages):
        raise Unreadable(f"passage {number}, which there is not")
    passage = passages[number - 1]
    return Stated(answer, passage.text, passage.document, passage.day, 1.0)
