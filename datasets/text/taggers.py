"""Taggers: find the salient spans of texts, by a spaCy pipeline, by rules, or where the text itself marks them.

A tagger sees one text at a time: the same text has the same spans wherever it is tagged. For that, spaCy gets texts one
by one: a transformer pads a batch, and its numbers depend on how far.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Annotated, Any, Literal, Protocol

from pydantic import Field

from ticlm.core.errors import InputError
from ticlm.core.periods import Label
from ticlm.core.reading.plain import Plain
from ticlm.core.settings import Settings
from ticlm.datasets.text import pipelines
from ticlm.datasets.text.rule_spans import SpanLabel, rule_spans
from ticlm.datasets.text.spans import Span, apart, outlined, stripped

Tagged = tuple[str, list[Span]]
BATCH = 1
"""Texts that spaCy gets at once."""
_SETTING = "tagger.pipeline"


class Tagger(Protocol):
    """Finds spans in texts."""

    @property
    def identity(self) -> Any:
        """Return what decides the spans: for a model from outside, the hash of its files and not its path."""
        ...

    @property
    def external_inputs(self) -> str | None:
        """Return a line that declares a model from outside the timeline; None if there is none."""
        ...

    def tagged(self, texts: Sequence[str]) -> Iterator[Tagged]:
        """Yield each text with its spans, in order and apart, without white space at their ends. The text is as it was
        given, but for characters that mark spans in it."""
        ...


class SpacyTagger(Settings):
    """The entities of a spaCy pipeline (`doc.ents`), an installed package by name or a folder; nothing is downloaded.

    EvolvingQA takes all entities and dates of en_core_web_trf. The pipeline comes from outside the timeline.
    """

    kind: Literal["spacy"] = "spacy"
    pipeline: str
    """Name of an installed spaCy pipeline, or its folder; nothing is downloaded."""
    labels: tuple[str, ...] = ()
    """Labels of the entities to keep, such as PERSON and DATE; by default all."""
    as_of: Label
    """The last period whose text the pipeline may have seen; it comes from outside the timeline."""

    @cached_property
    def _folder(self) -> Path:
        return pipelines.folder_of(self.pipeline, _SETTING)

    @cached_property
    def _digest(self) -> str:
        self._check_labels()
        return pipelines.digest_of(self._folder)

    @property
    def identity(self) -> tuple[str, str, tuple[str, ...]]:
        """Return the hash of the pipeline's files, and the labels. Raises InputError if it never gives one of them."""
        return self.kind, self._digest, tuple(sorted(set(self.labels)))

    @property
    def external_inputs(self) -> str:
        """Return a line that names the pipeline, which comes from outside the timeline."""
        return f"salient spans by {pipelines.title_of(self._folder)}, as of {self.as_of}"

    def tagged(self, texts: Sequence[str]) -> Iterator[Tagged]:
        """Yield each text with its entities."""
        wanted = frozenset(self.labels)
        for text, doc in zip(texts, _loaded(self._folder, self.pipeline).pipe(texts, batch_size=BATCH), strict=True):
            ents = [Span(ent.start_char, ent.end_char, ent.label_) for ent in doc.ents]
            yield text, stripped(text, [span for span in ents if not wanted or span.label in wanted])

    def _check_labels(self) -> None:
        """Raise InputError if the pipeline has no entities, or never gives one of the labels."""
        pipeline = _loaded(self._folder, self.pipeline)
        finding = [name for name in pipeline.pipe_names if "doc.ents" in pipeline.get_pipe_meta(name).assigns]
        if not finding:
            parts = ", ".join(pipeline.pipe_names) or "none"
            raise InputError(f"{_SETTING}: {self.pipeline} finds no entities; it has the components {parts}")
        known = {label for name in finding for label in getattr(pipeline.get_pipe(name), "labels", ())}
        if unknown := sorted(set(self.labels) - known):
            has = ", ".join(sorted(known))
            raise InputError(f"tagger.labels: {self.pipeline} never gives {', '.join(unknown)}; it knows {has}")


@lru_cache(maxsize=1)  # a worker tags many parts of one corpus
def _loaded(folder: Path, pipeline: str) -> Any:
    found = pipelines.loaded(folder, pipeline, _SETTING)
    found.max_length = sys.maxsize
    return found


class NameLabel(Settings):
    """A label for names by their last word."""

    label: str
    """The label, such as ORG."""
    last: tuple[str, ...] = ()
    """The last words of names of this label, such as Bank and Steel; by default all that no other label has."""


class RulesTagger(Settings, version=2):
    """Dates, years, numbers, ordinals, and names of several words that do not begin a sentence.

    It needs no model. For tests, and for machines without a pipeline: it misses names of one word, and all that may be
    part of a longer name.
    """

    kind: Literal["rules"] = "rules"
    labels: tuple[SpanLabel, ...] = ("DATE", "NAME", "NUMBER", "ORDINAL")
    """Kinds of spans to find."""
    names: tuple[NameLabel, ...] = ()
    """Labels of names by their last word, such as `{label: ORG, last: [Bank, Steel]}`; by default all are NAME."""

    def without_meaning(self) -> frozenset[str]:
        return frozenset() if self.names else frozenset({"names"})

    @property
    def identity(self) -> Settings:
        """Return the settings."""
        return self

    @property
    def external_inputs(self) -> None:
        """Return None: nothing comes from outside."""
        return None

    def tagged(self, texts: Sequence[str]) -> Iterator[Tagged]:
        """Yield each text with what the rules find in it."""
        for text in texts:
            found = rule_spans(text)
            yield text, [self._named(text, span) for span in apart(s for label in self.labels for s in found[label])]

    def _named(self, text: str, span: Span) -> Span:
        """Return a span with the label of its last word, if it is a name and there are labels for names."""
        if span.label != "NAME" or not self.names:
            return span
        last = text[span.begin : span.end].rsplit(" ", 1)[-1]
        rest = next((one.label for one in self.names if not one.last), span.label)
        return span._replace(label=next((one.label for one in self.names if last in one.last), rest))


class MaskedTagger(Settings):
    """The spans that the text itself marks, in files that were masked before (`documents.kind: masked-csv`)."""

    kind: Literal["masked"] = "masked"

    @property
    def identity(self) -> Settings:
        """Return the settings."""
        return self

    @property
    def external_inputs(self) -> str:
        """Return a line that says that the spans were chosen elsewhere."""
        return "salient spans as the files mask them"

    def tagged(self, texts: Sequence[str]) -> Iterator[Tagged]:
        """Yield each text without its marks, and the spans that they stood around."""
        for plain, spans in map(outlined, texts):
            yield plain, stripped(plain, spans)


AnyTagger = Annotated[
    Annotated[SpacyTagger | RulesTagger | MaskedTagger, Field(discriminator="kind")],
    Plain("kind", Literal["rules", "masked"]),
]
