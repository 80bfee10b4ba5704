"""Findings: what each check of a vintage says, and what it would have caught."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

State = Literal["holds", "refused", "unchecked", "note"]


@dataclass(frozen=True)
class Checked:
    """What one check says in a line. `refused`: something is not as it is stated; `unchecked`: nobody could look;
    `note`: the reader has to judge."""

    check: str
    state: State
    words: str
    catches: str = ""
    """What the check would have caught."""


def first_of(names: Sequence[str], most: int = 3) -> str:
    """Return some names in a line, and how many more there are."""
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more


def verdict(findings: Sequence[Checked], vintage: str, cutoff: str) -> str:
    """Return in one sentence what came of all checks of a vintage, which a reader may file without the rest."""
    refused = [one for one in findings if one.state == "refused"]
    if refused:
        more = f"; and {len(refused) - 1} more" if len(refused) > 1 else ""
        return f"Refused: {vintage} is not what its certificate says ({refused[0].check}: {refused[0].words}{more})."
    held = ", ".join(dict.fromkeys(one.check for one in findings if one.state == "holds"))
    left = [f"{one.check} ({one.words})" for one in findings if one.state == "unchecked"]
    if not left:
        return (
            f"Verified: {vintage} is what its certificate says, and read nothing that is dated after {cutoff} ({held})."
        )
    return f"Not refused: {vintage} holds in all that was checked ({held}). Not checked: {'; '.join(left)}."
