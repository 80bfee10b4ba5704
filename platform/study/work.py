"""A chain of rounds as it is handed to workers. Light to import."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from ticlm.core import paths
from ticlm.core.mixture import Source
from ticlm.core.store import Store
from ticlm.platform.study.chains import Chain
from ticlm.platform.study.identity import imported, placed
from ticlm.platform.study.nodes.averaged import averaged_steps
from ticlm.platform.study.plan import Plan
from ticlm.platform.study.resources import Resources
from ticlm.platform.study.round import Round
from ticlm.platform.study.written.places import uri_of


@dataclass(frozen=True)
class ChainWork:
    """Rounds to train one after another, and everything that workers need for it. Picklable; the same on every rank.

    Each round starts from the weights of the one before, the first from those of `parent` (an id) or from scratch.
    `ids` are the rounds' identities, which say where they lie in the root. `corpora` maps the names in sources to URIs.
    `imported` has the hash of every imported model's folder as it was planned.
    `mid_round_steps` has for each round the steps after which its model is published before its end. If
    `last_visible_period` is given, nothing of later periods may be opened. `micro_rows` are the rows of a micro-batch.
    `lease` is the number of the lease on the root under which workers write.
    """

    root: str
    label: str
    rounds: tuple[Round, ...]
    ids: tuple[str, ...]
    parent: str | None
    corpora: Mapping[str, str]
    tokenizer: str
    vocab_size: int
    end_of_text: int
    resources: Resources
    imported: Mapping[str, str] = field(default_factory=dict)
    mid_round_steps: tuple[tuple[int, ...], ...] = ()
    last_visible_period: str | None = None
    micro_rows: int | None = None
    lease: int | None = None
    needed: Mapping[str, str] = field(default_factory=dict)
    """Key of a round that one of these needs, beside the one that it starts from -> its id."""
    corpus: str = ""
    """URI of the study's corpus."""
    stop_after: int | None = None
    """Steps of its first round after which training stops, for whoever compares them with steps taken elsewhere."""

    @property
    def store(self) -> Store:
        """The root, to be written to under the lease."""
        return Store(self.root, self.lease)

    def parent_of(self, number: int) -> str | None:
        """Return the id of the round whose weights round `number` of the chain starts from, or None."""
        return self.ids[number - 1] if number else self.parent


def published_steps(plan: Plan, keys: Iterable[str]) -> dict[str, tuple[int, ...]]:
    """Return the steps after which each of these rounds publishes a model before its end, in order: those that
    `evaluate.inside` asks for, and those that are averaged."""
    averaged = averaged_steps(plan.tree.rounds)
    return {key: tuple(sorted({*plan.mid_round_steps(key), *averaged.get(key, ())})) for key in keys}


def work_of(plan: Plan, chain: Chain) -> ChainWork:
    """Return a chain of a plan as work for its workers."""
    assert plan.corpus is not None and plan.store is not None
    uri = uri_of(plan.study.corpus, plan.store)
    assert uri is not None
    planned = tuple(plan.tree.rounds[key] for key in chain.keys)
    rounds = tuple(one.model_copy(update={"recipe": placed(one.recipe)}) for one in planned)
    parent, inside = rounds[0].parent, published_steps(plan, chain.keys)
    return ChainWork(
        root=plan.store.root,
        label=f"{plan.study.name} {plan.label(chain)}",
        rounds=rounds,
        ids=tuple(plan.ids[key] for key in chain.keys),
        parent=None if parent is None else plan.ids[parent],
        corpora={s.corpus: _uri(plan, r, s) for r in rounds for s in r.sources},
        tokenizer=f"{uri}/{paths.TOKENIZER}",
        vocab_size=plan.corpus.info.tokenizer.vocab_size,
        end_of_text=plan.corpus.info.tokenizer.end_of_text,
        resources=plan.study.resources,
        imported={
            there: plan.contents[here]
            for one, r in zip(planned, rounds)
            for here, there in zip(imported(one.recipe), imported(r.recipe))
        },
        mid_round_steps=tuple(inside[key] for key in chain.keys),
        last_visible_period=plan.study.last_visible_period,
        micro_rows=plan.study.resources.micro_rows(rounds[0].recipe.batch_rows, plan.share(chain)[1]),
        lease=plan.store.lease,
        needed={key: plan.ids[key] for r in rounds for key in r.needs if key in plan.ids},
        corpus=uri,
    )


def _uri(plan: Plan, spec: Round, source: Source) -> str:
    """Return where the rows of a source of a round lie; those of a sample are there once it is done."""
    if spec.sampled is None or source not in spec.sampled_sources:
        return plan.corpora[source.corpus].store.root
    assert plan.store is not None
    folder, record = paths.round_folder(plan.ids[spec.sampled]), plan.records[spec.sampled]
    return f"{plan.store.root}/{paths.sampled_rows(folder, record.attempt)}"
