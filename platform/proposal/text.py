"""The two files of a proposal, with the reason of each choice beside it."""

from __future__ import annotations

import json
from collections.abc import Sequence

from ticlm.platform.proposal.inspection import Inspection
from ticlm.platform.proposal.periods import ChosenPeriods
from ticlm.platform.proposal.sizing import LENGTH, Sizes

BAD = 0.01
"""The share of bad rows that recipes allow if they say nothing."""
COLUMN, WIDTH = 56, 130
"""Where comments begin, and where lines with a comment end at most."""


def recipe(name: str, version: int, command: str, found: Inspection, chosen: ChosenPeriods, sizes: Sizes) -> str:
    """Return the recipe of a corpus, as YAML."""
    roles, share = found.roles, chosen.first.bytes / sum(one.bytes for one in chosen.amounts)
    about, files = "about " if found.estimated else "", "1 file" if found.files == 1 else f"{found.files:,} files"
    lines = [
        f"# The corpus `{name}`, for `{name}.yaml` beside it. Written by: {command}",
        "# All of it may be changed. Paths count from the folder in which ticlm runs.",
        f"name: {name}",
        _line(f"version: {version}", "raise it with a change of anything below but the last period"),
        "documents:",
        "  kind: files",
        _line(
            f"  paths: {json.dumps(list(found.patterns), ensure_ascii=False)}",
            f"{files}: {about}{found.documents:,.0f} documents, {found.bytes / 1e6:,.1f} MB of text",
        ),
        "  fields:",
        _line(f"    text: {_text(roles.text)}", "the column with most text in it"),
        _line(f"    timestamp: {_text(roles.date)}", f"from {min(found.days)} to {max(found.days)}"),
    ]
    if roles.format.form is not None:
        lines.append(_line(f"    timestamp_format: {_text(roles.format.form)}", _why_format(found)))
    if roles.id:
        lines.append(_line(f"    id: {_text(roles.id)}", "the name that a document keeps when it is seen again"))
    if roles.source:
        lines.append(_line(f"    source: {_text(roles.source)}", f"{len(found.sources):,} of them"))
    lines += [
        "periods:",
        _line(f"  initial: {chosen.calendar.initial}", f"the first model's text: {share:.0%} of all"),
        _line(f"  step: {chosen.step}", f"the finest with enough text in each; {_smallest(chosen, sizes)}"),
        _line(f"  last: {chosen.calendar.last}", "the last one that is over; move it when new text has come"),
        _line(
            f"splits: {{eval: {sizes.eval:g}, tune: {sizes.tune:g}}}",
            f"of a usual {chosen.step} about {_usual(sizes) * sizes.eval / LENGTH:,.0f} rows to evaluate on; 200 do",
        ),
        _line(f"by_source: {str(by_source(found)).lower()}", _why_sources(found)),
        _line(
            f"tokenizer: {{kind: train, vocab_size: {sizes.shape.vocabulary}}}",
            f"learnt from the first span; {sizes.bytes_per_token:.1f} bytes in a token",
        ),
        _line(f"length: {LENGTH}", "tokens of a row"),
    ]
    if found.bad_share > BAD / 2:
        lines.append(
            _line(f"limits: {{bad: {found.bad_share * 1.5:.2g}}}", f"{found.bad_share:.1%} of the rows are bad")
        )
    return "\n".join(lines) + "\n"


