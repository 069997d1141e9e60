"""The endpoint in the template: all of it on one condition, off by default, and sound where it is on."""

import re
import tomllib
from collections.abc import Callable
from typing import Any

import pytest

from local.template import Function, Template
from tests.infrastructure.artifacts import ROOT
from tests.infrastructure.conditions import references, settled

IMAGE = "tokencount/endpoint:1"


@pytest.fixture(scope="module")
def off(deployed: dict[str, Any]) -> dict[str, Any]:
    return settled(deployed, endpoints=False)


@pytest.fixture(scope="module")
def on(deployed: dict[str, Any]) -> dict[str, Any]:
    return settled(deployed, endpoints=True)


def only(resources: dict[str, Any], kind: str) -> tuple[str, dict[str, Any]]:
    [(name, resource)] = [item for item in resources.items() if item[1]["Type"] == kind]
    return name, resource["Properties"]


def environment(resources: dict[str, Any]) -> dict[str, Any]:
    return dict(resources["Qwen35Counter"]["Properties"]["Environment"]["Variables"])


@pytest.mark.sam
@pytest.mark.parametrize("image", ["", IMAGE, f"endpoint@sha256:{'0' * 64}"], ids=["off", "by tag", "by digest"])
def test_the_template_has_no_lint_whether_there_is_an_endpoint_or_not(image: str, lint: Callable[..., str]) -> None:
    assert "valid SAM Template" in lint(Qwen35EndpointImage=image)


@pytest.mark.sam
def test_the_parameter_takes_an_image_by_tag_or_by_digest_or_nothing(translated: dict[str, Any]) -> None:
    parameter = translated["Parameters"]["Qwen35EndpointImage"]
    accepted = re.compile(parameter["AllowedPattern"])
    assert parameter["Default"] == ""
    assert all(accepted.fullmatch(text) for text in ["", IMAGE, "endpoint:v1.2_a-b", f"a/b@sha256:{'0' * 64}"])
    for text in [
        "endpoint",
        "endpoint:",
        ":1",
        "a:1:2",
        "a@sha256:1",
        "a b:1",
        f"{'1' * 12}.dkr.ecr.x.amazonaws.com/a",
    ]:
        assert not accepted.fullmatch(text)


@pytest.mark.sam
def test_without_an_endpoint_nothing_of_it_is_there_and_nothing_refers_to_it(
    deployed: dict[str, Any], on: dict[str, Any], off: dict[str, Any]
) -> None:
    hanging = on.keys() - off.keys()
    assert {deployed[name]["Condition"] for name in hanging} == {"DeployQwen35Endpoint"}
    assert hanging.isdisjoint(references(off))
    assert not [
        name for name, resource in off.items() if "SageMaker" in resource["Type"] or "Scaling" in resource["Type"]
    ]
    assert "ENDPOINT_NAME" not in environment(off)


@pytest.mark.sam
def test_with_an_endpoint_the_counter_is_told_its_name(on: dict[str, Any], off: dict[str, Any]) -> None:
    name, _ = only(on, "AWS::SageMaker::Endpoint")
    told = environment(on)
    assert told.pop("ENDPOINT_NAME") == {"Fn::GetAtt": [name, "EndpointName"]}
    assert told == environment(off)


@pytest.mark.sam
def test_of_the_counters_that_share_a_role_only_the_model_s_own_may_ask_its_endpoint(on: dict[str, Any]) -> None:
    name, _ = only(on, "AWS::SageMaker::Endpoint")
    [statement] = on["Qwen35InvokeEndpoint"]["Properties"]["PolicyDocument"]["Statement"]
    assert (statement["Action"], statement["Resource"]) == ("sagemaker:InvokeEndpoint", {"Ref": name})
    source = {"Fn::GetAtt": ["Qwen35Counter", "Arn"]}
    assert statement["Condition"] == {"ArnEquals": {"lambda:SourceFunctionArn": source}}


@pytest.mark.sam
def test_an_endpoint_that_comes_or_goes_publishes_a_new_version_of_the_counter(
    on: dict[str, Any], off: dict[str, Any]
) -> None:
    def described(resources: dict[str, Any]) -> Any:
        [description] = [
            resource["Properties"]["Description"]
            for resource in resources.values()
            if resource["Type"] == "AWS::Lambda::Version"
            and resource["Properties"]["FunctionName"] == {"Ref": "Qwen35Counter"}
        ]
        return description

    assert described(on) != described(off)


