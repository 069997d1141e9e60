"""Alarms, dashboard and rollout: they ask for metrics that there are, and a version that fails is gone again."""

import json
import re
from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from graphlib import TopologicalSorter
from typing import Any

import pytest

from local.template import Template
from recorder.app import Recorder
from tests.infrastructure.artifacts import ROOT
from tests.infrastructure.cloudwatch import Asked, of_alarm, of_dashboard, text, widgets
from tests.infrastructure.conditions import references, settled
from tests.support.counter import CALLER, CounterUnderTest
from tests.support.edge import NOW, EdgeUnderTest, MemoryLog
from tests.support.logs import ReadableLogger
from tests.support.metrics import lines, measured, metrics_of
from tests.support.records import record
from tests.support.requests import EXAMPLE, image, picture, request, user
from tokencount.adapters.answers import STATUS
from tokencount.adapters.record_queue import QueuedRequestLog, RecordQueue
from tokencount.adapters.request_log import RecordNotKept
from tokencount.domain.counting import Counter
from tokencount.domain.delegation import EndpointUnavailable
from tokencount.domain.limits import LimitsUnavailable
from tokencount.domain.recordings import NotRecorded
from tokencount.domain.records import RequestRecord

OWN = "Tokencount/${AWS::StackName}"
# AWS's own metrics, and the dimensions that each is known by (their services' developer guides).
LAMBDA = {frozenset({"FunctionName"}), frozenset({"FunctionName", "Resource", "ExecutedVersion"})}
API, QUEUE = {frozenset({"ApiName", "Stage"})}, {frozenset({"QueueName"})}
TABLE, VARIANT = {frozenset({"TableName", "Operation"})}, {frozenset({"EndpointName", "VariantName"})}
KNOWN = {
    ("AWS/ApiGateway", "Count"): API,
    ("AWS/ApiGateway", "4XXError"): API,
    ("AWS/ApiGateway", "5XXError"): API,
    ("AWS/ApiGateway", "Latency"): API,
    ("AWS/Lambda", "Errors"): LAMBDA,
    ("AWS/Lambda", "Throttles"): LAMBDA,
    ("AWS/Lambda", "Duration"): LAMBDA,
    ("AWS/Lambda", "ConcurrentExecutions"): LAMBDA,
    ("AWS/SQS", "ApproximateAgeOfOldestMessage"): QUEUE,
    ("AWS/SQS", "ApproximateNumberOfMessagesVisible"): QUEUE,
    ("AWS/SQS", "ApproximateNumberOfMessagesNotVisible"): QUEUE,
    ("AWS/DynamoDB", "ThrottledRequests"): TABLE,
    ("AWS/SageMaker", "Invocations"): VARIANT,
    ("AWS/SageMaker", "Invocation5XXErrors"): VARIANT,
    ("AWS/SageMaker", "ModelLatency"): VARIANT,
}
ROLLBACK = re.compile(r"\w+Rollback")


def of_type(resources: dict[str, Any], kind: str) -> dict[str, dict[str, Any]]:
    return {name: item["Properties"] for name, item in resources.items() if item["Type"] == kind}


