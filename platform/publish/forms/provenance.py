"""SLSA provenance (v1): how files were made, as the predicate of a statement.

The form is https://slsa.dev/spec/v1.0/provenance. What the user chose is in `externalParameters`, what was read in
`resolvedDependencies`, each with its hash.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from pydantic import Field

from ticlm.core.errors import InputError
from ticlm.core.settings import Settings
from ticlm.platform.publish.forms.statement import SHA256

PREDICATE = "https://slsa.dev/provenance/v1"


class Dependency(Settings):
    """Something that was read to make the files, such as a shard, or the code: where it is, what it is called, and its
    SHA-256 (64 hex digits)."""

    uri: str = Field(min_length=1)
    name: str = Field(min_length=1)
    sha256: str = Field(pattern=f"^{SHA256}$")


def provenance(
    build_type: str,
    external_parameters: Mapping[str, Any],
    dependencies: Sequence[Dependency],
    builder_id: str,
    started: datetime,
    finished: datetime,
    versions: Mapping[str, str],
    internal_parameters: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """Return the predicate that says how files were made.

    `build_type` and `builder_id` are URIs: of what the parameters mean, and of who ran the build. `internal_parameters`
    are those of the builder, which a reader need not check, such as the number of workers. `versions` are the builder's
    packages. Dependencies are ordered by name and URI. Raises InputError if a moment has no time zone, or if the build
    ends before it starts.
    """
    start, end = _moment(started), _moment(finished)
    if finished < started:
        raise InputError(f"a build cannot finish ({end}) before it starts ({start})")
    return {
        "buildDefinition": {
            "buildType": build_type,
            "externalParameters": dict(external_parameters),
            "internalParameters": dict(internal_parameters or {}),
            "resolvedDependencies": [
                {"uri": one.uri, "name": one.name, "digest": {"sha256": one.sha256}}
                for one in sorted(dependencies, key=lambda one: (one.name, one.uri))
            ],
        },
        "runDetails": {
            "builder": {"id": builder_id, "version": dict(versions)},
            "metadata": {"startedOn": start, "finishedOn": end},
        },
    }


def _moment(moment: datetime) -> str:
    """Return a moment in UTC as RFC 3339 writes it, in whole seconds."""
    if moment.tzinfo is None:
        raise InputError(f"a moment of a build needs a time zone, got {moment.isoformat()}")
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
