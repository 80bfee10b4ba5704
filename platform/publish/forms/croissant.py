"""Croissant (1.1): what a corpus is, as JSON-LD that data set tools read: files, hashes, columns, dates and inputs.

The file lies beside `corpus.json`, since the URLs in it are relative to the corpus. The form is
https://docs.mlcommons.org/croissant/docs/croissant-spec-1.1.html.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import date, timedelta
from posixpath import basename
from typing import Any, Literal

from ticlm.core import paths
from ticlm.core.corpus import Corpus
from ticlm.core.errors import InputError
from ticlm.core.settings import Settings
from ticlm.core.token_rows import SPANS, Column

FILE = "croissant.json"
"""Where the description of a corpus lies, relative to the corpus."""
CONFORMS_TO = "http://mlcommons.org/croissant/1.1"
PARQUET = ("application/vnd.apache.parquet", "application/x-parquet")
"""The registered type of Parquet files, and the older one, by which mlcroissant 1.1 knows how to read them."""
PERIOD_IN_PATH = f"^(?:.*/)?{paths.PERIODS}/([^/]+)/.*$"
TERMS = (
    *("arrayShape", "citeAs", "column", "containedIn", "equivalentProperty", "extract", "field", "fileObject"),
    *("fileProperty", "fileSet", "format", "includes", "isArray", "isLiveDataset", "jsonPath", "key", "md5"),
    *("parentField", "path", "recordSet", "references", "regex", "repeated", "replace", "samplingRate", "separator"),
    *("source", "subField", "transform"),
)
CONTEXT: Mapping[str, Any] = {
    "@language": "en",
    "@vocab": "https://schema.org/",
    "sc": "https://schema.org/",
    "cr": "http://mlcommons.org/croissant/",
    "rai": "http://mlcommons.org/croissant/RAI/",
    "dct": "http://purl.org/dc/terms/",
    "prov": "http://www.w3.org/ns/prov#",
    "conformsTo": "dct:conformsTo",
    "data": {"@id": "cr:data", "@type": "@json"},
    "dataType": {"@id": "cr:dataType", "@type": "@vocab"},
    "examples": {"@id": "cr:examples", "@type": "@json"},
    "name": {"@container": "@language"},
    "description": {"@container": "@language"},
} | {term: f"cr:{term}" for term in TERMS}
"""The context that the specification gives, and the vocabulary of provenance."""


class CorpusCreator(Settings):
    """Who made a corpus."""

    name: str
    kind: Literal["person", "organization"] = "organization"
    url: str | None = None


class CorpusNotes(Settings):
    """What a corpus cannot know of itself."""

    description: str
    licence: str
    """URL of the licence, or its name in the list of SPDX."""
    url: str
    """Page of the corpus."""
    creators: tuple[CorpusCreator, ...]
    citation: str | None = None
    """How to cite it, as BibTeX."""
    published: date | None = None
    languages: tuple[str, ...] = ()
    """Codes of the languages of its text, such as en."""


def croissant(corpus: Corpus, periods: Sequence[str], about: CorpusNotes) -> dict[str, Any]:
    """Return the description of some periods of a corpus, which depends on the corpus and the notes alone.

    Every shard is a file with its size and SHA-256; the shards of a split are a file set, and its rows a record set,
    whose columns of tokens are bytes (a record's `period` is read from the path of its shard). Raises InputError if a
    period was never built, or if there is none.
    """
    manifests = corpus.periods
    if not periods:
        raise InputError(f"a description of corpus {corpus.info.id} needs at least one period")
    ordered = [label for label in manifests if label in periods]
    if absent := [label for label in periods if label not in manifests]:
        raise InputError(f"corpus {corpus.info.id} has no period {absent[0]}; it has {', '.join(manifests) or 'none'}")
    first = min(manifests[label].period.start for label in ordered)
    last = max(manifests[label].period.end for label in ordered) - timedelta(days=1)
    inputs = sorted({one for label in ordered for one in manifests[label].lineage.inputs})
    shards = {split: _shards(corpus, ordered, split) for split in ("train", "eval", "tune")}
    shards = {split: files for split, files in shards.items() if files}
    days = [first.isoformat(), last.isoformat()]
    return {
        "@context": dict(CONTEXT),
        "@type": "sc:Dataset",
        "conformsTo": CONFORMS_TO,
        "name": corpus.info.name,
        "version": corpus.info.version,
        **_notes(about),
        "temporalCoverage": "/".join(days),
        # The specification of RAI spells it so; mlcroissant 1.1.1 looks for the other spelling.
        "rai:dataCollectionTimeframe": days,
        "rai:dataCollectionTimeFrame": days,
        **({"prov:wasDerivedFrom": inputs} if inputs else {}),
        "distribution": [
            _tokenizer(corpus),
            *(file for files in shards.values() for file in files),
            *(_file_set(split, files) for split, files in shards.items()),
        ],
        "recordSet": [_record_set(corpus, split) for split in shards],
    }


def _notes(about: CorpusNotes) -> dict[str, Any]:
    """Return the keys of a data set that come from the notes."""
    creators = [
        {"@type": f"sc:{one.kind.capitalize()}", "name": one.name} | ({"url": one.url} if one.url else {})
        for one in about.creators
    ]
    notes = {
        "description": about.description,
        "license": about.licence,
        "url": about.url,
        "creator": creators,
        "citeAs": about.citation,
        "datePublished": about.published.isoformat() if about.published else None,
        "inLanguage": list(about.languages),
    }
    return {key: value for key, value in notes.items() if value}


def _tokenizer(corpus: Corpus) -> dict[str, Any]:
    """Return the file without which nobody can read the tokens."""
    path = f"{paths.TOKENIZER}/tokenizer.json"
    return {
        "@type": "cr:FileObject",
        "@id": path,
        "name": basename(path),
        "description": f"The tokenizer: a vocabulary of {corpus.info.tokenizer.vocab_size} tokens.",
        "contentUrl": path,
        "encodingFormat": "application/json",
        "sha256": corpus.info.tokenizer.sha256,
    }


def _shards(corpus: Corpus, periods: Sequence[str], split: Any) -> list[dict[str, Any]]:
    """Return the files of a split with rows, and those with the spans of the rows, oldest period first."""
    found = []
    for label in periods:
        manifest = corpus.periods[label].splits.get(split)
        if manifest is None:
            continue
        for path, file in zip(corpus.files(label, split), manifest.files):
            found.append(_file(path, file.bytes, file.sha256, f"{file.rows} rows of {split}, period {label}."))
        for file in manifest.spans:
            # relative to the attempt, as the path of a shard is
            attempt = corpus.files(label, split)[0].removesuffix(manifest.files[0].path)
            found.append(_file(attempt + file.path, file.bytes, file.sha256, f"Spans of rows of {split}, {label}."))
    return found


def _file(path: str, size: int, sha256: str, description: str) -> dict[str, Any]:
    return {
        "@type": "cr:FileObject",
        "@id": path,
        "name": basename(path),
        "description": description,
        "contentUrl": path,
        "contentSize": f"{size} B",
        "encodingFormat": list(PARQUET),
        "sha256": sha256,
    }


def _file_set(split: str, files: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return the set of a split's shards: one pattern for each folder, so that what other attempts left is no part."""
    shards = [file["contentUrl"] for file in files if not file["name"].startswith(SPANS)]
    patterns = dict.fromkeys(re.sub(r"\d+\.parquet$", "*.parquet", path) for path in shards)
    return {
        "@type": "cr:FileSet",
        "@id": f"{split}-shards",
        "name": f"{split}-shards",
        "description": f"The shards of {split}, of all periods.",
        "encodingFormat": list(PARQUET),
        "includes": list(patterns),
    }


def _record_set(corpus: Corpus, split: str) -> dict[str, Any]:
    """Return the records of a split: a field for each column of tokens, the source if rows carry one, the period."""
    shards = {"fileSet": {"@id": f"{split}-shards"}}
    fields = [
        _field(split, column.name, _meaning(column), shards | {"extract": {"column": column.name}})
        for column in corpus.info.columns
    ]
    if corpus.info.sources and split != "train":
        extract = {"extract": {"column": "source"}}
        fields.append(_field(split, "source", "The source of the row's text.", shards | extract))
    extract = {"extract": {"fileProperty": "fullpath"}, "transform": {"regex": PERIOD_IN_PATH}}
    fields.append(_field(split, "period", "The period of the row's text.", shards | extract))
    return {
        "@type": "cr:RecordSet",
        "@id": split,
        "name": split,
        "description": f"The rows of {split}: token ids, in the order in which they are stored.",
        "field": fields,
    }


def _meaning(column: Column) -> str:
    # Croissant has no type for bytes: readers of sc:Text hand them on as they are.
    kind = "16" if column.dtype == "uint16" else "32"
    padding = "" if column.pad is None else f" Short rows are filled with {column.pad}."
    return f"{column.length} token ids, unsigned {kind}-bit integers, little-endian, as binary of fixed size.{padding}"


def _field(split: str, name: str, description: str, source: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "@type": "cr:Field",
        "@id": f"{split}/{name}",
        "name": name,
        "description": description,
        "dataType": "sc:Text",
        "source": dict(source),
    }
