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
}
COUNTER = {KEYS}
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


def roles(deployed: dict[str, Any]) -> dict[str, str]:
    """The role of each function."""
    return {
        name: resource["Properties"]["Role"]["Fn::GetAtt"][0]
        for name, resource in deployed.items()
        if resource["Type"] == "AWS::Lambda::Function"
    }


def test_the_edge_may_use_its_tables_read_the_token_keys_and_invoke_the_counters_aliases(
    deployed: dict[str, Any],
) -> None:
    counters = {("lambda:InvokeFunction", f"{name}Aliaslive") for name in roles(deployed) if name != "EdgeFunction"}
    assert counters
    assert rights(deployed["EdgeFunctionRole"]) == EDGE | counters


def test_a_counter_may_read_the_token_keys_and_nothing_else(deployed: dict[str, Any]) -> None:
    assert {role for name, role in roles(deployed).items() if name != "EdgeFunction"} == {"CounterRole"}
    assert rights(deployed["CounterRole"]) == COUNTER


def test_managed_policies_give_logs_and_traces_alone(deployed: dict[str, Any]) -> None:
    for role in set(roles(deployed).values()):
        attached = {
            named(arn).rsplit("/", 1)[1].strip('"') for arn in deployed[role]["Properties"]["ManagedPolicyArns"]
        }
        assert attached <= MANAGED
