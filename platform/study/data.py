"""Which corpora a study reads, and whether they can serve it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from ticlm.platform.core.errors import InputError
from ticlm.platform.core.row_columns import check_columns
from ticlm.platform.core.store import Store
from ticlm.platform.models.settings import FolderModel
from ticlm.platform.study.settings import Study

if TYPE_CHECKING:
    from ticlm.platform.core.corpus import Corpus
    from ticlm.platform.core.examples import Examples


def uri_of(name: str, store: Store | None, folder: str = "corpora") -> str | None:
    """Where a corpus (or, in the `folder` examples, a set of them) lies: a path or URI as it stands, else
    `corpora/NAME@VERSION` in the root."""
    if "://" in name or name.startswith((".", "/", "~")):
        return str(Path(name).expanduser()) if "://" not in name else name
    if store is None:
        return None
    return f"{store.root}/{folder}/{name if '@' in name else name + '@1'}"


def find(name: str, store: Store | None, last_visible_period: str | None = None) -> Corpus | None:
    """The corpus of this name, seen as it was at the end of the period `last_visible_period`; None where there is
    none yet."""
    uri = uri_of(name, store)
    if uri is None or not Store(uri).exists("corpus.json"):
        return None
    from ticlm.platform.core.corpus import Corpus

    return Corpus.open(uri, last_visible_period)


def other(name: str, own: Corpus, store: Store | None, task: str) -> Corpus:
    """Another corpus that a task reads, seen as far as `own`. InputError where it is not there, or was cut in another
    way."""
    from ticlm.platform.core.corpus import Corpus

    uri = uri_of(name, store)
    assert uri is not None
    found = Corpus.open(uri, own.last_visible_period)
    if found.info.tokenizer.sha256 != own.info.tokenizer.sha256:
        raise InputError(
            f"evaluations.{task}: corpus {found.info.id} was cut with another tokenizer than {own.info.id}; build it "
            f"with tokenizer: {{kind: pretrained, name: …/tokenizer}}"
        )
    mine, theirs = ({c.name: c.length for c in corpus.info.columns} for corpus in (own, found))
    if mine.keys() != theirs.keys() or any(theirs[column] > mine[column] for column in mine):
        raise InputError(
            f"evaluations.{task}: corpus {found.info.id} has rows of {theirs}, {own.info.id} of {mine}; build it with "
            f"the same columns, no longer than these"
        )
    return found


def examples(name: str, store: Store | None, last_visible_period: str | None = None) -> Examples:
    """The examples that a task reads, up to the period `last_visible_period`; InputError where they are not there."""
    from ticlm.platform.core.examples import Examples

    uri = uri_of(name, store, "examples")
    assert uri is not None
    return Examples.open(uri, last_visible_period)


def either(name: str, store: Store) -> Corpus | Examples:
    """The corpus or the examples of this name; InputError where there is neither."""
    from ticlm.platform.core.corpus import Corpus
    from ticlm.platform.core.examples import INFO, Examples

    corpus, found = uri_of(name, store), uri_of(name, store, "examples")
    assert corpus is not None and found is not None
    return Examples.open(found) if Store(found).exists(INFO) else Corpus.open(corpus)


def check(study: Study, corpus: Corpus) -> None:
    """InputError where the corpus cannot serve the study: columns, lengths, periods cut elsewhere."""
    check_columns(corpus.info.id, corpus.info.columns, study.objective.columns, study.length)
    for period in study.timeline.periods:
        manifest = corpus.periods.get(period.label)
        if manifest is not None and manifest.period != period:
            raise InputError(f"period {period.label} spans other days in corpus {corpus.info.id}")
    _check_tokenizer(study, corpus)


def _check_tokenizer(study: Study, corpus: Corpus) -> None:
    """InputError where the corpus's tokenizer, or that of a model folder, is not the one the rows were cut with."""
    if not corpus.store.exists("tokenizer/tokenizer.json"):
        return
    if corpus.store.sha256("tokenizer/tokenizer.json") != corpus.info.tokenizer.sha256:
        raise InputError(
            f"{corpus.store.uri('tokenizer')}: not the tokenizer that cut the corpus; restore or rebuild it"
        )
    if isinstance(study.model, FolderModel):
        folder = Store(study.model.path)
        if folder.exists("tokenizer.json") and folder.sha256("tokenizer.json") != corpus.info.tokenizer.sha256:
            raise InputError(
                f"model.path {study.model.path} has another tokenizer than corpus {corpus.info.id}; build the corpus "
                f"with tokenizer: {{kind: pretrained, name: {study.model.path}, as_of: {study.model.as_of}}}"
            )
