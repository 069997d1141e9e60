"""What each function may do, in full: a right more or less is a change of these lines."""

import json
from typing import Any

import pytest

from tests.infrastructure.conditions import settled

pytestmark = pytest.mark.sam

KEYS = ("secretsmanager:GetSecretValue", "NodeTokenSecret")
EDGE = {
    KEYS,
    ("dynamodb:GetItem", "CredentialsTable.Arn"),
    ("dynamodb:PutItem", "CredentialsTable.Arn"),
    ("dynamodb:UpdateItem", "CredentialsTable.Arn"),
    ("dynamodb:Query", "${CredentialsTable.Arn}/index/by-project"),
    ("dynamodb:GetItem", "LimitsTable.Arn"),
    ("dynamodb:UpdateItem", "LimitsTable.Arn"),
    ("dynamodb:GetItem", "RequestsTable.Arn"),
    ("dynamodb:PutItem", "RequestsTable.Arn"),
    ("dynamodb:Query", "${RequestsTable.Arn}/index/by-project"),
    ("sqs:SendMessage", "RecordQueue.Arn"),
}
RECORDER = {
    ("sqs:ReceiveMessage", "RecordQueue.Arn"),
    ("sqs:DeleteMessage", "RecordQueue.Arn"),
    ("sqs:GetQueueAttributes", "RecordQueue.Arn"),
    ("dynamodb:PutItem", "RequestsTable.Arn"),
}
COUNTER = {KEYS, ("dynamodb:GetItem", "LimitsTable.Arn"), ("dynamodb:UpdateItem", "LimitsTable.Arn")}
# Where events are recorded.
RECORDING = {("s3:PutObject", "${RecordingsBucket.Arn}/*")}
COUNTER_HANDLER = "counter.handler.handler"
RIGHTS = {"edge.handler.handler": EDGE, COUNTER_HANDLER: COUNTER, "recorder.handler.handler": RECORDER}
ENDPOINT_TYPE, MODEL_TYPE = "AWS::SageMaker::Endpoint", "AWS::SageMaker::Model"
# With the last part of each resource's name.
ENDPOINT = {
    "ecr:GetAuthorizationToken": "*",
    "ecr:BatchCheckLayerAvailability": "repository/${Repository}",
    "ecr:BatchGetImage": "repository/${Repository}",
    "ecr:GetDownloadUrlForLayer": "repository/${Repository}",
    "logs:CreateLogGroup": "/aws/sagemaker/Endpoints/*",
    "logs:CreateLogStream": "/aws/sagemaker/Endpoints/*",
    "logs:DescribeLogStreams": "/aws/sagemaker/Endpoints/*",
    "logs:PutLogEvents": "/aws/sagemaker/Endpoints/*",
    "cloudwatch:PutMetricData": "*",
}
# Their own logs and traces.
MANAGED = {"AWSLambdaBasicExecutionRole", "AWSXrayWriteOnlyAccess", "AWSXRayDaemonWriteAccess"}


def listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def named(resource: Any) -> str:
    match resource:
        case {"Ref": str(name)} | {"Fn::Sub": str(name)} | {"Fn::Sub": [str(name), _]} | str(name):
            return name
        case {"Fn::GetAtt": [str(name), str(attribute)]}:
            return f"{name}.{attribute}"
    return json.dumps(resource)


def rights(role: str, resources: dict[str, Any]) -> set[tuple[str, str]]:
    """What the role's own policies and those that are attached to it allow."""
    attached = [item["Properties"] for item in resources.values() if item["Type"] == "AWS::IAM::Policy"]
    policies = [
        *resources[role]["Properties"]["Policies"],
        *(each for each in attached if {"Ref": role} in each["Roles"]),
    ]
    statements = [statement for policy in policies for statement in policy["PolicyDocument"]["Statement"]]
    assert {statement["Effect"] for statement in statements} == {"Allow"}
    return {
        (action, named(resource))
        for statement in statements
        for action in listed(statement["Action"])
        for resource in listed(statement["Resource"])
    }


def functions(deployed: dict[str, Any]) -> dict[str, tuple[str, str]]:
    """The handler and the role of each function."""
    return {
        name: (resource["Properties"]["Handler"], resource["Properties"]["Role"]["Fn::GetAtt"][0])
        for name, resource in deployed.items()
        if resource["Type"] == "AWS::Lambda::Function"
    }


@pytest.mark.parametrize("endpoints", [False, True], ids=["without endpoints", "with endpoints"])
@pytest.mark.parametrize("recording", [False, True], ids=["without recording", "with recording"])
def test_a_function_may_do_what_stands_here_and_nothing_else(
    deployed: dict[str, Any], endpoints: bool, recording: bool
) -> None:
    resources = settled(deployed, endpoints=endpoints, recording=recording)
    found = functions(resources)
    counters = {name for name, (handler, _) in found.items() if handler == COUNTER_HANDLER}
    invoke = {("lambda:InvokeFunction", f"{name}Aliaslive") for name in counters}
    assert invoke
    ask = {("sagemaker:InvokeEndpoint", name) for name, item in resources.items() if item["Type"] == ENDPOINT_TYPE}
    assert bool(ask) == endpoints
    more_of_edge = invoke | RECORDING if recording else invoke
    for name, (handler, role) in found.items():
        more = more_of_edge if name == "EdgeFunction" else ask if handler == COUNTER_HANDLER else set()
        assert rights(role, resources) == RIGHTS[handler] | more


def test_an_endpoint_may_pull_its_image_log_and_tell_its_metrics_and_nothing_else(deployed: dict[str, Any]) -> None:
    roles = [item["Properties"]["ExecutionRoleArn"] for item in deployed.values() if item["Type"] == MODEL_TYPE]
    assert roles
    for role in roles:
        name, _ = role["Fn::GetAtt"]
        assert {action: resource.split(":")[-1] for action, resource in rights(name, deployed)} == ENDPOINT
        [statement] = deployed[name]["Properties"]["AssumeRolePolicyDocument"]["Statement"]
        assert statement["Principal"] == {"Service": "sagemaker.amazonaws.com"}


def test_managed_policies_give_logs_and_traces_alone(deployed: dict[str, Any]) -> None:
    for _, role in functions(deployed).values():
        arns = deployed[role]["Properties"]["ManagedPolicyArns"]
        assert {named(arn).rsplit("/", 1)[1].strip('"') for arn in arns} <= MANAGED