def study(name: str, recipe_file: str, command: str, chosen: ChosenPeriods, sizes: Sizes, minutes: float) -> str:
    """Return the study, as YAML."""
    shape, (plain, replayed) = sizes.shape, sizes.rates
    rows = round(_usual(sizes) * (1 - sizes.eval - sizes.tune) / LENGTH)
    changes = f", changes: {{{', '.join(f'{k}: {v}' for k, v in shape.changes.items())}}}" if shape.changes else ""
    schedule = f"{{kind: cosine, max_rate: {sizes.first_rate:g}, end_rate: 1e-4, warmup_steps: {_warmup(sizes)}}}"
    lines = [
        f"# What it is worth to update a model with each {chosen.step} of `{name}`. Written by: {command}",
        f"# It should take about {_minutes(sizes.minutes)} on this machine, of {minutes:g} asked for.",
        f"name: {name}",
        f"corpus: {name}",
        _line(f"recipe: {recipe_file}", "`ticlm run` builds the corpus with it"),
        _line("periods: corpus", "as in the recipe"),
        _line(
            f"model: {{kind: preset, name: tiny{changes}}}",
            f"{shape.parameters:,} parameters: the largest that {_limit(sizes)} feeds",
        ),
        _line(f"batch_rows: {sizes.batch_rows}", f"the smallest update has about {_steps(sizes):,} steps then"),
        f"length: {LENGTH}",
        "initial:",
        _line(
            f"  budget: {sizes.initial}",
            f"{sizes.per_parameter:.0f} tokens a parameter, {sizes.initial_epochs:.2g} times its text (3 at most)",
        ),
        _line(f"  schedule: {schedule}", "small models want rates as high as that"),
        _line(
            f"continual_tokens: {{epochs: {sizes.update_epochs:g}, expected_rows: {max(1, rows)}}}",
            f"each update takes {sizes.update_epochs:g} times its own text: {_sizes(chosen, sizes)}",
        ),
        "each_method:",
        f"  schedule: {{end_rate: 1e-4, warmup_steps: {min(5, _steps(sizes) // 8)}}}",
        "methods:",
        "# Updates want a lower peak than the first round: at too high a one they forget more than they learn.",
        _line(
            f"  - {{base: cyclic-cosine, schedule: {{max_rate: {plain:g}}}}}",
            "each new period alone; 1/16 of the first",
        ),
        _line(
            f"  - {{base: replay-half, schedule: {{max_rate: {replayed:g}}}}}",
            "half of it is older text, so it bears 1/8",
        ),
    ]
    if sizes.oracle:
        lines.append(_line("  - {base: oracle, cutoffs: [first, last]}", "trained from scratch: the reference"))
    else:
        lines.append(
            "# - {base: oracle, cutoffs: [first, last]}: trained from scratch; left out, as it takes more minutes"
        )
    lines += [
        _line(f"evaluations: [{{kind: perplexity, max_rows: {sizes.max_rows}}}]", "rows of a period; the same for all"),
        _line(
            f"resources: {{workers: 1, chains: 2, micro_batch_rows: {sizes.batch_rows}"
            f"{'' if sizes.ray else ', trainer: process'}}}",
            "two chains side by side" if sizes.ray else "so short that Ray's start would not pay",
        ),
    ]
    return "\n".join(lines) + "\n"


def by_source(found: Inspection) -> bool:
    """Return whether sources are few enough to be shown one by one, and have text enough."""
    return 1 < len(found.sources) <= 30 and bool(found.roles.source)


