"""Token streams: the tokens of the documents of a part, in order, for each set of rows they belong to.

<staging>/periods/<period>/tokens/<part>          token ids, little-endian
<staging>/periods/<period>/tokens/<part>.hosts    tokens by host of the train split (Hosts)
<staging>/periods/<period>/tokens/<part>.json     Stream, written last

If the recipe's rows need spans, `salient.span_files` keeps tags and spans beside them.
"""

from __future__ import annotations

import functools
import heapq
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Literal

import numpy as np
from pydantic import Field

from ticlm.core.accounting import Host
from ticlm.core.corpus import TokenizerInfo
from ticlm.core.mixture import Split
from ticlm.core.settings import Settings
from ticlm.core.store import Store
from ticlm.datasets.corpus.growth.grown import GrownTokenizer
from ticlm.datasets.corpus.pairs.row_makers import PARTS, Parting
from ticlm.datasets.corpus.parts import DocumentSpan, Staged, period_folder, staged
from ticlm.datasets.corpus.salient import span_files
from ticlm.datasets.corpus.salient.marking import Marked, Marking, marked
from ticlm.datasets.corpus.splits import HeldOut
from ticlm.datasets.corpus.tokenizers import StreamEncoder, TrainedTokenizer
from ticlm.datasets.text import pairs
from ticlm.datasets.text.spans import plain

HOSTS = 1000
"""Most hosts counted in one part."""
LARGEST = 3
"""Longest documents of which the tokens are counted."""


class TokenSection(Settings):
    """The tokens of one set of rows (and of one of its sources) in a part. The sections of a part follow one another in
    its file. `subsets` are counted for the train split alone."""

    split: Split
    source: str
    documents: int
    bytes: int
    tokens: int
    subsets: dict[str, int] = Field(default_factory=dict)
    spans: int = 0
    largest: tuple[int, ...] = ()
    """Tokens of the LARGEST longest documents."""


class Stream(Settings):
    """The tokens of a part: a file of little-endian token ids."""

    path: str
    sections: tuple[TokenSection, ...]


class Hosts(Settings):
    """The hosts with the most tokens in the train split of a part."""

    hosts: tuple[Host, ...] = ()


class Sets(Settings):
    """Which sets of rows documents belong to, whether repeated text was judged, how documents are marked, and, if they
    are pairs, how they are parted."""

    by_source: bool = False
    held_out: HeldOut = HeldOut()
    deduplicated: bool = False
    marking: Marking | None = None
    pairs: Parting | Literal[""] = ""


def tokenise(store: Store, folder: str, sets: Sets, info: TokenizerInfo, threads: int, part: DocumentSpan) -> None:
    """Write the tokens of a part into its period's folder, and then their description, unless both exist. `threads`
    batches of texts are encoded at a time."""
    path = stream_path(folder, part.period, part.number)
    if store.exists(f"{path}.json"):
        return
    encoder = _encoder(store.root, info, threads)
    sections, blocks, found, largest = [], [], list[Marked](), Hosts()
    for split, source, documents in _sections(store, folder, sets, part):
        if sets.pairs:
            parts = [piece for text in documents.texts for piece in PARTS[sets.pairs](text)]
            tokens, lengths = encoder.encode(parts)
            lengths, spans = lengths.reshape(-1, 2).sum(1), 0
        elif sets.marking is None:
            tokens, lengths = encoder.encode(documents.texts)
            spans = 0
        else:
            mine = marked(sets.marking, documents.texts, encoder)
            tokens, lengths = [one.tokens for one in mine], np.array([len(one.tokens) for one in mine], np.int64)
            found += mine
            spans = sum(len(one.spans) for one in mine)
        blocks += tokens
        size = sum(len(text.encode()) for text in documents.texts)
        subsets: dict[str, int] = {}
        if split == "train":
            subsets, hosts = _whose(documents, lengths)
            largest = Hosts(hosts=hosts)
        count = int(lengths.sum())
        section = TokenSection(
            split=split, source=source, documents=len(lengths), bytes=size, tokens=count, subsets=subsets
        )
        longest = tuple(heapq.nlargest(LARGEST, lengths.tolist()))
        sections.append(section.model_copy(update={"spans": spans, "largest": longest}))
    if sets.marking is not None:
        span_files.write_part(store, path, found)
    little = encoder.dtype.newbyteorder("<")
    store.write(path, b"".join(block.astype(little, copy=False).tobytes() for block in blocks))
    store.write(f"{path}.hosts", largest.model_dump_json().encode())
    stream = Stream(path=path, sections=tuple(sections))
    store.write(f"{path}.json", stream.model_dump_json().encode())


