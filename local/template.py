"""Reads template.yaml, so that routes, tables, environment and limits stand in one place.

It knows as much of CloudFormation as this template uses, and refuses the rest instead of guessing. Everything local has
its logical id for a name: a table, a secret, a function or its alias.
"""

import copy
import json
import re
import secrets
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import yaml

from local.errors import StackError

PSEUDO = {
    "AWS::AccountId": "123456789012",
    "AWS::Partition": "aws",
    "AWS::Region": "us-east-1",
    "AWS::StackName": "tokencount",
    "AWS::URLSuffix": "amazonaws.com",
}


@dataclass(frozen=True, slots=True)
class Function:
    """One function of the template, with its environment resolved. `timeout` in seconds, `memory` in MB."""

    name: str
    handler: str
    code: Path
    timeout: float
    memory: int
    alias: str | None
    layers: tuple[Path, ...]
    environment: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Route:
    """One event of type Api. The path may hold `{name}` and end in `{name+}`; the method may be ANY."""

    path: str
    method: str
    function: str


@dataclass(frozen=True, slots=True)
class EventSource:
    """One event of type SQS. `partial`: the function tells which messages of a batch failed."""

    queue: str
    function: str
    batch_size: int
    partial: bool


class _Loader(yaml.SafeLoader):
    """YAML with CloudFormation's short tags."""


def _short_tag(loader: _Loader, suffix: str, node: yaml.Node) -> dict[str, Any]:
    value: Any
    if isinstance(node, yaml.SequenceNode):
        value = loader.construct_sequence(node, deep=True)
    else:
        assert isinstance(node, yaml.ScalarNode)
        value = loader.construct_scalar(node)
        value = value.split(".", 1) if suffix == "GetAtt" else value
    return {"Ref" if suffix == "Ref" else f"Fn::{suffix}": value}


_Loader.add_multi_constructor("!", _short_tag)


# What `AWS::NoValue` leaves where it stands.
_NOTHING = object()


