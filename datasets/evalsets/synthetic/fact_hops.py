"""Questions over two facts of the fact wiki, month by month: which of the two changed, and what was right before."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal

from pydantic import model_validator

from ticlm.core.accounting import Step
from ticlm.core.examples import Example
from ticlm.core.settings import Settings
from ticlm.datasets.examples.context import BuildContext, PeriodDraft
from ticlm.datasets.examples.hops import BRIDGE, Changed, Hops
from ticlm.datasets.examples.placing import UnusableExample, period_of
from ticlm.datasets.io.documents import Input
from ticlm.datasets.synthetic.fact_wiki.linked import FactChain
from ticlm.datasets.synthetic.fact_wiki.wiki import FactWiki

TOLD = "its article states the answer over both"
SAME = "the answer is one that was right before, though a hop changed"
UNKNOWN = "no article states it yet"
NO_TEXTS: Mapping[str, str] = MappingProxyType({})


class FactHops(Settings):
    """Questions over two facts in a row of a fact wiki with linked articles, such as who runs the firm that somebody
    works for. Each month from the first snapshot on asks all chains that no article states as a whole.

    Each example has the questions of both single hops, which hops changed since the first snapshot, and when. Outdated
    are all answers over both that were right in an earlier month. A chain whose answer stayed, or came back, though a
    hop changed is left out of the month and counted: no answer would tell what a model learned.
    """

    kind: Literal["fact-hops"] = "fact-hops"
    world: FactWiki
    """The wiki; the settings must be those of the sets and corpora that are trained on (their `wiki.world`)."""
    titled: bool = False
    """Whether the title of the article about a question's subject stands before it ("Ann Ash. Ann Ash works for which
    organisation?"), as before all text of rows with `title: true`."""

    @model_validator(mode="after")
    def _has_chains(self) -> FactHops:
        if not self.world.linked.chains:
            raise ValueError("world.linked: there is no chain to ask about; give neither, first, second, both or apart")
        return self

    @property
    def identity(self) -> Settings:
        return self

    def inputs(self) -> list[Input]:
        return [Input(path="fact-wiki", size=0, stamp="")]

    def drafts(self, context: BuildContext) -> Iterator[PeriodDraft]:
        labels = tuple(map(self.label, range(self.world.months + 1)))
        for month, label in enumerate(labels):
            if label in context.built:
                continue
            asking = _Asking(self.world.chains, month, labels, "{s}. " if self.titled else "")
            examples = list(asking.examples())
            counts = {"chains by hops that changed": dict(sorted(asking.changed.items()))}
            yield PeriodDraft(period_of(label), {"all": examples}, (asking.step,), counts, ("fact-wiki",))

    def label(self, month: int) -> str:
        """Return the period of a month, counted from the first snapshot."""
        epoch = self.world.epoch
        later = epoch.month - 1 + month
        return f"{epoch.year + later // 12}{later % 12 + 1:02d}"


class _Asking:
    """Makes the examples of one month, and counts what is left out."""

    def __init__(self, chains: list[FactChain], month: int, labels: tuple[str, ...], before: str) -> None:
        self.chains, self.month, self.labels, self.before = chains, month, labels, before
        self.changed, self._dropped = Counter[str](), Counter[str]()
        self.frequent = _most_frequent(chains, month)

    @property
    def step(self) -> Step:
        return Step(name="chains", read=len(self.chains), dropped=dict(sorted(self._dropped.items())))

    def examples(self) -> Iterator[Example]:
        for chain in self.chains:
            try:
                example, hops = asked(chain, self.month, self.labels, self.frequent, self.before)
            except UnusableExample as why:
                self._dropped[str(why)] += 1
                continue
            self.changed["both, at once" if hops.at_once else hops.changed] += 1
            yield example


def asked(
    chain: FactChain, month: int, labels: tuple[str, ...], frequent: Mapping[str, str] = NO_TEXTS, before: str = ""
) -> tuple[Example, Hops]:
    """Return the example about a chain in a month, and what it keeps of the two hops; `labels` are the periods of the
    months, `frequent` has the most frequent answer by second relation, and `before` stands before each question.

    Raises UnusableExample, whose message is the reason to count.
    """
    if chain.subject.tells:
        raise UnusableExample(TOLD)
    bridge, answer = chain.bridge(month), chain.second(month)
    if bridge is None or answer is None:
        raise UnusableExample(UNKNOWN)
    states = [(chain.bridge(at), chain.second(at)) for at in range(month)]
    outdated = dict.fromkeys(old for where, old in states if old is not None and (where, old) != (bridge, answer))
    if answer in outdated:
        raise UnusableExample(SAME)
    subject, since = chain.subject.title, _last_changes(chain, month)
    kinds: dict[tuple[bool, bool], Changed] = {(False, False): "neither", (True, False): "first"}
    kinds |= {(False, True): "second", (True, True): "both"}
    first, second = chain.words.relations
    half = chain.second(month, since.second - 1) if since.first and since.second else None
    hops = Hops(
        first=f"{before}{first.question}".format(s=subject),
        first_answer=bridge,
        second=f"{before}{second.question}".format(s=BRIDGE),
        second_answer=answer,
        changed=kinds[bool(since.first), bool(since.second)],
        first_since=labels[since.first] if since.first else "",
        second_since=labels[since.second] if since.second else "",
        half=half if half and half not in (*outdated, answer) else "",
        frequent=frequent.get(chain.words.second, ""),
    )
    example = Example(
        id=f"{chain.subject.number}/{chain.words.name}",
        text=f"{before}{chain.words.asked}".format(s=subject),
        question=f"{before}{chain.words.question}".format(s=subject),
        answer=answer,
        source=chain.words.name,
        outdated=tuple(outdated),
        about={"subject": subject} | hops.about(),
    )
    return example, hops


@dataclass(frozen=True, slots=True)
class _LastChanges:
    """The months in which the two hops of a chain last changed; 0 is never."""

    first: int
    second: int


def _last_changes(chain: FactChain, month: int) -> _LastChanges:
    """Return when the hops that hold in a month changed: of the second one, that of the bridge of this month."""
    _, fact = chain.seconds[chain.bridge(month) or ""]
    first = [since for since, _ in chain.first.objects[1:] if since <= month]
    second = [since for since, _ in fact.objects[1:] if since <= month]
    return _LastChanges(max(first, default=0), max(second, default=0))


def _most_frequent(chains: list[FactChain], month: int) -> dict[str, str]:
    """Return the most frequent object of each second relation in a month, each article counted once; of several, the
    first in order of letters."""
    stated = {(one.words.second, title): fact.at(month) for one in chains for title, (_, fact) in one.seconds.items()}
    counted: dict[str, Counter[str]] = {}
    for (relation, _), object in stated.items():
        if object is not None:
            counted.setdefault(relation, Counter())[object] += 1
    return {relation: min(found, key=lambda one: (-found[one], one)) for relation, found in counted.items()}
