"""Every kind of probe of the synthetic world against what really holds in it: precision and recall.

python -m benchmarks.experiments.probes_truth ROOT      # a minute or two on one core; it needs no files

The sets are those of the recipes. A probe is right if its fact is among those of the truth for its month and subset:
subject, relation, object and, where one was replaced, the outdated object. Sets leave out facts on purpose (those that
no document states, that no sentence has), which lowers recall and not precision.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from pathlib import Path
from typing import Any

from benchmarks.experiments import evolving_truth
from benchmarks.truth.wikidata import FactChanges, NamedTriple, fact_changes

from ticlm.core import settings
from ticlm.core.examples import Example, Examples
from ticlm.core.periods import Timeline
from ticlm.datasets.evalsets.recipe import ExampleSetRecipe, build
from ticlm.datasets.synthetic.world import SyntheticWorld

RECIPES = "datasets/recipes"
Fact = tuple[str, ...]
"""A period, then subject, relation and object, and the outdated object where there is one; names in small letters."""


@dataclass(frozen=True)
class Agreement:
    """The facts that a kind of probe asks for in a subset, and those that there are."""

    kind: str
    subset: str
    found: frozenset[Fact]
    true: frozenset[Fact]

    @property
    def precision(self) -> float:
        return len(self.found & self.true) / len(self.found)

    @property
    def recall(self) -> float:
        return len(self.found & self.true) / len(self.true)

    def __str__(self) -> str:
        shares = f"precision {self.precision:.3f} of {len(self.found)}, recall {self.recall:.3f} of {len(self.true)}"
        return f"{self.kind:20}{self.subset:12}{shares}"


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("root", type=Path)
    root = parser.parse_args(arguments).root.absolute()
    for name, agreements in KINDS.items():
        recipe = settings.load(ExampleSetRecipe, name, RECIPES, ["executor=process"])
        given: Any = recipe.examples
        for one in agreements(build(recipe, str(root)), given):
            print(one, flush=True)
    print("evolving-questions")
    evolving_truth.main([str(root)])


def of_synthetic_probes(probes: Examples, given: Any) -> Iterator[Agreement]:
    """Compare probes of the world with the facts that hold at the end of each month."""
    timeline: Timeline = given.periods.timeline()
    last_days = [period.end - timedelta(days=1) for period in timeline.periods]
    months = fact_changes(given.world, last_days)
    stay = fact_changes(given.world, [last_days[0], last_days[-1]])[0].same
    truth = {
        "invariant": {folded("", *triple) for triple in stay},
        "updated": {fact for month in months for fact in updated(month)},
        "new": {folded(f"{month.day:%Y%m}", *triple) for month in months for triple in month.new},
    }
    for subset, true in truth.items():
        found = (
            folded("" if subset == "invariant" else label, one.about["subject"], one.source, *_answers(one))
            for label, one in _all(probes, subset)
        )
        yield Agreement("synthetic-probes", subset, frozenset(found), frozenset(true))


def of_cloze(questions: Examples, given: Any) -> Iterator[Agreement]:
    """Compare TiC-LM's questions with the facts that hold on the days of Wikidata; they know no outdated object."""
    truth = _by_fate(given.wikidata.world, given.wiki.days())
    sides = {"changed": truth["new"] | {fact[:4] for fact in truth["updated"]}, "unchanged": truth["same"]}
    for subset, true in sides.items():
        found = {
            folded(label, one.about["title"], one.about["relation"], str(one.answer))
            for label, one in _all(questions, subset)
        }
        yield Agreement("wiki-questions", subset, frozenset(found), frozenset(true))


def of_wiki_probes(probes: Examples, given: Any) -> Iterator[Agreement]:
    """Compare TWiki-Probes with the facts that hold on the days of Wikidata, each with what it replaced."""
    truth = _by_fate(given.wikidata.world, given.wiki.days())
    for fate, true in truth.items():
        found = {
            folded(label, one.about["title"], one.about["relation"], *_answers(one))
            for subset in ("unchanged", "changed", "unchanged-tune", "changed-tune")
            for label, one in _all(probes, subset)
            if one.about["category"] == fate
        }
        yield Agreement("temporalwiki-probes", fate, frozenset(found), frozenset(true))


KINDS: Mapping[str, Callable[[Examples, Any], Iterable[Agreement]]] = {
    "synthetic-probes": of_synthetic_probes,
    "synthetic-cloze": of_cloze,
    "synthetic-facts": of_wiki_probes,
}
"""What is compared, by recipe."""


def updated(month: FactChanges) -> Iterator[Fact]:
    """Yield the updated facts of a month, each with what it replaced."""
    for triple, before in month.updated.items():
        yield folded(f"{month.day:%Y%m}", *triple, before)


def folded(period: str, *names: str) -> Fact:
    return period, *(name.casefold() for name in names)


def _by_fate(world: SyntheticWorld, days: Sequence[date]) -> dict[str, set[Fact]]:
    months = fact_changes(world, days)

    def of(triples: Callable[[FactChanges], Iterable[NamedTriple]]) -> set[Fact]:
        return {folded(f"{month.day:%Y%m}", *triple) for month in months for triple in triples(month)}

    changed = {fact for month in months for fact in updated(month)}
    return {"same": of(lambda month: month.same), "new": of(lambda month: month.new), "updated": changed}


def _all(examples: Examples, subset: str) -> Iterator[tuple[str, Example]]:
    for label, manifest in examples.periods.items():
        if subset in manifest.subsets:
            yield from ((label, one) for one in examples.read(label, subset))


def _answers(one: Example) -> tuple[str, ...]:
    return str(one.answer), *one.outdated


if __name__ == "__main__":
    main()