def sentences(found: Inspection, chosen: ChosenPeriods, sizes: Sizes) -> list[str]:
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
        f"text; then {len(chosen.later)} {chosen.step}s. Held out: {sizes.eval:.0%} of the documents, and "
        f"{sizes.tune:.0%} for searches."
    )
    lines.append(
        f"model: {sizes.shape.parameters:,} parameters, a first round of {sizes.initial:,} tokens "
        f"({sizes.per_parameter:.0f} a parameter), and updates of {sizes.update_epochs:g} times each {chosen.step}'s "
        f"text at peaks of {plain:g} (cyclic-cosine) and {replayed:g} (replay-half) after {sizes.first_rate:g}."
    )
    spent = ", ".join(f"{what} {_minutes(seconds / 60)}" for what, seconds in sizes.seconds.items())
    lines.append(f"time: about {_minutes(sizes.minutes)} on this machine ({spent})")
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
    if found.bad:
        reason, _ = found.bad.most_common(1)[0]
        out.append(f"{sum(found.bad.values()):,} of {found.read:,.0f} rows are no documents, mostly {reason}")
    scripts = found.scripts()
    if len(scripts) > 1:
        out.append(
            f"the text is in several scripts ({', '.join(f'{n.capitalize()} {s:.0%}' for n, s in scripts.items())}); "
            "where their shares change over time, models seem to age by language"
        )
    if found.roles.source and len(found.sources) > 30:
        out.append(f"{len(found.sources):,} sources are too many to be shown one by one, so by_source is off")
    if found.roles.title:
        out.append(f"titles ({found.roles.title!r}) are not part of the text")
    big = [
        (amount.longest / amount.bytes, label)
        for label, amount in zip(chosen.timeline.labels, chosen.amounts)
        if amount.longest > 0.2 * amount.bytes
    ]
    if big:
        share, label = max(big)
        more = f", as in {len(big) - 1} more periods" if len(big) > 1 else ""
        out.append(f"one document is {share:.0%} of the text of {label}; its numbers rest on it{more}")
    if sizes.update_epochs < 0.2:
        out.append("there is far more text than these minutes can train on; more --minutes use more of it")
    return out


def _line(text: str, why: str) -> str:
    """Return a line with its reason behind it, or above it if both are too long for one line."""
    if len(text) < COLUMN and COLUMN + 2 + len(why) <= WIDTH:
        return f"{text.ljust(COLUMN)}# {why}"
    return f"{' ' * (len(text) - len(text.lstrip()))}# {why}\n{text}"


def _text(value: str) -> str:
    """Return a text as YAML has it; the marks of a name or a pattern may mean something there."""
    return value if value.replace("_", "").replace(".", "").isalpha() and value not in _WORDS else json.dumps(value)


_WORDS = ("true", "false", "yes", "no", "on", "off", "null", "y", "n")


def _why_format(found: Inspection) -> str:
    other = found.roles.format.ambiguous
    return f"or {other}: no date decides between the two" if other else "told from the first rows"


def _why_sources(found: Inspection) -> str:
    if by_source(found):
        return f"each of the {len(found.sources)} sources is also shown alone"
    return f"{len(found.sources):,} sources are too many to show one by one" if found.roles.source else "no such column"


def _largest(found: Inspection) -> str:
    whole = sum(found.sources.values())
    some = sorted(found.sources.items(), key=lambda one: -one[1])[:3]
    return ", ".join(f"{' '.join((name or 'none').split())[:30]} {size / whole:.0%}" for name, size in some)


def _smallest(chosen: ChosenPeriods, sizes: Sizes) -> str:
    tokens, label = min(zip(sizes.tokens[1:], chosen.timeline.labels[1:]))
    return f"the smallest is {label} ({tokens:,} tokens)"


def _usual(sizes: Sizes) -> int:
    later = sorted(sizes.tokens[1:])
    return later[len(later) // 2]


def _sizes(chosen: ChosenPeriods, sizes: Sizes) -> str:
    later: Sequence[int] = sizes.train[1:]
    return f"{round(min(later) * sizes.update_epochs):,} to {round(max(later) * sizes.update_epochs):,} tokens"


def _steps(sizes: Sizes) -> int:
    return max(1, round(sizes.update_epochs * min(sizes.train[1:]) / sizes.batch_rows / LENGTH))


def _warmup(sizes: Sizes) -> int:
    """Return a twentieth of the first round's steps, as long as that is between 5 and 200."""
    return max(5, min(200, sizes.initial // (sizes.batch_rows * LENGTH) // 20))


def _limit(sizes: Sizes) -> str:
    return "this text" if sizes.initial_epochs > 2 else "the time"


def _minutes(value: float) -> str:
    return f"{value:.1f} minutes" if value >= 1 else f"{max(1, round(60 * value))} s"
