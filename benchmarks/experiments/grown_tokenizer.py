"""Experiment on a tokenizer that grows: half of a timeline with the tokenizer of its beginning, then both ways.

    python -m benchmarks.experiments.grown_tokenizer ROOT --pilot                        # shows that it works
    python -m benchmarks.experiments.grown_tokenizer ROOT                                # a synthetic world
    python -m benchmarks.experiments.grown_tokenizer ROOT --posts ../shared/data/monthly # real posts

First models are trained on the first half of a timeline, with a tokenizer of its first period. Then each goes on,
month after month, on the same documents: with the old tokenizer, and with one that learned an eighth more pieces on
the newest periods of the first half, whose rows begin as the mean of their parts, as the mean of all rows, or at
random. Beside them stands one with as many more pieces of the first period: it gains what any larger vocabulary does.
All are compared in bits per byte on the same held-out documents. The errors are over evaluated periods, and over first
models where there are several. An arm's rate is the best on `tune` rows of the second half, from the first of the first
models; these are of other documents. `mean` and `random` have that of `parts`, from which they differ by how new rows
begin alone. All steps continue where they were interrupted.
"""

from __future__ import annotations

import argparse
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from benchmarks.experiments.commands import ticlm

from ticlm.core.corpus import Corpus
from ticlm.platform.cli.options import plan_of
from ticlm.platform.results.of_plan import study_result
from ticlm.platform.study.plan import Plan
from ticlm.platform.study.stored_rounds import published

ARMS = {
    "old": ("old", None),
    "parts": ("grown", "parts"),
    "mean": ("grown", "mean"),
    "random": ("grown", "random"),
    "stale": ("stale", "parts"),
}
"""Arm -> tokenizer of its corpus, and how the rows of new tokens begin; `stale` has pieces of the first period."""
TASK = "texts@1"
LENGTH = 128
"""Tokens of a row, and of the windows in which documents are read: behind a row's end losses grow to several nats."""
MEANS = ("before", "Bwd.", "ID", "Fwd.")


@dataclass(frozen=True)
class World:
    """Two halves of a timeline and the sizes of its models. `newest` are the last periods of the first half, as one:
    new pieces are learned on them, and the second half begins with them."""

    name: str
    recipe: dict[str, Any]
    first: dict[str, Any]
    newest: str
    last: str
    vocabulary: int
    new: int
    steps: int
    first_rate: float
    rates: tuple[float, ...] = (1.25e-3, 2.5e-3, 5e-3)
    documents: int = 100

    @property
    def second(self) -> dict[str, Any]:
        return self.first | {"initial": self.newest, "last": self.last}

    @property
    def as_of(self) -> str:
        return self.newest.replace("..", "-")


def world_of(posts: Path | None, pilot: bool) -> World:
    """Return the world that is asked for."""
    months = {"initial": "202301", "step": "month"}
    text = {"kind": "synthetic", "drift": 0.5, "changing": 0.05}
    split = {"splits": {"eval": 0.15, "tune": 0.05}, "by_source": False}
    if pilot:
        small = {"extends": "synthetic", "documents": text | {"initial_documents": 200, "documents_per_month": 40}}
        first = months | {"last": "202303"}
        rates = (4e-2, 8e-2, 0.16)
        return World("pilot", small | split, first, "202302..202303", "202305", 512, 64, 60, 3e-2, rates, 12)
    if posts is None:
        world = {"extends": "synthetic", "documents": text}
        first = months | {"last": "202312"}
        return World("world", world | split, first, "202310..202312", "202412", 512, 64, 8000, 6e-2)
    recipe = {"extends": "monthly", "documents": {"paths": [f"{posts.resolve()}/*.jsonl.gz"]}, "by_source": False}
    first = {"initial": "201305..201512", "step": "quarter", "last": "201912"}
    return World("posts", recipe, first, "201901..201912", "202406", 1024, 128, 8000, 6e-2)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("root", type=Path)
    parser.add_argument("--posts", type=Path, help="a folder of dated posts instead of the synthetic world")
    parser.add_argument("--models", type=int, default=3, help="first models")
    parser.add_argument("--pilot", action="store_true", help="a world of minutes, with one first model")
    options = parser.parse_args()
    world = world_of(options.posts, options.pilot)
    models = 1 if options.pilot else options.models
    root = options.root.resolve()
    root.mkdir(parents=True, exist_ok=True)
    build(root, world)
    tables = {arm: list[pd.DataFrame]() for arm in ARMS}
    costs = {arm: list[tuple[float, float]]() for arm in ARMS}
    folders = first_models(root, world, best_rate(root, first_study(f"{world.name}-rates", world, [0]), world), models)
    rates = {
        arm: best_rate(root, second_study(f"{world.name}-{arm}-rates", world, arm, folders[0], 0), world)
        for arm in ("old", "parts", "stale")
    }
    rates |= dict.fromkeys(("mean", "random"), rates["parts"])
    for number, folder in enumerate(folders):
        for arm in ARMS:
            study = second_study(f"{world.name}-{arm}-{number}", world, arm, folder, number)
            result = study_result(run(root, study | {"methods": [method(rates[arm], [number])]}))
            cells = result.cells[(result.cells["task"] == TASK) & (result.cells["metric"] == "bits-per-byte")]
            tables[arm].append(cells[(cells["method"] != "frozen") & (cells["source"] == "")])
            spent = result.costs[result.costs["method"] == "replay-half"].iloc[-1]
            costs[arm].append((float(spent["tokens"]), float(spent["flops"])))
    report(root, world, tables, costs)


