"""The corpora and sets of examples that a study reads: finds them, and checks that they fit the study."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from ticlm.core import paths
from ticlm.core.errors import InputError
from ticlm.core.mixture import Source
from ticlm.core.reading.near import hint
from ticlm.core.row_columns import TOKENS, check_columns
from ticlm.core.settings import build_command
from ticlm.core.store import Store
from ticlm.core.vocabulary import growth
from ticlm.methods.corpora import FurtherCorpus
from ticlm.methods.method import Continual
from ticlm.platform.models.folder_files import ADAPTERS, CONFIG
from ticlm.platform.models.settings import FolderModel
from ticlm.platform.study.settings import Study
from ticlm.platform.study.written.places import uri_of
from ticlm.platform.tasks.base import Task

if TYPE_CHECKING:
    from ticlm.core.corpus import Corpus, SplitManifest
    from ticlm.core.examples import Examples


def find(name: str, store: Store | None, last_visible_period: str | None = None) -> Corpus | None:
    """Return the corpus of this name, as a view that ends with `last_visible_period`; None if there is none yet."""
    uri = uri_of(name, store)
    if uri is None or not Store(uri).exists("corpus.json"):
        return None
    from ticlm.core.corpus import Corpus

    return Corpus.open(uri, last_visible_period)


def other(name: str, own: Corpus, store: Store | None, where: str) -> Corpus:
    """Return another corpus, named by the setting `where`, as a view that ends where `own` ends.

    Raises InputError if it is not there, or has another tokenizer, other columns, or longer rows.
    """
    found = _opened(name, own, store, where)
    mine, theirs = ({c.name: c.length for c in corpus.info.columns} for corpus in (own, found))
    if mine.keys() != theirs.keys() or any(theirs[column] > mine[column] for column in mine):
        raise InputError(
            f"{where}: corpus {found.info.id} has rows of {theirs}, {own.info.id} of {mine}; build it with the same "
            f"columns, no longer than these"
        )
    return found


def _opened(name: str, own: Corpus, store: Store | None, where: str) -> Corpus:
    """Return another corpus, as a view that ends where `own` ends. Raises InputError if it is not there, or has another
    tokenizer."""
    from ticlm.core.corpus import Corpus

    uri = uri_of(name, store)
    assert uri is not None
    found = Corpus.open(uri, own.last_visible_period)
    if found.info.tokenizer.sha256 != own.info.tokenizer.sha256:
        raise InputError(
            f"{where}: corpus {found.info.id} was cut with another tokenizer than {own.info.id}; build it with "
            f"tokenizer: {{kind: pretrained, name: …/tokenizer}}"
        )
    return found


def trained_on(study: Study, own: Corpus, store: Store) -> dict[str, Corpus]:
    """Return the corpora that rounds train on, by the names that sources have for them: the study's own, further ones,
    those of tuned copies, and those of old rows. Raises InputError if a corpus is not there, was cut in another way,
    shares its name with another, or lacks a period that rounds draw."""
    found = {paths.corpus_id(study.corpus): own}
    for where, name, corpus in _others(study, own, store):
        known = paths.corpus_id(name)
        before = found.setdefault(known, corpus)
        if before.store.root != corpus.store.root:
            raise InputError(
                f"{where}: {corpus.store.root} and {before.store.root} are both called {known}; rename one"
            )
    for _, old in study.old_corpora:
        found[paths.corpus_id(old.corpus)].split(old.period, "train")
    return found


def _others(study: Study, own: Corpus, store: Store) -> Iterator[tuple[str, str, Corpus]]:
    """Yield further corpora, those of tuned copies and of old rows: the setting that names each, its name, and the
    corpus."""
    for further in study.corpora:
        corpus = _alike(further.corpus, own, store, f"corpora.{further.corpus}")
        _check_periods(study, further, corpus)
        yield f"corpora.{further.corpus}", further.corpus, corpus
    for task in study.evaluations:
        if task.prepare is not None:
            where, name = f"evaluations.{task.name}.prepare", task.prepare.corpus
            corpus = own if name is None else _opened(name, own, store, f"{where}.corpus")
            needs = (task.prepare.objective or study.objective).columns
            try:
                check_columns(corpus.info.id, corpus.info.columns, needs, task.prepare.length or study.length)
            except InputError as error:
                raise InputError(f"{where}: {error}") from None
            yield f"{where}.corpus", study.corpus if name is None else name, corpus
    for method, old in study.old_corpora:
        where = f"methods.{method}.replay.corpus"
        yield where, old.corpus, _alike(old.corpus, own, store, where)


def _alike(name: str, own: Corpus, store: Store | None, where: str) -> Corpus:
    """Return another corpus with the study's tokenizer and columns. Raises InputError if it has not."""
    corpus = other(name, own, store, where)
    if corpus.info.columns != own.info.columns:
        raise InputError(f"{where}: corpus {corpus.info.id} has other columns than {own.info.id}; build it with these")
    return corpus


