"""Experiment on a clock for a slower corpus: a share of its own, against pouring it into the main one, or leaving it.

    python -m benchmarks.experiments.clocks ROOT [--data ../shared/data]

Without `--data`, a world that changes as that of `headline`: its news by month, and its encyclopedia by quarter. With
`--data`, dated posts by quarter, and Python's PEPs by half-year. All runs spend the same tokens under replay ½, with
one tokenizer, and all are scored on the same held-out rows of both corpora:

- `alone` trains on the main corpus;
- `poured` trains on one corpus of all the documents, each in the period of the main calendar that it is dated in;
- `clock` trains on both (`corpora:`), the slower one on periods of its own, and spends on it what `poured` does;
- `clock-double` spends twice as much on it.

A document is held out by its id alone, so what one corpus holds out no other one trains on. All steps continue where
they were interrupted.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

import pandas as pd
from benchmarks.experiments.commands import ticlm

from ticlm.core.corpus import Corpus
from ticlm.core.periods import Calendar
from ticlm.datasets.synthetic.encyclopedia import Encyclopedia, EncyclopediaStyle
from ticlm.datasets.synthetic.world import SyntheticWorld

RECIPE = """
name: {name}
version: 1
documents: {{kind: files, paths: {paths}, fields: {{text: text, id: url, timestamp: timestamp, source: source}}}}
periods: {periods}
splits: {{eval: {eval}, tune: 0.02}}
tokenizer: {tokenizer}
length: 128
seed: 0
limits: {{bad: 0.01}}
"""
STUDY = """
name: {name}
corpus: {corpus}@1
periods: {periods}
{corpora}
model: {{kind: preset, name: tiny, changes: {model}}}
batch_rows: {rows}
length: 128
initial:
  seed: {seeds}
  budget: {first}
  schedule: {{kind: cosine, max_rate: {rate}, end_rate: 1e-4, warmup_steps: 50}}
continual_tokens: {{per_period: {later}}}
methods: [{{base: replay-half, schedule: {{max_rate: {peak}, end_rate: 1e-4, warmup_steps: 5}}}}]
evaluations:
  - {{kind: perplexity-on, name: main, corpus: main@1, max_rows: 128}}
  - {{kind: perplexity-on, name: slow, corpus: slow@1, max_rows: 128}}
