"""Questions of EvolvingQA for readers to judge, and the precision that follows.

    python -m benchmarks.judged draw SET... --each 100 --articles odd --out questions.jsonl [--older SET=FOLDER]
    python -m benchmarks.judged show questions.jsonl --order 1          # in another order for each reader
    python -m benchmarks.judged record questions.jsonl failures.txt --out reader1.jsonl
    python -m benchmarks.judged table questions.jsonl reader1.jsonl reader2.jsonl

SET is the folder of a set of the kind evolving-questions. `--without` leaves out the articles of earlier samples, so
that rules are not judged by what mended them. `--older` names folders of WikiExtractor's lines by day, for what the
article of a new fact said before. Each line of failures.txt has the number of a question and the letters of the points
of the rubric that it fails: g(rammatical), a(nswerable), r(ight), n(ews); the others pass.
"""

from __future__ import annotations

import argparse
import random
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from benchmarks.judged import sample, table, verdicts
from benchmarks.judged.sample import JudgedQuestion


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    steps = parser.add_subparsers(dest="step", required=True)
    draw = steps.add_parser("draw")
    draw.add_argument("sets", nargs="+")
    draw.add_argument("--each", type=int, default=100, help="questions of each kind")
    draw.add_argument("--articles", choices=("odd", "even", "all"), default="all")
    draw.add_argument("--older", action="append", default=[], metavar="SET=FOLDER")
    draw.add_argument("--without", nargs="*", type=Path, default=[], help="leave out the articles of these samples")
    draw.add_argument("--seed", type=int, default=0)
    draw.add_argument("--out", type=Path, required=True)
    show = steps.add_parser("show")
    show.add_argument("questions", type=Path)
    show.add_argument("--order", type=int, default=0)
    record = steps.add_parser("record")
    record.add_argument("questions", type=Path)
    record.add_argument("failures", type=Path)
    record.add_argument("--out", type=Path, required=True)
    printed = steps.add_parser("table")
    printed.add_argument("questions", type=Path)
    printed.add_argument("readers", nargs="+", type=Path)
    given = parser.parse_args(arguments)
    if given.step == "draw":
        older = {name: Path(folder) for name, _, folder in (one.partition("=") for one in given.older)}
        seen = {one.article for path in given.without for one in sample.read(path)}
        rows = list(sample.drawn(sample.opened(given.sets), given.each, given.articles, given.seed, older, seen))
        sample.write(iter(rows), given.out)
        print(f"{given.out}: {dict(Counter(one.kind for one in rows))}")
    elif given.step == "show":
        _show(sample.read(given.questions), given.order)
    elif given.step == "record":
        numbers = [one.n for one in sample.read(given.questions)]
        print(f"{verdicts.record(given.failures, numbers, given.out)} of {len(numbers)} fail")
    else:
        for line in table.lines(sample.read(given.questions), [verdicts.read(path) for path in given.readers]):
            print(line)


def _show(questions: list[JudgedQuestion], order: int) -> None:
    random.Random(order).shuffle(questions)
    for one in questions:
        outdated = f" (before: {'; '.join(one.outdated)})" if one.outdated else ""
        print(f"{one.n} {one.kind.upper()} [{one.title}] {one.question} = {one.answer}{outdated}")
        print(f"    text: {one.context}")
        for older in (one.old, *one.before):
            if older:
                print(f"    before: {older}")


if __name__ == "__main__":
    main()
