"""The firewall in the template: off by default, and where it is on it refuses no prompt for its size or its text."""

import re
from collections.abc import Callable
from typing import Any

import pytest

from local.template import Template

# The common rules that look into a body, in AWS's list of them; the others look at paths, queries and headers.
BODY_RULES = {
    "SizeRestrictions_BODY",
    "CrossSiteScripting_BODY",
    "EC2MetaDataSSRF_BODY",
    "GenericLFI_BODY",
    "GenericRFI_BODY",
}


@pytest.fixture
def firewall(template: Template) -> dict[str, Any]:
    [(_, properties)] = template.resources("AWS::WAFv2::WebACL")
    return properties


@pytest.mark.sam
def test_a_firewall_is_there_where_the_parameter_says_how_many_requests_an_address_may_send(
    translated: dict[str, Any],
) -> None:
    parameter = translated["Parameters"]["FirewallRequestsPerAddress"]
    empty = {"Fn::Not": [{"Fn::Equals": [{"Ref": "FirewallRequestsPerAddress"}, ""]}]}
    assert (parameter["Default"], translated["Conditions"]["DeployFirewall"]) == ("", empty)
    parts = [item for item in translated["Resources"].values() if item["Type"].startswith("AWS::WAFv2::")]
    assert [part["Condition"] for part in parts] == ["DeployFirewall"] * 2


@pytest.mark.sam
@pytest.mark.parametrize("text", ["10", "20000", "999999999", ""])
def test_the_parameter_takes_what_aws_waf_takes(translated: dict[str, Any], text: str) -> None:
    assert re.fullmatch(translated["Parameters"]["FirewallRequestsPerAddress"]["AllowedPattern"], text)


@pytest.mark.sam
@pytest.mark.parametrize("text", ["0", "9", "010", "1e5", "-10", "2000000001"])
def test_the_parameter_takes_nothing_else(translated: dict[str, Any], text: str) -> None:
    assert not re.fullmatch(translated["Parameters"]["FirewallRequestsPerAddress"]["AllowedPattern"], text)


@pytest.mark.sam
def test_it_stands_before_the_stage_that_clients_reach(translated: dict[str, Any]) -> None:
    [association] = [
        item["Properties"]
        for item in translated["Resources"].values()
        if item["Type"] == "AWS::WAFv2::WebACLAssociation"
    ]
    stage = "arn:${AWS::Partition}:apigateway:${AWS::Region}::/restapis/${Api}/stages/${ApiliveStage}"
    assert association == {"ResourceArn": {"Fn::Sub": stage}, "WebACLArn": {"Fn::GetAtt": ["Firewall", "Arn"]}}


@pytest.mark.sam
def test_the_template_has_no_lint_where_there_is_a_firewall_and_concurrency_is_reserved(
    lint: Callable[..., str],
) -> None:
    on = lint(FirewallRequestsPerAddress="20000", EdgeConcurrency="100", CounterConcurrency="50")
    assert "valid SAM Template" in on


def test_what_no_rule_refuses_passes(firewall: dict[str, Any]) -> None:
    assert firewall["DefaultAction"] == {"Allow": {}}


def test_a_rule_that_looks_into_bodies_is_counted_and_refuses_nothing(firewall: dict[str, Any]) -> None:
    [group] = [
        rule["Statement"]["ManagedRuleGroupStatement"]
        for rule in firewall["Rules"]
        if "ManagedRuleGroupStatement" in rule["Statement"]
    ]
    assert group["Name"] == "AWSManagedRulesCommonRuleSet"
    assert {each["Name"] for each in group["RuleActionOverrides"]} == BODY_RULES | {"NoUserAgent_HEADER"}
    assert all(each["ActionToUse"] == {"Count": {}} for each in group["RuleActionOverrides"])


def test_an_address_that_sends_more_than_the_parameter_says_is_refused(firewall: dict[str, Any]) -> None:
    [rule] = [each for each in firewall["Rules"] if "RateBasedStatement" in each["Statement"]]
    assert rule["Action"] == {"Block": {}}
    rate = rule["Statement"]["RateBasedStatement"]
    assert (rate["AggregateKeyType"], rate["EvaluationWindowSec"]) == ("IP", 300)
    assert rate["Limit"] == {"Ref": "FirewallRequestsPerAddress"}


def test_it_keeps_no_sample_of_a_request_because_samples_show_credentials(firewall: dict[str, Any]) -> None:
    parts = [firewall, *firewall["Rules"]]
    assert {part["VisibilityConfig"]["SampledRequestsEnabled"] for part in parts} == {False}
    assert {part["VisibilityConfig"]["CloudWatchMetricsEnabled"] for part in parts} == {True}
