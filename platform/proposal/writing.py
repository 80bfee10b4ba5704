"""Lines of YAML with the reason of each choice beside them."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence

import yaml

from ticlm.platform.proposal.periods import ChosenPeriods
from ticlm.platform.proposal.prompts import TOKENS
from ticlm.platform.proposal.sentences import minutes_said
from ticlm.platform.proposal.sizing import Sizes

COLUMN, WIDTH = 56, 130
"""Where comments begin, and where lines with a comment end at most."""


def line(text: str, why: str) -> str:
    """Return a line with its reason behind it, or above it if both are too long for one line."""
    if len(text) < COLUMN and COLUMN + 2 + len(why) <= WIDTH:
        return f"{text.ljust(COLUMN)}# {why}"
    return f"{' ' * (len(text) - len(text.lstrip()))}# {why}\n{text}"


def plain(value: str) -> str:
    """Return a text as YAML has it: in quotes if it has marks, or if YAML would read another value (2016, On, null)."""
    is_plain = re.fullmatch(r"[A-Za-z0-9_][A-Za-z0-9_.@-]*", value) and yaml.safe_load(value) == value
    return value if is_plain else quoted(value)


def quoted(value: str | Sequence[str]) -> str:
    """Return a text, or a list of texts, in quotes on one line, whatever characters are in it."""
    one_line = yaml.safe_dump(value, default_style='"', default_flow_style=True, allow_unicode=True, width=math.inf)
    return one_line.rstrip("\n")


def said_prompts(prompts: Sequence[str]) -> list[str]:
    """Return the lines of the prompts that models continue, none without prompts."""
    if not prompts:
        return []
    return [
        line(
            f"  - {{kind: continuations, prompts: {quoted(list(prompts))}, tokens: {TOKENS}}}",
            "what each model writes after words with which many documents begin; yours say more",
        )
    ]


def update_sizes(sizes: Sizes) -> str:
    """Return the tokens of the smallest and of the largest update, in words."""
    later: Sequence[int] = sizes.train[sizes.first :]
    return f"{round(min(later) * sizes.update_epochs):,} to {round(max(later) * sizes.update_epochs):,} tokens"


def opening(
    name: str, corpus: str, recipe: str, command: str, chosen: ChosenPeriods, sizes: Sizes, minutes: float
) -> list[str]:
    """Return the first lines of a study: what it asks, its name and its corpus."""
    return [
        f"# What it is worth to update a model with each {chosen.step} of `{name}`. Written by: {command}",
        f"# It should take about {minutes_said(sizes.minutes)} on this machine, of {minutes:g} asked for.",
        f"name: {plain(name)}",
        f"corpus: {plain(corpus)}",
        line(f"recipe: {plain(recipe)}", "`ticlm run` builds the corpus with it"),
    ]


def budget(sizes: Sizes) -> str:
    """Return the line of the tokens of an update."""
    return line(
        f"continual_tokens: {{epochs: {sizes.update_epochs:g}, expected_rows: {sizes.expected_rows}}}",
        f"each update takes {sizes.update_epochs:g} times its own text: {update_sizes(sizes)}",
    )


def resources(sizes: Sizes) -> str:
    """Return the line that says how the study runs."""
    return line(
        f"resources: {{workers: 1, chains: 2, micro_batch_rows: {sizes.batch_rows}"
        f"{'' if sizes.ray else ', trainer: process'}}}",
        "two chains side by side" if sizes.ray else "so short that Ray's start would not pay",
    )
