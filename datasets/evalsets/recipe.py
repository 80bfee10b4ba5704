"""The recipe of a set of examples, and its build."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack
from typing import Annotated

from pydantic import Field

from ticlm.core import extras, paths
from ticlm.core.accounting import Step
from ticlm.core.corpus import finished
from ticlm.core.errors import InputError
from ticlm.core.examples import INFO, Example, Examples, ExamplesInfo, PeriodExamples, publish
from ticlm.core.fingerprint import fingerprint
from ticlm.core.integrity import own_hash, remedies
from ticlm.core.lease import lease
from ticlm.core.mixture import Subset
from ticlm.core.periods import Label
from ticlm.core.reading.in_root import placed
from ticlm.core.remote.credentials import without_credentials
from ticlm.core.settings import Settings
from ticlm.core.store import Store
from ticlm.datasets.evalsets.ckl_probes import CklProbes
from ticlm.datasets.evalsets.dated_facts.from_wikidata import WikidataFacts
from ticlm.datasets.evalsets.dated_facts.kairos import KairosQuestions
from ticlm.datasets.evalsets.dated_facts.packages import PackageFacts
from ticlm.datasets.evalsets.dated_facts.synthetic import SyntheticDatedFacts
from ticlm.datasets.evalsets.dated_facts.taqa import TaqaQuestions
from ticlm.datasets.evalsets.dated_facts.world_facts import WorldFacts
from ticlm.datasets.evalsets.dated_texts import DatedTexts, PackageVersions
from ticlm.datasets.evalsets.evolving_questions import EvolvingQuestions
from ticlm.datasets.evalsets.files import ExampleFiles
from ticlm.datasets.evalsets.held_out_documents import HeldOutDocuments
from ticlm.datasets.evalsets.invariant_lama import InvariantLama
from ticlm.datasets.evalsets.probe_construction import ProbeConstruction
from ticlm.datasets.evalsets.probes import ProbeFiles
from ticlm.datasets.evalsets.retrieved_contexts import RetrievedContexts
from ticlm.datasets.evalsets.synthetic.fact_hops import FactHops
from ticlm.datasets.evalsets.synthetic.fact_world import FactWorldProbes
from ticlm.datasets.evalsets.synthetic.probes import SyntheticProbes
from ticlm.datasets.evalsets.temporalwiki.files import TemporalWikiFiles
from ticlm.datasets.evalsets.temporalwiki.probes import TemporalWikiProbes
from ticlm.datasets.evalsets.tic_codedocs import CodeDocs
from ticlm.datasets.evalsets.tic_stackexchange import TicStackExchange
from ticlm.datasets.evalsets.tic_wiki import TicWiki
from ticlm.datasets.evalsets.tic_wiki_qa import WikiQuestions
from ticlm.datasets.evalsets.wiki_revisions import WikiRevisions
from ticlm.datasets.examples.answer_types import with_types
from ticlm.datasets.examples.context import BuildContext, PeriodDraft
from ticlm.datasets.examples.word_tags import PartsOfSpeech, ProperNouns, WordTaggers, WordTags, marked, taggers
from ticlm.datasets.io.documents import Input
from ticlm.datasets.io.executor import ExecutorSetting, executing
from ticlm.datasets.io.lineage import lineage
from ticlm.datasets.kilt.questions import KiltQuestions
from ticlm.datasets.text.taggers import AnyTagger

FORMAT = 1
"""Part of every recipe's identity. Raise it when the same recipe gives other examples than before."""

Tagging = Sequence[tuple[WordTaggers, WordTags]]
"""Workers that tag texts, each with the settings of what they find."""

AnyBuilder = Annotated[
    ExampleFiles
    | HeldOutDocuments
    | DatedTexts
    | PackageVersions
    | TicWiki
    | WikiQuestions
    | WikiRevisions
    | TicStackExchange
    | CodeDocs
    | KiltQuestions
    | ProbeFiles
    | CklProbes
    | InvariantLama
    | SyntheticProbes
    | FactWorldProbes
    | FactHops
    | SyntheticDatedFacts
    | ProbeConstruction
    | EvolvingQuestions
    | RetrievedContexts
    | TemporalWikiProbes
    | TemporalWikiFiles
    | WikidataFacts
    | WorldFacts
    | PackageFacts
    | KairosQuestions
    | TaqaQuestions,
    Field(discriminator="kind"),
]