class Template:
    """template.yaml, read once. `endpoints`: the image of the models' endpoints; empty: there are none."""

    def __init__(self, path: Path, *, endpoints: str = "") -> None:
        self._root = path.parent
        self._endpoints = endpoints
        self._document: dict[str, Any] = yaml.load(path.read_text("utf-8"), _Loader)  # noqa: S506  a SafeLoader

    def resources(self, kind: str) -> Iterator[tuple[str, dict[str, Any]]]:
        """Logical id and properties of every resource of that type."""
        for name, resource in self._document["Resources"].items():
            if resource["Type"] == kind:
                yield name, resource.get("Properties", {})

    @cached_property
    def functions(self) -> dict[str, Function]:
        """Every function by its logical id."""
        return {name: self._function(name, own) for name, own in self.resources("AWS::Serverless::Function")}

    @cached_property
    def routes(self) -> list[Route]:
        """Every route of the REST API."""
        return [
            Route(event["Properties"]["Path"], event["Properties"]["Method"].upper(), name)
            for name, own in self.resources("AWS::Serverless::Function")
            for event in own.get("Events", {}).values()
            if event["Type"] == "Api"
        ]

    @cached_property
    def event_sources(self) -> list[EventSource]:
        """Every queue whose messages a function takes."""
        return [
            EventSource(
                self.resolve(event["Properties"]["Queue"]),
                name,
                event["Properties"]["BatchSize"],
                "ReportBatchItemFailures" in event["Properties"].get("FunctionResponseTypes", []),
            )
            for name, own in self.resources("AWS::Serverless::Function")
            for event in own.get("Events", {}).values()
            if event["Type"] == "SQS"
        ]

    @cached_property
    def api(self) -> dict[str, Any]:
        """Properties of the REST API."""
        return next(own for _, own in self.resources("AWS::Serverless::Api"))

    @property
    def runtime(self) -> str:
        """The runtime of the functions, such as `python3.13`."""
        return str(self._document["Globals"]["Function"]["Runtime"])

    @cached_property
    def secrets(self) -> dict[str, str]:
        """Text of every secret by its logical id, drawn anew for each start as its GenerateSecretString says."""
        return {
            name: _generate(own["GenerateSecretString"]) for name, own in self.resources("AWS::SecretsManager::Secret")
        }

    def resolve(self, value: Any) -> Any:
        """The value with every intrinsic function and dynamic reference in it replaced."""
        match value:
            case {"Ref": "AWS::NoValue"}:
                return _NOTHING
            case {"Fn::If": [str(condition), yes, no]}:
                return self.resolve(yes if self._holds(self._document["Conditions"][condition]) else no)
            case {"Ref": str(name)} | {"Fn::GetAtt": [str(name), *_]}:
                return self._reference(name)
            case {"Fn::Sub": str(text)}:
                return self._dynamic(re.sub(r"\$\{([^!}][^}]*)\}", lambda found: self._reference(found[1]), text))
            case dict() if any(key.startswith("Fn::") for key in value):
                raise StackError(f"template.yaml uses {', '.join(value)}, which the local stack does not know")
            case dict():
                resolved = ((key, self.resolve(item)) for key, item in value.items())
                return {key: item for key, item in resolved if item is not _NOTHING}
            case list():
                return [item for item in map(self.resolve, value) if item is not _NOTHING]
            case str():
                return self._dynamic(value)
        return value

    def with_environments(self, environments: Mapping[str, Mapping[str, str]], **parameters: str) -> dict[str, Any]:
        """The document, with these variables for those functions and these defaults for those parameters."""
        document = copy.deepcopy(self._document)
        for name, variables in environments.items():
            document["Resources"][name]["Properties"]["Environment"] = {"Variables": dict(variables)}
        for name, value in parameters.items():
            document["Parameters"][name]["Default"] = value
        return document

    def _holds(self, condition: Any) -> bool:
        match condition:
            case {"Fn::Not": [negated]}:
                return not self._holds(negated)
            case {"Fn::Equals": [left, right]}:
                return bool(self.resolve(left) == self.resolve(right))
        raise StackError(f"template.yaml has the condition {condition}, which the local stack does not know")

    def _reference(self, name: str) -> str:
        if name in PSEUDO:
            return PSEUDO[name]
        if name in (parameters := self._document.get("Parameters", {})):
            return self._endpoints if name.endswith("EndpointImage") else str(parameters[name].get("Default", ""))
        if (resource := name.partition(".")[0]) in self._document["Resources"]:
            return resource
        raise StackError(f"template.yaml refers to {name}, which it does not define")

    def _dynamic(self, text: str) -> str:
        pattern = r"\{\{resolve:secretsmanager:([^:}]+)(?::SecretString)?:*\}\}"
        return re.sub(pattern, lambda found: self.secrets[found[1]], text)

    def _function(self, name: str, own: dict[str, Any]) -> Function:
        common = self._document.get("Globals", {}).get("Function", {})
        merged = common | own
        variables = [part.get("Environment", {}).get("Variables", {}) for part in (common, own)]
        layers = [self._reference(layer["Ref"]) for part in (common, own) for layer in part.get("Layers", [])]
        folders = dict(self.resources("AWS::Serverless::LayerVersion"))
        return Function(
            name=name,
            handler=merged["Handler"],
            code=self._root / merged["CodeUri"],
            timeout=float(merged["Timeout"]),
            memory=int(merged["MemorySize"]),
            alias=merged.get("AutoPublishAlias"),
            layers=tuple(self._root / folders[layer]["ContentUri"] for layer in layers),
            environment={key: str(value) for key, value in self.resolve(variables[0] | variables[1]).items()},
        )


def _generate(rule: Mapping[str, Any]) -> str:
    return json.dumps(json.loads(rule["SecretStringTemplate"]) | {rule["GenerateStringKey"]: secrets.token_hex(32)})
