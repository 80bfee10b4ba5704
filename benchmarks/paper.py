"""Comparison of a report's summary with TiC-LM's Table 2: rank correlation of each column, and orderings that hold.

    python -m benchmarks.paper ROOT/reports/monthly/summary.csv

Rows are matched by the catalogue's names. Spearman's ρ is computed over the methods that both have, without the Oracle
series, because it is not a continual method. An ordering is a pair of methods whose difference in the paper is larger
than its spread of seeds (.001); it holds if our difference has the same sign.
"""

from __future__ import annotations

import argparse
from itertools import combinations

import pandas as pd

MEANS = {"backward": "Bwd.", "in_distribution": "ID", "forward": "Fwd."}

# TiC-LM, Table 2, TiC-CC: regret in log-perplexity of 3B models trained on 220B tokens.
TABLE_2 = {
    "cyclic-cosine": (0.072, 0.027, 0.161),
    "cyclic-cosine+ar": (0.058, 0.040, 0.166),
    "cyclic-rsqrt": (0.065, 0.030, 0.162),
    "schedule-free": (0.065, 0.036, 0.164),
    "replay-equal": (0.023, 0.074, 0.178),
    "replay-half": (0.024, 0.042, 0.167),
    "replay-equal+ar": (0.026, 0.083, 0.181),
    "replay-half+ar": (0.025, 0.055, 0.171),
    "lwf": (0.072, 0.027, 0.161),
    "ewc": (0.061, 0.032, 0.162),
    "oracle": (-0.003, 0.037, 0.163),
}
SEPARATE = 0.0015


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("summary", help="summary.csv of a report")
    parser.add_argument("--source", default="", help="one source of text instead of all")
    options = parser.parse_args()
    ours = read(options.summary, options.source)
    paper = pd.DataFrame(TABLE_2, index=list(MEANS)).T
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
