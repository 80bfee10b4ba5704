"""Publishing the vintages of a method, the oldest first: each whole or not at all, and none that stands a second time.

Everything about a vintage is written to a folder of this machine, signed, and handed to a place; `vintages.json` and
the card above them follow when all are there. What a kill leaves, the same command completes.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ticlm.core import hub, paths
from ticlm.core.errors import InputError
from ticlm.core.integrity import own_code
from ticlm.datasets.lint.report import PeriodLint
from ticlm.platform.models.settings import FolderModel
from ticlm.platform.publish import vintage_folder
from ticlm.platform.publish.forms.documents import read_object, to_bytes
from ticlm.platform.publish.forms.signers import AnySigner
from ticlm.platform.publish.forms.signing import sign
from ticlm.platform.publish.inputs import input_files
from ticlm.platform.publish.lineage import VintageLineage
from ticlm.platform.publish.places.place import HUB, INDEX, INPUTS, Place, in_order, sha256_of
from ticlm.platform.publish.vintage_files import CERTIFICATE
from ticlm.platform.report.report import Report

FORMAT = 1
Say = Callable[[str], None]


@dataclass(frozen=True)
class PublishRequest:
    """How vintages are to be published."""

    with_inputs: bool = False
    """Whether the training rows are published too, which anybody can turn back into text."""
    licence: str = ""
    signer: AnySigner | None = None
    lint: Mapping[str, PeriodLint] = field(default_factory=dict)
    """Period -> what the leak lint found in its training text."""
    lint_rules: str = ""
    leak_tests: Mapping[str, Sequence[Mapping[str, Any]]] = field(default_factory=dict)
    """Vintage -> its leak tests."""


@dataclass(frozen=True)
class PlaceIndex:
    """What `vintages.json` at a place says, as it was before anything is published there."""

    data: bytes | None
    vintages: Mapping[str, Mapping[str, Any]]
    inputs: str

    @staticmethod
    def of(place: Place) -> PlaceIndex:
        """Read it. Raises InputError if it is none."""
        data = place.index()
        found = {} if data is None else read_object(data, f"{place.name}/{INDEX}")
        return PlaceIndex(data, dict(found.get("vintages", {})), str(found.get("inputs", "")))


@dataclass
class PublishedVintages:
    """What publishing did: new vintages, those that stood already, and the bytes that were sent."""

    new: list[str] = field(default_factory=list)
    stood: list[str] = field(default_factory=list)
    bytes: int = 0


def publish(
    vintages: Sequence[VintageLineage], place: Place, report: Report, request: PublishRequest, say: Say
) -> PublishedVintages:
    """Publish vintages of one run, oldest first, then their inputs if they are asked for, then what stands above them.

    Raises InputError if a vintage stands at the place with other weights.
    """
    done, above = PublishedVintages(), PlaceIndex.of(place)
    there, hashes = set(place.labels()), dict[str, str]()
    if request.with_inputs:  # first: no certificate may name inputs that a kill kept from being there
        lacking = [one for one in vintages if one.label not in there or above.inputs != inputs_of(place)]
        with input_files(lacking, vintages) as files:
            done.bytes += place.put_inputs(files, f"Inputs of {vintages[-1].plan.study.name}").bytes if files else 0
    with tempfile.TemporaryDirectory(prefix="ticlm-vintages-") as scratch:
        for one in vintages:
            if one.label in there:
                _check_same(one, place, above)
                done.stood.append(one.label)
                continue
            folder = Path(scratch, one.label)
            folder.mkdir()
            _write(folder, one, place, report, request)
            sent = place.put(one.label, folder, f"Vintage {one.label}")
            hashes[one.label] = sha256_of(folder / CERTIFICATE)
            done.new.append(one.label)
            done.bytes += sent.bytes
            say(f"{place.address(one.label)}: {sent.bytes:,} bytes sent")
            if one is not vintages[-1]:
                shutil.rmtree(folder)
        done.bytes += _put_above(vintages, place, request, hashes, Path(scratch))
    return done


def inputs_of(place: Place) -> str:
    """Return where the inputs of a place's vintages are."""
    return f"{place.name}-{INPUTS}" if place.name.startswith(HUB) else f"{place.name}/{INPUTS}"


