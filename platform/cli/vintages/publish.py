"""`ticlm publish`: the vintages of a method, to a hub, a folder or a bucket."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, get_args

import typer

from ticlm.core.errors import InputError
from ticlm.platform.cli.options import Root, Sets, absolute, plan_of, stored

if TYPE_CHECKING:
    from ticlm.platform.publish.forms.signers import AnySigner
    from ticlm.platform.publish.places.place import Layout, Place
    from ticlm.platform.publish.publishing import PublishRequest
    from ticlm.platform.results.setup import StudyRequest
    from ticlm.platform.study.plan import Plan


def publish(
    method: Annotated[str, typer.Argument(metavar="STUDY/METHOD", help="A study and one of its methods.")],
    to: Annotated[str, typer.Option(metavar="PLACE", help="ORG/NAME on a hub, a folder, or a URI such as s3://…")],
    root: Root = "runs",
    set_: Sets = None,
    seed: Annotated[int | None, typer.Option(help="Which of its seeds; the first by default.")] = None,
    layout: Annotated[
        str, typer.Option(help="On a hub: branches of one repository, folders of it, or repositories.")
    ] = "branches",
    private: Annotated[bool, typer.Option("--private", help="Make new repositories private.")] = False,
    with_inputs: Annotated[
        bool,
        typer.Option("--with-inputs", help="Also publish the training rows, from which anybody can read the text."),
    ] = False,
    licence: Annotated[str, typer.Option(help="Licence of the models, as hubs name it: apache-2.0, …")] = "",
    private_key: Annotated[str | None, typer.Option(metavar="FILE", help="Sign with this key (PEM).")] = None,
    certificate: Annotated[str | None, typer.Option(metavar="FILE", help="Certificate of that key (PEM).")] = None,
    chain: Annotated[
        list[str] | None, typer.Option(metavar="FILE", help="Certificates up to the root; repeatable.")
    ] = None,
    identity: Annotated[
        str | None, typer.Option(metavar="WHO", help="Sign with Sigstore, as this identity; it asks the network.")
    ] = None,
    provider: Annotated[str | None, typer.Option(metavar="URL", help="Who knows that identity.")] = None,
    lint: Annotated[
        bool, typer.Option("--lint/--no-lint", help="Look for text that is later than its date, and state the count.")
    ] = True,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only write folders, into vintages/ of the root.")] = False,
) -> None:
    """Publish each trained period of a method as a vintage, with a certificate of what it read.

    The oldest comes first, each whole or not at all. Vintages that stand are left as they are, so the same command goes
    on after a kill, and adds what a new month brought.
    """
    from ticlm.platform.cli.console import console
    from ticlm.platform.publish.places.opened import place_of
    from ticlm.platform.publish.publishing import PublishRequest
    from ticlm.platform.results.setup import StudyRequest

    study, _, name = method.rpartition("/")
    if not study or not name:
        raise InputError(f"{method}: give a study and one of its methods: STUDY/METHOD")
    made = plan_of(study, root, set_)
    if made.corpus is None:
        raise InputError(f"study {made.study.name} has no corpus in {root} yet; run it with: ticlm run {study}")
    signer = _signer(private_key, certificate, chain or [], identity, provider)
    dry = _dry(absolute(root), made.study.name, name) if dry_run else ""
    place = place_of(dry or to, _layout("branches" if dry else layout), private)

    def say(line: str) -> None:
        console().print(line, soft_wrap=True, markup=False)

    request = PublishRequest(with_inputs=with_inputs, licence=licence, signer=signer)
    newest = _published(made, StudyRequest(study, (*(set_ or ()),), root), (name, seed), place, request, lint, say)
    _tell(place.address(newest), signer is not None, with_inputs, say)


def _tell(address: str, is_signed: bool, with_inputs: bool, say: Callable[[str], None]) -> None:
    """Say what readers can check of what was published, and how."""
    say("signed" if is_signed else "not signed: --private-key FILE signs, so that readers know whose they are")
    say(
        "the training rows are published too, and anybody can read their text"
        if with_inputs
        else "inputs are not published: nobody can run rounds again (--with-inputs)"
    )
    more = " --public-key FILE" * is_signed + " --replay 1" * with_inputs
    say(f"check it: ticlm verify {address}{more}")


def _published(
    made: Plan,
    asked: StudyRequest,
    run: tuple[str, int | None],
    place: Place,
    request: PublishRequest,
    lint: bool,
    say: Callable[[str], None],
) -> str:
    """Publish the vintages of a run (its method and seed) of a plan, say what was done, and return the newest one."""
    from ticlm.core.lease import lease
    from ticlm.platform.cli.vintages.stated import leak_tests, linted
    from ticlm.platform.publish.lineage import lineages
    from ticlm.platform.publish.publishing import publish as published
    from ticlm.platform.report.report import Report
    from ticlm.platform.report.request import ReportRequest
    from ticlm.platform.results.of_plan import study_result

    with lease(stored(made), f"publish {asked.named}/{run[0]}"):
        found = lineages(made, *run)
        there = set(place.labels())
        result = study_result(made, asked)
        summary, rules = linted([one for one in found if one.label not in there], say) if lint else ({}, "")
        tests = leak_tests(result, run[0], found[0].run.seed)
        stated = replace(request, lint=summary, lint_rules=rules, leak_tests=tests)
        done = published(found, place, Report([result], request=ReportRequest(asked.root)), stated, say)
    say(f"{place.name}: {len(done.new)} new vintages, {len(done.stood)} stood already, {done.bytes:,} bytes sent")
    left = sum(not made.done(key) for key in found[0].run.rounds.values())
    if left:
        say(f"{left} periods of {run[0]} are not trained yet")
    return found[-1].label


def _layout(text: str) -> Layout:
    """Return a layout. Raises InputError if there is none of this name."""
    from ticlm.platform.publish.places.place import Layout  # loads pydantic, for which --help need not wait

    layouts: dict[str, Layout] = {name: name for name in get_args(Layout)}
    if text not in layouts:
        raise InputError(f"--layout must be one of {', '.join(layouts)}, got {text}")
    return layouts[text]


def _dry(root: str, study: str, method: str) -> str:
    """Return the folder that a trial writes to."""
    if "://" in root:
        raise InputError(f"--dry-run writes into the root, and {root} is no folder; publish to a folder: --to FOLDER")
    return f"{root}/vintages/{study}-{method}"


def _signer(
    private_key: str | None, certificate: str | None, chain: list[str], identity: str | None, provider: str | None
) -> AnySigner | None:
    """Return who signs, as the options say; None: nobody. Raises InputError if they do not fit together."""
    from ticlm.platform.publish.forms.signers import CertificateSigner, KeySigner, SigstoreSigner

    if identity or provider:
        if private_key or certificate:
            raise InputError("--identity signs without a key: leave --private-key and --certificate out")
        if not (identity and provider):
            raise InputError("give --identity and --provider together: who signs, and who knows them")
        return SigstoreSigner(identity=identity, provider=provider)
    if certificate is None:
        if chain:
            raise InputError("--chain belongs to --certificate FILE")
        return None if private_key is None else KeySigner(private_key=private_key)
    if private_key is None or not chain:
        raise InputError("--certificate needs its --private-key FILE, and --chain FILE up to the root")
    return CertificateSigner(private_key=private_key, certificate=certificate, chain=tuple(chain))
