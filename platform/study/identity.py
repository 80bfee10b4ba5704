"""Identities: hashes of everything that determines a round's weights. Names and places are not part of them."""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, TypeVar

from ticlm.core import hub
from ticlm.core.errors import InputError
from ticlm.core.fingerprint import SharedParts, fingerprint
from ticlm.core.integrity.records import Record
from ticlm.core.mixture import Source
from ticlm.core.settings import Settings
from ticlm.core.store import Store
from ticlm.methods.seams import RoundPosition
from ticlm.methods.timeline import Imported
from ticlm.platform.models.settings import FolderModel
from ticlm.platform.study.nodes.parts import AveragedRound, ChosenRows, SampledRows
from ticlm.platform.study.round import Round, RoundRecipe

if TYPE_CHECKING:
    from ticlm.core.corpus import Corpus, SplitManifest

S = TypeVar("S", bound=Settings)

# 2: buffers, and the sources that penalties read, are part of a round. 3: classes are known by their bare names.
IDENTITY = 3
"""Version of what a round's identity is made of. Raising it makes all finished work unusable."""


class Data(Settings):
    """Rows as the hash of their shards, wherever these lie, and how many tokens to draw."""

    sha256: str
    tokens: int


class Identity(Settings):
    """Everything that determines a round's weights, and nothing else: no name, path or resource. The round's id is its
    hash."""

    version: int
    parent: str | None
    period: str
    segments: tuple[tuple[tuple[Data, ...], int], ...]
    cursors: tuple[tuple[str, int, int, tuple[int, int] | None], ...]
    reads: tuple[str | None, ...]
    recipe: RoundRecipe
    position: RoundPosition
    tokenizer: str
    vocab_size: int
    average: tuple[AveragedRound, ...] = ()
    """The averaged rounds, by their ids."""
    sample: SampledRows | ChosenRows | None = None

    def without_meaning(self) -> frozenset[str]:
        return frozenset(name for name in ("average", "sample") if not getattr(self, name))


def identities(
    rounds: Mapping[str, Round],
    corpus: Corpus,
    splits: Mapping[Source, SplitManifest],
    contents: dict[str, str],
    known: Mapping[str, str] = MappingProxyType({}),
) -> dict[str, str]:
    """Return the ids of all rounds whose data and shares are known, by key. Ids in `known` are not hashed again.

    `corpus` is the study's; `splits` are all splits that can be read. A round without all its data has no id, an open
    round has none, and neither have the rounds below them. Sampled rows count as the id of their sample, which is known
    before there are any rows. Adds to `contents` the hash of every imported model's folder that it reads.
    """
    hashes = {source: manifest.sha256 for source, manifest in splits.items()}
    parts, recipes = SharedParts(RoundRecipe), dict[int, RoundRecipe]()
    found: dict[str, str] = {}
    ids = ChainMap(found, dict(known))
    for key, spec in rounds.items():
        if spec.sampled is not None and spec.sampled in ids:
            hashes |= dict.fromkeys(spec.sampled_sources, ids[spec.sampled])
        is_there = all(source in hashes for source in spec.sources)
        if spec.open or not is_there or any(need not in ids for need in spec.needs):
            continue
        if key in known:
            found[key] = known[key]
            continue
        if id(spec.recipe) not in recipes:  # rounds of a run share theirs
            recipes[id(spec.recipe)] = _resolved(spec.recipe, contents)
        found[key] = fingerprint(_identity(spec, recipes[id(spec.recipe)], ids, hashes, corpus), parts)
    return found


