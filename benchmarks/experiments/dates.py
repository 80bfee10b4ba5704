"""What a date before a text is worth: losses behind wrong dates and behind none, above that behind the right date.

    python -m benchmarks.experiments.dates RESULTS          # results.csv of a report of `time-prefixes`

For each distance of the wrong date in months, too early or too late, and both together: the mean of `difference…` over
evaluated periods, in nats per token, with a 95 % interval by Student's t over periods (a period counts once, by its
mean over checkpoints and seeds, since its texts are the same for all). Cells are given apart for the periods that a
checkpoint has trained on, the last one of them or an earlier one, and those that it has not.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import pandas as pd
from scipy import stats

PREFIX = "difference"
RELATIONS = {"earlier": -1, "its last": 0, "later": 1}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("results", type=Path)
    cells = differences(parser.parse_args().results)
    for method, of_method in cells.groupby("method", sort=False):
        print(f"{method}\n{'months off':>12}" + "".join(f"{name:>26}" for name in ("all", *RELATIONS)))
        for name, chosen in [*of_method.groupby("off", sort=False), *of_method.groupby("distance", sort=False)]:
            by_relation = [chosen, *(chosen[chosen["relation"] == sign] for sign in RELATIONS.values())]
            print(f"{name!s:>12}" + "".join(f"{described(part):>26}" for part in by_relation))


def differences(results: Path) -> pd.DataFrame:
    """Return a line for each cell of a difference, with `off` (by how many months the date is wrong, or none),
    `distance` (the same without its sign) and `relation` of the evaluated period to the last one of training."""
    table = pd.read_csv(results, dtype={"trained": str, "evaluated": str})
    cells = table[table["metric"].str.startswith(PREFIX)].copy()
    if cells.empty:
        raise SystemExit(f"{results}: no differences; report a study with the task dated-perplexity")
    cells["off"] = cells["metric"].str.removeprefix(PREFIX).str.removeprefix("-none").replace("", "no date")
    cells["distance"] = "±" + cells["off"].str.lstrip("+-")
    cells.loc[cells["off"] == "no date", "distance"] = None
    cells["relation"] = (cells["evaluated"] > cells["trained"]).astype(int) - (cells["evaluated"] < cells["trained"])
    return cells


def described(cells: pd.DataFrame) -> str:
    """Return the mean over evaluated periods and its 95 % interval."""
    means = cells.groupby("evaluated")["value"].mean().dropna()
    if len(means) < 2:
        return "–"
    low, high = stats.t.interval(0.95, len(means) - 1, means.mean(), stats.sem(means))
    return f"{means.mean():+.4f} ({low:+.4f} {high:+.4f})"


if __name__ == "__main__":
    main()