reference: raw
evaluate: {{checkpoints: {checkpoints}}}
resources: {{workers: 1, chains: 2, micro_batch_rows: {rows}}}
"""
RIVALS = ("alone", "poured")
ARMS = (*RIVALS, "clock", "clock-double")


@dataclass(frozen=True)
class World:
    """Two corpora: calendars of the main and the slower one, and the model and budgets of the runs on them."""

    main: str
    slow: str
    eval: float
    vocabulary: int
    model: str
    rows: int
    first: int
    rate: str
    later: int
    peak: str
    checkpoints: tuple[str, ...]


NEWS = World(  # model, rates and budgets of `headline`
    main="{initial: 202301..202303, step: month, last: 202406}",
    slow="{initial: 202301..202303, step: quarter, last: 202406}",
    eval=0.15,
    vocabulary=512,
    model="{hidden_size: 32, intermediate_size: 96}",
    rows=4,
    first=4_096_000,
    rate="6e-2",
    later=159_744,
    peak="2.5e-3",
    checkpoints=("202301-202303", "202306", "202309", "202312", "202403", "202406"),
)
POSTS = World(  # those of `peps-averages`, with the rates of `monthly`
    main="{initial: 201305..201512, step: quarter, last: 202312}",
    slow="{initial: 201305..201512, step: half-year, last: 202312}",
    eval=0.25,
    vocabulary=1024,
    model="{hidden_size: 48, intermediate_size: 144}",
    rows=8,
    first=1_024_000,
    rate="8e-2",
    later=90_112,
    peak="1e-2",
    checkpoints=(
        *("201305-201512", "201610-201612", "201810-201812"),
        *("202010-202012", "202210-202212", "202310-202312"),
    ),
)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("root", type=Path)
    parser.add_argument("--data", type=Path, help="dated documents in monthly/ and recrawl/, instead of the world")
    parser.add_argument("--seeds", type=int, default=3, help="first models")
    parser.add_argument("--short", type=int, default=1, help="divide all budgets by this, to try the script")
    options = parser.parse_args()
    root, world = options.root.resolve(), NEWS if options.data is None else POSTS
    root.mkdir(parents=True, exist_ok=True)
    texts = (
        written(root / "texts")
        if options.data is None
        else {"main": options.data.resolve() / "monthly", "slow": options.data.resolve() / "recrawl"}
    )
    build(root, world, texts)
    share = poured_share(root, world)
    print(f"poured spends {share:.3f} of its tokens on the slower corpus", flush=True)
    for arm in ARMS:
        path = root / f"{arm}.yaml"
        path.write_text(study(arm, world, share, options.seeds, options.short))
        ticlm("run", path, root=root)
    compare({arm: losses(root, arm) for arm in ARMS}, {arm: losses(root, arm, frozen=True) for arm in ARMS})


def written(folder: Path) -> dict[str, Path]:
    """Write the news of the world and its encyclopedia as JSON lines, and return their folders."""
    folders = {"main": folder / "main", "slow": folder / "slow"}
    world = SyntheticWorld(
        drift=0.5,
        changing=0.05,
        initial_documents=1500,
        documents_per_month=150,
        towns=32,  # with these, there are more articles than the world's defaults give
        firms=36,
        clubs=20,
        offices=10,
    )
    encyclopedia = Encyclopedia(world, EncyclopediaStyle())
    for period in Calendar.model_validate(_calendar(NEWS.main)).timeline().periods:
        _write(
            folders["main"] / f"{period.label}.jsonl",
            ((one.id, one.text, f"{one.timestamp:%Y-%m-%dT%H:%M:%SZ}", "news") for one in world.documents(period)),
        )
    for period in Calendar.model_validate(_calendar(NEWS.slow)).timeline().periods:
        day = period.end - timedelta(days=1)  # an article is as it stands when its quarter ends
        _write(
            folders["slow"] / f"{period.label}.jsonl",
            (
                (f"encyclopedia/{one.id}", f"{one.title}\n{one.text}", f"{day}T00:00:00Z", "encyclopedia")
                for one in encyclopedia.articles(day)
            ),
        )
    return folders


def _calendar(text: str) -> dict[str, str]:
    parts = (part.partition(": ") for part in text.strip("{}").split(", "))
    return {key: value for key, _, value in parts}


def _write(path: Path, rows: Iterator[tuple[str, str, str, str]]) -> None:
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        lines = (json.dumps(dict(zip(("url", "text", "timestamp", "source"), row))) + "\n" for row in rows)
        path.write_text("".join(lines))


def build(root: Path, world: World, texts: Mapping[str, Path]) -> None:
    """Build the three corpora, those behind the main one with its tokenizer."""
    own = f"{{kind: train, vocab_size: {world.vocabulary}}}"
    first = _calendar(world.main)["initial"].rpartition("..")[2]
    other = f"{{kind: pretrained, name: {root / 'corpora/main@1/tokenizer'}, as_of: {first}}}"
    for name, parts, periods, tokenizer in (
        ("main", ["main"], world.main, own),
        ("slow", ["slow"], world.slow, other),
        ("poured", ["main", "slow"], world.main, other),
    ):
        paths = json.dumps([str(texts[part]) for part in parts])
        recipe = root / f"{name}-corpus.yaml"
        recipe.write_text(RECIPE.format(name=name, paths=paths, periods=periods, eval=world.eval, tokenizer=tokenizer))
        ticlm("data", "build", recipe, root=root)


def poured_share(root: Path, world: World) -> float:
    """Return the share of its tokens that a run on the poured corpus spends on documents of the slower one, under
    replay ½: half of a round's budget goes to the new period, half evenly to the past ones."""
    tokens = {
        name: [
            period.splits["train"].tokens for period in Corpus.open(str(root / f"corpora/{name}@1")).periods.values()
        ]
        for name in ("main", "poured")
    }
    slow = [1 - main / poured for main, poured in zip(tokens["main"], tokens["poured"])]
    spent = world.first * slow[0]
    for place in range(1, len(slow)):
        spent += world.later * (slow[place] + sum(slow[:place]) / place) / 2
    return round(spent / (world.first + world.later * (len(slow) - 1)), 3)