class ExampleSetRecipe(Settings):
    """A set of examples to build. `executor` changes none of them."""

    name: str = Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$")
    """Name of the set; tasks name it as NAME or NAME@VERSION."""
    version: Label = Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$")
    """Version of the set; another one is another set beside it."""
    examples: AnyBuilder
    """What the examples are made from, and how."""
    nouns: ProperNouns | None = None
    """The spaCy pipeline that marks proper nouns, which perplexity of nouns needs; by default none are marked."""
    parts_of_speech: PartsOfSpeech | None = None
    """The spaCy pipeline that marks words by part of speech, which perplexity by part of speech needs; by default none
    are marked."""
    answer_types: AnyTagger | None = None
    """What labels the answers as persons, dates, …, which the tables of answer types need; by default nothing does."""
    seed: int = 0
    """Seed of all random choices."""
    executor: ExecutorSetting = "auto"
    """What runs the build: this process, Ray, or Ray if one is connected or the inputs have 64 MB or more (`auto`)."""

    @property
    def id(self) -> str:
        """The name of the set, as `name@version`."""
        return f"{self.name}@{self.version}"

    @property
    def identity(self) -> str:
        """The fingerprint of everything that determines the examples; names and paths of files are not part of it."""
        nouns = None if self.nouns is None else self.nouns.identity
        types = () if self.answer_types is None else (self.answer_types.identity,)
        parts = () if self.parts_of_speech is None else (self.parts_of_speech.identity,)
        return fingerprint(("examples", FORMAT, self.examples.identity, nouns, self.seed, *types, *parts))

    @property
    def word_tags(self) -> tuple[WordTags, ...]:
        """What marks words in texts."""
        return tuple(one for one in (self.nouns, self.parts_of_speech) if one is not None)

    @property
    def external_inputs(self) -> tuple[str, ...]:
        """Return a line for each thing from outside the timeline that chose or marked the examples."""
        words = tuple(one.external_inputs for one in self.word_tags)
        tagger = None if self.answer_types is None else self.answer_types.external_inputs
        types = () if tagger is None else (f"types of answers: {tagger}",)
        every = (*words, *types, *getattr(self.examples, "external_inputs", ()))
        return tuple(map(without_credentials, every))


class ExamplesRecord(Settings):
    """What one build read from its inputs and which periods it added; the periods have records of their own.

    A build that continued after it was killed may not have read all inputs again: `steps` then count only the rest.
    """

    inputs: tuple[Input, ...]
    steps: tuple[Step, ...]
    periods: tuple[str, ...]


def builds(store: Store) -> list[ExamplesRecord]:
    """Return the records of all finished builds, oldest first. Raises InputError if one is damaged."""
    remedy = remedies.set_described(store.uri())
    files = [f"{paths.BUILDS}/{name}" for name in store.files(paths.BUILDS)]
    return [own_hash.read_as(ExamplesRecord, store.read(path), store.uri(path), remedy) for path in files]


