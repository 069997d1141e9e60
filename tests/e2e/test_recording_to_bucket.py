"""Recording as deployed, to a bucket: the edge's own client writes it, and one that is not there costs no answer."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
import urllib3

from local import aws
from local.stack import Stack
from replay.__main__ import main
from tests.support.requests import EXAMPLE
from tokencount.adapters.node_protocol import COUNT_PATH

BUCKET = "recordings"


class BucketStack(Stack):
    """A stack whose edge records to a bucket of what stands in for AWS."""

    def service_variables(self, aws_url: str, invoke: str, sagemaker: str) -> dict[str, str]:
        variables = super().service_variables(aws_url, invoke, sagemaker)
        return variables | {"RECORDINGS": f"s3://{BUCKET}", "AWS_ENDPOINT_URL_S3": aws_url}


@pytest.fixture(scope="module")
def state(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("bucket")


@pytest.fixture(scope="module")
def stack(state: Path) -> Iterator[Stack]:
    with BucketStack(state=state, warm=False) as stack:
        yield stack


@pytest.fixture
def bucket(stack: Stack) -> Iterator[str]:
    client = aws.session().client("s3", endpoint_url=stack.aws_url, config=aws.DIRECT)
    client.create_bucket(Bucket=BUCKET)
    yield BUCKET
    for item in client.list_objects_v2(Bucket=BUCKET).get("Contents", []):
        client.delete_object(Bucket=BUCKET, Key=item["Key"])
    client.delete_bucket(Bucket=BUCKET)


def count(stack: Stack) -> tuple[str, int, object]:
    """The id, the status and the body of the answer to the example."""
    headers = {"authorization": f"Bearer {stack.api_key}", "content-type": "application/json"}
    answer = urllib3.request("POST", stack.url + COUNT_PATH, json=EXAMPLE, headers=headers, retries=False, timeout=60)
    return answer.headers["request-id"], answer.status, answer.json()


def test_a_request_is_recorded_in_the_bucket_and_run_again_from_there(
    bucket: str, stack: Stack, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    request_id, status, _ = count(stack)
    assert status == 200
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "test")
    monkeypatch.setenv("AWS_ENDPOINT_URL_S3", stack.aws_url)
    arguments = ["--request-id", request_id, "--bucket", bucket, "--url", stack.url, "--key", stack.api_key]
    assert main(arguments) == 0
    assert capsys.readouterr().out.endswith("  as recorded\n")


def test_a_bucket_that_is_not_there_costs_no_answer_and_is_told_by_a_metric(stack: Stack, state: Path) -> None:
    request_id, status, body = count(stack)
    assert (status, body) == (200, {"input_tokens": 27})
    lines = [json.loads(line) for line in (state / "logs" / "EdgeFunction.log").read_text().splitlines()]
    [told] = [line for line in lines if "EventNotRecorded" in line]
    assert told["request_id"] == request_id