def _check_periods(study: Study, further: FurtherCorpus, corpus: Corpus) -> None:
    """Raise InputError if a further corpus lacks a period that has ended by the end of the study, has another one of
    its name, or was built on another calendar."""
    built = [one.period for one in corpus.periods.values()]
    for period in further.periods.ended_by(study.timeline.periods[-1].end):
        manifest = corpus.periods.get(period.label)
        across = [one.label for one in built if one.start < period.end and one.end > period.start]
        if manifest is None and across:
            raise InputError(
                f"corpora.{further.corpus}.periods: {period.label} is no period of corpus {corpus.info.id}, which has "
                f"{across[0]} on these days; give the calendar on which it was built"
            )
        if manifest is None:
            raise InputError(
                f"corpora.{further.corpus}: corpus {corpus.info.id} has no period {period.label}, which ends by the "
                f"end of the study; append it with {build_command(further.corpus)}, or cut its periods"
            )
        if manifest.period != period:
            raise InputError(f"period {period.label} spans other days in corpus {corpus.info.id}")


def further_rows(study: Study, own: Corpus, store: Store | None) -> dict[Source, int]:
    """Return the rows of each source of further corpora, and of those that tuned copies with a budget in epochs may
    train on, as far as it exists."""
    found: dict[Source, int] = {}
    for further in study.corpora:
        there = find(further.corpus, store, study.last_visible_period)
        held = {} if there is None else splits({paths.corpus_id(further.corpus): there})
        found |= {source: manifest.rows for source, manifest in held.items()}
    for prepare in (task.prepare for task in study.evaluations):
        if prepare is not None and prepare.epochs is not None:
            name = study.corpus if prepare.corpus is None else prepare.corpus
            corpus = own if prepare.corpus is None else find(name, store, study.last_visible_period)
            held = {} if corpus is None else splits({paths.corpus_id(name): corpus})
            found |= {source: manifest.rows for source, manifest in held.items()}
    return found


def splits(corpora: Mapping[str, Corpus]) -> dict[Source, SplitManifest]:
    """Return the manifests of all splits of these corpora, by source."""
    return {
        Source(corpus=name, period=label, split=split): manifest
        for name, corpus in corpora.items()
        for label, period in corpus.periods.items()
        for split, manifest in period.splits.items()
    }


def examples(name: str, store: Store | None, last_visible_period: str | None = None) -> Examples:
    """Return the examples that a task reads, up to `last_visible_period`. Raises InputError if they are not there."""
    from ticlm.core.examples import Examples

    uri = uri_of(name, store, paths.examples)
    assert uri is not None
    return Examples.open(uri, last_visible_period)


def of_task(task: Task, own: Corpus, store: Store | None) -> Corpus | Examples:
    """Return the data that a task reads instead of the study's `own` corpus, as a view that ends where that ends.

    Raises InputError if they are not there, do not fit the study's corpus, or cannot be asked what the task asks.
    """
    assert task.data_source is not None
    found: Corpus | Examples
    if task.reads == "examples":
        found = examples(task.data_source, store, own.last_visible_period)
    else:
        found = other(task.data_source, own, store, f"evaluations.{task.name}")
    task.check(found)
    return found


