"""How far apart the months of a synthetic world lie: the loss of one model on later months, by the world's settings.

    python -m benchmarks.experiments.world ROOT [--only drift=0.7]     # about a minute a world on one core

Each world's model is the demo's, trained on 1.2 M tokens of the first month alone. The script prints its loss on
held-out text of that month, in nats per token, and how much higher it is on text from one to twenty-four months later.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import pandas as pd
from benchmarks.experiments.commands import ticlm

WORLDS = (
    *("edition=slow", "edition=fast"),
    *("drift=0", "drift=0.7", "drift=2"),
    *("vocabulary=300", "vocabulary=3000"),
    *("noise=0", "noise=0.4", "noise=0.9"),
    *("changing=0", "changing=0.3", "turnover=0", "stories=0", "stories=24"),
)
DISTANCES = {"202302": 1, "202307": 6, "202401": 12, "202501": 24}
STUDY = """
extends: demo
name: {name}
corpus: {name}
periods: {{initial: 202301, step: month, last: 202501}}
initial: {{budget: 1_228_800}}
methods: [{{base: oracle, cutoffs: [202301]}}]
evaluations: [{{kind: perplexity, max_rows: 512}}]
evaluate: {{checkpoints: [202301], periods: [202301, {periods}]}}
reference: raw
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("root", type=Path)
    parser.add_argument("--only", action="append", choices=WORLDS, help="this world; may be given several times")
    options = parser.parse_args()
    root = options.root.resolve()
    root.mkdir(parents=True, exist_ok=True)
    print(f"{'world':16}{'own month':>11}" + "".join(f"{f'+{n} months':>12}" for n in DISTANCES.values()))
    for changed in options.only or WORLDS:
        losses = measure(root, changed)
        own = losses["202301"]
        later = "".join(f"{losses[period] - own:>+12.3f}" for period in DISTANCES)
        print(f"{changed:16}{own:>11.3f}{later}", flush=True)


def measure(root: Path, changed: str) -> dict[str, float]:
    """Return the loss on each month, by label, of a world with one setting changed."""
    name = "world-" + changed.replace("=", "-")
    sets = {
        **{"name": name, "periods.last": "202501", f"documents.{changed.partition('=')[0]}": changed.partition("=")[2]},
        **{"documents.documents_per_month": "150", "splits.eval": "0.4", "by_source": "false"},
    }
    given = [part for key, value in sets.items() for part in ("--set", f"{key}={value}")]
    ticlm("data", "build", "synthetic", *given, root=root, quiet=True)
    study = root / f"{name}.yaml"
    study.write_text(STUDY.format(name=name, periods=", ".join(DISTANCES)))
    ticlm("run", study, root=root, quiet=True)
    (results,) = (root / "reports").glob(f"{name}-????????/results.csv")
    rows = pd.read_csv(results, dtype={"evaluated": str}, keep_default_na=False)
    return dict(zip(rows["evaluated"], rows["value"].astype(float)))


if __name__ == "__main__":
    main()
