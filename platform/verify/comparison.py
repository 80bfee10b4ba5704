"""What came of a round that was run again, beside what was published of it."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ticlm.core import paths
from ticlm.core.integrity.records import Record
from ticlm.core.store import Store
from ticlm.platform.publish.certificate import MadeBy, RoundMade
from ticlm.platform.train.maker import this_machine
from ticlm.platform.verify.finding import Checked, first_of

FIRST_STEPS, TOLERANCE = 3, {"float32": 1e-3, "bfloat16": 2e-2}
"""On other hardware: how many first steps are compared, and by how many nats their losses may differ. Later steps may
differ by more without any fault (CONTRIBUTING, "Weights")."""
APART = 1.0
"""On other hardware: how far apart the weights may be, as a share of how far the round moved them. Rounding reaches a
tenth in a thousand steps at a high rate; weights of another date are farther away than the round's own way."""
MACHINE = ("code", "torch", "transformers", "numpy", "processor", "instructions")
"""What has to be the same for the same bits, in the order in which differences are told."""
LEFT = (f"{paths.MODEL}/", f"{paths.SAMPLED}/")
"""Where the files of a round lie that others start from."""
CATCHES = "weights that came of other text, of another order, of more training, or of other code"


@dataclass(frozen=True)
class RanAgain:
    """A round that was run again: its record, where its files lie, and where those that it started from do."""

    name: str
    made: RoundMade
    record: Record
    folder: Path
    start: Path | None
    compute: str
    seconds: float


def compared(again: RanAgain, published: Callable[[str], Path | None]) -> Checked:
    """Say whether a round that was run again left what was published: `published` finds a file by its path."""
    wanted = {file.path: file.sha256 for file in again.made.files if file.path.startswith(LEFT)}
    mine = {file.path: file.sha256 for file in again.record.files if file.path.startswith(LEFT)}
    more = sorted(wanted.keys() ^ mine.keys())
    if more:
        return Checked(again.name, "refused", f"{first_of(more)}: not among what the round leaves, or left out")
    wrong = [path for path in sorted(wanted) if mine[path] != wanted[path]]
    wrong = [path for path in wrong if not _same_settings(again.folder / path, published(path))]
    other = differences(again.made.made_by)
    if not wrong:
        words = f"run again in {again.seconds:.0f} s, with the same bits in {len(wanted)} files"
        words += f"; {first_of(other)}: another version here, which gives the same bits" if other else ""
        return Checked(again.name, "holds", words, CATCHES)
    if not other:
        words = f"run again by the same code and hardware, other bits: {first_of(wrong)}"
        return Checked(again.name, "refused", words)
    if other == ["code"]:
        by = again.made.made_by
        words = f"other bits: {first_of(wrong)}; it was made by other code (ticlm {by.ticlm}, hash {by.code[:12]})"
        return Checked(again.name, "refused", f"{words}: install that, and try again")
    return _tolerated(again, published, other, wrong)


def compared_steps(
    name: str, made: RoundMade, mine: Mapping[str, Any], theirs: Mapping[str, Any] | None, steps: int, compute: str
) -> Checked:
    """Say whether the first steps of a round have the losses and gradient norms that were published."""
    if theirs is None:
        return Checked(name, "unchecked", "losses of its steps are not published; run it whole: without --steps")
    told = f"its first {steps} of {made.steps} steps"
    if any(len(theirs.get(which, ())) != made.steps for which in ("loss", "gradient_norm")):
        return Checked(name, "refused", f"its metrics are not those of {made.steps} steps")
    pairs = [(which, i) for which in ("loss", "gradient_norm") for i in range(steps)]
    wrong = next((one for one in pairs if mine[one[0]][one[1]] != theirs[one[0]][one[1]]), None)
    if wrong is None:
        words = f"{told} have the same losses and gradient norms, to the bit"
        return Checked(name, "holds", words, "another start, other rows or other code in these steps")
    which, i = wrong
    differs = f"{which.replace('_', ' ')} of step {i} is {mine[which][i]!r}, published is {theirs[which][i]!r}"
    other = differences(made.made_by)
    if not other or not within(mine, theirs, steps, compute):
        return Checked(name, "refused", differs + (f" (on other {first_of(other)})" if other else ""))
    return Checked(name, "unchecked", f"{told} are plausible, on other {first_of(other)}, and not proven: {differs}")


