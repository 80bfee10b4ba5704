"""Lines on periods whose splits are lopsided: too much or too little held out, few documents, hardly any rows."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import accumulate

from ticlm.core.corpus import PeriodManifest
from ticlm.core.mixture import Split
from ticlm.datasets.corpus.pack import TOKEN_REASONS
from ticlm.datasets.corpus.splits import SPLITS, Splits, stated

FAR = 0.5
"""A held-out share is far from what the recipe asks for if it differs by more than this part of it."""
MOST = 0.4
"""Largest held-out share that is not said to be large, if the recipe asks for less."""
FEW = 0.5
"""Share of a period's text that its three longest documents must make to be named."""
LEAST_ROWS = 20
"""Rows below which a mean over a split says little: at a spread of 0.5 nats between rows, it has an error of 0.1."""
NAMED = 5
"""Periods that a line names after the worst one."""

Manifests = Mapping[str, PeriodManifest]


def lopsided(manifests: Manifests) -> list[str]:
    """Return a line for each kind of fault that any of these periods has: it says what the worst period has, and names
    others. A period without rows to train on or to evaluate on is told by all that reads it."""
    off = {label: far for label, manifest in manifests.items() if (far := _far(manifest))}
    few = {label: _longest(manifests[label])[1] for label in manifests if label not in off}
    few = {label: share for label, share in few.items() if share}
    rows = {
        label: -least
        for label, one in manifests.items()
        if (least := min(_rows(one).values(), default=LEAST_ROWS)) < LEAST_ROWS
    }
    hints = {_hint(manifests[label]) for label in off}
    hint = hints.pop() if len(hints) == 1 else ""
    return [
        *_line(off, lambda label: _share_line(manifests[label]), hint),
        *_line(few, lambda label: f"{_few(manifests[label])} its text"),
        *_line(rows, lambda label: _rows_line(manifests[label])),
    ]


def _line(worst: Mapping[str, float], said: Callable[[str], str], hint: str = "") -> list[str]:
    """Return the line of a kind of fault, given how bad it is in each period that has it; none if none has."""
    if not worst:
        return []
    first = max(worst, key=lambda label: worst[label])
    others = [label for label in worst if label != first]
    shown = ", ".join(others[:NAMED]) + (", …" if len(others) > NAMED else "")
    more = f" (and {len(others)} more {'period' if len(others) == 1 else 'periods'}: {shown})" if others else ""
    return [f"{first}: {said(first)}{more}{hint}"]


def _far(manifest: PeriodManifest) -> float:
    """Return by how much the held-out share differs from what is asked for, if that is far; else 0, also of one or two
    documents: no split of these comes near, and a line on few documents names them."""
    have, want = _held_out(manifest), _asked(manifest)
    documents = sum(manifest.splits[split].documents for split in SPLITS if split in manifest.splits)
    is_far = abs(have - want) > FAR * want or have > max(MOST, want)
    return abs(have - want) if want and is_far and documents > 2 and _bytes(manifest) else 0.0


def _bytes(manifest: PeriodManifest) -> int:
    return sum(manifest.splits[split].bytes for split in SPLITS if split in manifest.splits)


def _held_out(manifest: PeriodManifest) -> float:
    """Return the share of the period's text that is held out; 0 without text. Bytes of text are counted, as
    `held_out.rows` may leave fewer rows."""
    train = manifest.splits["train"].bytes if "train" in manifest.splits else 0
    return 1 - train / whole if (whole := _bytes(manifest)) else 0.0


def _asked(manifest: PeriodManifest) -> float:
    """Return the share that the period's recipe asks to hold out; 0 if its record does not say."""
    splits = stated(manifest.lineage.recipe)
    return 1 - splits.shares["train"] / sum(splits.shares.values()) if splits is not None else 0.0


def _hint(manifest: PeriodManifest) -> str:
    """Return what would meet the shares; nothing if the recipe already says so."""
    splits = stated(manifest.lineage.recipe)
    by_documents = isinstance(splits, Splits) and splits.by == "documents"
    return "; splits.by: tokens, in a new version of the corpus, meets shares in text" if by_documents else ""


def _share_line(manifest: PeriodManifest) -> str:
    line = f"{_held_out(manifest):.0%} of its text is held out, where the recipe asks for {_asked(manifest):.0%}"
    return f"{line}; {_few(manifest)} it" if _longest(manifest)[1] else line


def _longest(manifest: PeriodManifest) -> tuple[int, float]:
    """Return the fewest of the three longest documents that make FEW of the period's tokens, or all three, and the
    share that they make."""
    tokens = sum(manifest.splits[split].tokens for split in SPLITS if split in manifest.splits)
    tokens += sum(count for reason, count in manifest.dropped.items() if reason in TOKEN_REASONS)
    shares = [count / tokens for count in accumulate(manifest.accounting.largest)] if tokens else []
    return next(((n, min(1.0, share)) for n, share in enumerate(shares, 1) if share >= FEW), (len(shares), 0.0))


def _few(manifest: PeriodManifest) -> str:
    count, share = _longest(manifest)
    return f"{'one document makes' if count == 1 else f'{count} documents make'} {share:.0%} of"


def _rows(manifest: PeriodManifest) -> dict[Split, int]:
    """Return the rows of train and eval, if the recipe asks for the split, or documents are in it."""
    splits = stated(manifest.lineage.recipe)
    found = {split: manifest.splits[split] for split in SPLITS[:2] if split in manifest.splits}
    asked = {} if splits is None else splits.shares
    return {split: one.rows for split, one in found.items() if one.documents or asked.get(split)}


def _rows_line(manifest: PeriodManifest) -> str:
    counts = " and ".join(f"{count} {split} rows" for split, count in _rows(manifest).items())
    return f"{counts}; a mean over fewer than {LEAST_ROWS} says little"
