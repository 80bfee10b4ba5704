"""The inputs of vintages: what a stranger needs to run their rounds again, laid out as a root is.

They are the training rows, the tokenizer, the models that the study starts from, and the rounds on the way to a vintage
that are none themselves, such as those under an average. A vintage itself is where the next round starts.
"""

from __future__ import annotations

import tempfile
from collections.abc import Collection, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

from ticlm.core import hub, paths
from ticlm.core.corpus import INFO
from ticlm.core.store import Store
from ticlm.platform.publish.lineage import VintageLineage
from ticlm.platform.study.identity import imported

MODELS = "models"
"""Folder of imported models: `models/HASH/`, with what identities know them by."""


@contextmanager
def input_files(
    lineages: Sequence[VintageLineage], published: Sequence[VintageLineage]
) -> Iterator[list[tuple[str, Path]]]:
    """Give (path below `inputs`, local file) of all inputs of some vintages of a run, of which all of `published` are
    or will be at the same place. Files of a remote root are copied, for the time of the block."""
    with ExitStack() as stack:
        found: dict[str, Path] = {}
        for store, folder, place, names in _folders(lineages, {one.key for one in published}):
            if not names:
                local = stack.enter_context(store.local(folder))
                names = [one.relative_to(local).as_posix() for one in sorted(local.rglob("*")) if one.is_file()]
            else:
                local = _named(store, folder, names, stack)
            found |= {f"{place}/{name}": local / name for name in names}
        yield list(found.items())


def _named(store: Store, folder: str, names: Sequence[str], stack: ExitStack) -> Path:
    """Return a local folder that holds the named files of a folder, of which a remote root has many others."""
    if store.is_local:
        return Path(store.path(folder))
    local = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="ticlm-inputs-")))
    for name in names:
        (local / name).parent.mkdir(parents=True, exist_ok=True)
        store.fs.get_file(store.path(f"{folder}/{name}" if folder else name), str(local / name))
    return local


def model_place(sha256: str) -> str:
    """Return the folder of an imported model with this hash below `inputs`."""
    return f"{MODELS}/{sha256}"


def _folders(
    lineages: Sequence[VintageLineage], vintages: Collection[str]
) -> Iterator[tuple[Store, str, str, Sequence[str]]]:
    """Yield (store, folder there, folder below `inputs`, names of files; none: all) of what vintages need beside those
    rounds (by their keys) that are vintages."""
    if not lineages:
        return
    plan = lineages[-1].plan
    assert plan.store is not None
    for name in dict.fromkeys(source.corpus for one in lineages for source in one.sources):
        corpus, place = plan.corpora[name], paths.corpus(name)
        yield corpus.store, "", place, [INFO]
        yield corpus.store, paths.TOKENIZER, f"{place}/{paths.TOKENIZER}", ()
        read = dict.fromkeys(source for one in lineages for source in one.sources if source.corpus == name)
        for source in read:
            period = paths.period(source.period)
            yield (
                corpus.store,
                period,
                f"{place}/{period}",
                [
                    paths.RECORD,
                    *(file.removeprefix(f"{period}/") for file in corpus.files(source.period, source.split)),
                ],
            )
    for key in dict.fromkeys(key for one in lineages for key in one.keys if key not in vintages):
        folder, record = paths.round_folder(plan.ids[key]), plan.records[key]
        names = [f"{record.attempt}/{file.path}" for file in record.files]
        yield plan.store, folder, folder, [paths.RECORD, *names]
    recipes = (plan.tree.rounds[key].recipe for one in lineages for key in one.keys)
    for path in dict.fromkeys(path for recipe in recipes for path in imported(recipe)):
        if hub.parse(path) is None or Path(path).exists():  # what lies on a hub is fetched from there
            yield Store(path), "", model_place(plan.contents[path]), ()
