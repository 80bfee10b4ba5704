"""A sample of questions to be judged: with their passages, and for NEW with what the article said before."""

from __future__ import annotations

import json
import random
from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path

from ticlm.core.examples import Example, Examples
from ticlm.datasets.probes.candidates import WH, cut
from ticlm.datasets.text.overlap import content_words, has_answer

KINDS = ("unchanged", "new", "edited")
AROUND = 150
"""Characters of the passage that are shown on each side of an answer's sentence."""


@dataclass(frozen=True)
class JudgedQuestion:
    """A question as a reader sees it. `before` are sentences of the article's older text that have the answer, of NEW
    alone, where older snapshots are given; `rule` is the form of the question and the type of its answer."""

    n: int
    set: str
    kind: str
    month: str
    title: str
    article: str
    question: str
    answer: str
    outdated: tuple[str, ...]
    context: str
    old: str
    before: tuple[str, ...]
    rule: str


def drawn(
    sets: Mapping[str, Examples],
    each: int,
    articles: str,
    seed: int,
    older: Mapping[str, Path],
    seen: Container[str] = (),
) -> Iterator[JudgedQuestion]:
    """Yield up to `each` questions of each kind of all sets together, about `odd`, `even` or `all` articles by their
    number but those in `seen`, shuffled. A question that stands in several months is drawn once."""
    chance, found = random.Random(seed), []
    for kind in KINDS:
        rows: dict[tuple[str, str], tuple[str, str, Example]] = {}
        for name, held in sets.items():
            for label, manifest in held.periods.items():
                for row in held.read(label, kind) if kind in manifest.subsets else ():
                    article = row.about["article"]
                    if article not in seen and (articles == "all" or int(article) % 2 == (articles == "odd")):
                        rows.setdefault((name, row.text), (name, label, row))
        found += [(kind, *one) for one in chance.sample(sorted(rows.values(), key=_key), min(each, len(rows)))]
    chance.shuffle(found)
    for n, (kind, name, label, row) in enumerate(found):
        older_text = _older(older[name], label).get(row.about["article"], "") if kind == "new" and name in older else ""
        yield JudgedQuestion(
            n=n,
            set=name,
            kind=kind,
            month=label,
            title=row.about["title"],
            article=row.about["article"],
            question=row.text,
            answer=str(row.answer),
            outdated=row.outdated,
            context=_around(row.about["context"], str(row.answer), row.text),
            old=row.about.get("old", ""),
            before=tuple(_nearest(row.text, str(row.answer), older_text)),
            rule=f"{form(row.text)} {row.about.get('type', 'unknown')}",
        )


def form(question: str) -> str:
    """Return where a question written by rules has its question word: `first` or `in place`."""
    words = ("what ", "which ", "whom ", "who ", *(f"{word} " for word in WH.values()))
    return "first" if question.lower().startswith(words) else "in place"


def write(rows: Iterator[JudgedQuestion], path: Path) -> int:
    """Write questions as JSON lines; return their number."""
    lines = [json.dumps(asdict(row), ensure_ascii=False) for row in rows]
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return len(lines)


def read(path: Path) -> list[JudgedQuestion]:
    """Return the questions of a file."""
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    return [
        JudgedQuestion(**row | {"outdated": tuple(row["outdated"]), "before": tuple(row["before"])}) for row in rows
    ]


def _key(one: tuple[str, str, Example]) -> tuple[str, str, str]:
    return one[0], one[1], one[2].id


def _around(text: str, answer: str, question: str) -> str:
    """Return the line of a passage that the question was made from, cut to AROUND characters around its sentence."""
    sentences = cut(text)
    asked = set(content_words(question))
    best = max(sentences, key=lambda one: (has_answer(one, [answer]), len(asked & set(content_words(one)))))
    at = text.find(best)
    return " ".join(text[max(0, at - AROUND) : at + len(best) + AROUND].split())


def _nearest(question: str, answer: str, text: str) -> list[str]:
    """Return the two sentences of a text that have the answer and share most words with the question, and the one that
    shares most without it."""
    asked = set(content_words(question))
    ranked = sorted(cut(text), key=lambda one: -len(asked & set(content_words(one))))
    return [*[one for one in ranked if has_answer(one, [answer])][:2], *ranked[:1]][:3]


@cache
def _older(folder: Path, label: str) -> dict[str, str]:
    """Return the texts of articles by id in the last snapshot before a month, from folders of WikiExtractor's lines."""
    days = [day for day in sorted(folder.iterdir()) if day.name[:6] < label]
    texts = {}
    for path in sorted(days[-1].iterdir()) if days else ():
        for row in map(json.loads, path.read_text(encoding="utf-8").splitlines()):
            texts[row["id"]] = row["text"]
    return texts


def opened(folders: Sequence[str]) -> dict[str, Examples]:
    """Return sets by the names of their folders."""
    return {Path(folder).name: Examples.open(folder) for folder in folders}
