"""Comparison of a report's summary with TiC-LM's Table 2: rank correlation of each column, and orderings that hold.

    python -m benchmarks.experiments.paper ROOT/reports/monthly-HASH/summary.csv

Rows are matched by the catalogue's names. Spearman's ρ is computed over the methods that both have, without the Oracle
series, because it is not a continual method. An ordering is a pair of methods whose difference in the paper is larger
than its spread of seeds (.001); it holds if our difference has the same sign.
"""

from __future__ import annotations

import argparse
from itertools import combinations

import pandas as pd

from ticlm.platform.analysis.published.printed import printed

MEANS = {"backward": "Bwd.", "in_distribution": "ID", "forward": "Fwd."}

SEPARATE = 0.0015


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("summary", help="summary.csv of a report")
    parser.add_argument("--source", default="", help="one source of text instead of all")
    options = parser.parse_args()
    ours = read(options.summary, options.source)
    paper = pd.DataFrame(table_2(), index=list(MEANS)).T
    both = [name for name in paper.index if name in ours.index]
    print(f"{'':18}" + "".join(f"{label + ' here':>14}{'paper':>9}" for label in MEANS.values()))
    for name in [*both, *(name for name in ours.index if name not in both)]:
        cells = "".join(
            f"{ours.loc[name, mean]:>14.3f}" + (f"{paper.loc[name, mean]:>9.3f}" if name in both else f"{'—':>9}")
            for mean in MEANS
        )
        print(f"{name:18}{cells}")
    continual = [name for name in both if name != "oracle"]
    print(f"\nover {len(continual)} continual methods:")
    for mean, label in MEANS.items():
        compare(label, ours.loc[continual, mean], paper.loc[continual, mean])


def table_2() -> dict[str, tuple[float, ...]]:
    """Return the means on TiC-CC by method: regret in log-perplexity of 3B models trained on 220B tokens."""
    whole = next(one for one in printed().tables if (one.table, one.model, one.tokens) == ("2", "3b", 223_674_572_800))
    at = len(MEANS) * whole.tasks.index("tic-cc")
    return {method: values[at : at + len(MEANS)] for method, values in whole.rows.items()}


def read(path: str, source: str) -> pd.DataFrame:
    """Return the means by method for one source of text ("" means all)."""
    summary = pd.read_csv(path, keep_default_na=False, na_values=[""])
    summary["source"] = summary["source"].fillna("")
    return summary[summary["source"] == source].set_index("method")[list(MEANS)].astype(float)


def compare(label: str, ours: pd.Series[float], paper: pd.Series[float]) -> None:
    rho = ours.rank().corr(paper.rank())
    separated = [pair for pair in combinations(paper.index, 2) if abs(paper[pair[0]] - paper[pair[1]]) > SEPARATE]
    broken = [(a, b) for a, b in separated if (ours[a] - ours[b]) * (paper[a] - paper[b]) <= 0]
    print(f"{label:5} Spearman's rho {rho:+.2f}; {len(separated) - len(broken)} of {len(separated)} orderings hold")
    for a, b in broken:
        low, high = (a, b) if paper[a] < paper[b] else (b, a)
        print(f"      not: {low} < {high} ({ours[low]:.3f}, {ours[high]:.3f})")


if __name__ == "__main__":
    main()
