"""The README's examples run as they stand."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from paths import ROOT

from ticlm.platform.core.corpus import Corpus
from ticlm.platform.core.mixture import Source


def _example(heading: str) -> dict[str, Any]:
    """What the first Python block below a heading defines."""
    section = (ROOT / "README.md").read_text().split(f"## {heading}\n")[1]
    block = re.search(r"```python\n(.*?)```", section, re.DOTALL)
    assert block is not None
    names: dict[str, Any] = {"__name__": "readme"}
    # the module's own future import would otherwise turn the example's annotations into text
    exec(compile(block.group(1), f"README.md: {heading}", "exec", dont_inherit=True), names)
    return names


def test_the_example_of_a_method_shares_a_budget_among_the_newest_periods() -> None:
    replay = _example("Add a method")["RecentReplay"](window=2)
    seen = [Source(corpus="c@1", period=label) for label in ("202301", "202302", "202303")]
    mixture = replay.mixture(seen, 101)
    assert [(share.source.period, share.tokens) for share in mixture.shares] == [("202302", 51), ("202303", 50)]


def test_the_example_of_a_data_source_yields_dated_documents() -> None:
    (document,) = _example("Add a data source")["changelog"](iter(["2023-05-01 Fixed it."]))
    assert (document.text, document.id, document.timestamp.isoformat()) == (
        "Fixed it.",
        "changelog#0",
        "2023-05-01T00:00:00+00:00",
    )


def test_the_example_of_a_task_measures_the_worst_row(toy_corpus: Callable[..., Corpus], tmp_path: Path) -> None:
    class Lengths:
        """Every token costs what it is."""

        def rows(self, rows: Mapping[str, Any]) -> tuple[Any, Any]:
            labels = rows["tokens"][:, 1:].astype(float)
            return labels.sum(1), np.full(len(labels), labels.shape[1])

    corpus = toy_corpus(tmp_path / "toy@1")
    period = next(iter(corpus.periods))
    (found,) = _example("Add a task")["WorstRow"]().measure(Lengths(), corpus, period, rows=3)
    tokens = next(corpus.rows(period, "eval").all(10**6))["tokens"]
    assert found.value == tokens[:, 1:].mean(1).max()
    assert found.n == len(tokens)


def test_every_path_in_the_readme_exists() -> None:
    text = (ROOT / "README.md").read_text()
    named = set(re.findall(r"`((?:platform|methods|datasets|docs|tests)/[\w/.-]+)`", text))
    named |= {link for link in re.findall(r"\]\(([\w/.-]+)\)", text) if not link.startswith("http")}
    assert named
    assert not [name for name in sorted(named) if not (ROOT / name).exists()]
