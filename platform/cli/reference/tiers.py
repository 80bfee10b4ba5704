"""The keys that most people set: `ticlm show` and docs/reference.md begin with these."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache

from ticlm.core.settings import Settings
from ticlm.platform.cli.reference.files import FILES
from ticlm.platform.cli.reference.names import settings_in

FIRST: Mapping[str, tuple[str, ...]] = {
    "study": (
        *("name", "corpus", "periods.initial", "periods.step", "periods.last", "model", "batch_rows", "length"),
        *("initial.budget", "initial.schedule.max_rate", "continual_tokens", "methods", "methods.schedule.max_rate"),
        *("methods.replay.alpha", "methods.seeds", "methods.cutoffs", "evaluations", "evaluate.checkpoints"),
        *("evaluate.periods", "resources.workers", "resources.micro_batch_rows"),
    ),
    "recipe": (
        *("documents.paths", "documents.fields.text", "documents.fields.timestamp", "documents.fields.source"),
        *("splits.eval", "filters", "tokenizer.vocab_size", "length"),
    ),
    "examples": ("examples.paths",),
}
"""The first tier, by kind of file. The packaged files and the questions of newcomers say which keys these are."""


def found(kind: type[Settings], path: str) -> Iterator[tuple[type[Settings], str]]:
    """Yield each class of settings and its field that `path` ("methods.schedule.max_rate") leads to from `kind`.

    Where several classes can stand, as at `schedule`, the path goes on in each one that has the next name.
    """
    name, _, rest = path.partition(".")
    if name not in kind.model_fields:
        return
    if not rest:
        yield kind, name
        return
    for inner in settings_in(kind.model_fields[name].annotation):
        yield from found(inner, rest)


@cache
def first_fields() -> frozenset[tuple[type[Settings], str]]:
    """Return the fields of the first tier, and those that lead to them, each with its class."""
    return frozenset(
        field
        for name, paths in FIRST.items()
        for path in paths
        for end in range(path.count(".") + 1)
        for field in found(FILES[name].settings, ".".join(path.split(".")[: end + 1]))
    )
