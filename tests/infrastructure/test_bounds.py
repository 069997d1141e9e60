"""What the template bounds: concurrency, requests per second, what is logged, and who may start a function."""

from collections.abc import Iterator
from typing import Any

import pytest

from local.template import Template

pytestmark = pytest.mark.sam

NOTHING = {"Ref": "AWS::NoValue"}


def functions(deployed: dict[str, Any]) -> Iterator[tuple[str, str, dict[str, Any]]]:
    for name, item in deployed.items():
        if item["Type"] == "AWS::Lambda::Function":
            yield name, item["Properties"]["Handler"].partition(".")[0], item["Properties"]


def test_no_concurrency_is_reserved_unless_a_parameter_says_how_much(
    translated: dict[str, Any], deployed: dict[str, Any]
) -> None:
    reserved = {
        "edge": {"Fn::If": ["ReserveEdge", {"Ref": "EdgeConcurrency"}, NOTHING]},
        # Each counter for itself.
        "counter": {"Fn::If": ["ReserveCounters", {"Ref": "CounterConcurrency"}, NOTHING]},
        "recorder": NOTHING,
    }
    for _, part, function in functions(deployed):
        assert function["ReservedConcurrentExecutions"] == reserved[part]
    for condition, parameter in {"ReserveEdge": "EdgeConcurrency", "ReserveCounters": "CounterConcurrency"}.items():
        assert translated["Conditions"][condition] == {"Fn::Not": [{"Fn::Equals": [{"Ref": parameter}, "0"]}]}
        assert translated["Parameters"][parameter]["Default"] == 0


def test_records_that_an_outage_left_behind_take_little_of_the_account_s_concurrency(deployed: dict[str, Any]) -> None:
    [mapping] = [item["Properties"] for item in deployed.values() if item["Type"] == "AWS::Lambda::EventSourceMapping"]
    assert mapping["ScalingConfig"] == {"MaximumConcurrency": 5}


def test_the_api_takes_so_many_requests_per_second_on_every_path(template: Template) -> None:
    [settings] = template.api["MethodSettings"]
    assert (settings["ResourcePath"], settings["HttpMethod"]) == ("/*", "*")
    assert (settings["ThrottlingRateLimit"], settings["ThrottlingBurstLimit"]) == (500, 1000)


def test_api_gateway_logs_no_execution_which_would_show_bodies_and_keep_them_for_ever(template: Template) -> None:
    for settings in template.api["MethodSettings"]:
        assert settings.get("LoggingLevel", "OFF") == "OFF"
        assert not settings.get("DataTraceEnabled", False)


def test_every_function_and_the_api_log_to_groups_of_the_template(deployed: dict[str, Any]) -> None:
    groups = {name for name, item in deployed.items() if item["Type"] == "AWS::Logs::LogGroup"}
    for name, _, function in functions(deployed):
        assert function["LoggingConfig"]["LogGroup"]["Ref"] in groups, name
    [stage] = [item["Properties"] for item in deployed.values() if item["Type"] == "AWS::ApiGateway::Stage"]
    group, _ = stage["AccessLogSetting"]["DestinationArn"]["Fn::GetAtt"]
    assert group in groups


def test_no_function_is_invoked_asynchronously_so_that_none_needs_a_dead_letter_queue(deployed: dict[str, Any]) -> None:
    # Whatever invokes asynchronously (EventBridge, SNS, S3) has to be permitted to; API Gateway waits for the answer.
    permitted = [item["Properties"] for item in deployed.values() if item["Type"] == "AWS::Lambda::Permission"]
    assert {permission["Principal"] for permission in permitted} == {"apigateway.amazonaws.com"}
    kinds = {item["Type"] for item in deployed.values()}
    assert kinds.isdisjoint({"AWS::Scheduler::Schedule", "AWS::Lambda::EventInvokeConfig", "AWS::Pipes::Pipe"})
