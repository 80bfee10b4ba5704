"""The way to a vintage, computed again: from the study in its certificate and the manifests in its inputs."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from ticlm.core import hub, paths
from ticlm.core.corpus import INFO, Corpus
from ticlm.core.errors import InputError
from ticlm.core.mixture import Source
from ticlm.core.settings import parse
from ticlm.core.store import Store
from ticlm.platform.publish.certificate import CorpusRead, VintageCertificate, is_inside
from ticlm.platform.publish.inputs import model_place
from ticlm.platform.publish.lineage import sizes_of
from ticlm.platform.study import data as corpora
from ticlm.platform.study.identity import content, identities, with_models
from ticlm.platform.study.plan import Plan
from ticlm.platform.study.settings import Study
from ticlm.platform.study.tree import rounds
from ticlm.platform.verify.finding import Checked, first_of
from ticlm.platform.verify.inputs_at import InputsGone, PublishedInputs


@dataclass
class Recomputed:
    """A plan on a root of its own, which is empty but for the corpora; and the keys of the certificate's rounds."""

    plan: Plan
    keys: Mapping[str, str]
    """Id of a round -> its key in the tree."""
    root: Path
    inputs: PublishedInputs
    checked: set[Source] = field(default_factory=set)
    """Sources whose shards were compared with their manifests."""


def again(about: VintageCertificate, inputs: PublishedInputs, root: Path) -> tuple[list[Checked], Recomputed | None]:
    """Lay out the rounds of a vintage anew below an empty folder, and say how they differ from its certificate.

    The second value is None if nothing could be laid out. Raises InputsGone if manifests are not there.
    """
    found = [line for corpus in about.corpora for line in _manifests(corpus, inputs, root)]
    if found:
        return [Checked("manifests", "refused", first_of(found))], None
    catches = "a period that was built again, a document that was added or dropped, a date that was changed"
    findings = [Checked("manifests", "holds", f"those of {_periods(about)} are the ones it names", catches)]
    if about.own_code:
        words = f"they are made by code of the publisher's own ({first_of(about.own_code)}), which is not run here"
        return [*findings, Checked("rounds", "unchecked", words)], None
    try:
        study = parse(Study, about.settings, "its study")
    except InputError as error:
        words = f"this release cannot read it ({error}); the certificate is of ticlm {about.release}"
        return [*findings, Checked("rounds", "unchecked", words)], None
    try:
        plan = _plan(study, about, inputs, root)
    except InputsGone:
        raise
    except InputError as error:
        return [*findings, Checked("rounds", "refused", str(error))], None
    key_of = {round_id: key for key, round_id in plan.ids.items()}
    run = plan.tree.runs[0]
    if run.rounds.get(about.vintage) is None or plan.ids.get(run.rounds[about.vintage]) != about.round:
        words = f"study and manifests lead to another round at {about.vintage} than {about.round[:12]}"
        return [*findings, Checked("rounds", "refused", words)], None
    wrong = [line for one in about.rounds for line in _differences(one.id, about, plan, key_of)]
    if wrong:
        return [*findings, Checked("rounds", "refused", first_of(wrong))], None
    words = f"study and manifests lead to the same {len(about.rounds)} rounds, by their ids"
    catches = "another study, method, order or share of text than is stated"
    return [*findings, Checked("rounds", "holds", words, catches)], Recomputed(plan, key_of, root, inputs)


def shards(of: Recomputed, sources: Iterator[Source] | list[Source]) -> Iterator[str]:
    """Fetch the shards of some sources, compare them with their manifests, and yield a line for each that differs."""
    for source in sources:
        if source in of.checked:
            continue
        corpus = of.plan.corpora[source.corpus]
        manifest, files = corpus.split(source.period, source.split), corpus.files(source.period, source.split)
        place = paths.corpus(source.corpus)
        local = of.inputs.fetch(f"{place}/{path}" for path in files)
        own = Path(corpus.store.path())
        for path, file in zip(files, manifest.files):
            if not is_inside(path):
                raise InputError(f"{place}: its manifest names {path!r}, which leads out of it")
            if not (own / path).exists():
                (own / path).parent.mkdir(parents=True, exist_ok=True)
                (own / path).symlink_to((local / place / path).absolute())
            if _sha256(own / path) != file.sha256:
                yield f"{place}/{path}: changed"
        of.checked.add(source)