@pytest.mark.sam
def test_the_endpoint_runs_the_image_of_the_parameter_without_a_network(on: dict[str, Any]) -> None:
    name, model = only(on, "AWS::SageMaker::Model")
    registry = "${AWS::AccountId}.dkr.ecr.${AWS::Region}.${AWS::URLSuffix}"
    assert model["PrimaryContainer"] == {"Image": {"Fn::Sub": f"{registry}/${{Qwen35EndpointImage}}"}}
    assert model["EnableNetworkIsolation"] is True
    config, properties = only(on, "AWS::SageMaker::EndpointConfig")
    [variant] = properties["ProductionVariants"]
    assert variant["ModelName"] == {"Fn::GetAtt": [name, "ModelName"]}
    _, properties = only(on, "AWS::SageMaker::Endpoint")
    assert properties["EndpointConfigName"] == {"Fn::GetAtt": [config, "EndpointConfigName"]}


def evaluated(value: Any, image: str) -> Any:
    match value:
        case {"Fn::Select": [index, items]}:
            return evaluated(items, image)[int(index)]
        case {"Fn::Split": [str(separator), text]}:
            return evaluated(text, image).split(separator)
    assert value == {"Ref": "Qwen35EndpointImage"}
    return image


@pytest.mark.sam
@pytest.mark.parametrize("image", [IMAGE, f"tokencount/endpoint@sha256:{'0' * 64}"])
def test_the_endpoint_may_pull_from_the_image_s_own_repository(on: dict[str, Any], image: str) -> None:
    [policy] = on["Qwen35EndpointRole"]["Properties"]["Policies"]
    [statement] = [each for each in policy["PolicyDocument"]["Statement"] if each["Sid"] == "PullImage"]
    _, variables = statement["Resource"]["Fn::Sub"]
    assert evaluated(variables["Repository"], image) == "tokencount/endpoint"


@pytest.mark.sam
def test_there_is_always_one_instance_and_more_under_load(on: dict[str, Any]) -> None:
    name, _ = only(on, "AWS::SageMaker::Endpoint")
    [variant] = only(on, "AWS::SageMaker::EndpointConfig")[1]["ProductionVariants"]
    target, scaled = only(on, "AWS::ApplicationAutoScaling::ScalableTarget")
    assert scaled["ResourceId"] == {"Fn::Sub": f"endpoint/${{{name}.EndpointName}}/variant/{variant['VariantName']}"}
    assert (scaled["MinCapacity"], scaled["MaxCapacity"]) == (1, {"Ref": "EndpointMaxInstances"})
    _, policy = only(on, "AWS::ApplicationAutoScaling::ScalingPolicy")
    assert (policy["ScalingTargetId"], policy["PolicyType"]) == ({"Ref": target}, "TargetTrackingScaling")


def asks_for_endpoint(function: Function) -> bool:
    manifests = [folder / "manifest.toml" for folder in function.layers]
    return any("endpoint" in tomllib.loads(path.read_text("utf-8")) for path in manifests if path.exists())


def test_a_model_that_asks_for_an_endpoint_may_have_one_of_its_own_and_no_other_model_may(template: Template) -> None:
    functions = Template(ROOT / "template.yaml", endpoints=IMAGE).functions.values()
    named = [function for function in functions if "ENDPOINT_NAME" in function.environment]
    assert named == [function for function in functions if asks_for_endpoint(function)]
    names = [function.environment["ENDPOINT_NAME"] for function in named]
    assert sorted(names) == sorted(name for name, _ in template.resources("AWS::SageMaker::Endpoint"))


@pytest.mark.sam
def test_the_endpoint_s_logs_go_to_a_group_that_was_there_before_it_and_forgets(on: dict[str, Any]) -> None:
    _, endpoint = only(on, "AWS::SageMaker::Endpoint")
    group = on["Qwen35EndpointLogs"]["Properties"]
    assert group["RetentionInDays"] == 30
    # SageMaker names the group after the endpoint.
    *folders, name = group["LogGroupName"]["Fn::Sub"].split("/")
    assert "/".join(folders) == "/aws/sagemaker/Endpoints"
    assert "/" not in name
    parts = {"Fn::Split": ["/", {"Ref": "Qwen35EndpointLogs"}]}
    assert endpoint["EndpointName"] == {"Fn::Select": [len(folders), parts]}
