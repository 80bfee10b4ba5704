"""The section "By difficulty" of docs/results/evolvingqa.md, as tables of Markdown, from the files of a report.

python -m benchmarks.experiments.evolving_difficulty FOLDER            # runs/reports/evolvingqa-synthetic-…
python -m benchmarks.experiments.evolving_difficulty FOLDER --readers  # models with a passage before the question
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

GROUPS, EFFECTS = "evolving_difficulty.csv", "evolving_difficulty_effects.csv"
ENDS = {"": ("difference", "low", "high"), "within categories of answers": ("within", "within_low", "within_high")}


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, help="the folder of the report")
    parser.add_argument("--readers", action="store_true", help="show the readers in the place of the methods")
    options = parser.parse_args(arguments)
    groups, effects = (pd.read_csv(options.folder / name, keep_default_na=True) for name in (GROUPS, EFFECTS))
    for line in lines(*(frame[frame["reader"].notna() == options.readers] for frame in (groups, effects))):
        print(line)


def lines(groups: pd.DataFrame, effects: pd.DataFrame) -> Iterator[str]:
    """Yield a table of what the hardest third cost, one of that within categories, and one of exact match by group."""
    rows = list(dict.fromkeys(effects["row"]))
    places = list(dict.fromkeys(zip(effects["set"], effects["measure"], strict=True)))
    of = {(one["row"], one["set"], one["measure"]): one for one in effects.to_dict("records")}
    for title, names in ENDS.items():
        yield from _head([f"hardest − easiest, points {title}".strip(), *rows])
        for name, measure in places:
            cells = [_apart(*(of[row, name, measure][end] for end in names)) for row in rows]
            yield f"| {name}, {_plain(measure)} | {' | '.join(cells)} |"
        yield ""
    yield from _head(["exact match, %", "group", *rows])
    for (name, measure), held in groups.groupby(["set", "measure"], sort=False):
        for level, several in held.groupby("level", sort=False) if (name, measure) in places else ():
            first = several.iloc[0]
            about = f"{level}: {_ends(first)} (n {first['n']}, {first['articles']} articles)"
            cells = [f"{100 * one['value']:.1f} ± {100 * one['stderr']:.1f}" for one in several.to_dict("records")]
            yield f"| {name}, {_plain(str(measure))} | {about} | {' | '.join(cells)} |"


def _head(columns: Sequence[str]) -> Iterator[str]:
    yield f"| {' | '.join(columns)} |"
    yield "|---" * len(columns) + "|"


def _plain(measure: str) -> str:
    return measure.replace("_", " ")


def _ends(one: Any) -> str:
    return f"{one['from']:g}" if one["from"] == one["to"] else f"{one['from']:g} to {one['to']:g}"


def _apart(value: float, low: float, high: float) -> str:
    if pd.isna(value):
        return "–"
    around = "" if pd.isna(low) else f" ({100 * low:+.0f} to {100 * high:+.0f})"
    return f"{100 * value:+.1f}{around}".replace("-", "−")


if __name__ == "__main__":
    main()