def _write(folder: Path, one: VintageLineage, place: Place, report: Report, request: PublishRequest) -> None:
    """Write a vintage to a folder, and sign it."""
    about = one.certificate(
        place.name,
        lint={one.label: request.lint[one.label]} if one.label in request.lint else {},
        lint_rules=request.lint_rules,
        leak_tests=tuple(dict(test) for test in request.leak_tests.get(one.label, ())),
        inputs=inputs_of(place) if request.with_inputs else "",
        licence=request.licence,
        release=own_code.release(),
    )
    base = place.address(about.before) if about.before else _initial(one)
    is_on_hub = about.inputs.startswith(HUB)
    dataset = about.inputs.removeprefix(HUB) if is_on_hub else paths.corpus_id(one.plan.study.corpus)
    names = vintage_folder.VintageNames(place.address(one.label), base, dataset)
    vintage_folder.write(folder, one, about, report, names)
    if request.signer is not None:
        sign(folder, request.signer)


def _initial(one: VintageLineage) -> str:
    """Return the name on a hub of the model that a run starts from; empty if it has none."""
    model = one.plan.study.model
    if not isinstance(model, FolderModel) or hub.parse(model.path) is None or Path(model.path).exists():
        return ""
    return hub.pinned(model.path)


def _check_same(one: VintageLineage, place: Place, above: PlaceIndex) -> None:
    """Raise InputError if a vintage that stands has other weights than the round of this root."""
    if above.vintages.get(one.label, {}).get("round") == one.plan.ids[one.key]:
        return  # its files need not be read
    there = place.files(one.label)
    for file in one.record.files:
        name = file.path.removeprefix(f"{paths.MODEL}/")
        if name != file.path and there.get(name) != file.sha256:
            raise InputError(
                f"{place.address(one.label)} stands with another {name} than round {one.plan.ids[one.key][:12]} of "
                "this root: its period was built again, or the study changed; a published vintage never changes, so "
                "publish to another name"
            )


def _put_above(
    vintages: Sequence[VintageLineage], place: Place, request: PublishRequest, hashes: Mapping[str, str], scratch: Path
) -> int:
    """Publish what stands above the vintages, unless it is there; return the bytes that were sent. `hashes` are those
    of certificates that were just written."""
    above = PlaceIndex.of(place)  # as it is now: somebody else may have published a newer vintage meanwhile
    index, newest = _index(vintages, place, request, above, hashes)
    if above.data == index:
        return 0
    folder = scratch / newest
    if not folder.is_dir():  # an earlier run published it, or another root
        with place.get(newest) as there:
            shutil.copytree(there, folder, ignore=shutil.ignore_patterns(".cache", ".git*"))
    (folder / INDEX).write_bytes(index)
    return place.put_main(folder, f"Newest vintage: {newest}").bytes


def _index(
    vintages: Sequence[VintageLineage],
    place: Place,
    request: PublishRequest,
    above: PlaceIndex,
    hashes: Mapping[str, str],
) -> tuple[bytes, str]:
    """Return `vintages.json`, and the newest vintage that it lists: each with its commit, the time of its newest text
    and its certificate's hash. Vintages that are listed stay as they are."""
    listed = dict(above.vintages)
    for one in vintages:
        if listed.get(one.label, {}).get("round") == one.plan.ids[one.key]:
            continue
        times = [
            max(manifest.newest.values()).isoformat()
            for source in one.sources
            if (manifest := one.plan.corpora[source.corpus].periods[source.period]).newest
        ]
        listed[one.label] = {
            "revision": place.revision(one.label),
            "cutoff": one.cutoff,
            "newest": max(times, default=None),
            "round": one.plan.ids[one.key],
            "certificate": hashes.get(one.label) or place.files(one.label)[CERTIFICATE],
        }
    last, newest = vintages[-1], in_order(listed)[-1]
    whole = {
        "format": FORMAT,
        "study": last.plan.study.name,
        "method": last.run.method.name,
        "inputs": inputs_of(place) if request.with_inputs else above.inputs,
        "newest": newest,
        "vintages": dict(sorted(listed.items())),
    }
    return to_bytes(whole), newest
