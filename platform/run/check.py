"""The check of a root: every file against what records say of it, and records against each other.

What looks wrong is looked at again after a pause, because a writer may be at work: a checkpoint that is being removed
loses its files before its record.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from functools import partial

from ticlm.core import corpus, examples, paths
from ticlm.core.corpus import Corpus, PeriodManifest
from ticlm.core.errors import InputError, TiclmError
from ticlm.core.examples import Examples
from ticlm.core.integrity import builds, remedies
from ticlm.core.integrity.files import verify
from ticlm.core.integrity.records import Record, read_record
from ticlm.core.settings import parse
from ticlm.core.store import Store
from ticlm.datasets.llm.journal import REPLIES, damaged_lines
from ticlm.platform.eval.prediction_store import check_predictions
from ticlm.platform.study.identity import weights_hash
from ticlm.platform.study.stored_rounds import attempts
from ticlm.platform.tasks.cells.files import check_cells
from ticlm.platform.tasks.cells.index import check_indexes

PAUSES_S = (0.5, 2.0)
"""Seconds before the second and the third look at what looks wrong."""
ROOMS = (paths.CORPORA, paths.EXAMPLES, paths.ROUNDS, paths.CELLS, paths.LEASES)
Look = Callable[[], list[str]]


def check(store: Store) -> tuple[int, list[str]]:
    """Return the number of records, and one line for each thing that is missing, damaged or differs from its record.

    `store` is a root, or the folder of a corpus or of a set of examples. Raises InputError if it is none of these.
    """
    sets = [kind for kind in (corpus.INFO, examples.INFO) if store.exists(kind)]
    if not sets and not any(store.folders(room) for room in ROOMS) and not store.files(paths.LEASES):
        raise InputError(f"{store.uri()} is no root: it holds none of {', '.join(ROOMS)}")
    files = [path for path in store.walk() if not path.startswith(f"{paths.CHAOS}/")]  # roots of their own
    records = [path.rsplit("/", 1)[0] for path in files if path.endswith(f"/{paths.RECORD}")]
    looks: list[Look] = [partial(_record, store, folder) for folder in records]
    looks += [partial(check_cells, store, name) for name in store.folders(paths.CELLS)]
    looks.append(partial(check_indexes, store))
    looks += [partial(check_predictions, store, name) for name in store.folders(paths.PREDICTIONS)]
    looks += [partial(_unrecorded, store, folder) for folder in _rounds(store)]
    for room in (paths.CORPORA, paths.EXAMPLES):
        looks += [partial(_collection, Store(store.uri(f"{room}/{name}")), room) for name in store.folders(room)]
    looks += [partial(_collection, store, paths.CORPORA if kind == corpus.INFO else paths.EXAMPLES) for kind in sets]
    looks += [partial(_replies, store, path) for path in files if path.rsplit("/", 1)[-1] == REPLIES]
    found = [(look, problems) for look in looks if (problems := _seen(look))]
    for pause in PAUSES_S:
        if found:
            time.sleep(pause)
            found = [(look, problems) for look, _ in found if (problems := _seen(look))]
    return len(records), [problem for _, problems in found for problem in problems]


def _seen(look: Look) -> list[str]:
    try:
        return look()
    except FileNotFoundError:
        return []  # removed while it was looked at; what a record names is told as missing
    except TiclmError as error:
        return [str(error)]
    except OSError as error:  # a bad sector, a file of somebody else: the others are looked at all the same
        return [f"{error.filename or 'a file'} cannot be read: {error.strerror or error}"]


def _record(store: Store, folder: str) -> list[str]:
    """Check a record: the files that it names; for a period also what it says of them; for a round, its parents."""
    record = read_record(store, folder)
    if record is None:
        return []  # removed since the records were listed
    about = record.about if isinstance(record.about, dict) else {}
    problems = verify(store, folder)
    if "splits" in about:
        problems += _period(store, folder, record)
    averaged = about.get("average", {})
    for made_from in dict.fromkeys([*averaged, about.get("parent")]):
        if made_from is not None and read_record(store, paths.round_folder(made_from)) is None:
            how = "is an average of it" if made_from in averaged else "was trained from it"
            problems.append(f"{paths.round_folder(made_from)}: no record, though {folder} {how}; run its study again")
    return problems


def _period(store: Store, folder: str, record: Record) -> list[str]:
    """Compare the splits that a corpus's record of a period states with the files that it names."""
    manifest = parse(PeriodManifest, record.about, store.uri(paths.record(folder)))
    files = {file.path: (file.size, file.sha256) for file in record.files}
    named = [file for split in manifest.splits.values() for file in (*split.files, *split.spans)]
    whole = all(files.get(file.path) == (file.bytes, file.sha256) for file in named)
    whole = whole and all(sum(f.rows for f in split.files) == split.rows for split in manifest.splits.values())
    return [] if whole else [f"{paths.record(folder)}: its splits are not made of the files that it names"]


def _replies(store: Store, path: str) -> list[str]:
    """Check the replies of chat models that a set keeps; a record elsewhere (`limits.record`) is not looked for."""
    return damaged_lines(store.uri(path)) if store.is_local else []


def _rounds(store: Store) -> Iterator[str]:
    """Yield the folders of rounds, and of models inside rounds, that have no record."""
    for name in store.folders(paths.ROUNDS):
        folder = paths.round_at(name)
        inside = [f"{paths.mid_round_models(folder)}/{step}" for step in store.folders(paths.mid_round_models(folder))]
        for work in (folder, *inside):
            if not store.exists(paths.record(work)):
                yield work


def _unrecorded(store: Store, folder: str) -> list[str]:
    """Return a line if the weights of a round without a record were scored, for which it must have had one."""
    if read_record(store, folder) is not None:
        return []
    for attempt in attempts(store, folder):
        model = paths.model(folder, attempt)
        names = [name for name in store.walk(model) if name.endswith(".safetensors")]
        if names and store.files(paths.cells(weights_hash([store.sha256(f"{model}/{name}") for name in names]))):
            return [f"{folder}: no record, though its weights were scored; run its study again"]
    return []


def _collection(store: Store, room: str) -> list[str]:
    """Check a corpus or a set of examples as a whole: its description, its tokenizer, and that no period is lost."""
    under_way = bool(store.folders("staging"))  # a build, or one that goes on with the same command
    if under_way and not (store.exists(corpus.INFO) or store.exists(examples.INFO)):
        return []
    opened: Corpus | Examples
    if room == paths.CORPORA:
        opened, remedy = Corpus.open(store.uri()), remedies.corpus_again(store.uri())
    else:
        opened = Examples.open(store.uri(), complete=False)
        remedy = remedies.set_described(store.uri())
    problems = []
    if isinstance(opened, Corpus):
        tokenizer = opened.info.tokenizer
        file = paths.tokenizer_file()
        if not store.exists(file):
            problems.append(f"{store.uri(file)}: missing")
        elif store.sha256(file) != tokenizer.sha256:
            problems.append(f"{store.uri(file)}: its hash differs from that of {corpus.INFO}")
    if under_way:
        return problems
    have = set(opened.periods)
    for name in store.files(paths.BUILDS):
        try:
            problems += builds.lost(store, name, have, remedy).values()
        except InputError as error:
            problems.append(str(error))
    if isinstance(opened, Corpus) and not problems:
        from ticlm.datasets.corpus.build_records import half_built

        problems += [
            f"{store.uri(paths.period(label))}: built up to {last} by an older release, and lacks the rest; "
            "build a new version"
            for label, last in half_built(store).items()
        ]
    return problems
