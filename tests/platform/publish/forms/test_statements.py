"""Statements and provenance: other readers of the forms take what is written, and foreign files are named in a line."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import jsonschema
import pytest

from ticlm.core.errors import InputError
from ticlm.platform.publish.forms.documents import schema, to_bytes
from ticlm.platform.publish.forms.provenance import PREDICATE, Dependency, provenance
from ticlm.platform.publish.forms.statement import AttestedFile, parsed, statement

FILES = [AttestedFile(name="model.safetensors", sha256="b" * 64), AttestedFile(name="config.json", sha256="a" * 64)]
STARTED = datetime(2024, 3, 1, 12, 0, 7, tzinfo=timezone(timedelta(hours=2)))


def made(**changes: Any) -> dict[str, Any]:
    """A provenance of two files and the code."""
    values: dict[str, Any] = {
        "build_type": "https://example.org/ticlm/build/v1",
        "external_parameters": {"study": {"name": "demo", "rate": 3e-4}},
        "dependencies": [
            Dependency(uri="corpus/periods/202401/x/train/part-00001.parquet", name="shard 1", sha256="2" * 64),
            Dependency(uri="corpus/periods/202401/x/train/part-00000.parquet", name="shard 0", sha256="1" * 64),
        ],
        "builder_id": "https://example.org/us",
        "started": STARTED,
        "finished": STARTED + timedelta(hours=3),
        "versions": {"ticlm": "0.2.0", "torch": "2.13.0"},
    }
    return provenance(**values | changes)


def valid(document: Any, name: str) -> None:
    jsonschema.Draft202012Validator.check_schema(schema(name))
    jsonschema.validate(document, schema(name), jsonschema.Draft202012Validator)


def test_the_library_of_in_toto_takes_a_statement() -> None:
    from google.protobuf import json_format
    from in_toto_attestation.v1 import statement_pb2
    from in_toto_attestation.v1.statement import Statement

    written = statement(FILES, PREDICATE, made())
    read = json_format.Parse(to_bytes(written), statement_pb2.Statement())
    Statement.copy_from_pb(read).validate()
    assert [(one.name, one.digest["sha256"][0]) for one in read.subject] == [
        ("config.json", "a"),
        ("model.safetensors", "b"),
    ]
    assert read.predicate_type == PREDICATE
    valid(written, "statement-v1")


def test_the_library_of_in_toto_knows_every_key_of_a_provenance() -> None:
    from google.protobuf import json_format
    from in_toto_attestation.predicates.provenance.v1 import provenance_pb2

    read = json_format.Parse(to_bytes(made(internal_parameters={"workers": 4})), provenance_pb2.Provenance())
    build, run = read.build_definition, read.run_details
    assert [one.name for one in build.resolved_dependencies] == ["shard 0", "shard 1"]
    assert build.resolved_dependencies[0].digest["sha256"] == "1" * 64
    assert build.external_parameters["study"]["name"] == "demo" and build.internal_parameters["workers"] == 4
    assert run.builder.id == "https://example.org/us" and run.builder.version["torch"] == "2.13.0"
    assert run.metadata.started_on.ToJsonString() == "2024-03-01T10:00:07Z"
    assert run.metadata.finished_on.ToJsonString() == "2024-03-01T13:00:07Z"
    valid(made(), "provenance-v1")


def test_the_schema_refuses_a_dependency_without_a_hash() -> None:
    wrong = made()
    del wrong["buildDefinition"]["resolvedDependencies"][0]["digest"]
    with pytest.raises(jsonschema.ValidationError, match="'digest' is a required property"):
        valid(wrong, "provenance-v1")


def test_the_order_of_keys_and_files_changes_no_byte() -> None:
    once, again = made(), made(versions={"torch": "2.13.0", "ticlm": "0.2.0"})
    assert to_bytes(statement(FILES, PREDICATE, once)) == to_bytes(statement(FILES[::-1], PREDICATE, again))


def test_a_statement_is_read_as_it_was_written() -> None:
    written = to_bytes(statement(FILES, PREDICATE, made()))
    read = parsed(written, "provenance.json", PREDICATE)
    assert {one.name: one.sha256 for one in read.subjects} == {one.name: one.sha256 for one in FILES}
    assert (read.predicate_type, read.predicate) == (PREDICATE, made())
    more = json.loads(written) | {"later": 1}
    assert parsed(to_bytes(more), "provenance.json") == read, "keys of later versions are passed over"


def changed(**keys: Any) -> bytes:
    return to_bytes({**statement(FILES, PREDICATE, made()), **keys})


NO_JSON = "a.json is no JSON document: "
NONE = "a.json is no in-toto statement: "


@pytest.mark.parametrize(
    ("data", "line"),
    [
        (b"{", NO_JSON + "Expecting property name"),
        (b'"\xff"', NO_JSON + "'utf-"),
        (b"[" * 100_000, NO_JSON + "it is nested too deeply"),
        (b"[]", NO_JSON + "it must be an object, got list"),
        (b"{}", NONE + "_type must be https://in-toto.io/Statement/v1, got None"),
        (
            changed(_type="https://in-toto.io/Statement/v2"),
            NONE + "_type must be https://in-toto.io/Statement/v1, got ",
        ),
        (changed(predicateType=3), NONE + "predicateType must be a URI, got 3"),
        (changed(predicate={}), NONE + "predicate must be an object with content"),
        (changed(subject=[]), NONE + "subject must be a list of files"),
        (changed(subject=["a"]), "a.json is no in-toto statement about files: subject 0 needs a name and a sha256"),
        (
            changed(subject=[{"name": "a", "digest": {"sha1": "b"}}]),
            "a.json is no in-toto statement about files: subject 0 needs a name and a sha256",
        ),
        (
            changed(predicateType="https://slsa.dev/provenance/v1.1"),
            "a.json was written by a newer release: its predicate is https://slsa.dev/provenance/v1.1, this one reads",
        ),
        (
            changed(predicateType="https://slsa.dev/provenance/v0.2"),
            "a.json has another predicate: expected https://slsa.dev/provenance/v1, got https://slsa.dev/provenance/v0.2",
        ),
        (changed(predicateType="https://spdx.dev/Document"), "a.json has another predicate: expected https://slsa.dev"),
    ],
)
def test_what_is_no_such_statement_is_refused_in_one_line(data: bytes, line: str) -> None:
    with pytest.raises(InputError) as error:
        parsed(data, "a.json", PREDICATE)
    assert str(error.value).startswith(line) and "\n" not in str(error.value)


def test_a_statement_needs_files_of_different_names_and_something_to_say() -> None:
    with pytest.raises(InputError, match="at least one file"):
        statement([], PREDICATE, made())
    with pytest.raises(InputError, match=r"names each file once, got config\.json twice"):
        statement([*FILES, FILES[1]], PREDICATE, made())
    with pytest.raises(InputError, match="says nothing"):
        statement(FILES, PREDICATE, {})


def test_a_build_has_time_zones_and_ends_after_it_starts() -> None:
    with pytest.raises(InputError, match="needs a time zone, got 2024-03-01T00:00:00"):
        made(started=datetime(2024, 3, 1))
    with pytest.raises(InputError, match="cannot finish"):
        made(finished=datetime(2024, 2, 1, tzinfo=UTC))


def test_a_schema_that_is_not_there_is_named_with_those_that_are() -> None:
    with pytest.raises(InputError, match="there is no schema vintage-v9; there are provenance-v1, statement-v1"):
        schema("vintage-v9")


def test_no_document_holds_what_json_does_not_have() -> None:
    with pytest.raises(ValueError, match="JSON compliant"):
        to_bytes({"loss": float("nan")})
