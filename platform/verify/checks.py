"""Checks of a vintage against itself: its files, its signature, its provenance, its place, and the dates it states."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from datetime import date

from ticlm.core.errors import InputError
from ticlm.core.periods import last_day
from ticlm.platform.publish.forms.provenance import PREDICATE as PROVENANCE
from ticlm.platform.publish.forms.signers import Trust
from ticlm.platform.publish.forms.signing import SIGNATURE
from ticlm.platform.publish.forms.signing import check as check_signature
from ticlm.platform.publish.forms.statement import parsed
from ticlm.platform.publish.places.place import HUB
from ticlm.platform.publish.vintage_files import CERTIFICATE, FOLDER, PROVENANCE_FILE, hashes
from ticlm.platform.verify.finding import Checked, first_of
from ticlm.platform.verify.opened import OpenedVintage

BESIDE = (".eval_results/", f"{FOLDER}/")
"""Folders of a vintage that no library loads a model from."""


def files(vintage: OpenedVintage) -> Checked:
    """Compare the files of a vintage with the hashes in its certificate."""
    stated = {one.name: one.sha256 for one in vintage.statement.subjects}
    there = hashes(vintage.folder)
    changed = sorted(name for name in stated.keys() & there.keys() if stated[name] != there[name])
    gone, more = sorted(stated.keys() - there.keys()), sorted(there.keys() - stated.keys())
    for words, names in (("changed", changed), ("not there", gone), ("not in the certificate", more)):
        if names:
            return Checked("files", "refused", f"{first_of(names)}: {words}")
    catches = "any byte that was changed after the certificate was written"
    return Checked("files", "holds", f"all {len(stated)} files have the hashes of the certificate", catches)


def signature(vintage: OpenedVintage, trust: Trust | None) -> Checked:
    """Compare the files of a vintage with its signature, if it has one and the reader says whom to trust."""
    catches = "a vintage, with its certificate, that somebody else made"
    if trust is None:
        is_there = (vintage.folder / SIGNATURE).is_file()
        how = "it is signed; say whom you trust: --public-key FILE" if is_there else "it is not signed"
        return Checked("signature", "unchecked", how, catches)
    found = check_signature(vintage.folder, trust)
    states = {"valid": "holds", "missing": "refused", "invalid": "refused", "unchecked": "unchecked"}
    return Checked("signature", states[found.state], found.words, catches)  # type: ignore[arg-type]


def provenance(vintage: OpenedVintage) -> Checked:
    """Compare the provenance with the certificate: the same files, and the same study."""
    where = f"{vintage.name}/{PROVENANCE_FILE}"
    try:
        found = parsed((vintage.folder / PROVENANCE_FILE).read_bytes(), where, PROVENANCE)
    except OSError:
        return Checked("provenance", "refused", f"{PROVENANCE_FILE} is not there")
    except InputError as error:
        return Checked("provenance", "refused", str(error))
    if found.subjects != vintage.statement.subjects:
        return Checked("provenance", "refused", f"{PROVENANCE_FILE} is about other files than the certificate")
    build = found.predicate.get("buildDefinition")
    external = build.get("externalParameters") if isinstance(build, dict) else None
    if not isinstance(external, dict) or external.get("study") != vintage.certificate.settings:
        return Checked("provenance", "refused", f"{PROVENANCE_FILE} tells of another study than the certificate")
    return Checked("provenance", "holds", "the same files and the same study", "two documents that contradict another")


def place(vintage: OpenedVintage) -> Iterator[Checked]:
    """Compare a vintage with where it was found: the repository, the label, and the list of vintages there."""
    about, found = vintage.certificate, vintage.place
    if about.vintage != vintage.label:
        words = f"it stands as {vintage.label}, and its certificate is that of {about.vintage}"
        yield Checked("place", "refused", words)
        return
    if found is None:
        yield Checked("place", "unchecked", f"it lies alone; it was published to {about.place}")
        return
    if found.name.startswith(HUB) and found.name != about.place:
        words = f"it stands at {found.name}, and its certificate is that of {about.place}"
        yield Checked("place", "refused", words)
        return
    listed = vintage.index.get("vintages", {})
    own = listed.get(about.vintage) if isinstance(listed, dict) else None
    if not isinstance(own, dict):
        yield Checked("place", "unchecked", f"vintages.json does not list {about.vintage} (yet)")
    elif own.get("certificate") != hashlib.sha256((vintage.folder / CERTIFICATE).read_bytes()).hexdigest():
        yield Checked("place", "refused", f"vintages.json lists another certificate for {about.vintage}")
    else:
        commit = found.revision(about.vintage)
        listing = {"revision": commit, "cutoff": about.cutoff, "round": about.round}
        wrong = [name for name, value in listing.items() if own.get(name) != value]
        if wrong:
            yield Checked("place", "refused", f"vintages.json lists another {first_of(wrong)} for {about.vintage}")
            return
        catches = "a certificate of another vintage or of another repository"
        at = f", at commit {commit}" if commit else ""
        yield Checked("place", "holds", f"it is the vintage that vintages.json lists there{at}", catches)
    gone = sorted(set(listed if isinstance(listed, dict) else ()) - set(found.labels()))
    if gone:
        yield Checked("place", "note", f"vintages.json lists {first_of(gone)}, which is not there")


def dates(vintage: OpenedVintage) -> Iterator[Checked]:
    """Compare the dates that a certificate states with its cutoff: of periods, of their newest text, of what came from
    outside."""
    about = vintage.certificate
    cutoff = date.fromisoformat(about.cutoff)
    if cutoff != last_day(about.vintage):
        yield Checked("dates", "refused", f"the cutoff of {about.vintage} is {last_day(about.vintage)}, not {cutoff}")
        return
    late = [
        f"period {one.label} of {corpus.id} ends on {last_day(one.label)}"
        for corpus in about.corpora
        for one in corpus.periods
        if last_day(one.label) > cutoff or one.last_day != str(last_day(one.label))
    ]
    late += [
        f"{source or 'text'} of {one.label} in {corpus.id} is of {when}"
        for corpus in about.corpora
        for one in corpus.periods
        for source, when in one.newest.items()
        if date.fromisoformat(when[:10]) > last_day(one.label)
    ]
    known = {f"{corpus.id}/{one.label}" for corpus in about.corpora for one in corpus.periods}
    reads = dict.fromkeys(source for one in about.rounds for source in one.reads)
    sampled = [source for source in reads if source.startswith("sampled@")]
    late += [
        f"{source} is read, and not among the corpora"
        for source in reads
        if source.rpartition("/")[0] not in known and source not in sampled
    ]
    if late:
        yield Checked("dates", "refused", f"later than {cutoff}: {first_of(late)}")
        return
    periods = {source.split("/")[1] for source in reads}
    told = f"text of {len(periods)} period{'s' * (len(periods) != 1)} is read, none of it dated later than {cutoff}"
    yield Checked("dates", "holds", told, "a period, or text by its stated date, that is later than the vintage")
    later = [f"{one.what}, as of {one.as_of}" for one in about.outside if _is_later(one.as_of, cutoff)]
    if later:
        yield Checked("outside", "note", f"from outside, and later than the cutoff as declared: {first_of(later)}")


def _is_later(as_of: str, cutoff: date) -> bool:
    """Return whether something is of a period that ends after a day; not if its date is not known."""
    try:
        return last_day(as_of) > cutoff
    except ValueError:
        return False


def model(vintage: OpenedVintage) -> Checked:
    """Compare the files of the model with what the certificate says that its round left."""
    about = vintage.certificate
    made = about.made(about.round)
    stated = {one.name: one.sha256 for one in vintage.statement.subjects}
    wrong = [name for name, file in made.model.items() if stated.get(name) != file.sha256]
    if wrong or not any(name.endswith(".safetensors") for name in made.model):
        return Checked("model", "refused", f"{first_of(wrong) or 'no weights'}: not what round {made.id[:12]} left")
    # Libraries load more than the weights: an adapter, a template or code beside them makes another model.
    beside = (name for name in stated if name not in made.model and not name.startswith(BESIDE))
    strange = sorted(name for name in beside if name != "README.md")
    if strange:
        return Checked("model", "refused", f"{first_of(strange)}: no file of the round, the card or the certificate")
    return Checked("model", "holds", f"its {len(made.model)} files are those that round {made.id[:12]} left")


def leak_tests(vintage: OpenedVintage) -> Iterator[Checked]:
    """Repeat what the publisher says of leak tests; nobody asks the vintage again here."""
    for one in vintage.certificate.leak_tests:
        yield Checked("leak test", "note", f"as its publisher says: {one.get('verdict', 'no verdict')}")