def written(path: Path, content: dict[str, Any]) -> Path:
    path.write_text(json.dumps(content, indent=1))  # which is YAML too
    return path


def build(root: Path, world: World) -> None:
    """Build the corpora of both halves, the second one with each tokenizer, and the held-out documents."""
    old = {"kind": "pretrained", "name": f"{world.name}-first@1", "as_of": world.first["initial"].replace("..", "-")}
    base = {key: value for key, value in old.items() if key != "kind"}
    grown = {"kind": "grown", "base": base, "vocab_size": world.vocabulary + world.new}
    corpora = {
        "first": (world.first, {"kind": "train", "vocab_size": world.vocabulary}),
        "old": (world.second, old),
        "grown": (world.second, grown),
        "more": (world.first, grown),
        "stale": (world.second, old | {"name": f"{world.name}-more@1"}),
    }
    for half, (periods, tokenizer) in corpora.items():
        recipe = world.recipe | {"name": f"{world.name}-{half}", "periods": periods, "tokenizer": tokenizer}
        ticlm("data", "build", written(root / f"{world.name}-{half}-recipe.yaml", recipe), root=root, quiet=True)
    texts = {"kind": "held-out-documents", "corpus": f"{world.name}-old@1", "documents": world.documents}
    held = {"name": f"{world.name}-texts", "version": 1, "examples": texts}
    ticlm("data", "build", written(root / f"{world.name}-texts-recipe.yaml", held), root=root, quiet=True)


def common(name: str, world: World, corpus: str, periods: dict[str, Any]) -> dict[str, Any]:
    return {
        "name": name,
        "corpus": corpus,
        "periods": periods,
        "batch_rows": 4,
        "length": LENGTH,
        "continual_tokens": {"epochs": 1},  # the same documents, whatever their number of tokens
        "reference": "raw",
        "resources": {"trainer": "process", "device": "cpu", "chains": 1},
    }


def method(rate: float, seeds: list[int]) -> dict[str, Any]:
    schedule = {"max_rate": rate, "end_rate": 1e-4, "warmup_steps": 5}
    return {"base": "replay-half", "seeds": seeds, "schedule": schedule}


def first_study(name: str, world: World, seeds: list[int]) -> dict[str, Any]:
    changes = {"hidden_size": 32, "intermediate_size": 96, "max_position_embeddings": LENGTH}
    schedule = {"kind": "cosine", "max_rate": world.first_rate, "end_rate": 1e-4, "warmup_steps": 20}
    return common(name, world, f"{world.name}-first@1", world.first) | {
        "model": {"kind": "preset", "name": "tiny", "changes": changes},
        "initial": {"budget": {"steps": world.steps}, "schedule": schedule, "seed": seeds if len(seeds) > 1 else 0},
    }


def best_rate(root: Path, study: dict[str, Any], world: World) -> float:
    """Return the rate with the lowest mean loss over all checkpoints of `study` and `tune` rows of its periods. While
    the best is at an end of the row of rates, its double or half is tried, too."""
    rates = sorted(world.rates)
    while True:
        methods = [method(rate, [0]) | {"name": f"rate-{rate:g}"} for rate in rates]
        tuned = {"methods": methods, "evaluations": [{"kind": "perplexity", "split": "tune", "max_rows": 96}]}
        cells = study_result(run(root, study | tuned)).cells
        losses = cells[cells["metric"] == "nll"].groupby("method")["value"].mean()
        found = {rate: float(losses[f"rate-{rate:g}"]) for rate in rates}
        row = ", ".join(f"{rate:g} {loss:.4f}" for rate, loss in found.items())
        print(f"{study['name']}: mean loss by rate: {row}", flush=True)
        best = min(rates, key=found.__getitem__)
        if best not in (rates[0], rates[-1]):
            return best
        rates = sorted([*rates, best * 2 if best == rates[-1] else best / 2])


def first_models(root: Path, world: World, rate: float, models: int) -> list[str]:
    """Train the first half from several first models, and return the folder of the last model of each."""
    seeds, monthly = list(range(models)), world.first["step"] == "month"
    study = first_study(f"{world.name}-first", world, seeds) | {
        "methods": [method(rate, seeds)],
        "evaluations": [{"kind": "perplexity", "max_rows": 8}],
        "evaluate": {"checkpoints": [world.first["last"]], "periods": [world.first["last"]]} if monthly else {},
    }
    plan = run(root, study)
    assert plan.store is not None
    return [str(root / published(plan.store, plan.ids[list(one.rounds.values())[-1]])) for one in plan.tree.runs]


