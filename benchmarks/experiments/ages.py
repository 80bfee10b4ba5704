"""How well the age of models is estimated: every checkpoint of the studies of known age, by every score that was tried.

    python -m benchmarks.experiments.ages ROOT --choose            # on worlds of seed 0: which score is chosen
    python -m benchmarks.experiments.ages ROOT                     # on the studies themselves, seed 1: how good it is

`--choose` trains models in two worlds of another seed (about 20 minutes on two cores), prints the share of checkpoints
whose edge is within a month for each score, and which one the rule chooses. Without it, the packaged studies `ages` and
`ages-unheard` are run and reported with that score: errors, cover of the intervals, dates dealt out anew, the power by
number of facts, and how far the clock lags. docs/age.md holds what was seen.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields
from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd
from benchmarks.experiments.commands import ticlm

from ticlm.core.examples import Examples
from ticlm.platform.analysis.age.ages import answered_changes
from ticlm.platform.analysis.age.changes import Array, Changes, month_number
from ticlm.platform.analysis.age.clock import answers_of_facts, fact_clock
from ticlm.platform.analysis.age.edge import candidates, fact_edge
from ticlm.platform.analysis.age.score import CHOSEN, AgeScore, bounded, log_likelihoods
from ticlm.platform.results.dated_changes import dated_changes
from ticlm.platform.results.kept_answers import kept_predictions
from ticlm.platform.study import plan
from ticlm.platform.study import settings as studies

STUDIES = ("ages", "ages-unheard")
CUTOFFS = "[202311, 202405, 202411]"
"""Cutoffs of the Oracles that the choice is made on; the studies have others."""
INF = float("inf")
MEMORIES = ((INF,), (3.0, INF), (3.0, 10.0, INF), (10.0, INF), (1.0, 3.0, 10.0, INF))
FAME_MONTHS = (0.01, 0.03, 0.1, 0.3)
BOUNDS = (2.0, 3.0, 5.0)
Edge = Callable[[Changes], int]


@dataclass(frozen=True)
class Known:
    """A model of known age, and what it expects of the changes of its world."""

    study: str
    kind: str
    month: int
    changes: Changes


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("root", type=Path)
    parser.add_argument("--choose", action="store_true")
    parser.add_argument("--trained", action="store_true", help="the studies have run: only read them")
    arguments = parser.parse_args()
    root = arguments.root.absolute()
    found = [one for name in STUDIES for one in known(root, name, arguments.choose, arguments.trained)]
    if arguments.choose:
        choose(found)
    else:
        report(found)


def known(root: Path, name: str, is_choice: bool, is_trained: bool) -> Iterator[Known]:
    """Yield the checkpoints of a study, which is run unless it has been, by their methods."""
    end = "-choice" if is_choice else ""
    corpus, facts = f"{name}-corpus{end}", f"{name}-facts{end}"
    sets = [f"corpus={corpus}", f"evaluations.0.examples={facts}", f"name={name}{end}"] if is_choice else []
    if is_choice:
        oracle = f"{{base: oracle, continual_tokens: 8192000, cutoffs: {CUTOFFS}}}"
        cyclic = "schedule: {max_rate: 1e-2, end_rate: 1e-4, warmup_steps: 5}"
        bases = ("cyclic-cosine", "replay-half", "joint") if name == "ages" else ("replay-half",)
        own = [f"{{base: {base}, {cyclic}}}" for base in bases]
        sets.append(f"methods=[{', '.join([*own, oracle])}]")
    if not is_trained:
        seed = ["--set", "documents.seed=0"] if is_choice else []
        ticlm("data", "build", f"{name}-corpus", "--set", f"name={corpus}", *seed, root=root)
        seed = ["--set", "examples.world.seed=0"] if is_choice else []
        ticlm("data", "build", f"{name}-facts", "--set", f"name={facts}", *seed, root=root)
        ticlm("run", name, *(word for one in sets for word in ("--set", one)), root=root)
    made = plan.make(studies.load(name, sets, str(root)), str(root))
    yield from models(made, Examples.open(f"{root}/examples/{facts}@1"))


def models(made: plan.Plan, facts: Examples) -> Iterator[Known]:
    """Yield the checkpoints of a study that has run."""
    task = made.study.evaluations[0]
    asked, answers = dated_changes([(task, facts)]), kept_predictions(made)
    assert asked is not None and answers is not None
    first = made.study.methods[0].name
    for (method, _, trained), own in answers.groupby(["method", "seed", "trained"]):
        if trained == made.study.timeline.labels[0] and method != first:
            continue  # all methods start from one checkpoint
        kind = method if method in ("oracle", "joint") else "chain"
        yield Known(made.study.name, str(kind), month_number(str(trained)), answered_changes(asked, own)[1])


def choose(found: list[Known]) -> None:
    """Print how often each score is within a month, and which one is chosen: the one with the highest mean share over
    worlds and kinds of models, of equal ones that with the smallest mean error."""
    scores = [AgeScore(*values) for values in product(MEMORIES, FAME_MONTHS, BOUNDS)]
    ways: dict[str, Edge] = {f"{one}": lambda changes, one=one: likeliest(one, changes) for one in scores}  # type: ignore[misc]
    ways |= RIVALS
    rows = []
    for name, way in ways.items():
        errors: dict[str, list[int]] = {}
        for one in found:
            errors.setdefault(f"{one.study} {one.kind}", []).append(abs(way(one.changes) - one.month))
        cells = {group: float(np.mean(np.array(own) <= 1)) for group, own in errors.items()}
        rows.append(
            {
                "score": name,
                "mean": np.mean([*cells.values()]),
                "error": np.mean([np.mean(own) for own in errors.values()]),
            }
            | cells
        )
    table = pd.DataFrame(rows).sort_values(["mean", "error"], ascending=[False, True])
    print(table.head(12).to_string(index=False, float_format="%.2f"))
    print(table[table["score"].isin(RIVALS)].to_string(index=False, float_format="%.2f"))
    print(f"chosen: {table[~table['score'].isin(RIVALS)]['score'].iloc[0]}; in use: {CHOSEN}")


def likeliest(score: AgeScore, changes: Changes) -> int:
    edges = candidates(changes)
    return int(edges[log_likelihoods(score, changes, edges)[0].argmax()])


def _step(values: Callable[[Changes], Array], covers_fame: bool = False) -> Edge:
    """Return the changepoint of a value of each change, by least squares; of a lead, beside that of its fame."""

    def edge(changes: Changes) -> int:
        edges, y = candidates(changes), values(changes)
        x = np.stack([np.ones(len(y)), *([bounded(changes.lead_anywhere, 3.0)] if covers_fame else [])], 1)
        return int(edges[int(np.argmax([_gain(y, x, changes.month <= month) for month in edges]))])

    return edge


def _gain(y: Array, x: Array, step: np.ndarray[tuple[int], np.dtype[np.bool_]]) -> float:
    whole = np.column_stack([x, step])
    slope, *_ = np.linalg.lstsq(whole, y, rcond=None)
    return -float(((y - whole @ slope) ** 2).sum()) if slope[-1] > 0 else -INF


RIVALS: dict[str, Edge] = {
    "step of sign(y)": _step(lambda changes: np.sign(changes.lead)),
    "step of sign(y − z)": _step(lambda changes: np.sign(changes.lead - changes.lead_anywhere)),
    "step of y, by least squares with z": _step(lambda changes: bounded(changes.lead, 3.0), covers_fame=True),
}
"""Published and obvious ways; y is the lead behind the question, z that behind neutral words."""


def report(found: list[Known]) -> None:
    """Print, of the chosen score, what docs/age.md says of it."""
    rows = []
    for one in found:
        estimate = fact_edge(one.changes)
        assert estimate is not None
        edge, months = estimate[0], range(int(one.changes.month.min()) - 1, int(one.changes.month.max()) + 1)
        clock = fact_clock(answers_of_facts(one.changes), months)
        dealt = fact_edge(one.changes.shuffled(np.random.default_rng(one.month)))
        assert dealt is not None
        rows.append(
            {
                "study": one.study,
                "kind": one.kind,
                "error": edge.month - one.month,
                "near": abs(edge.month - one.month) <= 1,
                "near 2": abs(edge.month - one.month) <= 2,
                "covered": edge.low <= one.month <= edge.high,
                "width": edge.high - edge.low + 1,
                "known": edge.is_known,
                "dealt unknown": not dealt[0].is_known,
                "clock": clock.month - one.month,
                **{f"rival: {name}": abs(way(one.changes) - one.month) <= 1 for name, way in RIVALS.items()},
            }
        )
    frame = pd.DataFrame(rows)
    shown = frame.groupby(["study", "kind"]).mean(numeric_only=False)
    shown.insert(0, "models", frame.groupby(["study", "kind"]).size())
    print(shown.T.to_string(float_format="%.2f"))
    print("all", len(frame), frame.drop(columns=["study", "kind"]).mean().round(3).to_dict())
    known = frame[frame["known"]]
    print("of a known edge", len(known), known[["near", "near 2", "covered", "width"]].mean().round(3).to_dict())
    print("mean of the groups", round(float(shown["near"].astype(float).mean()), 2))
    print("errors", frame["error"].value_counts().sort_index().to_dict())
    for study in dict.fromkeys(one.study for one in found):
        print(study)
        power([one for one in found if one.study == study])


def power(found: list[Known], facts: tuple[int, ...] = (20, 40, 80, 160)) -> None:
    """Print, of random facts, how often the edge is known and within a month."""
    for number in facts:
        near, known = [], []
        for one in found:
            rng = np.random.default_rng(one.month)
            every = np.unique(one.changes.fact)
            if number > len(every):
                continue
            kept = np.isin(one.changes.fact, rng.choice(every, number, replace=False))
            own = Changes(*(getattr(one.changes, field.name)[kept] for field in fields(Changes)))
            estimate = fact_edge(own)
            if estimate is not None:
                near.append(abs(estimate[0].month - one.month) <= 1)
                known.append(estimate[0].is_known)
        if near:
            print(
                f"{number} facts: known {np.mean(known):.2f}, within a month {np.mean(near):.2f} of {len(near)} models"
            )


if __name__ == "__main__":
    main()
