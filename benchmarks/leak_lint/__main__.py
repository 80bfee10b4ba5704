"""Benchmark of the leak lint on real posts: planted text that it finds, and real posts that it flags.

    python -m benchmarks.leak_lint [FOLDER] [--months odd|even|all] [--entries first|second|held-out] [--seed 0]
                                   [--show]

FOLDER holds files YYYYMM.jsonl.gz of posts with `url`, `text`, `timestamp` and `source`. Ten kinds of anachronisms are
planted, 20 of each, into posts that are not flagged. Two runs over all posts: as they are, and with the plants. Rules
were tuned on the posts of even months; by default the report is on odd months, with a set of sentences and names that
came after the tables. `--show` prints what was missed, and
each flagged post, to be judged by reading.
"""

from __future__ import annotations

import argparse
import gzip
import json
import time
from collections import Counter
from datetime import date
from pathlib import Path

from benchmarks.leak_lint.entries import TUNED
from benchmarks.leak_lint.held_out import HELD_OUT
from benchmarks.leak_lint.planting import BEYOND, KINDS, Plant, plants
from benchmarks.leak_lint.second import SECOND

from ticlm.datasets.lint import rules
from ticlm.datasets.lint.finding import Finding, LintText
from ticlm.datasets.lint.learned import CorpusSigns

EACH = 20
SETS = {"first": TUNED, "second": SECOND, "held-out": HELD_OUT}
"""What may be planted. Rules and tables were mended by what the first two showed, and one rule by the third."""


def read(folder: Path, months: str) -> list[LintText]:
    """Return the posts of odd, even or all months, in the order of files and lines."""
    found = []
    for path in sorted(folder.glob("[12][0-9][0-9][0-9][01][0-9].jsonl.gz")):
        if months == "all" or int(path.name[4:6]) % 2 == (months == "odd"):
            with gzip.open(path, "rt", encoding="utf-8") as lines:
                for one in map(json.loads, lines):
                    day = date.fromisoformat(one["timestamp"][:10])
                    found.append(LintText(one["text"], day, f"{day:%Y%m}", one["url"], one["source"]))
    return found


def flagged(posts: list[LintText]) -> dict[int, list[Finding]]:
    """Return the findings of each flagged post, by its position."""
    found: dict[int, list[Finding]] = {}
    signs = CorpusSigns()
    for at, one in enumerate(posts):
        if alone := rules.findings(one.text, one.day):
            found[at] = list(alone)
        signs.add(at, one)
    for at, finding in signs.findings():
        found.setdefault(at, []).append(finding)
    return found


def main() -> None:
    """Print what was found of each kind, the real posts that are flagged, and the speed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", nargs="?", type=Path, default=Path("../shared/data/monthly"))
    parser.add_argument("--months", choices=("odd", "even", "all"), default="odd")
    parser.add_argument("--entries", choices=SETS, default="held-out")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--show", action="store_true")
    given = parser.parse_args()
    posts = read(given.folder, given.months)
    if not posts:
        raise SystemExit(f"{given.folder}: no files YYYYMM.jsonl.gz of {given.months} months there")
    size, start = sum(len(one.text.encode()) for one in posts), time.process_time()
    real = flagged(posts)
    seconds = time.process_time() - start
    hosts = [at for at in range(len(posts)) if at not in real]
    planted = list(plants(posts, hosts, SETS[given.entries], EACH, given.seed))
    changed = list(posts)
    for one in planted:
        changed[one.at] = one.post
    after = flagged(changed)
    speed = f"{size / 1e6:.1f} MB, {size / seconds / 1e6:.1f} MB/s of CPU time"
    print(f"{len(posts):,} posts of {given.months} months, {speed}")
    _print_found(planted, after, given.show)
    by_rule = Counter(rule for found in real.values() for rule in {one.rule for one in found})
    print(f"flagged as they are: {len(real)} of {len(posts):,} ({len(real) / len(posts):.2%}): {dict(by_rule)}")
    for at in real if given.show else ():
        _show(posts[at], real[at])


def _print_found(planted: list[Plant], after: dict[int, list[Finding]], show: bool) -> None:
    found, made = Counter[str](), Counter[str]()
    for one in planted:
        made[one.kind] += 1
        found[one.kind] += one.at in after
        if show and one.at not in after:
            print(f"  missed {one.kind} in a post of {one.post.day}: {one.planted}")
    goal = [kind for kind in KINDS if kind not in BEYOND]
    for kind in KINDS:
        print(f"{kind:>14}: {found[kind]:>3} of {made[kind]}{'   (beyond the goal)' if kind in BEYOND else ''}")
    total = sum(made[kind] for kind in goal)
    hits = sum(found[kind] for kind in goal)
    print(f"{'ten kinds':>14}: {hits:>3} of {total} ({hits / total:.1%})")


def _show(post: LintText, found: list[Finding]) -> None:
    print(f"-- {post.day} {post.id}")
    for one in found[:3]:
        around = " ".join(post.text[max(0, one.start - 90) : one.end + 90].split()) if one.end else ""
        print(f"   {one.rule} {one.matched!r} ({one.why}), from {one.earliest}: … {around} …")


if __name__ == "__main__":
    main()
