"""The recipe and the study of a proposal, with the reason of each choice beside it."""

from __future__ import annotations

from collections.abc import Sequence

from ticlm.core.quantities import NAMED_SOURCES
from ticlm.platform.proposal.continued import ExistingModel, as_of
from ticlm.platform.proposal.inspection import Inspection
from ticlm.platform.proposal.ladder import TinyModel
from ticlm.platform.proposal.periods import ChosenPeriods
from ticlm.platform.proposal.sizing import Sizes
from ticlm.platform.proposal.writing import budget, line, opening, plain, quoted, resources, said_prompts

BAD = 0.01
"""The share of bad rows that recipes allow if they say nothing."""


def recipe(name: str, version: int, command: str, found: Inspection, chosen: ChosenPeriods, sizes: Sizes) -> str:
    """Return the recipe of a corpus, as YAML."""
    roles, share = found.roles, chosen.first.bytes / sum(one.bytes for one in chosen.amounts)
    about, files = "about " if found.estimated else "", "1 file" if found.files == 1 else f"{found.files:,} files"
    held_out = sizes.usual * sizes.eval / sizes.length
    theirs = "what the model may have seen" if isinstance(sizes.shape, ExistingModel) else "the first model's text"
    theirs = theirs if sizes.first else "an update, too"
    lines = [
        f"# The corpus `{name}`, for `{name}.yaml` beside it. Written by: {command}",
        "# All of it may be changed. Paths count from the folder in which ticlm runs.",
        f"name: {plain(name)}",
        line(f"version: {version}", "raise it with a change of anything below but the last period"),
        "documents:",
        "  kind: files",
        line(
            f"  paths: {quoted(list(found.patterns))}",
            f"{files}: {about}{found.documents:,.0f} documents, {found.bytes / 1e6:,.1f} MB of text",
        ),
        "  fields:",
        line(f"    text: {plain(roles.text)}", "the column with most text in it"),
        line(f"    timestamp: {plain(roles.date)}", f"from {min(found.days)} to {max(found.days)}"),
    ]
    if roles.format.form is not None:
        lines.append(line(f"    timestamp_format: {plain(roles.format.form)}", _why_format(found)))
    if roles.id:
        lines.append(line(f"    id: {plain(roles.id)}", "the name that a document keeps when it is seen again"))
    if roles.source:
        lines.append(line(f"    source: {plain(roles.source)}", f"{len(found.sources):,} of them"))
    lines += [
        "periods:",
        line(f"  initial: {chosen.calendar.initial}", f"{theirs}: {share:.0%} of all"),
        line(f"  step: {chosen.step}", f"the finest with enough text in each; {_smallest(chosen, sizes)}"),
        line(f"  last: {chosen.calendar.last}", "the last one that is over; move it when new text has come"),
        line(
            f"splits: {{eval: {sizes.eval:g}, tune: {sizes.tune:g}, by: tokens}}",
            f"of a usual {chosen.step} about {held_out:,.0f} rows to evaluate on; 200 do",
        ),
        "# `by: tokens` meets these shares in each period's text; by documents, a few long ones may exceed them.",
        line(f"by_source: {str(found.by_source).lower()}", _why_sources(found)),
        _tokenizer(chosen, sizes),
        line(f"length: {sizes.length}", "tokens of a row"),
    ]
    if found.bad_share > BAD / 2:
        lines.append(
            line(f"limits: {{bad: {found.bad_share * 1.5:.2g}}}", f"{found.bad_share:.1%} of the rows are bad")
        )
    return "\n".join(lines) + "\n"


def study(
    name: str,
    corpora: Sequence[str],
    recipes: Sequence[str],
    command: str,
    chosen: ChosenPeriods,
    sizes: Sizes,
    minutes: float,
    prompts: Sequence[str],
) -> str:
    """Return the study of a model that is trained first, as YAML."""
    alone, replayed = sizes.rates
    lines = [
        *opening(name, corpora[0], recipes[0], command, chosen, sizes, minutes),
        line("periods: corpus", "as in the recipe"),
        *_model(sizes),
        budget(sizes),
        "each_method:",
        f"  schedule: {{end_rate: 1e-4, warmup_steps: {sizes.warmup}}}",
        "methods:",
        "# Updates want a lower peak than the first round: at too high a one they forget more than they learn.",
        line(
            f"  - {{base: cyclic-cosine, schedule: {{max_rate: {alone:g}}}}}",
            "each new period alone; 1/16 of the first",
        ),
        line(
            f"  - {{base: replay-half, schedule: {{max_rate: {replayed:g}}}}}",
            "half of it is older text, so it bears 1/8",
        ),
    ]
    lines += _oracle(sizes)
    lines += [
        "evaluations:",
        line(f"  - {{kind: perplexity, max_rows: {sizes.max_rows}}}", "rows of a period; the same for all"),
        *said_prompts(prompts),
        resources(sizes),
    ]
    return "\n".join(lines) + "\n"