def stream_path(folder: str, period: str, part: int) -> str:
    return f"{period_folder(folder, period)}/tokens/{part:05d}"


def streams(store: Store, folder: str, period: str, parts: int) -> Iterator[tuple[Stream, Hosts]]:
    """Yield the streams of a period in the order of its parts, and the hosts of each."""
    for path in (stream_path(folder, period, part) for part in range(parts)):
        stream, hosts = (store.read_json(f"{path}.{kind}") for kind in ("json", "hosts"))
        yield Stream.model_validate(stream), Hosts.model_validate(hosts)


def texts_of(store: Store, folder: str, sets: Sets, parts: Sequence[DocumentSpan], split: Split) -> Iterator[str]:
    """Yield the texts of one split in order, with one part in memory at a time."""
    for part in parts:
        for found, documents in staged(store, part):
            if found == split:
                yield from _left(store, folder, sets, part, split, documents).texts


def train(
    store: Store,
    folder: str,
    sets: Sets,
    tokenizer: TrainedTokenizer | GrownTokenizer,
    special: tuple[str, ...],
    period: str,
    parts: Sequence[DocumentSpan],
) -> TokenizerInfo:
    """Train the corpus's tokenizer, or let it grow, on the train texts of a period, with these special tokens."""
    texts = texts_of(store, folder, sets, parts, "train")
    shown = map(pairs.plain, texts) if sets.pairs else map(plain, texts) if sets.marking else texts
    return tokenizer.train(shown, period, store, special)


def _sections(store: Store, folder: str, sets: Sets, part: DocumentSpan) -> Iterator[tuple[Split, str, Staged]]:
    for split, everything in staged(store, part):
        documents = _left(store, folder, sets, part, split, everything)
        if split == "train":
            yield split, "", documents
            continue
        yield from _held_out(split, documents, sets, "")
        if sets.held_out.clean:
            clean = _left(store, folder, sets, part, split, everything, clean=True)
            yield from _held_out(split, clean, sets, ".clean")


def _held_out(split: Split, documents: Staged, sets: Sets, suffix: str) -> Iterator[tuple[Split, str, Staged]]:
    sources = sorted(set(documents.sources)) if sets.by_source else []
    yield from ((f"{split}{suffix}", source, documents.of(source)) for source in sources)
    if not sets.by_source:
        yield f"{split}{suffix}", "", documents
    for subset in sets.held_out.subsets:
        yield f"{split}.{subset}{suffix}", "", documents.of(subset)


def _left(
    store: Store, folder: str, sets: Sets, part: DocumentSpan, split: Split, documents: Staged, clean: bool = False
) -> Staged:
    if not sets.deduplicated:
        return documents
    from ticlm.datasets.corpus.dedup_pass import kept

    return kept(store, folder, part, split, documents, clean)


def _whose(documents: Staged, lengths: np.ndarray) -> tuple[dict[str, int], tuple[Host, ...]]:
    """Return the tokens of each source, and the hosts with the most tokens, given int64[documents] tokens."""
    subsets: Counter[str] = Counter()
    counts: Counter[str] = Counter()
    tokens: Counter[str] = Counter()
    for source, host, length in zip(documents.sources, documents.hosts, lengths.tolist(), strict=True):
        subsets[source] += length
        if host:
            counts[host] += 1
            tokens[host] += length
    most = sorted(tokens, key=lambda host: (-tokens[host], host))[:HOSTS]
    hosts = tuple(Host(name=host, documents=counts[host], tokens=tokens[host]) for host in most)
    return dict(sorted(subsets.items())), hosts


@functools.lru_cache(maxsize=1)  # a Ray worker runs many parts of one corpus
def _encoder(root: str, info: TokenizerInfo, threads: int) -> StreamEncoder:
    return StreamEncoder(Store(root), info, threads)
