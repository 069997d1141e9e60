"""Writes a manifest, and the lines that template.yaml needs for a model."""

import json
import re
from collections.abc import Mapping
from typing import Any

from layers.errors import BuildError


def template_lines(template: str, model_id: str, folder: str) -> dict[str, str]:
    """What to add to template.yaml, by where it goes; layer, counter and alarm are those of a model that is there."""
    name = logical_name(folder)
    return {
        "under Resources, with the other models": _like_another(template, name, folder),
        "to COUNTERS of EdgeFunction": f'              "{model_id}": "${{{name}Counter}}:live",\n',
        "to the InvokeCounters statement of EdgeRole": f"                  - !Ref {name}Counter.Alias\n",
        "to the ShiftAliases statement of RolloutPolicy": f"              - !Sub ${{{name}Counter.Arn}}*\n",
        "to Functions of Dashboard": f'            OR \\"${{{name}Counter}}\\"\n',
    }


def logical_name(folder: str) -> str:
    """A folder's name as CloudFormation's names are: `some-model-7b` is `SomeModel7b`."""
    return "".join(word[:1].upper() + word[1:] for word in re.split(r"[^A-Za-z0-9]+", folder))


def _like_another(template: str, name: str, folder: str) -> str:
    pattern = r"^  (?P<name>\w+)Layer:$.*^ +ContentUri: layers/(?P<folder>\S+)$.*^  (?P=name)Counter:$"
    for paragraph in re.split(r"\n{2,}", template):
        model = re.search(pattern, paragraph, re.MULTILINE | re.DOTALL)
        if model and "ENDPOINT_NAME" not in paragraph:
            return paragraph.replace(model["name"], name).replace(model["folder"], folder) + "\n"
    raise BuildError("template.yaml has no other model without an endpoint to go by")


def manifest_text(manifest: Mapping[str, Any]) -> str:
    """A manifest in the order and with the words of the others; what has the value None is left out."""
    parts = [
        _values({key: manifest[key] for key in ("id", "context_length", "max_request_bytes")}),
        _table("template", manifest["template"], "How requests are written for the chat template."),
        _table("image", manifest["image"], "How many tokens an image is."),
        _table(
            "files", manifest["files"], "The layer's files and their SHA-256, the same from whichever source they come."
        ),
        _table("tokenizer", manifest["tokenizer"], "Added tokens that tokenizer.json lacks, by id from the first on."),
        *map(_source, manifest["sources"]),
    ]
    return "\n".join(part for part in parts if part)


def _source(source: Mapping[str, Any]) -> str:
    files = source.get("files") or {}
    text = "# Where the files come from.\n[[sources]]\n"
    text += _values({key: value for key, value in source.items() if key != "files" and value})
    return text + "".join(f"\n[sources.files.{_value(file)}]\n{_values(recipe)}" for file, recipe in files.items())


def _table(name: str, table: Mapping[str, Any] | None, comment: str) -> str:
    return f"# {comment}\n[{name}]\n{_values(table)}" if table else ""


def _values(table: Mapping[str, Any]) -> str:
    return "".join(f"{_key(key)} = {_value(value)}\n" for key, value in table.items() if value is not None)


def _key(key: str) -> str:
    return key if re.fullmatch(r"[A-Za-z0-9_-]+", key) else _value(key)


def _value(value: Any) -> str:
    match value:
        case bool():
            return "true" if value else "false"
        case str():
            # TOML's strings escape as JSON's do, and one character more.
            return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
        case dict():
            return "{ " + ", ".join(f"{_key(key)} = {_value(item)}" for key, item in value.items()) + " }"
        case list() if len(value) > 3:
            return "[\n" + "".join(f"  {_value(item)},\n" for item in value) + "]"
        case list():
            return "[" + ", ".join(map(_value, value)) + "]"
    return str(value)
