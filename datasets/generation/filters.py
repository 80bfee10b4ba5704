"""The way from passages to questions: write, compare by rules, let judges decide, and count what a step leaves out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from pydantic import Field

from ticlm.core.accounting import Step
from ticlm.core.examples import Example
from ticlm.core.fingerprint import hash64
from ticlm.datasets.generation import answers, difficulty
from ticlm.datasets.generation.calls import PromptCalls
from ticlm.datasets.generation.difficulty import ArticleNames, DifficultyRanges
from ticlm.datasets.generation.judging import KEEPS, JudgeVotes, Verdict, judged
from ticlm.datasets.generation.passages import ArticlePassage, Draft, QuestionKind, TaggedText
from ticlm.datasets.generation.prompts import one_line
from ticlm.datasets.generation.rules import SAME
from ticlm.datasets.generation.writing import Months, QuestionWriter
from ticlm.datasets.llm.chat import ChatModel
from ticlm.datasets.text.overlap import has_answer, overlap
from ticlm.datasets.text.taggers import Tagged
from ticlm.datasets.wiki.revised import KNOWN

BATCH = 256
"""Most passages that go through the steps at once."""
FEWEST = 16
"""Passages that go through the steps at once when few questions are missing."""
NO_ENTITY, SENTINEL = "a passage without an entity", "a passage that spells a sentinel"
TOO_LONG = "a passage that is too long"
ONE_SIDED = "a revised passage without the one that it replaced"
ENOUGH, CROWDED = "beyond the number of questions", "beyond the questions of one article"
NOT_LISTED = "an answer that is no entity of its passage"
IN_QUESTION = "an answer that stands in the question"
GIVEN_AWAY = "a question most of whose words stand in its passage"
EQUIVALENT = "answers that mean the same, says the judge"
UNSUPPORTED = "an answer that its passage does not support, says the judge"
TIE, UNREADABLE = "no decision of the judges", "no reply of the judges that can be read"
TWICE = "the same question twice"
STEPS = ("passages", "questions", "answers", "equivalent", "supported", "chosen")
"""The steps in their order, as they are counted."""


class QuestionFilters(DifficultyRanges):
    """Which passages and questions are left out by rules, beyond those without entities and without a change."""

    answer_in_question: Literal["keep", "drop"] = "keep"
    """What happens to a question with one of its answers in it; a question that is kept says so in
    `about["answer-in"]`."""
    longest: int | None = Field(4000, gt=0)
    """Most characters of a passage; longer ones are left out. The paper's model reads 4,096 tokens: an instruction, two
    passages and their entities. Null leaves out none."""
    max_overlap: float | None = Field(None, ge=0, le=1)
    """Largest share of a question's words that may stand in its passage, to leave out easy ones; by default any.
    `overlap` is the same with a lower end, but leaves out questions without content words too."""


@dataclass
class Account:
    """What each step read and left out."""

    read: Counter[str] = field(default_factory=Counter)
    dropped: dict[str, Counter[str]] = field(default_factory=lambda: {name: Counter[str]() for name in STEPS})

    def drop(self, step: str, reason: str, count: int = 1) -> None:
        """Count what a step leaves out."""
        if count:
            self.dropped[step][reason] += count

    def steps(self, subset: str) -> list[Step]:
        """Return the counts of the steps that read something, named after the subset."""
        return [
            Step(name=f"{subset}: {name}", read=self.read[name], dropped=dict(sorted(self.dropped[name].items())))
            for name in STEPS
            if self.read[name]
        ]


@dataclass(frozen=True)
class Judges:
    """The models that judge, what asks them, and how their votes decide."""

    calls: PromptCalls
    chats: tuple[ChatModel, ...]
    votes: JudgeVotes

    def ask(self, name: str, slots: Sequence[Mapping[str, str]]) -> list[Verdict]:
        """Return the verdicts on a prompt for each set of slots."""
        return judged(self.calls, self.chats, self.votes, name, slots)


@dataclass(frozen=True)
class QuestionMaker:
    """Takes passages in the order of a hash through all steps, until there are enough questions.

    The questions are the same whatever the number of passages at once. Without `judges` nobody judges.
    """

    tag: Callable[[Sequence[str]], Sequence[Tagged]]
    writer: QuestionWriter
    judges: Judges | None
    filters: QuestionFilters
    per_article: int
    seed: int
    names: ArticleNames
    """How many articles have a name, up to the month of the questions."""

    def place(self, row: Example) -> int:
        """Return the place of a passage in the order in which passages are taken."""
        return hash64(f"{self.seed}\0{row.id}")

    def made(
        self, kind: QuestionKind, rows: Sequence[Example], months: Months, count: int | None
    ) -> tuple[list[Draft], Account]:
        """Return up to `count` questions about the passages in `rows`, all if it is None, and what was left out."""
        account, kept, full = Account(), dict[str, Draft](), Counter[str]()
        order = sorted(rows, key=lambda row: (self.place(row), row.id))
        account.read["passages"] = len(order)
        at = 0
        while at < len(order):
            missing = None if count is None else count - len(kept)
            if missing is not None and missing <= 0:
                account.drop("passages", ENOUGH, len(order) - at)
                break
            size = BATCH if missing is None else min(BATCH, max(FEWEST, 2 * missing))
            batch = [row for row in order[at : at + size] if full[row.about["article"]] < self.per_article]
            account.drop("passages", CROWDED, len(order[at : at + size]) - len(batch))
            at += size
            drafts = self._usable(self._written(kind, self._passages(kind, batch, account), months, account), account)
            if self.judges is not None:
                drafts = self._supported(self._distinct(drafts, self.judges, account), self.judges, account)
            account.read["chosen"] += len(drafts)
            for draft in drafts:
                if reason := self._beyond(draft, kept, full, count):
                    account.drop("chosen", reason)
                else:
                    kept[draft.question] = draft
                    full[draft.passage.article] += 1
        return list(kept.values()), account

    def _beyond(self, draft: Draft, kept: Mapping[str, Draft], full: Counter[str], count: int | None) -> str:
        """Return why a question is one too many; empty if it is not."""
        if count is not None and len(kept) >= count:
            return ENOUGH
        if draft.question in kept:
            return TWICE
        return CROWDED if full[draft.passage.article] >= self.per_article else ""

    def _passages(self, kind: QuestionKind, rows: Sequence[Example], account: Account) -> list[ArticlePassage]:
        """Return the rows as passages with their entities, without those that no question can be made from."""
        usable = []
        for row in rows:
            spelled = (row.text, row.about.get("title", ""), row.about.get("old", ""))
            if any("<extra_id_" in text for text in spelled):
                account.drop("passages", SENTINEL)
            elif self.filters.longest is not None and max(map(len, spelled)) > self.filters.longest:
                account.drop("passages", TOO_LONG)
            elif kind == "edited" and not row.about.get("old"):
                account.drop("passages", ONE_SIDED)
            else:
                usable.append(row)
        revised = kind == "edited"
        texts = tuple(text for row in usable for text in ((row.about["old"], row.text) if revised else (row.text,)))
        tagged = iter([TaggedText(text, tuple(spans)) for text, spans in self.tag(texts)])
        found = []
        for row in usable:
            old = next(tagged) if revised else None
            known = frozenset(row.about.get(KNOWN, "").split())
            passage = ArticlePassage(row.id, row.about["title"], row.about["article"], next(tagged), old, known)
            if all(version.spans for version in passage.versions):
                found.append(passage)
            else:
                account.drop("passages", NO_ENTITY)
        return found

    def _written(
        self, kind: QuestionKind, passages: Sequence[ArticlePassage], months: Months, account: Account
    ) -> list[Draft]:
        found = []
        for outcome in (one for several in self.writer.write(kind, passages, months) for one in several):
            account.read["questions"] += 1
            if isinstance(outcome, str):
                account.drop("questions", outcome)
            else:
                found.append(outcome)
        return found

    def _usable(self, drafts: Sequence[Draft], account: Account) -> list[Draft]:
        """Return the questions whose answers are different entities, in the words of their passages, and that are as
        difficult as they should be."""
        found = []
        account.read["answers"] += len(drafts)
        for draft in drafts:
            outcome = compared(draft, self.filters)
            if not isinstance(outcome, str):
                given = (outcome.question, outcome.answers[-1], outcome.passage)
                outcome = replace(outcome, measures=difficulty.of_question(*given, self.names))
                outcome = self.filters.beyond(outcome.measures) or outcome
            if isinstance(outcome, str):
                account.drop("answers", outcome)
            else:
                found.append(outcome)
        return found

    def _distinct(self, drafts: Sequence[Draft], judges: Judges, account: Account) -> list[Draft]:
        """Return the questions whose two answers, by the judges, do not mean the same, and those with one answer."""
        pairs = [draft for draft in drafts if len(draft.answers) == 2]
        account.read["equivalent"] += len(pairs)
        slots = [dict(zip(("first", "second"), draft.answers, strict=True)) for draft in pairs]
        lost = _lost(judges.ask("equivalent", slots), KEEPS["equivalent"], EQUIVALENT) if pairs else []
        return _left(drafts, pairs, lost, "equivalent", account)

    def _supported(self, drafts: Sequence[Draft], judges: Judges, account: Account) -> list[Draft]:
        """Return the questions each of whose answers is, by the judges, supported by its passage."""
        account.read["supported"] += len(drafts)
        left = list(drafts)
        for number in range(max((len(draft.answers) for draft in drafts), default=0)):
            slots = [
                {
                    "title": one_line(draft.passage.title),
                    "passage": one_line(draft.passage.versions[number].text),
                    "question": draft.question,
                    "answer": draft.answers[number],
                }
                for draft in left
            ]
            lost = _lost(judges.ask("supported", slots), KEEPS["supported"], UNSUPPORTED) if left else []
            left = _left(left, left, lost, "supported", account)
        return left


def count_kept(statistics: dict[str, dict[str, int]], name: str, drafts: Sequence[Draft]) -> None:
    """Add to the statistics of a month what is known of the questions of a subset."""
    types = Counter((draft.types[-1] if draft.types else "") or "unknown" for draft in drafts)
    statistics[f"answer types of {name}"] = dict(sorted(types.items()))
    statistics.setdefault("answers in their question", {})[name] = sum(draft.in_question for draft in drafts)
    for measure, counts in difficulty.distribution([draft.measures for draft in drafts]).items():
        statistics[f"{measure.replace('_', ' ')} of {name}"] = counts


def compared(draft: Draft, filters: QuestionFilters) -> Draft | str:
    """Return a question with its answers in the words of their passages and with their types, or why it is left out."""
    passage = draft.passage
    spans = [
        answers.span_of(answer, version.text, version.spans)
        for answer, version in zip(draft.answers, passage.versions, strict=True)
    ]
    known = [span for span in spans if span is not None]
    if len(known) < len(spans):
        return NOT_LISTED
    written = tuple(one_line(v.text[span.begin : span.end]) for v, span in zip(passage.versions, known, strict=True))
    if len(written) == 2 and answers.same(*written):
        return SAME
    within = has_answer(draft.question, written)
    if within and filters.answer_in_question == "drop":
        return IN_QUESTION
    given = overlap(draft.question, passage.now.text)
    if filters.max_overlap is not None and given is not None and given > filters.max_overlap:
        return GIVEN_AWAY
    return replace(draft, answers=written, types=tuple(span.label for span in known), in_question=within)


def _lost(verdicts: Sequence[Verdict], wanted: Verdict, reason: str) -> list[str]:
    """Return why each question is left out, by its verdict; empty if it stays."""
    reasons = {wanted: "", "tie": TIE, "unreadable": UNREADABLE}
    return [reasons.get(verdict, reason) for verdict in verdicts]


def _left(
    drafts: Sequence[Draft], asked: Sequence[Draft], lost: Sequence[str], step: str, account: Account
) -> list[Draft]:
    """Return the drafts without those `asked` of judges that are lost for a reason, which is counted."""
    gone = set()
    for draft, reason in zip(asked, lost, strict=True):
        if reason:
            account.drop(step, reason)
            gone.add(id(draft))
    return [draft for draft in drafts if id(draft) not in gone]
