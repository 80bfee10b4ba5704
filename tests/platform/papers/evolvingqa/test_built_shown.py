"""The table of several judges: what each would keep, where they agree, and kappa."""

from __future__ import annotations

import pandas as pd

from ticlm.datasets.generation.agreement import KEPT, VERDICTS
from ticlm.platform.display.text_tables import TextCell
from ticlm.platform.papers.evolvingqa.built_shown import built_tables
from ticlm.platform.papers.evolvingqa.construction import COUNT_COLUMNS, SIZE_COLUMNS, STEP_COLUMNS, counts
from ticlm.platform.results.built_sets import BuiltSet

MARCH = {
    "calls by prompt": {"supported": 300},
    KEPT: {"supported: judge 1, a": 25, "supported: judge 2, b": 30},
    VERDICTS: {
        **{"supported: true, true": 20, "supported: true, false": 5},
        **{"supported: false, true": 10, "supported: false, false": 15},
    },
}
APRIL = {KEPT: {"supported: judge 1, a": 3, "supported: judge 2, b": 3}, VERDICTS: {"supported: true, true": 3}}


def test_judges_have_a_table_of_their_own() -> None:
    built = BuiltSet("questions@1", {}, {}, {"202303": MARCH, "202304": APRIL})
    sizes, steps = (pd.DataFrame(columns=list(columns)) for columns in (SIZE_COLUMNS, STEP_COLUMNS))
    frame = pd.DataFrame(counts("wiki", [built]), columns=list(COUNT_COLUMNS))
    judges, others = built_tables(sizes, steps, frame)
    assert (judges.title, judges.columns) == ("Judges", ("2023-03", "2023-04"))
    assert {line.names: line.cells for line in judges.lines} == {
        ("questions@1", "supported", "kept by judge 1, a"): (
            *(TextCell("25", "50.0 % of 50"), TextCell("3", "100.0 % of 3")),
        ),
        ("questions@1", "supported", "kept by judge 2, b"): (
            *(TextCell("30", "60.0 % of 50"), TextCell("3", "100.0 % of 3")),
        ),
        ("questions@1", "supported", "all judges agree"): (
            TextCell("35", "70.0 % of 50, kappa 0.40"),
            TextCell("3", "100.0 % of 3, kappa not defined"),
        ),
    }
    assert [line.names for line in others.lines] == [("questions@1", "calls by prompt", "supported")]
    one = frame[~frame["count"].isin((KEPT, VERDICTS))]
    assert [table.title for table in built_tables(sizes, steps, one)] == ["Counts"]
