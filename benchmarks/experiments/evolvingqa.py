"""Table 3 of EvolvingQA with the errors that its numbers of questions imply, and where the printed numbers disagree.

python -m benchmarks.experiments.evolvingqa
"""

from __future__ import annotations

import math

from ticlm.platform.papers.evolvingqa.printed import QuestionSet, evolving_qa, may_be_of

SETS: tuple[QuestionSet, ...] = ("UNCHANGED", "NEW", "OUTDATED", "UPDATED")


def main() -> None:
    """Print the exact match of each method, set and month with its standard error, and OUTDATED − UPDATED in standard
    errors, as if the two were independent. A star marks a number that is no share of that many questions."""
    paper = evolving_qa()
    print(f"{'':22}" + "".join(f"{month:>16}" for month in paper.months))
    for method in paper.scores:
        for name in SETS:
            row = ""
            for month in paper.months:
                exact, error = paper.exact(method, name, month), paper.stderr(method, name, month)
                mark = " " if may_be_of(exact, paper.asked(name, month)) else "*"
                row += f"{f'{exact:.2f} ± {error:.2f}{mark}':>16}"
            print(f"{method:10}{name:12}{row}")
        apart = ""
        for month in paper.months:
            difference = paper.exact(method, "OUTDATED", month) - paper.exact(method, "UPDATED", month)
            error = math.hypot(paper.stderr(method, "OUTDATED", month), paper.stderr(method, "UPDATED", month))
            apart += f"{f'{difference / error:+.1f} errors ':>16}"
        print(f"{method:10}{'difference':12}{apart}")
    for note in paper.notes:
        print(f"- {note}")


if __name__ == "__main__":
    main()
