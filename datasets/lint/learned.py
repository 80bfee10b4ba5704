"""The rules that compare the texts of a corpus with one another: series of numbers, names of a source, copies.

They need all texts, so a filter, which sees one document, cannot apply them. Texts are read once; what is kept of them
is small: sightings of numbers and names, and a sketch of each text's lines.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from ticlm.datasets.lint import copies, rare_names, series
from ticlm.datasets.lint.copies import LineCopies
from ticlm.datasets.lint.finding import Finding, LintText
from ticlm.datasets.lint.rare_names import RareNames
from ticlm.datasets.lint.series import NumberSeries

RULES = (series.RULE, rare_names.RULE, copies.RULE)


@dataclass
class CorpusSigns:
    """What the texts seen so far say about one another."""

    _series: NumberSeries = field(default_factory=NumberSeries)
    _names: RareNames = field(default_factory=RareNames)
    _copies: LineCopies = field(default_factory=LineCopies)

    def add(self, at: int, one: LintText) -> None:
        """Note a text, the `at`-th of all."""
        self._series.add(at, one)
        self._names.add(at, one)
        self._copies.add(at, one)

    def findings(self) -> Iterator[tuple[int, Finding]]:
        """Yield the findings of all texts together, each with the position of its text."""
        yield from self._series.findings()
        yield from self._names.findings()
        yield from self._copies.findings(self._names.hints())