def _periods(about: VintageCertificate) -> str:
    count = sum(len(one.periods) for one in about.corpora)
    return f"{count} period{'s' * (count != 1)}"


def _manifests(corpus: CorpusRead, inputs: PublishedInputs, root: Path) -> Iterator[str]:
    """Copy what says what a corpus is below the root, and yield a line for each file that is another than is stated."""
    place = paths.corpus(corpus.id)
    records = {f"{place}/{paths.record(paths.period(one.label))}": one.record for one in corpus.periods}
    stated = {f"{place}/{INFO}": corpus.info, **records}
    local = inputs.fetch([*stated, f"{place}/{paths.TOKENIZER}/*"])
    tokenizer = local / place / paths.TOKENIZER
    names = [f"{place}/{paths.TOKENIZER}/{file.name}" for file in sorted(tokenizer.iterdir())]
    for name in [*stated, *names]:
        target = root / name
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes((local / name).read_bytes())
    stated[f"{place}/{paths.tokenizer_file()}"] = corpus.tokenizer.sha256
    changed = [f"{name}: changed" for name, sha256 in stated.items() if _sha256(root / name) != sha256]
    if changed:
        yield from changed
        return
    opened = Corpus.open(str(root / place))
    for one in corpus.periods:
        manifest = opened.periods[one.label]
        newest = {source: when.isoformat() for source, when in manifest.newest.items()}
        if manifest.splits["train"].sha256 != one.sha256 or newest != one.newest:
            yield f"{one.label} of {corpus.id}: its record says something else than the certificate"


def _plan(study: Study, about: VintageCertificate, inputs: PublishedInputs, root: Path) -> Plan:
    """Return the plan of the study of a certificate on a root. Raises InputError if it cannot be laid out."""
    models = {path: _model(path, sha256, inputs) for path, sha256 in about.models.items()}
    study = with_models(study, models)
    store = Store(str(root))
    opened = {one.id: Corpus.open(str(root / paths.corpus(one.id)), study.last_visible_period) for one in about.corpora}
    own = opened.get(paths.corpus_id(study.corpus))
    if own is None:
        raise InputError(f"corpus {study.corpus} of the study is not among those of the certificate")
    known = {(one.round, one.periods, one.rows): one.losses for one in about.tune_losses}
    tree = rounds(study, sizes_of(own, study), recorded=lambda _, one: known.get((one.round, one.periods, one.rows)))
    contents = {models[path]: sha256 for path, sha256 in about.models.items()}
    plan = Plan(study, tree, own, store, opened, contents=contents)
    plan.ids = identities(tree.rounds, own, corpora.splits(opened), contents)
    return plan


def _model(path: str, sha256: str, inputs: PublishedInputs) -> str:
    """Return where an imported model lies on this machine: in the inputs, or on the hub at a commit.

    Raises InputError if it is neither, or is another one.
    """
    place = model_place(sha256)
    try:
        local = str((inputs.fetch([f"{place}/*"]) / place).absolute())
    except InputsGone:
        if hub.parse(path) is None:
            raise InputsGone(f"the model {path}, which the study starts from, is not among the inputs") from None
        local = path
    if content(local) != sha256:
        raise InputError(f"the model {path} is another one than the rounds were made from")
    return local


def _differences(round_id: str, about: VintageCertificate, plan: Plan, key_of: Mapping[str, str]) -> Iterator[str]:
    """Yield how a round of the certificate differs from the one that was laid out."""
    made = about.made(round_id)
    if round_id not in key_of:
        yield f"round {round_id[:12]} at {made.period} is none of the study's"
        return
    spec = plan.tree.rounds[key_of[round_id]]
    if tuple(plan.ids[need] for need in spec.needs) != made.needs or spec.period != made.period:
        yield f"round {round_id[:12]} at {made.period} starts from others than is stated"
    if {str(source) for source in spec.sources} != set(made.reads) or spec.steps != made.steps:
        yield f"round {round_id[:12]} at {made.period} reads something else than is stated"


def _sha256(file: Path) -> str:
    return hashlib.sha256(file.read_bytes()).hexdigest()
