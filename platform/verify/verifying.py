"""All checks of a vintage, in the order of their cost: what needs its files alone, then its inputs, then training."""

from __future__ import annotations

import secrets
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from ticlm.core import paths
from ticlm.core.errors import InputError
from ticlm.core.mixture import Source
from ticlm.platform.publish.forms.signers import Trust
from ticlm.platform.verify import checks, recomputed
from ticlm.platform.verify.finding import Checked, State, first_of
from ticlm.platform.verify.inputs_at import InputsGone, PublishedInputs, inputs_at
from ticlm.platform.verify.opened import OpenedVintage

Say = Callable[[str], None]


@dataclass(frozen=True)
class VerifyRequest:
    """What to check of a vintage beyond its files."""

    trust: Trust | None = None
    """Whose signature counts; None: nobody's is looked at."""
    inputs: str = ""
    """Where its inputs lie; empty: where it was published, or where its certificate says."""
    replay: int = 0
    """Rounds to run again."""
    steps: int | None = None
    """Steps of each to run; None: all."""
    seed: int | None = None
    """Which rounds: the same ones for the same number; None: nobody can know beforehand."""


def findings(vintage: OpenedVintage, request: VerifyRequest, say: Say) -> Iterator[Checked]:
    """Yield what each check says. What depends on something that was refused is not looked at."""
    held = []
    for found in _of_files(vintage, request):
        held.append(found.state != "refused")
        yield found
    if not all(held):
        yield Checked("inputs", "unchecked", "not looked at, because of the above", CATCHES)
        return
    with ExitStack() as stack:
        root = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="ticlm-verify-")))
        try:
            about, place = vintage.certificate, vintage.place
            stated = (about.inputs, str(vintage.index.get("inputs", "")))
            inputs = inputs_at(request.inputs, stated, place, root / "fetched")
            yield from _of_inputs(vintage, request, inputs, root / "root", say, stack)
        except InputsGone as error:
            words = f"{error}; so manifests, rounds, rows, lint and weights were not checked"
            yield Checked("inputs", "unchecked", words, CATCHES)


CATCHES = "text, rounds or weights that are not those of the certificate"


def _of_files(vintage: OpenedVintage, request: VerifyRequest) -> Iterator[Checked]:
    yield checks.files(vintage)
    yield checks.signature(vintage, request.trust)
    yield checks.provenance(vintage)
    yield from checks.place(vintage)
    yield checks.model(vintage)
    yield from checks.dates(vintage)
    yield from checks.leak_tests(vintage)


def _of_inputs(
    vintage: OpenedVintage, request: VerifyRequest, inputs: PublishedInputs, root: Path, say: Say, stack: ExitStack
) -> Iterator[Checked]:
    """Yield what comes of laying out the rounds again, of comparing shards, and of running rounds again."""
    root.mkdir()
    told, again = recomputed.again(vintage.certificate, inputs, root)
    yield from told
    if again is None:
        return
    if inputs.is_local:
        yield _of_shards(again)
        yield from _of_lint(vintage, again)
    if request.replay:
        from ticlm.platform.verify.replay import Replayer  # loads torch, which nothing else here needs

        seed = secrets.randbelow(1 << 31) if request.seed is None else request.seed
        yield from Replayer(vintage, again, say, stack).findings(request.replay, request.steps, seed)
    else:
        yield Checked("weights", "unchecked", "no round was run again: --replay 1 does", CATCHES)
    if not inputs.is_local:
        whole, count = len(_sources(again)), len(again.checked)
        state: State = "holds" if count == whole else "unchecked"
        yield Checked("shards", state, f"{count} of {whole} sources of rows were compared with their manifests")


def _of_lint(vintage: OpenedVintage, again: recomputed.Recomputed) -> Iterator[Checked]:
    """Look again through the text of the vintage's own period for what is later than its date, and compare the counts
    with those that are stated. The periods before are those of earlier vintages."""
    about, label = vintage.certificate, vintage.certificate.vintage
    stated = about.lint.get(label)
    if stated is None:
        yield Checked("leak lint", "note", f"its publisher did not look for text of {label} that is later")
        return
    from ticlm.platform.publish.text_lint import lint_of, rules

    told = f"{stated.flagged} of {stated.texts} pieces of {label} look later than their date"
    if rules() != about.lint_rules:
        yield Checked("leak lint", "unchecked", f"{told}, by the rules of another release")
        return
    found = lint_of(again.plan.corpora[paths.corpus_id(again.plan.study.corpus)], label)
    if found != stated:
        words = f"stated are {told}; there are {found.flagged} of {found.texts}"
        yield Checked("leak lint", "refused", words)
        return
    yield Checked("leak lint", "holds", told, f"text of {label} that says of itself that it is later")


def _sources(again: recomputed.Recomputed) -> list[Source]:
    """Return all sources of rows that the rounds on the way to the vintage read."""
    specs = [again.plan.tree.rounds[key] for key in again.keys.values()]
    return list(dict.fromkeys(source for one in specs for source in one.sources if source not in one.sampled_sources))


def _of_shards(again: recomputed.Recomputed) -> Checked:
    """Compare all shards that lie on this machine with their manifests."""
    sources = _sources(again)
    problems = list(recomputed.shards(again, sources))
    if problems:
        return Checked("shards", "refused", first_of(problems))
    words = f"the rows of {len(sources)} sources are those of their manifests"
    return Checked("shards", "holds", words, "a row that was changed")


def trusted(public_key: str | None, chain: list[str], identity: str | None, provider: str | None) -> Trust | None:
    """Return whose signature counts, as the options say. Raises InputError if they name two kinds."""
    from ticlm.platform.publish.forms.signers import TrustedCertificates, TrustedIdentity, TrustedKey

    found: list[Trust] = []
    found += [TrustedKey(public_key=public_key)] if public_key else []
    found += [TrustedCertificates(chain=tuple(chain))] if chain else []
    if identity or provider:
        if not (identity and provider):
            raise InputError("give --identity and --provider together: who signed, and who knows them")
        found.append(TrustedIdentity(identity=identity, provider=provider))
    if len(found) > 1:
        raise InputError("give one of --public-key, --trust-chain and --identity: a signature is of one kind")
    return found[0] if found else None
