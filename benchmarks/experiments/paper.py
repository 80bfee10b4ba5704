"""Comparison of a report's summary with TiC-LM's Table 2: rank correlation of each column, and orderings that hold.

    python -m benchmarks.experiments.paper ROOT/reports/monthly-HASH/summary.csv [--tokens 220B] [--pairs METHOD…]

Rows are matched by the catalogue's names; a variant that the paper does not print stands for the printed method where
that one was not run. Spearman's ρ is computed over the continual methods that both have, and again within those that
replay and within the others, because replay against no replay alone makes a high correlation. An ordering is a pair of
methods that differ by more than SEPARATE in the paper, one and a half times its spread of seeds (.001); it holds if our
difference has the same sign. `--pairs` prints the differences of every two of the named methods, here and there.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Sequence
from itertools import combinations

import pandas as pd

from ticlm.platform.analysis.numbers import HEADINGS
from ticlm.platform.display.words import over_seeds
from ticlm.platform.papers.tic_lm.printed import printed

TASK = "tic-cc"
SEPARATE = 0.0015
TOKENS = {"220B": 223_674_572_800, "440B": 447_349_145_600}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("summary", help="summary.csv of a report")
    parser.add_argument("--source", default="", help="one source of text instead of all")
    parser.add_argument("--tokens", default="440B", choices=TOKENS, help="the paper's budget")
    parser.add_argument("--pairs", nargs="*", default=[], metavar="METHOD", help="methods to compare one by one")
    options = parser.parse_args()
    ours, paper = read(options.summary, options.source), table_2(TOKENS[options.tokens])
    both = ours.index.intersection(paper.index)
    if lacking := [name for name in options.pairs if name not in both]:
        parser.error(f"--pairs: {', '.join(lacking)}: not in both tables; those that are: {', '.join(both)}")
    spread = f"{'':8}" if ours["seeds"].max() > 1 else ""
    print(f"{'':18}" + "".join(f"{label + ' here':>12}{spread}{'paper':>9}" for label in HEADINGS.values()))
    for name in ours.index:
        print(f"{name:18}" + "".join(cell(ours, paper, name, mean, bool(spread)) for mean in HEADINGS))
    if spread and "first_models" in ours:
        several = ours[ours["seeds"] > 1]
        print(
            f"In brackets: the standard deviation over seeds. {over_seeds(zip(several.index, several['first_models']))}"
        )
    continual = [name for name in ours.index if name in paper.index and not ours["is_oracle"][name]]
    continual = [name for name in continual if printed().variants.get(name) not in continual]
    replay = [name for name in continual if ours["group"][name] == "replay"]
    others = [name for name in continual if name not in replay]
    for mean, label in HEADINGS.items():
        print(f"\n{label}")
        mine, theirs = ours[mean].astype(float), paper[mean]
        for group, names in (("all", continual), ("replay", replay), ("no replay", others)):
            rho = mine[names].rank().corr(theirs[names].rank())
            print(f"  {group} ({len(names)}): Spearman's rho {rho:+.2f}; ", end="")
            orderings(mine, theirs, list(combinations(names, 2)), name_broken=names is not continual)
        print("  one of each: ", end="")
        orderings(mine, theirs, [(a, b) for a in replay for b in others])
    one_by_one(ours, paper, options.pairs)


def cell(ours: pd.DataFrame, paper: pd.DataFrame, name: str, mean: str, spread: bool) -> str:
    value, std = float(ours[mean][name]), float(ours[f"{mean}_std"][name])
    beside = f"{paper[mean][name]:>9.3f}" if name in paper.index else f"{'—':>9}"
    return f"{value:>12.3f}" + spread * f"{'' if math.isnan(std) else f'({std:.3f})':>8}" + beside


def table_2(tokens: int) -> pd.DataFrame:
    """Return the means on TiC-CC by method: regret in log-perplexity of 3B models trained on so many tokens."""
    whole = next(one for one in printed().tables if (one.table, one.model, one.tokens) == ("2", "3b", tokens))
    names = [*whole.rows, *(variant for variant, name in printed().variants.items() if name in whole.rows)]
    rows = {name: [whole.value(printed().variants.get(name, name), TASK, mean) for mean in HEADINGS] for name in names}
    return pd.DataFrame(rows, index=list(HEADINGS)).T


def read(path: str, source: str) -> pd.DataFrame:
    """Return the summary's rows by method for one source of text ("" means all)."""
    summary = pd.read_csv(path, keep_default_na=False, na_values=[""])
    summary["source"] = summary["source"].fillna("")
    return summary[summary["source"] == source].set_index("method")


def orderings(
    ours: pd.Series[float], paper: pd.Series[float], pairs: Sequence[tuple[str, str]], *, name_broken: bool = True
) -> None:
    """Print how many orderings of the pairs hold, and which do not."""
    separated = [(a, b) for a, b in pairs if abs(paper[a] - paper[b]) > SEPARATE]
    broken = [(a, b) for a, b in separated if (ours[a] - ours[b]) * (paper[a] - paper[b]) <= 0]
    print(f"{len(separated) - len(broken)} of {len(separated)} orderings hold")
    for a, b in broken if name_broken else []:
        low, high = (a, b) if paper[a] < paper[b] else (b, a)
        print(f"      not: {low} < {high} ({ours[low]:.3f}, {ours[high]:.3f})")


def one_by_one(ours: pd.DataFrame, paper: pd.DataFrame, names: Sequence[str]) -> None:
    """Print the difference of every two methods in each column, here and in the paper."""
    for a, b in combinations(names, 2):
        pairs = ((float(ours[mean][a] - ours[mean][b]), float(paper[mean][a] - paper[mean][b])) for mean in HEADINGS)
        print(f"{a} − {b}".ljust(36) + "".join(f"{here:>+10.3f}{there:>+9.3f}" for here, there in pairs))


if __name__ == "__main__":
    main()
