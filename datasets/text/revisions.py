"""Revisions of a text: passages that were added, pairs of an older and a newer passage, and where each stands.

Paragraphs are aligned first, then the sentences of the paragraphs between two that both versions share, so edits before
the first and after the last shared paragraph count too. `diffs` says which passages changed; this module also says
what each one replaced. All offsets count characters of the paragraphs joined by a line break.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from typing import Literal

from ticlm.datasets.text import sentences
from ticlm.datasets.text.diffs import blocks, key

SIMILAR = 0.5
"""Least similarity of a sentence and the sentence that it revises (see `similarity`)."""
MOST_COMPARED = 20_000
"""Most pairs of sentences that are compared between two shared paragraphs; beyond, only sentences at a similar place
are."""
Kind = Literal["same", "added", "revised"]


@dataclass(frozen=True, slots=True)
class Located:
    """A passage as it is written, and its characters [begin, end) in a text."""

    text: str
    begin: int
    end: int


@dataclass(frozen=True, slots=True)
class RevisedPassage:
    """A passage of the newer text and what it is. `old` is its counterpart in the older text; an added one has none.

    A passage that `moved` has its counterpart at another place of the older text. Passages that differ in case,
    punctuation and spacing alone are the same, and so is a passage without a letter or digit, which may lack an `old`.
    """

    kind: Kind
    paragraph: int
    """The number of its paragraph in the newer text, from 0."""
    new: Located
    old: Located | None = None
    moved: bool = False


@dataclass(frozen=True, slots=True)
class Revisions:
    """The newer text in parts, in its order, and the number of passages of the older text that are gone."""

    parts: tuple[RevisedPassage, ...]
    deleted: int

    def of(self, kind: Kind) -> list[RevisedPassage]:
        """Return the parts of a kind."""
        return [part for part in self.parts if part.kind == kind]

    def updated(self) -> str:
        """Return the added passages and the newer sides of the revised ones. Passages of one paragraph are joined by a
        space, and paragraphs by a line break."""
        return "\n".join(_by_paragraph(part for part in self.parts if part.kind != "same"))

    def unchanged(self) -> str:
        """Return the passages that are the same, joined likewise."""
        return "\n".join(_by_paragraph(self.of("same")))


def _by_paragraph(parts: Iterable[RevisedPassage]) -> Iterator[str]:
    paragraphs: dict[int, list[str]] = {}
    for part in parts:
        paragraphs.setdefault(part.paragraph, []).append(part.new.text)
    return (" ".join(texts) for texts in paragraphs.values())


def revisions(old: Sequence[str], new: Sequence[str], moved: Literal["changed", "unchanged"] = "changed") -> Revisions:
    """Return what became of a text between two versions, both given in paragraphs.

    Sentences between shared paragraphs are paired with the most similar ones in order (see SIMILAR); a newer sentence
    without a counterpart is added, an older one is deleted. Neighbouring added sentences of a paragraph are one
    passage. A sentence that the older text has at another place only moved: it counts as added, as in the paper's code,
    or, with `moved="unchanged"`, as the same.

    Raises TooRepetitive if both versions have too many equal lines.
    """
    before, after = _paragraphs(old), _paragraphs(new)
    hunks: list[_Hunk | RevisedPassage] = []
    for tag, i, j, k, m in blocks(old, new):
        if tag == "equal":
            hunks += [RevisedPassage("same", n, after[n], before[o]) for o, n in zip(range(i, j), range(k, m))]
        else:
            hunks += _hunks(_sentences(before, i, j), _sentences(after, k, m))
    lost = _moves([hunk for hunk in hunks if isinstance(hunk, _Hunk)], moved == "unchanged")
    parts: list[RevisedPassage] = []
    for hunk in hunks:
        if isinstance(hunk, RevisedPassage):
            parts.append(hunk)
        else:
            found, gone = hunk.parts()
            parts += found
            lost += gone
    return Revisions(tuple(_joined(parts, "\n".join(new))), _runs(lost))


def similarity(a: Counter[str], b: Counter[str]) -> float:
    """Return twice the number of words that two sentences share, divided by the number of all their words (Dice)."""
    return 2 * (a & b).total() / max(1, a.total() + b.total())


@dataclass(frozen=True, slots=True)
class _Sentence:
    paragraph: int
    at: Located

    @property
    def key(self) -> str:
        return key(self.at.text)


@dataclass(slots=True)
class _Hunk:
    """Sentences of both versions between two sentences that they share, and what is known of the newer ones so far."""

    old: list[_Sentence]
    new: list[_Sentence]
    settled: dict[int, RevisedPassage]
    """Parts that need no counterpart from this hunk, by the number of the newer sentence."""
    taken: set[int] = field(default_factory=set)
    """Numbers of the older sentences that have moved elsewhere."""

    def parts(self) -> tuple[list[RevisedPassage], list[_Sentence]]:
        """Return the parts of the newer sentences, and the older ones that are gone."""
        open_ = [n for n in range(len(self.new)) if n not in self.settled]
        left = [sentence for o, sentence in enumerate(self.old) if o not in self.taken]
        pairs = {open_[n]: o for o, n in _pairs(left, [self.new[n] for n in open_])}
        found = []
        for n, sentence in enumerate(self.new):
            if n in self.settled:
                found.append(self.settled[n])
            elif n in pairs:
                found.append(RevisedPassage("revised", sentence.paragraph, sentence.at, left[pairs[n]].at))
            else:
                found.append(RevisedPassage("added", sentence.paragraph, sentence.at))
        paired = set(pairs.values())
        return found, [sentence for o, sentence in enumerate(left) if o not in paired]


def _hunks(old: Sequence[_Sentence], new: Sequence[_Sentence]) -> Iterator[_Hunk | RevisedPassage]:
    """Yield the shared sentences of replaced paragraphs as parts, and what lies between them."""
    for tag, i, j, k, m in blocks([one.at.text for one in old], [one.at.text for one in new]):
        if tag == "equal":
            yield from (RevisedPassage("same", n.paragraph, n.at, o.at) for o, n in zip(old[i:j], new[k:m]))
        else:
            # marks alone have no key: they are no change, and pair with nothing
            empty = {n: RevisedPassage("same", one.paragraph, one.at) for n, one in enumerate(new[k:m]) if not one.key}
            yield _Hunk([one for one in old[i:j] if one.key], list(new[k:m]), empty)


def _moves(hunks: Sequence[_Hunk], same: bool) -> list[_Sentence]:
    """Settle newer sentences that the older text has at another place; each older sentence is taken once. Return the
    older sentences that are gone, because the newer ones count as added."""
    places: dict[str, deque[tuple[_Hunk, int]]] = {}
    for hunk in hunks:
        for o, sentence in enumerate(hunk.old):
            places.setdefault(sentence.key, deque()).append((hunk, o))
    lost: list[_Sentence] = []
    for hunk in hunks:
        for n, sentence in enumerate(hunk.new):
            if n not in hunk.settled and (found := places.get(sentence.key)):
                home, o = found.popleft()
                home.taken.add(o)
                older = home.old[o]
                kind: Kind = "same" if same else "added"
                hunk.settled[n] = RevisedPassage(
                    kind, sentence.paragraph, sentence.at, older.at if same else None, moved=True
                )
                lost += [] if same else [older]
    return lost


def _pairs(old: Sequence[_Sentence], new: Sequence[_Sentence]) -> Iterator[tuple[int, int]]:
    """Yield the pairs of an older and a newer sentence, in order in both, with the largest sum of similarities."""
    chunks = -(-len(old) * len(new) // MOST_COMPARED)
    a, b = ([Counter(one.key.split()) for one in several] for several in (old, new))
    for chunk in range(chunks):
        i, j = (len(a) * part // chunks for part in (chunk, chunk + 1))
        k, m = (len(b) * part // chunks for part in (chunk, chunk + 1))
        yield from ((o + i, n + k) for o, n in _aligned(a[i:j], b[k:m]))


def _aligned(a: Sequence[Counter[str]], b: Sequence[Counter[str]]) -> list[tuple[int, int]]:
    """Return the best pairs by dynamic programming: `best[i][k]` is the largest sum of the first i and k sentences."""
    best = [[0.0] * (len(b) + 1) for _ in range(len(a) + 1)]
    alike = [[value if (value := similarity(x, y)) >= SIMILAR else 0.0 for y in b] for x in a]
    for i, row in enumerate(alike):
        for k, value in enumerate(row):
            paired = best[i][k] + value if value else 0.0
            best[i + 1][k + 1] = max(best[i][k + 1], best[i + 1][k], paired)
    pairs, i, k = [], len(a), len(b)
    while i and k:  # equality is exact, because `max` copies an entry; of equal sums, the earliest pairs stay
        if best[i][k] == best[i - 1][k]:
            i -= 1
        elif best[i][k] == best[i][k - 1]:
            k -= 1
        else:
            i, k = i - 1, k - 1
            pairs.append((i, k))
    return pairs[::-1]


def _paragraphs(texts: Sequence[str]) -> list[Located]:
    starts = accumulate((len(text) + 1 for text in texts), initial=0)
    return [Located(text, start, start + len(text)) for text, start in zip(texts, starts)]


def _sentences(paragraphs: Sequence[Located], first: int, end: int) -> list[_Sentence]:
    return [
        _Sentence(number, Located(at.text[i:j], at.begin + i, at.begin + j))
        for number, at in zip(range(first, end), paragraphs[first:end])
        for i, j in sentences.spans(at.text)
    ]


def _joined(parts: Iterable[RevisedPassage], text: str) -> Iterator[RevisedPassage]:
    """Yield the parts, with neighbouring added ones of a paragraph as one."""
    held: RevisedPassage | None = None
    for part in parts:
        if held is not None and part.kind == held.kind == "added" and _together(part, held):
            new = Located(text[held.new.begin : part.new.end], held.new.begin, part.new.end)
            held = RevisedPassage("added", held.paragraph, new, moved=held.moved)
            continue
        if held is not None:
            yield held
        held = part
    if held is not None:
        yield held


def _together(part: RevisedPassage, before: RevisedPassage) -> bool:
    return part.paragraph == before.paragraph and part.moved == before.moved


def _runs(lost: Iterable[_Sentence]) -> int:
    """Return the number of passages that these sentences make: neighbours in a paragraph count as one."""
    ordered = sorted(lost, key=lambda one: one.at.begin)
    return sum(
        before is None or before.paragraph != one.paragraph or one.at.begin - before.at.end > 3
        for before, one in zip([None, *ordered], ordered)
    )
