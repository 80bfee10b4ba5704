"""The way to a vintage, computed again: from the study in its certificate and the manifests in its inputs."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from ticlm.core import hub, paths
from ticlm.core.corpus import INFO, Corpus
from ticlm.core.errors import FutureMonthError, InputError
from ticlm.core.integrity.own_code import release
from ticlm.core.mixture import Source
from ticlm.core.settings import parse
from ticlm.core.store import Store
from ticlm.platform.publish.certificate import CorpusRead, VintageCertificate, is_inside
from ticlm.platform.publish.inputs import model_place
from ticlm.platform.publish.lineage import VintageLineage, kind_of, outside_of, reads_of, rows_of, sizes_of
from ticlm.platform.study import data as corpora
from ticlm.platform.study.identity import content, identities, imported, models_of, with_models
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
        plan = _plan(study, about, inputs, root)
    except InputsGone:
        raise
    except FutureMonthError as error:
        return [*findings, Checked("rounds", "refused", str(error))], None
    except InputError as error:
        return [*findings, _unreadable(about, error)], None
    key_of = {round_id: key for key, round_id in plan.ids.items()}
    run = plan.tree.runs[0]
    if run.rounds.get(about.vintage) is None or plan.ids.get(run.rounds[about.vintage]) != about.round:
        words = f"study and manifests lead to another round at {about.vintage} than {about.round[:12]}"
        return [*findings, Checked("rounds", "refused", words)], None
    lineage = VintageLineage(plan, run, about.vintage)
    wrong = [*_of_rounds(about, lineage), *_of_facts(about, lineage)]
    if wrong:
        return [*findings, Checked("rounds", "refused", first_of(wrong))], None
    words = f"study and manifests lead to the same {len(about.rounds)} rounds, by their ids"
    catches = "another study, method, order or share of text than is stated"
    held = Checked("rounds", "holds", words, catches)
    outside = [f"{one.what}, as of {one.as_of}" if one.as_of else one.what for one in about.outside]
    told = [Checked("outside", "note", f"from outside, as its publisher declares: {line}") for line in outside]
    told = told or [Checked("outside", "holds", "nothing came from outside the timeline")]
    return [*findings, held, *told], Recomputed(plan, key_of, root, inputs)


def _unreadable(about: VintageCertificate, error: InputError) -> Checked:
    """Say that a study cannot be laid out here: by another release it may be, by this one it is wrong."""
    if release() == about.release:
        return Checked("rounds", "refused", f"its study cannot be laid out: {error}")
    return Checked("rounds", "unchecked", f"this release cannot read it ({error}); it is of ticlm {about.release}")


def _of_rounds(about: VintageCertificate, lineage: VintageLineage) -> Iterator[str]:
    """Yield how the rounds of a certificate differ from those that lead to the vintage."""
    plan = lineage.plan
    wanted, stated = [plan.ids[key] for key in lineage.keys], [one.id for one in about.rounds]
    if sorted(wanted) != sorted(stated) or stated[-1] != about.round:
        yield f"{len(wanted)} rounds lead to it, and the certificate names {len(stated)}, or others"
        return
    for key in lineage.keys:
        spec, made = plan.tree.rounds[key], about.made(plan.ids[key])
        facts = (kind_of(spec), spec.period, spec.steps, spec.tokens, reads_of(spec))
        needs = tuple(plan.ids[need] for need in spec.needs)
        if facts != (made.kind, made.period, made.steps, made.tokens, made.reads) or needs != made.needs:
            yield f"round {made.id[:12]} at {made.period} reads or starts from something else than is stated"


def _of_facts(about: VintageCertificate, lineage: VintageLineage) -> Iterator[str]:
    """Yield which facts of a certificate are others than the study and the manifests have."""
    run, study = lineage.run, lineage.plan.study
    facts = {
        "study": (study.name, about.study),
        "method": (run.method.name, about.method),
        "seed": (run.seed, about.seed),
        "before": (lineage.before, about.before),
        "corpora": (lineage.corpora(), list(about.corpora)),
        "outside": (outside_of(lineage.plan), about.outside),
    }
    for name, (found, stated) in facts.items():
        if found != stated:
            yield f"{name}: the certificate says something else than its study and its corpora"
    models = {path for key in lineage.keys for path in imported(lineage.plan.tree.rounds[key].recipe)}
    if models != set(lineage.plan.contents):
        yield "models: the certificate names others than its study"


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
    strange = models_of(study) ^ set(about.models)
    if strange:
        raise InputError(f"its study and the rest of the certificate name other models: {first_of(sorted(strange))}")
    models = {path: _model(path, sha256, inputs) for path, sha256 in about.models.items()}
    study = with_models(study, models)
    store = Store(str(root))
    opened = {one.id: Corpus.open(str(root / paths.corpus(one.id)), study.last_visible_period) for one in about.corpora}
    own = opened.get(paths.corpus_id(study.corpus))
    if own is None:
        raise InputError(f"corpus {study.corpus} of the study is not among those of the certificate")
    known = {(one.round, one.periods, one.rows): one.losses for one in about.tune_losses}
    tree = rounds(
        study,
        sizes_of(own, study),
        rows_of(opened),
        recorded=lambda _, one: known.get((one.round, one.periods, one.rows)),
    )
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


def _sha256(file: Path) -> str:
    return hashlib.sha256(file.read_bytes()).hexdigest()
