"""TODO"""

from __future__ import annotations

from ticlm.platform.tuning import selection, table
from ticlm.platform.tuning.outcome import SearchOutcome


def tell(found: SearchOutcome) -> None:
    """Print the table, the choice, and how to go on."""
    from ticlm.platform.cli.console import console, say

    wanted = found.tuning
    kind = "regret against an Oracle" if wanted.search.reference == "oracle" else "loss in nats"
    console().print(f"{wanted.study.name}: {wanted.space.says or wanted.space.name}")
    whole = f"all {len(wanted.study.periods.timeline())} periods"
    console().print(table.table(found.trials, f"{kind}, lower is better", wanted.describe, whole))
    for line in selection.describe(found.trials):
        say(line)
    say(f"the choice, as a study of all periods: ticlm run {found.folder}/chosen.yaml")
    say(f"all trials, period by period: ticlm report {found.folder}/study.yaml")
