"""`ticlm verify`: what holds of a vintage that somebody published."""

from __future__ import annotations

import json
from datetime import date
from typing import Annotated

import typer

from ticlm.core.errors import InputError
from ticlm.core.quantities import printable
from ticlm.platform.cli.options import Json


def verify(
    vintage: Annotated[
        str, typer.Argument(metavar="VINTAGE", help="ORG/NAME@202406, a folder, a URI, or a certificate's file.")
    ],
    label: Annotated[
        str, typer.Option("--vintage", metavar="LABEL", help="Which of several vintages; the newest by default.")
    ] = "",
    inputs: Annotated[
        str, typer.Option(metavar="PLACE", help="Where its inputs lie, if not beside it, on a hub or in a bucket.")
    ] = "",
    replay: Annotated[int, typer.Option(metavar="N", min=0, help="Run N rounds again: its own, then others.")] = 0,
    steps: Annotated[int | None, typer.Option(metavar="K", min=1, help="Run only the first K steps of each.")] = None,
    seed: Annotated[int | None, typer.Option(help="Which random rounds; by default nobody knows beforehand.")] = None,
    public_key: Annotated[str | None, typer.Option(metavar="FILE", help="Key whose signature counts (PEM).")] = None,
    trust_chain: Annotated[
        list[str] | None, typer.Option(metavar="FILE", help="Certificates that are trusted, up to the root.")
    ] = None,
    identity: Annotated[str | None, typer.Option(help="Who signed, as Sigstore knows them.")] = None,
    provider: Annotated[str | None, typer.Option(metavar="URL", help="Who knows that identity.")] = None,
    as_json: Json = False,
) -> None:
    """Check a vintage: its files, signature, certificate and dates; its rounds, computed again from its inputs; and,
    with --replay, some of them run again.

    It needs nothing but the vintage and its inputs. It ends with 1 if something is not what the certificate says.
    """
    from ticlm.core.integrity.own_code import release
    from ticlm.platform.cli.console import console
    from ticlm.platform.verify.finding import verdict
    from ticlm.platform.verify.opened import opened
    from ticlm.platform.verify.verifying import VerifyRequest, findings, trusted

    if steps is not None and not replay:
        raise InputError("--steps K belongs to --replay N")
    request = VerifyRequest(trusted(public_key, trust_chain or [], identity, provider), inputs, replay, steps, seed)

    def say(line: str) -> None:
        if not as_json:  # a certificate may be anybody's, and say anything
            console().print(printable(" ".join(line.split())), soft_wrap=True, markup=False)

    with opened(vintage, label) as found:
        said = []
        for one in findings(found, request, say):
            said.append(one)
            say(f"{MARKS[one.state]} {one.check}: {one.words}")
        end = verdict(said, found.told, found.certificate.cutoff)
    ran = any(one.state == "holds" and one.check.startswith("round ") for one in said)
    if replay and not ran and not any(one.state == "refused" for one in said):
        end += " No round could be run again, though --replay asks for it."
    if as_json:
        rows = [vars(one) for one in said]
        print(json.dumps({"vintage": found.name, "verdict": end, "findings": rows}, indent=2, ensure_ascii=False))
    for line in dict.fromkeys(one.catches for one in said if one.state == "holds" and one.catches):
        say(f"  would have been found: {line}")
    say(end)
    say(f"Checked on {date.today()} by ticlm {release() or '(not installed)'}.")
    if any(one.state == "refused" for one in said) or (replay and not ran):
        raise typer.Exit(1)


MARKS = {"holds": "✓", "refused": "✗", "unchecked": "–", "note": "!"}
