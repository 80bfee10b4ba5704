"""A benchmark: the recipe of a set of examples, and how it is built."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from typing import Annotated

from pydantic import Field

from ticlm.datasets.evalsets.files import ExampleFiles
from ticlm.datasets.evalsets.tic_codedocs import CodeDocs
from ticlm.datasets.evalsets.tic_stackexchange import TicStackExchange
from ticlm.datasets.evalsets.tic_wiki import TicWiki
from ticlm.datasets.evalsets.tic_wiki_qa import WikiQuestions
from ticlm.datasets.examples.context import BuildContext, PeriodDraft
from ticlm.datasets.examples.proper_nouns import ProperNouns, Taggers, marked, taggers
from ticlm.datasets.io.documents import Input
from ticlm.datasets.io.lineage import lineage
from ticlm.datasets.io.ray_map import running_ray
from ticlm.platform.core.accounting import Step
from ticlm.platform.core.errors import InputError
from ticlm.platform.core.examples import INFO, Examples, ExamplesInfo, PeriodExamples, publish
from ticlm.platform.core.fingerprint import fingerprint
from ticlm.platform.core.lease import lease
from ticlm.platform.core.periods import Label
from ticlm.platform.core.settings import Settings
from ticlm.platform.core.store import Store

FOLDER = "examples"
BUILDS = "builds"
FORMAT = 1
"""Part of every benchmark's identity; to be raised when the same one begins to give other examples."""

AnyMaker = Annotated[ExampleFiles | TicWiki | WikiQuestions | TicStackExchange | CodeDocs, Field(discriminator="kind")]


class ExampleSetRecipe(Settings):
    """A set of examples to build. `seed` is behind every random choice among them; with `nouns`, the proper nouns of
    every text are marked."""

    name: str = Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$")
    version: Label = Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$")
    examples: AnyMaker
    nouns: ProperNouns | None = None
    seed: int = 0

    @property
    def id(self) -> str:
        return f"{self.name}@{self.version}"

    @property
    def identity(self) -> str:
        """Fingerprint of all that reaches the examples: not names, not where files lie."""
        nouns = None if self.nouns is None else self.nouns.identity
        return fingerprint(("examples", FORMAT, self.examples.identity, nouns, self.seed))


class ExamplesRecord(Settings):
    """What a build read of all its inputs, beside what its periods say of themselves. One that went on after it was
    killed may not have read them all again: then `steps` are of the rest."""

    inputs: tuple[Input, ...]
    steps: tuple[Step, ...]
    periods: tuple[str, ...]


def builds(store: Store) -> list[ExamplesRecord]:
    """Records of all finished builds, oldest first."""
    return [ExamplesRecord.model_validate(store.read_json(f"{BUILDS}/{name}")) for name in store.files(BUILDS)]


def build(benchmark: ExampleSetRecipe, root: str, progress: Callable[[str], None] = lambda line: None) -> Examples:
    """The examples of a benchmark at `<root>/examples/<name>@<version>`, built as far as its inputs go.

    Finished periods stay as they are; where no input is new or changed, none is opened and Ray is not started.
    InputError for a benchmark that would give other examples than those that stand, and for inputs without any;
    RunError while another process builds the same.
    """
    store = Store(Store(root).uri(f"{FOLDER}/{benchmark.id}"))
    _check_recipe(store, benchmark)
    before = builds(store)
    inputs = tuple(benchmark.examples.inputs())
    if before and before[-1].inputs == inputs:
        progress(f"{benchmark.id}: nothing new")
        return Examples.open(store.uri())
    with lease(store, f"data build {benchmark.id}"), running_ray():
        _check_recipe(store, benchmark)  # again, as another process may have built meanwhile
        staged = f"staging/{benchmark.identity[:16]}"
        for other in store.folders("staging"):
            if f"staging/{other}" != staged:
                store.remove(f"staging/{other}")
        info = ExamplesInfo(
            name=benchmark.name,
            version=benchmark.version,
            recipe=benchmark.identity,
            external_inputs=() if benchmark.nouns is None else (benchmark.nouns.external_inputs,),
        )
        if not Examples(store, info).periods:  # of a first build that came to nothing
            store.remove(INFO)
        store.create(INFO, info.model_dump_json(indent=1).encode())
        built = frozenset(Examples.open(store.uri()).periods)
        context = BuildContext(store, staged, benchmark.seed, inputs, built, progress)
        with nullcontext() if benchmark.nouns is None else taggers(benchmark.nouns) as tagging:
            made = [_kept(benchmark, context, draft, tagging) for draft in benchmark.examples.drafts(context)]
        if not made and not built:
            store.remove(INFO)
            raise InputError(f"{benchmark.id}: no example came of its inputs; {_losses(context.steps)}")
        known = {label for record in before for label in record.periods}
        new = tuple(label for label in Examples(store, info).periods if label not in known)
        record = ExamplesRecord(inputs=inputs, steps=tuple(context.steps), periods=new)
        store.write(f"{BUILDS}/{len(before):05d}.json", record.model_dump_json(indent=1).encode())
        store.remove("staging")
    return Examples.open(store.uri())


def _kept(benchmark: ExampleSetRecipe, context: BuildContext, draft: PeriodDraft, tagging: Taggers | None) -> str:
    """Mark and keep a period's examples; its label."""
    label, subsets = draft.period.label, draft.subsets
    if tagging is not None:
        subsets = marked(tagging, subsets)
    context.store.remove(f"periods/{label}")  # attempts that were interrupted
    manifest = PeriodExamples(
        period=draft.period,
        subsets={},
        steps=draft.steps,
        statistics={name: dict(counts) for name, counts in draft.statistics.items()},
        lineage=lineage(benchmark, draft.inputs),
    )
    kept = publish(context.store, manifest, subsets)
    counts = ", ".join(f"{subset.rows:,} {name}" for name, subset in kept.subsets.items())
    context.progress(f"{label}: {counts}")
    return label


def _losses(steps: list[Step]) -> str:
    read = sum(step.read for step in steps[:1])
    lost = {reason: count for step in steps for reason, count in step.dropped.items()}
    return f"read {read:,}" + "".join(f", {count:,} {reason}" for reason, count in sorted(lost.items()))


def _check_recipe(store: Store, benchmark: ExampleSetRecipe) -> None:
    """InputError where periods stand that another recipe made."""
    if not store.exists(INFO):
        return
    standing = Examples.open(store.uri())
    if standing.periods and standing.info.recipe != benchmark.identity:
        raise InputError(
            f"{store.uri()} was built with other settings of examples, nouns or seed; give the changed recipe another "
            f"version than {benchmark.version}"
        )
