"""What the template says that nothing would miss before a deployment."""

import json
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import PurePosixPath
from typing import Any

import pytest

from local.template import Template
from tokencount.adapters.endpoint import CALL_SECONDS, RESERVED_SECONDS

ROUTES = {
    "/v1/infer/v1/messages/count_tokens",
    "/v1/infer/models",
    "/v1/infer/models/{id+}",
    "/v1/requests",
    "/v1/requests/{request_id}",
    "/v1/keys",
    "/v1/keys/{id}",
    "/v1/auth/session",
}
# API Gateway has a resource for each part of a path: without a method there, its own answer would be 403.
PARTS = {"/"} | {str(part) for route in ROUTES for part in PurePosixPath(route).parents} - ROUTES
EVERYTHING_ELSE = {"/{proxy+}"} | PARTS
API_GATEWAY_SECONDS = 29


def of_type(resources: dict[str, Any], kind: str) -> Iterator[tuple[str, dict[str, Any]]]:
    for name, resource in resources.items():
        if resource["Type"] == kind:
            yield name, resource["Properties"]


def test_every_path_of_the_contract_is_a_route_of_its_own_and_every_other_path_reaches_the_edge(
    template: Template,
) -> None:
    assert {route.path for route in template.routes} == ROUTES | EVERYTHING_ELSE
    assert {route.function for route in template.routes} == {"EdgeFunction"}


def test_every_method_of_a_route_reaches_the_edge_so_that_a_wrong_one_is_answered_there(template: Template) -> None:
    assert {route.method for route in template.routes} == {"ANY"}


@pytest.mark.sam
def test_the_api_invokes_the_alias_and_may_do_so(deployed: dict[str, Any]) -> None:
    paths = deployed["Api"]["Properties"]["Body"]["paths"].values()
    targets = {
        method["x-amazon-apigateway-integration"]["uri"]["Fn::Sub"] for path in paths for method in path.values()
    }
    assert len(targets) == 1
    assert "functions/${EdgeFunctionAliaslive}/invocations" in targets.pop()
    permitted = [permission["FunctionName"] for _, permission in of_type(deployed, "AWS::Lambda::Permission")]
    assert permitted == [{"Ref": "EdgeFunctionAliaslive"}] * len(ROUTES | EVERYTHING_ELSE)


def test_timeouts_nest_so_that_whoever_waits_hears_of_the_failure(template: Template) -> None:
    edge = template.functions["EdgeFunction"].timeout
    counters = {f.timeout for f in template.functions.values() if f.handler == "counter.handler.handler"}
    assert counters
    assert all(API_GATEWAY_SECONDS > edge > counter >= CALL_SECONDS + RESERVED_SECONDS for counter in counters)


@pytest.mark.sam
def test_every_function_is_python_3_13_traced_and_restored_from_a_snapshot(deployed: dict[str, Any]) -> None:
    for _, function in of_type(deployed, "AWS::Lambda::Function"):
        assert function["Runtime"] == "python3.13"
        assert function["SnapStart"] == {"ApplyOn": "PublishedVersions"}
        assert function["TracingConfig"] == {"Mode": "Active"}
        assert function["Architectures"] == [{"Ref": "Architecture"}]


@pytest.mark.sam
def test_every_function_has_a_published_version_behind_the_alias_live(deployed: dict[str, Any]) -> None:
    functions = [name for name, _ in of_type(deployed, "AWS::Lambda::Function")]
    aliases = dict(of_type(deployed, "AWS::Lambda::Alias"))
    versions = dict(of_type(deployed, "AWS::Lambda::Version"))
    for name in functions:
        alias = aliases[f"{name}Aliaslive"]
        published, _ = alias["FunctionVersion"]["Fn::GetAtt"]
        assert alias["Name"] == "live"
        assert versions[published]["FunctionName"] == {"Ref": name}


@pytest.mark.sam
def test_a_changed_layer_publishes_new_versions_of_the_functions_that_have_it(
    transform: Callable[..., dict[str, Any]], deployed: dict[str, Any]
) -> None:
    assert _published_anew(deployed, transform("Qwen35Layer")["Resources"]) == {"Qwen35Counter"}
    functions = {name for name, _ in of_type(deployed, "AWS::Lambda::Function")}
    assert _published_anew(deployed, transform("RuntimeLayer")["Resources"]) == functions


def _published_anew(before: dict[str, Any], after: dict[str, Any]) -> set[str]:
    old = dict(of_type(before, "AWS::Lambda::Version"))
    return {
        version["FunctionName"]["Ref"] for name, version in of_type(after, "AWS::Lambda::Version") if name not in old
    }