def _tokenizer(chosen: ChosenPeriods, sizes: Sizes) -> str:
    shape, told = sizes.shape, f"{sizes.bytes_per_token:.1f} bytes in a token"
    if isinstance(shape, ExistingModel):
        name = quoted(shape.path)
        return line(
            f"tokenizer: {{kind: pretrained, name: {name}, as_of: {as_of(chosen, shape)}}}", f"the model's; {told}"
        )
    assert isinstance(shape, TinyModel)
    return line(f"tokenizer: {{kind: train, vocab_size: {shape.vocabulary}}}", f"learnt from the first span; {told}")


def _model(sizes: Sizes) -> list[str]:
    """Return the lines of the model and of its first round."""
    shape = sizes.shape
    batch = line(
        f"batch_rows: {sizes.batch_rows}", f"the smallest update has about {sizes.update_steps:,.0f} steps then"
    )
    assert isinstance(shape, TinyModel)
    changes = f", changes: {{{', '.join(f'{k}: {v}' for k, v in shape.changes.items())}}}" if shape.changes else ""
    schedule = f"{{kind: cosine, max_rate: {sizes.first_rate:g}, end_rate: 1e-4, warmup_steps: {_warmup(sizes)}}}"
    return [
        line(
            f"model: {{kind: preset, name: tiny{changes}}}",
            f"{shape.parameters:,} parameters: the largest that {_limit(sizes)} feeds",
        ),
        batch,
        f"length: {sizes.length}",
        "initial:",
        line(
            f"  budget: {sizes.initial}",
            f"{sizes.per_parameter:.0f} tokens a parameter, {sizes.initial_epochs:.2g} times its text (3 at most)",
        ),
        line(f"  schedule: {schedule}", "small models want rates as high as that"),
    ]


def _oracle(sizes: Sizes) -> list[str]:
    """Return the line of the Oracle series, or why it is left out."""
    if sizes.oracle and sizes.oracle_updates is not None:
        told = f"fewer tokens than a run ({sizes.oracle_tokens:,}), as it draws equally of small and large periods"
        extra = f", continual_tokens: {sizes.oracle_updates}"
        return [line(f"  - {{base: oracle, cutoffs: [first, last]{extra}}}", told)]
    if sizes.oracle:
        return [line("  - {base: oracle, cutoffs: [first, last]}", "trained from scratch: the reference")]
    oracle = "# - {base: oracle, cutoffs: [first, last]}: trained from scratch; left out, as it "
    if not sizes.repeats:
        return [f"{oracle}takes more minutes"]
    return [
        f"{oracle}would see the smallest",
        f"#   period {sizes.repeats:.1f} times: it draws as much of it as of others",
    ]


def _why_format(found: Inspection) -> str:
    other = found.roles.format.ambiguous
    return f"or {other}: no date decides between the two" if other else "told from the values"


def _why_sources(found: Inspection) -> str:
    count = len(found.sources)
    if found.by_source:
        some = "each" if count <= NAMED_SOURCES else f"the {NAMED_SOURCES} largest"
        return f"{some} of the {count} sources also shown alone"
    if not found.roles.source:
        return "no such column"
    return f"{count:,} sources: the end of each text would be left out" if count > 1 else "all is of one source"


def _smallest(chosen: ChosenPeriods, sizes: Sizes) -> str:
    tokens, label = min(zip(sizes.tokens[sizes.first :], chosen.timeline.labels[sizes.first :]))
    return f"the smallest is {label} ({tokens:,} tokens)"


def _warmup(sizes: Sizes) -> int:
    """Return a twentieth of the first round's steps, as long as that is between 5 and 200."""
    return max(5, min(200, sizes.initial // (sizes.batch_rows * sizes.length) // 20))


def _limit(sizes: Sizes) -> str:
    return "this text" if sizes.initial_epochs > 2 else "the time"
