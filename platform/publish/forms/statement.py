"""In-toto statements (v1): files, named by their hashes, and a predicate that is said about them.

The form is https://github.com/in-toto/attestation/blob/main/spec/v1/statement.md. A predicate's type is a URI that ends
with a version, such as `https://slsa.dev/provenance/v1`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import Field

from ticlm.core.errors import InputError
from ticlm.core.settings import Settings
from ticlm.platform.publish.forms.documents import read_object

TYPE = "https://in-toto.io/Statement/v1"
SHA256 = "[0-9a-f]{64}"


class AttestedFile(Settings):
    """A file that a statement is about: its path in the published folder, and its SHA-256 (64 hex digits)."""

    name: str = Field(min_length=1)
    sha256: str = Field(pattern=f"^{SHA256}$")


class InTotoStatement(Settings):
    """A statement that was read; the predicate's content is not looked at."""

    subjects: tuple[AttestedFile, ...]
    predicate_type: str
    predicate: dict[str, Any]


def statement(subjects: Sequence[AttestedFile], predicate_type: str, predicate: Mapping[str, Any]) -> dict[str, Any]:
    """Return the statement that `predicate` holds for these files, ordered by name.

    Raises InputError if there is no file, if two have one name, or if the predicate is empty: readers of statements
    refuse these.
    """
    names = [one.name for one in subjects]
    if not names:
        raise InputError("a statement needs at least one file that it is about")
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise InputError(f"a statement names each file once, got {twice[0]} twice")
    if not predicate:
        raise InputError(f"a statement of type {predicate_type} says nothing: its predicate is empty")
    ordered = sorted(subjects, key=lambda one: one.name)
    return {
        "_type": TYPE,
        "subject": [{"name": one.name, "digest": {"sha256": one.sha256}} for one in ordered],
        "predicateType": predicate_type,
        "predicate": dict(predicate),
    }


def parsed(data: bytes, where: str, predicate_type: str = "") -> InTotoStatement:
    """Return the statement in the file `where`, of type `predicate_type`; of any type if that is empty.

    Keys that the specification does not know are passed over, as it demands. Raises InputError in one line if the bytes
    are no JSON or no statement, or if the predicate is another one or one of a newer version.
    """
    found = read_object(data, where)
    if found.get("_type") != TYPE:
        raise InputError(f"{where} is no in-toto statement: _type must be {TYPE}, got {found.get('_type')!r}")
    stated, predicate = found.get("predicateType"), found.get("predicate")
    if not isinstance(stated, str) or not stated:
        raise InputError(f"{where} is no in-toto statement: predicateType must be a URI, got {stated!r}")
    if predicate_type:
        _check_type(stated, predicate_type, where)
    if not isinstance(predicate, dict) or not predicate:
        raise InputError(f"{where} is no in-toto statement: predicate must be an object with content")
    return InTotoStatement(subjects=_subjects(found, where), predicate_type=stated, predicate=predicate)


def _check_type(stated: str, expected: str, where: str) -> None:
    """Raise InputError unless a predicate's type is the expected one."""
    if stated == expected:
        return
    (name, version), (expected_name, expected_version) = _version(stated), _version(expected)
    if name == expected_name and version > expected_version:
        raise InputError(
            f"{where} was written by a newer release: its predicate is {stated}, this one reads {expected}"
        )
    raise InputError(f"{where} has another predicate: expected {expected}, got {stated}")


def _version(predicate_type: str) -> tuple[str, tuple[int, ...]]:
    """Return the name and the version of a predicate's type: (https://slsa.dev/provenance, (1,)) of …/v1."""
    found = re.fullmatch(r"(.+)/v(\d{1,9}(?:\.\d{1,9})*)", predicate_type)
    return (found[1], tuple(map(int, found[2].split(".")))) if found else (predicate_type, ())


def _subjects(found: Mapping[str, Any], where: str) -> tuple[AttestedFile, ...]:
    """Return the files that a statement is about. Raises InputError if it is about none, or if one has no SHA-256."""
    subjects = found.get("subject")
    if not isinstance(subjects, list) or not subjects:
        raise InputError(f"{where} is no in-toto statement: subject must be a list of files")
    files = []
    for position, one in enumerate(subjects):
        name = one.get("name") if isinstance(one, dict) else None
        digest = one.get("digest") if isinstance(one, dict) else None
        sha256 = digest.get("sha256") if isinstance(digest, dict) else None
        if not isinstance(name, str) or not name or not isinstance(sha256, str) or not re.fullmatch(SHA256, sha256):
            raise InputError(
                f"{where} is no in-toto statement about files: subject {position} needs a name and a sha256"
            )
        files.append(AttestedFile(name=name, sha256=sha256))
    return tuple(files)