def either(name: str, store: Store) -> Corpus | Examples:
    """Return the corpus or the examples of this name. Raises InputError if there is neither."""
    from ticlm.core.corpus import Corpus
    from ticlm.core.examples import INFO, Examples

    corpus, found = uri_of(name, store), uri_of(name, store, paths.examples)
    assert corpus is not None and found is not None
    if Store(found).exists(INFO):
        return Examples.open(found)
    plain = not name.startswith((".", "/", "~")) and "://" not in name
    held = [one for room in (paths.CORPORA, paths.EXAMPLES) for one in store.folders(room)] if plain else []
    meant = hint(name, [*held, *(one.partition("@")[0] for one in held)])
    if meant and not Store(corpus).exists("corpus.json"):
        raise InputError(f"{name}: no corpus and no set of examples in {store.uri()}{meant}")
    return Corpus.open(corpus)


def check(study: Study, corpus: Corpus) -> None:
    """Raise InputError if the corpus does not fit the study: columns, row length, periods, tokenizer."""
    check_columns(corpus.info.id, corpus.info.columns, study.objective.columns, study.length)
    names = [column.name for column in corpus.info.columns]
    if names != [TOKENS] and any(isinstance(m, Continual) and m.replay.samples for m in study.methods):
        has = f"corpus {corpus.info.id} has columns {', '.join(names)}"
        raise InputError(f"replay self and chosen make rows of {TOKENS} alone, and {has}; use a corpus of packed rows")
    for period in study.timeline.periods:
        manifest = corpus.periods.get(period.label)
        if manifest is not None and manifest.period != period:
            raise InputError(f"period {period.label} spans other days in corpus {corpus.info.id}")
    _check_tokenizer(study, corpus)
    for task in study.evaluations:
        if task.reads == "corpus" and task.data_source is None:
            task.check(corpus)


def _check_tokenizer(study: Study, corpus: Corpus) -> None:
    """Raise InputError if a corpus or a model folder has another tokenizer than the rows were cut with."""
    if not corpus.store.exists(paths.tokenizer_file()):
        return
    if corpus.store.sha256(paths.tokenizer_file()) != corpus.info.tokenizer.sha256:
        raise InputError(
            f"{corpus.store.uri(paths.tokenizer_file())}: not the tokenizer that cut the corpus; copy it from the "
            f"model folder of a finished round, or remove {corpus.store.uri()} and build it again with ticlm data build"
        )
    if isinstance(study.model, FolderModel) and study.model.grow:
        _check_growth(study.model, corpus)
    elif isinstance(study.model, FolderModel):
        folder = Store(study.model.folder)
        if folder.exists("tokenizer.json") and folder.sha256("tokenizer.json") != corpus.info.tokenizer.sha256:
            raise InputError(
                f"model.path {study.model.path} has another tokenizer than corpus {corpus.info.id}"
                + _remedy(study.model, corpus, folder.sha256("tokenizer.json"))
            )


def _remedy(model: FolderModel, corpus: Corpus, sha256: str) -> str:
    """Return what to do where a model has another tokenizer, with this hash, than the corpus."""
    record = growth.read(corpus.store)
    if record is not None and record.base_sha256 == sha256:
        return ", which grew from it; give the model rows for the new tokens with model: {…, grow: parts}"
    return f"; build the corpus with tokenizer: {{kind: pretrained, name: {model.path}, as_of: {model.as_of}}}"


def _check_growth(model: FolderModel, corpus: Corpus) -> None:
    """Raise InputError if a model that is to grow has not the tokenizer that the corpus's grew from."""
    record, folder, where = growth.read(corpus.store), Store(model.folder), f"model.grow: {model.path}"
    if record is None:
        raise InputError(f"model.grow: the tokenizer of corpus {corpus.info.id} did not grow from another one")
    if not folder.exists(CONFIG):
        return  # not there yet, or no model: whoever loads it says so
    if not folder.exists("tokenizer.json"):
        raise InputError(f"{where} has no tokenizer.json; put that of {record.base} there, if it is the model's")
    own = folder.sha256("tokenizer.json")
    if own == corpus.info.tokenizer.sha256:
        raise InputError(f"{where} has the tokenizer of corpus {corpus.info.id} already; leave grow out")
    if own != record.base_sha256:
        raise InputError(f"{where} has not the tokenizer that the one of corpus {corpus.info.id} grew from")
    if folder.exists(ADAPTERS):
        raise InputError(f"{where} has adapters, which were made for its old rows; start from a model without any")
