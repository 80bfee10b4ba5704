"""Benchmark of a study whose text has many sources: the page, the files beside it, and the lines of the terminal.

    python -m benchmarks.roots.sources ROOT [--sources 400] [--documents 5000] [--source FOLDER]... [--only-make]

Writes dated documents whose sources have sizes by Zipf's law, builds their corpus, and runs a study of two small
methods on 13 months (a few minutes on two cores; once for each ROOT). Then `report` writes the page anew, without the
figures of the time before, and this is printed: CPU seconds, lines of the terminal, files and megabytes of figures, and
the height of the page at 1440 pixels where there is a Chromium. `--source` names a folder with a package `ticlm` to
time (as the `src` of another checkout; repeatable).
"""

from __future__ import annotations

import argparse
import gzip
import json
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import yaml
from benchmarks.roots.scale import timed

MONTHS = [f"2020{month:02}" for month in range(1, 13)] + ["202101"]
WORDS = 3000
"""Words of the invented language; each source has a subject of its own, which is 50 of them."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("root", type=Path)
    parser.add_argument("--sources", type=int, default=400)
    parser.add_argument("--documents", type=int, default=5000)
    parser.add_argument("--source", type=Path, action="append", default=[], help="folder with a package `ticlm`")
    parser.add_argument("--only-make", action="store_true", help="write the files of the study, and stop")
    arguments = parser.parse_args()
    root = arguments.root.absolute()
    root.mkdir(parents=True, exist_ok=True)
    study = root / "study.yaml"
    if not study.exists():
        study = write(root, arguments.documents, arguments.sources)
    if arguments.only_make:
        return
    for command in (["data", "build", str(root / "recipe.yaml")], ["run", str(study)]):
        subprocess.run([sys.executable, "-m", "ticlm.platform", *command, "--root", str(root)], check=True)
    for source in arguments.source or [Path(__file__).parents[2] / "src"]:
        shutil.rmtree(root / "reports", ignore_errors=True)
        wall, cpu, peak = timed(source, "report", study, root)
        page = next((root / "reports").glob("*/index.html"))
        figures = [
            path.stat().st_size for path in (page.parent / "figures").glob("*") if path.suffix in (".png", ".svg")
        ]
        lines = len((root / "report.txt").read_text().splitlines())
        print(
            f"report {wall:.0f} s wall, {cpu:.1f} s CPU, {peak:,.0f} MB; {lines} lines in the terminal; page "
            f"{height(page)} px; {len(figures)} figures, {sum(figures) / 1e6:.1f} MB  {source}",
            flush=True,
        )


def height(page: Path) -> str:
    """Return the height of a page at 1440 pixels; a dash where there is no Chromium."""
    sys.path.append(str(Path(__file__).parents[2] / "tests/support"))
    from browser import CHROMIUM, Browser

    if CHROMIUM is None:
        return "–"
    with tempfile.TemporaryDirectory() as folder, Browser(Path(folder)) as browser:
        browser.open(page, 1440)
        return str(browser.run("document.documentElement.scrollHeight"))


def documents(number: int, sources: int, seed: int = 0) -> list[dict[str, str]]:
    """Return dated documents of sources whose numbers of documents fall as 1 / rank; every source has at least two."""
    random = np.random.default_rng(seed)
    syllables = [a + b for a in "bdfgklmnprstvz" for b in "aeiou"]
    words = ["".join(random.choice(syllables, size)) for size in random.integers(1, 4, WORDS)]
    common = 1 / np.arange(1, WORDS + 1)
    shares = 1 / np.arange(1, sources + 1)
    counts = np.maximum(2, (number * shares / shares.sum()).astype(int))
    made = []
    for rank, count in enumerate(counts):
        subject = random.choice(WORDS, 50, replace=False)
        for place in range(count):
            length = int(np.clip(random.lognormal(5.0, 0.8), 20, 2000))
            chosen = np.where(
                random.random(length) < 0.3,
                random.choice(subject, length),
                random.choice(WORDS, length, p=common / common.sum()),
            )
            month = MONTHS[int(random.integers(len(MONTHS)))]
            text = " ".join(words[k] for k in chosen.tolist())
            day = int(random.integers(1, 29))
            made.append(
                {
                    "id": f"{rank}-{place}",
                    "text": text,
                    "timestamp": f"{month[:4]}-{month[4:]}-{day:02}",
                    "source": f"source-{rank:03}",
                }
            )
    return made


def write(root: Path, number: int, sources: int) -> Path:
    """Write the documents, the recipe and the study; return the study."""
    texts = root / "texts.jsonl.gz"
    with gzip.open(texts, "wt", encoding="utf-8") as file:
        file.writelines(f"{json.dumps(one)}\n" for one in documents(number, sources))
    recipe = {
        "extends": "monthly",
        "name": "many-sources",
        "documents": {
            "paths": [str(texts)],
            "fields": {"text": "text", "id": "id", "timestamp": "timestamp", "source": "source"},
        },
        "periods": {"initial": MONTHS[0], "step": "month", "last": MONTHS[-1]},
    }
    schedule = {"max_rate": 1e-2, "end_rate": 1e-4, "warmup_steps": 2}
    study = {
        "extends": "demo",
        "name": "many-sources",
        "corpus": "many-sources",
        "periods": recipe["periods"],
        "initial": {"budget": 10_240, "schedule": {"kind": "cosine", "warmup_steps": 2}},
        "continual_tokens": {"per_period": 5_120},
        "methods": [
            {"base": "cyclic-cosine", "schedule": schedule},
            {"base": "replay-half", "schedule": schedule},
            {"base": "oracle", "continual_tokens": 10_240, "cutoffs": [MONTHS[0], MONTHS[-1]]},
        ],
        "resources": {"trainer": "process", "workers": 1, "chains": 1, "micro_batch_rows": 4},
    }
    (root / "recipe.yaml").write_text(yaml.safe_dump(recipe))
    place = root / "study.yaml"
    place.write_text(yaml.safe_dump(study))
    return place


if __name__ == "__main__":
    main()
