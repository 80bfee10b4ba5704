"""JSON schemas of studies, recipes, examples, tasks and report presets, for editors.

They refuse what the settings refuse, apart from what is checked across keys (such as periods that a study names but
does not have), from what a name means outside the file (a corpus, a path), and from keys of parts that are merged into
another file or into a method of the catalogue, where any kind's keys are taken.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

from pydantic import BaseModel
from pydantic.json_schema import GenerateJsonSchema, JsonRef, JsonSchemaWarningKind
from pydantic_core import PydanticOmit, core_schema

from ticlm.methods.catalog import CATALOG
from ticlm.platform.cli.reference.files import FILES
from ticlm.platform.cli.reference.meanings import meanings, whole

JsonSchema = dict[str, Any]
WHOLE = r"^[-+]?[0-9]+(_[0-9]+)*$"
NUMBER = r"^[-+]?([0-9]+(_[0-9]+)*\.?[0-9]*|\.[0-9]+)([eE][-+]?[0-9]+)?$"
"""Numbers that YAML reads as text: 1e-3 in YAML 1.1, 1_000 in YAML 1.2."""
METHODS = {"continual": "Continual", "joint": "Joint", "oracle": "OracleSeries"}


def schema(name: str) -> JsonSchema:
    """Return the JSON schema of a kind of file (see FILES). Raises InputError if there is no such kind."""
    kind = FILES[name].settings
    made = kind.model_json_schema(mode="validation", schema_generator=_Generator)
    definitions = made.pop("$defs", {})
    for definition in definitions.values():
        definition.pop("title", None)
    if name == "study":
        made["properties"]["methods"]["items"] = _method(made["properties"]["methods"]["items"], definitions)
    extending = _lenient({key: value for key, value in made.items() if key != "required"})
    definitions |= {f"{key}.part": _lenient(value) for key, value in definitions.items()}
    made["properties"] = {"extends": _EXTENDS, **made["properties"]}
    definitions["extending"] = {**extending, "properties": made["properties"] | extending["properties"]}
    definitions["whole"] = {key: made.pop(key) for key in list(made)}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": f"ticlm {name}",
        "description": definitions["whole"].pop("description", ""),
        "type": "object",
        "if": {"required": ["extends"]},
        "then": {"$ref": "#/$defs/extending"},
        "else": {"$ref": "#/$defs/whole"},
        "$defs": definitions,
    }


_EXTENDS = {
    "type": "string",
    "description": "The file that this one changes: a path, a URI, or a packaged name. Mappings are merged into it.",
}


class _Generator(GenerateJsonSchema):
    """Describes fields by their docstrings, takes numbers that YAML reads as text, and tells kinds apart."""

    ignored_warning_kinds: set[JsonSchemaWarningKind] = {"skipped-choice", "non-serializable-default"}  # noqa: RUF012

    def model_schema(self, schema: core_schema.ModelSchema) -> JsonSchema:
        made = super().model_schema(schema)
        kind: type[BaseModel] = schema["cls"]
        said = meanings(kind)
        made["description"] = whole(kind)
        for name, of_field in made.get("properties", {}).items():
            of_field.pop("title", None)
            if name in said:
                of_field["description"] = said[name]
        return made

    def int_schema(self, schema: core_schema.IntSchema) -> JsonSchema:
        return {**super().int_schema(schema), "type": ["integer", "string"], "pattern": WHOLE}

    def float_schema(self, schema: core_schema.FloatSchema) -> JsonSchema:
        return {**super().float_schema(schema), "type": ["number", "string"], "pattern": NUMBER}

    def json_or_python_schema(self, schema: core_schema.JsonOrPythonSchema) -> JsonSchema:
        if schema["python_schema"]["type"] == "is-instance":  # a place for classes of the user's own: see Own
            raise PydanticOmit
        return super().json_or_python_schema(schema)

    def tagged_union_schema(self, schema: core_schema.TaggedUnionSchema) -> JsonSchema:
        """Return the alternatives, each with what tells it apart."""
        by = schema["discriminator"]
        found = []
        for tag, choice in schema["choices"].items():
            inner = self.generate_inner(choice)
            needed = self._telling(by, tag, inner) if callable(by) else [by]
            found.append({"allOf": [inner], "required": needed} if needed else inner)
        return {"anyOf": found}

    def _telling(self, choose: Callable[[Any], Any], tag: Any, made: JsonSchema) -> list[str]:
        """Return the keys without which a mapping is not taken for this alternative; none for the one by default."""
        if choose({}) == tag:
            return []
        whole = self.get_schema_from_definitions(JsonRef(made["$ref"])) if "$ref" in made else made
        return [name for name in (whole or {}).get("properties", {}) if choose({name: tag}) == tag]


def _method(entire: JsonSchema, definitions: dict[str, JsonSchema]) -> JsonSchema:
    """Return the schema of an entry of `methods`: a name, a method with changes, or a whole method."""
    forms: list[JsonSchema] = [{"enum": list(CATALOG), "description": "A method of the catalogue, as it is."}]
    for kind, name in METHODS.items():
        if name in definitions:
            part = _lenient(definitions[name])
            of_kind = [method for method in CATALOG if CATALOG[method].kind == kind]
            base = {"enum": of_kind, "description": "The method of the catalogue that is changed."}
            forms.append({**part, "properties": {"base": base, **part["properties"]}, "required": ["base"]})
    return {"anyOf": [*forms, entire]}


def _lenient(value: Any) -> Any:
    """Return a schema without required keys, for what is merged into something else. Entries of lists are never
    merged, so they stay as they are. A class of the user's own, whose keys are not known, is told by its kind."""
    if isinstance(value, list):
        return [_lenient(item) for item in value]
    if not isinstance(value, dict):
        return value
    out = {}
    for key, item in value.items():
        if key in ("items", "prefixItems", "enum", "default"):
            out[key] = copy.deepcopy(item)
        elif key == "$ref":
            out[key] = f"{item}.part"
        elif key == "properties":
            out[key] = {name: _lenient(of_field) for name, of_field in item.items()}
        elif key != "required" or (value.get("type") == "object" and "additionalProperties" not in value):
            out[key] = _lenient(item)
    return out
