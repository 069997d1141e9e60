"""What each function may do, in full: a right more or less is a change of these lines."""

import json
from typing import Any

import pytest

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
RIGHTS = {"edge.handler.handler": EDGE, "counter.handler.handler": COUNTER, "recorder.handler.handler": RECORDER}
# Their own logs and traces.
MANAGED = {"AWSLambdaBasicExecutionRole", "AWSXrayWriteOnlyAccess", "AWSXRayDaemonWriteAccess"}


def listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def named(resource: Any) -> str:
    match resource:
        case {"Ref": str(name)} | {"Fn::Sub": str(name)}:
            return name
        case {"Fn::GetAtt": [str(name), str(attribute)]}:
            return f"{name}.{attribute}"
    return json.dumps(resource)


def rights(role: dict[str, Any]) -> set[tuple[str, str]]:
    statements = [
        statement for policy in role["Properties"]["Policies"] for statement in policy["PolicyDocument"]["Statement"]
    ]
    assert {statement["Effect"] for statement in statements} == {"Allow"}
    return {
        (action, named(resource))
        for statement in statements
        for action in listed(statement["Action"])
        for resource in listed(statement["Resource"])
    }


def functions(deployed: dict[str, Any]) -> dict[str, tuple[str, dict[str, Any]]]:
    """The handler and the role of each function."""
    return {
        name: (resource["Properties"]["Handler"], deployed[resource["Properties"]["Role"]["Fn::GetAtt"][0]])
        for name, resource in deployed.items()
        if resource["Type"] == "AWS::Lambda::Function"
    }


def test_a_function_may_do_what_stands_here_and_nothing_else(deployed: dict[str, Any]) -> None:
    found = functions(deployed)
    counters = {name for name, (handler, _) in found.items() if handler == "counter.handler.handler"}
    invoke = {("lambda:InvokeFunction", f"{name}Aliaslive") for name in counters}
    assert invoke
    for name, (handler, role) in found.items():
        assert rights(role) == RIGHTS[handler] | (invoke if name == "EdgeFunction" else set())


def test_managed_policies_give_logs_and_traces_alone(deployed: dict[str, Any]) -> None:
    for _, role in functions(deployed).values():
        attached = {named(arn).rsplit("/", 1)[1].strip('"') for arn in role["Properties"]["ManagedPolicyArns"]}
        assert attached <= MANAGED
