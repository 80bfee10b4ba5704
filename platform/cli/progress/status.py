"""`ticlm status`: what runs on a root, how far its studies are, what failed, and what is left."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from ticlm.platform.cli import completion
from ticlm.platform.cli.options import Json, Root, absolute

if TYPE_CHECKING:
    from ticlm.core.lease import RootWriter
    from ticlm.platform.cli.progress.ray_jobs import SubmittedJob
    from ticlm.platform.cli.progress.root_status import RootStatus, StudyStatus


def status(
    studies: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[STUDY…]", help="Only these studies, run here or not.", autocompletion=completion.studies
        ),
    ] = None,
    root: Root = "runs",
    as_json: Json = False,
) -> None:
    """Show what runs on a root, how far each of its studies is, what is left, and what failed with its last line.

    It reads the root alone, also while something else writes to it. With RAY_API_SERVER_ADDRESS (or RAY_ADDRESS) it
    also lists the jobs that `ticlm submit` sent to that cluster for this root.
    """
    from ticlm.platform.cli.console import say
    from ticlm.platform.cli.progress.root_status import root_status

    found = root_status(absolute(root), studies or ())
    jobs, silent = _jobs(found.root)
    if as_json:
        print(json.dumps(_plain(found, jobs), indent=1, ensure_ascii=False))
        return
    for line in [*_lines(found), *_job_lines(jobs), *silent]:
        say(line)


def _jobs(root: str) -> tuple[list[SubmittedJob], list[str]]:
    """Return the jobs of the cluster that the environment names, and a line if it does not answer."""
    from ticlm.core.errors import in_one_line
    from ticlm.platform.cli.progress import ray_jobs

    address = ray_jobs.dashboard()
    if not address:
        return [], []
    try:
        return ray_jobs.submitted_jobs(address, root), []
    except (OSError, ValueError) as error:
        return [], [f"jobs: {address} does not answer: {in_one_line(error)}"]


def _lines(found: RootStatus) -> Iterator[str]:
    nothing = "" if found.studies else "; no study was run here yet"
    yield f"root {found.root}: {_holder(found.writer)}{nothing}"
    for one in found.studies:
        yield f"{one.name}: {one.problem or _far(one)}"
        for failure in one.failures:
            yield f"  failed at {_clock(failure.at)}: {failure.work}: {failure.line}"
        if one.page:
            yield f"  page: {one.page}"


def _holder(held: RootWriter | None) -> str:
    from ticlm.core.quantities import duration

    if held is None:
        return "nothing runs"
    ago = duration(held.silent_s)
    return {
        "lives": f"{held.holder} runs; heard of {ago} ago",
        "silent": f"{held.holder} was last heard of {ago} ago: it is cut off, or has ended",
        "ended": f"{held.holder} was killed about {ago} ago; the same command goes on from there",
        "released": f"nothing runs; the last was {held.holder}, until {ago} ago",
    }[held.state]


def _far(one: StudyStatus) -> str:
    from ticlm.core.quantities import COUNTS, duration, rate, scaled

    assert one.far is not None
    rounds, cells = (one.far.rounds_done, one.far.rounds), (one.far.cells_done, one.far.cells)
    told = f"{rounds[0]:,} of {rounds[1]:,} rounds"
    told += f", {cells[0]:,} of {cells[1]:,} cells" if cells[1] else ""  # a model for other studies is not scored
    if not one.far.has_corpus:
        return f"0 of {rounds[1]:,} rounds; its corpus is not there yet"
    if rounds[0] == rounds[1]:
        return f"done: {told}" if cells[0] == cells[1] else told
    told += f"; {scaled(one.tokens_left, COUNTS)} tokens are left to train"
    if one.tokens_per_s and one.seconds_left is not None:
        told += f", at {rate(one.tokens_per_s, 1, 'tokens')} about {duration(one.seconds_left)}"
    return told


def _job_lines(jobs: list[SubmittedJob]) -> Iterator[str]:
    for job in jobs:
        yield f"job {job.id}: {job.command} {job.study}, {job.state}{f': {job.message}' if job.message else ''}"


def _clock(at: float) -> str:
    return time.strftime("%Y-%m-%d %H:%M", time.localtime(at))


def _plain(found: RootStatus, jobs: list[SubmittedJob]) -> dict[str, object]:
    from ticlm.platform.cli.progress.root_status import is_running

    held = found.writer
    return {
        "root": found.root,
        "writer": None
        if held is None
        else {
            "state": held.state,
            "heard_of_s": round(held.silent_s, 1),
            **held.holder.model_dump(include={"purpose", "pid", "host", "since"}),
        },
        "studies": [
            {
                "name": one.name,
                "study": one.named,
                "running": is_running(held, one.name),
                "began": one.began or None,
                **({"problem": one.problem} if one.far is None else one.far._asdict()),
                "tokens_left": one.tokens_left,
                "tokens_per_s": one.tokens_per_s,
                "seconds_left": one.seconds_left,
                "page": one.page or None,
                "failures": [failure.model_dump(exclude={"study"}) for failure in one.failures],
            }
            for one in found.studies
        ],
        "jobs": [asdict(job) for job in jobs],
    }