@pytest.fixture
def alarms(deployed: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return of_type(deployed, "AWS::CloudWatch::Alarm")


@pytest.fixture
def dashboard(deployed: dict[str, Any]) -> dict[str, Any]:
    [found] = of_type(deployed, "AWS::CloudWatch::Dashboard").values()
    return found


class Unwilling(MemoryLog, RecordQueue):
    """Takes no record."""

    def put(self, record: RequestRecord) -> None:
        raise RecordNotKept(record.id)


class Willing(RecordQueue):
    """Takes every record."""

    def __init__(self) -> None:
        """Nothing is sent."""

    def put(self, record: RequestRecord) -> None:
        """Takes it."""


class Down:
    """An endpoint that does not answer."""

    def count(self, body: bytes, request_id: str, seconds_left: float) -> int:
        raise EndpointUnavailable("TimeoutError")


class Up(Down):
    """An endpoint that does."""

    def count(self, body: bytes, request_id: str, seconds_left: float) -> int:
        return 9


def run_edge() -> None:
    """Everything that the edge measures."""
    for queue in (Willing(), Unwilling()):
        edge = EdgeUnderTest()
        edge.log.put = QueuedRequestLog(Unwilling(), queue, edge.logger, edge.metrics).put  # type: ignore[method-assign]
        edge.metrics.limiter_unavailable(CALLER, LimitsUnavailable())
        edge.metrics.event_not_recorded("req_1", NotRecorded())
        edge.send("POST", "/v1/infer/v1/messages/count_tokens", {"model": "b3os/tiny", "messages": []})
    edge.send("GET", "/v1/none")


def run_counter(counter: Counter) -> None:
    """Everything that a counter measures."""
    images = request(user(*[image(picture(64, 32))] * 8))
    remote = replace(counter, read_images=lambda images, job: _fetched(counter, images, job))
    CounterUnderTest(counter, Down()).send(EXAMPLE)
    CounterUnderTest(counter, Down()).send(images)
    CounterUnderTest(remote, Up()).send(images)


def _fetched(counter: Counter, images: Any, job: Any) -> Any:
    with job.phase("fetch"):
        return counter.read_images(images, job)


@pytest.fixture
def emitted(qwen: Counter, capsys: pytest.CaptureFixture[str]) -> set[tuple[str, str, frozenset[str]]]:
    """Who writes which metric with which dimensions: edge, counter or recorder, by the lines of their applications."""
    run_edge()
    run_counter(qwen)
    for restored in (True, False):
        logger = ReadableLogger()
        metrics = metrics_of("recorder", logger, restored=restored)
        recorder = Recorder(MemoryLog(), logger, metrics, lambda: NOW + timedelta(seconds=9))
        recorder({"Records": [{"messageId": "m", "body": json.dumps(record().to_dict())}]}, None)
    return {
        (line["service"].partition("-")[0], each.name, frozenset(name for name, _ in each.dimensions))
        for line in lines(capsys.readouterr().out)
        for each in measured(line)
    }


def asked_of_all(alarms: dict[str, dict[str, Any]], dashboard: dict[str, Any]) -> Iterator[Asked]:
    for alarm in alarms.values():
        yield from of_alarm(alarm)
    yield from of_dashboard(dashboard)


@pytest.mark.sam
def test_alarms_and_dashboard_ask_for_metrics_that_the_functions_write(
    alarms: dict[str, dict[str, Any]],
    dashboard: dict[str, Any],
    deployed: dict[str, Any],
    template: Template,
    emitted: set[tuple[str, str, frozenset[str]]],
) -> None:
    services = {function.environment["POWERTOOLS_SERVICE_NAME"] for function in template.functions.values()}
    codes = {answer.code for answer in STATUS.values()}
    filtered = {
        each["MetricName"]
        for item in of_type(deployed, "AWS::Logs::MetricFilter").values()
        for each in item["MetricTransformations"]
    }
    own = [asked for asked in asked_of_all(alarms, dashboard) if asked.namespace == OWN]
    assert own
    for asked in own:
        dimensions = dict(asked.dimensions)
        assert not asked.dimensions or (dimensions["service"] or "edge") in services
        assert (dimensions.get("code") or "internal") in codes
        who = (dimensions.get("service") or "").partition("-")[0]
        written = {(name, by) for writer, name, by in emitted if who in {"", writer}}
        assert (asked.name, asked.by) in written or (asked.name in filtered and not asked.dimensions)


@pytest.mark.sam
def test_every_metric_that_the_functions_write_is_shown_or_watched(
    alarms: dict[str, dict[str, Any]], dashboard: dict[str, Any], emitted: set[tuple[str, str, frozenset[str]]]
) -> None:
    asked = {(each.name, each.by) for each in asked_of_all(alarms, dashboard) if each.namespace == OWN}
    assert {(name, by) for _, name, by in emitted} <= asked


@pytest.mark.sam
def test_metrics_of_aws_are_asked_for_by_names_and_dimensions_that_it_has(
    alarms: dict[str, dict[str, Any]], dashboard: dict[str, Any]
) -> None:
    for asked in asked_of_all(alarms, dashboard):
        if asked.namespace != OWN:
            assert asked.by in KNOWN[asked.namespace, asked.name]


@pytest.mark.sam
def test_the_dashboard_searches_for_every_function_and_table_by_its_name(
    dashboard: dict[str, Any], deployed: dict[str, Any]
) -> None:
    searches = [
        metric[0]["expression"]
        for widget in widgets(dashboard)
        for metric in widget["properties"].get("metrics", [])
        if isinstance(metric[0], dict)
    ]
    for schema, kind in (("AWS/Lambda", "AWS::Lambda::Function"), ("AWS/DynamoDB", "AWS::DynamoDB::Table")):
        found = [re.search(r"(?:Function|Table)Name=\(([^)]*)\)", each) for each in searches if f"{{{schema}," in each]
        assert found
        for each in found:
            assert each
            assert sorted(each[1].split(" OR ")) == sorted(f'"${{{name}}}"' for name in of_type(deployed, kind))


@pytest.mark.sam
def test_the_functions_write_where_alarms_and_dashboard_look(deployed: dict[str, Any]) -> None:
    for function in of_type(deployed, "AWS::Lambda::Function").values():
        assert text(function["Environment"]["Variables"]["POWERTOOLS_METRICS_NAMESPACE"]) == OWN
    for item in of_type(deployed, "AWS::Logs::MetricFilter").values():
        assert {text(each["MetricNamespace"]) for each in item["MetricTransformations"]} == {OWN}


@pytest.mark.sam
def test_what_the_gateway_throttles_is_found_in_its_access_log_by_a_field_that_it_has(
    deployed: dict[str, Any], template: Template
) -> None:
    [throttled] = of_type(deployed, "AWS::Logs::MetricFilter").values()
    found = re.fullmatch(r'\{ \$\.(\w+) = "(\w+)" \}', throttled["FilterPattern"])
    assert found
    assert json.loads(template.api["AccessLogSetting"]["Format"])[found[1]] == "$context.error.responseType"
    assert found[2] in template.api["GatewayResponses"]


@pytest.mark.sam
def test_every_throttled_operation_that_the_functions_may_make_is_watched(
    alarms: dict[str, dict[str, Any]], deployed: dict[str, Any]
) -> None:
    statements = [
        statement
        for role in of_type(deployed, "AWS::IAM::Role").values()
        for policy in role.get("Policies", [])
        for statement in policy["PolicyDocument"]["Statement"]
    ]
    allowed = {
        (table, action.removeprefix("dynamodb:"))
        for statement in statements
        for action in [statement["Action"]] * isinstance(statement["Action"], str) or statement["Action"]
        if action.startswith("dynamodb:")
        for table in references(statement["Resource"])
    }
    watched = [dict(asked.dimensions) for asked in of_alarm(alarms["TablesThrottled"])]
    assert {(each["TableName"], each["Operation"]) for each in watched} == allowed
    # CloudWatch's own bound.
    assert len(watched) <= 10


@pytest.mark.sam
def test_every_alarm_goes_to_the_topic_where_there_is_one_and_takes_silence_for_well(
    alarms: dict[str, dict[str, Any]],
) -> None:
    for alarm in alarms.values():
        assert alarm["AlarmActions"] == {"Fn::If": ["SendAlarms", [{"Ref": "AlarmTopic"}], {"Ref": "AWS::NoValue"}]}
        assert alarm["TreatMissingData"] == "notBreaching"


@pytest.mark.sam
def test_every_alarm_is_in_operators_documentation_and_on_the_dashboard(
    alarms: dict[str, dict[str, Any]], dashboard: dict[str, Any]
) -> None:
    told = (ROOT / "docs" / "operations.md").read_text("utf-8").partition("\n## Alarms\n")[2].partition("\n## ")[0]
    rows = {found[1] for line in told.splitlines() if (found := re.match(r"\| `(\w+)` \| .+ \| .+ \|$", line))}
    lasting = {name for name in alarms if not ROLLBACK.fullmatch(name)}
    assert {re.sub(r"^.*(?=EndpointFailing$|Rollback$)", "", name) for name in alarms} == rows
    shown = {arn for widget in widgets(dashboard) for arn in widget["properties"].get("alarms", [])}
    assert shown == {f"${{{name}.Arn}}" for name in lasting if "EndpointFailing" not in name}


@pytest.mark.sam
def test_an_endpoint_is_watched_where_there_is_one(deployed: dict[str, Any], template: Template) -> None:
    off, on = (settled(deployed, endpoints=endpoints) for endpoints in (False, True))
    [added] = of_type(on, "AWS::CloudWatch::Alarm").keys() - of_type(off, "AWS::CloudWatch::Alarm").keys()
    [(endpoint, _)] = template.resources("AWS::SageMaker::Endpoint")
    assert added == f"{endpoint}Failing"
    [asked] = of_alarm(of_type(on, "AWS::CloudWatch::Alarm")[added])
    service = template.functions[f"{endpoint.removesuffix('Endpoint')}Counter"].environment["POWERTOOLS_SERVICE_NAME"]
    assert dict(asked.dimensions) == {"service": service}


@pytest.mark.sam
def test_a_new_version_of_any_function_takes_over_by_a_canary_and_goes_back_by_itself(deployed: dict[str, Any]) -> None:
    groups = of_type(deployed, "AWS::CodeDeploy::DeploymentGroup")
    for name in of_type(deployed, "AWS::Lambda::Function"):
        update = deployed[f"{name}Aliaslive"]["UpdatePolicy"]["CodeDeployLambdaAliasUpdate"]
        group = groups[update["DeploymentGroupName"]["Ref"]]
        _, kind = group["DeploymentConfigName"]["Fn::Sub"]
        assert kind == {"ConfigName": "Canary10Percent5Minutes"}
        assert group["ServiceRoleArn"] == {"Fn::GetAtt": ["RolloutRole", "Arn"]}
        assert group["AlarmConfiguration"] == {"Enabled": True, "Alarms": [{"Name": {"Ref": f"{name}Rollback"}}]}
        assert group["AutoRollbackConfiguration"]["Enabled"]
        assert "DEPLOYMENT_STOP_ON_ALARM" in group["AutoRollbackConfiguration"]["Events"]


@pytest.mark.sam
def test_the_alarm_of_a_rollout_watches_the_new_version_alone_and_is_another_for_each(
    alarms: dict[str, dict[str, Any]], deployed: dict[str, Any], template: Template
) -> None:
    versions = {
        version["FunctionName"]["Ref"]: f"{name}.Version"
        for name, version in of_type(deployed, "AWS::Lambda::Version").items()
    }
    assert versions.keys() == {name.removesuffix("Rollback") for name in alarms if ROLLBACK.fullmatch(name)}
    for name, version in versions.items():
        service = template.functions[name].environment["POWERTOOLS_SERVICE_NAME"]
        assert {(asked.name, asked.dimensions) for asked in of_alarm(alarms[f"{name}Rollback"])} == {
            (
                "Errors",
                frozenset({("FunctionName", name), ("Resource", f"${{{name}}}:live"), ("ExecutedVersion", version)}),
            ),
            ("Faults", frozenset({("service", service), ("version", version)})),
        }
        assert text(alarms[f"{name}Rollback"]["AlarmName"]).endswith(f"-{service}-version-${{{version}}}")


@pytest.mark.sam
def test_no_resource_waits_for_itself_also_by_its_update_policy(deployed: dict[str, Any]) -> None:
    def needed(item: dict[str, Any]) -> set[str]:
        named = item.get("DependsOn", [])
        return {*references(item), *([named] if isinstance(named, str) else named)} & deployed.keys()

    TopologicalSorter({name: needed(item) for name, item in deployed.items()}).prepare()
