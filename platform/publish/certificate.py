"""The certificate of a vintage: what a model of a date has read, what it was made by, and how that can be checked.

It is the predicate `vintage/v1` of an in-toto statement whose subjects are the files of the vintage. Everything in it
follows from a study, the manifests of its corpora and the records of its rounds, so `ticlm verify` computes it again.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date
from pathlib import PurePosixPath
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field

from ticlm.core.corpus import TokenizerInfo
from ticlm.core.errors import InputError
from ticlm.core.integrity.records import StoredFile
from ticlm.core.periods import Label, span
from ticlm.core.settings import Settings
from ticlm.datasets.lint.report import PeriodLint

PREDICATE = "urn:ticlm:vintage/v1"
"""Type of the predicate; a number behind it that is higher belongs to a later release."""


def _inside(file: StoredFile) -> StoredFile:
    """Refuse a file whose path leads out of its folder."""
    if not is_inside(file.path):
        raise ValueError(f"path must lie below its folder, got {file.path!r}")
    return file


def is_inside(path: str) -> bool:
    """Return whether a path leads to a file below its folder: anybody may have written what names it."""
    parts = PurePosixPath(path)
    return bool(parts.parts) and not parts.is_absolute() and ".." not in parts.parts and "\\" not in path


def _spanned(label: str) -> str:
    span(label)
    return label


def _a_day(text: str) -> str:
    date.fromisoformat(text)
    return text


Sha256 = Annotated[str, Field(pattern="^[0-9a-f]{64}$")]
PeriodName = Annotated[Label, AfterValidator(_spanned)]
CorpusName = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*@[A-Za-z0-9][A-Za-z0-9._-]*$")]
AttemptName = Annotated[str, Field(pattern=r"^[A-Za-z0-9-]+$")]
FileInside = Annotated[StoredFile, AfterValidator(_inside)]


def certificate_schema() -> dict[str, Any]:
    """Return the JSON schema (draft 2020-12) of a certificate, which is packaged as `forms/schemas/vintage-v1.json`."""
    about = VintageCertificate.model_json_schema()
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", "$id": PREDICATE, **about}


class OutsideInput(Settings):
    """Something that reached the weights from outside the timeline, and the period that it is of, as was declared."""

    what: str
    as_of: str


class PeriodRead(Settings):
    """A period of a corpus, as far as the vintage read it."""

    label: PeriodName
    first_day: str
    last_day: str
    documents: int
    rows: int
    tokens: int
    sha256: Sha256
    """Identity of its training rows."""
    record: Sha256
    """Hash of the period's record, which names all its files."""
    dating: str = ""
    """The rule by which documents were dated; empty where an older release built the period."""
    newest: dict[str, str] = Field(default_factory=dict)
    """Source -> the time of its newest document, in UTC; empty where an older release built the period."""


class CorpusRead(Settings):
    """A corpus that the vintage was trained on."""

    id: CorpusName
    info: Sha256
    """Hash of what never changes in it (`corpus.json`)."""
    recipe: str
    """Fingerprint of all that reaches its bytes."""
    tokenizer: TokenizerInfo
    periods: tuple[PeriodRead, ...]


class MadeBy(Settings):
    """Code, libraries and hardware that made a round, and what else reaches its last bits; empty where it is not known,
    as an older release trained the round."""

    code: str = ""
    ticlm: str = ""
    torch: str = ""
    transformers: str = ""
    numpy: str = ""
    python: str = ""
    processor: str = ""
    instructions: str = ""
    device: Literal["", "cpu", "cuda", "mps"] = ""
    gpu: str = ""
    workers: int = 1
    threads: int | None = Field(None, ge=1, le=1024)
    micro_batch_rows: int | None = Field(None, ge=1)
    compiled: bool | None = None


class RoundMade(Settings):
    """A round on the way to the vintage: what it read, and what came of it."""

    id: Sha256
    kind: Literal["round", "average", "sample"]
    """`round`, `average` of rounds, or `sample` of rows."""
    period: Annotated[Label, Field(pattern=r"^[A-Za-z0-9.-]+$")]
    """Its period; `outside` for a model whose date is not known."""
    needs: tuple[Sha256, ...]
    """Ids of the rounds that it starts from."""
    steps: int
    tokens: int
    reads: dict[str, int] = Field(default_factory=dict)
    """Source (`corpus/period/split`) -> tokens that it was given of it; 0: a penalty reads it."""
    attempt: AttemptName
    """Name of the attempt that finished it."""
    files: tuple[FileInside, ...]
    """The files that it left, relative to the attempt."""
    loss: float | None = None
    seconds: float = 0.0
    """For how long it was trained."""
    made_by: MadeBy = MadeBy()

    @property
    def model(self) -> dict[str, StoredFile]:
        """The files of its model folder, by their names there."""
        return {f.path.removeprefix("model/"): f for f in self.files if f.path.startswith("model/")}


class TuneLosses(Settings):
    """Losses on tune rows that decided the shares of a round. They are stated, and not computed again."""

    round: str
    """Key of the round in the tree of the study."""
    periods: tuple[str, ...]
    rows: int | None
    losses: dict[str, float]


class VintageCertificate(Settings):
    """Everything that is stated about a vintage."""

    vintage: PeriodName
    """Its period."""
    cutoff: Annotated[str, AfterValidator(_a_day)]
    """The last day of its period: no text that it read is said to be later."""
    place: str
    """Where it was published."""
    study: str
    method: str
    seed: int
    round: Sha256
    """Id of the round whose weights it has."""
    before: str = ""
    """Period of the vintage before it, from which it goes on; empty: there is none."""
    settings: dict[str, Any]
    """The study, cut at this vintage, with this method alone; rounds follow from it and from the corpora."""
    corpora: tuple[CorpusRead, ...]
    outside: tuple[OutsideInput, ...] = ()
    models: dict[str, Sha256] = Field(default_factory=dict)
    """Imported model, as the settings name it -> hash of its files."""
    rounds: tuple[RoundMade, ...]
    """All rounds on the way to it, parents before children; the last one is its own."""
    tune_losses: tuple[TuneLosses, ...] = ()
    lint: dict[str, PeriodLint] = Field(default_factory=dict)
    """Period -> how many pieces of its training text look later than their date (`ticlm data lint`)."""
    lint_rules: str = ""
    """Hash of the rules and tables that found them; empty: the text was not looked through."""
    leak_tests: tuple[dict[str, Any], ...] = ()
    """Whether it prefers new values of facts that changed after its date, with the power to find that out."""
    inputs: str = ""
    """Where the rows lie that rounds are run again on; empty: they were not published."""
    licence: str = ""
    release: str
    """The release of ticlm that wrote it."""

    @property
    def own_code(self) -> list[str]:
        """The classes of the publisher's own that its settings name, which no release of ticlm has."""
        return sorted(set(_own_kinds(self.settings)))

    def made(self, round_id: str) -> RoundMade:
        """Return what it says of a round on the way to it. Raises InputError if it says nothing."""
        for one in self.rounds:
            if one.id == round_id:
                return one
        raise InputError(f"the certificate does not name round {round_id[:12]}, from which another one starts")


def _own_kinds(value: Any) -> Iterator[str]:
    """Yield every `kind` of some settings that is an import path."""
    if isinstance(value, dict):
        kind = value.get("kind")
        if isinstance(kind, str) and ":" in kind:
            yield kind
    for item in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from _own_kinds(item)
