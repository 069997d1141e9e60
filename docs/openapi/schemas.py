"""JSON Schemas of the code's types, in the form of the published reference.

Nullable types are arrays of types, one value alone is an `enum` too, and there are no titles and no defaults of null.
"""

from collections.abc import Mapping
from typing import Any

from pydantic import TypeAdapter

Schema = dict[str, Any]
REF = "#/components/schemas/"


def ref(name: str) -> Schema:
    """A reference to a schema of the document."""
    return {"$ref": REF + name}


def closed(properties: Mapping[str, Schema], *, optional: tuple[str, ...] = (), **rest: Any) -> Schema:
    """An object with these properties and no others."""
    required = [name for name in properties if name not in optional]
    return {
        "type": "object",
        "required": required,
        "properties": dict(properties),
        "additionalProperties": False,
    } | rest


def nullable(schema: Schema) -> Schema:
    """The schema, and null."""
    if "oneOf" in schema:
        return {"type": ["object", "null"], "oneOf": [*schema["oneOf"], {"type": "null"}]}
    values = {"enum": [*schema["enum"], None]} if "enum" in schema else {}
    return schema | {"type": [schema["type"], "null"]} | values


def schemas_of(*types: Any) -> dict[str, Schema]:
    """The schemas of the types and of what they are made of, by their names."""
    adapters = [(kind, "validation", TypeAdapter(kind)) for kind in types]
    _, whole = TypeAdapter.json_schemas(adapters, ref_template=REF + "{model}")  # type: ignore[arg-type]
    definitions: dict[str, Schema] = whole["$defs"]
    plain = {name: _plain(schema, definitions) for name, schema in definitions.items()}
    return {name: schema for name, schema in plain.items() if name not in _INLINE}


# What stands only where it may be null as well, and is shown there.
_INLINE = {"CacheControl", "Citation"}


def _plain(schema: Schema, definitions: Mapping[str, Schema]) -> Schema:
    if (name := schema.get("$ref", "").removeprefix(REF)) in _INLINE:
        return _plain(definitions[name], definitions)
    out = {key: value for key, value in schema.items() if key not in {"title", "default", "anyOf", "const"}}
    if "const" in schema:
        out["enum"] = [schema["const"]]
    for key in ("items", "additionalProperties"):
        if isinstance(schema.get(key), dict):
            out[key] = _plain(schema[key], definitions)
    if "properties" in schema:
        out["properties"] = {name: _plain(value, definitions) for name, value in schema["properties"].items()}
    if "oneOf" in schema:
        out["oneOf"] = [_plain(option, definitions) for option in schema["oneOf"]]
    if "anyOf" in schema:
        inner, null = schema["anyOf"]
        assert null == {"type": "null"}, f"not a nullable type: {schema}"
        out = _or_null(_plain(inner, definitions)) | out
    return out


def _or_null(schema: Schema) -> Schema:
    """Of a string or an array, the string is what may be null; other alternatives are objects."""
    match schema:
        case {"oneOf": [{"type": "string"} as text, *others]}:
            return {"oneOf": [nullable(text), *others]}
    return nullable(schema)