def study(arm: str, world: World, share: float, seeds: int, short: int) -> str:
    """Return the text of the study of an arm."""
    own = share * (2 if arm == "clock-double" else 1)
    corpora = f"corpora: [{{corpus: slow@1, share: {own:.3f}, periods: {world.slow}}}]"
    return STUDY.format(
        name=arm,
        corpus="poured" if arm == "poured" else "main",
        periods=world.main,
        corpora=corpora if arm.startswith("clock") else "",
        model=world.model,
        rows=world.rows,
        seeds=list(range(seeds)) if seeds > 1 else 0,
        first=world.first // short,
        rate=world.rate,
        later=world.later // short,
        peak=world.peak,
        checkpoints=f"[{', '.join(world.checkpoints)}]",
    )


def losses(root: Path, arm: str, frozen: bool = False) -> pd.DataFrame:
    """Return the mean losses of an arm in nats, by first model (rows) and by corpus and what is read (columns): `new`
    is the newest period that has ended by each checkpoint, `old` those before it. With `frozen`, they are those of its
    first model, never updated, on the same periods."""
    newest = max(root.glob(f"reports/{arm}-????????/results.csv"), key=lambda file: file.stat().st_mtime)
    cells = pd.read_csv(newest, dtype={"trained": str, "evaluated": str}, keep_default_na=False)
    cells = cells[(cells["method"] == "replay-half") & (cells["source"] == "") & (cells["metric"] == "nll")]
    cells = cells[["seed", "task", "trained", "evaluated"]].assign(value=cells["value"].astype(float))
    ends, by = cells["evaluated"].str[-6:], cells["trained"].str[-6:]  # a label ends with the last month of its period
    cells = cells.assign(corpus=cells["task"].str.partition("@")[0], end=ends)
    later = cells[(by > by.min()) & (ends <= by)]
    if frozen:
        keys = ["seed", "corpus", "evaluated"]
        later = later.drop(columns="value").merge(cells[by == by.min()][[*keys, "value"]], on=keys)
    last = later.groupby(["seed", "corpus", "trained"])["end"].transform("max")
    later = later.assign(read=(later["end"] == last).map({True: "new", False: "old"}))
    return later.pivot_table(index="seed", columns=["corpus", "read"], values="value", aggfunc="mean")


def compare(found: Mapping[str, pd.DataFrame], frozen: Mapping[str, pd.DataFrame]) -> None:
    """Print the losses of each arm and of its first model, and its differences from the rivals, paired over first
    models."""
    columns = [(corpus, read) for corpus in ("main", "slow") for read in ("new", "old")]
    print(f"\n{'nats per token':28}" + "".join(f"{f'{corpus}, {read}':>20}" for corpus, read in columns))
    for told, losses_of in (("", found), (", never updated", frozen)):
        for arm, of in losses_of.items():
            print(f"{arm + told:28}" + "".join(f"{of[column].mean():>20.4f}" for column in columns))
    for arm in found:
        for rival in RIVALS if arm not in RIVALS else ():
            gaps = found[arm] - found[rival]
            print(f"{f'{arm} − {rival}':28}" + "".join(f"{_told(gaps[column]):>20}" for column in columns))


def _told(gaps: pd.Series[float]) -> str:
    """Say the mean of the differences, and its standard error over first models where there are several."""
    values = gaps.to_numpy(dtype=float)
    error = f" ± {values.std(ddof=1) / len(values) ** 0.5:.4f}" if len(values) > 1 else ""
    return f"{values.mean():+.4f}{error}"


if __name__ == "__main__":
    main()
