"""Recording of events in the template: all of it on one condition, off by default, and closed where it is on."""

from collections.abc import Callable
from typing import Any

import pytest

from tests.infrastructure.conditions import references, settled

pytestmark = pytest.mark.sam

HANGING = {"RecordingsBucket", "RecordingsBucketPolicy", "EdgeRecordings"}


@pytest.fixture(scope="module")
def on(deployed: dict[str, Any]) -> dict[str, Any]:
    return settled(deployed, recording=True)


@pytest.fixture(scope="module")
def off(deployed: dict[str, Any]) -> dict[str, Any]:
    return settled(deployed, recording=False)


def properties(resources: dict[str, Any], name: str) -> dict[str, Any]:
    found: dict[str, Any] = resources[name]["Properties"]
    return found


def test_the_template_has_no_lint_where_recording_is_on(lint: Callable[..., str]) -> None:
    assert "valid SAM Template" in lint(EventRecording="on")


def test_recording_is_off_by_default_and_then_nothing_of_it_is_there(
    translated: dict[str, Any], deployed: dict[str, Any], on: dict[str, Any], off: dict[str, Any]
) -> None:
    assert translated["Parameters"]["EventRecording"]["Default"] == "off"
    assert on.keys() - off.keys() == HANGING
    assert {deployed[name]["Condition"] for name in HANGING} == {"RecordEvents"}
    assert HANGING.isdisjoint(references(off))
    assert not [name for name, resource in off.items() if resource["Type"].startswith("AWS::S3::")]
    outputs = translated["Outputs"].values()
    assert {each.get("Condition") for each in outputs if HANGING & {*references(each)}} == {"RecordEvents"}


def test_the_edge_alone_is_told_where_to_record_to(on: dict[str, Any], off: dict[str, Any]) -> None:
    def told(resources: dict[str, Any]) -> dict[str, Any]:
        functions = {name: item for name, item in resources.items() if item["Type"] == "AWS::Lambda::Function"}
        variables = {name: item["Properties"]["Environment"]["Variables"] for name, item in functions.items()}
        return {name: each["RECORDINGS"] for name, each in variables.items() if "RECORDINGS" in each}

    assert told(on) == {"EdgeFunction": {"Fn::Sub": "s3://${RecordingsBucket}"}}
    assert told(off) == {}


def test_the_bucket_is_encrypted_and_nobody_outside_of_the_account_gets_at_it(on: dict[str, Any]) -> None:
    bucket = properties(on, "RecordingsBucket")
    [rule] = bucket["BucketEncryption"]["ServerSideEncryptionConfiguration"]
    assert rule["ServerSideEncryptionByDefault"] == {"SSEAlgorithm": "aws:kms"}
    blocks = ("BlockPublicAcls", "BlockPublicPolicy", "IgnorePublicAcls", "RestrictPublicBuckets")
    assert bucket["PublicAccessBlockConfiguration"] == dict.fromkeys(blocks, True)
    assert bucket["OwnershipControls"] == {"Rules": [{"ObjectOwnership": "BucketOwnerEnforced"}]}


def test_without_tls_nobody_may_do_anything_with_the_bucket(on: dict[str, Any]) -> None:
    policy = properties(on, "RecordingsBucketPolicy")
    [statement] = policy["PolicyDocument"]["Statement"]
    assert policy["Bucket"] == {"Ref": "RecordingsBucket"}
    assert (statement["Effect"], statement["Principal"], statement["Action"]) == ("Deny", "*", "s3:*")
    arn = {"Fn::GetAtt": ["RecordingsBucket", "Arn"]}
    assert statement["Resource"] == [arn, {"Fn::Sub": "${RecordingsBucket.Arn}/*"}]
    assert statement["Condition"] == {"Bool": {"aws:SecureTransport": "false"}}


def test_a_recording_expires_wholly_after_the_days_of_the_parameter_even_where_recording_was_turned_off(
    on: dict[str, Any],
) -> None:
    bucket = on["RecordingsBucket"]
    [rule] = bucket["Properties"]["LifecycleConfiguration"]["Rules"]
    assert (rule["Status"], rule["ExpirationInDays"]) == ("Enabled", {"Ref": "RecordingDays"})
    # All of the bucket, and no older version of anything.
    assert not {"Prefix", "Filter", "TagFilters"} & rule.keys()
    assert "VersioningConfiguration" not in bucket["Properties"]
    assert (bucket["DeletionPolicy"], bucket["UpdateReplacePolicy"]) == ("Retain", "Retain")
