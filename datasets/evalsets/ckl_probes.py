"""CKL's probe sets: the CSV and JSON files released with the paper (Jang et al., 2022)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Literal

from pydantic import Field

from ticlm.core.accounting import Step
from ticlm.core.errors import InputError
from ticlm.core.mixture import Subset
from ticlm.core.settings import Settings
from ticlm.datasets.evalsets.files import STANDS
from ticlm.datasets.examples.context import BuildContext, PeriodDraft
from ticlm.datasets.examples.placing import OnePeriod, period_of
from ticlm.datasets.io.documents import Input
from ticlm.datasets.lama import released
from ticlm.datasets.lama.collecting import Collected, ProbeRules
from ticlm.datasets.lama.released import ReleasedFiles


class ReleasedSets(Settings):
    """What determines CKL's probe sets, wherever their files are."""

    subsets: tuple[Subset, ...]
    """The subsets, in order."""
    scored: tuple[Subset, ...]
    """The subsets that have a file of answers."""
    period: str
    """The period of all probes."""
    rules: ProbeRules
    """Which probes are left out."""


class CklProbes(Settings):
    """Probe sets released with CKL, each a subset of one period: `invariant`, `updated`, `new`, `new-easy`, and for
    the phases of SMALL `new-easy-p1` and `new-easy-p2`.

    A probe has its cloze as `text` and, if its file has one, the question, so that both forms can be asked.
    """

    kind: Literal["ckl-probes"] = "ckl-probes"
    sets: dict[Subset, ReleasedFiles] = Field(min_length=1)
    """The files of each subset: its rows, and its answers, if they are in a file of their own."""
    period: OnePeriod = "202005-202104"
    """The period of all probes; the files have no dates. By default that of CC-RecentNews."""
    rules: ProbeRules = ProbeRules()
    """Which probes are left out."""

    def of_files(self, progress: Callable[[str], None]) -> CklProbes:
        """Return these sets without the optional ones whose files are absent, and say which these are.

        Raises InputError if the files of some optional sets are there and those of others are not: SMALL has two
        phases, and one alone is a download that was not finished.
        """
        optional = {name: files for name, files in self.sets.items() if files.optional}
        absent = [name for name, files in optional.items() if files.are_absent]
        if not absent:
            return self
        lacking = ", ".join(path for name in absent for path in optional[name].rows)
        if len(absent) < len(optional):
            there = ", ".join(path for name in optional if name not in absent for path in optional[name].rows)
            raise InputError(
                f"examples.sets: {there} is there and {lacking} is not; the sets {' and '.join(optional)} come "
                "together: give the files of all of them, or of none"
            )
        progress(f"left out {', '.join(absent)}, whose files are not here: {lacking}")
        held = {name: files for name, files in self.sets.items() if name not in absent}
        if not held:
            raise InputError(f"examples.sets: none of the files is here: {lacking}")
        return self.model_copy(update={"sets": held})

    @property
    def identity(self) -> Settings:
        scored = (name for name, files in self.sets.items() if files.answers is not None)
        return ReleasedSets(
            subsets=tuple(sorted(self.sets)), scored=tuple(sorted(scored)), period=self.period, rules=self.rules
        )

    def inputs(self) -> list[Input]:
        found: dict[str, Input] = {}
        for subset, files in self.sets.items():
            for entry in files.inputs(f"examples.sets.{subset}"):
                if entry.path in found and not entry.path.endswith(".json"):
                    raise InputError(f"examples.sets: {entry.path} stands under two subsets")
                found[entry.path] = entry
        return [found[path] for path in sorted(found)]

    def drafts(self, context: BuildContext) -> Iterator[PeriodDraft]:
        if self.period in context.built:
            context.steps.append(Step(name="files", read=len(context.inputs), dropped={STANDS: len(context.inputs)}))
            return
        collected = Collected(self.rules)
        for subset, files in sorted(self.sets.items()):
            released.read([entry.path for entry in files.inputs(f"examples.sets.{subset}")], subset, collected)
        paths = tuple(entry.path for entry in context.inputs)
        yield from collected.drafts(context, period_of(self.period), paths, self.sets)