@pytest.mark.sam
def test_a_parameter_of_a_function_that_changes_publishes_a_new_version_of_it(deployed: dict[str, Any]) -> None:
    handlers = {name: function["Handler"] for name, function in of_type(deployed, "AWS::Lambda::Function")}
    parameters = {
        "edge.handler.handler": (
            "RecordDays",
            "RequestsPerMinute",
            "RequestsInFlight",
            "DashboardHost",
            "EventRecording",
        ),
        "counter.handler.handler": ("RemoteImageBytesPerMinute", "ImageHostsAllowed", "ImageHostsDenied"),
        "recorder.handler.handler": (),
    }
    for _, version in of_type(deployed, "AWS::Lambda::Version"):
        for parameter in parameters[handlers[version["FunctionName"]["Ref"]]]:
            assert f"${{{parameter}}}" in json.dumps(version["Description"])


def test_the_description_of_a_version_stays_within_lambda_s_256_characters_whatever_the_parameters(
    template: Template,
) -> None:
    widest = {"RemoteImageBytesPerMinute": "9" * 10, "ImageHostsAllowed": "x" * 75, "ImageHostsDenied": "x" * 75}
    for _, function in template.resources("AWS::Serverless::Function"):
        description = function.get("VersionDescription", {"Fn::Sub": ""})["Fn::Sub"]
        text, ways = (description, {}) if isinstance(description, str) else description
        for name, way in ways.items():
            text = text.replace(f"${{{name}}}", max(way["Fn::If"][1:], key=len))
        for parameter, value in widest.items():
            text = text.replace(f"${{{parameter}}}", value)
        assert len(text) <= 256


def test_tables_are_on_demand_encrypted_expiring_and_protected(template: Template) -> None:
    tables = dict(template.resources("AWS::DynamoDB::Table"))
    assert set(tables) == {"CredentialsTable", "LimitsTable", "RequestsTable"}
    for table in tables.values():
        assert table["BillingMode"] == "PAY_PER_REQUEST"
        assert table["SSESpecification"] == {"SSEEnabled": True}
        assert table["TimeToLiveSpecification"]["Enabled"]
        assert table["PointInTimeRecoverySpecification"] == {"PointInTimeRecoveryEnabled": True}
        assert table["DeletionProtectionEnabled"]


@pytest.mark.sam
def test_tables_outlive_their_stack(deployed: dict[str, Any]) -> None:
    tables = [resource for resource in deployed.values() if resource["Type"] == "AWS::DynamoDB::Table"]
    assert Counter((t["DeletionPolicy"], t["UpdateReplacePolicy"]) for t in tables) == {("Retain", "Retain"): 3}


def test_queues_are_encrypted_and_keep_what_they_hold_for_two_weeks(template: Template) -> None:
    queues = dict(template.resources("AWS::SQS::Queue"))
    assert set(queues) == {"RecordQueue", "UnwrittenRecords"}
    for queue in queues.values():
        assert queue["SqsManagedSseEnabled"]
        assert queue["MessageRetentionPeriod"] == 14 * 86_400


def test_a_record_is_tried_for_an_hour_and_never_by_two_at_once(template: Template) -> None:
    queue = dict(template.resources("AWS::SQS::Queue"))["RecordQueue"]
    assert queue["VisibilityTimeout"] >= 6 * template.functions["RecorderFunction"].timeout
    assert queue["RedrivePolicy"]["maxReceiveCount"] * queue["VisibilityTimeout"] >= 3600
    assert template.resolve(queue["RedrivePolicy"]["deadLetterTargetArn"]) == "UnwrittenRecords"


@pytest.mark.sam
def test_the_queue_feeds_the_recorder_s_alias_which_tells_what_failed(deployed: dict[str, Any]) -> None:
    [(_, mapping)] = of_type(deployed, "AWS::Lambda::EventSourceMapping")
    assert mapping["FunctionName"] == {"Ref": "RecorderFunctionAliaslive"}
    assert mapping["EventSourceArn"] == {"Fn::GetAtt": ["RecordQueue", "Arn"]}
    assert mapping["FunctionResponseTypes"] == ["ReportBatchItemFailures"]


def test_every_log_group_forgets(template: Template) -> None:
    groups = dict(template.resources("AWS::Logs::LogGroup"))
    assert groups
    assert all(group["RetentionInDays"] == 30 for group in groups.values())


def test_the_access_log_is_json_that_holds_no_query_no_header_and_no_message(template: Template) -> None:
    line = json.loads(template.api["AccessLogSetting"]["Format"])
    assert {"$context.requestId", "$context.resourcePath", "$context.status"} <= set(line.values())
    # A path may hold what was pasted into it by mistake, a key for instance; a resource's path holds names only.
    assert "$context.path" not in line.values()
    assert not [value for value in line.values() if "message" in value or "header" in value or "query" in value]
