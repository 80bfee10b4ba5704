"""InvariantLAMA: facts of LAMA's T-REx that do not change, as cloze probes (CKL, section 3.1)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any, Literal

from pydantic import Field

from ticlm.core.accounting import Step
from ticlm.core.examples import Example
from ticlm.core.mixture import Subset
from ticlm.core.settings import Settings
from ticlm.datasets.evalsets.files import STANDS
from ticlm.datasets.examples.context import BuildContext, PeriodDraft
from ticlm.datasets.examples.placing import OnePeriod, UnusableExample, period_of
from ticlm.datasets.io import records
from ticlm.datasets.io.documents import Input, input_files
from ticlm.datasets.io.listing import Patterns
from ticlm.datasets.lama import trex
from ticlm.datasets.lama.collecting import TWICE, Collected, ProbeRules
from ticlm.datasets.lama.trex import Fact, InvariantRules

ROWS = "rows"


class InvariantLama(Settings):
    """Probes from the rows of LAMA's T-REx: JSON lines with `predicate_id`, `sub_label`, `obj_label` and perhaps
    `template` and `uuid`, one file for each relation (`P19.jsonl`) or all in one.

    What was read, and dropped for which reason, is counted for each relation.
    """

    kind: Literal["invariant-lama"] = "invariant-lama"
    paths: Patterns = Field(min_length=1)
    """Files of rows, globs or folders, local or remote."""
    templates: Patterns = ()
    """LAMA's `relations.jsonl`, for rows without `template`; relations that it lacks have the templates of CKL's Table
    4."""
    invariant: InvariantRules = InvariantRules()
    """Which facts make probes."""
    subset: Subset = "invariant"
    """Name of the subset that the probes belong to."""
    period: OnePeriod = "202005"
    """The period of all probes; facts of T-REx have no dates. By default that of CKL's dump of Wikipedia."""
    rules: ProbeRules = ProbeRules()
    """Which probes are left out, beyond the rules for facts."""

    @property
    def identity(self) -> Settings:
        return self.model_copy(update={"paths": ("",), "templates": ("",) if self.templates else ()})

    def inputs(self) -> list[Input]:
        templates = self._templates()
        named = {entry.path for entry in templates}
        rows = input_files(self.paths, records.SUFFIXES, "examples.paths")
        return [*(entry for entry in rows if entry.path not in named), *templates]

    def drafts(self, context: BuildContext) -> Iterator[PeriodDraft]:
        if self.period in context.built:
            context.steps.append(Step(name="files", read=len(context.inputs), dropped={STANDS: len(context.inputs)}))
            return
        named = [entry.path for entry in self._templates()]
        templates, seen = trex.templates_of(named), set[Fact]()
        collected = Collected(self.rules)
        for relation in self.invariant.kept:
            collected.expect(relation)
        for entry in context.inputs:
            if entry.path in named:
                continue
            for line, row in trex.rows(entry.path):
                name = f"{entry.path.rsplit('/', 1)[-1]}:{line}"
                collected.add(self.subset, partial(self._probe, row, templates, seen, name), _step(row))
        yield from collected.drafts(context, period_of(self.period), tuple(entry.path for entry in context.inputs))

    def _templates(self) -> list[Input]:
        return input_files(self.templates, records.SUFFIXES, "examples.templates") if self.templates else []

    def _probe(
        self, row: Mapping[str, Any] | records.BadRecord, templates: Mapping[str, str], seen: set[Fact], name: str
    ) -> Example:
        """Return the probe of a row; `seen` holds the facts before it. Raises UnusableExample."""
        if isinstance(row, records.BadRecord):
            raise UnusableExample(row.reason)
        fact = trex.fact_of(row)
        self.invariant.check(fact)
        if fact in seen:
            raise UnusableExample(TWICE)
        seen.add(fact)
        return trex.probe(fact, row, templates, name)


def _step(row: Mapping[str, Any] | records.BadRecord) -> str:
    """Return the relation under which a row is counted."""
    relation = None if isinstance(row, records.BadRecord) else row.get("predicate_id")
    return relation if isinstance(relation, str) else ROWS
