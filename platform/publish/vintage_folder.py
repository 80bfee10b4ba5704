"""Writing the folder of a vintage: the model, its card, its scores, its certificate and its provenance."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import yaml

from ticlm.core import paths
from ticlm.core.token_rows import ShardFile
from ticlm.platform.publish import card
from ticlm.platform.publish.certificate import PREDICATE, VintageCertificate
from ticlm.platform.publish.forms.croissant import CorpusCreator, CorpusNotes, croissant
from ticlm.platform.publish.forms.documents import to_bytes
from ticlm.platform.publish.forms.provenance import PREDICATE as PROVENANCE
from ticlm.platform.publish.forms.provenance import Dependency, provenance
from ticlm.platform.publish.forms.statement import AttestedFile, statement
from ticlm.platform.publish.lineage import VintageLineage
from ticlm.platform.publish.vintage_files import CERTIFICATE, FOLDER, METRICS, PROVENANCE_FILE, hashes
from ticlm.platform.report.report import Report

BUILD = "urn:ticlm:round/v1"
"""What the parameters of the provenance mean: a study, whose rounds follow from it and the corpora."""


@dataclass(frozen=True)
class VintageNames:
    """How the vintage, the one before it and the data of its scores are called."""

    address: str
    base: str
    dataset: str


def write(
    folder: Path, lineage: VintageLineage, about: VintageCertificate, report: Report, names: VintageNames
) -> None:
    """Write a vintage to an empty folder, but for its signature."""
    record = lineage.record
    _model(folder, lineage)
    (folder / FOLDER).mkdir(exist_ok=True)
    store, own = lineage.plan.store, paths.attempt(paths.round_folder(about.round), record.attempt)
    assert store is not None
    if store.exists(paths.metrics(own)):  # an average of rounds has none
        (folder / METRICS).write_bytes(store.read(paths.metrics(own)))
    for corpus in about.corpora:
        made = croissant(lineage.plan.corpora[corpus.id], [one.label for one in corpus.periods], _notes(about))
        (folder / FOLDER / f"{corpus.id}.croissant.json").write_bytes(to_bytes(made))
    (folder / "README.md").write_text(card.card(about, report, names.address, names.base))
    results = card.evaluation_results(about, report, names.dataset, record.created[:10])
    if results:
        (folder / ".eval_results").mkdir()
        (folder / ".eval_results/ticlm.yaml").write_text(yaml.safe_dump(results, sort_keys=False))
    subjects = [AttestedFile(name=name, sha256=sha256) for name, sha256 in hashes(folder).items()]
    stated = about.model_dump(mode="json")
    (folder / CERTIFICATE).write_bytes(to_bytes(statement(subjects, PREDICATE, stated)))
    made_from = statement(subjects, PROVENANCE, _provenance(lineage, about))
    (folder / PROVENANCE_FILE).write_bytes(to_bytes(made_from))


def _model(folder: Path, lineage: VintageLineage) -> None:
    """Put the files of the round's model into a folder, as links where the disk has them: a model of 1B has 4 GB."""
    store, made = lineage.plan.store, paths.round_folder(lineage.plan.ids[lineage.key])
    assert store is not None
    with store.local(paths.model(made, lineage.record.attempt)) as model:
        for file in (one for one in sorted(model.rglob("*")) if one.is_file()):
            target = folder / file.relative_to(model)
            target.parent.mkdir(parents=True, exist_ok=True)
            try:
                if not store.is_local:  # a copy that is deleted afterwards
                    raise OSError
                os.link(file, target)
            except OSError:
                shutil.copyfile(file, target)


def _notes(about: VintageCertificate) -> CorpusNotes:
    told = f"Rows of tokens by period, up to {about.cutoff}, which {about.study}/{about.method} was trained on."
    creators = (CorpusCreator(name=about.place.removeprefix("hf:").partition("/")[0] or about.study),)
    licence = about.licence or "not stated"
    return CorpusNotes(description=told, licence=licence, url=about.inputs or about.place, creators=creators)


def _provenance(lineage: VintageLineage, about: VintageCertificate) -> Mapping[str, Any]:
    plan, made = lineage.plan, [lineage.plan.records[key] for key in lineage.keys]
    began, ended = (datetime.fromisoformat(of(one.created for one in made)) for of in (min, max))
    dependencies = []
    where = about.inputs or "urn:ticlm:unpublished"
    for source in lineage.sources:
        corpus = plan.corpora[source.corpus]
        files: tuple[ShardFile, ...] = corpus.split(source.period, source.split).files
        for path, file in zip(corpus.files(source.period, source.split), files):
            uri = f"{where}/{paths.corpus(source.corpus)}/{path}"
            dependencies.append(Dependency(uri=uri, name=f"{source}/{file.path}", sha256=file.sha256))
    code = dict.fromkeys(one.made_by.code for one in about.rounds if one.made_by.code)
    dependencies += [Dependency(uri="pkg:pypi/ticlm", name=f"code {one[:12]}", sha256=one) for one in code]
    models = about.models.items()
    dependencies += [Dependency(uri=f"{where}/models/{h}", name=f"model {path}", sha256=h) for path, h in models]
    versions = {name: str(getattr(about.made(about.round).made_by, name)) for name in ("ticlm", "torch", "python")}
    return provenance(
        BUILD,
        {"study": about.settings, "vintage": about.vintage},
        dependencies,
        "urn:ticlm:run",
        began,
        ended,
        {name: release for name, release in versions.items() if release},
        {"rounds": [one.id for one in about.rounds]},
    )
