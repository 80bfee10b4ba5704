"""How a report was asked for: the folder that belongs to it, and the command that makes it again."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import dataclass

from ticlm.core import paths
from ticlm.core.fingerprint import fingerprint
from ticlm.platform.analysis.conventions import STANDARD, Preset
from ticlm.platform.results.study_result import StudyResult


@dataclass(frozen=True)
class ReportRequest:
    """What a report was asked for beside its studies, all as it was typed."""

    root: str = "runs"
    imports: tuple[str, ...] = ()
    preset: str = STANDARD
    names: tuple[str, ...] = ()
    """`TASK=NAME`: tasks that are shown under other names."""
    reference: str = ""
    """The cutoff of the Oracle that regret is relative to, if it was chosen."""
    paper: bool = False
    """Whether the numbers that papers print stand beside ours."""
    all_pairs: bool = False
    """Whether every two methods are compared, however many there are."""
    typed: str = ""
    """The command that makes this report, if that is none of `ticlm report`."""

    def command(self, results: Sequence[StudyResult]) -> str:
        """Return the command that makes this report again from the same root."""
        if self.typed:
            return self.typed
        asked = [study.setup.request for study in results if study.setup is not None]
        words = ["ticlm", "report", *(one.named for one in asked)]
        for option, values in (
            ("--set", dict.fromkeys(change for one in asked for change in one.sets)),
            ("--import", self.imports),
            ("--as", self.names),
            ("--preset", [self.preset] if self.preset != STANDARD else []),
            ("--reference", [self.reference] if self.reference else []),
            ("--root", [self.root]),
        ):
            words += [word for value in values for word in (option, value)]
        words += ["--paper"] if self.paper else []
        words += ["--all-pairs"] if self.all_pairs else []
        return shlex.join(words)

    def folder(self, results: Sequence[StudyResult], preset: Preset) -> str:
        """Return the folder of the report, relative to the root.

        Its name ends in a hash of all that reaches the numbers, so no other report is written over it: the settings of
        the studies without `resources`, what was imported, the conventions, and names of tasks.
        """
        identities = [study.setup.identity for study in results if study.setup is not None]
        return self.place([study.name for study in results], identities, preset)

    def place(self, names: Sequence[str], identities: Sequence[str], preset: Preset) -> str:
        """Return the folder of the report of studies with these names and identities (`setup.identity_of`)."""
        rules = (preset.default, tuple(preset.by_task.items()))
        whole = fingerprint((tuple(identities), self.imports, rules, self.names, self.reference))
        return paths.report(names, whole)


def set_lines(results: Sequence[StudyResult]) -> list[str]:
    """Return a line for each study about the settings that were changed on the command line."""
    lines = []
    for study in results:
        if study.setup is not None and study.setup.request.sets:
            typed = " ".join(f"--set {shlex.quote(change)}" for change in study.setup.request.sets)
            changed = "; ".join(study.setup.changed)
            lines.append(f"{study.name}: {typed}" + (f" ({changed})" if changed else ""))
    return lines
