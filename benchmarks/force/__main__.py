"""Tries of what docs/reliability.md promises, on a study that has every kind of node.

    python -m benchmarks.force FOLDER [--seed 1] [--kills 6] [--flips 20] [--losses 10] [--worlds 3] [--disks 4]

The study, beside this file, is run once in peace, into FOLDER/peace (2 minutes on a quiet core), and then on copies:

    kills    kill -9 of the whole process group at drawn moments, three a run, then the same command to its end
    flips    one bit of one file, of a drawn kind: `ticlm check`, then the study again, following what its lines say
    losses   one file or record gone, of a drawn kind: the same
    worlds   two workers, or three, instead of one
    disks    a tmpfs of a drawn size, made larger after each end (needs root, and skips itself without)

Each try must end in the weights, sampled rows, cells and tables of the run in peace. A try is "same" if it did; "named"
if a line named the damage first and its remedies led there; "silent" if nothing was said and the results are others;
"stuck" if a remedy did not help; "traceback" if one was printed. Exits with 1 after any of the last three. "found" is a
damage that `ticlm check` names, in a file that the study needs no more: a model whose cells are all there.
"""

from __future__ import annotations

import argparse
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from benchmarks.force.results import compared, place, told

STUDY = Path(__file__).parent / "study.yaml"
BUILDS = {
    "synthetic": ["periods.last=202304", "documents.initial_documents=400", "documents.documents_per_month=150"],
    "benchmarks-probes": ["examples.world.initial_documents=400", "examples.world.documents_per_month=150"],
}
FIRST_MB = 4
"""Size of the smallest disk; the whole root has some 20 MB."""
BAD = ("silent", "stuck", "traceback")

Outcome = tuple[str, str]
"""A word of the module's docstring, and what was printed or differs."""


@dataclass(frozen=True)
class Ended:
    code: int
    printed: str

    @property
    def line(self) -> str:
        """The last line, which says why the command ended."""
        return ([*self.printed.strip().splitlines()] or ["nothing was printed"])[-1]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--seed", type=int, default=1)
    tries: dict[str, tuple[int, Callable[[Path, random.Random, int], Outcome]]] = {
        "kills": (6, killed),
        "flips": (20, flipped),
        "losses": (10, lost),
        "worlds": (3, other_world),
        "disks": (4, full_disk),
    }
    for name, (count, _) in tries.items():
        parser.add_argument(f"--{name}", type=int, default=count)
    options = parser.parse_args()
    peace = options.folder.absolute() / "peace"
    if not (peace / "reports").exists():
        options.folder.mkdir(parents=True, exist_ok=True)
        in_peace(peace)
    failed = False
    for name, (_, attempt) in tries.items():
        outcomes: Counter[str] = Counter()
        for number in range(getattr(options, name)):
            word, about = attempt(peace, random.Random(f"{options.seed} {name} {number}"), number)
            outcomes[word] += 1
            print(f"{name} {number}: {word}: {about}", flush=True)
        if outcomes:
            print(f"{name}: {', '.join(f'{count} {word}' for word, count in outcomes.most_common())}", flush=True)
        failed |= any(outcomes[word] for word in BAD)
    sys.exit(failed)


def in_peace(root: Path) -> None:
    """Build the corpus and the set of examples, and run the study to its end."""
    for recipe in BUILDS:
        built = build(recipe, root)
        assert built.code == 0, built.printed
    began = time.monotonic()
    ended = study(root)
    assert ended.code == 0, ended.printed
    print(f"in peace: {time.monotonic() - began:.0f} s", flush=True)


def ticlm(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "ticlm.platform", *arguments]


def finished(command: list[str]) -> Ended:
    found = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    return Ended(found.returncode, found.stdout)


def build(recipe: str, root: Path) -> Ended:
    return finished(ticlm("data", "build", recipe, "--root", str(root), *(f"--set={one}" for one in BUILDS[recipe])))


def study(root: Path, *arguments: str) -> Ended:
    return finished(ticlm("run", str(STUDY), "--root", str(root), *arguments))


@contextmanager
def copied(peace: Path, *left_out: str) -> Iterator[Path]:
    """Give a copy of a root, of hard links, without some of its folders."""
    with tempfile.TemporaryDirectory(dir=peace.parent, prefix="try-") as folder:
        root = Path(folder, "root")
        shutil.copytree(peace, root, copy_function=os.link, ignore=lambda at, _: left_out if Path(at) == peace else ())
        yield root


def own(file: Path) -> bytes:
    """Return a file's bytes, and make it one that no other root shares."""
    data = file.read_bytes()
    file.unlink()
    file.write_bytes(data)
    return data


NOTHING_DONE = ("rounds", "cells", "predictions", "reports", "leases")


# the tries


def killed(peace: Path, draw: random.Random, number: int) -> Outcome:
    """Kill a run from nothing three times, at moments within its first two minutes."""
    with copied(peace, *NOTHING_DONE) as root:
        moments = []
        for _ in range(3):
            seconds = draw.uniform(4, 60)
            child = subprocess.Popen(
                ticlm("run", str(STUDY), "--root", str(root)),
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
            )
            with suppress(subprocess.TimeoutExpired):
                child.wait(seconds)
            with suppress(ProcessLookupError):
                os.killpg(child.pid, signal.SIGKILL)
            child.wait()
            moments.append(f"{seconds:.0f} s")
        ended = study(root)
        return judged(peace, root, ended, f"killed after {', '.join(moments)}")


