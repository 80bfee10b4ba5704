"""The two files of a proposal, with the reason of each choice beside it."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence

import yaml

from ticlm.core.quantities import NAMED_SOURCES
from ticlm.platform.proposal.continued import ExistingModel, as_of
from ticlm.platform.proposal.inspection import Inspection
from ticlm.platform.proposal.ladder import TinyModel
from ticlm.platform.proposal.periods import ChosenPeriods
from ticlm.platform.proposal.prompts import TOKENS
from ticlm.platform.proposal.sentences import minutes_said
from ticlm.platform.proposal.sizing import Sizes

BAD = 0.01
"""The share of bad rows that recipes allow if they say nothing."""
COLUMN, WIDTH = 56, 130
"""Where comments begin, and where lines with a comment end at most."""


def recipe(name: str, version: int, command: str, found: Inspection, chosen: ChosenPeriods, sizes: Sizes) -> str:
    """Return the recipe of a corpus, as YAML."""
    roles, share = found.roles, chosen.first.bytes / sum(one.bytes for one in chosen.amounts)
    about, files = "about " if found.estimated else "", "1 file" if found.files == 1 else f"{found.files:,} files"
    held_out = _usual(sizes) * sizes.eval / sizes.length
    theirs = "what the model may have seen" if isinstance(sizes.shape, ExistingModel) else "the first model's text"
    lines = [
        f"# The corpus `{name}`, for `{name}.yaml` beside it. Written by: {command}",
        "# All of it may be changed. Paths count from the folder in which ticlm runs.",
        f"name: {_text(name)}",
        _line(f"version: {version}", "raise it with a change of anything below but the last period"),
        "documents:",
        "  kind: files",
        _line(
            f"  paths: {_quoted(list(found.patterns))}",
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
        _line(f"  initial: {chosen.calendar.initial}", f"{theirs}: {share:.0%} of all"),
        _line(f"  step: {chosen.step}", f"the finest with enough text in each; {_smallest(chosen, sizes)}"),
        _line(f"  last: {chosen.calendar.last}", "the last one that is over; move it when new text has come"),
        _line(
            f"splits: {{eval: {sizes.eval:g}, tune: {sizes.tune:g}, by: tokens}}",
            f"of a usual {chosen.step} about {held_out:,.0f} rows to evaluate on; 200 do",
        ),
        "# `by: tokens` meets these shares in each period's text; by documents, a few long ones may exceed them.",
        _line(f"by_source: {str(found.by_source).lower()}", _why_sources(found)),
        _tokenizer(chosen, sizes),
        _line(f"length: {sizes.length}", "tokens of a row"),
    ]
    if found.bad_share > BAD / 2:
        lines.append(
            _line(f"limits: {{bad: {found.bad_share * 1.5:.2g}}}", f"{found.bad_share:.1%} of the rows are bad")
        )
    return "\n".join(lines) + "\n"


def study(
    name: str,
    corpus: str,
    recipe_file: str,
    command: str,
    chosen: ChosenPeriods,
    sizes: Sizes,
    minutes: float,
    prompts: Sequence[str],
) -> str:
    """Return the study, as YAML."""
    plain, replayed = sizes.rates
    rows = round(_usual(sizes) * (1 - sizes.eval - sizes.tune) / sizes.length)
    end = "1e-4" if isinstance(sizes.shape, TinyModel) else f"{plain / 10:.2g}"
    first = "the first" if isinstance(sizes.shape, TinyModel) else "the peak at which such models are trained first"
    lines = [
        f"# What it is worth to update a model with each {chosen.step} of `{name}`. Written by: {command}",
        f"# It should take about {minutes_said(sizes.minutes)} on this machine, of {minutes:g} asked for.",
        f"name: {_text(name)}",
        f"corpus: {_text(corpus)}",
        _line(f"recipe: {_text(recipe_file)}", "`ticlm run` builds the corpus with it"),
        _line("periods: corpus", "as in the recipe"),
        *_model(chosen, sizes),
        _line(
            f"continual_tokens: {{epochs: {sizes.update_epochs:g}, expected_rows: {max(1, rows)}}}",
            f"each update takes {sizes.update_epochs:g} times its own text: {_sizes(chosen, sizes)}",
        ),
        "each_method:",
        f"  schedule: {{end_rate: {end}, warmup_steps: {min(5, int(sizes.update_steps / 8))}}}",
        "methods:",
        "# Updates want a lower peak than the first round: at too high a one they forget more than they learn.",
        _line(
            f"  - {{base: cyclic-cosine, schedule: {{max_rate: {plain:g}}}}}",
            f"each new period alone; 1/16 of {first}",
        ),
        _line(
            f"  - {{base: replay-half, schedule: {{max_rate: {replayed:g}}}}}",
            "half of it is older text, so it bears 1/8",
        ),
    ]
    lines += _oracle(sizes)
    lines += [
        "evaluations:",
        _line(f"  - {{kind: perplexity, max_rows: {sizes.max_rows}}}", "rows of a period; the same for all"),
        *_says(prompts),
        _line(
            f"resources: {{workers: 1, chains: 2, micro_batch_rows: {sizes.batch_rows}"
            f"{'' if sizes.ray else ', trainer: process'}}}",
            "two chains side by side" if sizes.ray else "so short that Ray's start would not pay",
        ),
    ]
    return "\n".join(lines) + "\n"


def _tokenizer(chosen: ChosenPeriods, sizes: Sizes) -> str:
    shape, told = sizes.shape, f"{sizes.bytes_per_token:.1f} bytes in a token"
    if isinstance(shape, ExistingModel):
        name = _quoted(shape.path)
        return _line(
            f"tokenizer: {{kind: pretrained, name: {name}, as_of: {as_of(chosen, shape)}}}", f"the model's; {told}"
        )
    assert isinstance(shape, TinyModel)
    return _line(f"tokenizer: {{kind: train, vocab_size: {shape.vocabulary}}}", f"learnt from the first span; {told}")


def _model(chosen: ChosenPeriods, sizes: Sizes) -> list[str]:
    """Return the lines of the model and of its first round."""
    shape = sizes.shape
    batch = _line(
        f"batch_rows: {sizes.batch_rows}", f"the smallest update has about {sizes.update_steps:,.0f} steps then"
    )
    if isinstance(shape, ExistingModel):
        held = f"{{kind: folder, path: {_quoted(shape.path)}, as_of: {as_of(chosen, shape)}}}"
        told = f"{shape.parameters:,} parameters; text up to as_of may be known to it"
        first = _line("initial: {budget: 0}", "the model as it is; `frozen` on the page is this model")
        return [_line(f"model: {held}", told), batch, f"length: {sizes.length}", first]
    assert isinstance(shape, TinyModel)
    changes = f", changes: {{{', '.join(f'{k}: {v}' for k, v in shape.changes.items())}}}" if shape.changes else ""
    schedule = f"{{kind: cosine, max_rate: {sizes.first_rate:g}, end_rate: 1e-4, warmup_steps: {_warmup(sizes)}}}"
    return [
        _line(
            f"model: {{kind: preset, name: tiny{changes}}}",
            f"{shape.parameters:,} parameters: the largest that {_limit(sizes)} feeds",
        ),
        batch,
        f"length: {sizes.length}",
        "initial:",
        _line(
            f"  budget: {sizes.initial}",
            f"{sizes.per_parameter:.0f} tokens a parameter, {sizes.initial_epochs:.2g} times its text (3 at most)",
        ),
        _line(f"  schedule: {schedule}", "small models want rates as high as that"),
    ]


def _oracle(sizes: Sizes) -> list[str]:
    """Return the line of the Oracle series, or why it is left out."""
    if isinstance(sizes.shape, ExistingModel):
        return ["# No Oracle: nobody can train this model from scratch in these minutes."]
    if sizes.oracle and sizes.oracle_updates is not None:
        told = f"fewer tokens than a run ({sizes.oracle_tokens:,}), as it draws equally of small and large periods"
        extra = f", continual_tokens: {sizes.oracle_updates}"
        return [_line(f"  - {{base: oracle, cutoffs: [first, last]{extra}}}", told)]
    if sizes.oracle:
        return [_line("  - {base: oracle, cutoffs: [first, last]}", "trained from scratch: the reference")]
    oracle = "# - {base: oracle, cutoffs: [first, last]}: trained from scratch; left out, as it "
    if not sizes.repeats:
        return [f"{oracle}takes more minutes"]
    return [
        f"{oracle}would see the smallest",
        f"#   period {sizes.repeats:.1f} times: it draws as much of it as of others",
    ]


def _says(prompts: Sequence[str]) -> list[str]:
    """Return the lines of the prompts that models continue, none without prompts."""
    if not prompts:
        return []
    quoted = _quoted(list(prompts))
    return [
        _line(
            f"  - {{kind: continuations, prompts: {quoted}, tokens: {TOKENS}}}",
            "what each model writes after words with which many documents begin; yours say more",
        )
    ]


def _line(text: str, why: str) -> str:
    """Return a line with its reason behind it, or above it if both are too long for one line."""
    if len(text) < COLUMN and COLUMN + 2 + len(why) <= WIDTH:
        return f"{text.ljust(COLUMN)}# {why}"
    return f"{' ' * (len(text) - len(text.lstrip()))}# {why}\n{text}"


def _text(value: str) -> str:
    """Return a text as YAML has it: in quotes if it has marks, or if YAML would read another value (2016, On, null)."""
    plain = re.fullmatch(r"[A-Za-z0-9_][A-Za-z0-9_.@-]*", value) and yaml.safe_load(value) == value
    return value if plain else _quoted(value)


def _quoted(value: str | Sequence[str]) -> str:
    """Return a text, or a list of texts, in quotes on one line, whatever characters are in it."""
    one_line = yaml.safe_dump(value, default_style='"', default_flow_style=True, allow_unicode=True, width=math.inf)
    return one_line.rstrip("\n")


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
    tokens, label = min(zip(sizes.tokens[1:], chosen.timeline.labels[1:]))
    return f"the smallest is {label} ({tokens:,} tokens)"


def _usual(sizes: Sizes) -> int:
    later = sorted(sizes.tokens[1:])
    return later[len(later) // 2]


def _sizes(chosen: ChosenPeriods, sizes: Sizes) -> str:
    later: Sequence[int] = sizes.train[1:]
    return f"{round(min(later) * sizes.update_epochs):,} to {round(max(later) * sizes.update_epochs):,} tokens"


def _warmup(sizes: Sizes) -> int:
    """Return a twentieth of the first round's steps, as long as that is between 5 and 200."""
    return max(5, min(200, sizes.initial // (sizes.batch_rows * sizes.length) // 20))


def _limit(sizes: Sizes) -> str:
    return "this text" if sizes.initial_epochs > 2 else "the time"