def _identity(
    spec: Round, recipe: RoundRecipe, ids: Mapping[str, str], hashes: Mapping[Source, str], corpus: Corpus
) -> Identity:
    return Identity(
        version=IDENTITY,
        parent=ids[spec.parent] if spec.parent is not None else None,
        period=spec.period,
        segments=tuple(
            (
                tuple(Data(sha256=hashes[share.source], tokens=share.tokens) for share in segment.mixture.shares),
                segment.steps,
            )
            for segment in spec.segments
        ),
        cursors=tuple((hashes[d.source], d.seed, d.rows, d.window) for d in spec.cursors),
        reads=tuple(None if s is None else hashes[s] for s in spec.reads),
        recipe=recipe,
        position=spec.position,
        tokenizer=corpus.info.tokenizer.sha256,
        vocab_size=corpus.info.tokenizer.vocab_size,
        average=tuple(part.model_copy(update={"round": ids[part.round]}) for part in spec.average),
        sample=spec.sample if spec.chosen is None else spec.chosen.with_ids(ids),
    )


def _resolved(recipe: RoundRecipe, contents: dict[str, str]) -> RoundRecipe:
    """Return a recipe that names imported models by the hash of their folders; `contents` keeps the hashes."""
    for path in imported(recipe):
        if path not in contents:
            contents[path] = content(path)
    return _changed(recipe, lambda model: model.model_copy(update={"path": "", "sha256": contents[model.path]}))


def placed(of: S) -> S:
    """Return a recipe, method or study whose imported models are found from any folder: workers of Ray Train and trials
    of Ray Tune do not run in that of the command."""

    def found(model: Imported) -> Imported:
        path = Path(model.path).expanduser()
        return model.model_copy(update={"path": str(path.absolute())}) if path.is_dir() else model

    return _changed(of, found)


def models_of(of: Settings) -> set[str]:
    """Return the paths of all imported models that a recipe, method or study names."""
    found: set[str] = set()

    def noted(model: Imported) -> Imported:
        found.add(model.path)
        return model

    _changed(of, noted)
    return found


def with_models(of: S, places: Mapping[str, str]) -> S:
    """Return a recipe, method or study whose imported models lie elsewhere: path -> path."""
    return _changed(of, lambda model: model.model_copy(update={"path": places.get(model.path, model.path)}))


def _changed(of: S, change: Callable[[Imported], Imported]) -> S:
    """Return a recipe, method or study with each imported model changed: the initial model, teachers."""
    changes: dict[str, object] = {}
    if isinstance(model := getattr(of, "model", None), FolderModel):
        changes["model"] = change(model)
    penalties = getattr(of, "penalties", ())
    if any(penalty.imported for penalty in penalties):
        changes["penalties"] = tuple(
            penalty.model_copy(update={name: change(value) for name, value in penalty.imported.items()})
            for penalty in penalties
        )
    if models := getattr(of, "models", ()):  # of a series of Oracles
        changes["models"] = tuple(map(change, models))
    if methods := getattr(of, "methods", ()):
        changes["methods"] = tuple(_changed(method, change) for method in methods)
    return of.model_copy(update=changes) if changes else of


def imported(recipe: RoundRecipe) -> list[str]:
    """Return the paths of the model folders that a recipe imports: an initial model, teachers."""
    initial = [recipe.model] if isinstance(recipe.model, FolderModel) else []
    return [folder.path for folder in (*initial, *(m for p in recipe.penalties for m in p.imported.values()))]


def content(path: str, also: tuple[str, ...] = ()) -> str:
    """Return the hash of a model folder, or of a model on the hub: of its weights, its JSON files, and the files with
    the suffixes in `also`.

    Raises InputError if there is no model folder.
    """
    store = Store(hub.place(path))
    # Not every file: a README or a picture changes no weight.
    names = [n for n in store.walk() if n.endswith((".json", ".safetensors", ".bin", *also))]
    if not names:
        raise InputError(f"{path}: no model folder there")
    return fingerprint(tuple((n, store.sha256(n)) for n in names))


def weights_of(record: Record) -> str:
    """Return the identity of a checkpoint's weights: the hash of its safetensors files."""
    return weights_hash([f.sha256 for f in record.files if f.path.endswith(".safetensors")])


def weights_hash(hashes: Sequence[str]) -> str:
    """Return the identity of weights by the hashes of their safetensors files, in the order of the files' names."""
    return hashes[0] if len(hashes) == 1 else fingerprint(tuple(hashes))