def other_world(peace: Path, draw: random.Random, number: int) -> Outcome:
    """Run the study on other workers than one; the micro-batches stay the same."""
    workers = 2 + number % 2
    with copied(peace, *NOTHING_DONE) as root:
        ended = study(root, f"--set=resources.workers={workers}")
        return judged(peace, root, ended, f"{workers} workers")


def judged(peace: Path, root: Path, ended: Ended, about: str) -> Outcome:
    if "Traceback" in ended.printed:
        return "traceback", f"{about}: {ended.line}"
    if ended.code:
        return "stuck", f"{about}: {ended.line}"
    differ = compared(peace, root)
    return ("silent", f"{about}: {told(differ)}") if differ else ("same", about)


def flipped(peace: Path, draw: random.Random, number: int) -> Outcome:
    with copied(peace, "leases") as root:
        file = drawn(root, draw)
        data = bytearray(own(file))
        bit = draw.randrange(8 * len(data))
        data[bit // 8] ^= 1 << bit % 8
        file.write_bytes(data)
        return mended(peace, root, f"bit {bit} of {file.relative_to(root)}")


def lost(peace: Path, draw: random.Random, number: int) -> Outcome:
    with copied(peace, "leases") as root:
        file = drawn(root, draw)
        file.unlink()
        return mended(peace, root, f"without {file.relative_to(root)}")


def drawn(root: Path, draw: random.Random) -> Path:
    """Draw a file of a drawn kind; kinds are paths without what names one round, period or attempt."""
    kinds: dict[str, list[Path]] = {}
    for file in sorted(root.rglob("*")):
        path = file.relative_to(root).as_posix()
        if file.is_file() and not path.startswith("reports") and "leases" not in path and file.stat().st_size:
            kinds.setdefault(re.sub(r"[0-9a-f]{8,}|\d{8}T\d{6}|\b20\d{4}\b|\d+", "N", path), []).append(file)
    return draw.choice(kinds[draw.choice(sorted(kinds))])


def mended(peace: Path, root: Path, about: str) -> Outcome:
    """Check a root, run its study without its old report, do what each line says, and compare."""
    checked = finished(ticlm("check", "--root", str(root)))
    named = checked.printed.strip().splitlines()[:-1] if checked.code else []
    shutil.rmtree(root / "reports")
    for _ in range(6):
        ended = study(root)
        if "Traceback" in ended.printed + checked.printed:
            return "traceback", f"{about}: {ended.line}"
        if not ended.code:
            break
        named.append(ended.line)
        if not followed(root, ended.line):
            return "stuck", f"{about}: {ended.line}"
    else:
        return "stuck", f"{about}: {named[-1]}"
    differ = compared(peace, root)
    if not differ:
        return ("named", f"{about}: {named[-1]}") if named else ("same", about)
    if checked.code and len(differ) == 1 and differ[0] == place(about.split()[-1]):  # nothing used it
        return "found", f"{about}: {named[-1]}"
    return ("stuck" if named else "silent"), f"{about}: {told(differ)}; {named}"


def followed(root: Path, line: str) -> bool:
    """Do what a line says: remove a path, build a recipe, or both; return whether it says either."""
    removed = re.search(rf"remove ({re.escape(str(root))}\S*|it\b)", line)
    if removed is not None:
        first = re.search(rf"{re.escape(str(root))}[^\s:,;]*", line)
        target = Path(removed[1] if removed[1] != "it" else first[0] if first is not None else "")
        shutil.rmtree(target) if target.is_dir() else target.unlink(missing_ok=True)
    builds = [recipe for recipe in BUILDS if re.search(rf"{recipe}\b", line)] if "ticlm data build" in line else []
    for recipe in builds:
        build(recipe, root)
    return removed is not None or bool(builds)


def full_disk(peace: Path, draw: random.Random, number: int) -> Outcome:
    """Run the study on a disk that fills, and again whenever it has been made a little larger."""
    with tempfile.TemporaryDirectory(dir=peace.parent, prefix="disk-") as disk:
        size = FIRST_MB + draw.uniform(0, 4)
        if subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size:.2f}m", "ticlm", disk], check=False).returncode:
            return "skipped", "no tmpfs can be mounted here"
        root = Path(disk, "root")
        ends = 0
        try:
            shutil.copytree(peace, root, ignore=lambda at, _: NOTHING_DONE if Path(at) == peace else ())
            while (ended := study(root)).code:
                if "Traceback" in ended.printed or "free some space" not in ended.line:
                    return "traceback" if "Traceback" in ended.printed else "stuck", ended.line
                ends += 1
                size += draw.uniform(0.2, 6)
                subprocess.run(["mount", "-o", f"remount,size={size:.2f}m", disk], check=True)
            return judged(peace, root, ended, f"{ends} times full")
        finally:
            subprocess.run(["umount", disk], check=True)


if __name__ == "__main__":
    main()