def build(recipe: ExampleSetRecipe, root: str, progress: Callable[[str], None] = lambda line: None) -> Examples:
    """Build the set of examples at `<root>/examples/<name>@<version>` from all inputs, and return it.

    Finished periods are not changed. If no input is new or changed, no input is opened. Raises InputError if the recipe
    would give other examples than the finished periods have, or if the inputs give no examples; RunError while another
    process builds the same set.
    """
    recipe = placed(recipe, root)
    extras.check(recipe)
    if isinstance(recipe.examples, CklProbes):  # before the identity, which is that of the sets there are
        there = recipe.examples.of_files(lambda line: progress(f"{recipe.id}: {line}"))
        recipe = recipe.model_copy(update={"examples": there})
    store = Store(Store(root).uri(paths.examples(recipe.id)))
    _check_recipe(store, recipe)
    before = builds(store)
    inputs = tuple(recipe.examples.inputs())
    info = ExamplesInfo(
        name=recipe.name,
        version=recipe.version,
        recipe=recipe.identity,
        external_inputs=recipe.external_inputs,
    )
    if before and before[-1].inputs == inputs and _named(before) == {*Examples(store, info).periods}:
        progress(f"{recipe.id}: nothing new")
        _describe(store, info)
        return Examples.open(store.uri())
    with lease(store, f"data build {recipe.id}"), executing(recipe.executor, inputs) as executor:
        _check_recipe(store, recipe)  # again, as another process may have built meanwhile
        staged = f"staging/{recipe.identity[:16]}"
        for other in store.folders("staging"):
            if f"staging/{other}" != staged:
                store.remove(f"staging/{other}")
        built = frozenset(Examples(store, info).periods)
        if not built:  # left by a first build that gave nothing
            store.remove(INFO)
        _describe(store, info)
        context = BuildContext(store, staged, recipe.seed, inputs, built, progress, executor=executor)
        with ExitStack() as stack:
            tagging = [(stack.enter_context(taggers(executor, one)), one) for one in recipe.word_tags]
            labels = [_publish(recipe, context, draft, tagging) for draft in recipe.examples.drafts(context)]
        if not labels and not built:
            store.remove(INFO)
            raise InputError(f"{recipe.id}: no example came of its inputs; {_losses(context.steps)}")
        known = _named(before)
        new = tuple(label for label in Examples(store, info).periods if label not in known)
        record = ExamplesRecord(inputs=inputs, steps=tuple(context.steps), periods=new)
        number = max((int(name.partition(".")[0]) for name in store.files(paths.BUILDS)), default=-1) + 1
        store.write(f"{paths.BUILDS}/{number:05d}.json", own_hash.with_hash(record.model_dump(mode="json")))
        store.remove("staging")
    return Examples.open(store.uri())


def _named(before: Sequence[ExamplesRecord]) -> set[str]:
    """Return the periods that the records of builds name. They differ from the periods that exist if one was lost, or
    if the record that named it was removed."""
    return {label for record in before for label in record.periods}


def _describe(store: Store, info: ExamplesInfo) -> None:
    """Write the info of a set, unless it exists."""
    if not store.exists(INFO):
        store.create(INFO, own_hash.with_hash(info.model_dump(mode="json")))


def _publish(recipe: ExampleSetRecipe, context: BuildContext, draft: PeriodDraft, tagging: Tagging) -> str:
    """Mark the words and the answers of a period's examples and write them; return the period's label."""
    label, subsets = draft.period.label, draft.subsets
    for workers, words in tagging:
        subsets = marked(workers, words, _held(subsets))
    if recipe.answer_types is not None:
        subsets = with_types(recipe.answer_types, _held(subsets))
    context.store.remove(paths.period(label))  # attempts that were interrupted
    manifest = PeriodExamples(
        period=draft.period,
        subsets={},
        steps=draft.steps,
        statistics={name: dict(counts) for name, counts in draft.statistics.items()},
        lineage=lineage(recipe, draft.inputs),
    )
    published = publish(context.store, manifest, subsets)
    counts = ", ".join(f"{subset.rows:,} {name}" for name, subset in published.subsets.items())
    context.progress(f"{label}: {counts}")
    return label


def _held(subsets: Mapping[Subset, Iterable[Example]]) -> dict[Subset, list[Example]]:
    """Return the examples as lists, which markers need; all examples of the period are then in memory."""
    return {name: list(examples) for name, examples in subsets.items()}


def _losses(steps: list[Step]) -> str:
    read = sum(step.read for step in steps[:1])
    lost = {reason: count for step in steps for reason, count in step.dropped.items()}
    return f"read {read:,}" + "".join(f", {count:,} {reason}" for reason, count in sorted(lost.items()))


def _check_recipe(store: Store, recipe: ExampleSetRecipe) -> None:
    """Raise InputError if the set has periods that were built with another recipe. A set whose info was removed is
    known by the recipes that its periods keep."""
    if store.exists(INFO):
        existing = Examples.open(store.uri(), complete=False)
        known = {existing.info.recipe} if existing.periods else set()
    else:
        known = {_identity_of(manifest) for manifest, _ in finished(store, PeriodExamples).values()}
    if known - {recipe.identity}:
        raise InputError(
            f"{store.uri()} was built with other settings of examples, nouns or seed, or by an earlier ticlm with "
            f"other rules; to build all of it anew, give the changed recipe another version than {recipe.version}"
        )


def _identity_of(manifest: PeriodExamples) -> str:
    """Return the identity of the recipe that a period was built with; "" if it is not known to this release."""
    try:
        return ExampleSetRecipe.model_validate_json(manifest.lineage.recipe).identity
    except ValueError:
        return ""
