"""Comparison of a report's summary with TiC-LM's Table 2: rank correlation of each column, and orderings that hold.

    python -m benchmarks.experiments.paper ROOT/reports/monthly-HASH/summary.csv [--tokens 440]

Rows are matched by the catalogue's names; a variant that the paper does not print stands for the printed method where
that one was not run. Spearman's ρ is computed over the continual methods that both have, and again within those that
replay and within the others, because replay against no replay alone makes a high correlation. An ordering is a pair of
methods that differ by more than SEPARATE in the paper, one and a half times its spread of seeds (.001); it holds if our
difference has the same sign.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Sequence
from itertools import combinations

import pandas as pd

from ticlm.platform.analysis.published.printed import PrintedTable, printed

MEANS = {"backward": "Bwd.", "in_distribution": "ID", "forward": "Fwd."}
TASK = "tic-cc"
SEPARATE = 0.0015


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("summary", help="summary.csv of a report")
    parser.add_argument("--source", default="", help="one source of text instead of all")
    parser.add_argument("--tokens", type=int, default=440, choices=(220, 440), help="the paper's budget, in billions")
    options = parser.parse_args()
    ours, paper = read(options.summary, options.source), table_2(options.tokens)
    spread = f"{'':8}" if ours["seeds"].max() > 1 else ""
    print(f"{'':18}" + "".join(f"{label + ' here':>12}{spread}{'paper':>9}" for label in MEANS.values()))
    for name in ours.index:
        print(f"{name:18}" + "".join(cell(ours, paper, name, mean, bool(spread)) for mean in MEANS))
    continual = [name for name in ours.index if name in paper.index and not ours["is_oracle"][name]]
    continual = [name for name in continual if printed().variants.get(name) not in continual]
    replay = [name for name in continual if name.startswith("replay")]
    others = [name for name in continual if name not in replay]
    for mean, label in MEANS.items():
        print(f"\n{label}")
        mine, theirs = ours[mean].astype(float), paper[mean]
        for group, names in (("all", continual), ("replay", replay), ("no replay", others)):
            compare(f"  {group} ({len(names)})", mine[names], theirs[names], list(combinations(names, 2)))
        across = [(a, b) for a in replay for b in others]
        compare("  one of each", mine[continual], theirs[continual], across, correlate=False)


def cell(ours: pd.DataFrame, paper: pd.DataFrame, name: str, mean: str, spread: bool) -> str:
    value, std = float(ours[mean][name]), float(ours[f"{mean}_std"][name])
    beside = f"{paper[mean][name]:>9.3f}" if name in paper.index else f"{'—':>9}"
    return f"{value:>12.3f}" + spread * f"{'' if math.isnan(std) else f'({std:.3f})':>8}" + beside


def table_2(billions: int) -> pd.DataFrame:
    """Return the means on TiC-CC by method: regret in log-perplexity of 3B models trained on so many tokens."""
    whole = next(one for one in printed().tables if one.table == "2" and one.model == "3b" and fits(one, billions))
    names = [*whole.rows, *(variant for variant, name in printed().variants.items() if name in whole.rows)]
    rows = {name: [whole.value(printed().variants.get(name, name), TASK, mean) for mean in MEANS] for name in names}
    return pd.DataFrame(rows, index=list(MEANS)).T


def fits(table: PrintedTable, billions: int) -> bool:
    return abs(table.tokens / (billions * 1e9) - 1) < 0.05


def read(path: str, source: str) -> pd.DataFrame:
    """Return the summary's rows by method for one source of text ("" means all)."""
    summary = pd.read_csv(path, keep_default_na=False, na_values=[""])
    summary["source"] = summary["source"].fillna("")
    return summary[summary["source"] == source].set_index("method")


def compare(
    group: str,
    ours: pd.Series[float],
    paper: pd.Series[float],
    pairs: Sequence[tuple[str, str]],
    *,
    correlate: bool = True,
) -> None:
    """Print the rank correlation of a group of methods, and which orderings of the pairs hold."""
    separated = [(a, b) for a, b in pairs if abs(paper[a] - paper[b]) > SEPARATE]
    broken = [(a, b) for a, b in separated if (ours[a] - ours[b]) * (paper[a] - paper[b]) <= 0]
    rho = f"Spearman's rho {ours.rank().corr(paper.rank()):+.2f}; " if correlate else ""
    print(f"{group}: {rho}{len(separated) - len(broken)} of {len(separated)} orderings hold")
    for a, b in broken if not group.startswith("  all") else []:
        low, high = (a, b) if paper[a] < paper[b] else (b, a)
        print(f"      not: {low} < {high} ({ours[low]:.3f}, {ours[high]:.3f})")


if __name__ == "__main__":
    main()