def second_study(name: str, world: World, arm: str, folder: str, number: int) -> dict[str, Any]:
    model = {"kind": "folder", "path": folder, "as_of": world.as_of}
    texts = {"kind": "document-perplexity", "name": "texts", "examples": f"{world.name}-texts@1"}
    tokenizer, grow = ARMS[arm]
    return common(name, world, f"{world.name}-{tokenizer}@1", world.second) | {
        "model": model | ({} if grow is None else {"grow": grow}),
        "initial": {"budget": 0, "seed": number},
        "evaluations": [texts | {"compare": "bits-per-byte"}],
    }


def run(root: Path, study: dict[str, Any]) -> Plan:
    path = written(root / f"{study['name']}.yaml", study)
    ticlm("run", path, root=root, quiet=True)
    return plan_of(str(path), str(root), None)


def report(
    root: Path,
    world: World,
    tables: dict[str, list[pd.DataFrame]],
    costs: dict[str, list[tuple[float, float]]],
) -> None:
    """Print bits per byte of each arm, its differences from doing nothing and from its rivals, and what it cost."""
    for name in ("old", "grown", "stale"):
        corpus = Corpus.open(str(root / f"corpora/{world.name}-{name}@1"))
        splits = [period.splits["train"] for period in corpus.periods.values()]
        size, tokens = sum(one.bytes for one in splits), sum(one.tokens for one in splits)
        pieces = corpus.info.tokenizer.vocab_size
        print(f"{name}: {pieces:,} tokens in all, {tokens / size:.4f} tokens per byte of train")
    print(f"\nbits per byte on held-out documents, {len(tables['old'])} first models; ± periods ± first models")
    print(f"{'arm':8}{'':4}" + "".join(f"{heading:>26}" for heading in MEANS) + f"{'tokens':>14}{'FLOPs':>12}")
    found = {arm: means(frames, world.as_of) for arm, frames in tables.items()}
    never = means([never_updated(frame, world.as_of) for frame in tables["old"]], world.as_of)
    print(f"{'never':12}" + "".join(f"{np.nanmean(never[one]):>26.4f}" for one in MEANS) + f"{0:>14}{0:>12}")
    for arm, mine in found.items():
        tokens, flops = np.mean(costs[arm], 0)
        print(
            f"{arm:12}"
            + "".join(f"{np.nanmean(mine[one]):>26.4f}" for one in MEANS)
            + f"{tokens:>14,.0f}{flops:>12.3g}"
        )
        for name, rival in {"never": never, "old": found["old"], "stale": found["stale"]}.items():
            if name != arm:
                print(f"{f'  − {name}':12}" + "".join(f"{difference(mine[one] - rival[one]):>26}" for one in MEANS))


def never_updated(frame: pd.DataFrame, start: str) -> pd.DataFrame:
    """Return cells as they would be if all checkpoints were that of `start`: what doing nothing scores."""
    first = frame[frame["trained"] == start].set_index("evaluated")["value"]
    return frame.assign(value=frame["evaluated"].map(first))


def means(frames: list[pd.DataFrame], start: str) -> dict[str, np.ndarray]:
    """Return, for each mean, float64[first models, periods]: of each evaluated period, the mean over checkpoints that
    count (later ones for Bwd., its own for ID, earlier ones for Fwd.; `before` is the first checkpoint, untrained)."""
    found: dict[str, list[np.ndarray]] = {one: [] for one in MEANS}
    for frame in frames:
        table = frame.pivot_table(index="trained", columns="evaluated", values="value")
        labels = sorted(table.columns)
        values = table.reindex(index=labels, columns=labels).to_numpy()
        trained, at = np.meshgrid(range(len(labels)), range(len(labels)), indexing="ij")
        after = trained > labels.index(start)
        masks = (
            trained == labels.index(start),
            after & (at < trained),
            after & (at == trained),
            after & (at > trained),
        )
        for one, mask in zip(MEANS, masks, strict=True):
            with np.errstate(invalid="ignore"):
                found[one].append(np.nansum(np.where(mask, values, np.nan), 0) / (mask & ~np.isnan(values)).sum(0))
    return {one: np.stack(values) for one, values in found.items()}


def difference(apart: np.ndarray) -> str:
    """Return the mean of differences float64[models, periods], with its errors over periods and over first models."""
    apart = apart[:, ~np.isnan(apart).all(0)]  # periods that this mean has cells of
    errors = [
        f" ± {values.std(ddof=1) / np.sqrt(len(values)):.4f}" if len(values) > 1 else " ± –"
        for values in (np.nanmean(apart, 0), np.nanmean(apart, 1))
    ]
    return f"{np.nanmean(apart):+.4f}" + "".join(errors)


if __name__ == "__main__":
    main()
