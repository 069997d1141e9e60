"""Layers, template and manifests say the same of each model."""

import json
import tomllib
from pathlib import Path

import pytest

from local.template import Function, Template
from tests.infrastructure.artifacts import ROOT

COUNTER = "counter.handler.handler"
MANIFESTS = sorted((ROOT / "layers").glob("*/manifest.toml"))


@pytest.fixture
def counters(template: Template) -> dict[Path, Function]:
    """The counter functions by the folder of their model's layer."""
    runtime = ROOT / "layers" / "runtime"
    functions = [function for function in template.functions.values() if function.handler == COUNTER]
    assert all(runtime in function.layers and len(function.layers) == 2 for function in functions)
    return {next(folder for folder in function.layers if folder != runtime): function for function in functions}


def model_id(folder: Path) -> str:
    return str(tomllib.loads((folder / "manifest.toml").read_text("utf-8"))["id"])


def test_every_manifest_has_a_layer_in_the_template_and_no_other_model_has_one(template: Template) -> None:
    folders = {ROOT / layer["ContentUri"] for _, layer in template.resources("AWS::Serverless::LayerVersion")}
    assert folders - {ROOT / "layers" / "runtime"} == {manifest.parent for manifest in MANIFESTS}


def test_every_model_has_exactly_one_counter_with_its_layer(template: Template, counters: dict[Path, Function]) -> None:
    assert sorted(counters) == [manifest.parent for manifest in MANIFESTS]
    assert len(counters) == len([function for function in template.functions.values() if function.handler == COUNTER])


def test_the_edge_is_told_the_alias_of_every_models_counter(template: Template, counters: dict[Path, Function]) -> None:
    told = json.loads(template.functions["EdgeFunction"].environment["COUNTERS"])
    assert told == {model_id(folder): f"{function.name}:{function.alias}" for folder, function in counters.items()}


def test_the_edge_may_invoke_every_models_counter_and_no_other_function(
    template: Template, counters: dict[Path, Function]
) -> None:
    [policy] = dict(template.resources("AWS::IAM::Role"))["EdgeRole"]["Policies"]
    [statement] = [s for s in policy["PolicyDocument"]["Statement"] if s["Action"] == "lambda:InvokeFunction"]
    allowed = sorted(resource["Ref"] for resource in statement["Resource"])
    assert allowed == sorted(f"{function.name}.Alias" for function in counters.values())


def test_every_function_is_one_whose_alias_a_rollout_may_shift(template: Template) -> None:
    policies = [policy["PolicyDocument"]["Statement"] for _, policy in template.resources("AWS::IAM::Policy")]
    shifting = [each for statements in policies for each in statements if "lambda:UpdateAlias" in each["Action"]]
    resources = [each["Resource"] for each in shifting]
    listed = [item for each in resources for item in (each if isinstance(each, list) else [each])]
    allowed = sorted(item["Fn::Sub"] for item in listed)
    assert allowed == sorted(f"${{{name}.Arn}}*" for name in template.functions)


def test_every_counter_has_a_name_of_its_own_in_the_logs(counters: dict[Path, Function]) -> None:
    names = [function.environment["POWERTOOLS_SERVICE_NAME"] for function in counters.values()]
    assert sorted(names) == sorted(f"counter-{folder.name}" for folder in counters)
