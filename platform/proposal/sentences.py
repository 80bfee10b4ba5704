"""What a proposal says on the terminal: its choices in a few sentences, and notes on the text."""

from __future__ import annotations

from ticlm.platform.proposal.continued import ExistingModel
from ticlm.platform.proposal.inspection import Inspection
from ticlm.platform.proposal.periods import ChosenPeriods
from ticlm.platform.proposal.sizing import LEAST_PER_PARAMETER, Sizes


def of(found: Inspection, chosen: ChosenPeriods, sizes: Sizes) -> list[str]:
    """Return the choices in a few sentences, and what to know of the text."""
    roles, (plain, replayed) = found.roles, sizes.rates
    columns = [f"text from {roles.text!r}", f"dates from {roles.date!r} ({roles.format.form or 'ISO 8601 or seconds'})"]
    columns += [f"ids from {roles.id!r}"] if roles.id else ["no ids: a document is known by its text"]
    if roles.source:
        columns.append(f"sources from {roles.source!r} ({len(found.sources):,}: {_largest(found)})")
    unused = f"; not used: {', '.join(roles.unused[:10])}" if roles.unused else ""
    lines = [f"columns: {', '.join(columns)}{unused}"]
    share = chosen.first.bytes / sum(one.bytes for one in chosen.amounts)
    lines.append(
        f"calendar: {chosen.timeline.labels[0]} first, with {share:.0%} of the "
        f"text; then {len(chosen.later)} {chosen.step}s. Held out: {sizes.eval:.0%} of the text, and "
        f"{sizes.tune:.0%} for searches."
    )
    peaks = f"a peak of {plain:g} ({', '.join(sizes.methods)})"
    if sizes.initial:
        peaks = f"peaks of {plain:g} (cyclic-cosine) and {replayed:g} (replay-half) after {sizes.first_rate:g}"
    share_said = f"a first round of {sizes.initial:,} tokens ({sizes.per_parameter:.0f} a parameter), and "
    lines.append(
        f"model: {sizes.shape.parameters:,} parameters, {share_said if sizes.initial else 'as it is, then '}"
        f"updates of {sizes.update_epochs:g} times each {chosen.step}'s "
        f"text at {peaks}."
    )
    spent = ", ".join(f"{what} {minutes_said(seconds / 60)}" for what, seconds in sizes.seconds.items())
    lines.append(f"time: about {minutes_said(sizes.minutes)} on this machine ({spent})")
    return lines + [f"note: {note}" for note in (*chosen.notes, *notes(found, chosen, sizes))]


def notes(found: Inspection, chosen: ChosenPeriods, sizes: Sizes) -> list[str]:
    """Return what somebody should know before trusting numbers of this text."""
    out = []
    if found.roles.format.ambiguous:
        out.append(
            f"no date tells whether day or month comes first; {found.roles.format.form} is taken. If that is wrong, "
            f"set documents.fields.timestamp_format: {found.roles.format.ambiguous}"
        )
    if found.estimated:
        out.append("not all of the files was read, so that these amounts are estimates")
    if found.begun:
        out.append(
            f"only the beginning of {found.begun:,} large packed files or tables was read, as nothing can be found in "
            "them from the middle: documents behind it may be of later periods than those shown"
        )
    if found.undated:
        more = f" and {len(found.undated) - 1:,} more" if len(found.undated) > 1 else ""
        out.append(f"{found.undated[0]}{more} left out: no date in the path")
    if found.bad:
        reason, _ = found.bad.most_common(1)[0]
        out.append(f"{sum(found.bad.values()):,} of {found.read:,.0f} rows are no documents, mostly {reason}")
    scripts = found.scripts()
    if len(scripts) > 1:
        out.append(
            f"the text is in several scripts ({', '.join(f'{n.capitalize()} {s:.0%}' for n, s in scripts.items())}); "
            "where their shares change over time, models seem to age by language"
        )
    if found.roles.source and not found.by_source and (count := len(found.sources)) > 1:
        out.append(
            f"by_source is off: with {count:,} sources kept apart, the ends of their texts would fill no row and be "
            f"left out, about {count / 2:,.0f} rows of the held-out text of each period"
        )
    if found.roles.title:
        out.append(f"titles ({found.roles.title!r}) are not part of the text")
    big = [
        (amount.longest / amount.bytes, label)
        for label, amount in zip(chosen.timeline.labels, chosen.amounts)
        if amount.longest > 0.2 * amount.bytes
    ]
    if big:
        share, label = max(big)
        more = f", as in {len(big) - 1} more period{'s' if len(big) > 2 else ''}" if len(big) > 1 else ""
        out.append(f"one document is {share:.0%} of the text of {label}; its numbers rest on it{more}")
    if isinstance(sizes.shape, ExistingModel) and sizes.shape.is_chat:
        out.append(
            "the model has a chat template: it was tuned to follow instructions, and updates on plain texts may cost "
            "that, which own-samples hardly show; if its base model is at hand, update that one"
        )
    if sizes.initial and sizes.per_parameter < LEAST_PER_PARAMETER:
        out.append(
            f"the first model sees {sizes.per_parameter:.1f} tokens for each parameter, and with fewer than "
            f"{LEAST_PER_PARAMETER} it learns next to nothing (docs/sizing.md): more text of the first span helps"
        )
    if sizes.update_epochs < 0.2:
        out.append("there is far more text than these minutes can train on; more --minutes use more of it")
    return out


def _largest(found: Inspection) -> str:
    whole = sum(found.sources.values())
    some = sorted(found.sources.items(), key=lambda one: -one[1])[:3]
    return ", ".join(f"{' '.join((name or 'none').split())[:30]} {size / whole:.0%}" for name, size in some)


def minutes_said(value: float) -> str:
    """Return a time in words."""
    return f"{value:.1f} minutes" if value >= 1 else f"{max(1, round(60 * value))} s"