def differences(by: MadeBy) -> list[str]:
    """Return what is another here than where a round was made."""
    if not by.code:
        return ["code or hardware, which its record does not name"]
    here = this_machine()
    found = [name for name in MACHINE if getattr(by, name) not in ("", here[name])]
    # Kernels of a GPU may add in any order: not even the same one promises the same bits.
    return [*found, f"hardware ({by.gpu or by.device})"] if by.device != "cpu" else found


def within(mine: Mapping[str, Any], theirs: Mapping[str, Any], steps: int, compute: str) -> bool:
    """Return whether the losses of the first steps agree to the tolerance of the number type."""
    count = min(steps, FIRST_STEPS)
    pairs = list(zip(mine["loss"], theirs.get("loss", ())))[:count]
    return len(pairs) == count and all(abs(a - b) <= TOLERANCE[compute] for a, b in pairs)


def _tolerated(
    again: RanAgain, published: Callable[[str], Path | None], other: Sequence[str], wrong: Sequence[str]
) -> Checked:
    """Compare a round that was run on other hardware to tolerances: its first losses, and its weights."""
    theirs, mine = published(paths.METRICS), again.folder / paths.METRICS
    where = f"on other {first_of(other)}"
    weights = [path for path in wrong if path.endswith(".safetensors")]
    known = {path: file for path in weights if (file := published(path)) is not None}
    if theirs is None or not mine.exists() or len(known) < len(weights):
        return Checked(again.name, "unchecked", f"other bits, {where}, and nothing is published to compare it with")
    losses = json.loads(mine.read_text()), json.loads(theirs.read_text())
    if not within(*losses, again.made.steps, again.compute):
        return Checked(again.name, "refused", f"other losses from the first steps on ({where})")
    apart = max((_apart(again, path, file) for path, file in known.items()), default=0.0)
    if apart > APART:
        words = f"its weights are {apart:.1f} times as far from the published ones as the round moved them ({where})"
        return Checked(again.name, "refused", words)
    words = f"other bits, {where}: first losses agree to {TOLERANCE[again.compute]} nats, weights to {apart:.2g} of "
    return Checked(again.name, "unchecked", f"{words}the way that the round moved them; plausible, and not proven")


def _apart(again: RanAgain, path: str, published: Path) -> float:
    """Return how far the published weights of a file are from those that were made here, as a share of how far the
    round moved them; of the weights themselves, if it started from none."""
    from safetensors.torch import load_file

    mine, theirs = load_file(again.folder / path), load_file(published)
    begin = None if again.start is None else again.start / path.removeprefix(f"{paths.MODEL}/")
    old = load_file(begin) if begin is not None and begin.exists() else {}
    if mine.keys() != theirs.keys():
        return float("inf")
    far = sum(float((theirs[name].double() - value.double()).square().sum()) for name, value in mine.items())
    moved = sum(
        float((value.double() - (old[name].double() if name in old else 0)).square().sum())
        for name, value in mine.items()
    )
    return float((far / max(moved, 1e-30)) ** 0.5)


def _same_settings(mine: Path, published: Path | None) -> bool:
    """Return whether two JSON files say the same, but for the release of transformers that wrote them."""
    if published is None or mine.suffix != ".json":
        return False
    ours, theirs = (json.loads(file.read_text()) for file in (mine, published))
    if not (isinstance(ours, dict) and isinstance(theirs, dict)):
        return bool(ours == theirs)
    return bool(ours | {RELEASE: ""} == theirs | {RELEASE: ""})


RELEASE = "transformers_version"


def metrics_of(store: Store, round_folder: str, attempt: str) -> Mapping[str, Any]:
    """Return loss, rate and gradient norm of the steps of an attempt at a round."""
    return store.read_json(paths.metrics(paths.attempt(round_folder, attempt)))
